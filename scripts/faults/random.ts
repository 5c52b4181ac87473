/** Random numbers from a seed. The same seed gives the same numbers. */
export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /**
   * Returns a number from 0 (inclusive) to 1 (exclusive).
   *
   * @see https://gist.github.com/tommyettinger/46a874533244883189143505d203312c mulberry32
   */
  readonly next = (): number => {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };

  /** Returns an integer from `from` to `to`, both inclusive. */
  integer(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  pick<T>(values: readonly T[]): T {
    return values[this.integer(0, values.length - 1)]!;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  shuffled<T>(values: readonly T[]): T[] {
    const left = [...values];
    for (let i = left.length - 1; i > 0; i--) {
      const j = this.integer(0, i);
      [left[i], left[j]] = [left[j]!, left[i]!];
    }
    return left;
  }

  /** Returns an independent generator, whose numbers do not depend on how many are drawn from this one. */
  fork(): Random {
    return new Random(Math.floor(this.next() * 2 ** 32));
  }
}
