import type { Id } from '../model/id';
import { bucketOfSource, metaKeys, SOURCE_BUCKETS } from '../platform/keys';
import { queryAll, type Table } from '../platform/table';

/**
 * Lists a tenant's sources and pools, so that operators and rebuilds can go through all of them. A source in a pool has
 * no item of its own; the pool has one. Because an insertion succeeds only if the item does not exist, a successful
 * insertion also tells the writer that the source is new. An instance renews an item when it first puts a layout of the
 * source, and then every 16 days. Each renewal costs one write unit.
 *
 *     pk sources#tenant#bucket   sk source   expiresAt: seconds
 */
export class SourceIndex {
  constructor(private readonly table: Table) {}

  /**
   * Lists the ids of a tenant's sources and pools, ordered by bucket and then by id. Every call has the same
   * order, so a list that was interrupted can be continued.
   *
   * @param after begins the list after this id; undefined begins at the start
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
