import type { CacheBudget } from '../model/cache';
import type { Id } from '../model/id';
import { SeriesDictionary } from './series-dictionary';

/**
 * The dictionaries of an instance, one a tenant, within one budget of memory. To make room it drops the largest, so a tenant with
 * few series loses nothing to the others.
 */
export class SeriesDictionaries {
  private readonly byTenant = new Map<Id, SeriesDictionary>();
  private usedBytes = 0;

  constructor(private readonly budget: CacheBudget) {}

  /** Approximate memory of all. */
  get bytes(): number {
    return this.usedBytes;
  }

  /** Returns the dictionary for a request of a tenant. First makes room, if earlier requests have used up the budget. */
  of(tenantId: Id): SeriesDictionary {
    while (this.usedBytes > this.budget.bytes) this.forgetLargest();
    let dictionary = this.byTenant.get(tenantId);
    if (dictionary === undefined) {
      dictionary = new SeriesDictionary(tenantId);
      this.byTenant.set(tenantId, dictionary);
      this.usedBytes += dictionary.bytes;
      dictionary.onUse = (bytes) => {
        this.usedBytes += bytes;
      };
    }
    return dictionary;
  }

  private forgetLargest(): void {
    let largest: SeriesDictionary | undefined;
    for (const each of this.byTenant.values())
      if (largest === undefined || each.bytes > largest.bytes) largest = each;
    if (largest === undefined) return;
    this.byTenant.delete(largest.tenantId);
    this.usedBytes -= largest.bytes;
    // A request under way may still add to it.
    largest.onUse = undefined;
  }
}
