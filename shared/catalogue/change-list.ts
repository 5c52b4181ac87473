import { DAY_MS } from '../model/duration';
import type { Id } from '../model/id';
import { type ItemKey, metaKeys } from '../platform/keys';
import { queryItems, type Table, updateItem } from '../platform/table';
import { expiresAtOf } from './lifetimes';

/** The contents of a tenant's list of changes, with which a reader rereads only data that has changed. */
export interface Changes {
  /**
   * For each source with deletions, how many times a deletion was put. A reader whose copy has the same number need not
   * reread the source's deletions.
   */
  readonly deletions: ReadonlyMap<Id, number>;
  /**
   * The change token of the index of series. It is different after every change, and is compared only for equality.
   * Undefined if the last change was more than two days ago.
   */
  readonly index: string | undefined;
}

/**
 * Records two things about a tenant: which of its sources have deletions, and the version of its index of
 * series. Few sources have deletions, so a reader of many sources reads the deletions of only those few. A
 * reader also keeps a copy of the index. While the version stays the same, it reads the index's buckets again
 * only every few minutes.
 *
 *     pk changes#tenant   sk source   puts: number      expiresAt: seconds
 *                         sk index    version: number   expiresAt: seconds
 *
 * `puts` is the number of times that a deletion was put for the source.
 *
 * Record a change after making it, so that a reader who sees the record also sees the change.
 */
export class ChangeList {
  constructor(
    private readonly table: Table,
    private readonly retentionMs: number,
    private readonly now: () => number,
  ) {}

  /** Records that a deletion was put for a source. */
  async noteDeletion(tenantId: Id, sourceId: Id): Promise<void> {
    const expiresAt = expiresAtOf(this.now(), this.retentionMs);
    await this.count(metaKeys.changedSource(tenantId, sourceId), 'puts', expiresAt);
  }

  /** Records that entries were inserted into the tenant's index of series. */
  async noteIndex(tenantId: Id): Promise<void> {
    const expiresAt = Math.ceil((this.now() + 2 * DAY_MS) / 1000);
    await this.count(metaKeys.indexChange(tenantId), 'version', expiresAt);
  }

  async all(tenantId: Id): Promise<Changes> {
    const deletions = new Map<Id, number>();
    let index: string | undefined;
    const { sk: indexSort } = metaKeys.indexChange(tenantId);
    const items = await queryItems(this.table, { pk: metaKeys.changes(tenantId) });
    // The token includes the item's expiry time. The count alone is not enough, since it restarts at 1 after the item
    // has expired.
    for (const { sk, version, puts, expiresAt } of items)
      if (sk!.S === indexSort.S) index = `${version!.N} ${expiresAt!.N}`;
      else if (puts?.N !== undefined) deletions.set(sk!.S!, Number(puts.N));
    return { deletions, index };
  }

  private async count(key: ItemKey, attribute: 'puts' | 'version', expiresAt: number): Promise<void> {
    await updateItem(this.table, {
      Key: key,
      UpdateExpression: `SET expiresAt = :expiresAt ADD ${attribute} :one`,
      ExpressionAttributeValues: { ':one': { N: '1' }, ':expiresAt': { N: String(expiresAt) } },
    });
  }
}
