const MINUTE_MS = 60_000;

/** How long what an instance used may be unknown to the others, while the budget is far from spent, and when it is not. */
const RELAXED_MS = 15_000;
const CLOSE_MS = 2_000;
/** Share of the limit from which on instances tell each other often. */
const CLOSE_SHARE = 0.5;

/** What an instance tells the others. */
export interface UnsentUse {
  /** Minutes since epoch. */
  readonly minute: number;
  readonly amount: number;
}

/**
 * What all instances used of a tenant's budget for the minute of the clock, as one of them knows it: what they told each
 * other, and what it used itself since then. A request is let in while less than the limit is used.
 *
 * So at most as much more is let in as arrives everywhere between two exchanges: 2 s for a tenant that used half
 * of its limit in this minute or the last, 15 s before; and the last request of each instance. Never less than the limit.
 */
export class MinuteBudget {
  private minute = 0;
  /** Of the minute, as the others know it: {@link unsent} not included. */
  private shared = 0;
  private unsent = 0;
  private usedBefore = 0;
  private exchangedMs = -Infinity;

  use(nowMs: number, amount: number): void {
    this.turnTo(nowMs);
    this.unsent += amount;
  }

  /** How long to wait until there is room again, ms; 0 when there is. */
  waitMs(nowMs: number, limit: number): number {
    this.turnTo(nowMs);
    return this.shared + this.unsent < limit ? 0 : (this.minute + 1) * MINUTE_MS - nowMs;
  }

  /** What to tell the others now; undefined: nothing, or not yet. */
  due(nowMs: number, limit: number): UnsentUse | undefined {
    this.turnTo(nowMs);
    const isClose = Math.max(this.shared + this.unsent, this.usedBefore) >= limit * CLOSE_SHARE;
    if (this.unsent === 0 || nowMs - this.exchangedMs < (isClose ? CLOSE_MS : RELAXED_MS)) return undefined;
    this.exchangedMs = nowMs;
    return { minute: this.minute, amount: this.unsent };
  }

  /** What the others answered: the minute's use by all, what was sent included. */
  exchanged({ minute, amount }: UnsentUse, total: number): void {
    if (minute !== this.minute) return;
    this.unsent -= amount;
    this.shared = total;
  }

  private turnTo(nowMs: number): void {
    const minute = Math.floor(nowMs / MINUTE_MS);
    if (minute === this.minute) return;
    this.usedBefore = minute === this.minute + 1 ? this.shared + this.unsent : 0;
    this.minute = minute;
    this.shared = 0;
    this.unsent = 0;
  }
}
