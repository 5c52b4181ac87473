import { setTimeout as sleep } from 'node:timers/promises';
import type { HotTier } from '../hot/hot-tier';
import { EXPIRED } from '../hot/mark-script';
import type { PartitionState } from '../hot/partition-marks';
import type { PartitionRef } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import { type Era, hasMoved } from './era';
import { type Observation, PrimaryWatch } from './primary-watch';
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
/**
 * Number of look-ups of a missing mark, and the time between them. Another instance may have registered the
 * partition and be about to mark it.
 */
const MARK_LOOKS = 10;
const MARK_LOOK_MS = 100;
/**
 * Longest time, ms, that a call waits until a slot has been moved, or until it is certain whether a partition
 * was moved. The call then fails.
 */
const UNSURE_MS = 2_000;
const LOOK_AGAIN_MS = 100;

/**
 * The partition's slot is being moved to the primary that has its mark. Appends wait until the move is done.
 */
export class PartitionMovingError extends Error {
  override readonly name = 'PartitionMovingError';
}

/**
 * Notices that memory lost samples. The signs are: a registered partition has no mark (its node was wiped or
 * replaced); its mark is another primary's (after a failover, which may lose what was not replicated); or its
 * mark says that samples expired before a flusher moved them.
 *
 * LossWatch first records the loss, with the arrival time from which the recovery function must replay. Only
 * then does it mark the partitions, so that appends go on. After a crash in between, the loss is noticed once
 * more; an additional replay is harmless (DESIGN.md, rule 2).
 *
 * A partition that a planned move brought to another primary has lost nothing (era.ts): the new primary takes
 * over its mark.
 */
export class LossWatch {
  /** Ids of losses that a replay has repaired. */
  private readonly closed = new Set<string>();
  private readonly primaries: PrimaryWatch;

  constructor(private readonly dependencies: LossWatchDependencies) {
    this.primaries = new PrimaryWatch(dependencies, (era) => this.noticeAll(era));
  }

  /**
   * Looks at the primaries and records changes. If a primary failed while slots were moving, records a loss
   * and marks every partition.
   */
  observe(): Promise<Observation> {
    return this.primaries.observe();
  }

  /**
   * Makes a partition ready for appends: registers a new partition, takes over the mark of one that was
   * moved, or records a loss.
   *
   * @returns the id of the loss, if there was one
   * @throws {PartitionMovingError}
   */
  async resolve(ref: PartitionRef): Promise<string | undefined> {
    const { hot, table } = this.dependencies;
    let state = await hot.marks.inspect(ref);
    if (state.isWhole) return undefined;
    if (state.loss === undefined) {
      if (await table.register(ref)) {
        await hot.marks.mark(ref, '', (await table.era())?.number);
        return undefined;
      }
      state = await this.onceMarked(ref);
      if (state.isWhole) return undefined;
    }
    const untilMs = this.dependencies.now() + UNSURE_MS;
    for (;;) {
      const { era, topology, isLoss } = await this.observe();
      if (isLoss) state = await hot.marks.inspect(ref);
      if (state.isWhole) return (await table.loss())?.id;
      const isOver = this.dependencies.now() > untilMs;
      if (era === undefined ? isOver : !hasMoved(state, era)) return this.notice(ref, era);
      const hasArrived = era !== undefined && !topology.openSlots.has(hot.nodes.slotOf(ref));
      if (hasArrived && (await hot.marks.takeOver(ref, state))) return undefined;
      if (isOver) break;
      if (!hasArrived) await sleep(LOOK_AGAIN_MS);
      state = await hot.marks.inspect(ref);
      if (state.isWhole) return undefined;
    }
    throw new PartitionMovingError(
      `partition ${ref.partition} of tenant ${ref.tenantId} is on its way to another primary`,
    );
  }

  /**
   * Finds out whether a partition may lack acknowledged samples.
   *
   * @param read the mark's state, read before or together with the partition's data
   * @returns the arrival time from which samples may be missing, ms (0 if unknown); undefined if none are
   */
  async missingSince(
    ref: PartitionRef,
    read: Pick<PartitionState, 'isWhole' | 'loss'>,
  ): Promise<number | undefined> {
    const { table } = this.dependencies;
    const { loss } = read;
    if (read.isWhole && (loss === '' || this.closed.has(loss!))) return undefined;
    if (loss === undefined) {
      // A partition that was never in memory cannot lack samples there. Neither can one that was registered
      // only after its data was read.
      if (!(await table.isRegistered(ref))) return undefined;
      const now = await this.onceMarked(ref);
      if (now.isWhole && now.loss === '') return undefined;
      // The loss has not been recorded yet, so its time is unknown.
      return 0;
    }
    if (!read.isWhole) {
      if (!(await this.cameByMove(ref, loss))) return 0;
      if (loss === '') return undefined;
    }
    const last = await table.loss();
    if (last?.isOpen && last.id === loss) return last.fromMs;
    if (this.closed.size > 1_000) this.closed.clear();
    this.closed.add(loss);
    return undefined;
  }

  /**
   * Whether a planned move brought a partition here. The partition was read with the mark of another primary.
   * Retries for up to {@link UNSURE_MS} while the answer is uncertain: a primary that leaves does not answer,
   * and another instance may be about to record the change.
   *
   * @param loss the loss in the mark that was read
   */
  private async cameByMove(ref: PartitionRef, loss: string): Promise<boolean> {
    const { hot, now } = this.dependencies;
    const untilMs = now() + UNSURE_MS;
    for (;;) {
      const state = await hot.marks.inspect(ref);
      if (state.loss !== loss) return false;
      if (state.isWhole) return true;
      const { era, isLoss } = await this.primaries.look();
      const isSure = era !== undefined && !isLoss;
      if (isSure) return hasMoved(state, era);
      if (now() > untilMs) return false;
      await sleep(LOOK_AGAIN_MS);
    }
  }

  /** Waits at most a second for the mark of a registered partition. */
  private async onceMarked(ref: PartitionRef): Promise<PartitionState> {
    const { hot } = this.dependencies;
    let state = await hot.marks.inspect(ref);
    for (let looks = 0; state.loss === undefined && looks < MARK_LOOKS; looks++) {
      await sleep(MARK_LOOK_MS);
      state = await hot.marks.inspect(ref);
    }
    return state;
  }

  /**
   * Records that every partition may have lost the samples that had not left memory, and marks all
   * partitions.
   */
  private async noticeAll(era: number): Promise<void> {
    const { hot, table, lanes, now } = this.dependencies;
    const partitions = await table.registered();
    const fromMs = lostSinceMs(await table.flushedMs(lanes), []);
    const { id } = await table.notice(fromMs, 'a primary failed while slots moved', now());
    // If a node does not answer, its partitions keep a mark of an earlier era, so that the loss is noticed
    // again later.
    await mapLimited(partitions, PARALLEL, (ref) => hot.marks.mark(ref, id, era).catch(() => {}));
  }

  private async notice(noticed: PartitionRef, era: Era | undefined): Promise<string | undefined> {
    const { hot, table, lanes, now } = this.dependencies;
    const isOther = ({ tenantId, partition }: PartitionRef) =>
      tenantId !== noticed.tenantId || partition !== noticed.partition;
    const partitions = [noticed, ...(await table.registered()).filter(isOther)];
    const looks = await hot.marks.survey(partitions, false);
    const lost: { ref: PartitionRef; state: PartitionState }[] = [];
    await mapLimited(partitions, PARALLEL, async (ref, i) => {
      if (looks[i] !== undefined) return;
      // A node that does not answer may not have lost anything. Its partitions are inspected when they are
      // next used.
      const state = await hot.marks.inspect(ref).catch(() => undefined);
      if (state === undefined || state.isWhole || (era !== undefined && hasMoved(state, era))) return;
      lost.push({ ref, state });
    });
    // Another instance has recorded the loss first.
    if (lost.length === 0) return (await table.loss())?.id;
    const wiped = lost.filter(({ state }) => state.loss === undefined).length;
    const expired = lost.filter(({ state }) => state.markedBy === EXPIRED).length;
    const { id } = await table.notice(
      lostSinceMs(
        await table.flushedMs(lanes),
        lost.map(({ state }) => state),
      ),
      `${wiped} partitions were gone from memory, ${lost.length - wiped - expired} had another primary, samples of ${expired} expired`,
      now(),
    );
    await mapLimited(lost, PARALLEL, ({ ref }) => hot.marks.mark(ref, id, era?.number));
    return id;
  }
}

/**
 * Computes the stream arrival time from which a replay must read after a loss, ms; 0 if it is unknown.
 * Samples that had left memory are safe. So the time is the later of two: the flushers' watermark, and the
 * oldest unflushed arrival according to the marks of the lost partitions. A mark's arrival time counts only
 * if the direct successor of the primary that wrote it took over: a slot that moved may have lost earlier
 * samples.
 */
export function lostSinceMs(
  flushedMs: number,
  lost: readonly Pick<PartitionState, 'arrivedMs' | 'markedBy' | 'previous'>[],
): number {
  const oldestMs = Math.min(
    ...lost.map(({ arrivedMs = 0, markedBy, previous }) => (markedBy === previous ? arrivedMs : 0)),
  );
  return Math.max(0, flushedMs - ARRIVAL_SLACK_MS, lost.length === 0 ? 0 : oldestMs - ARRIVAL_SLACK_MS);
}
