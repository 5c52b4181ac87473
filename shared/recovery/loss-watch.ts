import { setTimeout as sleep } from 'node:timers/promises';
import type { HotTier } from '../hot/hot-tier';
import { EXPIRED } from '../hot/mark-script';
import type { PartitionState } from '../hot/partition-marks';
import type { Topology } from '../hot/topology';
import type { PartitionRef } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import { type Era, hasMoved, nextEra } from './primaries';
import { holdReads } from './read-hold';
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
/** So long it may be unsure whether a partition has moved, and a slot may be on its way, before a call fails. */
const UNSURE_MS = 2_000;
const LOOK_AGAIN_MS = 100;
/**
 * Readers believe a look for so long, ms. Less than a failover takes: a replica with marks of before a move cannot have taken
 * over since, and its slots moved on.
 */
const LOOK_BELIEVED_MS = 500;
/** Reads wait for so long after a look that found slots moving: longer than until the next flusher's round, ms. */
const MOVING_MS = 90_000;
/** A time until which they wait is put off when less is left, ms. */
const MOVING_LEFT_MS = 60_000;

/** The primaries at one time, and what recovery makes of them. */
export interface Observation {
  readonly topology: Topology;
  /** Undefined when a primary did not answer: nothing is known of moves then. */
  readonly era: Era | undefined;
  /** Whether every partition counts as lost ({@link nextEra}). */
  readonly isLoss: boolean;
}

/** A partition's slot is on its way to the primary that has its mark. Appends wait until it has arrived. */
export class PartitionMovingError extends Error {
  override readonly name = 'PartitionMovingError';
}

/**
 * Notices that memory lost samples: a registered partition has no mark (its node was wiped or replaced), or the mark of
 * another primary (a failover, which may lose what was not replicated), or says that samples expired before a flusher moved them. It records the loss, with the arrival time from which
 * the recovery function must replay, and only then marks the partitions, so that appends go on. A crash in between notices
 * the loss once more; a replay too many is harmless (DESIGN.md, rule 2).
 *
 * A partition that a planned move brought to another primary has lost nothing (primaries.ts): its mark is taken over.
 */
export class LossWatch {
  /** Ids of losses that a replay has repaired. */
  private readonly closed = new Set<string>();
  /** The era as this instance saw it last; a mark of an earlier era is a loss if it is found elsewhere. */
  private lastEra: number | undefined;
  /** What this instance saw last, with all primaries answering and nothing lost. */
  private lastLook:
    | { readonly era: Era; readonly openSlots: ReadonlySet<number>; readonly ms: number }
    | undefined;
  private readonly observing = new Shared(() => this.observeNow(true));
  private readonly looking = new Shared(() => this.observeNow(false));

  constructor(private readonly dependencies: LossWatchDependencies) {}

  /**
   * Looks at the primaries and records what changed. When a primary went while slots moved, it records a loss and marks every
   * partition.
   */
  observe(): Promise<Observation> {
    return this.observing.run();
  }

  /**
   * Makes a partition ready for appends: registers a new one, takes over one that moved here, notices a loss.
   *
   * @returns the id of the loss, if one was noticed
   * @throws {PartitionMovingError}
   */
  async resolve(ref: PartitionRef): Promise<string | undefined> {
    const { hot, table } = this.dependencies;
    let state = await hot.marks.inspect(ref);
    if (state.isWhole) return undefined;
    if (state.loss === undefined) {
      if (await table.register(ref)) {
        this.lastEra ??= (await table.era())?.number;
        await hot.marks.mark(ref, '', this.lastEra);
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
   * @param read read before or together with the partition's data
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
      // A partition that memory never had lacks nothing, nor does one that was registered after it was read.
      if (!(await table.isRegistered(ref))) return undefined;
      const now = await this.onceMarked(ref);
      if (now.isWhole && now.loss === '') return undefined;
      // Not noticed yet, so the time is unknown.
      return 0;
    }
    if (!read.isWhole) {
      if (!(await this.hasMoved(ref, loss))) return 0;
      if (loss === '') return undefined;
    }
    const last = await table.loss();
    if (last?.isOpen && last.id === loss) return last.fromMs;
    if (this.closed.size > 1_000) this.closed.clear();
    this.closed.add(loss);
    return undefined;
  }

  /**
   * Whether a partition that was read with another primary's mark came by a planned move. Looks again for a moment while that
   * is unsure: a primary that leaves does not answer, and others may be about to record what changed.
   *
   * @param loss of the mark that was read
   */
  private async hasMoved(ref: PartitionRef, loss: string): Promise<boolean> {
    const { hot, now } = this.dependencies;
    const untilMs = now() + UNSURE_MS;
    for (;;) {
      const state = await hot.marks.inspect(ref);
      if (state.loss !== loss) return false;
      if (state.isWhole) return true;
      if (this.isKnownToHaveMoved(ref, state)) return true;
      const { era, isLoss } = await this.looking.run();
      const isSure = era !== undefined && !isLoss;
      if (isSure) return hasMoved(state, era);
      if (now() > untilMs) return false;
      await sleep(LOOK_AGAIN_MS);
    }
  }

  /** Whether a look of a moment ago tells that a partition has moved. Only the next one can tell that it has not. */
  private isKnownToHaveMoved(ref: PartitionRef, state: PartitionState): boolean {
    const { lastLook } = this;
    const { hot, now } = this.dependencies;
    return (
      lastLook !== undefined &&
      now() - lastLook.ms < LOOK_BELIEVED_MS &&
      !lastLook.openSlots.has(hot.nodes.slotOf(ref)) &&
      hasMoved(state, lastLook.era)
    );
  }

  /** Waits a second at most for the mark of a registered partition. */
  private async onceMarked(ref: PartitionRef): Promise<PartitionState> {
    const { hot } = this.dependencies;
    let state = await hot.marks.inspect(ref);
    for (let looks = 0; state.loss === undefined && looks < MARK_LOOKS; looks++) {
      await sleep(MARK_LOOK_MS);
      state = await hot.marks.inspect(ref);
    }
    return state;
  }

  /** @param isRecorded whether what changed is written down, and a loss is noticed: not by readers */
  private async observeNow(isRecorded: boolean): Promise<Observation> {
    const { hot, table, now } = this.dependencies;
    for (;;) {
      // Before the primaries: what others recorded meanwhile is then refused by compare-and-set.
      const [recorded, holds] = await Promise.all([table.era(), table.holds()]);
      const ms = now();
      const topology = await hot.nodes.topology();
      const { primaries, isMoving } = topology;
      if (primaries === undefined) return { topology, era: undefined, isLoss: false };
      const isScaling = holds.scalingUntilMs > now();
      const { era, isLoss, areMoving } = nextEra(recorded, { primaries, isMoving }, isScaling);
      if (isRecorded && isLoss) await this.noticeAll(era.number);
      if (!isRecorded || era === recorded || (await table.putEra(era, recorded))) {
        this.lastEra = era.number;
        this.lastLook = isLoss ? undefined : { era, openSlots: topology.openSlots, ms };
        if (isRecorded && areMoving && !isScaling && holds.pressedUntilMs < now() + MOVING_LEFT_MS)
          await holdReads(table, now() + MOVING_MS);
        return { topology, era, isLoss };
      }
    }
  }

  /** Records that any partition may lack what has not left memory, and marks all. */
  private async noticeAll(era: number): Promise<void> {
    const { hot, table, lanes, now } = this.dependencies;
    const partitions = await table.registered();
    const fromMs = lostSinceMs(await table.flushedMs(lanes), []);
    const { id } = await table.notice(fromMs, 'a primary went while slots moved', now());
    // The mark of a node that does not answer stays of an earlier era.
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
      // A node that does not answer need not have lost anything; its partitions are inspected when they are used.
      const state = await hot.marks.inspect(ref).catch(() => undefined);
      if (state === undefined || state.isWhole || (era !== undefined && hasMoved(state, era))) return;
      lost.push({ ref, state });
    });
    // Another instance was first.
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
 * Decides from which arrival time on a replay must read after a loss, ms. What had left memory is safe, so it is the later of the
 * flushers' watermark and the oldest unflushed arrival that the lost partitions' marks still tell; 0 if neither is known. A mark
 * tells it only where the marked primary's own replica took over: a slot that moved may have lost earlier samples.
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

/** Runs one at a time. Who asks while one runs gets the next, which begins after the question; those who wait share it. */
class Shared<T> {
  private running: Promise<T> | undefined;
  private next: Promise<T> | undefined;

  constructor(private readonly work: () => Promise<T>) {}

  run(): Promise<T> {
    if (this.running === undefined) {
      const running = this.work().finally(() => {
        this.running = undefined;
      });
      this.running = running;
      return running;
    }
    this.next ??= this.running
      .catch(() => {})
      .then(() => {
        this.next = undefined;
        return this.run();
      });
    return this.next;
  }
}
