import { isBehind, NOTE_EVERY_MS } from './consumer-lag';
import type { RecoveryTable } from './recovery-table';

/**
 * Maximum amount by which arrival times in the stream can be out of order, in ms. (Kinesis' arrival times are
 * approximate.) A replay begins this much earlier than the computed time.
 */
export const ARRIVAL_SLACK_MS = 60_000;

/**
 * Writes the watermark of each shard that the ingester reads. Every record that arrived in the shard before its
 * watermark has been appended to memory. A watermark is written at most every ten seconds, since an older watermark
 * only makes a replay begin earlier. It is written immediately when the ingester falls behind or catches up.
 */
export class Watermarks {
  private readonly written = new Map<string, { readonly atMs: number; readonly isLate: boolean }>();

  constructor(
    private readonly table: Pick<RecoveryTable, 'putWatermark'>,
    private readonly now: () => number,
    private readonly batchWindowMs: number,
  ) {}

  /**
   * Notes a watermark, and writes it to the table if a write is due.
   *
   * @param arrivedMs the new watermark, as Unix time in ms: every record of the shard that arrived earlier has been
   *   appended
   */
  async note(shardId: string, arrivedMs: number): Promise<void> {
    const last = this.written.get(shardId);
    const lagMs = Math.max(0, this.now() - arrivedMs);
    const isLate = isBehind(lagMs, this.batchWindowMs);
    const elapsedMs = this.now() - (last?.atMs ?? 0);
    if (Math.abs(elapsedMs) < NOTE_EVERY_MS && isLate === last?.isLate) return;
    await this.table.putWatermark(shardId, { arrivedMs, lagMs });
    this.written.set(shardId, { atMs: this.now(), isLate });
  }
}
