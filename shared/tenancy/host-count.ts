import { GetItemCommand, PutItemCommand, paginateQuery, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import type { Id } from '../model/id';
import { metaKeys } from '../platform/keys';
import { type Item, succeeds, type Table } from '../platform/table';

/** A count that refuses a host is checked against the hosts themselves when it is older, ms. */
const RECOUNT_MS = 3_600_000;

/**
 * How many hosts each tenant has that are not retired, for the limit. Exact under concurrent writers: a host is counted
 * before it is created. A crash in between, or a write that is sent twice, leaves the count too high or too low by one; a
 * count that would refuse a host is taken anew, at most once an hour.
 *
 *     pk usage#tenant   sk hosts   active: number   countedAt: ms
 */
export class HostCount {
  constructor(
    private readonly table: Table,
    private readonly now: () => number = Date.now,
  ) {}

  /** Counts one host more. @returns false, and counts none, when the tenant has `most` already */
  async take(tenantId: Id, most: number): Promise<boolean> {
    if (await this.add(tenantId, 1, 'active < :bound', most)) return true;
    return (await this.recount(tenantId)) && this.add(tenantId, 1, 'active < :bound', most);
  }

  /** Counts one host less. */
  async give(tenantId: Id): Promise<void> {
    await this.add(tenantId, -1, 'active > :bound', 0);
  }

  private add(tenantId: Id, difference: number, condition: string, bound: number): Promise<boolean> {
    return succeeds(
      this.table.client.send(
        new UpdateItemCommand({
          TableName: this.table.name,
          Key: metaKeys.hostCount(tenantId),
          UpdateExpression: 'SET active = active + :difference',
          ConditionExpression: condition,
          ExpressionAttributeValues: {
            ':difference': { N: String(difference) },
            ':bound': { N: String(bound) },
          },
        }),
      ),
    );
  }

  /** @returns false when the count is recent */
  private async recount(tenantId: Id): Promise<boolean> {
    const countedAt = await this.countedAt(tenantId);
    if (countedAt !== undefined && this.now() - Number(countedAt) < RECOUNT_MS) return false;
    const active = await this.read(tenantId);
    // If another instance was first, its count stands.
    await succeeds(
      this.table.client.send(
        new PutItemCommand({
          TableName: this.table.name,
          Item: {
            ...metaKeys.hostCount(tenantId),
            active: { N: String(active) },
            countedAt: { N: String(this.now()) },
          },
          ConditionExpression: countedAt === undefined ? 'attribute_not_exists(pk)' : 'countedAt = :before',
          ExpressionAttributeValues: countedAt === undefined ? undefined : { ':before': { N: countedAt } },
        }),
      ),
    );
    return true;
  }

  private async countedAt(tenantId: Id): Promise<string | undefined> {
    const { Item }: { Item?: Item } = await this.table.client.send(
      new GetItemCommand({
        TableName: this.table.name,
        Key: metaKeys.hostCount(tenantId),
        ConsistentRead: true,
      }),
    );
    return Item?.countedAt?.N;
  }

  /** Reads every host. */
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
          // Inside of a string the quotes would be escaped; only a nested property of the same name is counted wrongly.
          ':active': { S: '"retiredAt":null' },
        },
        Select: 'COUNT',
      },
    );
    for await (const { Count = 0 } of pages) hosts += Count;
    return hosts;
  }
}
