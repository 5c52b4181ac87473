import { MINUTE_MS } from '../model/duration';

/** Minimum time between an instance's exchanges with the table while most of the budget is left, in ms. */
const RELAXED_MS = 15_000;
/** Minimum time between exchanges when more than {@link CLOSE_SHARE} of the budget is used, in ms. */
const CLOSE_MS = 2_000;
/** When at least this share of the limit is used, an instance exchanges its usage with the table more often. */
const CLOSE_SHARE = 0.5;

/** Budget usage that this instance has not yet added to the table. */
export interface UnsentUse {
  /** Unix time in minutes. */
  readonly minute: number;
  readonly amount: number;
}

/**
 * One instance's view of a tenant's budget for the current clock minute: the amount that all instances had used as of
 * the last exchange with the table, plus what this instance has used since then. The budget has room while the sum is
 * below the limit. infra/README.md ("How exact are the limits?") says by how much all instances together may
 * exceed the limit.
 */
export class MinuteBudget {
  private minute = 0;
  /** What all instances have used in this minute, without {@link unsent}. */
  private shared = 0;
  private unsent = 0;
  private usedBefore = 0;
  private exchangedMs = -Infinity;

  use(nowMs: number, amount: number): void {
    this.turnTo(nowMs);
    this.unsent += amount;
  }

  /** Returns the time until the budget has room, in ms; 0 if it has room now. */
  waitMs(nowMs: number, limit: number): number {
    this.turnTo(nowMs);
    return this.shared + this.unsent < limit ? 0 : (this.minute + 1) * MINUTE_MS - nowMs;
  }

  /** Returns the usage to exchange now; undefined if there is none, or if the last exchange was too recent. */
  due(nowMs: number, limit: number): UnsentUse | undefined {
    this.turnTo(nowMs);
    const isClose = Math.max(this.shared + this.unsent, this.usedBefore) >= limit * CLOSE_SHARE;
    if (this.unsent === 0 || nowMs - this.exchangedMs < (isClose ? CLOSE_MS : RELAXED_MS)) return undefined;
    this.exchangedMs = nowMs;
    return { minute: this.minute, amount: this.unsent };
  }

  /**
   * Records the result of an exchange.
   *
   * @param total what all instances have used in the minute, including this exchange
   */
  noteExchange({ minute, amount }: UnsentUse, total: number): void {
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
