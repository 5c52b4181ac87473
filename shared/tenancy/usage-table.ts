import { GetItemCommand } from '@aws-sdk/client-dynamodb';
import type { SeriesTally, TopEntry } from '../catalogue/series-tally';
import { DAY_MS } from '../model/duration';
import type { Id } from '../model/id';
import type { Day } from '../model/placement';
import { metaKeys } from '../platform/keys';
import {
  type Item,
  putItem,
  queryAll,
  queryItems,
  succeeds,
  type Table,
  updateItem,
} from '../platform/table';
import { COUNTERS, type Counter, type Counts } from './counters';

/**
 * A tenant's number of series: the result of the last count, and an estimate of how many have been added since.
 */
export interface SeriesCount extends SeriesTally {
  /** Approximate number of new series since the last count. */
  readonly added: number;
  /** Time of the last count, as Unix time in ms; undefined before the first. */
  readonly countedAt: number | undefined;
}

/** Number of days for which usage is kept, a little more than two years. */
const DAYS_KEPT = 800;
const MINUTES_KEPT_S = 3600;

/**
 * Stores tenants' usage in the meta table. Every function instance adds its counts from time to time.
 *
 *     pk usage#tenant    sk day       a number for each counter     expiresAt: seconds
 *     pk usage#tenant    sk series    active, added, stored, countedAt, topNames: JSON, topSources: JSON
 *     pk minute#tenant   sk budget#minute               used        expiresAt: seconds
 *     pk minute#tenant   sk queries#minute              used: ms    running   expiresAt: seconds
 */
export class UsageTable {
  constructor(private readonly table: Table) {}

  async add(tenantId: Id, day: Day, counts: Counts, abortSignal?: AbortSignal): Promise<void> {
    const entries = Object.entries(counts).filter(([, amount]) => amount > 0);
    if (entries.length === 0) return;
    await updateItem(this.table, {
      Key: metaKeys.usage(tenantId, day),
      UpdateExpression: `SET expiresAt = :expires ADD ${entries.map(([name]) => `${name} :${name}`).join(', ')}`,
      ExpressionAttributeValues: {
        ':expires': { N: this.seconds(DAYS_KEPT * DAY_MS) },
        ...Object.fromEntries(entries.map(([name, amount]) => [`:${name}`, { N: String(amount) }])),
      },
      abortSignal,
    });
  }

  /** Returns the usage of each day in a month (`2026-11`). Days without usage are absent. */
  async days(tenantId: Id, month: string): Promise<Map<Day, Record<Counter, number>>> {
    const days = new Map<Day, Record<Counter, number>>();
    const items = queryAll(this.table, { pk: metaKeys.usages(tenantId), prefix: month });
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
   * Adds `amount` to what has been used of a budget in a clock minute.
   *
   * @returns what all instances have used in this minute so far
   */
  async use(
    tenantId: Id,
    budget: string,
    minute: number,
    amount: number,
    abortSignal: AbortSignal,
  ): Promise<number> {
    const { Attributes } = await updateItem(this.table, {
      Key: metaKeys.budget(tenantId, budget, minute),
      UpdateExpression: 'SET expiresAt = :expires ADD used :amount',
      ExpressionAttributeValues: {
        ':expires': { N: this.seconds(MINUTES_KEPT_S * 1000) },
        ':amount': { N: String(amount) },
      },
      ReturnValues: 'UPDATED_NEW',
      abortSignal,
    });
    return Number(Attributes!.used!.N);
  }

  /**
   * Returns how much of a budget was used in each minute from `from` up to, but not including, `before`. The keys are
   * Unix times in minutes.
   */
  async usesBetween(
    tenantId: Id,
    budget: string,
    { from, before }: { readonly from: number; readonly before: number },
  ): Promise<Map<number, number>> {
    const [first, last] = [from, before - 1].map((minute) => metaKeys.budget(tenantId, budget, minute));
    const range = { pk: first!.pk.S, from: first!.sk.S, to: last!.sk.S };
    const items = await queryItems(this.table, range);
    return new Map(items.map(({ sk, used }) => [Number(sk!.S!.split('#')[1]), Number(used?.N ?? 0)]));
  }

  /**
   * Counts a query as running, unless `atOnce` queries are already running or the queries of the minute have already
   * taken `usedMs`.
   *
   * @returns whether the query was counted, and the time that queries took in the minute so far, in ms
   */
  async beginQuery(
    tenantId: Id,
    minute: number,
    { atOnce, usedMs }: { readonly atOnce: number; readonly usedMs: number },
    abortSignal: AbortSignal,
  ): Promise<{ readonly isAdmitted: boolean; readonly usedMs: number }> {
    const Key = metaKeys.budget(tenantId, 'queries', minute);
    let used: string | undefined;
    const isAdmitted = await succeeds(
      updateItem(this.table, {
        Key,
        UpdateExpression: 'SET expiresAt = :expires ADD running :one',
        ConditionExpression:
          '(attribute_not_exists(running) OR running < :atOnce) AND (attribute_not_exists(used) OR used < :limit)',
        ExpressionAttributeValues: {
          ':expires': { N: this.seconds(MINUTES_KEPT_S * 1000) },
          ':one': { N: '1' },
          ':atOnce': { N: String(atOnce) },
          ':limit': { N: String(usedMs) },
        },
        ReturnValues: 'ALL_NEW',
        abortSignal,
      }).then(({ Attributes }) => {
        used = Attributes?.used?.N;
      }),
    );
    if (!isAdmitted) {
      const { Item } = await this.table.client.send(
        new GetItemCommand({ TableName: this.table.name, Key, ConsistentRead: true }),
        { abortSignal },
      );
      used = Item?.used?.N;
    }
    return { isAdmitted, usedMs: Number(used ?? 0) };
  }

  /**
   * Adds the time that queries took.
   *
   * @param ended how many of these queries {@link beginQuery} counted as running
   * @returns the time of all queries in the minute so far, in ms
   */
  async endQueries(
    tenantId: Id,
    minute: number,
    ended: number,
    tookMs: number,
    abortSignal: AbortSignal,
  ): Promise<number> {
    const { Attributes } = await updateItem(this.table, {
      Key: metaKeys.budget(tenantId, 'queries', minute),
      UpdateExpression: 'SET expiresAt = :expires ADD running :ended, used :took',
      ExpressionAttributeValues: {
        ':expires': { N: this.seconds(MINUTES_KEPT_S * 1000) },
        ':ended': { N: String(-ended) },
        ':took': { N: String(tookMs) },
      },
      ReturnValues: 'UPDATED_NEW',
      abortSignal,
    });
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
    await updateItem(this.table, {
      Key: metaKeys.seriesCount(tenantId),
      UpdateExpression: 'ADD added :added',
      ExpressionAttributeValues: { ':added': { N: String(added) } },
    });
  }

  /** Stores the result of a new count. This removes `added`, because the new count includes those series. */
  async putSeries(tenantId: Id, { active, stored, topNames, topSources }: SeriesTally): Promise<void> {
    await putItem(this.table, {
      ...metaKeys.seriesCount(tenantId),
      active: { N: String(active) },
      stored: { N: String(stored) },
      countedAt: { N: String(Date.now()) },
      topNames: { S: JSON.stringify(topNames) },
      topSources: { S: JSON.stringify(topSources) },
    });
  }

  /** Returns the earliest day that has samples and whose usage is still kept; undefined if there is none. */
  async firstDay(tenantId: Id): Promise<Day | undefined> {
    // Days begin with a digit; the keys `hosts` and `series` sort after the days.
    const days = queryAll(this.table, { pk: metaKeys.usages(tenantId), from: '0', to: 'a' });
    for await (const { sk, samples } of days) if (Number(samples?.N ?? 0) > 0) return sk!.S;
    return undefined;
  }

  private seconds(aheadMs: number): string {
    return String(Math.ceil((Date.now() + aheadMs) / 1000));
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
