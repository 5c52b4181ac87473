import { setTimeout as sleep } from 'node:timers/promises';
import type { HotTier, PartitionState } from '../hot/hot-tier';
import { allPartitions } from '../model/partitions';
import type { PartitionRef } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import type { Tenants } from '../tenancy/tenants';
import type { RecoveryTable } from './recovery-table';

export interface LossWatchDependencies {
  readonly hot: HotTier;
  readonly table: RecoveryTable;
  readonly tenants: Tenants;
  /** Of the flusher, as deployed. */
  readonly lanes: number;
  readonly now: () => number;
}

const PARALLEL = 32;
/** The stream's arrival times are approximate, and not quite in order. */
const ARRIVAL_SLACK_MS = 60_000;
/** Another instance that registers a new partition marks it in the next moment. */
const MARK_LOOKS = 10;
const MARK_LOOK_MS = 100;

/**
 * Notices that memory was lost: a partition that it had has no mark (the node was wiped or replaced), or the mark of
 * another primary (a failover, which may have cost what was not replicated). The loss is written down with the time since
 * when the stream must be read again, which the recovery function then does; only then are the partitions marked and
 * appended to again. A crash in between notices it once more, and a replay too many is harmless (design.md, rule 2).
 */
export class LossWatch {
  /** Losses that have been made good. */
  private readonly closed = new Set<string>();

  constructor(private readonly dependencies: LossWatchDependencies) {}

  /**
   * Makes a partition ready to be appended to: new ones are registered, losses noticed.
   *
   * @returns the loss that was noticed, if one was
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
      for (let looks = 0; state.loss === undefined && looks < MARK_LOOKS; looks++) {
        await sleep(MARK_LOOK_MS);
        state = await hot.inspect(ref);
      }
      if (state.isWhole) return undefined;
    }
    return this.notice(ref);
  }

  /**
   * Whether a partition may lack something of what was acknowledged.
   *
   * @param state read before or together with the partition's data
   * @returns the time since when what arrived may be missing, ms, 0 when that is not known; undefined when nothing is
   */
  async missingSince(
    ref: PartitionRef,
    { isWhole, loss }: Pick<PartitionState, 'isWhole' | 'loss'>,
  ): Promise<number | undefined> {
    const { table } = this.dependencies;
    if (isWhole && (loss === '' || this.closed.has(loss!))) return undefined;
    // A partition that memory never had is whole without a mark.
    if (loss === undefined && !(await table.isRegistered(ref))) return undefined;
    // Not noticed yet, so nobody knows.
    if (!isWhole) return 0;
    const last = await table.loss();
    if (last?.isOpen && last.id === loss) return last.fromMs;
    if (this.closed.size > 1_000) this.closed.clear();
    this.closed.add(loss!);
    return undefined;
  }

  private async notice(noticed: PartitionRef): Promise<string | undefined> {
    const { hot, table, tenants, lanes, now } = this.dependencies;
    const isOther = ({ tenantId, partition }: PartitionRef) =>
      tenantId !== noticed.tenantId || partition !== noticed.partition;
    const partitions = [noticed, ...allPartitions(await tenants.list()).filter(isOther)];
    const isRegistered = await table.registered();
    const lost: { ref: PartitionRef; state: PartitionState }[] = [];
    await mapLimited(partitions, PARALLEL, async (ref) => {
      // A node that does not answer is not known to have lost anything; its partitions are looked at when they are used.
      const state = await hot.inspect(ref).catch(() => undefined);
      if (state === undefined || state.isWhole) return;
      if (state.loss !== undefined || isRegistered(ref)) lost.push({ ref, state });
    });
    // Another noticed it first.
    if (lost.length === 0) return (await table.loss())?.id;
    const flushedMs = await table.flushedMs(lanes);
    const sinceMs = Math.min(...lost.map(({ state }) => state.arrivedMs ?? 0));
    const wiped = lost.filter(({ state }) => state.loss === undefined).length;
    const { id } = await table.notice(
      Math.max(0, flushedMs - ARRIVAL_SLACK_MS, sinceMs - ARRIVAL_SLACK_MS),
      `${wiped} partitions were gone from memory, ${lost.length - wiped} had another primary`,
      now(),
    );
    await mapLimited(lost, PARALLEL, ({ ref }) => hot.mark(ref, id));
    return id;
  }
}
