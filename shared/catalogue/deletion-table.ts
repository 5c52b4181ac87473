import { GetItemCommand, PutItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { decodeVersion, encodeVersion } from '../codec';
import { type VersionedDeletion, withinKnownEpochs } from '../model/deletion';
import { type Id, idOf } from '../model/id';
import type { PartitionRef } from '../model/placement';
import { metaKeys } from '../platform/keys';
import { type Item, queryAll, succeeds, type Table } from '../platform/table';
import type { ChangeList } from './change-list';
import { expiresAtOf } from './lifetimes';

/**
 * The deletions of each source, stored with its layouts. A read of one source gets both with one query. A
 * read of many sources queries only those that the list of changes names (change-list.ts):
 *
 *     pk layouts#tenant#source   sk deletion#hash of selector, range and partition   name, isPrefix, fromMs, toMs   version: hex   place: hex, ascends with versions   isOpened   expiresAt: seconds
 */
export class DeletionTable {
  constructor(
    private readonly table: Table,
    private readonly retentionMs: number,
    private readonly changes: ChangeList,
    private readonly now: () => number,
  ) {}

  /**
   * Puts a deletion. It replaces an equal deletion of a lower version, so a source's deletions all differ. It
   * is kept for as long as any sample that it deletes could be read, so that no replay restores deleted
   * samples, however far back it begins.
   *
   * @param ref the partition through which the deletion came; its version is only comparable with versions of
   *   this partition
   * @returns whether its days are still to be opened ({@link markOpened}); false if an earlier delivery has
   *   opened them
   */
  async put(ref: PartitionRef, sourceId: Id, deletion: VersionedDeletion): Promise<boolean> {
    const { selector, fromMs, toMs } = deletion;
    const Key = deletionKey(ref, sourceId, deletion);
    const { version, place } = versionTexts(deletion);
    const isNew = await succeeds(
      this.table.client.send(
        new PutItemCommand({
          TableName: this.table.name,
          Item: {
            ...Key,
            name: { S: selector.name },
            isPrefix: { BOOL: selector.isPrefix },
            fromMs: { N: String(fromMs) },
            toMs: { N: String(toMs) },
            version: { S: version },
            place: { S: place },
            expiresAt: { N: String(expiresAtOf(this.now(), this.retentionMs)) },
          },
          ConditionExpression: 'attribute_not_exists(version) OR place < :place',
          ExpressionAttributeValues: { ':place': { S: place } },
        }),
      ),
    );
    // Record the change even if the deletion was delivered before: the earlier delivery may have ended before
    // this step.
    await this.changes.noteDeletion(ref.tenantId, sourceId);
    if (isNew) return true;
    const { Item } = await this.table.client.send(
      new GetItemCommand({ TableName: this.table.name, Key, ConsistentRead: true }),
    );
    // If a higher version replaced the deletion, its own delivery opens the days.
    return Item?.version?.S === version && Item.isOpened === undefined;
  }

  /** Records that the days of a deletion have been opened for the archiver. */
  async markOpened(ref: PartitionRef, sourceId: Id, deletion: VersionedDeletion): Promise<void> {
    await succeeds(
      this.table.client.send(
        new UpdateItemCommand({
          TableName: this.table.name,
          Key: deletionKey(ref, sourceId, deletion),
          UpdateExpression: 'SET isOpened = :yes',
          ConditionExpression: 'version = :version',
          ExpressionAttributeValues: {
            ':yes': { BOOL: true },
            ':version': { S: versionTexts(deletion).version },
          },
        }),
      ),
    );
  }

  /** Reads all deletions of a source. */
  async of(tenantId: Id, sourceId: Id): Promise<VersionedDeletion[]> {
    const deletions: VersionedDeletion[] = [];
    const items = queryAll(this.table, {
      KeyConditionExpression: 'pk = :pk AND begins_with(sk, :deletion)',
      ExpressionAttributeValues: {
        ':pk': { S: metaKeys.source(tenantId, sourceId) },
        ':deletion': { S: metaKeys.deletionPrefix },
      },
    });
    for await (const item of items) deletions.push(deletionOf(item));
    return deletions;
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

/** A deletion's version in hex, and a text that sorts as versions do. */
function versionTexts({ version }: VersionedDeletion): { version: string; place: string } {
  const bytes = Buffer.from(encodeVersion(version));
  // Arrival time in 6 bytes, then the sequence number with its length.
  const place = Buffer.concat([bytes.subarray(6), bytes.subarray(0, 6)]);
  return { version: bytes.toString('hex'), place: place.toString('hex') };
}

/** Decodes a deletion's item. Its end is limited to the epochs that were known when it arrived. */
export function deletionOf(item: Item): VersionedDeletion {
  return withinKnownEpochs({
    selector: { name: item.name!.S!, isPrefix: item.isPrefix!.BOOL! },
    fromMs: Number(item.fromMs!.N),
    toMs: Number(item.toMs!.N),
    version: decodeVersion(Buffer.from(item.version!.S!, 'hex')),
  });
}
