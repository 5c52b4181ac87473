import type { PartitionLook } from '../hot/partition-marks';
import type { PartitionRef } from '../model/placement';

/**
 * A round, once a minute, surveys at least this fraction (one third) of the partitions, even if nothing can
 * be due in them. So each mark has a new era within three minutes (recovery/era.ts).
 */
export const LOOK_SLICES = 3;
/**
 * The lane reads the list of registered partitions in this number of slices, one a round. A new partition can
 * wait for the round that reads its slice, because nothing in it is due until a window has passed.
 */
export const LIST_SLICES = 8;
/** A lane with at most this number of partitions lists and surveys all of them in every round. */
const ALWAYS_LOOKED_AT = 1_000;

/** What a lane remembers of a partition. */
interface TrackedPartition {
  readonly ref: PartitionRef;
  /** The slice of the list of registered partitions that it is in. */
  readonly slice: number;
  /** Undefined if there was none, or it failed. */
  survey: LastSurvey | undefined;
}

/** What the last survey of a partition found. */
interface LastSurvey extends Omit<PartitionLook, 'dueMs'> {
  /** A time shortly before the survey, by the store's clock, ms. */
  readonly atMs: number;
  /**
   * The stream's watermark, read before the survey, ms. Samples that were appended after the survey arrived
   * in the stream at this time or later.
   */
  readonly watermarkMs: number;
}

/**
 * Remembers the partitions of a flusher's lane and the last survey of each. A round then surveys only the
 * partitions that may have something due, and some of the others. What it remembers may be outdated if
 * other flushers moved something. It is never saved: after a cold start it is empty, and the first round
 * surveys every partition.
 */
export class KnownPartitions {
  /** Ordered by the time of the last survey, the oldest first. */
  private readonly known = new Map<string, TrackedPartition>();
  /**
   * For each slice of the list, the stream's watermark before the slice was last read, ms. A partition that
   * was registered later has no sample in memory that arrived in the stream before this watermark.
   */
  private readonly listedMs = new Array<number>(LIST_SLICES).fill(0);
  /** Number of slices read so far. */
  private listings = 0;

  constructor(private readonly alwaysLookedAt = ALWAYS_LOOKED_AT) {}

  /** Returns the slices of the list to read in this round. */
  nextSlices(isAll: boolean): number[] {
    const slices = Array.from({ length: LIST_SLICES }, (_, slice) => slice);
    if (isAll || this.listings === 0 || this.known.size <= this.alwaysLookedAt) return slices;
    return [this.listings % LIST_SLICES];
  }

  /**
   * Replaces the partitions of one slice of the list.
   *
   * @param watermarkMs the stream's watermark before the slice was read, ms
   */
  list(slice: number, refs: readonly PartitionRef[], watermarkMs: number): void {
    const listed = new Set(refs.map(keyOf));
    for (const [key, known] of this.known)
      if (known.slice === slice && !listed.has(key)) this.known.delete(key);
    for (const ref of refs) {
      const key = keyOf(ref);
      if (!this.known.has(key)) this.known.set(key, { ref, slice, survey: undefined });
    }
    this.listedMs[slice] = watermarkMs;
    this.listings++;
  }

  /**
   * Returns the partitions to survey in this round: those that may have a group-window first written at
   * `beforeMs` or earlier, and those whose last survey is the oldest.
   *
   * @param isAll returns all partitions
   */
  toLookAt(beforeMs: number, isAll: boolean): PartitionRef[] {
    const least = Math.max(this.alwaysLookedAt, Math.ceil(this.known.size / LOOK_SLICES));
    const refs: PartitionRef[] = [];
    let i = 0;
    for (const { ref, survey } of this.known.values()) {
      if (isAll || i < least || firstWriteMs(survey) <= beforeMs) refs.push(ref);
      i++;
    }
    return refs;
  }

  /** Stores the survey of a partition. Undefined means that it failed, so that the next round repeats it. */
  saw(ref: PartitionRef, survey: LastSurvey | undefined): void {
    const key = keyOf(ref);
    const known = this.known.get(key);
    if (known === undefined) return;
    this.known.delete(key);
    this.known.set(key, { ...known, survey });
  }

  refs(): PartitionRef[] {
    return Array.from(this.known.values(), ({ ref }) => ref);
  }

  /** Forgets a partition until {@link list} contains it again. */
  forget(ref: PartitionRef): void {
    this.known.delete(keyOf(ref));
  }

  /**
   * Returns when the oldest group-window in memory was first written, according to the last surveys, ms;
   * Infinity if memory has none.
   */
  oldestMs(): number {
    let oldest = Infinity;
    for (const { survey } of this.known.values()) oldest = Math.min(oldest, survey?.oldestMs ?? Infinity);
    return oldest;
  }

  /**
   * Returns a lower bound of the times at which the samples now in memory arrived in the stream, ms; 0 if a
   * partition was not surveyed yet. A replay after a loss of memory can begin there.
   *
   * @param nowWatermarkMs the stream's present watermark, ms
   */
  lowestArrivalMs(nowWatermarkMs: number): number {
    let lowest = Math.min(...this.listedMs);
    for (const { survey } of this.known.values())
      lowest = Math.min(
        lowest,
        survey === undefined ? 0 : Math.min(survey.watermarkMs, survey.lowestArrivalMs ?? Infinity),
      );
    return Math.min(lowest, nowWatermarkMs);
  }
}

/** Returns a lower bound of the times at which a partition's group-windows were first written, ms. */
function firstWriteMs(survey: LastSurvey | undefined): number {
  return survey === undefined ? -Infinity : Math.min(survey.atMs, survey.oldestMs ?? Infinity);
}

function keyOf({ tenantId, partition }: PartitionRef): string {
  return `${tenantId}:${partition}`;
}
