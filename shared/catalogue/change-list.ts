import { PutItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { DAY_MS } from '../model/duration';
import type { Id } from '../model/id';
import { metaKeys } from '../platform/keys';
import { queryItems, type Table } from '../platform/table';

/** Changes are listed for this long, ms: longer than a reader goes by what it knows, and clocks differ. */
const CHANGES_LISTED_MS = 900_000;

/** What a tenant's list of changes says. */
export interface Changes {
  /** A text for each source that changed in the last quarter of an hour: another after each change. */
  readonly sources: ReadonlyMap<Id, string>;
  /** Another text after each change of the index of series; undefined when none was noted within a day or two. */
  readonly index: string | undefined;
}

/**
 * Which sources' catalogues have changed lately, other than by a layout: by a deletion, a lower first sample or another window length. And
 * whether the tenant's index of series has changed, so that a reader reads all of its buckets only then.
 *
 *     pk changes#tenant   sk ms#source   expiresAt: seconds
 *                         sk index       version: number   expiresAt: seconds
 *
 * Note a change after it was made, so that a reader who sees the note also sees the change.
 */
export class ChangeList {
  constructor(
    private readonly table: Table,
    private readonly now: () => number,
  ) {}

  /** Records that a source has changed. */
  async note(tenantId: Id, sourceId: Id): Promise<void> {
    const nowMs = this.now();
    await this.table.client.send(
      new PutItemCommand({
        TableName: this.table.name,
        Item: {
          ...metaKeys.change(tenantId, sourceId, nowMs),
          expiresAt: secondsText(nowMs + DAY_MS),
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
          ':expiresAt': secondsText(this.now() + 2 * DAY_MS),
        },
      }),
    );
  }

  async recent(tenantId: Id): Promise<Changes> {
    const sources = new Map<Id, string>();
    let index: string | undefined;
    const { sk: indexSort } = metaKeys.indexChange(tenantId);
    const items = await queryItems(this.table, {
      KeyConditionExpression: 'pk = :pk AND sk >= :from',
      ExpressionAttributeValues: {
        ':pk': { S: metaKeys.changes(tenantId) },
        ':from': { S: metaKeys.changesFrom(this.now() - CHANGES_LISTED_MS) },
      },
    });
    for (const { sk, version, expiresAt } of items) {
      if (sk!.S === indexSort.S) {
        // After it expired, the count begins anew.
        index = `${version!.N} ${expiresAt!.N}`;
        continue;
      }
      const sourceId = metaKeys.parseChangeSort(sk!.S!);
      sources.set(sourceId, `${sources.get(sourceId) ?? ''} ${sk!.S!}`);
    }
    return { sources, index };
  }
}

function secondsText(ms: number): { N: string } {
  return { N: String(Math.ceil(ms / 1000)) };
}
