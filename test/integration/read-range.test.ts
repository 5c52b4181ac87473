import { physicalName } from '../../scripts/local/template';
import { archiveDay } from '../../shared/archive/execute';
import { purgeDay } from '../../shared/archive/purge';
import { seriesOf } from '../../shared/catalogue/source-series';
import { sampleCount } from '../../shared/codec';
import { SeriesDictionary } from '../../shared/dictionary/series-dictionary';
import { flushPartition } from '../../shared/flush/execute';
import { ingestBatch } from '../../shared/ingest/ingest';
import { ALL_TIME } from '../../shared/model/deletion';
import { type Labels, labelsOf, labelValue, metricOf, sourceOf } from '../../shared/model/labels';
import { equals, isIn } from '../../shared/model/matcher';
import { sourceIdOf, tenantIdOf } from '../../shared/model/placement';
import type { TimeRange } from '../../shared/model/selection';
import { rowsOf } from '../../shared/protocol/mackerel/json';
import { withJoined } from '../../shared/query/find-series';
import { clampRange } from '../../shared/query/plan';
import { readSeries } from '../../shared/query/read-series';
import { Querier } from '../../shared/query/select';
import { rowRecords } from '../../shared/stream/row-records';
import { WarmTier } from '../../shared/warm/warm-tier';
import { rowOfSeries, sourceRows } from '../support/rows';
import { ARCHIVE_LIMITS, startTiers, type Tiers } from '../support/tiers';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const RETENTION = 460 * DAY;
const DAYS = 30;
const tenant = {
  id: tenantIdOf('t'),
  name: 't',
  placement: { epochs: [{ fromDay: '1970-01-01', partitions: 1 }] },
};
const dictionary = new SeriesDictionary(tenant.id);
const ref = { tenantId: tenant.id, partition: 0 };
const now = Math.floor(Date.now() / HOUR) * HOUR;
const quarantine = {
  put: async () => {
    throw new Error('nothing here is poison');
  },
};

describe('what a read costs', () => {
  let tiers: Tiers;
  let arrivals = 0;

  beforeAll(async () => {
    // Retries would change the number of requests, which these tests count.
    tiers = await startTiers({ hasFreedoms: false });
    await post(
      'old',
      Array.from({ length: DAYS }, (_, day) => now - (day + 2) * DAY),
    );
    await post('young', [now - HOUR]);
    // The flusher and the archiver have separate instances, as deployed. One stores the layouts again, the other reads
    // them.
    const flusher = { ...tiers, catalogue: tiers.newCatalogue(), windowMs: HOUR };
    const archiver = { ...tiers, catalogue: tiers.newCatalogue(), now: Date.now };
    await flushPartition(flusher, ref, await tiers.hot.nodes.now(), () => true);
    for (const entry of await tiers.manifest.days(ref, '1970-01-01', '9999-12-31')) {
      await archiveDay(archiver, ref, entry, ARCHIVE_LIMITS);
      await purgeDay(archiver, ref, entry, 0);
    }
    await post('young', [now]);
    // A reader reads the gaps once. This request is counted in none of the tests.
    await tiers.gaps.missingSince([], { fromMs: 0, toMs: 1 });
  });

  afterAll(async () => {
    await tiers?.stop();
  });

  async function post(host: string, times: readonly number[]): Promise<void> {
    const points = new Map(times.map((at) => [at, new Map([['m', 1]])]));
    const batch = rowRecords(tenant, [rowsOf(dictionary, sourceOf.host(host), points)]).map(({ data }) => ({
      data,
      sequenceNumber: String(arrivals++),
      arrivalMs: now + arrivals,
      shardId: 's',
    }));
    const { errors } = await ingestBatch({ ...tiers, quarantine, windowMs: HOUR, isReplay: false }, batch);
    if (errors[0] !== undefined) throw errors[0].cause;
  }

  /**
   * Counts the samples that a read returns, and the requests to DynamoDB and S3 that a reader without cached warm items
   * makes.
   */
  async function read(host: string, range: TimeRange): Promise<{ samples: number; calls: number }> {
    const source = sourceOf.host(host);
    const before = tiers.calls();
    const known = await tiers.catalogue.source(tenant.id, sourceIdOf(tenant.id, source));
    const clamped = clampRange(range, Date.now(), RETENTION);
    const warm = new WarmTier({ client: tiers.meta.client, name: physicalName('Warm') }, RETENTION);
    const reader = { ...tiers, warm };
    const { block } = await readSeries(
      reader,
      tenant,
      { source, series: [metricOf(source, 'm')], known },
      clamped,
    );
    return { samples: block.timestamps.length, calls: tiers.calls() - before };
  }

  test('from 0 costs as much as one from the first sample on, however long other sources have posted', async () => {
    const exact = await read('young', { fromMs: now - HOUR, toMs: now + 1 });
    expect(exact.samples).toBe(2);
    expect(await read('young', { fromMs: 0, toMs: now + 1 })).toEqual(exact);
    // There is one request each for catalogue and manifest. For each day that the range may touch, there is a query of
    // the warm table and a request for an object.
    expect(exact.calls).toBeLessThanOrEqual(10);
  });

  test('of all samples costs in proportion to the days that have data', async () => {
    const whole = await read('old', { fromMs: 0, toMs: now });
    expect(whole.samples).toBe(DAYS);
    expect(await read('old', { fromMs: now - (DAYS + 1) * DAY, toMs: now })).toEqual(whole);
    // One object for each day, and nothing from DynamoDB, because a day that is archived completely is nowhere else.
    expect(whole.calls).toBeLessThanOrEqual(DAYS + 10);
  });

  test('before the first sample, and beyond the calendar, is next to nothing', async () => {
    for (const range of [
      { fromMs: 0, toMs: 1 },
      { fromMs: now - 400 * DAY, toMs: now - 300 * DAY },
      { fromMs: Number.MAX_SAFE_INTEGER - 1, toMs: Number.MAX_SAFE_INTEGER },
      { fromMs: -Number.MAX_SAFE_INTEGER, toMs: -Number.MAX_SAFE_INTEGER + 1 },
    ]) {
      const { samples, calls } = await read('old', range);
      expect(samples).toBe(0);
      expect(calls).toBeLessThanOrEqual(4);
    }
  });

  test('of a range that memory has whole asks memory alone, until a part of it has left', async () => {
    const range = { fromMs: now, toMs: now + HOUR };
    const alone = { samples: 1, calls: 1 };
    expect(await read('young', range)).toEqual(alone);
    const flusher = { ...tiers, windowMs: HOUR };
    // Once a window is leased, the flusher may have written it. The flusher may then die, and the frames may expire.
    const [lease] = await tiers.hot.mover.lease(ref, await tiers.hot.nodes.now(), 1, 0);
    expect(lease!.windowStart).toBe(now);
    expect((await read('young', range)).calls).toBeGreaterThan(1);
    await flushPartition(flusher, ref, await tiers.hot.nodes.now(), () => true);
    await post('young', [now + 1]);
    const moved = await read('young', range);
    expect(moved.samples).toBe(2);
    expect(moved.calls).toBeGreaterThan(1);
    // Post to another window, from which nothing has left memory yet.
    await post('young', [now - 2 * HOUR]);
    const other = { fromMs: now - 2 * HOUR, toMs: now - HOUR };
    expect(await read('young', other)).toEqual(alone);
    // After a loss, everything that existed by then may have left memory.
    await tiers.hot.marks.mark(ref, await tiers.hot.marks.read(ref), 'a loss');
    const later = await read('young', other);
    expect(later.samples).toBe(1);
    expect(later.calls).toBeGreaterThan(1);
  });

  test('reaches back when data comes that is older than what was first', async () => {
    await post('young', [now - 20 * DAY]);
    expect((await read('young', { fromMs: 0, toMs: now + 1 })).samples).toBe(4);
  });
});

describe('selecting series by matchers', () => {
  let tiers: Tiers;
  const web = (...labels: [string, string][]) => labelsOf(['host', 'web'], ...labels);

  beforeAll(async () => {
    // Retries would change the number of requests, which these tests count.
    tiers = await startTiers({ hasFreedoms: false });
    const rowOf = (...labelSets: Labels[]) => {
      const series = labelSets.flatMap((labels) =>
        ['idle', 'load'].map((name) => labelsOf(['__name__', name], ...labels)),
      );
      return rowOfSeries(dictionary, now, series, new BigUint64Array(series.length));
    };
    const registered = await tiers.hosts.create(
      tenant.id,
      { name: 'cache1', displayName: null, customIdentifier: null, memo: '', meta: {}, interfaces: [] },
      await tiers.services.ensure(tenant.id, 'shop', ['cache']),
    );
    const sources: [Labels, Labels[]][] = [
      [sourceOf.host('web'), [web(['cpu', '0']), web(['cpu', '1']), web()]],
      [sourceOf.host(registered.id), [sourceOf.host(registered.id)]],
      [
        labelsOf(['job', 'api'], ['instance', 'i1']),
        [labelsOf(['job', 'api'], ['instance', 'i1'], ['cpu', '0'])],
      ],
      [sourceOf.service('shop'), [sourceOf.service('shop')]],
    ];
    const rows = sources.map(([source, labelSets]) => sourceRows(dictionary, source, [rowOf(...labelSets)]));
    const batch = rowRecords(tenant, rows).map(({ data }, i) => ({
      data,
      sequenceNumber: String(i),
      arrivalMs: now,
      shardId: 's',
    }));
    const { errors } = await ingestBatch({ ...tiers, quarantine, windowMs: HOUR, isReplay: false }, batch);
    if (errors[0] !== undefined) throw errors[0].cause;
  });

  afterAll(async () => {
    await tiers?.stop();
  });

  test.each([
    { name: 'a host alone: all its series', matchers: [equals('host', 'web')], series: 6 },
    {
      name: 'a name: series of whatever further labels',
      matchers: [equals('host', 'web'), equals('__name__', 'idle')],
      series: 3,
    },
    {
      name: 'names, one of which does not exist',
      matchers: [equals('host', 'web'), equals('cpu', '0'), isIn('__name__', ['idle', 'load', 'other'])],
      series: 2,
    },
    {
      name: 'a label that a series must not have',
      matchers: [equals('host', 'web'), equals('cpu', ''), equals('__name__', 'load')],
      series: 1,
    },
    { name: 'another host', matchers: [equals('host', 'db')], series: 0 },
    { name: 'a name, of all sources', matchers: [equals('__name__', 'load')], series: 6 },
    {
      name: 'an expression and a label, over sources',
      matchers: [{ label: '__name__', op: '=~', value: 'id.*' } as const, equals('cpu', '0')],
      series: 2,
    },
    { name: "a registered host's name", matchers: [equals('hostname', 'cache1')], series: 2 },
    {
      name: "a service, which a host's roles name and a service's own series have",
      matchers: [equals('service', 'shop'), equals('__name__', 'load')],
      series: 2,
    },
    { name: 'a role that no host has', matchers: [equals('role', 'db')], series: 0 },
  ])('$name', async ({ matchers, series }) => {
    const range = { fromMs: now, toMs: now + 1 };
    const { blocks } = await new Querier(tiers, tenant).select(matchers, range);
    expect(blocks.flatMap(({ layout }) => layout.series)).toHaveLength(series);
    expect(blocks.reduce((sum, { block }) => sum + sampleCount(block), 0)).toBe(series);
  });

  test('adds the name, service and role of the host to the stored labels', async () => {
    const { blocks } = await new Querier(tiers, tenant).select([equals('role', 'cache')], {
      fromMs: now,
      toMs: now + 1,
    });
    expect(
      blocks.map(({ layout, joined }) => layout.series.map((labels) => withJoined(labels, joined))),
    ).toEqual([
      ['idle', 'load'].map((name) => [
        ['__name__', name],
        ['host', expect.any(String)],
        ['hostname', 'cache1'],
        ['role', 'cache'],
        ['service', 'shop'],
      ]),
    ]);
  });

  test('begins with what the catalogue last had, and gives what it has now', async () => {
    const source = sourceOf.host('begun');
    let sequence = 1000;
    const post = async (name: string, value: number) => {
      const rows = rowsOf(dictionary, source, new Map([[now, new Map([[name, value]])]]));
      const batch = rowRecords(tenant, [rows]).map(({ data }) => ({
        data,
        sequenceNumber: String(sequence++),
        arrivalMs: now,
        shardId: 's',
      }));
      const { errors } = await ingestBatch({ ...tiers, quarantine, windowMs: HOUR, isReplay: false }, batch);
      if (errors[0] !== undefined) throw errors[0].cause;
    };
    const read = async () => {
      const range = { fromMs: now, toMs: now + 1 };
      const known = await tiers.catalogue.source(tenant.id, sourceIdOf(tenant.id, source));
      const series = seriesOf(known);
      if (series.length === 0) return [];
      const { block } = await readSeries(tiers, tenant, { source, series, known }, range);
      return series.map((labels, i) => [labelValue(labels, '__name__'), ...block.columns[i]!.values]);
    };
    expect(await read()).toEqual([]);
    await post('a', 1);
    expect(await read()).toEqual([['a', 1]]);
    await post('a', 2);
    expect(await read()).toEqual([['a', 2]]);
    await post('b', 3);
    expect(await read()).toEqual([
      ['a', 2],
      ['b', 3],
    ]);
    const version = { arrivalMs: now, sequence: BigInt(sequence++) };
    const selector = { name: 'a', isPrefix: false };
    const sourceId = sourceIdOf(tenant.id, source);
    await tiers.catalogue.deletions.put({ tenantId: tenant.id, partition: 0 }, sourceId, {
      ...ALL_TIME,
      selector,
      version,
    });
    expect(await read()).toEqual([['a'], ['b', 3]]);
    // One request, for the catalogue; the samples come from memory.
    const before = tiers.calls();
    await read();
    expect(tiers.calls() - before).toBe(1);
  });
});
