import { GetItemCommand, PutItemCommand, paginateQuery, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import type { SeriesTally, TopEntry } from '../catalogue/series-tally';
import { DAY_MS } from '../model/duration';
import type { Id } from '../model/id';
import type { Day } from '../model/placement';
import { metaKeys } from '../platform/keys';
import { type Item, queryAll, type Table } from '../platform/table';
import { COUNTERS, type Counter, type Counts } from './counters';

/** How many series a tenant has. */
export interface SeriesCount extends SeriesTally {
  /** New ones since they were counted, about. */
  readonly added: number;
  /** When they were counted, ms since epoch; undefined: never yet. */
  readonly countedAt: number | undefined;
}

/** Days of usage are kept for two years and more. */
const DAYS_KEPT = 800;
const MINUTES_KEPT_S = 3600;

/**
 * What tenants used, in the meta table. Instances add to it what they counted, now and then.
 *
 *     pk usage#tenant    sk day       a number for each counter     expiresAt: seconds
 *     pk usage#tenant    sk series    active, added, stored, countedAt, topNames: JSON, topSources: JSON
 *     pk minute#tenant   sk budget#minute since epoch   used        expiresAt: seconds
 */
export class UsageTable {
  constructor(
    private readonly table: Table,
    private readonly now: () => number = Date.now,
  ) {}

  async add(tenantId: Id, day: Day, counts: Counts, abortSignal?: AbortSignal): Promise<void> {
    const entries = Object.entries(counts).filter(([, amount]) => amount > 0);
    if (entries.length === 0) return;
    await this.table.client.send(
      new UpdateItemCommand({
        TableName: this.table.name,
        Key: metaKeys.usage(tenantId, day),
        UpdateExpression: `SET expiresAt = :expires ADD ${entries.map(([name]) => `${name} :${name}`).join(', ')}`,
        ExpressionAttributeValues: {
          ':expires': { N: this.seconds(DAYS_KEPT * DAY_MS) },
          ...Object.fromEntries(entries.map(([name, amount]) => [`:${name}`, { N: String(amount) }])),
        },
      }),
      { abortSignal },
    );
  }

  /** The days of a month (`2026-11`), or whatever begins with the text, that have usage. */
  async days(tenantId: Id, month: string): Promise<Map<Day, Record<Counter, number>>> {
    const days = new Map<Day, Record<Counter, number>>();
    const items = queryAll(this.table, {
      KeyConditionExpression: 'pk = :pk AND begins_with(sk, :month)',
      ExpressionAttributeValues: { ':pk': { S: metaKeys.usages(tenantId) }, ':month': { S: month } },
    });
    for await (const item of items)
      days.set(
        item.sk!.S!,
        Object.fromEntries(COUNTERS.map((name) => [name, Number(item[name]?.N ?? 0)])) as Record<
          Counter,
          number
        >,
      );
    return days;
  }

  /**
   * Adds to what was used of a budget in a minute.
   *
   * @returns what all used of it by now
   */
  async use(
    tenantId: Id,
    budget: string,
    minute: number,
    amount: number,
    abortSignal: AbortSignal,
  ): Promise<number> {
    const { Attributes } = await this.table.client.send(
      new UpdateItemCommand({
        TableName: this.table.name,
        Key: metaKeys.budget(tenantId, budget, minute),
        UpdateExpression: 'SET expiresAt = :expires ADD used :amount',
        ExpressionAttributeValues: {
          ':expires': { N: this.seconds(MINUTES_KEPT_S * 1000) },
          ':amount': { N: String(amount) },
        },
        ReturnValues: 'UPDATED_NEW',
      }),
      { abortSignal },
    );
    return Number(Attributes!.used!.N);
  }

  async series(tenantId: Id, abortSignal?: AbortSignal): Promise<SeriesCount> {
    const { Item } = await this.table.client.send(
      new GetItemCommand({ TableName: this.table.name, Key: metaKeys.seriesCount(tenantId) }),
      { abortSignal },
    );
    return seriesOf(Item ?? {});
  }

  async addSeries(tenantId: Id, added: number): Promise<void> {
    await this.table.client.send(
      new UpdateItemCommand({
        TableName: this.table.name,
        Key: metaKeys.seriesCount(tenantId),
        UpdateExpression: 'ADD added :added',
        ExpressionAttributeValues: { ':added': { N: String(added) } },
      }),
    );
  }

  /** Replaces what was counted, new series included: they are in it. */
  async putSeries(tenantId: Id, { active, stored, topNames, topSources }: SeriesTally): Promise<void> {
    await this.table.client.send(
      new PutItemCommand({
        TableName: this.table.name,
        Item: {
          ...metaKeys.seriesCount(tenantId),
          active: { N: String(active) },
          stored: { N: String(stored) },
          countedAt: { N: String(this.now()) },
          topNames: { S: JSON.stringify(topNames) },
          topSources: { S: JSON.stringify(topSources) },
        },
      }),
    );
  }

  /** Hosts of a tenant that are not retired. Reads them all: not for every request. */
  async hosts(tenantId: Id): Promise<number> {
    let hosts = 0;
    const pages = paginateQuery(
      { client: this.table.client },
      {
        TableName: this.table.name,
        KeyConditionExpression: 'pk = :pk',
        FilterExpression: 'contains(json, :active)',
        ExpressionAttributeValues: {
          ':pk': { S: metaKeys.documents('hosts', tenantId) },
          // In a text the quotes would be escaped; a retired host whose meta has the same is counted too.
          ':active': { S: '"retiredAt":null' },
        },
        Select: 'COUNT',
      },
    );
    for await (const { Count = 0 } of pages) hosts += Count;
    return hosts;
  }

  private seconds(aheadMs: number): string {
    return String(Math.ceil((this.now() + aheadMs) / 1000));
  }
}

function seriesOf(item: Item): SeriesCount {
  return {
    active: Number(item.active?.N ?? 0),
    added: Number(item.added?.N ?? 0),
    stored: Number(item.stored?.N ?? 0),
    countedAt: item.countedAt?.N === undefined ? undefined : Number(item.countedAt.N),
    topNames: JSON.parse(item.topNames?.S ?? '[]') as TopEntry[],
    topSources: JSON.parse(item.topSources?.S ?? '[]') as TopEntry[],
  };
}
