/** Lets so many tasks run at once; the others wait for their turn, in order. */
export class Turns {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly max: number) {}

  async take<T>(task: () => Promise<T>): Promise<T> {
    if (this.running >= this.max) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.running++;
    try {
      return await task();
    } finally {
      // The turn passes to the next that waits.
      const next = this.waiting.shift();
      if (next === undefined) this.running--;
      else next();
    }
  }
}
