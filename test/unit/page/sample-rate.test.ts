import {
  type Count,
  sampleRate,
  secondsToRate,
  withCount,
} from '../../../functions/page/browser/status/sample-rate';

const after = (...counts: readonly (readonly [seconds: number, count: number])[]) =>
  counts.reduce<Count[]>((seen, [seconds, count]) => withCount(seen, { atMs: seconds * 1000, count }), []);

test('a rate needs half a minute, spans three at most, and begins again with a month', () => {
  expect(sampleRate(after())).toBeUndefined();
  expect(sampleRate(after([0, 100], [25, 900]))).toBeUndefined();
  expect(sampleRate(after([0, 100], [30, 400]))).toBe(10);
  expect(sampleRate(after([0, 100], [30, 100], [60, 700]))).toBe(10);
  expect(sampleRate(after([0, 0], [100, 1000], [300, 5000]))).toBeUndefined();
  expect(sampleRate(after([0, 0], [100, 1000], [200, 5000]))).toBe(40);
  expect(sampleRate(after([0, 90_000], [60, 5]))).toBeUndefined();
  expect(sampleRate(after([0, 5], [60, 5]))).toBe(0);
});

test('the page says in how many seconds the rate will be known', () => {
  expect(secondsToRate(after())).toBe(30);
  expect(secondsToRate(after([0, 100], [12, 100]))).toBe(18);
  expect(secondsToRate(after([0, 100], [40, 100]))).toBe(0);
});
