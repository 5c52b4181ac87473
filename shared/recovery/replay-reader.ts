import type { DeliveredRecord } from '../stream/delivered';
import { decodeHeartbeat } from '../stream/heartbeat';
import type { RecoveryTable, Replay } from './recovery-table';

/** Maximum age of the cached replay, in ms. */
const MAX_AGE_MS = 2_000;
/** Minimum time between two writes of progress, in ms. */
const EVERY_MS = 1_000;

/**
 * The replayer's part of a replay: appends those records of each batch that belong to the replay, and records
 * its progress.
 */
export class ReplayReader {
  private copy: { readonly replay: Replay | undefined; readonly readMs: number } | undefined;
  private readonly writtenMs = new Map<string, number>();
  /** Keys `replay shard` of shards in which the replay has reached its end. */
  private readonly passed = new Set<string>();

  constructor(
    private readonly table: RecoveryTable,
    private readonly now: () => number,
  ) {}

  /**
   * Handles a batch.
   *
   * @param batch records of one shard, in order
   * @param append returns the sequence numbers that failed
   * @returns the sequence numbers that must be delivered again
   */
  async read(
    batch: readonly DeliveredRecord[],
    append: (records: readonly DeliveredRecord[]) => Promise<readonly string[]>,
  ): Promise<readonly string[]> {
    const shardId = batch[0]?.shardId;
    if (shardId === undefined) return [];
    let replay = await this.running(MAX_AGE_MS);
    let end = this.endIn(replay, batch);
    if (end < batch.length) {
      // Read the replay again before skipping records: the copy may be old, and another replay may have
      // begun.
      replay = await this.running(0);
      end = this.endIn(replay, batch);
    }
    const failed = end === 0 ? [] : await append(batch.slice(0, end));
    if (replay === undefined || failed.length > 0) return failed;
    const key = `${replay.id} ${shardId}`;
    const isPassed = end < batch.length;
    if (this.passed.has(key)) return [];
    const elapsedMs = this.now() - (this.writtenMs.get(shardId) ?? 0);
    if (isPassed || Math.abs(elapsedMs) >= EVERY_MS) {
      const arrivedMs = batch[Math.min(end, batch.length - 1)]!.arrivalMs;
      await this.table.putProgress(replay, { shardId, arrivedMs, isPassed });
      this.writtenMs.set(shardId, this.now());
    }
    if (isPassed) this.passed.add(key);
    return [];
  }

  /** Counts the records at the start of a batch that belong to the replay. */
  private endIn(replay: Replay | undefined, batch: readonly DeliveredRecord[]): number {
    // The replay was stopped and its mapping is being deleted, or it has already reached its end in this
    // shard.
    if (replay === undefined || this.passed.has(`${replay.id} ${batch[0]!.shardId}`)) return 0;
    const end = batch.findIndex((record) => isBeyond(replay, record));
    return end < 0 ? batch.length : end;
  }

  private async running(maxAgeMs: number): Promise<Replay | undefined> {
    if (this.copy === undefined || Math.abs(this.now() - this.copy.readMs) >= maxAgeMs)
      this.copy = { replay: await this.table.replay(), readMs: this.now() };
    return this.copy.replay?.state === 'running' ? this.copy.replay : undefined;
  }
}

/** Whether the replay ends before this record in its shard. */
function isBeyond(replay: Replay, { arrivalMs, data }: DeliveredRecord): boolean {
  if (arrivalMs >= replay.toMs) return true;
  try {
    return decodeHeartbeat(data) === replay.id;
  } catch {
    return false;
  }
}
