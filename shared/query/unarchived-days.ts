import { LRUCache } from 'lru-cache';
import { type Day, type PartitionRef, partitionText } from '../model/placement';

/** A purge that waits less time than this may come in the middle of a query. */
const LEAST_PURGE_MS = 60_000;

/**
 * Days of which the manifest named no object a short while ago. The warm table still has what it had of them then: a purge
 * waits until its object has been in the manifest for the setting `purgeAfter` (DESIGN.md, rule 5). So a read need not ask
 * the manifest again, nor ask it only when the warm table has answered.
 */
export class UnarchivedDays {
  /** When the manifest was asked, ms, by partition and day. */
  private readonly asked = new LRUCache<string, number>({ maxSize: 100_000, sizeCalculation: () => 1 });

  constructor(private readonly purgeAfterMs: number) {}

  /** Whether what was in the manifest at `sinceMs` says at `nowMs` what the warm table lacks. */
  isFresh(sinceMs: number, nowMs: number): boolean {
    return this.purgeAfterMs >= LEAST_PURGE_MS && nowMs >= sinceMs && nowMs - sinceMs < this.purgeAfterMs / 2;
  }

  /** @param askedMs before the manifest was asked */
  add(ref: PartitionRef, day: Day, askedMs: number): void {
    this.asked.set(keyOf(ref, day), askedMs);
  }

  has(ref: PartitionRef, day: Day, nowMs: number): boolean {
    const askedMs = this.asked.get(keyOf(ref, day));
    return askedMs !== undefined && this.isFresh(askedMs, nowMs);
  }
}

function keyOf({ tenantId, partition }: PartitionRef, day: Day): string {
  return `${tenantId} ${partitionText(partition)} ${day}`;
}
