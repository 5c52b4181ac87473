import type { DeletionTable } from '../catalogue/deletion-table';
import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import type { VersionedDeletion } from '../model/deletion';
import type { Id } from '../model/id';
import { mapLimited } from '../platform/concurrency';

/** Sources read in parallel. */
const PARALLEL = 32;
const DELETION_BYTES = 300;

interface KnownDeletions {
  /** How many puts were counted before the deletions were read. */
  readonly puts: number;
  readonly deletions: readonly VersionedDeletion[];
}

/** The deletions of many sources: one request tells which have any, and few do. What an instance has read it keeps until the next put. */
export class SourceDeletions {
  private readonly cache = new Cache<KnownDeletions>(
    CACHES.deletions,
    ({ deletions }) => DELETION_BYTES * (1 + deletions.length),
  );

  constructor(private readonly table: Pick<DeletionTable, 'of'>) {}

  /**
   * The deletions of those sources that have any.
   *
   * @param listed which these are, as the list of changes says
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
