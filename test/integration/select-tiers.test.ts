import { DeleteItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { archiveDay } from '../../shared/archive/execute';
import { purgeDay } from '../../shared/archive/purge';
import { PoolTable } from '../../shared/catalogue/pool-table';
import { seriesOf as inCatalogue } from '../../shared/catalogue/source-series';
import { sampleCount } from '../../shared/codec';
import { SeriesDictionary } from '../../shared/dictionary/series-dictionary';
import { flushPartition } from '../../shared/flush/execute';
import { ingestBatch } from '../../shared/ingest/ingest';
import { type Labels, labelsKey, labelsOf, labelValue, sourceOf } from '../../shared/model/labels';
import { equals, isIn, type Matcher, matchersText, seriesTest } from '../../shared/model/matcher';
import { sourceIdOf, tenantIdOf } from '../../shared/model/placement';
import { rebuildIndex } from '../../shared/operations/index-commands';
import { Lifetimes } from '../../shared/operations/lifetimes';
import { parseSettings } from '../../shared/platform/settings';
import { DEFAULT_LIMITS } from '../../shared/query/find-series';
import { sampleColumnsOf } from '../../shared/query/point-joiner';
import { ReadBudget } from '../../shared/query/read-budget';
import { readSeries } from '../../shared/query/read-series';
import { Querier } from '../../shared/query/select';
import { TenantIndexes } from '../../shared/query/tenant-index';
import { Pools } from '../../shared/stream/pools';
import { rowRecords } from '../../shared/stream/row-records';
import { rowOfSeries, sourceRows } from '../support/rows';
import { ARCHIVE_LIMITS, startTiers, type Tiers } from '../support/tiers';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const PARTITIONS = 2;
const tenant = {
  id: tenantIdOf('t'),
  name: 't',
  placement: { epochs: [{ fromDay: '1970-01-01', partitions: PARTITIONS }] },
};
const dictionary = new SeriesDictionary(tenant.id);
const now = Math.floor(Date.now() / HOUR) * HOUR;
/** Ages of the samples, in days: one for a range that is looked up by month, the others for ranges by day. */
const DAYS_BACK = [20, 2, 1, 0];
const quarantine = {
  put: async () => {
    throw new Error('nothing here is poison');
  },
};

/** Sources of one pool. */
const DEVICES = 10;
const SOURCES: readonly { readonly source: Labels; readonly more: Labels }[] = [
  ...['a', 'b', 'c'].map((host) => ({ source: sourceOf.host(host), more: sourceOf.host(host) })),
  ...['i1', 'i2'].map((instance) => {
    const source = labelsOf(['job', 'api'], ['instance', instance]);
    return { source, more: labelsOf(...source, ['zone', 'z1']) };
  }),
  { source: sourceOf.service('shop'), more: sourceOf.service('shop') },
  ...Array.from({ length: DEVICES }, (_, i) => {
    const source = labelsOf(['device', `d${i}`], ['zone', `z${i % 2}`]);
    return { source, more: source };
  }),
];
/**
 * Devices whose first samples arrived under an earlier release, without pools. Their samples are first in their own
 * groups, then in a pool's.
 */
const POSTED_BEFORE = SOURCES.slice(-4).map(({ source }) => labelsKey(source));
const NAMES = ['cpu', 'load', 'up'];
/** Number of samples of the first two posts. */
const MIXED_UNTIL = 2 * 3 * NAMES.length * SOURCES.length;

describe('samples split over memory, warm table and archive', () => {
  let tiers: Tiers;
  let sequence = 0;
  /** The posted value, keyed by the series and the time. */
  const posted = new Map<string, { readonly labels: Labels; readonly values: Map<number, number> }>();

  beforeAll(async () => {
    // Retries would change the number of requests, which one test counts.
    tiers = await startTiers({ hasFreedoms: false });
  });

  afterAll(async () => {
    await tiers?.stop();
  });

  /** Posts values of every series at three minutes of a day; the second time, the values correct those of the first. */
  async function post(daysBack: number): Promise<void> {
    const made = SOURCES.map(({ source, more }) => {
      const rows = Array.from({ length: 3 }, (_, i) => {
        const timestamp = now - daysBack * DAY - i * 60_000;
        const values = new Float64Array(NAMES.length);
        for (const [column, name] of NAMES.entries()) {
          values[column] = ++sequence / 8;
          const labels = labelsOf(['__name__', name], ...more);
          const key = labelsKey(labels);
          if (!posted.has(key)) posted.set(key, { labels, values: new Map() });
          posted.get(key)!.values.set(timestamp, values[column]!);
        }
        const series = NAMES.map((name) => labelsOf(['__name__', name], ...more));
        return { timestamp, series, values: new BigUint64Array(values.buffer) };
      });
      return { source, rows };
    });
    const rowsIn = (dictionary: SeriesDictionary) =>
      made.map(({ source, rows }) => {
        const ofSource = rows.map(({ timestamp, series, values }) =>
          rowOfSeries(dictionary, timestamp, series, values),
        );
        return sourceRows(dictionary, source, ofSource);
      });
    const pooled = rowsIn(dictionary);
    await new Pools(new PoolTable(tiers.meta, 30 * DAY)).assign(pooled);
    const apart = rowsIn(new SeriesDictionary(tenant.id));
    // At first some sources have their own groups, as they may after a restore of the meta table.
    const isApart = (i: number) =>
      sequence < MIXED_UNTIL && POSTED_BEFORE.includes(labelsKey(made[i]!.source));
    const rows = pooled.map((row, i) => (isApart(i) ? apart[i]! : row));
    const batch = rowRecords(tenant, rows).map(({ data }) => ({
      data,
      sequenceNumber: String(++sequence),
      arrivalMs: now + sequence,
      shardId: 's',
    }));
    const { errors } = await ingestBatch({ ...tiers, quarantine, windowMs: HOUR, isReplay: false }, batch);
    if (errors[0] !== undefined) throw errors[0].cause;
  }

  const refs = Array.from({ length: PARTITIONS }, (_, partition) => ({ tenantId: tenant.id, partition }));
  async function flush(): Promise<void> {
    const flusher = { ...tiers, catalogue: tiers.newCatalogue(), windowMs: HOUR };
    for (const ref of refs) await flushPartition(flusher, ref, await tiers.hot.nodes.now(), () => true);
  }
  async function archiveAndPurge(): Promise<void> {
    const archiver = { ...tiers, catalogue: tiers.newCatalogue(), now: Date.now };
    for (const ref of refs)
      for (const entry of await tiers.manifest.days(ref, '1970-01-01', '9999-12-31')) {
        await archiveDay(archiver, ref, entry, ARCHIVE_LIMITS);
        await purgeDay(archiver, ref, entry, 0);
      }
  }

  const RANGES = {
    'the last hour': { fromMs: now - HOUR, toMs: now + 1 },
    'three days': { fromMs: now - 2 * DAY - HOUR, toMs: now + 1 },
    'all of it': { fromMs: 0, toMs: now + DAY },
  };
  const SELECTORS: readonly Matcher[][] = [
    [equals('__name__', 'cpu')],
    [
      { label: '__name__', op: '=~', value: 'l.*|up' },
      { label: 'host', op: '!=', value: 'b' },
    ],
    [equals('device', 'd3')],
    [{ label: 'device', op: '=~', value: 'd[5-8]' }, equals('zone', 'z1')],
    [equals('job', 'api'), { label: 'instance', op: '!~', value: 'i1' }],
    [
      { label: 'zone', op: '=', value: '' },
      { label: 'service', op: '=~', value: '.*' },
    ],
  ];

  /**
   * Compares what is read with what was posted, for every selector and range. The reads of a range share
   * requests.
   */
  async function compare(): Promise<void> {
    const querier = new Querier(tiers, tenant);
    for (const [name, range] of Object.entries(RANGES)) {
      const read = await Promise.all(SELECTORS.map((matchers) => querier.select(matchers, range)));
      for (const [i, matchers] of SELECTORS.entries()) {
        const isMatch = seriesTest(matchers);
        const expected = new Map<string, (readonly [number, number])[]>();
        for (const [key, { labels, values }] of posted) {
          const samples = [...values]
            .filter(([ms]) => ms >= range.fromMs && ms < range.toMs)
            .sort(([a], [b]) => a - b);
          if (isMatch(labels) && samples.length > 0) expected.set(key, samples);
        }
        const { blocks } = read[i]!;
        const found = new Map<string, (readonly [number, number])[]>();
        for (const { labels, timestamps, values } of blocks.flatMap((block) => sampleColumnsOf(block))) {
          if (timestamps.length > 0)
            found.set(
              labelsKey(labels),
              Array.from(timestamps, (ms, i) => [ms, values[i]!] as const),
            );
        }
        expect([name, matchers, new Map([...found].sort())]).toEqual([
          name,
          matchers,
          new Map([...expected].sort()),
        ]);
      }
    }
  }

  test('are found again by an index that was lost and rebuilt from the layouts', async () => {
    for (const daysBack of DAYS_BACK) await post(daysBack);
    const { client, name: TableName } = tiers.meta;
    const { Items } = await client.send(new ScanCommand({ TableName, ProjectionExpression: 'pk, sk' }));
    const entries = Items!.filter(({ pk }) => pk!.S!.startsWith('index#'));
    expect(entries.length).toBeGreaterThan(SOURCES.length);
    for (const { pk, sk } of entries)
      await client.send(new DeleteItemCommand({ TableName, Key: { pk: pk!, sk: sk! } }));

    const { id } = await tiers.tenants.create('t', PARTITIONS);
    expect(id).toBe(tenant.id);
    const catalogue = tiers.newCatalogue();
    const stage = parseSettings({});
    const lifetimes = new Lifetimes(tiers.meta, stage.retention);
    const event = { command: 'index rebuild', tenant: 't', after: null } as const;
    const first = await rebuildIndex(
      { tenants: tiers.tenants, catalogue, stage, lifetimes },
      event,
      () => true,
    );
    // A pool stands for the sources that do not have their own groups.
    const apart = SOURCES.length - DEVICES + POSTED_BEFORE.length;
    expect(first).toEqual({ sources: apart + 1, next: null });
    await compare();
  });

  test('are read as they were posted, whatever tier each is in', async () => {
    await compare();
    await flush();
    await compare();
    await archiveAndPurge();
    await compare();
    // Samples that are only in memory, and corrections in memory of archived samples.
    await post(0);
    await post(1);
    await compare();
    await flush();
    await post(2);
    await compare();
  });

  test('count for one limit, whatever selectors read them: beyond it the reads of the others stop', async () => {
    const querier = new Querier(tiers, tenant);
    const samples = async (name: string, budget?: ReadBudget) => {
      const { blocks } = await querier.select([equals('__name__', name)], RANGES['all of it'], {
        ...(budget && { budget }),
      });
      return blocks.reduce((sum, { block }) => sum + sampleCount(block), 0);
    };
    const [cpu, load] = [await samples('cpu'), await samples('load')];
    expect(Math.min(cpu, load)).toBeGreaterThan(0);
    const enough = new ReadBudget({ ...DEFAULT_LIMITS, samples: cpu + load });
    expect(await Promise.all([samples('cpu', enough), samples('load', enough)])).toEqual([cpu, load]);

    const tooFew = new ReadBudget({ ...DEFAULT_LIMITS, samples: cpu + load - 1 });
    const reads = await Promise.allSettled(['cpu', 'load'].map((name) => samples(name, tooFew)));
    const reason = expect.objectContaining({ limit: 'samples' });
    expect(reads).toContainEqual({ status: 'rejected', reason });
    expect(tooFew.signal.aborted).toBe(true);
    // Selections that have their own budgets share reads. Nevertheless, one may fail alone.
    const apart = [{ ...DEFAULT_LIMITS, samples: cpu - 1 }, DEFAULT_LIMITS].map(
      (limits) => new ReadBudget(limits),
    );
    expect(await Promise.allSettled([samples('cpu', apart[0]), samples('load', apart[1])])).toEqual([
      { status: 'rejected', reason },
      { status: 'fulfilled', value: load },
    ]);
    // The error of each selection names the selection's own selector, even if all selections fail.
    const none = ['cpu', 'load'].map((name) =>
      samples(name, new ReadBudget({ ...DEFAULT_LIMITS, samples: 1 })),
    );
    expect(await Promise.allSettled(none)).toMatchObject(
      ['cpu', 'load'].map((name) => ({
        reason: { message: expect.stringContaining(`{__name__="${name}"} selects an estimated`) },
      })),
    );
    // Reads that begin now fail with the first error.
    await expect(samples('up', tooFew)).rejects.toBe(tooFew.signal.reason);
    const fewSeries = new ReadBudget({ ...DEFAULT_LIMITS, series: 2 * SOURCES.length - 1 });
    await expect(Promise.all([samples('cpu', fewSeries), samples('load', fewSeries)])).rejects.toMatchObject({
      limit: 'series',
    });
  });

  test('of known series are refused with the source and the names that were asked for', async () => {
    const { source } = SOURCES[0]!;
    const known = await tiers.catalogue.source(tenant.id, sourceIdOf(tenant.id, source));
    const [series] = inCatalogue(known);
    const budget = new ReadBudget({ ...DEFAULT_LIMITS, samples: 1 });
    const reading = readSeries(tiers, tenant, { source, series: [series!], known }, RANGES['all of it'], {
      budget,
    });
    const name = isIn('__name__', [labelValue(series!, '__name__')!]);
    const asked = matchersText([...source.map(([label, value]) => equals(label, value)), name]);
    await expect(reading).rejects.toThrow(`${asked} selects an estimated`);
  });

  test('are read without asking for each source again, until one changes', async () => {
    // Neither this index nor the labels of hosts age while a slow machine reads.
    const indexes = new TenantIndexes(tiers.newCatalogue(), 460 * DAY, () => now);
    const names = tiers.hostLabels.of(tenant.id);
    const querier = new Querier({ ...tiers, indexes, hostLabels: { of: () => names } }, tenant);
    const range = { fromMs: now - HOUR, toMs: now + 1 };
    const read = async () => {
      const before = tiers.calls();
      const { blocks } = await querier.select([equals('__name__', 'cpu')], range);
      const hosts = blocks.filter(({ block }) => block.timestamps.length > 0).length;
      return { hosts, calls: tiers.calls() - before };
    };
    // An hour that no flush has touched is only in memory.
    await tiers.redis.flushall();
    for (const ref of refs) await tiers.hot.marks.takeOver(ref, await tiers.hot.marks.read(ref));
    await post(0);
    await read();
    // One request, for the list of changes, and none for the index or a source.
    expect(await read()).toEqual({ hosts: SOURCES.length, calls: 1 });

    const [{ source }] = SOURCES as [(typeof SOURCES)[number]];
    await tiers
      .newCatalogue()
      .deletions.put({ tenantId: tenant.id, partition: 0 }, sourceIdOf(tenant.id, source), {
        selector: { name: 'cpu', isPrefix: false },
        ...range,
        version: { arrivalMs: now + 2 * DAY, sequence: 2n ** 100n },
      });
    // Another request, for the changed source alone.
    expect(await read()).toEqual({ hosts: SOURCES.length - 1, calls: 2 });
    expect(await read()).toEqual({ hosts: SOURCES.length - 1, calls: 1 });
  });
});
