import type { ManifestDay } from '../../../shared/cold/manifest';
import { DAY_MS } from '../../../shared/model/duration';
import type { Day } from '../../../shared/model/placement';
import { daysBeyondMemory, type LaterTiers, readBeyondMemory } from '../../../shared/query/beyond-memory';
import { type DayPlan, planDays } from '../../../shared/query/plan';
import { UnarchivedDays } from '../../../shared/query/unarchived-days';

const HOUR = 3_600_000;
const MINUTE = 60_000;
const START = Date.UTC(2026, 0, 10);
const ref = { tenantId: 'tenant', partition: 0 };
const partitionOn = () => ref;

describe('the days that may lie beyond memory', () => {
  const days = planDays({ fromMs: START + 22 * HOUR, toMs: START + 26 * HOUR }, [HOUR]);
  test.each([
    { left: 'nothing', beforeMs: 0, starts: [], expected: [] },
    { left: 'an earlier window', beforeMs: 0, starts: [START + 21 * HOUR], expected: [] },
    { left: 'the first window', beforeMs: 0, starts: [START + 22 * HOUR], expected: ['2026-01-10'] },
    { left: 'the last window', beforeMs: 0, starts: [START + 25 * HOUR], expected: ['2026-01-11'] },
    { left: 'a later window', beforeMs: 0, starts: [START + 26 * HOUR], expected: [] },
    { left: 'all up to the range', beforeMs: START + 21 * HOUR, starts: [], expected: [] },
    {
      left: 'all up to a time in the range',
      beforeMs: START + 23 * HOUR,
      starts: [],
      expected: ['2026-01-10'],
    },
    { left: 'anything', beforeMs: Infinity, starts: [], expected: ['2026-01-10', '2026-01-11'] },
  ])('when $left has left: $expected', ({ beforeMs, starts, expected }) => {
    const found = daysBeyondMemory(days, [{ ref, beforeMs, starts }], partitionOn);
    expect(found.map(({ day }) => day)).toEqual(expected);
  });

  test('are those of any group that was read, and of no other partition', () => {
    const nothing = { ref, beforeMs: 0, starts: [] };
    const all = { ref, beforeMs: Infinity, starts: [] };
    expect(daysBeyondMemory(days, [nothing, all], partitionOn)).toEqual(days);
    expect(daysBeyondMemory(days, [nothing, { ...all, ref: { ...ref, partition: 1 } }], partitionOn)).toEqual(
      [],
    );
  });
});

describe('the tiers beyond memory', () => {
  const OPEN = { changes: 2, archived: undefined };
  const ARCHIVED = {
    changes: 1,
    archived: { changes: 1, parts: [{ key: 'k', etag: 'e', bytes: 1, samples: 1, firstGroup: '' }], atMs: 0 },
  };
  const REOPENED = { ...ARCHIVED, changes: 2 };
  const dayPlans = (count: number) => planDays({ fromMs: START, toMs: START + count * DAY_MS }, [HOUR]);
  const short = (day: Day) => Number(day.slice(-2));

  /** Tiers that log what they are asked; `|` ends a round. */
  function tiersOf(
    states: Record<number, object | undefined>,
    purgeAfterMs: number,
    log: string[],
    queryMs = 0,
    seen: readonly number[] = [],
    mayBeRolledUp = false,
  ): LaterTiers {
    let nowMs = 0;
    const ask = async <T>(text: string, answer: T): Promise<T> => {
      log.push(text);
      await new Promise(setImmediate);
      if (log.at(-1) !== '|') log.push('|');
      nowMs += queryMs;
      return answer;
    };
    return {
      partitionOn,
      mayBeRolledUp,
      unarchived: new UnarchivedDays(purgeAfterMs),
      now: () => nowMs,
      knowsWarm: ({ day }) => seen.includes(short(day)),
      warm: async (days, listed) =>
        days.length === 0
          ? []
          : ask(`${listed ? 'changed ' : ''}warm ${days.map(({ day }) => short(day))}`, []),
      cold: async (entries: readonly ManifestDay[]) => {
        const objects = entries.filter(({ archived }) => archived !== undefined);
        return objects.length === 0 ? [] : ask(`cold ${objects.map(({ day }) => short(day))}`, []);
      },
      manifest: async (days: readonly DayPlan[]) => {
        const listed = days.flatMap(({ day }) =>
          states[short(day)] ? [[day, { day, ...states[short(day)] } as ManifestDay] as const] : [],
        );
        return days.length === 0
          ? new Map()
          : ask(`manifest ${days.map(({ day }) => short(day))}`, new Map(listed));
      },
    };
  }

  const SLOW = 15 * MINUTE;
  test.each<{
    name: string;
    states: Record<number, object>;
    days: number;
    purgeAfterMs: number;
    mayBeRolledUp?: boolean;
    asked: readonly string[];
  }>([
    {
      name: 'a day that is not archived: manifest and warm together, and no manifest the second time',
      states: { 10: OPEN },
      days: 1,
      purgeAfterMs: SLOW,
      asked: ['manifest 10', 'warm 10', '|', 'warm 10', '|'],
    },
    {
      name: 'an archived day: the object after both',
      states: { 10: ARCHIVED },
      days: 1,
      purgeAfterMs: SLOW,
      asked: ['manifest 10', 'warm 10', '|', 'cold 10', '|', 'manifest 10', 'warm 10', '|', 'cold 10', '|'],
    },
    {
      name: 'a day that may be rolled up: the manifest alone, as of many days',
      states: { 10: ARCHIVED },
      days: 1,
      purgeAfterMs: SLOW,
      mayBeRolledUp: true,
      asked: ['manifest 10', '|', 'cold 10', '|', 'manifest 10', '|', 'cold 10', '|'],
    },
    {
      name: 'many days: the warm table for open ones alone, at once for those known to be',
      states: { 10: ARCHIVED, 11: REOPENED, 13: OPEN },
      days: 4,
      purgeAfterMs: SLOW,
      asked: [
        ...['manifest 10,11,12,13', '|', 'cold 10,11', 'changed warm 11,13', '|'],
        ...['manifest 10,11,12,13', 'warm 13', '|', 'cold 10,11', 'changed warm 11', '|'],
      ],
    },
    {
      name: 'where a purge does not wait: the manifest after the warm table, each time',
      states: { 10: OPEN },
      days: 1,
      purgeAfterMs: 0,
      asked: ['warm 10', '|', 'manifest 10', '|', 'warm 10', '|', 'manifest 10', '|'],
    },
    {
      name: 'where a purge does not wait, many days: the manifest before and after',
      states: { 10: ARCHIVED, 12: OPEN },
      days: 4,
      purgeAfterMs: 0,
      asked: Array(2)
        .fill(['manifest 10,11,12,13', '|', 'warm 12', '|', 'manifest 10,12', '|', 'cold 10', '|'])
        .flat(),
    },
  ])('are asked in order: $name', async ({ states, days, purgeAfterMs, mayBeRolledUp, asked }) => {
    const log: string[] = [];
    const tiers = tiersOf(states, purgeAfterMs, log, 0, [], mayBeRolledUp);
    await readBeyondMemory(tiers, dayPlans(days));
    await readBeyondMemory(tiers, dayPlans(days));
    expect(log).toEqual(asked);
  });

  test.each([
    {
      name: 'of a short range: the manifest, then the warm table for what has changed',
      states: { 10: OPEN, 11: ARCHIVED },
      days: 2,
      asked: ['manifest 10,11', 'warm 11', '|', 'cold 11', 'changed warm 10', '|'],
    },
    {
      name: 'of a long range: no differently, as nobody knows yet that the day is open',
      states: { 10: OPEN },
      days: 4,
      asked: ['manifest 10,11,12,13', '|', 'changed warm 10', '|'],
    },
  ])('are asked, when the reader has seen the 10th, $name', async ({ states, days, asked }) => {
    const log: string[] = [];
    await readBeyondMemory(tiersOf(states, SLOW, log, 0, [10]), dayPlans(days));
    expect(log).toEqual(asked);
  });

  test('are asked again for an object after a while, however often they were read meanwhile', async () => {
    const log: string[] = [];
    const tiers = tiersOf({ 10: OPEN }, SLOW, log, 2 * MINUTE);
    for (let i = 0; i < 4; i++) await readBeyondMemory(tiers, dayPlans(1));
    expect(log.filter((text) => text.startsWith('manifest'))).toHaveLength(2);
  });

  test('are asked again in turn when a purge may have come in between', async () => {
    const log: string[] = [];
    await readBeyondMemory(tiersOf({ 10: OPEN }, SLOW, log, SLOW), dayPlans(1));
    expect(log).toEqual(['manifest 10', 'warm 10', '|', 'warm 10', '|', 'manifest 10', '|']);
  });
});
