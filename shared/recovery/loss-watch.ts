import { setTimeout as sleep } from 'node:timers/promises';
import type { HotTier, PartitionState } from '../hot/hot-tier';
import type { PartitionRef } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import type { RecoveryTable } from './recovery-table';

export interface LossWatchDependencies {
  readonly hot: HotTier;
  readonly table: RecoveryTable;
  /** Flusher lanes, as deployed. */
  readonly lanes: number;
  readonly now: () => number;
}

const PARALLEL = 32;
/** Kinesis' arrival times are approximate and may be slightly out of order. */
const ARRIVAL_SLACK_MS = 60_000;
/** Another instance may have registered a new partition and be about to mark it. */
const MARK_LOOKS = 10;
const MARK_LOOK_MS = 100;

/**
 * Notices that memory lost samples: a registered partition has no mark (its node was wiped or replaced), or the mark of
 * another primary (a failover, which may lose what was not replicated). It records the loss, with the arrival time from which
 * the recovery function must replay, and only then marks the partitions, so that appends go on. A crash in between notices
 * the loss once more; a replay too many is harmless (DESIGN.md, rule 2).
 */
export class LossWatch {
  /** Ids of losses that a replay has repaired. */
  private readonly closed = new Set<string>();

  constructor(private readonly dependencies: LossWatchDependencies) {}

  /**
   * Makes a partition ready for appends: registers a new one, notices a loss.
   *
   * @returns the id of the loss, if one was noticed
   */
  async resolve(ref: PartitionRef): Promise<string | undefined> {
    const { hot, table } = this.dependencies;
    let state = await hot.inspect(ref);
    if (state.isWhole) return undefined;
    if (state.loss === undefined) {
      if (await table.register(ref)) {
        await hot.mark(ref, '');
        return undefined;
      }
      state = await this.onceMarked(ref);
      if (state.isWhole) return undefined;
    }
    return this.notice(ref);
  }

  /**
   * Finds out whether a partition may lack acknowledged samples.
   *
   * @param state read before or together with the partition's data
   * @returns the arrival time from which samples may be missing, ms (0 if unknown); undefined if none are
   */
  async missingSince(
    ref: PartitionRef,
    { isWhole, loss }: Pick<PartitionState, 'isWhole' | 'loss'>,
  ): Promise<number | undefined> {
    const { table } = this.dependencies;
    if (isWhole && (loss === '' || this.closed.has(loss!))) return undefined;
    if (loss === undefined) {
      // A partition that memory never had lacks nothing, nor does one that was registered after it was read.
      if (!(await table.isRegistered(ref))) return undefined;
      const now = await this.onceMarked(ref);
      if (now.isWhole && now.loss === '') return undefined;
    }
    // Not noticed yet, so the time is unknown.
    if (!isWhole) return 0;
    const last = await table.loss();
    if (last?.isOpen && last.id === loss) return last.fromMs;
    if (this.closed.size > 1_000) this.closed.clear();
    this.closed.add(loss!);
    return undefined;
  }

  /** Waits a second at most for the mark of a registered partition. */
  private async onceMarked(ref: PartitionRef): Promise<PartitionState> {
    const { hot } = this.dependencies;
    let state = await hot.inspect(ref);
    for (let looks = 0; state.loss === undefined && looks < MARK_LOOKS; looks++) {
      await sleep(MARK_LOOK_MS);
      state = await hot.inspect(ref);
    }
    return state;
  }

  private async notice(noticed: PartitionRef): Promise<string | undefined> {
    const { hot, table, lanes, now } = this.dependencies;
    const isOther = ({ tenantId, partition }: PartitionRef) =>
      tenantId !== noticed.tenantId || partition !== noticed.partition;
    const partitions = [noticed, ...(await table.registered()).filter(isOther)];
    const looks = await hot.survey(partitions, false);
    const lost: { ref: PartitionRef; state: PartitionState }[] = [];
    await mapLimited(partitions, PARALLEL, async (ref, i) => {
      if (looks[i] !== undefined) return;
      // A node that does not answer need not have lost anything; its partitions are inspected when they are used.
      const state = await hot.inspect(ref).catch(() => undefined);
      if (state !== undefined && !state.isWhole) lost.push({ ref, state });
    });
    // Another instance was first.
    if (lost.length === 0) return (await table.loss())?.id;
    const wiped = lost.filter(({ state }) => state.loss === undefined).length;
    const { id } = await table.notice(
      lostSinceMs(
        await table.flushedMs(lanes),
        lost.map(({ state }) => state),
      ),
      `${wiped} partitions were gone from memory, ${lost.length - wiped} had another primary`,
      now(),
    );
    await mapLimited(lost, PARALLEL, ({ ref }) => hot.mark(ref, id));
    return id;
  }
}

/**
 * Decides from which arrival time on a replay must read after a loss, ms. What had left memory is safe, so it is the later of the
 * flushers' watermark and the oldest unflushed arrival that the lost partitions' marks still tell; 0 if neither is known.
 */
export function lostSinceMs(flushedMs: number, lost: readonly Pick<PartitionState, 'arrivedMs'>[]): number {
  const oldestMs = Math.min(...lost.map(({ arrivedMs }) => arrivedMs ?? 0));
  return Math.max(0, flushedMs - ARRIVAL_SLACK_MS, oldestMs - ARRIVAL_SLACK_MS);
}
