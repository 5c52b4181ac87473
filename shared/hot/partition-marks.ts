import type { PartitionRef } from '../model/placement';
import { slicesOf } from '../model/slices';
import { mapLimited } from '../platform/concurrency';
import { HotKeys } from './hot-keys';
import type { HotNodes } from './hot-nodes';
import { type MarkReply, replyNumber, type ScriptedClient } from './scripts';

/**
 * What a reader may conclude from the mark of a partition. `loss` is the id of the last recorded loss that affected the
 * partition; '' if there was none.
 */
export type Mark = AbsentMark | GoodMark | BadMark;

/** The partition has no mark: it is new, or all of its samples in memory were lost. */
interface AbsentMark {
  readonly state: 'absent';
}

/**
 * The mark names the primary that returned it, and no frames have expired. So memory has lost no sample of the partition
 * since the loss with the id `loss`.
 */
interface GoodMark {
  readonly state: 'good';
  readonly loss: string;
}

/** A planned move has brought the partition to the primary that answers, or memory has lost samples. */
interface BadMark {
  readonly state: 'bad';
  readonly loss: string;
}

/** Frames of the partition expired before a flusher moved them. */
interface ExpiredMark extends BadMark {
  readonly isExpired: true;
}

/** The mark names another primary, and no frames have expired. */
interface ForeignMark extends BadMark {
  readonly isExpired: false;
  /** Number of the era (recovery/era.ts) in which the mark was written, or last confirmed; undefined if unknown. */
  readonly era: number | undefined;
  /** Approximate arrival time in the stream, in ms, of the first sample that memory may have lost; 0 if unknown. */
  readonly lostFromMs: number;
}

interface MarkPlace {
  /** Replication id of the primary that answers. */
  readonly here: string;
  /** The replication id in the mark, and ' expired' if frames have expired; '' without a mark. */
  readonly stamp: string;
}

/** A mark that {@link PartitionMarks.read} has read. */
export type FoundMark = MarkPlace &
  (AbsentMark | (GoodMark & Pick<PartitionSurvey, 'lowestArrivalMs'>) | ExpiredMark | ForeignMark);

/** The findings of {@link PartitionMarks.survey} about a partition whose mark names its primary. */
export interface PartitionSurvey {
  /** When the oldest group-window was first written, in ms by the Redis server's clock; undefined if there is none. */
  readonly oldestMs: number | undefined;
  /**
   * Lower bound on the time of a group-window's first write plus the group-window's own delay, in ms by the Redis
   * server's clock. It holds for every group-window of the partition, so none becomes due earlier than one residency
   * after it. Undefined if the partition has no group-windows.
   */
  readonly dueMs: number | undefined;
  /** The lowest stream arrival time of the partition's frames, in ms; undefined if it has none. */
  readonly lowestArrivalMs: number | undefined;
}

/** Maximum number of partitions that one call surveys. A call of this size blocks its node for about 2 ms. */
const MAX_SURVEYED = 500;
const SURVEYS_AT_ONCE = 4;

/**
 * Reads and writes the marks of partitions. A mark names the primary that wrote it. If the mark is found on another
 * primary, that primary may have taken over without all acknowledged samples (recovery/loss-watch.ts).
 */
export class PartitionMarks {
  constructor(
    private readonly redis: ScriptedClient,
    private readonly nodes: HotNodes,
  ) {}

  /** Reads the mark of a partition. */
  async read(ref: PartitionRef): Promise<FoundMark> {
    const keys = new HotKeys(ref);
    return markOf(await this.redis.readMark(2, keys.mark, keys.arrived));
  }

  /**
   * Surveys many partitions with a few calls.
   *
   * @param flushDelayMs the maximum delay of a group-window, in ms (due-score.ts)
   * @param era number of the era to write into the marks that name their primary; undefined leaves the marks unchanged
   * @returns the findings for each partition; undefined where the survey cannot tell and the caller must use
   *   {@link read}: the partition's mark is missing or names another primary, its hash slot is moving, or its node did
   *   not answer
   */
  async survey(
    refs: readonly PartitionRef[],
    flushDelayMs = 0,
    era?: number,
  ): Promise<(PartitionSurvey | undefined)[]> {
    // Before a node has answered, a cluster client does not know which node serves a slot.
    await this.nodes.now();
    const indexed = refs.map((ref, index) => ({ index, keys: new HotKeys(ref) }));
    const calls = [...Map.groupBy(indexed, ({ keys }) => this.nodes.nodeOf(keys.tag)).values()].flatMap(
      (sameNode) => slicesOf(sameNode, MAX_SURVEYED),
    );
    const surveys = new Array<PartitionSurvey | undefined>(refs.length).fill(undefined);
    await mapLimited(calls, SURVEYS_AT_ONCE, async (call) => {
      const tags = call.map(({ keys }) => keys.tag);
      const found = await this.redis
        .surveyPartitions(1, call[0]!.keys.mark, flushDelayMs, era ?? '', ...tags)
        .catch(() => undefined);
      found?.split(',').forEach((text, i) => {
        if (text === '?') return;
        const [oldest, due, lowest] = text.split(' ');
        surveys[call[i]!.index] = {
          oldestMs: replyNumber(oldest),
          dueMs: replyNumber(due),
          lowestArrivalMs: replyNumber(lowest),
        };
      });
    });
    return surveys;
  }

  /**
   * Writes the mark of a partition after a loss. After that the mark names the partition's current primary, so appends
   * can resume.
   *
   * @param found result of {@link read}, from before the loss was recorded
   * @param loss id of the loss that was noticed and recorded
   * @param era number of the current era (recovery/era.ts); undefined if it is unknown
   * @returns false if the mark or the primary has changed since then, in which case nothing was written
   */
  async mark(ref: PartitionRef, { stamp, here }: MarkPlace, loss: string, era?: number): Promise<boolean> {
    const key = new HotKeys(ref).mark;
    return (await this.redis.markPartition(1, key, stamp, here, loss, String(era ?? ''))) === 1;
  }

  /**
   * Makes the mark of a partition name the partition's current primary. Call it if nothing was lost: the partition is
   * new, or a planned move has brought it to another primary.
   *
   * @param found result of {@link read}
   * @param era number of the current era, for a new partition; undefined if it is unknown
   * @returns false if the mark or the primary has changed since then, in which case nothing was written
   */
  async takeOver(ref: PartitionRef, { stamp, here }: MarkPlace, era?: number): Promise<boolean> {
    const key = new HotKeys(ref).mark;
    return (await this.redis.takeOverMark(1, key, stamp, here, String(era ?? ''))) === 1;
  }
}

/** Interprets the reply of the script that reads a mark (mark-script.ts). */
export function markOf(reply: MarkReply): FoundMark {
  const [loss, arrived, lowest, markedBy, era, expired, here, previous] = reply;
  const isExpired = expired !== null;
  const place = { here, stamp: `${markedBy ?? ''}${isExpired ? ' expired' : ''}` };
  if (loss === null) return { ...place, state: 'absent' };
  if (isExpired) return { ...place, state: 'bad', loss, isExpired };
  if (markedBy === here) return { ...place, state: 'good', loss, lowestArrivalMs: replyNumber(lowest) };
  // If a replica of the marked primary took over, the replica has everything up to about the arrival time in the mark.
  // If the slot was moved instead, the partition may lack earlier samples too.
  const lostFromMs = markedBy === previous ? (replyNumber(arrived) ?? 0) : 0;
  return { ...place, state: 'bad', loss, isExpired, era: replyNumber(era), lostFromMs };
}
