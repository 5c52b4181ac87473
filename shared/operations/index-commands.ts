import type { Id } from '../model/id';
import { mapLimited } from '../platform/concurrency';
import { InvalidEventError } from '../platform/event';
import type { OperatorDependencies } from './operator-dependencies';
import type { OperatorCommand } from './operator-event';
import { requireTenant } from './tenant-commands';

/** Maximum number of sources indexed in parallel. */
const PARALLEL = 8;

/** Result of indexing some sources. `next` is the last source done; null at the end. */
export interface IndexSlice {
  readonly sources: number;
  readonly next: Id | null;
}

/** Rebuilds the index of series: inserts the missing entries of layouts in the catalogue. */
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
  // A layout's expiry shows until when the layout was in use. While a raise of the retention is in progress,
  // expiries are too early.
  if ((await lifetimes.retentionMs()) < stage.retention)
    throw new InvalidEventError(
      'the retention was raised, and the hourly sweep has not extended the expiry of all items yet; try again in two hours',
    );
  let sources = 0;
  let batch: Id[] = [];
  const indexBatch = async () => {
    await mapLimited(batch, PARALLEL, async (sourceId) => {
      for (const [windowMs, layouts] of await catalogue.layoutsByDays(tenantId, sourceId))
        await catalogue.indexWriter.put(tenantId, layouts, windowMs);
    });
    sources += batch.length;
    batch = [];
  };
  for await (const sourceId of catalogue.sources.list(tenantId, after ?? undefined)) {
    batch.push(sourceId);
    if (batch.length < PARALLEL) continue;
    await indexBatch();
    if (!hasTime()) return { sources, next: sourceId };
  }
  await indexBatch();
  return { sources, next: null };
}
