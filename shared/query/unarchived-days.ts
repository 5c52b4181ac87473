import { type Day, type PartitionRef, partitionText } from '../model/placement';

/** A purge that waits less time than this may come in the middle of a query. */
const LEAST_PURGE_MS = 60_000;
/** Days of partitions that are remembered at most. */
const MAX_REMEMBERED = 100_000;

/**
 * Days of which the manifest named no object a short while ago. The warm table still has what it had of them then: a purge
 * waits until its object has been in the manifest for the setting `purgeAfter` (DESIGN.md, rule 5). So a read need not ask
 * the manifest again, nor ask it only when the warm table has answered.
 */
export class UnarchivedDays {
  /** When the manifest was asked, ms, by day, then partition: of a long range most days have none, and cost no key. */
  private readonly asked = new Map<Day, Map<string, number>>();
  private remembered = 0;

  constructor(private readonly purgeAfterMs: number) {}

  /** Whether what was in the manifest at `sinceMs` says at `nowMs` what the warm table lacks. */
  isFresh(sinceMs: number, nowMs: number): boolean {
    return this.purgeAfterMs >= LEAST_PURGE_MS && nowMs >= sinceMs && nowMs - sinceMs < this.purgeAfterMs / 2;
  }

  /** @param askedMs before the manifest was asked */
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
