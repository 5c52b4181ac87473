import type { RecoveryTable } from './recovery-table';

const EVERY_MS = 10_000;

/**
 * Writes each shard's watermark: everything that arrived in the stream earlier has been appended. Written at most every ten
 * seconds, since an older watermark only makes a replay begin earlier.
 */
export class Watermarks {
  private readonly writtenMs = new Map<string, number>();

  constructor(
    private readonly table: RecoveryTable,
    private readonly now: () => number,
  ) {}

  /** @param arrivedMs everything that arrived earlier on the shard has been appended */
  async note(shardId: string, arrivedMs: number): Promise<void> {
    const elapsedMs = this.now() - (this.writtenMs.get(shardId) ?? 0);
    if (Math.abs(elapsedMs) < EVERY_MS) return;
    await this.table.putWatermark(shardId, arrivedMs);
    this.writtenMs.set(shardId, this.now());
  }
}
