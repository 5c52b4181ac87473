/**
 * Divides a few workers among several owners, such as tenants. A free worker takes an item of the owner with the fewest
 * items in progress. In a tie, the owner that has waited longest is next. So an owner whose work takes long or fails
 * does not delay the other owners.
 */
export class FairQueue<T> {
  private readonly owners: { readonly waiting: T[]; running: number; servedAt: number }[];
  private served = 0;

  /** @param work the items of each owner, in the order in which to process them */
  constructor(work: Iterable<readonly T[]>) {
    this.owners = [...work].map((waiting) => ({ waiting: [...waiting], running: 0, servedAt: 0 }));
  }

  /**
   * Runs all work.
   *
   * @param workers number of items in progress at the same time
   * @param run processes one item; it must not throw, since an error ends the whole call
   */
  async drain(workers: number, run: (item: T) => Promise<void>): Promise<void> {
    const worker = async () => {
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
    await Promise.all(Array.from({ length: workers }, worker));
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
