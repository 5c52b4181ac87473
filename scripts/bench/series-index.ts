import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  BatchExecuteStatementCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { Catalogue } from '../../shared/catalogue/catalogue';
import { NOTHING_JOINED } from '../../shared/catalogue/shape-columns';
import { DAY_MS } from '../../shared/model/duration';
import { type Labels, labelsOf, METRIC_NAME, sourceOf } from '../../shared/model/labels';
import { layoutOf } from '../../shared/model/layout';
import { equals, type Matcher } from '../../shared/model/matcher';
import { packLayout } from '../../shared/model/packed-layout';
import { type Day, dayOf, groupIdOf, sourceIdOf, tenantIdOf } from '../../shared/model/placement';
import { callDirectly } from '../../shared/platform/direct-call';
import { INDEX_BUCKETS, metaKeys } from '../../shared/platform/keys';
import { queryAll, type Table } from '../../shared/platform/table';
import { cardinality, labelNames, labelValues } from '../../shared/query/browse';
import { bySource, DEFAULT_LIMITS, type IndexView, matchesOf } from '../../shared/query/find-series';
import { TenantIndexes } from '../../shared/query/tenant-index';
import { bench } from './frame/bench';
import { ownCpu } from './frame/cpu';
import { NodeHttpHandler, spent, streamCollector } from './frame/in-process-aws';
import { count } from './frame/options';
import { quantile } from './frame/quantile';
import { itemBytes } from './frame/table-units';

const TENANT = tenantIdOf('bench');
const HOUR_MS = 3_600_000;
const RETENTION_MS = 460 * DAY_MS;
/** Sources that are put into the index in one call, like a batch of the ingester. */
const BATCH = 500;
/** Sources of one job, which a look-up of one metric selects. */
const JOB_SOURCES = 1_000;
const ROUNDS = 15;

export const index = bench({
  name: 'index',
  summary: 'the index of series: bytes, write units, memory, look-ups',
  description:
    'Writes the index of series as the ingester does, loads it as the query function does, and looks series up. DynamoDB is a map ' +
    'in this process.',
  options: {
    series: count('series', 1_000_000),
    sources: count('sources, which share the series evenly', 10_000),
    shapes: count('different shapes of sources; with as many as sources, nothing is shared', 100),
    churn: count('further sources that existed only yesterday', 0, 0),
  },
  run: async (options) => measureIndex(options),
});

interface IndexLoad {
  readonly series: number;
  readonly sources: number;
  readonly shapes: number;
  readonly churn: number;
}

async function measureIndex({ series, sources, shapes, churn }: IndexLoad) {
  const perSource = Math.round(series / sources);
  const client = callDirectly(
    new DynamoDBClient({
      region: 'us-east-1',
      credentials: { accessKeyId: 'bench', secretAccessKey: 'bench' },
      requestHandler: new NodeHttpHandler(),
      streamCollector,
    }),
    'dynamodb',
    {
      BatchExecuteStatement: BatchExecuteStatementCommand,
      GetItem: GetItemCommand,
      PutItem: PutItemCommand,
      Query: QueryCommand,
      UpdateItem: UpdateItemCommand,
    },
    () => {},
  );
  const table: Table = { client, name: 'meta' };
  const now = Date.now();
  const today = dayOf(now);

  const writer = new Catalogue(table, RETENTION_MS);
  const written = await write(writer, 0, sources, shapes, perSource, today);
  if (churn > 0) await write(writer, sources, churn, shapes, perSource, dayOf(now - DAY_MS));
  const bytes = await bytesOf(table, today);

  const before = memory();
  const indexes = new TenantIndexes(new Catalogue(table, RETENTION_MS), RETENTION_MS, Date.now);
  const range = { fromMs: Math.max(now - HOUR_MS, Date.parse(`${today}T00:00:00Z`)), toMs: now + 1 };
  const loading = await timed(() => indexes.of(TENANT, range));
  const view: IndexView = { ...loading.result, joined: NOTHING_JOINED };
  const memoryBytes = memory() - before;

  const select = (...matchers: Matcher[]) => bySource(matchesOf(view, matchers), matchers, DEFAULT_LIMITS);
  const last = sources - 1;
  const lookUps: Record<string, () => unknown> = {
    oneSource: () => select(equals('instance', instanceOf(last))),
    oneMetricOf1000Sources: () => select(equals(METRIC_NAME, 'metric_7'), equals('job', jobOf(0))),
    oneMetricByExpression: () =>
      select(equals(METRIC_NAME, 'metric_7'), { label: 'instance', op: '=~', value: '10\\.0\\.[0-3]\\..*' }),
    namesOfMetrics: () => labelValues(view, METRIC_NAME, []),
    instances: () => labelValues(view, 'instance', []),
    instancesOfOneJob: () => labelValues(view, 'instance', [[equals('job', jobOf(0))]]),
    labels: () => labelNames(view, []),
    cardinality: () => cardinality(view, 10),
  };
  const ms: Record<string, { readonly first: number; readonly median: number; readonly cpu: number }> = {};
  for (const [name, run] of Object.entries(lookUps)) {
    const times: number[] = [];
    const cpu = ownCpu();
    for (let round = 0; round < ROUNDS; round++) times.push((await timed(run)).ms);
    ms[name] = {
      first: rounded(times[0]!),
      median: rounded(quantile(times, 0.5)),
      cpu: rounded(cpu() / ROUNDS),
    };
  }
  return {
    series: sources * perSource,
    sources,
    shapes,
    churn,
    entries: bytes.entries,
    bytes: bytes.bytes,
    bytesPerSource: rounded(bytes.bytes / sources),
    writeUnits: written.indexUnits,
    writeUnitsOfLayouts: written.layoutUnits,
    newSeriesPerSecond: Math.round((sources * perSource) / (written.indexMs / 1000)),
    memoryMB: rounded(memoryBytes / 1e6),
    estimatedMB: rounded(view.index.bytes / 1e6),
    loadMs: rounded(loading.ms),
    ms,
  };
}

/** Writes layouts and index entries of sources, numbered from `from` on. */
async function write(
  catalogue: Catalogue,
  from: number,
  sources: number,
  shapes: number,
  perSource: number,
  day: Day,
): Promise<{ readonly indexMs: number; readonly indexUnits: number; readonly layoutUnits: number }> {
  let [indexMs, indexUnits, layoutUnits] = [0, 0, 0];
  for (let first = from; first < from + sources; first += BATCH) {
    const layouts = Array.from({ length: Math.min(BATCH, from + sources - first) }, (_, i) => {
      const number = first + i;
      const { id, packed } = packLayout(layoutOf(seriesOf(number, number % shapes, perSource)).bytes);
      const group = groupIdOf(sourceIdOf(TENANT, sourceOf.labels(targetOf(number))), 0, 0);
      return { id, packed, group, days: [day], firstMs: 0 };
    });
    let units = spent.writeUnits;
    await catalogue.putAll(TENANT, layouts, HOUR_MS);
    layoutUnits += spent.writeUnits - units;
    units = spent.writeUnits;
    indexMs += (await timed(() => catalogue.index.put(TENANT, layouts, HOUR_MS))).ms;
    indexUnits += spent.writeUnits - units;
  }
  return { indexMs, indexUnits, layoutUnits };
}

function instanceOf(source: number): string {
  return `10.${source >> 16}.${(source >> 8) & 255}.${source & 255}:9100`;
}

function jobOf(source: number): string {
  return `job-${Math.floor(source / JOB_SOURCES)}`;
}

function targetOf(source: number): Labels {
  return [
    ['instance', instanceOf(source)],
    ['job', jobOf(source)],
  ];
}

/** Returns a target's series. Half have their own name; the others share names and differ in two labels. */
function seriesOf(source: number, shape: number, count: number): Labels[] {
  const target = targetOf(source);
  return Array.from({ length: count }, (_, i) =>
    i < count / 2
      ? labelsOf([METRIC_NAME, `metric_${i}`], ...target)
      : labelsOf(
          [METRIC_NAME, `device_metric_${i % 10}`],
          ['device', `disk-${shape}-${i >> 2}`],
          ['mode', `mode-${i % 4}`],
          ...target,
        ),
  );
}

async function bytesOf(
  table: Table,
  day: Day,
): Promise<{ readonly entries: number; readonly bytes: number }> {
  let [entries, bytes] = [0, 0];
  for (const period of [day, day.slice(0, 7)])
    for (let bucket = 0; bucket < INDEX_BUCKETS; bucket++) {
      const items = queryAll(table, {
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': { S: metaKeys.index(TENANT, period, bucket) } },
      });
      for await (const item of items) {
        entries++;
        bytes += itemBytes(item as never);
      }
    }
  return { entries, bytes };
}

/** Times work, excluding the stand-in for DynamoDB. */
async function timed<T>(work: () => T | Promise<T>): Promise<{ readonly result: T; readonly ms: number }> {
  const [began, spentMs] = [performance.now(), spent.ms];
  const result = await work();
  return { result, ms: performance.now() - began - (spent.ms - spentMs) };
}

/** Returns the bytes in use after garbage collection. */
function memory(): number {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  // Collect twice, because weak references keep their targets until the second collection.
  collectGarbage();
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function rounded(value: number): number {
  return Number(value.toFixed(2));
}
