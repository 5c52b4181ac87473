import { SPREAD, simulateSpread, TOGETHER } from '../../../scripts/bench/spread';

test('the busiest minute of a million series flushes at most twice the mean, for 15 % more memory on average, and less at most', () => {
  const together = simulateSpread(10_000, 8, TOGETHER);
  const spread = simulateSpread(10_000, 8, SPREAD);
  expect(together.busiest / together.mean).toBeGreaterThan(30);
  expect(spread.busiest / spread.mean).toBeLessThanOrEqual(2);
  expect(spread.meanInMemory / together.meanInMemory).toBeLessThanOrEqual(1.15);
  expect(spread.mostInMemory).toBeLessThan(together.mostInMemory);
});

test('tenants with a group each are spread too', () => {
  const { busiest, mean } = simulateSpread(1_000, 1_000, SPREAD);
  expect(busiest / mean).toBeLessThan(3);
});
