import { type Count, sampleRate, withCount } from '../../../functions/page/browser/sample-rate';

const after = (...counts: readonly (readonly [seconds: number, samples: number])[]) =>
  counts.reduce<Count[]>(
    (seen, [seconds, samples]) => withCount(seen, { atMs: seconds * 1000, samples }),
    [],
  );

test('a rate needs a minute, spans three at most, and begins again with a month', () => {
  expect(sampleRate(after())).toBeUndefined();
  expect(sampleRate(after([0, 100], [55, 900]))).toBeUndefined();
  expect(sampleRate(after([0, 100], [30, 100], [60, 700]))).toBe(10);
  expect(sampleRate(after([0, 0], [100, 1000], [300, 5000]))).toBeUndefined();
  expect(sampleRate(after([0, 0], [100, 1000], [200, 5000]))).toBe(40);
  expect(sampleRate(after([0, 90_000], [60, 5]))).toBeUndefined();
  expect(sampleRate(after([0, 5], [60, 5]))).toBe(0);
});
