import type { RecoveryTable } from './recovery-table';

const EVERY_MS = 10_000;

/**
 * Keeps, for each shard, the time before which everything that arrived has been appended. Written now and then: an older
 * time only makes a replay begin earlier.
 */
export class Positions {
  private readonly writtenMs = new Map<string, number>();

  constructor(
    private readonly table: RecoveryTable,
    private readonly now: () => number,
  ) {}

  /** @param arrivedMs nothing that arrived earlier on the shard is still to be appended */
  async note(shardId: string, arrivedMs: number): Promise<void> {
    const elapsedMs = this.now() - (this.writtenMs.get(shardId) ?? 0);
    if (Math.abs(elapsedMs) < EVERY_MS) return;
    await this.table.putPosition(shardId, arrivedMs);
    this.writtenMs.set(shardId, this.now());
  }
}
