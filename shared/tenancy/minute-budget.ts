const MINUTE_MS = 60_000;

/** Time between exchanges of an instance's use with the others: with much of the budget left, and with little. */
const RELAXED_MS = 15_000;
const CLOSE_MS = 2_000;
/** Share of the limit from which instances exchange often. */
const CLOSE_SHARE = 0.5;

/** Use that the others do not know of yet. */
export interface UnsentUse {
  /** Minutes since epoch. */
  readonly minute: number;
  readonly amount: number;
}

/**
 * A tenant's budget for the clock minute, as one instance knows it: the use that the instances have exchanged, and its own
 * since then. It admits a request while less than the limit is used.
 *
 * All instances together admit at least the limit. They admit more by what arrives between two exchanges (2 s for a tenant
 * that used half of its limit in this minute or the last, else 15 s) and by the last request of each instance.
 */
export class MinuteBudget {
  private minute = 0;
  /** The minute's use by all instances, without {@link unsent}. */
  private shared = 0;
  private unsent = 0;
  private usedBefore = 0;
  private exchangedMs = -Infinity;

  use(nowMs: number, amount: number): void {
    this.turnTo(nowMs);
    this.unsent += amount;
  }

  /** Time until there is room again, ms; 0 when there is. */
  waitMs(nowMs: number, limit: number): number {
    this.turnTo(nowMs);
    return this.shared + this.unsent < limit ? 0 : (this.minute + 1) * MINUTE_MS - nowMs;
  }

  /** The use to exchange now; undefined when there is none, or it is too early. */
  due(nowMs: number, limit: number): UnsentUse | undefined {
    this.turnTo(nowMs);
    const isClose = Math.max(this.shared + this.unsent, this.usedBefore) >= limit * CLOSE_SHARE;
    if (this.unsent === 0 || nowMs - this.exchangedMs < (isClose ? CLOSE_MS : RELAXED_MS)) return undefined;
    this.exchangedMs = nowMs;
    return { minute: this.minute, amount: this.unsent };
  }

  /** Ends an exchange. @param total the minute's use by all instances, `amount` included */
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
