import { setTimeout as sleep } from 'node:timers/promises';
import type { HotTier } from '../hot/hot-tier';
import type { FoundMark, Mark } from '../hot/partition-marks';
import type { Topology } from '../hot/topology';
import type { PartitionRef } from '../model/placement';
import { mapLimited, SerialCalls } from '../platform/concurrency';
import { type Era, judge, nextEra } from './era';
import type { RecoveryTable } from './recovery-table';
import { ARRIVAL_SLACK_MS } from './watermarks';

export interface LossWatchDependencies {
  readonly hot: HotTier;
  readonly table: RecoveryTable;
  /** Number of flusher lanes, as deployed. */
  readonly lanes: number;
  readonly now: () => number;
}

/** The result of a look at the primaries of memory. */
export interface Look {
  readonly topology: Topology;
  /**
   * The era after the look. Undefined if a primary did not answer, since it is then unknown which partitions were
   * moved. Also undefined while every partition counts as lost (`EraStep.isLoss`) and no instance has recorded the loss
   * yet.
   */
  readonly era: Era | undefined;
}

/** Number of partitions whose marks are read or written at the same time. */
const PARALLEL = 32;
/**
 * Maximum number of times that a missing mark is read again. Another instance may have registered the partition, and be
 * about to write its mark.
 */
const MARK_READS = 10;
/** Time between two reads of a missing mark, in ms. */
const MARK_READ_MS = 100;
/**
 * How long a call waits while a hash slot is being moved, or while it is unknown whether a partition was moved, in
 * ms. After that, the call treats the partition as lost, or fails.
 */
const UNSURE_MS = 2_000;
/** Time between two looks while a call waits, in ms. */
const LOOK_AGAIN_MS = 100;

/**
 * Notices that memory has lost samples. There are three signs:
 *
 * - A registered partition has no mark: its node was wiped or replaced.
 * - The mark names another primary: a failover may have lost samples that were not replicated yet.
 * - The mark says that samples expired before a flusher could move them.
 *
 * LossWatch first records the loss, with the arrival time from which the recovery function must replay the stream. Then
 * it marks the partitions again, so that appends can resume. After a crash between these steps, the loss is noticed a
 * second time. That is safe: it costs at most another replay (DESIGN.md, rule 2).
 *
 * A planned move to another primary loses nothing (era.ts). LossWatch then only writes the name of the new primary into
 * the mark.
 */
export class LossWatch {
  /** Ids of losses that a replay has repaired. Reads need not look these losses up in the table again. */
  private readonly closed = new Set<string>();
  private readonly recordedLooks = new SerialCalls(() => this.step(true));
  private readonly looks = new SerialCalls(() => this.step(false));

  constructor(private readonly dependencies: LossWatchDependencies) {}

  /**
   * Looks at the primaries, and records the new era if it has changed. If a primary failed while hash slots were
   * moving, records a loss of every partition and marks every partition.
   */
  lookAndRecord(): Promise<Look> {
    return this.recordedLooks.run();
  }

  private async step(isRecorded: boolean): Promise<Look> {
    const { hot, table, now } = this.dependencies;
    for (;;) {
      // Read the recorded era before looking at the primaries. If another instance records a later look in
      // between, the conditional write below fails.
      const [recorded, scalingUntilMs] = await Promise.all([table.era(), table.scalingUntilMs()]);
      const topology = await hot.nodes.topology();
      if (topology.primaries === undefined) return { topology, era: undefined };
      const { era, isLoss } = nextEra(recorded, topology.primaries, scalingUntilMs > now(), now());
      if (!isRecorded) return { topology, era: isLoss ? undefined : era };
      // Record the loss before the era, so that a crash in between cannot hide it.
      if (isLoss) await this.noticeAll(era.number);
      if (era === recorded || (await table.putEra(era, recorded))) return { topology, era };
    }
  }

  /**
   * Makes a partition ready for appends if its mark is missing or wrong. Registers and marks a new partition. For a
   * partition that was moved, writes its new primary into the mark. Otherwise records a loss and marks the partition
   * again.
   *
   * @throws when a move of the partition takes too long; the caller should try again
   */
  async resolve(ref: PartitionRef): Promise<void> {
    const { hot, table, now } = this.dependencies;
    let mark = await hot.marks.read(ref);
    if (mark.state === 'absent') {
      const isNew = await table.register(ref);
      if (isNew && (await hot.marks.takeOver(ref, mark, (await table.era())?.number))) return;
      mark = await this.awaitMark(ref);
    }
    const untilMs = now() + UNSURE_MS;
    while (mark.state !== 'good') {
      const { era, topology } = await this.lookAndRecord();
      const verdict = judge(mark, era);
      const isOver = now() > untilMs;
      if (verdict === 'lost' || (verdict === 'unsure' && isOver)) return this.notice(ref, era);
      const hasArrived = verdict === 'moved' && !topology.movingSlots.has(hot.nodes.slotOf(ref));
      if (hasArrived && (await hot.marks.takeOver(ref, mark))) return;
      if (isOver)
        throw new Error(
          `partition ${ref.partition} of tenant ${ref.tenantId} is on its way to another primary`,
        );
      await sleep(LOOK_AGAIN_MS);
      mark = await hot.marks.read(ref);
    }
  }

  /**
   * Finds out since when a partition may lack acknowledged samples.
   *
   * @param mark the partition's mark, read before its data or together with it
   * @returns a time in ms: only samples that arrived in the stream at this time or later may be missing. 0 if the time
   *   is unknown; undefined if no sample is missing
   */
  async missingSince(ref: PartitionRef, mark: Mark): Promise<number | undefined> {
    const { table } = this.dependencies;
    if (mark.state === 'absent') {
      // A partition that was never in memory has lost nothing there.
      if (!(await table.isRegistered(ref))) return undefined;
      const now = await this.awaitMark(ref);
      // Otherwise memory has lost samples, and the loss was not recorded before the read, so the time is unknown.
      return now.state === 'good' && now.loss === '' ? undefined : 0;
    }
    const { loss } = mark;
    if (mark.state === 'bad' && !(await this.cameByMove(ref, loss))) return 0;
    if (loss === '' || this.closed.has(loss)) return undefined;
    const last = await table.loss();
    if (last?.isOpen && last.id === loss) return last.fromMs;
    if (this.closed.size > 1_000) this.closed.clear();
    this.closed.add(loss);
    return undefined;
  }

  /**
   * Whether a planned move has brought a partition to its current primary. Call it for a partition whose mark names
   * another primary. While the answer is uncertain, looks again for up to {@link UNSURE_MS}: a departing primary may
   * not answer, or another instance may be about to record the new era.
   *
   * @param loss id of the loss that the mark named when it was read
   */
  private async cameByMove(ref: PartitionRef, loss: string): Promise<boolean> {
    const { hot, now } = this.dependencies;
    const untilMs = now() + UNSURE_MS;
    for (;;) {
      const mark = await hot.marks.read(ref);
      if (mark.state === 'absent' || mark.loss !== loss) return false;
      if (mark.state === 'good') return true;
      const verdict = judge(mark, (await this.looks.run()).era);
      if (verdict !== 'unsure') return verdict === 'moved';
      if (now() > untilMs) return false;
      await sleep(LOOK_AGAIN_MS);
    }
  }

  /**
   * Waits for the mark of a registered partition to appear in memory, for about a second at most. Returns the mark,
   * which may still be absent.
   */
  private async awaitMark(ref: PartitionRef): Promise<FoundMark> {
    const { hot } = this.dependencies;
    let mark = await hot.marks.read(ref);
    for (let reads = 0; mark.state === 'absent' && reads < MARK_READS; reads++) {
      await sleep(MARK_READ_MS);
      mark = await hot.marks.read(ref);
    }
    return mark;
  }

  /**
   * Records a loss of every partition, and marks every partition. Any sample that was still in memory may be lost.
   *
   * @param era number of the new era
   */
  private async noticeAll(era: number): Promise<void> {
    const { hot, table, lanes, now } = this.dependencies;
    const found = await mapLimited(await table.registered(), PARALLEL, async (ref) => ({
      ref,
      mark: await hot.marks.read(ref).catch(() => undefined),
    }));
    const fromMs = lostSinceMs(await table.flushedUntilMs(lanes), []);
    const { id } = await table.notice(fromMs, 'a primary failed while slots moved', now());
    // If a node does not answer, its partitions keep the marks of an earlier era. So the loss is noticed
    // again when these partitions are next used.
    await mapLimited(found, PARALLEL, async ({ ref, mark }) => {
      try {
        if (mark === undefined || (await hot.marks.mark(ref, mark, id, era))) return;
        // `mark` returns false if the mark has changed: while slots move, another instance may have written the new
        // primary into it.
        const after = await hot.marks.read(ref);
        if (after.state === 'good' && after.loss !== id) await hot.marks.mark(ref, after, id, era);
      } catch {}
    });
  }

  /**
   * Records a loss of all partitions whose marks are missing or wrong, and marks them.
   *
   * @param noticed the partition where the loss was noticed
   * @param era the current era; undefined if it is unknown. Every partition with a bad mark then counts as lost
   */
  private async notice(noticed: PartitionRef, era: Era | undefined): Promise<void> {
    const { hot, table, lanes, now } = this.dependencies;
    const isOther = ({ tenantId, partition }: PartitionRef) =>
      tenantId !== noticed.tenantId || partition !== noticed.partition;
    const partitions = [noticed, ...(await table.registered()).filter(isOther)];
    const surveys = await hot.marks.survey(partitions);
    const lost: { ref: PartitionRef; mark: FoundMark }[] = [];
    await mapLimited(partitions, PARALLEL, async (ref, i) => {
      if (surveys[i] !== undefined) return;
      // A node that does not answer need not have lost anything. The next use of one of its partitions reads the
      // partition's mark.
      const mark = await hot.marks.read(ref).catch(() => undefined);
      if (mark === undefined || mark.state === 'good' || judge(mark, era) === 'moved') return;
      lost.push({ ref, mark });
    });
    // Nothing to do: another instance has already recorded the loss and marked the partitions.
    if (lost.length === 0) return;
    const wiped = lost.filter(({ mark }) => mark.state === 'absent').length;
    const expired = lost.filter(({ mark }) => mark.state === 'bad' && mark.isExpired).length;
    const { id } = await table.notice(
      lostSinceMs(
        await table.flushedUntilMs(lanes),
        lost.map(({ mark }) => mark),
      ),
      `${wiped} partitions were gone from memory, ${lost.length - wiped - expired} had another primary, samples of ${expired} expired`,
      now(),
    );
    // If a mark or its primary has changed in the meantime, the next use of the partition checks again.
    await mapLimited(lost, PARALLEL, ({ ref, mark }) => hot.marks.mark(ref, mark, id, era?.number));
  }
}

/**
 * Computes the arrival time from which a replay must read the stream after a loss, in ms; 0 means from the oldest
 * record. Samples that had left memory are safe. So the replay begins at the later of two times, less a minute: the
 * flushed-until time, and the lowest `lostFromMs` of the partitions, which is 0 for a mark that is absent or expired.
 *
 * @param flushedUntilMs the flushed-until time: everything that arrived earlier has left memory, in ms
 * @param lost marks of the lost partitions; empty if every partition counts as lost
 */
export function lostSinceMs(flushedUntilMs: number, lost: readonly FoundMark[]): number {
  const oldestMs = Math.min(
    ...lost.map((mark) => (mark.state === 'bad' && !mark.isExpired ? mark.lostFromMs : 0)),
  );
  return Math.max(0, flushedUntilMs - ARRIVAL_SLACK_MS, lost.length === 0 ? 0 : oldestMs - ARRIVAL_SLACK_MS);
}
