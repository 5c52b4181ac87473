import { downsample } from '../../../shared/query/downsample';
import { clampRange, planDays, stepFor } from '../../../shared/query/plan';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('the plan of a read', () => {
  test.each([
    {
      name: 'an hour within a day: the window before it too, since it may reach in',
      range: { fromMs: 10 * HOUR, toMs: 11 * HOUR },
      days: [['1970-01-01', 9 * HOUR + 1, 11 * HOUR]],
    },
    {
      name: 'across midnight: windows never span days',
      range: { fromMs: DAY - 10 * MINUTE, toMs: DAY + 10 * MINUTE },
      days: [
        ['1970-01-01', DAY - HOUR - 10 * MINUTE + 1, DAY],
        ['1970-01-02', DAY, DAY + 10 * MINUTE],
      ],
    },
    { name: 'an empty range: nothing to read', range: { fromMs: DAY, toMs: DAY }, days: [] },
  ])('$name', ({ range, days }) => {
    expect(planDays(range, HOUR).map((d) => [d.day, d.windowsFromMs, d.windowsToMs])).toEqual(days);
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

  test.each([
    { span: 0, step: MINUTE },
    { span: 20 * HOUR + 5 * MINUTE - 1000, step: MINUTE },
    { span: 20 * HOUR + 5 * MINUTE, step: 5 * MINUTE },
    { span: 241 * HOUR - 1000, step: 5 * MINUTE },
    { span: 241 * HOUR, step: HOUR },
    { span: 241 * DAY - 1000, step: HOUR },
    { span: 241 * DAY, step: DAY },
  ])('$span ms are shown in steps of $step ms', ({ span, step }) => {
    expect(stepFor({ fromMs: 7, toMs: 7 + span })).toBe(step);
  });
});

describe('downsampling', () => {
  test('gives the mean of the samples present, at the start of each step, and leaves empty steps out', () => {
    const samples = { timestamps: [0, 60_000, 300_000, 900_001], values: [1, 2, 5, -4] };
    expect(downsample(samples, 300_000)).toEqual({ timestamps: [0, 300_000, 900_000], values: [1.5, 5, -4] });
  });

  test('of values whose sum overflows is still their mean', () => {
    const samples = { timestamps: [0, 1, 2], values: [1.5e308, 1.5e308, 1.5e308] };
    expect(downsample(samples, 1000)).toEqual({ timestamps: [0], values: [1.5e308] });
  });

  test('of nothing is nothing', () => {
    expect(downsample({ timestamps: [], values: [] }, 1000)).toEqual({ timestamps: [], values: [] });
  });
});
