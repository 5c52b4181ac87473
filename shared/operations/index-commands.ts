import type { Id } from '../model/id';
import { slicesAsRead } from '../model/slices';
import { mapLimited } from '../platform/concurrency';
import { InvalidEventError } from '../platform/event';
import type { OperatorDependencies } from './operator-dependencies';
import type { OperatorCommand } from './operator-event';
import { requireTenant } from './tenant-commands';

/** Maximum number of sources indexed in parallel. */
const PARALLEL = 8;

/**
 * Result of indexing some sources. `next` is the last indexed source, after which to continue; null when all
 * are done.
 */
export interface IndexSlice {
  readonly sources: number;
  readonly next: Id | null;
}

/** Repairs a tenant's index of series: inserts the entries that are missing for layouts in the catalogue. */
export async function rebuildIndex(
  {
    tenants,
    catalogue,
    stage,
    lifetimes,
  }: Pick<OperatorDependencies, 'tenants' | 'catalogue' | 'stage' | 'lifetimes'>,
  { tenant, after }: OperatorCommand<'index rebuild'>,
  hasTime: () => boolean,
): Promise<IndexSlice> {
  const { id: tenantId } = await requireTenant(tenants, tenant);
  // The expiry of a layout shows until when the layout was in use. After the retention is raised, expiries show too
  // early a time until all of them have been extended.
  if ((await lifetimes.retentionMs()) < stage.retention)
    throw new InvalidEventError(
      'the retention was raised, and the hourly sweep has not extended the expiry of all items yet; try again in two hours',
    );
  let sources = 0;
  for await (const slice of slicesAsRead(catalogue.sources.list(tenantId, after ?? undefined), PARALLEL)) {
    await mapLimited(slice, PARALLEL, async (sourceId) => {
      for (const [windowMs, layouts] of await catalogue.layoutsByDays(tenantId, sourceId))
        await catalogue.indexWriter.put(tenantId, layouts, windowMs);
    });
    sources += slice.length;
    if (slice.length === PARALLEL && !hasTime()) return { sources, next: slice.at(-1)! };
  }
  return { sources, next: null };
}
