import { UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { DAY_MS } from '../model/duration';
import type { Id } from '../model/id';
import { metaKeys } from '../platform/keys';
import { queryItems, type Table } from '../platform/table';
import { expiresAtOf } from './lifetimes';

/** What a tenant's list of changes says. */
export interface Changes {
  /** For each source that has deletions how often one was put: another number after each put. */
  readonly deletions: ReadonlyMap<Id, number>;
  /** Another text after each change of the index of series; undefined when none was noted within a day or two. */
  readonly index: string | undefined;
}

/**
 * Which of a tenant's sources have deletions: few have any, so a read of many sources asks only those for them. And whether the tenant's
 * index of series has changed, so that a reader reads all of its buckets only then.
 *
 *     pk changes#tenant   sk source   puts: number      expiresAt: seconds
 *                         sk index    version: number   expiresAt: seconds
 *
 * Note a change after it was made, so that a reader who sees the note also sees the change.
 */
export class ChangeList {
  constructor(
    private readonly table: Table,
    private readonly retentionMs: number,
    private readonly now: () => number,
  ) {}

  /** Records that a deletion of a source was put. */
  async noteDeletion(tenantId: Id, sourceId: Id): Promise<void> {
    await this.table.client.send(
      new UpdateItemCommand({
        TableName: this.table.name,
        Key: metaKeys.changedSource(tenantId, sourceId),
        UpdateExpression: 'SET expiresAt = :expiresAt ADD puts :one',
        ExpressionAttributeValues: {
          ':one': { N: '1' },
          ':expiresAt': { N: String(expiresAtOf(this.now(), this.retentionMs)) },
        },
      }),
    );
  }

  /** Records that the index of series has changed. */
  async noteIndex(tenantId: Id): Promise<void> {
    await this.table.client.send(
      new UpdateItemCommand({
        TableName: this.table.name,
        Key: metaKeys.indexChange(tenantId),
        UpdateExpression: 'SET expiresAt = :expiresAt ADD version :one',
        ExpressionAttributeValues: {
          ':one': { N: '1' },
          ':expiresAt': { N: String(Math.ceil((this.now() + 2 * DAY_MS) / 1000)) },
        },
      }),
    );
  }

  async all(tenantId: Id): Promise<Changes> {
    const deletions = new Map<Id, number>();
    let index: string | undefined;
    const { sk: indexSort } = metaKeys.indexChange(tenantId);
    const items = await queryItems(this.table, {
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': { S: metaKeys.changes(tenantId) } },
    });
    // After it expired, the count begins anew.
    for (const { sk, version, puts, expiresAt } of items)
      if (sk!.S === indexSort.S) index = `${version!.N} ${expiresAt!.N}`;
      else deletions.set(sk!.S!, Number(puts!.N));
    return { deletions, index };
  }
}
