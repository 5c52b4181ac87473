import type { CacheBudget } from '../model/cache';
import type { Id } from '../model/id';
import { SeriesDictionary } from './series-dictionary';

/**
 * The dictionaries of an instance of post, importer or evaluator: one for each tenant, within one memory budget. When
 * the budget is exceeded, the largest dictionary is dropped, so that tenants with few series keep theirs.
 */
export class SeriesDictionaries {
  private readonly byTenant = new Map<Id, SeriesDictionary>();
  private usedBytes = 0;

  constructor(private readonly budget: CacheBudget) {}

  /** Approximate memory of all dictionaries, in bytes. */
  get bytes(): number {
    return this.usedBytes;
  }

  /**
   * Returns the dictionary for a tenant's request. If all dictionaries together exceed the budget, first drops some of
   * them.
   */
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
    // A request in progress may still use the dropped dictionary. Do not count the memory that it adds.
    largest.onUse = undefined;
  }
}
