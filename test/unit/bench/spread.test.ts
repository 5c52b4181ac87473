import { BY_GROUP, simulateSpread, TOGETHER } from '../../../scripts/bench/spread';

test('the busiest minute flushes at most twice the mean, and the most that memory holds does not grow', () => {
  const together = simulateSpread(10_000, TOGETHER);
  const spread = simulateSpread(10_000, BY_GROUP);
  expect(together.busiest / together.mean).toBeGreaterThan(30);
  expect(spread.busiest / spread.mean).toBeLessThanOrEqual(2);
  expect(spread.meanInMemory / together.meanInMemory).toBeLessThanOrEqual(1.2);
  expect(spread.mostInMemory).toBeLessThan(together.mostInMemory);
});
