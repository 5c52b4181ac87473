import { type Day, type PartitionRef, partitionText } from '../model/placement';

/** If a purge waits for less time than this, it may happen in the middle of a query. */
const LEAST_PURGE_MS = 60_000;
/** Most days of partitions that are remembered. */
const MAX_REMEMBERED = 100_000;

/**
 * Remembers days for which the manifest recently had no object. The warm table still has all that it had of
 * them at that time, because a purge waits until a day's object has been in the manifest for the setting
 * `purgeAfter` (DESIGN.md, rule 5). So a read need neither read the manifest again, nor wait for the warm
 * table before it does.
 */
export class UnarchivedDays {
  /**
   * When the manifest was read, ms, by day and then by partition. Most days of a long range have no entry,
   * and need no key.
   */
  private readonly asked = new Map<Day, Map<string, number>>();
  private remembered = 0;

  constructor(private readonly purgeAfterMs: number) {}

  /** Whether the manifest as of `sinceMs` still tells, at `nowMs`, what the warm table lacks. */
  isFresh(sinceMs: number, nowMs: number): boolean {
    return this.purgeAfterMs >= LEAST_PURGE_MS && nowMs >= sinceMs && nowMs - sinceMs < this.purgeAfterMs / 2;
  }

  /** @param askedMs a time before the manifest was read */
  add(ref: PartitionRef, day: Day, askedMs: number): void {
    const key = keyOf(ref);
    const known = this.asked.get(day);
    if (known?.has(key) !== true && this.remembered++ >= MAX_REMEMBERED) this.clear();
    const ofDay = this.asked.get(day) ?? new Map<string, number>();
    this.asked.set(day, ofDay.set(key, askedMs));
  }

  has(ref: PartitionRef, day: Day, nowMs: number): boolean {
    const askedMs = this.asked.get(day)?.get(keyOf(ref));
    return askedMs !== undefined && this.isFresh(askedMs, nowMs);
  }

  private clear(): void {
    this.asked.clear();
    this.remembered = 1;
  }
}

function keyOf({ tenantId, partition }: PartitionRef): string {
  return `${tenantId} ${partitionText(partition)}`;
}
