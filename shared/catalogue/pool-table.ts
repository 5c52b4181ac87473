import type { Id } from '../model/id';
import { labelsKey, sourceOf } from '../model/labels';
import { decodeLayout } from '../model/layout';

import { bytesOfPacked, type PackedLayout } from '../model/packed-layout';
import { sourceIdOf } from '../model/placement';
import { commonLabels } from '../model/shape';
import { mapLimited } from '../platform/concurrency';
import { metaKeys } from '../platform/keys';
import { getItems, insertItems, type Table, updateItem } from '../platform/table';
import { expiresAtOf, RENEWAL_MS } from './lifetimes';

const PARALLEL = 16;

/**
 * Stores the pool of each source, as an item under the source's partition key. Small sources share the groups
 * of a pool. The first write of a source's pool is permanent. A source whose pool is its own id is in no
 * pool.
 */
export class PoolTable {
  constructor(
    private readonly table: Table,
    private readonly retentionMs: number,
    private readonly now: () => number = Date.now,
  ) {}

  /**
   * Finds the pools of sources.
   *
   * @returns the pools by source id; sources that have never posted are missing
   */
  async find(tenantId: Id, sourceIds: readonly Id[]): Promise<Map<Id, Id>> {
    const pools = new Map<Id, Id>();
    const keys = sourceIds.flatMap((id) => [
      metaKeys.pool(tenantId, id),
      metaKeys.indexedSource(tenantId, id),
    ]);
    const byKey = new Map(sourceIds.map((id) => [metaKeys.source(tenantId, id), id]));
    for (const { pk, sk, poolId } of await getItems(this.table, keys)) {
      const pooled = byKey.get(pk!.S!);
      if (pooled !== undefined) pools.set(pooled, poolId!.S!);
      else if (!pools.has(sk!.S!)) pools.set(sk!.S!, sk!.S!);
    }
    return pools;
  }

  /**
   * Puts new sources into pools. If another writer has already stored a source's pool, the source stays in that pool.
   *
   * @param pools the wanted pool of each source
   * @returns the pool of each source, as stored
   */
  async join(tenantId: Id, pools: ReadonlyMap<Id, Id>): Promise<Map<Id, Id>> {
    const requested = [...pools];
    const outcomes = await insertItems(
      this.table,
      requested.map(([sourceId, pool]) => ({
        ...metaKeys.pool(tenantId, sourceId),
        poolId: { S: pool },
        expiresAt: this.expiresAt(),
      })),
    );
    const joined = await mapLimited([...requested.entries()], PARALLEL, async ([i, [sourceId, pool]]) => {
      const stored = outcomes[i] === 'inserted' ? pool : await this.renew(tenantId, sourceId, pool);
      return [sourceId, stored] as const;
    });
    return new Map(joined);
  }

  /**
   * Ensures that pool items outlive all samples that are posted before the next call, one renewal period later. Renews
   * items that would expire earlier. Writes items that are missing, for example after the table was restored.
   *
   * @param pools the pool of each source, as named by records in the stream
   */
  async keep(tenantId: Id, pools: ReadonlyMap<Id, Id>): Promise<void> {
    const keys = [...pools.keys()].map((sourceId) => metaKeys.pool(tenantId, sourceId));
    // The caller checks an item again only in the next renewal period, so the item must outlive this period's samples.
    const leastSeconds = expiresAtOf(this.now() + RENEWAL_MS, this.retentionMs);
    const lasting = new Set<string>();
    for (const { pk, expiresAt } of await getItems(this.table, keys))
      if (Number(expiresAt!.N) >= leastSeconds) lasting.add(pk!.S!);
    await mapLimited([...pools], PARALLEL, async ([sourceId, pool]) => {
      if (!lasting.has(metaKeys.source(tenantId, sourceId))) await this.renew(tenantId, sourceId, pool);
    });
  }

  /**
   * Renews a pool item, or writes it if it is missing.
   *
   * @returns the stored pool, which may differ from `pool`
   */
  private async renew(tenantId: Id, sourceId: Id, pool: Id): Promise<Id> {
    const { Attributes } = await updateItem(this.table, {
      Key: metaKeys.pool(tenantId, sourceId),
      UpdateExpression: 'SET expiresAt = :expiresAt, poolId = if_not_exists(poolId, :pool)',
      ExpressionAttributeValues: { ':expiresAt': this.expiresAt(), ':pool': { S: pool } },
      ReturnValues: 'ALL_NEW',
    });
    return Attributes!.poolId!.S!;
  }

  private expiresAt() {
    return { N: String(expiresAtOf(this.now() + 2 * RENEWAL_MS, this.retentionMs)) };
  }
}

/**
 * Maps each source that has series in a pool's layout to the pool.
 *
 * @param owner id of the source or pool that the layout belongs to
 * @returns an empty map if `owner` is a source
 */
export function poolOfMembers(
  tenantId: Id,
  owner: Id,
  layout: Pick<PackedLayout, 'packed' | 'bytes'>,
): Map<Id, Id> {
  const bytes = bytesOfPacked(layout);
  // All series of a source's layout share the labels that name the source. The series of a pool's layout do not.
  if (sourceIdOf(tenantId, sourceOf.labels(commonLabels(bytes))) === owner) return new Map();
  const sources = new Map(
    decodeLayout(bytes).series.map((labels) => {
      const source = sourceOf.labels(labels);
      return [labelsKey(source), source];
    }),
  );
  return new Map(Array.from(sources.values(), (source) => [sourceIdOf(tenantId, source), owner]));
}
