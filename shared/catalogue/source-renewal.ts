import type { CompactMap } from '../model/compact-map';
import type { Id } from '../model/id';
import { metaKeys } from '../platform/keys';
import { type Item, type Table, updateItem } from '../platform/table';
import { expiresAtOf, RENEWAL_MS, renewalPeriodOf } from './lifetimes';

/** Renews the items of sources and pools in the list of a tenant's sources (source-index.ts). */
export class SourceRenewal {
  /** @param written remembers the renewal period in which this instance last renewed each source */
  constructor(
    private readonly table: Table,
    private readonly retentionMs: number,
    private readonly written: CompactMap,
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
