import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { DAY_MS } from '../model/duration';
import type { Id } from '../model/id';
import { metaKeys } from '../platform/keys';
import { queryAll, type Table } from '../platform/table';

/** Changes are listed for this long, ms: longer than a reader goes by what it knows, and clocks differ. */
const CHANGES_LISTED_MS = 900_000;

/**
 * Which sources' catalogues have changed lately, other than by a layout: by a deletion, a lower first sample or another window length.
 *
 *     pk changes#tenant   sk ms#source   expiresAt: seconds
 */
export class ChangeList {
  constructor(
    private readonly table: Table,
    private readonly now: () => number,
  ) {}

  /** Records that a source has changed. Call it after the change, so that a reader who sees the record also sees the change. */
  async note(tenantId: Id, sourceId: Id): Promise<void> {
    const nowMs = this.now();
    await this.table.client.send(
      new PutItemCommand({
        TableName: this.table.name,
        Item: {
          ...metaKeys.change(tenantId, sourceId, nowMs),
          expiresAt: { N: String(Math.ceil((nowMs + DAY_MS) / 1000)) },
        },
      }),
    );
  }

  /** A text for each source that changed in the last quarter of an hour: another after each change. */
  async recent(tenantId: Id): Promise<ReadonlyMap<Id, string>> {
    const changes = new Map<Id, string>();
    const items = queryAll(this.table, {
      KeyConditionExpression: 'pk = :pk AND sk >= :from',
      ExpressionAttributeValues: {
        ':pk': { S: metaKeys.changes(tenantId) },
        ':from': { S: metaKeys.changesFrom(this.now() - CHANGES_LISTED_MS) },
      },
    });
    for await (const { sk } of items) {
      const sourceId = metaKeys.parseChangeSort(sk!.S!);
      changes.set(sourceId, `${changes.get(sourceId) ?? ''} ${sk!.S!}`);
    }
    return changes;
  }
}
