/** Runs a limited number of tasks at a time. Further tasks wait for their turn, in order. */
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
      // Pass the turn to the next waiting task.
      const next = this.waiting.shift();
      if (next === undefined) this.running--;
      else next();
    }
  }
}
