import fc from 'fast-check';
import { AGGREGATES, downsample } from '../../../shared/model/aggregates';
import { clampRange, halveSteps, planDays, planShown, stepFor } from '../../../shared/query/plan';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('the plan of a read', () => {
  test.each([
    {
      name: 'an hour within a day: its window alone',
      range: { fromMs: 10 * HOUR, toMs: 11 * HOUR },
      days: [['1970-01-01', 10 * HOUR, 11 * HOUR]],
    },
    {
      name: 'within a window: the whole of it',
      range: { fromMs: 11 * HOUR - 2, toMs: 11 * HOUR - 1 },
      days: [['1970-01-01', 10 * HOUR, 11 * HOUR]],
    },
    {
      name: 'of windows of two lengths: whichever reaches furthest back',
      range: { fromMs: 5 * HOUR, toMs: 6 * HOUR },
      lengths: [3 * HOUR, 4 * HOUR],
      days: [['1970-01-01', 3 * HOUR, 8 * HOUR]],
    },
    {
      name: 'of unknown windows: what begins in the range',
      range: { fromMs: 5 * HOUR, toMs: 6 * HOUR },
      lengths: [],
      days: [['1970-01-01', 5 * HOUR, 6 * HOUR]],
    },
    {
      name: 'across midnight: windows never span days',
      range: { fromMs: DAY - 10 * MINUTE, toMs: DAY + 10 * MINUTE },
      days: [
        ['1970-01-01', DAY - HOUR, DAY],
        ['1970-01-02', DAY, DAY + HOUR],
      ],
    },
    { name: 'an empty range: nothing to read', range: { fromMs: DAY, toMs: DAY }, days: [] },
  ])('$name', ({ range, lengths = [HOUR], days }) => {
    const ref = { tenantId: 't', partition: 0 };
    expect(planDays(range, lengths, () => ref).map((d) => [d.day, d.windowsFromMs, d.windowsToMs])).toEqual(
      days,
    );
  });

  test.each([
    {
      name: 'from 0 reads what is retained',
      range: { fromMs: 0, toMs: 500 * DAY },
      fromMs: 40 * DAY,
      toMs: 500 * DAY,
    },
    {
      name: 'beyond what can be there ends',
      range: { fromMs: 499 * DAY, toMs: 9e15 },
      fromMs: 499 * DAY,
      toMs: 502 * DAY,
    },
    {
      name: 'in microseconds is empty',
      range: { fromMs: 9e15, toMs: 9e15 + 1 },
      fromMs: 502 * DAY,
      toMs: 502 * DAY,
    },
    { name: 'before retention is empty', range: { fromMs: 0, toMs: DAY }, fromMs: 40 * DAY, toMs: 40 * DAY },
  ])('a range $name', ({ range, fromMs, toMs }) => {
    expect(clampRange(range, 500 * DAY, 460 * DAY)).toEqual({ fromMs, toMs });
  });

  test('a range begins with the whole day in which retention ends', () => {
    const nowMs = 500 * DAY + 7 * HOUR;
    expect(clampRange({ fromMs: 0, toMs: nowMs }, nowMs, 460 * DAY)).toEqual({
      fromMs: 40 * DAY,
      toMs: nowMs,
    });
  });

  test.each([
    { lengthMs: 0, step: MINUTE },
    { lengthMs: 20 * HOUR + 5 * MINUTE - 1000, step: MINUTE },
    { lengthMs: 20 * HOUR + 5 * MINUTE, step: 5 * MINUTE },
    { lengthMs: 241 * HOUR - 1000, step: 5 * MINUTE },
    { lengthMs: 241 * HOUR, step: HOUR },
    { lengthMs: 241 * DAY - 1000, step: HOUR },
    { lengthMs: 241 * DAY, step: DAY },
  ])('$lengthMs ms are shown in steps of $step ms', ({ lengthMs, step }) => {
    expect(stepFor({ fromMs: 7, toMs: 7 + lengthMs })).toBe(step);
  });
});

describe('what is shown of a range', () => {
  test.each([
    {
      name: 'up to 20 h: samples as stored, both ends included to the last ms of their second',
      range: [60_000, 120_000],
      shown: [60_000, 121_000, undefined],
    },
    {
      name: 'a step that was asked for: the steps that have a part in the range, each whole',
      range: [30_000, 600_000],
      step: 300_000,
      shown: [0, 900_000, 300_000],
    },
    { name: 'both ends on a step', range: [0, 300_000], step: 300_000, shown: [0, 600_000, 300_000] },
    {
      name: 'a range within a step: that step',
      range: [1000, 299_000],
      step: 300_000,
      shown: [0, 300_000, 300_000],
    },
    {
      name: 'a step of its own, as Mackerel shows it',
      range: [60_000, 21 * HOUR],
      shown: [0, 21 * HOUR + 300_000, 300_000],
    },
    {
      name: 'an aggregate of a short range: of minutes',
      range: [1000, 60_000],
      isAggregated: true,
      shown: [0, 120_000, 60_000],
    },
    { name: 'before 1970', range: [-300_000, -1000], step: 300_000, shown: [-300_000, 0, 300_000] },
  ])('$name', ({ range: [fromMs, toMs], step, isAggregated = false, shown }) => {
    const { range, stepMs } = planShown({ fromMs: fromMs!, toMs: toMs! }, step, isAggregated);
    expect([range.fromMs, range.toMs, stepMs]).toEqual(shown);
  });

  test('in steps covers the whole range, and a point has the same value in every range', () => {
    const stamps = fc.uniqueArray(fc.nat(600), { minLength: 1 }).map((all) => all.sort((a, b) => a - b));
    const seconds = fc
      .tuple(fc.nat(600), fc.nat(600))
      .map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const);
    fc.assert(
      fc.property(
        stamps,
        seconds,
        fc.constantFrom(1, 7, 60, 300),
        fc.constantFrom(...AGGREGATES),
        (all, [from, to], step, aggregate) => {
          const samples = {
            timestamps: all.map((s) => s * 1000),
            values: all.map((s) => (s * 7919) % 101),
          };
          const { range } = planShown({ fromMs: from * 1000, toMs: to * 1000 }, step * 1000, true);
          const isRead = samples.timestamps.map((ms) => ms >= range.fromMs && ms < range.toMs);
          const read = {
            timestamps: samples.timestamps.filter((_, i) => isRead[i]),
            values: samples.values.filter((_, i) => isRead[i]),
          };
          const whole = downsample(samples, step * 1000, aggregate);
          const inRange = Array.from(whole.timestamps, (ms) => ms > (from - step) * 1000 && ms <= to * 1000);
          expect(downsample(read, step * 1000, aggregate)).toMatchObject({
            timestamps: Float64Array.from(whole.timestamps).filter((_, i) => inRange[i]!),
            values: Float64Array.from(whole.values).filter((_, i) => inRange[i]!),
          });
        },
      ),
    );
  });
});

describe('halveSteps', () => {
  it.each([
    { name: 'halves an even number of steps', range: [0, 4 * HOUR], middle: 2 * HOUR },
    { name: 'cuts between the only two steps', range: [HOUR - 1, 2 * HOUR], middle: HOUR },
    { name: 'cuts before a last step that the range cuts short', range: [0, HOUR + 1], middle: HOUR },
    { name: 'does not cut a step', range: [0, HOUR], middle: undefined },
    { name: 'does not cut a part of a step', range: [1, HOUR - 1], middle: undefined },
  ])('$name', ({ range: [fromMs, toMs], middle }) => {
    const halves = halveSteps({ fromMs: fromMs!, toMs: toMs! }, HOUR);
    expect(halves).toEqual(
      middle === undefined
        ? undefined
        : [
            { fromMs, toMs: middle },
            { fromMs: middle, toMs },
          ],
    );
  });
});
