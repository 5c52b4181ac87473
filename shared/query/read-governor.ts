import { setTimeout as sleep } from 'node:timers/promises';
import type { RecoveryTable } from '../recovery/recovery-table';

/**
 * How long a call to memory waits while an operator's command moves hash slots, in ms. `npm run bench -- elastic`
 * measures its effect.
 */
const READ_DELAY_MS = 16;
/** How often an instance checks whether reads should wait, in ms. */
const CHECK_MS = 2_000;

/**
 * Delays reads of memory while `ops scale` moves slots, so that the move takes less time. At other times reads are not
 * delayed. They are never refused.
 *
 * No read waits for the recovery table: while an instance refreshes its copy of the table, its reads use the last known
 * state.
 */
export class ReadGovernor {
  /**
   * How long the reads of the current event have waited, in ms. When several calls wait together, their wait counts
   * once. The query function resets it to 0 when an event begins.
   */
  waitedMs = 0;
  private untilMs = 0;
  private checkedMs = -Infinity;
  private pause: Promise<void> | undefined;

  constructor(
    private readonly recovery: Pick<RecoveryTable, 'scalingUntilMs'>,
    private readonly now: () => number,
  ) {}

  /** Waits, while slots are being moved, before the caller may read memory. */
  async wait(): Promise<void> {
    const nowMs = this.now();
    if (nowMs - this.checkedMs >= CHECK_MS) {
      this.checkedMs = nowMs;
      // Ignore failures: the last known state remains valid for a while.
      this.check().catch(() => {});
    }
    if (nowMs >= this.untilMs) return;
    this.pause ??= this.pauseReads();
    await this.pause;
  }

  private async pauseReads(): Promise<void> {
    await sleep(READ_DELAY_MS);
    this.waitedMs += READ_DELAY_MS;
    this.pause = undefined;
  }

  private async check(): Promise<void> {
    this.untilMs = await this.recovery.scalingUntilMs();
  }
}
