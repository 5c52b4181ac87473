import { paginateScan } from '@aws-sdk/client-dynamodb';
import { DAY_MS } from '../model/duration';
import type { Id } from '../model/id';
import { type Labels, labelValue, METRIC_NAME } from '../model/labels';
import { decodeLayout } from '../model/layout';
import { unpackLayout } from '../model/packed-layout';
import { metaKeys } from '../platform/keys';
import type { Table } from '../platform/table';
import { LAYOUT_KEPT_MS } from './lifetimes';

/** Numbers of a tenant's series, counted from the catalogue. */
export interface SeriesTally {
  /** Series whose layout was put in the last 25 hours: they have recent samples. */
  readonly active: number;
  /** Series that the catalogue still has: they may have stored samples. */
  readonly stored: number;
  readonly topNames: readonly TopEntry[];
  readonly topSources: readonly TopEntry[];
}

/** One of the metric names, or of the sources, with the most active series. */
export interface TopEntry {
  /** A metric name, or a source such as `host=web1`. */
  readonly name: string;
  readonly series: number;
}

/**
 * A layout that was put longer ago than this is not in use, ms. Ingesters put a layout in use once every UTC
 * day. The additional hour is for rows that wait in the stream.
 */
const ACTIVE_MS = DAY_MS + 3_600_000;
/** Number of names, and of sources, in the result. */
const TOP = 20;
/**
 * Most names, or sources, that are counted at the same time. Beyond it, those with a single series so far are
 * dropped, to bound memory.
 */
const MAX_COUNTED = 200_000;

interface Tally {
  active: number;
  stored: number;
  readonly names: Map<string, number>;
  readonly sources: Map<string, number>;
}

/**
 * Counts the series of each tenant exactly. Scans the whole meta table. Most of the table is the catalogue,
 * about 2 KB for each host of 100 series.
 *
 * @param only counts this tenant alone; undefined counts all tenants
 */
export async function tallySeries(
  meta: Table,
  retentionMs: number,
  nowMs: number,
  only?: Id,
): Promise<Map<Id, SeriesTally>> {
  const tallies = new Map<Id, Tally>();
  const activeSince = (nowMs - ACTIVE_MS + retentionMs + LAYOUT_KEPT_MS) / 1000;
  let source = '';
  /** Series of the source that is being read, by key. A series may be in many layouts of the source. */
  let series = new Map<string, { labels: Labels; isActive: boolean }>();
  const finish = () => {
    const tenantId = metaKeys.parsePartition(source).owner;
    if (tenantId === undefined) return;
    let tally = tallies.get(tenantId);
    if (tally === undefined) {
      tally = { active: 0, stored: 0, names: new Map(), sources: new Map() };
      tallies.set(tenantId, tally);
    }
    for (const { labels, isActive } of series.values()) {
      tally.stored++;
      if (!isActive) continue;
      tally.active++;
      increment(tally.names, labelValue(labels, METRIC_NAME) ?? '');
      increment(tally.sources, sourceText(labels));
    }
    series = new Map();
  };
  const pages = paginateScan(
    { client: meta.client },
    {
      TableName: meta.name,
      FilterExpression: 'begins_with(pk, :layouts) AND attribute_exists(layout)',
      ExpressionAttributeValues: {
        ':layouts': { S: only === undefined ? metaKeys.sources : metaKeys.sourcesOf(only) },
      },
      ProjectionExpression: 'pk, layout, expiresAt',
    },
  );
  // A scan returns all items of a partition key one after the other, so the items of a source come together.
  for await (const { Items = [] } of pages)
    for (const { pk, layout, expiresAt } of Items) {
      if (pk!.S !== source) finish();
      source = pk!.S!;
      const isActive = Number(expiresAt?.N ?? 0) >= activeSince;
      const { columns, series: all } = decodeLayout(unpackLayout(layout!.B!));
      for (const [i, key] of [...columns.keys()].entries())
        series.set(key, { labels: all[i]!, isActive: isActive || series.get(key)?.isActive === true });
    }
  finish();
  return new Map(
    [...tallies].map(([tenantId, { active, stored, names, sources }]) => [
      tenantId,
      { active, stored, topNames: topOf(names), topSources: topOf(sources) },
    ]),
  );
}

function increment(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
  if (counts.size > MAX_COUNTED) for (const [name, count] of counts) if (count === 1) counts.delete(name);
}

/** Formats the source of a series for people: `host=web1`. */
function sourceText(labels: Labels): string {
  return labels
    .filter(([name]) => name !== METRIC_NAME)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}

function topOf(counts: ReadonlyMap<string, number>): TopEntry[] {
  return [...counts]
    .sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
    .slice(0, TOP)
    .map(([name, series]) => ({ name, series }));
}
