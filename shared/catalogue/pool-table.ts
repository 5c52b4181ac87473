import { UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import type { Id } from '../model/id';
import { mapLimited } from '../platform/concurrency';
import { metaKeys } from '../platform/keys';
import { getItems, insertItems, type Table } from '../platform/table';
import { expiresAtOf, TURN_MS } from './lifetimes';

/** Where a source's samples lie: the id of its pool, or in groups of its own. */
export type PoolOfSource = Id | 'own';

const PARALLEL = 16;

function poolOf(sourceId: Id, poolId: Id): PoolOfSource {
  return poolId === sourceId ? 'own' : poolId;
}

/** Which pool each source is in: items of the catalogue. Whoever writes a source's first decides for ever. */
export class PoolTable {
  constructor(
    private readonly table: Table,
    private readonly retentionMs: number,
    private readonly now: () => number = Date.now,
  ) {}

  /** Finds the pools of those sources that are in one or have groups of their own: whose samples were posted before. */
  async find(tenantId: Id, sourceIds: readonly Id[]): Promise<Map<Id, PoolOfSource>> {
    const pools = new Map<Id, PoolOfSource>();
    const keys = sourceIds.flatMap((id) => [
      metaKeys.pool(tenantId, id),
      metaKeys.indexedSource(tenantId, id),
    ]);
    const byKey = new Map(sourceIds.map((id) => [metaKeys.source(tenantId, id), id]));
    for (const { pk, sk, poolId } of await getItems(this.table, keys)) {
      const pooled = byKey.get(pk!.S!);
      if (pooled !== undefined) pools.set(pooled, poolOf(pooled, poolId!.S!));
      else if (!pools.has(sk!.S!)) pools.set(sk!.S!, 'own');
    }
    return pools;
  }

  /**
   * Puts new sources into pools, unless they are in one by now.
   *
   * @param pools by source; its own id: it is to stay by itself
   * @returns where each is
   */
  async join(tenantId: Id, pools: ReadonlyMap<Id, Id>): Promise<Map<Id, PoolOfSource>> {
    const asked = [...pools];
    const outcomes = await insertItems(
      this.table,
      asked.map(([sourceId, pool]) => ({
        ...metaKeys.pool(tenantId, sourceId),
        poolId: { S: pool },
        expiresAt: this.expiresAt(),
      })),
    );
    const joined = await mapLimited([...asked.entries()], PARALLEL, async ([i, [sourceId, pool]]) => {
      const found = outcomes[i] === 'inserted' ? pool : await this.renew(tenantId, sourceId, pool);
      return [sourceId, poolOf(sourceId, found)] as const;
    });
    return new Map(joined);
  }

  /**
   * Sees to it that the items outlive samples of now: renews those that expire too early, and puts those that are missing,
   * such as after the table was restored.
   *
   * @param pools by source, as records have them
   */
  async keep(tenantId: Id, pools: ReadonlyMap<Id, Id>): Promise<void> {
    const keys = [...pools.keys()].map((sourceId) => metaKeys.pool(tenantId, sourceId));
    // It is looked at again in the next turn.
    const leastSeconds = expiresAtOf(this.now() + TURN_MS, this.retentionMs);
    const lasting = new Set<string>();
    for (const { pk, expiresAt } of await getItems(this.table, keys))
      if (Number(expiresAt!.N) >= leastSeconds) lasting.add(pk!.S!);
    await mapLimited([...pools], PARALLEL, async ([sourceId, pool]) => {
      if (!lasting.has(metaKeys.source(tenantId, sourceId))) await this.renew(tenantId, sourceId, pool);
    });
  }

  /** @returns the pool that the source is in */
  private async renew(tenantId: Id, sourceId: Id, pool: Id): Promise<Id> {
    const { Attributes } = await this.table.client.send(
      new UpdateItemCommand({
        TableName: this.table.name,
        Key: metaKeys.pool(tenantId, sourceId),
        UpdateExpression: 'SET expiresAt = :expiresAt, poolId = if_not_exists(poolId, :pool)',
        ExpressionAttributeValues: { ':expiresAt': this.expiresAt(), ':pool': { S: pool } },
        ReturnValues: 'ALL_NEW',
      }),
    );
    return Attributes!.poolId!.S!;
  }

  private expiresAt() {
    return { N: String(expiresAtOf(this.now() + 2 * TURN_MS, this.retentionMs)) };
  }
}
