import { delayShare } from '../../support/delay-share';

describe('shares of the longest delay', () => {
  test.each([10, 100, 1_250])('of %i windows lie evenly, wherever they begin', (count) => {
    for (const first of [0, 17, 1_250]) {
      const shares = Array.from({ length: count }, (_, i) => delayShare('due', first + i)).sort(
        (a, b) => a - b,
      );
      expect(shares[0]).toBeGreaterThanOrEqual(0);
      expect(shares.at(-1)).toBeLessThanOrEqual(0.999);
      // Each share is close to its rank. Shares from random numbers would not be.
      shares.forEach((share, rank) => {
        expect(Math.abs(share - (rank + 0.5) / count)).toBeLessThan(3 / count + 0.001);
      });
    }
  });

  test('of the first windows of two partitions differ', () => {
    expect(delayShare('due of one', 0)).not.toBe(delayShare('due of another', 0));
  });
});
