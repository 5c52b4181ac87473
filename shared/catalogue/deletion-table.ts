import { decodeVersion, encodeVersion } from '../codec';
import { type VersionedDeletion, withinKnownEpochs } from '../model/deletion';
import { type Id, idOf } from '../model/id';
import type { PartitionRef } from '../model/placement';
import { metaKeys } from '../platform/keys';
import { getItem, type Item, putItemIf, queryItems, type Table, updateItemIf } from '../platform/table';
import type { ChangeList } from './change-list';
import { expiresAtOf } from './lifetimes';

/**
 * Stores the deletions of each source under the same partition key as its layouts. A read of one source gets both with
 * one query. A read of many sources queries only the sources that the list of changes names (change-list.ts).
 *
 *     pk layouts#tenant#source   sk deletion#hash of selector, range and partition   name, isPrefix, fromMs, toMs   version: hex   versionOrder: hex, see below   isOpened   expiresAt: seconds
 *
 * `version` is the deletion's version, encoded as in other formats. `versionOrder` has the same bytes in another order,
 * so that its text sorts as versions do, and the condition of a write can compare two versions. `isOpened` exists once
 * the ingester has announced the days of the deletion as open, for the archiver.
 */
export class DeletionTable {
  constructor(
    private readonly table: Table,
    private readonly retentionMs: number,
    private readonly changes: ChangeList,
    private readonly now: () => number,
  ) {}

  /**
   * Puts a deletion. It replaces a deletion with the same selector, range and partition that has a lower version, so a
   * source never has two such deletions. The item is kept for as long as any sample that it deletes could be read, so
   * that even a very long replay does not bring deleted samples back.
   *
   * @param ref the partition of the deletion's record; versions are comparable only within one partition
   * @returns whether the caller still has to open the deletion's days and call {@link noteAnnounced}; false if an
   *   earlier delivery of the record has done so
   */
  async put(ref: PartitionRef, sourceId: Id, deletion: VersionedDeletion): Promise<boolean> {
    const { selector, fromMs, toMs } = deletion;
    const Key = deletionKey(ref, sourceId, deletion);
    const { version, versionOrder } = versionTexts(deletion);
    const isNew = await putItemIf(this.table, {
      Item: {
        ...Key,
        name: { S: selector.name },
        isPrefix: { BOOL: selector.isPrefix },
        fromMs: { N: String(fromMs) },
        toMs: { N: String(toMs) },
        version: { S: version },
        versionOrder: { S: versionOrder },
        expiresAt: { N: String(expiresAtOf(this.now(), this.retentionMs)) },
      },
      ConditionExpression: 'attribute_not_exists(version) OR versionOrder < :versionOrder',
      ExpressionAttributeValues: { ':versionOrder': { S: versionOrder } },
    });
    // Record the change even if the deletion was put by an earlier delivery of the record: that delivery may have
    // failed before this step.
    await this.changes.noteDeletion(ref.tenantId, sourceId);
    if (isNew) return true;
    const item = await getItem(this.table, Key);
    // If the item has another version, a later deletion has replaced this one. The delivery of the later deletion's
    // record opens the days.
    return item?.version?.S === version && item.isOpened === undefined;
  }

  /**
   * Records that the days of a deletion are announced. They are open then, so the archiver will remove the deleted
   * samples from them.
   */
  async noteAnnounced(ref: PartitionRef, sourceId: Id, deletion: VersionedDeletion): Promise<void> {
    await updateItemIf(this.table, {
      Key: deletionKey(ref, sourceId, deletion),
      UpdateExpression: 'SET isOpened = :yes',
      ConditionExpression: 'version = :version',
      ExpressionAttributeValues: {
        ':yes': { BOOL: true },
        ':version': { S: versionTexts(deletion).version },
      },
    });
  }

  async of(tenantId: Id, sourceId: Id): Promise<VersionedDeletion[]> {
    const range = { pk: metaKeys.source(tenantId, sourceId), prefix: metaKeys.deletionPrefix };
    return (await queryItems(this.table, range)).map(deletionOf);
  }
}

function deletionKey(
  { tenantId, partition }: PartitionRef,
  sourceId: Id,
  { selector, fromMs, toMs }: VersionedDeletion,
) {
  const { name, isPrefix } = selector;
  const id = idOf('deletion', name, ...[isPrefix, fromMs, toMs, partition].map(String));
  return metaKeys.deletion(tenantId, sourceId, id);
}

/** Returns a deletion's version in hex, and `versionOrder`, the string by which DynamoDB compares versions. */
function versionTexts({ version }: VersionedDeletion): { version: string; versionOrder: string } {
  const bytes = Buffer.from(encodeVersion(version));
  // An encoded version has 6 bytes of arrival time, then the length of the sequence number, then the sequence number.
  // Versions are ordered by sequence number first, so `versionOrder` begins with it.
  const versionOrder = Buffer.concat([bytes.subarray(6), bytes.subarray(0, 6)]);
  return { version: bytes.toString('hex'), versionOrder: versionOrder.toString('hex') };
}

/**
 * Decodes a deletion's item. Limits the end of the range to the time up to which writers knew the source's partition
 * when the deletion arrived: see {@link withinKnownEpochs}.
 */
export function deletionOf(item: Item): VersionedDeletion {
  return withinKnownEpochs({
    selector: { name: item.name!.S!, isPrefix: item.isPrefix!.BOOL! },
    fromMs: Number(item.fromMs!.N),
    toMs: Number(item.toMs!.N),
    version: decodeVersion(Buffer.from(item.version!.S!, 'hex')),
  });
}
