import fc from 'fast-check';
import { ALL_TIME, withinKnownEpochs } from '../../../shared/model/deletion';
import { DAY_MS } from '../../../shared/model/duration';
import {
  dayOf,
  dayStartMs,
  MAX_AHEAD_MS,
  type Placement,
  partitionsOn,
} from '../../../shared/model/placement';
import { EpochError, firstFreeDay, MAX_EPOCHS, planEpoch } from '../../../shared/tenancy/epochs';

const at = (text: string) => Date.parse(`${text}Z`);
const epochs = (...pairs: (readonly [string, number])[]): Placement => ({
  epochs: pairs.map(([fromDay, partitions]) => ({ fromDay, partitions })),
});
const EIGHT = epochs(['1970-01-01', 8]);
const NOW = at('2026-11-21T08:00');

test.each([
  { now: '2026-11-21T00:00:00.000', day: '2026-11-23' },
  { now: '2026-11-21T20:59:59.999', day: '2026-11-23' },
  { now: '2026-11-21T21:00:00.000', day: '2026-11-23' },
  { now: '2026-11-21T21:00:00.001', day: '2026-11-24' },
])('at $now the first day without samples is $day: 27 hours ahead', ({ now, day }) => {
  expect(firstFreeDay(at(now))).toBe(day);
});

test.each<{ name: string; before: Placement; partitions: number; from?: string; after: Placement }>([
  {
    name: 'growth begins at the first free day',
    before: EIGHT,
    partitions: 64,
    after: epochs(['1970-01-01', 8], ['2026-11-23', 64]),
  },
  {
    name: 'growth begins later if asked',
    before: EIGHT,
    partitions: 64,
    from: '2027-01-01',
    after: epochs(['1970-01-01', 8], ['2027-01-01', 64]),
  },
  {
    name: 'a tenant shrinks likewise',
    before: epochs(['1970-01-01', 8], ['2026-11-01', 64]),
    partitions: 4,
    after: epochs(['1970-01-01', 8], ['2026-11-01', 64], ['2026-11-23', 4]),
  },
  { name: 'the present number changes nothing', before: EIGHT, partitions: 8, after: EIGHT },
  {
    name: 'a change that was published for a later day is replaced',
    before: epochs(['1970-01-01', 8], ['2026-12-01', 64]),
    partitions: 16,
    after: epochs(['1970-01-01', 8], ['2026-11-23', 16]),
  },
  {
    name: 'a change is undone by the number before it',
    before: epochs(['1970-01-01', 8], ['2026-12-01', 64]),
    partitions: 8,
    from: '2026-12-01',
    after: EIGHT,
  },
  {
    name: 'a change that comes before the new one stays',
    before: epochs(['1970-01-01', 8], ['2026-11-22', 16]),
    partitions: 64,
    after: epochs(['1970-01-01', 8], ['2026-11-22', 16], ['2026-11-23', 64]),
  },
])('$name', ({ before, partitions, from, after }) => {
  expect(planEpoch(before, partitions, NOW, from)).toEqual(after);
  // Repeating the command has no effect.
  expect(planEpoch(after, partitions, NOW, from)).toEqual(after);
});

test.each([
  { name: 'a day that writers may have samples of', from: '2026-11-22', says: 'give 2026-11-23 or later' },
  { name: 'a day that is over', from: '2026-01-01', says: 'give 2026-11-23 or later' },
  { name: 'a text that is no day', from: '2026-02-30', says: 'is not a day' },
  { name: 'a time', from: '2027-01-01T00:00', says: 'is not a day' },
])('$name is refused', ({ from, says }) => {
  const refused = () => planEpoch(EIGHT, 64, NOW, from);
  expect(refused).toThrow(EpochError);
  expect(refused).toThrow(says);
});

test('a tenant changes a bounded number of times', () => {
  let placement = EIGHT;
  for (let i = 1; i < MAX_EPOCHS; i++)
    placement = planEpoch(placement, i % 2 === 0 ? 8 : 9, NOW + i * DAY_MS);
  expect(placement.epochs).toHaveLength(MAX_EPOCHS);
  expect(() => planEpoch(placement, 64, NOW + MAX_EPOCHS * DAY_MS)).toThrow('has changed 31 times');
});

test('a writer with a copy of up to a minute places every sample where all readers look', () => {
  const anyChange = fc.record({
    afterMs: fc.integer({ min: 0, max: 3 * DAY_MS }),
    partitions: fc.integer({ min: 1, max: 64 }),
    /** Number of days after the first free one. */
    laterDays: fc.nat(3),
  });
  const anyWrite = fc.record({
    atMs: fc.integer({ min: 0, max: 12 * DAY_MS }),
    copyAgeMs: fc.nat(60_000),
    requestMs: fc.nat(30_000),
    /** How far the writer's clock is off. */
    skewMs: fc.integer({ min: -3_600_000, max: 3_600_000 }),
    aheadMs: fc.oneof(fc.constant(MAX_AHEAD_MS), fc.integer({ min: -MAX_AHEAD_MS, max: MAX_AHEAD_MS })),
  });
  fc.assert(
    fc.property(
      fc.array(anyChange, { minLength: 1, maxLength: 4 }),
      fc.array(anyWrite, { minLength: 20, maxLength: 60 }),
      (changes, writes) => {
        const history = [{ publishedMs: 0, placement: EIGHT }];
        for (const { afterMs, partitions, laterDays } of changes) {
          const { publishedMs, placement } = history.at(-1)!;
          const nowMs = publishedMs + afterMs;
          const fromDay = dayOf(Date.parse(firstFreeDay(nowMs)) + laterDays * DAY_MS);
          history.push({ publishedMs: nowMs, placement: planEpoch(placement, partitions, nowMs, fromDay) });
        }
        const last = history.at(-1)!.placement;
        for (const { atMs, copyAgeMs, requestMs, skewMs, aheadMs } of writes) {
          const day = dayOf(Math.max(0, atMs + skewMs + aheadMs));
          const copiedMs = atMs - copyAgeMs - requestMs;
          const copy = history.findLast(({ publishedMs }) => publishedMs <= Math.max(0, copiedMs))!.placement;
          expect([day, partitionsOn(copy, day)]).toEqual([day, partitionsOn(last, day)]);
        }
      },
    ),
    { numRuns: 200 },
  );
});

test('a deletion without an end covers every earlier sample, and no day of an epoch that it knew nothing of', () => {
  const HOUR_MS = 3_600_000;
  const anyGap = fc.integer({ min: -HOUR_MS, max: HOUR_MS });
  fc.assert(
    fc.property(
      fc.record({
        /** Time at which the deletion read the placement. */
        readMs: fc.integer({ min: NOW, max: NOW + 3 * DAY_MS }),
        arrivesAfterMs: fc.nat(90_000),
        publishedAfterMs: fc.nat(3 * DAY_MS),
        streamGapMs: anyGap,
        sampleBeforeMs: fc.nat(DAY_MS),
        /** Errors of the writer's and the operator's clocks relative to the stream's. */
        writerGapMs: anyGap,
        operatorGapMs: anyGap,
        aheadMs: fc.oneof(fc.constant(MAX_AHEAD_MS), fc.integer({ min: -MAX_AHEAD_MS, max: MAX_AHEAD_MS })),
      }),
      (at) => {
        const arrivalMs = at.readMs + at.arrivesAfterMs + at.streamGapMs;
        const version = { arrivalMs, sequence: 1n };
        const selector = { name: '', isPrefix: true };
        const { toMs } = withinKnownEpochs({ ...ALL_TIME, selector, version });
        expect(arrivalMs - at.sampleBeforeMs + at.writerGapMs + at.aheadMs).toBeLessThanOrEqual(toMs);
        const publishedMs = at.readMs + at.publishedAfterMs + at.streamGapMs + at.operatorGapMs;
        expect(dayStartMs(firstFreeDay(publishedMs))).toBeGreaterThanOrEqual(toMs);
      },
    ),
  );
});
