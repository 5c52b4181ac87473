import type { Cache } from '../model/cache';
import type { Id } from '../model/id';
import { bucketOfSource, metaKeys, SOURCE_BUCKETS } from '../platform/keys';
import { type Item, queryAll, type Table, updateItem } from '../platform/table';
import { expiresAtOf, RENEWAL_MS, renewalPeriodOf } from './lifetimes';

/**
 * Lists a tenant's sources and pools, so that operators and rebuilds can go through all of them. A source in a pool has
 * no item of its own; its pool has one. An insertion succeeds only if the item does not exist yet, so a successful
 * insertion also shows the writer that the source is new. An instance renews an item when it first puts a layout of the
 * source, and then every 16 days. Each renewal costs one write unit.
 *
 *     pk sources#tenant#bucket   sk source   expiresAt: seconds
 */
export class SourceIndex {
  constructor(private readonly table: Table) {}

  /**
   * Lists the ids of a tenant's sources and pools, ordered by bucket and then by id. The order is always the same, so a
   * listing that was interrupted can be continued.
   *
   * @param after begins the list after this id; undefined begins with the first id
   */
  async *list(tenantId: Id, after?: Id): AsyncGenerator<Id> {
    for (let bucket = after === undefined ? 0 : bucketOfSource(after); bucket < SOURCE_BUCKETS; bucket++) {
      const isFirst = after !== undefined && bucket === bucketOfSource(after);
      const items = queryAll(
        this.table,
        { pk: metaKeys.sourceIndex(tenantId, bucket) },
        isFirst ? { ExclusiveStartKey: metaKeys.indexedSource(tenantId, after) } : {},
      );
      for await (const { sk } of items) yield sk!.S!;
    }
  }
}

/** Renews the items of sources and pools in a tenant's list of sources. */
export class SourceRenewal {
  /** @param written remembers the renewal period in which this instance last renewed each source */
  constructor(
    private readonly table: Table,
    private readonly retentionMs: number,
    private readonly written: Cache<number>,
    private readonly now: () => number,
  ) {}

  /** Returns the item of a source, for the caller to insert. After inserting it, call {@link noteRenewed}. */
  itemOf(tenantId: Id, sourceId: Id): Item {
    return { ...metaKeys.indexedSource(tenantId, sourceId), expiresAt: this.expiresAt() };
  }

  /** Remembers that this instance has renewed or inserted a source's item in the current renewal period. */
  noteRenewed(sourceId: Id): void {
    this.written.set(keyOf(sourceId), renewalPeriodOf(sourceId, this.now()));
  }

  /** Puts or renews a source's item, unless this instance has done so in the current renewal period. */
  async renew(tenantId: Id, sourceId: Id): Promise<void> {
    if (this.written.get(keyOf(sourceId)) === renewalPeriodOf(sourceId, this.now())) return;
    await updateItem(this.table, {
      Key: metaKeys.indexedSource(tenantId, sourceId),
      UpdateExpression: 'SET expiresAt = :expiresAt',
      ExpressionAttributeValues: { ':expiresAt': this.expiresAt() },
    });
    this.noteRenewed(sourceId);
  }

  private expiresAt() {
    return { N: String(expiresAtOf(this.now() + RENEWAL_MS, this.retentionMs)) };
  }
}

function keyOf(sourceId: Id): string {
  return `source ${sourceId}`;
}
