/**
 * Work of several owners for a few lanes. The next piece is one of the owner that has the fewest in hand, and among these of
 * the one that has waited longest: however long an owner's work takes, or often it fails, the others' goes on.
 */
export class FairQueue<T> {
  private readonly owners: { readonly waiting: T[]; running: number; servedAt: number }[];
  private served = 0;

  /** @param work each owner's, in the order in which it is to be done */
  constructor(work: Iterable<readonly T[]>) {
    this.owners = [...work].map((waiting) => ({ waiting: [...waiting], running: 0, servedAt: 0 }));
  }

  /** Runs all work, in so many lanes. `run` must not throw. */
  async drain(lanes: number, run: (item: T) => Promise<void>): Promise<void> {
    const lane = async () => {
      for (let owner = this.next(); owner !== undefined; owner = this.next()) {
        owner.servedAt = ++this.served;
        owner.running++;
        try {
          await run(owner.waiting.shift()!);
        } finally {
          owner.running--;
        }
      }
    };
    await Promise.all(Array.from({ length: lanes }, lane));
  }

  private next() {
    return this.owners
      .filter(({ waiting }) => waiting.length > 0)
      .reduce<(typeof this.owners)[number] | undefined>(
        (best, owner) =>
          best === undefined ||
          owner.running < best.running ||
          (owner.running === best.running && owner.servedAt < best.servedAt)
            ? owner
            : best,
        undefined,
      );
  }
}
