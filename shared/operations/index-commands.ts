import type { Id } from '../model/id';
import { mapLimited } from '../platform/concurrency';
import { InvalidEventError } from '../platform/event';
import type { OperatorDependencies } from './operator-dependencies';
import type { OperatorCommand } from './operator-event';
import { requireTenant } from './tenant-commands';

/** Sources indexed side by side. */
const PARALLEL = 8;

/** Some sources were indexed; `next` is the one to go on after, null at the end. */
export interface IndexSlice {
  readonly sources: number;
  readonly next: Id | null;
}

/** Inserts the entries that the index of series lacks, by the layouts that the catalogue has. */
export async function rebuildIndex(
  {
    tenants,
    read: { catalogue },
    stage,
    lifetimes,
  }: Pick<OperatorDependencies, 'tenants' | 'read' | 'stage' | 'lifetimes'>,
  { tenant, after }: OperatorCommand<'index rebuild'>,
  hasTime: () => boolean,
): Promise<IndexSlice> {
  const { id: tenantId } = await requireTenant(tenants, tenant);
  // By its expiry the catalogue knows until when a layout was in use.
  if ((await lifetimes.retentionMs()) < stage.retention)
    throw new InvalidEventError(
      'the retention was raised, and the hourly sweep has not put off the expiry of all items yet; try again in two hours',
    );
  let sources = 0;
  let batch: Id[] = [];
  const indexBatch = async () => {
    await mapLimited(batch, PARALLEL, async (sourceId) => {
      for (const [windowMs, layouts] of await catalogue.layoutsByDays(tenantId, sourceId))
        await catalogue.index.put(tenantId, layouts, windowMs);
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
