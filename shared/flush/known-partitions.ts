import type { PartitionLook } from '../hot/partition-marks';
import type { PartitionRef } from '../model/placement';

/**
 * A round looks at a third of the partitions even if nothing can be due in them: each is seen within three minutes, and reads
 * believe for five that a flusher notes what leaves memory (hot/mark-script.ts).
 */
export const LOOK_SHARES = 3;
/**
 * The list of registered partitions is read in so many parts, one a round. A new one has nothing due before a residency, and its
 * mark is believed for ten minutes.
 */
export const LIST_SHARES = 8;
/** Up to so many partitions are listed and looked at in every round. */
const ALWAYS_LOOKED_AT = 1_000;

/** What a lane knows of a partition. */
interface Known {
  readonly ref: PartitionRef;
  readonly share: number;
  look: Look | undefined;
}

interface Look extends Omit<PartitionLook, 'dueMs'> {
  /** A time before the look, by the store's clock, ms. */
  readonly atMs: number;
  /** Whatever was appended after the look arrived in the stream no earlier, ms. */
  readonly watermarkMs: number;
}

/**
 * The partitions of a flusher's lane and what they were like when last looked at, in memory: so that a round costs what may be
 * due. It need not be right about what others have moved meanwhile. A new one, as after a cold start, knows nothing, so that its
 * first round looks at every partition; there is nothing to keep, and nothing to lose.
 */
export class KnownPartitions {
  /** Those not looked at for longest first. */
  private readonly known = new Map<string, Known>();
  /** For each share of the list, the watermark before it was read: partitions registered later hold nothing that arrived earlier. */
  private readonly listedMs = new Array<number>(LIST_SHARES).fill(0);
  private listings = 0;

  constructor(private readonly alwaysLookedAt = ALWAYS_LOOKED_AT) {}

  /** The shares of the list to read in this round. */
  nextShares(isAll: boolean): number[] {
    const shares = Array.from({ length: LIST_SHARES }, (_, share) => share);
    if (isAll || this.listings === 0 || this.known.size <= this.alwaysLookedAt) return shares;
    return [this.listings % LIST_SHARES];
  }

  /** Takes over a share of the list. */
  list(share: number, refs: readonly PartitionRef[], watermarkMs: number): void {
    const listed = new Set(refs.map(keyOf));
    for (const [key, known] of this.known)
      if (known.share === share && !listed.has(key)) this.known.delete(key);
    for (const ref of refs) {
      const key = keyOf(ref);
      if (!this.known.has(key)) this.known.set(key, { ref, share, look: undefined });
    }
    this.listedMs[share] = watermarkMs;
    this.listings++;
  }

  /** The partitions to look at: those that may have a group-window first written by `beforeMs`, and a share of the others. */
  toLookAt(beforeMs: number, isAll: boolean): PartitionRef[] {
    const share = Math.max(this.alwaysLookedAt, Math.ceil(this.known.size / LOOK_SHARES));
    const refs: PartitionRef[] = [];
    let i = 0;
    for (const { ref, look } of this.known.values()) {
      if (isAll || i < share || firstWriteMs(look) <= beforeMs) refs.push(ref);
      i++;
    }
    return refs;
  }

  /** Notes what a partition was like; undefined when that is unknown, so that the next round looks again. */
  saw(ref: PartitionRef, look: Look | undefined): void {
    const key = keyOf(ref);
    const known = this.known.get(key);
    if (known === undefined) return;
    this.known.delete(key);
    this.known.set(key, { ...known, look });
  }

  refs(): PartitionRef[] {
    return Array.from(this.known.values(), ({ ref }) => ref);
  }

  /** Forgets a partition until it is listed again. */
  forget(ref: PartitionRef): void {
    this.known.delete(keyOf(ref));
  }

  /** When the oldest group-window that was seen in memory was first written, ms; Infinity when there was none. */
  oldestMs(): number {
    let oldest = Infinity;
    for (const { look } of this.known.values()) oldest = Math.min(oldest, look?.oldestMs ?? Infinity);
    return oldest;
  }

  /** Whatever is in memory now arrived in the stream no earlier, ms; 0 when that is unknown, Infinity without partitions. */
  lowestArrivalMs(nowWatermarkMs: number): number {
    let lowest = Math.min(...this.listedMs);
    for (const { look } of this.known.values())
      lowest = Math.min(
        lowest,
        look === undefined ? 0 : Math.min(look.watermarkMs, look.lowestArrivalMs ?? Infinity),
      );
    return Math.min(lowest, nowWatermarkMs);
  }
}

/** No group-window of the partition was first written earlier, as far as its last look tells. */
function firstWriteMs(look: Look | undefined): number {
  return look === undefined ? -Infinity : Math.min(look.atMs, look.oldestMs ?? Infinity);
}

function keyOf({ tenantId, partition }: PartitionRef): string {
  return `${tenantId}:${partition}`;
}
