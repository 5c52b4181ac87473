/**
 * PromQL over rollups. Answers equal those from samples, whatever happened to the samples. Answers may be coarser as
 * far as max_source_resolution allows. Queries that are too large are refused before anything is read.
 */
import { Random } from '../../scripts/faults/random';
import { archiveDay } from '../../shared/archive/execute';
import { rollUpPartitions } from '../../shared/archive/rollup';
import { RollupDirectory } from '../../shared/cold/rollup-directory';
import { SeriesDictionary } from '../../shared/dictionary/series-dictionary';
import { flushPartition } from '../../shared/flush/execute';
import { ingestBatch } from '../../shared/ingest/ingest';
import { ALL_NAMES } from '../../shared/model/deletion';
import {
  type Labels,
  labelsKey,
  labelsOf,
  labelValue,
  METRIC_NAME,
  metricOf,
  sourceOf,
} from '../../shared/model/labels';
import { tenantIdOf } from '../../shared/model/placement';
import { MemorySampleStore } from '../../shared/promql/memory-store';
import { bitsOf } from '../../shared/promql/overlay-store';
import { type QueryOptions, type QueryResult, rangeQuery } from '../../shared/promql/query';
import type { SampleStore } from '../../shared/promql/store';
import { rowsOf } from '../../shared/protocol/mackerel/json';
import { ReadBudget } from '../../shared/query/read-budget';
import { Querier } from '../../shared/query/select';
import { TierSamples } from '../../shared/query/tier-samples';
import { deletionRecords } from '../../shared/stream/deletion-records';
import { rowRecords } from '../../shared/stream/row-records';
import { IS_LONG } from '../support/long';
import { anyQuery, anySamples, expectSame } from '../support/rolled-queries';
import { rowOfSeries, sourceRows } from '../support/rows';
import { SEED } from '../support/seed';
import { ARCHIVE_LIMITS, startTiers, type Tiers } from '../support/tiers';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const RETENTION_MS = 460 * DAY;
const midnight = Math.floor(Date.now() / DAY) * DAY;
/** Days of the samples. The last one stays in memory. */
const [FROM, TO] = [midnight - 6 * DAY, midnight];
const HOSTS = ['h', 'i'];
const SERIES = 2;
const tenant = {
  id: tenantIdOf('t'),
  name: 't',
  placement: { epochs: [{ fromDay: '1970-01-01', partitions: 1 }] },
};
const ref = { tenantId: tenant.id, partition: 0 };
const quarantine = {
  put: async () => {
    throw new Error('nothing here is poison');
  },
};
const limits = { maxSeries: 100, maxSamples: 1_000_000, maxValues: 1_000_000 };
/** Number of queries in each state of the tiers. */
const QUERIES = IS_LONG ? 500 : 15;
const exact: QueryOptions = { limits, isLate: () => false };
const widened: QueryOptions = {
  ...exact,
  rollups: { grainsMs: [], widenedMs: HOUR, leastRangeMs: 3 * DAY },
};
const range = { startMs: FROM, endMs: TO, stepMs: HOUR };

describe('PromQL over rollups', () => {
  let tiers: Tiers;
  let rollups: RollupDirectory;
  const memory = new MemorySampleStore();

  beforeAll(async () => {
    tiers = await startTiers();
    rollups = new RollupDirectory(tiers.meta, RETENTION_MS);
    const dictionary = new SeriesDictionary(tenant.id);
    let sequence = 0;
    const post = async (fromMs: number, toMs: number) => {
      for (const [i, host] of HOSTS.entries()) {
        const source = sourceOf.host(host);
        const rows = new Map<number, Map<string, number>>();
        // No sample lies on the edge of a grain, and the second host has none on one day.
        for (let ms = fromMs + 7 * MINUTE; ms < toMs; ms += 10 * MINUTE) {
          if (i === 1 && ms < FROM + 3 * DAY && ms > FROM + 2 * DAY) continue;
          const values = new Map(
            Array.from({ length: SERIES }, (_, n) => [`m${n}`, (ms / MINUTE) * (n + 1)] as const),
          );
          rows.set(ms, values);
          for (const [name, value] of values) memory.add(metricOf(source, name), ms, value);
        }
        const [record] = rowRecords(tenant, [rowsOf(dictionary, source, rows)]);
        const delivered = { data: record!.data, sequenceNumber: String(++sequence), arrivalMs: midnight };
        const { errors } = await ingestBatch({ ...tiers, quarantine, windowMs: HOUR, isReplay: false }, [
          { ...delivered, shardId: 's' },
        ]);
        if (errors[0] !== undefined) throw errors[0].cause;
      }
    };
    await post(FROM, TO - DAY);
    await flushPartition({ ...tiers, windowMs: HOUR }, ref, await tiers.hot.nodes.now(), () => true);
    for (const entry of await tiers.manifest.days(ref, '1970-01-01', '9999-12-31'))
      await archiveDay({ ...tiers, now: Date.now }, ref, entry, ARCHIVE_LIMITS);
    await rollUpPartitions({ ...tiers, rollups }, [ref], {
      hasTime: () => true,
      onFailure: (_, __, error) => {
        throw error;
      },
    });
    await post(TO - DAY, TO);
  });

  afterAll(async () => {
    await tiers?.stop();
  });

  function storeOf(samples: number): TierSamples {
    const querier = new Querier({ ...tiers, rollups }, tenant);
    const budget = new ReadBudget({ series: 100, sources: 10, samples });
    return new TierSamples(querier, RETENTION_MS, Date.now(), budget, '; or otherwise');
  }

  async function textsOf(store: SampleStore, query: string, options: QueryOptions): Promise<string[]> {
    const { value }: QueryResult = await rangeQuery(store, query, range, options);
    if (!('series' in value)) throw new Error(value.type);
    return value.series.map(
      ({ labels, timestamps, values }) =>
        `${JSON.stringify(labels)} ${Array.from(timestamps, (ms, i) => `${ms}:${values[i]!.toPrecision(12)}`).join(' ')}`,
    );
  }

  test.each([
    'avg_over_time(m0[1h])',
    'sum by (host) (min_over_time(m1[6h]))',
    'max_over_time(m1{host="i"}[2h]) - min_over_time(m1[2h])',
    'count_over_time(m0[1d])',
    'sum(first_over_time(m0[3h])) / sum(last_over_time(m0[3h]))',
    'sum_over_time(m1[1h] offset 1d)',
  ])('%s comes from hours, and is what samples give', async (query) => {
    const readListed = jest.spyOn(tiers.cold, 'readListed');
    const store = storeOf(1_000_000);
    const found = await textsOf(store, query, widened);
    expect(readListed).not.toHaveBeenCalled();
    readListed.mockRestore();
    expect(store.results.some(({ tiers }) => tiers.cold.samples > 0)).toBe(true);
    expect(found).toEqual(await textsOf(memory, query, exact));
  });

  test('a query of too many samples is refused before the archive is read, and its hours are answered', async () => {
    const readListed = jest.spyOn(tiers.cold, 'readListed');
    const query = `count(last_over_time({${METRIC_NAME}="m0",host="h"}[1h]))`;
    // The query covers five archived days of 144 samples, without the sample at the excluded start of the range.
    await expect(textsOf(storeOf(500), query, exact)).rejects.toThrow(
      /selects an estimated 7[12]\d samples or more, and at most 500 may be read; .*querySamples\); or otherwise$/,
    );
    expect(readListed).not.toHaveBeenCalled();
    readListed.mockRestore();
    expect(await textsOf(storeOf(500), query, widened)).toEqual(await textsOf(memory, query, exact));
    // Memory has a sixth day of 144 samples.
    await expect(textsOf(storeOf(100), query, widened)).rejects.toThrow('an estimated 144 samples or more');
  });

  test('a query whose values do not fit reads two parts of its range, and each part may read the limit of samples', async () => {
    // Two hosts at 145 steps are 290 values.
    const query = 'sum(last_over_time(m0[1h]))';
    const inParts = { ...widened, limits: { ...limits, maxValues: 225 } };
    const manifestDays = jest.spyOn(tiers.manifest, 'days');
    const whole = await textsOf(storeOf(1_000_000), query, widened);
    const ofWhole = manifestDays.mock.calls.length;
    const store = storeOf(900);
    expect(await textsOf(store, query, inParts)).toEqual(whole);
    // The read that was refused asked for nothing beyond the index.
    expect(manifestDays).toHaveBeenCalledTimes(3 * ofWhole);
    manifestDays.mockRestore();
    expect(store.results).toHaveLength(2);
    const samples = store.results.map(
      ({ tiers: { hot, warm, cold } }) => hot.samples + warm.samples + cold.samples,
    );
    expect(samples[0]! + samples[1]!).toBeGreaterThan(900);
  });
});

describe(`PromQL over rollups of changing samples (SEED=${SEED})`, () => {
  const random = new Random(SEED);
  const sources = ['h', 'i', 'j'].map((host) => sourceOf.host(host));
  const onRollups: QueryOptions = { ...exact, rollups: { grainsMs: [HOUR, DAY], leastRangeMs: DAY } };
  const dictionary = new SeriesDictionary(tenant.id);
  /** Bits of the samples from which every answer must be computed, by series and time. */
  const samples = new Map<string, { readonly labels: Labels; readonly bits: Map<number, bigint> }>();
  let tiers: Tiers;
  let rollups: RollupDirectory;
  let sequence = 0;

  beforeAll(async () => {
    tiers = await startTiers();
    rollups = new RollupDirectory(tiers.meta, RETENTION_MS);
  });

  afterAll(async () => {
    await tiers?.stop();
  });

  async function ingest(records: readonly { readonly data: Uint8Array }[]): Promise<void> {
    const batch = records.map(({ data }) => ({
      data: Buffer.from(data),
      sequenceNumber: String(++sequence),
      arrivalMs: midnight,
      shardId: 's',
    }));
    const { errors } = await ingestBatch({ ...tiers, quarantine, windowMs: HOUR, isReplay: false }, batch);
    if (errors[0] !== undefined) throw errors[0].cause;
  }

  /** Posts two series of each source. */
  async function post(fromMs: number, toMs: number): Promise<void> {
    for (const source of sources) {
      const rows = new Map<number, (readonly [Labels, bigint])[]>();
      for (const n of ['0', '1']) {
        const labels = labelsOf(['__name__', 'x'], ['n', n], ...source);
        const own = samples.get(labelsKey(labels)) ?? { labels, bits: new Map<number, bigint>() };
        samples.set(labelsKey(labels), own);
        for (const [ms, value] of anySamples(random, fromMs, toMs, 20 * MINUTE)) {
          const bits = typeof value === 'bigint' ? value : bitsOf(Float64Array.of(value))[0]!;
          own.bits.set(ms, bits);
          rows.set(ms, [...(rows.get(ms) ?? []), [labels, bits]]);
        }
      }
      const ofSource = [...rows].map(([ms, cells]) =>
        rowOfSeries(
          dictionary,
          ms,
          cells.map(([labels]) => labels),
          BigUint64Array.from(cells, ([, bits]) => bits),
        ),
      );
      await ingest(rowRecords(tenant, [sourceRows(dictionary, source, ofSource)]));
    }
  }

  async function erase(source: Labels, fromMs: number, toMs: number): Promise<void> {
    await ingest(deletionRecords(tenant, source, { selector: ALL_NAMES, fromMs, toMs }));
    for (const { labels, bits } of samples.values())
      if (labelValue(labels, 'host') === labelValue(source, 'host'))
        for (const ms of [...bits.keys()]) if (ms >= fromMs && ms < toMs) bits.delete(ms);
  }

  async function archive(): Promise<void> {
    await flushPartition({ ...tiers, windowMs: HOUR }, ref, await tiers.hot.nodes.now(), () => true);
    for (const entry of await tiers.manifest.days(ref, '1970-01-01', '9999-12-31'))
      await archiveDay({ ...tiers, now: Date.now }, ref, entry, ARCHIVE_LIMITS);
  }

  async function rollUp(): Promise<void> {
    let left = 1;
    for (let attempt = 0; left > 0 && attempt < 20; attempt++)
      ({ left } = await rollUpPartitions({ ...tiers, rollups }, [ref], {
        hasTime: () => true,
        onFailure: (_, __, error) => {
          throw error;
        },
      }));
    expect(left).toBe(0);
  }

  /** Compares answers with those of the samples. @returns the share of queries that read rollups */
  async function compare(): Promise<number> {
    const memory = new MemorySampleStore();
    for (const { labels, bits } of samples.values())
      for (const [ms, value] of [...bits].sort(([a], [b]) => a - b)) memory.add(labels, ms, value);
    let rolled = 0;
    for (let i = 0; i < QUERIES; i++) {
      const querier = new Querier({ ...tiers, catalogue: tiers.newCatalogue(), rollups }, tenant);
      const budget = new ReadBudget({ series: 1000, sources: 100, samples: 1_000_000 });
      const store = new TierSamples(querier, RETENTION_MS, Date.now(), budget);
      const query = anyQuery(random, (FROM + 2 * DAY) / 1000);
      const startMs = FROM + DAY + random.pick([0, 0, HOUR, MINUTE]);
      const range = { startMs, endMs: startMs + 4 * DAY, stepMs: random.pick([HOUR, 6 * HOUR, DAY]) };
      const found = await rangeQuery(store, query, range, onRollups);
      if (store.results.some(({ rollupDays }) => rollupDays > 0)) rolled++;
      expectSame({ i, query, ...range }, found, await rangeQuery(memory, query, range, exact));
    }
    return rolled / QUERIES;
  }

  test('is answered as over the samples, after late data, corrections and deletions', async () => {
    await post(FROM, TO - DAY);
    await archive();
    await rollUp();
    await post(TO - DAY, TO);
    expect(await compare()).toBeGreaterThan(0);
    // Late samples and corrections lie in memory, then in the warm table, then in the archive.
    const [early, late] = [FROM + 2 * DAY, FROM + 3 * DAY];
    await post(early, late);
    await compare();
    await flushPartition({ ...tiers, windowMs: HOUR }, ref, await tiers.hot.nodes.now(), () => true);
    await compare();
    await erase(sources[0]!, early + 5 * HOUR, late + 5 * HOUR);
    await erase(sources[1]!, FROM + 3 * DAY, FROM + 3 * DAY + 1);
    await compare();
    await archive();
    await compare();
    await rollUp();
    expect(await compare()).toBeGreaterThan(0);
  });
});
