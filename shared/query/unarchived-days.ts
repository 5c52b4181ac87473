import { type Day, type PartitionRef, partitionText } from '../model/placement';

/** Longest time that a query takes, ms. A purge that waits for less time can happen in the middle of a query. */
const LEAST_PURGE_MS = 60_000;
/** Most days of partitions that are remembered. */
const MAX_REMEMBERED = 100_000;

/**
 * Remembers the days for which the manifest had no archive object a short time ago. The warm table still has all items
 * of such a day: a purge removes them only after the manifest has had the day's object for the time of the setting
 * `purgeAfter` (DESIGN.md, rule 5). So a read can go to the warm table without asking the manifest about these days.
 */
export class UnarchivedDays {
  /**
   * When the manifest was read, ms, by day and then by partition. Most days of a long range have no entry,
   * and need no key.
   */
  private readonly asked = new Map<Day, Map<string, number>>();
  private remembered = 0;

  constructor(private readonly purgeAfterMs: number) {}

  /** Whether a manifest that was read at `sinceMs` is recent enough at `nowMs`: no purge can have followed it. */
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
