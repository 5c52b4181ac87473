import { requireFewSamples, requireFewSteps, requireSendable } from '../../../shared/http/response-limits';

const HOUR_MS = 3_600_000;
const DAY = { fromMs: 0, toMs: 24 * HOUR_MS };

test('a response has at most 100,000 steps, counted from the first sample that exists', () => {
  const read = (series: number, firstMs: number) => () => requireFewSteps(series, 60_000, DAY, firstMs);
  expect(read(69, 0)).not.toThrow();
  expect(read(70, 0)).toThrow('step: 100800 steps of 60 s are more than 100000; use a longer step');
  expect(read(138, 12 * HOUR_MS)).not.toThrow();
  expect(read(140, 12 * HOUR_MS)).toThrow('step: 100800 steps');
  for (const firstMs of [DAY.toMs, 2 * DAY.toMs, Infinity]) expect(read(1_000_000, firstMs)).not.toThrow();
});

test('samples as stored are expected once a minute, and at most 2,000,000 are read', () => {
  const read = (series: number, firstMs: number) => () => requireFewSamples(series, DAY, firstMs);
  expect(read(1_388, 0)).not.toThrow();
  expect(read(1_389, 0)).toThrow('name: 1389 metrics over 1 days are 2000160 samples at one a minute');
  expect(read(2_776, 12 * HOUR_MS)).not.toThrow();
  for (const firstMs of [DAY.toMs, 2 * DAY.toMs, Infinity]) expect(read(1_000_000, firstMs)).not.toThrow();
});

test('a metric whose samples came more often is refused once they are counted', () => {
  expect(() => requireSendable(2_000_000)).not.toThrow();
  expect(() => requireSendable(2_000_001)).toThrow('from, to: the metric has 2000001 samples in this range');
});
