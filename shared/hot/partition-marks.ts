import type { PartitionRef } from '../model/placement';
import { slicesOf } from '../model/slices';
import { mapLimited } from '../platform/concurrency';
import { HotKeys } from './hot-keys';
import type { HotNodes } from './hot-nodes';
import { NO_NODE } from './mark-script';
import { replyNumber, type ScriptedClient } from './scripts';

/** The state of a partition in memory, as its primary reports it. */
export interface PartitionState {
  /**
   * Whether the mark names the primary that answers, and no frames have expired. If so, memory has every
   * sample that was appended and not yet flushed.
   */
  readonly isMarkedHere: boolean;
  /** Id of the last loss that was noticed, '' if there was none; undefined if there is no mark. */
  readonly loss: string | undefined;
  /**
   * Stream arrival time of the last append that is noted in the mark, in ms; undefined if unknown. Samples that a
   * failover may have lost arrived at this time or later.
   */
  readonly arrivedMs: number | undefined;
  /** The lowest stream arrival time of the partition's frames, in ms; undefined if it has none. */
  readonly lowestArrivalMs: number | undefined;
  /** Replication id of the primary that wrote the mark; undefined if there is no mark. */
  readonly markedBy: string | undefined;
  /** Whether frames of the partition expired before a flusher moved them. */
  readonly isExpired: boolean;
  /**
   * Number of the era in which the mark was written, or last confirmed by a flusher (recovery/era.ts); undefined if
   * unknown.
   */
  readonly era: number | undefined;
  /** Replication id of the primary that answers. */
  readonly here: string;
  /**
   * Replication id of the primary from which the current primary took over; undefined if the current primary was never
   * a replica.
   */
  readonly previous: string | undefined;
}

/** The mark of a partition, and the primary on which it was found. */
type FoundState = Pick<PartitionState, 'markedBy' | 'isExpired' | 'here'>;

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
  async read(ref: PartitionRef): Promise<PartitionState> {
    const keys = new HotKeys(ref);
    const [loss, arrived, lowest, markedBy, era, expired, here, previous] = await this.redis.readMark(
      2,
      keys.mark,
      keys.arrived,
    );
    const isExpired = expired !== null;
    return {
      isMarkedHere: markedBy === here && !isExpired,
      loss: loss ?? undefined,
      arrivedMs: replyNumber(arrived),
      lowestArrivalMs: replyNumber(lowest),
      markedBy: markedBy ?? undefined,
      isExpired,
      era: replyNumber(era),
      here: here!,
      previous: previous === NO_NODE ? undefined : previous!,
    };
  }

  /**
   * Surveys many partitions with a few calls.
   *
   * @param spreadMs the maximum delay of a group-window, in ms (due-score.ts)
   * @param era number of the era to write into the marks that name their primary; undefined leaves the marks unchanged
   * @returns the findings for each partition; undefined where the survey cannot tell and the caller must use
   *   {@link read}: the partition's mark is missing or names another primary, its hash slot is moving, or its node did
   *   not answer
   */
  async survey(
    refs: readonly PartitionRef[],
    spreadMs = 0,
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
        .surveyPartitions(1, call[0]!.keys.mark, spreadMs, era ?? '', ...tags)
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
   * @param state result of {@link read}, from before the loss was recorded
   * @param loss id of the loss that was noticed and recorded
   * @param era number of the current era (recovery/era.ts); undefined if it is unknown
   * @returns false if the mark or the primary has changed since then, in which case nothing was written
   */
  async mark(ref: PartitionRef, state: FoundState, loss: string, era?: number): Promise<boolean> {
    const key = new HotKeys(ref).mark;
    return (await this.redis.markPartition(1, key, ...conditionOf(state), loss, String(era ?? ''))) === 1;
  }

  /**
   * Makes the mark of a partition name the partition's current primary. Call it if nothing was lost: the partition is
   * new, or a planned move has brought it to another primary.
   *
   * @param state result of {@link read}
   * @param era number of the current era, for a new partition; undefined if it is unknown
   * @returns false if the mark or the primary has changed since then, in which case nothing was written
   */
  async takeOver(ref: PartitionRef, state: FoundState, era?: number): Promise<boolean> {
    const key = new HotKeys(ref).mark;
    return (await this.redis.takeOverMark(1, key, ...conditionOf(state), String(era ?? ''))) === 1;
  }
}

/** Returns the arguments by which a script detects that a mark or its primary has changed. */
function conditionOf({ markedBy = '', isExpired, here }: FoundState): [mark: string, here: string] {
  return [isExpired ? `${markedBy} expired` : markedBy, here];
}
