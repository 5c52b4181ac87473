import type { DeletionTable } from '../catalogue/deletion-table';
import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import type { VersionedDeletion } from '../model/deletion';
import type { Id } from '../model/id';
import { mapLimited } from '../platform/concurrency';

/** Maximum number of sources read at the same time. */
const PARALLEL = 32;
const DELETION_BYTES = 300;

interface CachedDeletions {
  /** The source's number of deletions, according to the list of changes, which was read before the deletions. */
  readonly puts: number;
  readonly deletions: readonly VersionedDeletion[];
}

/**
 * Reads the deletions of many sources. The list of changes names the few sources that have any. A source's
 * deletions are cached until the list shows that another deletion was put.
 */
export class SourceDeletions {
  private readonly cache = new Cache<CachedDeletions>(
    CACHES.deletions,
    ({ deletions }) => DELETION_BYTES * (1 + deletions.length),
  );

  constructor(private readonly table: Pick<DeletionTable, 'of'>) {}

  /**
   * Returns the deletions by source. Sources without deletions are left out.
   *
   * @param listed for each source with deletions, the number of deletions that were put: see {@link Changes}
   */
  async of(
    tenantId: Id,
    sourceIds: readonly Id[],
    listed: ReadonlyMap<Id, number>,
  ): Promise<ReadonlyMap<Id, readonly VersionedDeletion[]>> {
    const found = sourceIds.filter((id) => listed.has(id));
    const all = await mapLimited(found, PARALLEL, async (id) => {
      const puts = listed.get(id)!;
      const known = this.cache.get(id, tenantId);
      if (known?.puts === puts) return known.deletions;
      const deletions = await this.table.of(tenantId, id);
      this.cache.set(id, { puts, deletions }, tenantId);
      return deletions;
    });
    return new Map(found.map((id, i) => [id, all[i]!]));
  }
}
