import { setTimeout as sleep } from 'node:timers/promises';
import type { ReadPace } from '../hot/read-pace';
import type { Id } from '../model/id';
import type { RecoveryTable } from '../recovery/recovery-table';

/** How long a call of readers waits while memory is busy with something else, ms (`npm run bench -- elastic`). */
export const READ_DELAY_MS = 16;
/** So many calls of a tenant wait together; the next ones wait once more. */
const CALLS_A_DELAY = 8;
/** No call waits longer, ms: a query that makes hundreds of them must still be answered. */
const MAX_WAIT_MS = 250;
/** How often an instance asks whether reads are to wait, ms. */
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
 * Lets reads of memory wait a little while slots move, or a node has little memory or CPU left, so that appends, flushers and the
 * move go first. Each tenant's calls queue for themselves, so one that asks for much waits longer and lets no other wait. Refuses
 * nothing, and does nothing otherwise.
 *
 * No read waits for the table: an instance goes by what it knew, and asks again meanwhile.
 */
export class ReadGovernor implements ReadPace {
  private untilMs = 0;
  private lookedMs = -Infinity;
  private readonly waiting = new Map<Id, number>();

  constructor(private readonly dependencies: ReadGovernorDependencies) {}

  async turn(tenantId: Id): Promise<number> {
    const { now, onWait, delayMs = READ_DELAY_MS, lookMs = LOOK_MS } = this.dependencies;
    const nowMs = now();
    if (nowMs - this.lookedMs >= lookMs) {
      this.lookedMs = nowMs;
      // What it knew stays true for a moment if the table does not answer.
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
 * @param waiting calls of the same tenant that wait already
 */
export function waitOf(delayMs: number, waiting: number): number {
  return Math.min(MAX_WAIT_MS, delayMs * (1 + Math.floor(waiting / CALLS_A_DELAY)));
}
