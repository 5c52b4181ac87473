import { setTimeout as sleep } from 'node:timers/promises';
import type { ReadPace } from '../hot/read-pace';
import type { Id } from '../model/id';
import type { RecoveryTable } from '../recovery/recovery-table';

/** How long a reader's call waits while memory is busy with other work, ms (`npm run bench -- elastic`). */
const READ_DELAY_MS = 16;
/**
 * Number of a tenant's calls that wait the same time. Each further batch of as many calls waits one delay
 * longer.
 */
const CALLS_A_DELAY = 8;
/** Longest wait of a call, ms. A query that makes hundreds of calls must still be answered. */
const MAX_WAIT_MS = 250;
/** How often an instance checks whether reads should wait, ms. */
const LOOK_MS = 2_000;

export interface ReadGovernorDependencies {
  readonly recovery: Pick<RecoveryTable, 'holds'>;
  readonly now: () => number;
  /** Called before a call waits. */
  readonly onWait?: (waitMs: number) => void;
  /** @default READ_DELAY_MS */
  readonly delayMs?: number;
  /** @default LOOK_MS */
  readonly lookMs?: number;
}

/**
 * Delays reads of memory while slots move, or while a node is short of memory or CPU, so that appends,
 * flushes and the move go first. Each tenant has a queue of its own: a tenant with many calls waits longer,
 * without delaying others. Otherwise reads are not delayed, and they are never refused.
 *
 * No read waits for the recovery table: an instance uses what it last read, while it reads the table again.
 */
export class ReadGovernor implements ReadPace {
  private untilMs = 0;
  private lookedMs = -Infinity;
  private readonly waiting = new Map<Id, number>();

  constructor(private readonly dependencies: ReadGovernorDependencies) {}

  async wait(tenantId: Id): Promise<number> {
    const { now, onWait, delayMs = READ_DELAY_MS, lookMs = LOOK_MS } = this.dependencies;
    const nowMs = now();
    if (nowMs - this.lookedMs >= lookMs) {
      this.lookedMs = nowMs;
      // Ignore failures: what was last read remains valid for a while.
      this.look().catch(() => {});
    }
    if (nowMs >= this.untilMs || delayMs === 0) return 0;
    const waiting = this.waiting.get(tenantId) ?? 0;
    const waitMs = waitOf(delayMs, waiting);
    this.waiting.set(tenantId, waiting + 1);
    onWait?.(waitMs);
    await sleep(waitMs);
    const left = this.waiting.get(tenantId)! - 1;
    if (left > 0) this.waiting.set(tenantId, left);
    else this.waiting.delete(tenantId);
    return waitMs;
  }

  private async look(): Promise<void> {
    const { scalingUntilMs, pressedUntilMs } = await this.dependencies.recovery.holds();
    this.untilMs = Math.max(scalingUntilMs, pressedUntilMs);
  }
}

/**
 * Decides how long a call waits, ms.
 *
 * @param waiting number of calls of the same tenant that are waiting already
 */
export function waitOf(delayMs: number, waiting: number): number {
  return Math.min(MAX_WAIT_MS, delayMs * (1 + Math.floor(waiting / CALLS_A_DELAY)));
}
