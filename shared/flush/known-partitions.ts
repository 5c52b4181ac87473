import type { PartitionLook } from '../hot/partition-marks';
import type { PartitionRef } from '../model/placement';

/**
 * A round surveys at least a third of the partitions, even if nothing can be due in them. So each is surveyed
 * within three minutes, in time for reads: they trust the mark's record of what left memory for five minutes
 * after a survey (hot/mark-script.ts).
 */
export const LOOK_SHARES = 3;
/**
 * The list of registered partitions is read in this number of parts, one a round. That is early enough for a
 * new partition: nothing is due in it before a residency has passed, and reads trust its mark for ten
 * minutes.
 */
export const LIST_SHARES = 8;
/** Up to this number of partitions, all are listed and surveyed in every round. */
const ALWAYS_LOOKED_AT = 1_000;

/** What a lane remembers of a partition. */
interface TrackedPartition {
  readonly ref: PartitionRef;
  readonly share: number;
  survey: LastSurvey | undefined;
}

interface LastSurvey extends Omit<PartitionLook, 'dueMs'> {
  /** A time before the survey, by the store's clock, ms. */
  readonly atMs: number;
  /**
   * The stream's watermark, read before the survey, ms. Samples that were appended after the survey arrived
   * in the stream at this time or later.
   */
  readonly watermarkMs: number;
}

/**
 * Remembers, in memory, the partitions of a flusher's lane and the last survey of each, so that a round need
 * only survey those that may have something due. It may be out of date about what other flushers moved. A new
 * one, as after a cold start, is empty, and its first round surveys every partition; so nothing needs to be
 * saved.
 */
export class KnownPartitions {
  /** Ordered by time of the last survey, the oldest first. */
  private readonly known = new Map<string, TrackedPartition>();
  /**
   * The stream's watermark before each part of the list was last read, ms. A partition that was registered
   * after that reading holds nothing that arrived before the watermark.
   */
  private readonly listedMs = new Array<number>(LIST_SHARES).fill(0);
  private listings = 0;

  constructor(private readonly alwaysLookedAt = ALWAYS_LOOKED_AT) {}

  /** Returns the parts of the list to read in this round. */
  nextShares(isAll: boolean): number[] {
    const shares = Array.from({ length: LIST_SHARES }, (_, share) => share);
    if (isAll || this.listings === 0 || this.known.size <= this.alwaysLookedAt) return shares;
    return [this.listings % LIST_SHARES];
  }

  /** Replaces one part of the list. */
  list(share: number, refs: readonly PartitionRef[], watermarkMs: number): void {
    const listed = new Set(refs.map(keyOf));
    for (const [key, known] of this.known)
      if (known.share === share && !listed.has(key)) this.known.delete(key);
    for (const ref of refs) {
      const key = keyOf(ref);
      if (!this.known.has(key)) this.known.set(key, { ref, share, survey: undefined });
    }
    this.listedMs[share] = watermarkMs;
    this.listings++;
  }

  /**
   * Returns the partitions to survey: those that may have a group-window first written by `beforeMs`, and a
   * share of the others.
   */
  toLookAt(beforeMs: number, isAll: boolean): PartitionRef[] {
    const share = Math.max(this.alwaysLookedAt, Math.ceil(this.known.size / LOOK_SHARES));
    const refs: PartitionRef[] = [];
    let i = 0;
    for (const { ref, survey } of this.known.values()) {
      if (isAll || i < share || firstWriteMs(survey) <= beforeMs) refs.push(ref);
      i++;
    }
    return refs;
  }

  /** Stores the survey of a partition; undefined if it failed, so that the next round repeats it. */
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

  /** Forgets a partition until a list contains it again. */
  forget(ref: PartitionRef): void {
    this.known.delete(keyOf(ref));
  }

  /**
   * Returns when the oldest surveyed group-window in memory was first written, ms; Infinity when there is
   * none.
   */
  oldestMs(): number {
    let oldest = Infinity;
    for (const { survey } of this.known.values()) oldest = Math.min(oldest, survey?.oldestMs ?? Infinity);
    return oldest;
  }

  /**
   * Returns a lower bound of the stream arrival times of what is now in memory, ms; 0 when unknown, Infinity
   * without partitions.
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

/** Lower bound of the first writes of the partition's group-windows, according to its last survey. */
function firstWriteMs(survey: LastSurvey | undefined): number {
  return survey === undefined ? -Infinity : Math.min(survey.atMs, survey.oldestMs ?? Infinity);
}

function keyOf({ tenantId, partition }: PartitionRef): string {
  return `${tenantId}:${partition}`;
}
