import { paginateScan } from '@aws-sdk/client-dynamodb';
import { mapLimited } from '../platform/concurrency';
import { metaKeys } from '../platform/keys';
import { deleteItems, type Item, type Table } from '../platform/table';
import type { ReadDependencies } from '../query/read-plan';
import type { DeletedTenant } from '../tenancy/tenants';
import type { OperatorDependencies } from './operator-dependencies';

interface EraseDependencies extends Pick<OperatorDependencies, 'meta' | 'recovery'> {
  readonly read: Pick<ReadDependencies, 'hot' | 'warm' | 'manifest' | 'cold'>;
}

/** How much one slice of an erasure has removed. */
export interface EraseCount {
  /** Number of keys removed from the hot tier. */
  readonly hot: number;
  /** Number of items removed from the warm tier. */
  readonly warm: number;
  /** Number of object versions removed from the archive. */
  readonly cold: number;
  /** Number of items removed from the meta table, including API keys. */
  readonly meta: number;
  /** False if time was up before everything was removed. */
  readonly isDone: boolean;
}

const PARALLEL = 32;

/**
 * Erases the data of a deleted tenant, tier by tier, until time is up. No progress is stored: the next call
 * finds the data that remains. The meta table comes last, because the manifest in it lists the days that have
 * items in the warm table.
 */
export async function eraseTenant(
  { read: { hot, warm, manifest, cold }, meta, recovery }: EraseDependencies,
  tenant: DeletedTenant,
  hasTime: () => boolean,
): Promise<EraseCount> {
  const count = { hot: 0, warm: 0, cold: 0, meta: 0 };
  const partitions = Array.from({ length: tenant.partitions }, (_, partition) => ({
    tenantId: tenant.id,
    partition,
  }));
  // Unregister the partitions first, so that LossWatch does not take their missing keys for lost samples.
  await mapLimited(partitions, PARALLEL, (ref) => recovery.unregister(ref));
  const { keys, isDone } = await hot.space.eraseTenant(tenant.id, hasTime);
  count.hot = keys;
  if (!isDone) return { ...count, isDone };

  for (const ref of partitions) {
    for (const { day } of await manifest.days(ref, '0000-01-01', '9999-12-31')) {
      const erased = await warm.erase(ref, day, hasTime);
      count.warm += erased.items;
      if (!erased.isDone) return { ...count, isDone: false };
    }
  }

  const archive = await cold.eraseTenant(tenant.id, hasTime);
  count.cold = archive.versions;
  if (!archive.isDone) return { ...count, isDone: false };

  const erased = await deleteItems(meta, metaItems(meta, tenant), hasTime);
  count.meta += erased.items;
  return { ...count, isDone: erased.isDone };
}

/**
 * Scans the meta table for all items of a tenant. Their partition key is `kind#tenant id`, optionally
 * followed by `#` and more. API keys are stored under their own ids instead, with the tenant's name as an
 * attribute.
 */
async function* metaItems(meta: Table, { id, name }: DeletedTenant): AsyncGenerator<Item> {
  const pages = paginateScan(
    { client: meta.client },
    {
      TableName: meta.name,
      ConsistentRead: true,
      FilterExpression: 'contains(pk, :id) OR tenant = :name',
      ExpressionAttributeValues: { ':id': { S: metaKeys.ofTenant(id) }, ':name': { S: name } },
      ProjectionExpression: 'pk, sk',
    },
  );
  for await (const { Items = [] } of pages)
    for (const item of Items) {
      const { kind, owner } = metaKeys.parsePartition(item.pk!.S!);
      if (owner === id || kind === 'key') yield item;
    }
}
