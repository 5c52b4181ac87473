import { partsOf } from '../model/parts';
import type { PartitionRef } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import { HotKeys } from '../platform/keys';
import type { HotNodes } from './hot-nodes';
import { NO_NODE } from './mark-script';
import { numberOf, type ScriptedClient } from './scripts';

/** The state of a partition's mark, and the lowest arrival time in the partition. */
export interface PartitionState {
  /**
   * True when the primary that answers also wrote the mark: then it has every sample that was acknowledged.
   */
  readonly isWhole: boolean;
  /** Id of the last loss that was noticed, '' for none; undefined when there is no mark. */
  readonly loss: string | undefined;
  /**
   * Everything that a failover may have lost arrived in the stream at this time or later, ms; undefined when
   * unknown.
   */
  readonly arrivedMs: number | undefined;
  /** Lowest stream arrival time of the partition's frames, ms; undefined when it has none. */
  readonly lowestArrivalMs: number | undefined;
  /** Replication id of the primary that wrote the mark; undefined when there is no mark. */
  readonly markedBy: string | undefined;
  /** The mark's era (recovery/era.ts); undefined when it has none. */
  readonly era: number | undefined;
  /** Replication id of the primary that answers. */
  readonly here: string;
  /**
   * Replication id of the primary that the answering one took over from; undefined if it never was a replica.
   */
  readonly previous: string | undefined;
}

/** What {@link PartitionMarks.survey} finds in a partition whose mark is its primary's. */
export interface PartitionLook {
  /** When the oldest group-window in memory was first written, by the store's clock, ms; undefined when there is none. */
  readonly oldestMs: number | undefined;
  /**
   * Lower bound of when the next group-window becomes due, from first writes and delays, ms by the store's
   * clock; undefined when there is none.
   */
  readonly dueMs: number | undefined;
  /** Lowest stream arrival time of the partition's frames, ms; undefined when it has none. */
  readonly lowestArrivalMs: number | undefined;
}

/** Most partitions in one survey call, which blocks its node for some 2 ms. */
const MAX_SURVEYED = 500;
const SURVEYS_AT_ONCE = 4;

/**
 * Reads and writes the marks of partitions. A mark names the primary that wrote it. A primary that finds
 * another's mark may have taken over without everything that was acknowledged (mark-script.ts).
 */
export class PartitionMarks {
  constructor(
    private readonly redis: ScriptedClient,
    private readonly nodes: HotNodes,
  ) {}

  /** Reads a partition's mark. */
  async inspect(ref: PartitionRef): Promise<PartitionState> {
    const keys = new HotKeys(ref);
    const [mark, loss, arrived, lowest, markedBy, era, here, previous] = await this.redis.inspectPartition(
      2,
      keys.mark,
      keys.arrived,
    );
    return {
      isWhole: mark === 1,
      loss: loss ?? undefined,
      arrivedMs: numberOf(arrived),
      lowestArrivalMs: numberOf(lowest),
      markedBy: markedBy ?? undefined,
      era: numberOf(era),
      here: here!,
      previous: previous === NO_NODE ? undefined : previous!,
    };
  }

  /**
   * Looks at many partitions with a few calls.
   *
   * @param isFlusher true notes in the marks that a flusher has looked and records what leaves
   *   (mark-script.ts); only flushers may pass it
   * @param spreadMs the longest delay of a group-window (due-score.ts)
   * @param era written to the marks that are their primaries'; undefined to leave them as they are
   * @returns for each partition what was found; undefined where only {@link inspect} can tell: its mark is
   *   missing or another primary's, its slot moves, or its node did not answer
   */
  async survey(
    refs: readonly PartitionRef[],
    isFlusher: boolean,
    spreadMs = 0,
    era?: number,
  ): Promise<(PartitionLook | undefined)[]> {
    // Wait for an answer: only then does a cluster client know its nodes.
    await this.nodes.now();
    const places = refs.map((ref, index) => ({ index, keys: new HotKeys(ref) }));
    const calls = [...Map.groupBy(places, ({ keys }) => this.nodes.nodeOf(keys.tag)).values()].flatMap(
      (sameNode) => partsOf(sameNode, MAX_SURVEYED),
    );
    const looks = new Array<PartitionLook | undefined>(refs.length).fill(undefined);
    await mapLimited(calls, SURVEYS_AT_ONCE, async (call) => {
      const tags = call.map(({ keys }) => keys.tag);
      const found = await this.redis
        .surveyPartitions(1, call[0]!.keys.mark, isFlusher ? 1 : 0, spreadMs, era ?? '', ...tags)
        .catch(() => undefined);
      found?.split(',').forEach((text, i) => {
        if (text === '?') return;
        const [oldest, due, lowest] = text.split(' ');
        looks[call[i]!.index] = {
          oldestMs: numberOf(oldest),
          dueMs: numberOf(due),
          lowestArrivalMs: numberOf(lowest),
        };
      });
    });
    return looks;
  }

  /**
   * Marks a partition as the present primary's, so that appends go on.
   *
   * @param loss id of the loss that was noticed, which the recovery table holds; '' when there was none
   * @param era era of the primaries, if it is known (recovery/era.ts)
   */
  async mark(ref: PartitionRef, loss: string, era?: number): Promise<void> {
    await this.redis.markPartition(1, new HotKeys(ref).mark, loss, String(era ?? ''));
  }

  /**
   * Makes this primary the owner of another primary's mark, after a planned move. @returns false when either
   * has changed since
   */
  async takeOver(
    ref: PartitionRef,
    { markedBy, here }: Pick<PartitionState, 'markedBy' | 'here'>,
  ): Promise<boolean> {
    return (await this.redis.takeOverMark(1, new HotKeys(ref).mark, markedBy!, here)) === 1;
  }
}
