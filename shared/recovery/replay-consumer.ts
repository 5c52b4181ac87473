import { decodeHeartbeat } from '../stream/heartbeat';
import type { DeliveredRecord } from '../stream/record-decoder';
import type { RecoveryTable, Replay } from './recovery-table';

/** Maximum age of the cached copy of the replay's item that a batch uses, in ms. */
const MAX_AGE_MS = 2_000;
/** Minimum time between two writes of a shard's progress, in ms. */
const EVERY_MS = 1_000;

/**
 * Handles the batches that the replayer function receives from the stream while a replay runs. Appends the
 * records that belong to the replay, and writes the replay's progress.
 */
export class ReplayConsumer {
  private copy: { readonly replay: Replay | undefined; readonly readMs: number } | undefined;
  private readonly writtenMs = new Map<string, number>();
  /** Shards in which a replay has reached its end. Each string is the replay's id, a space and the shard's id. */
  private readonly passed = new Set<string>();

  constructor(
    private readonly table: RecoveryTable,
    private readonly now: () => number,
  ) {}

  /**
   * Handles a batch.
   *
   * @param batch records of one shard, in order
   * @param append appends records to memory, and returns the sequence numbers of those that failed
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
      // Before skipping records, read the replay again. The copy may be outdated, and a wider replay may have
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

  /** Returns how many records at the start of a batch belong to the replay. */
  private endIn(replay: Replay | undefined, batch: readonly DeliveredRecord[]): number {
    // Nothing belongs to the replay if it is no longer running (its mapping is then being deleted), or if it has
    // already reached its end in this shard.
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

/**
 * Whether a replay ends before a record: the record arrived after the replay's range, or is the replay's heartbeat.
 */
function isBeyond(replay: Replay, { arrivalMs, data }: DeliveredRecord): boolean {
  if (arrivalMs >= replay.toMs) return true;
  try {
    return decodeHeartbeat(data) === replay.id;
  } catch {
    return false;
  }
}
