import { paginateQuery } from '@aws-sdk/client-dynamodb';
import type { Id } from '../model/id';
import { metaKeys } from '../platform/keys';
import { getItem, putItemIf, type Table, updateItemIf } from '../platform/table';

/** How old a count must be before the hosts are counted again, in ms. */
const RECOUNT_MS = 3_600_000;

/**
 * Counts each tenant's active (not retired) hosts, to enforce the limit. A host is counted before it is
 * created, so that concurrent requests cannot exceed the limit. A crash in between, or a retried write, leaves
 * the count off by one. So before a host is refused, the hosts are counted again, at most once an hour.
 *
 *     pk usage#tenant   sk hosts   active: number   countedAt: ms
 */
export class HostCount {
  constructor(
    private readonly table: Table,
    private readonly now: () => number = Date.now,
  ) {}

  /**
   * Adds one to the count.
   *
   * @returns false, leaving the count unchanged, if it has already reached `most`
   */
  async take(tenantId: Id, most: number): Promise<boolean> {
    if (await this.add(tenantId, 1, 'active < :bound', most)) return true;
    return (await this.recount(tenantId)) && this.add(tenantId, 1, 'active < :bound', most);
  }

  /** Subtracts one from the count, if it is above 0. */
  async give(tenantId: Id): Promise<void> {
    await this.add(tenantId, -1, 'active > :bound', 0);
  }

  private add(tenantId: Id, difference: number, condition: string, bound: number): Promise<boolean> {
    return updateItemIf(this.table, {
      Key: metaKeys.hostCount(tenantId),
      UpdateExpression: 'SET active = active + :difference',
      ConditionExpression: condition,
      ExpressionAttributeValues: {
        ':difference': { N: String(difference) },
        ':bound': { N: String(bound) },
      },
    });
  }

  /** Counts the hosts again. Returns false, without counting, when the last count is recent. */
  private async recount(tenantId: Id): Promise<boolean> {
    const countedAt = await this.countedAt(tenantId);
    if (countedAt !== undefined && this.now() - Number(countedAt) < RECOUNT_MS) return false;
    const active = await this.read(tenantId);
    // If another instance recounted first, its count stands.
    await putItemIf(this.table, {
      Item: {
        ...metaKeys.hostCount(tenantId),
        active: { N: String(active) },
        countedAt: { N: String(this.now()) },
      },
      ConditionExpression: countedAt === undefined ? 'attribute_not_exists(pk)' : 'countedAt = :before',
      ExpressionAttributeValues: countedAt === undefined ? undefined : { ':before': { N: countedAt } },
    });
    return true;
  }

  private async countedAt(tenantId: Id): Promise<string | undefined> {
    return (await getItem(this.table, metaKeys.hostCount(tenantId)))?.countedAt?.N;
  }

  /** Counts the active hosts by reading all of them. */
  private async read(tenantId: Id): Promise<number> {
    let hosts = 0;
    const pages = paginateQuery(
      { client: this.table.client },
      {
        TableName: this.table.name,
        KeyConditionExpression: 'pk = :pk',
        FilterExpression: 'contains(json, :active)',
        ExpressionAttributeValues: {
          ':pk': { S: metaKeys.documents('hosts', tenantId) },
          // This text cannot match within a string, where quotes are escaped. It would wrongly match only a
          // property of the same name in a nested object.
          ':active': { S: '"retiredAt":null' },
        },
        Select: 'COUNT',
      },
    );
    for await (const { Count = 0 } of pages) hosts += Count;
    return hosts;
  }
}
