import { Random } from '../../scripts/faults/random';
import { physicalName } from '../../scripts/local/template';
import { archiveDay } from '../../shared/archive/execute';
import { purgeDay } from '../../shared/archive/purge';
import { SeriesDictionary } from '../../shared/dictionary/series-dictionary';
import { flushPartition } from '../../shared/flush/execute';
import { HotTier } from '../../shared/hot/hot-tier';
import { ingestBatch } from '../../shared/ingest/ingest';
import { ALL_NAMES } from '../../shared/model/deletion';
import { type Labels, labelsKey, sourceOf } from '../../shared/model/labels';
import type { Matcher } from '../../shared/model/matcher';
import { sourceIdOf, tenantIdOf } from '../../shared/model/placement';
import type { TimeRange } from '../../shared/model/selection';
import { MemorySampleStore } from '../../shared/promql/memory-store';
import { instantQuery, type QueryOptions, type QueryResult, rangeQuery } from '../../shared/promql/query';
import type { SampleStore } from '../../shared/promql/store';
import { ReadBudget } from '../../shared/query/read-budget';
import { Querier, type SelectDependencies } from '../../shared/query/select';
import { SelectionCache } from '../../shared/query/selection-cache';
import { SourceDeletions } from '../../shared/query/source-deletions';
import { TierSamples } from '../../shared/query/tier-samples';
import { rowRecords } from '../../shared/stream/row-records';
import { WarmTier } from '../../shared/warm/warm-tier';
import { IS_LONG } from '../support/long';
import { PromqlExpressions } from '../support/promql-expressions';
import { randomSamples } from '../support/random-samples';
import { rowOfSeries, sourceRows } from '../support/rows';
import { SEED } from '../support/seed';
import { ARCHIVE_LIMITS, startTiers, type Tiers } from '../support/tiers';

/** Number of expressions in each state of the tiers. */
const EXPRESSIONS = IS_LONG ? 1_000 : 10;
/** Rounds of corrections, deletions and flushes. */
const ROUNDS = EXPRESSIONS;
const WINDOW_MS = 600_000;
const PARTITIONS = 2;
const RETENTION_MS = 460 * 86_400_000;
const tenant = {
  id: tenantIdOf('t'),
  name: 't',
  placement: { epochs: [{ fromDay: '1970-01-01', partitions: PARTITIONS }] },
};
const dictionary = new SeriesDictionary(tenant.id);
const refs = Array.from({ length: PARTITIONS }, (_, partition) => ({ tenantId: tenant.id, partition }));
const quarantine = {
  put: async () => {
    throw new Error('nothing here is poison');
  },
};
const options: QueryOptions = {
  limits: { maxSeries: 10_000, maxSamples: 10_000_000, maxValues: 10_000_000 },
  isLate: () => false,
};

/**
 * A store that returns series in the order of their labels. The order decides ties, the last digits of sums,
 * and which series an error names.
 */
function ordered(store: SampleStore): SampleStore {
  return {
    select: async (matchers, range) => {
      const { series, warnings } = await store.select(matchers, range);
      const full = series.filter(({ timestamps }) => timestamps.length > 0);
      return { series: full.sort((a, b) => (labelsKey(a.labels) < labelsKey(b.labels) ? -1 : 1)), warnings };
    },
  };
}

function plain(answer: QueryResult | Error): unknown {
  if (answer instanceof Error) return answer.message;
  const { value, warnings } = answer;
  if (value.type === 'string') return value.value;
  if (value.type === 'scalar') return [...value.values];
  return [
    warnings,
    value.series.map(({ labels, timestamps, values }) => [labels, [...timestamps], [...values]]),
  ];
}

describe(`PromQL over samples in all tiers (SEED=${SEED})`, () => {
  let tiers: Tiers;
  let sequence = 0;
  const random = new Random(SEED).next;
  /** Half an hour of samples, three windows, all on one day. */
  const startMs = Math.floor(Date.now() / 86_400_000) * 86_400_000 - 12 * 3_600_000;
  const oracle = randomSamples(random, startMs);
  const expressions = new PromqlExpressions(random, [startMs / 1000 + 600, startMs / 1000 + 1000], true);

  beforeAll(async () => {
    tiers = await startTiers();
  });

  afterAll(async () => {
    await tiers?.stop();
  });

  /** Posts the samples of `[fromMs, toMs)`, a row for each source and time. */
  async function post(from: MemorySampleStore, fromMs: number, toMs: number): Promise<void> {
    const bySource = new Map<
      string,
      { readonly source: Labels; readonly rows: Map<number, [Labels, bigint][]> }
    >();
    for (const { labels, samples } of from.all()) {
      const source = sourceOf.labels(labels);
      const key = labelsKey(source);
      if (!bySource.has(key)) bySource.set(key, { source, rows: new Map() });
      const { rows } = bySource.get(key)!;
      for (const [ms, bits] of samples) {
        if (ms < fromMs || ms >= toMs) continue;
        if (!rows.has(ms)) rows.set(ms, []);
        rows.get(ms)!.push([labels, bits]);
      }
    }
    const rows = [...bySource.values()].map(({ source, rows }) => {
      const ofSource = [...rows].map(([timestamp, cells]) =>
        rowOfSeries(
          dictionary,
          timestamp,
          cells.map(([labels]) => labels),
          BigUint64Array.from(cells, ([, bits]) => bits),
        ),
      );
      return sourceRows(dictionary, source, ofSource);
    });
    const batch = rowRecords(tenant, rows).map(({ data }) => ({
      data,
      sequenceNumber: String(++sequence),
      arrivalMs: Date.now(),
      shardId: 's',
    }));
    const { errors } = await ingestBatch(
      { ...tiers, quarantine, windowMs: WINDOW_MS, isReplay: false },
      batch,
    );
    if (errors[0] !== undefined) throw errors[0].cause;
  }

  async function flush(): Promise<void> {
    const flusher = { ...tiers, catalogue: tiers.newCatalogue(), windowMs: WINDOW_MS };
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

  const answers = async (store: SampleStore, text: string) => {
    const range = { startMs: startMs + 600_000, endMs: startMs + 1_200_000, stepMs: 47_000 };
    return [
      plain(await instantQuery(store, text, startMs + 900_000, options).catch((error: Error) => error)),
      plain(await rangeQuery(store, text, range, options).catch((error: Error) => error)),
    ];
  };

  /** Compares answers from the tiers with those from the test's memory. */
  async function compare(count = EXPRESSIONS): Promise<void> {
    const limits = { series: 50_000, sources: 10_000, samples: 10_000_000 };
    const querier = new Querier(tiers, tenant);
    const store = ordered({
      select: (...asked) =>
        new TierSamples(querier, RETENTION_MS, Date.now(), new ReadBudget(limits)).select(...asked),
    });
    for (let i = 0; i < count; i++) {
      const text = expressions.expression(4);
      expect([text, await answers(store, text)]).toEqual([text, await answers(ordered(oracle), text)]);
    }
  }

  test('is answered the same wherever they are, and while they move', async () => {
    const [first, second] = [startMs + WINDOW_MS, startMs + 2 * WINDOW_MS];
    await post(oracle, startMs, first);
    await flush();
    await archiveAndPurge();
    await post(oracle, first, second);
    await flush();
    await post(oracle, second, startMs + 3 * WINDOW_MS);
    // The archive, the warm table and memory have one window each.
    const { tiers: reading } = await new Querier(tiers, tenant).select(
      [{ label: '__name__', op: '=~', value: '.+' }],
      { fromMs: startMs, toMs: startMs + 3 * WINDOW_MS },
    );
    expect(Object.values(reading!).map(({ samples }) => samples > 0)).toEqual([true, true, true]);
    await compare();

    // Post the archived samples again. They move with the rest while they are read.
    await post(oracle, startMs, first);
    const moving = (async () => {
      await flush();
      await archiveAndPurge();
    })();
    let isMoving = true;
    const moved = moving.finally(() => {
      isMoving = false;
    });
    do await compare(4);
    while (isMoving);
    await moved;
    await compare();
  });

  test('is read the same by an instance that remembers what it saw, while samples are corrected, flushed and deleted', async () => {
    // From here on, nothing is purged. So the instance that remembers the manifest need not read it again.
    const remembering = { ...tiers, purgeAfterMs: 3_600_000 };
    const forgetful = () => ({
      ...tiers,
      catalogue: tiers.newCatalogue(),
      hot: new HotTier(tiers.redis, RETENTION_MS),
      warm: new WarmTier({ client: tiers.meta.client, name: physicalName('Warm') }, RETENTION_MS),
      selections: new SelectionCache(),
      deletions: new SourceDeletions(tiers.catalogue.deletions),
    });
    const all = { fromMs: startMs, toMs: startMs + 3 * WINDOW_MS };
    const read = async (dependencies: SelectDependencies, range: TimeRange) => {
      const matchers: Matcher[] = [{ label: '__name__', op: '=~', value: '.+' }];
      const { blocks } = await new Querier(dependencies, tenant).select(matchers, range);
      const series = blocks.flatMap(({ block: { timestamps, columns }, layout }) =>
        layout.series.map((labels, i): [string, number[], string[]] => {
          const { rows, values } = columns[i]!;
          const times = rows === undefined ? timestamps : Array.from(rows, (row) => timestamps[row]!);
          const bits = new BigUint64Array(values.buffer, values.byteOffset, values.length);
          return [labelsKey(labels), [...times], Array.from(bits, String)];
        }),
      );
      return series.filter(([, times]) => times.length > 0).sort(([a], [b]) => (a < b ? -1 : 1));
    };
    const someOf = (): MemorySampleStore => {
      const some = new MemorySampleStore();
      for (const { labels, samples } of oracle.all())
        for (const [ms, bits] of samples) if (random() < 0.05) some.add(labels, ms, bits ^ 1n);
      return some;
    };
    const windowOf = (window: number) => ({
      fromMs: startMs + window * WINDOW_MS,
      toMs: startMs + (window + 1) * WINDOW_MS,
    });
    const before = tiers.calls();
    await read(remembering, all);
    const first = tiers.calls() - before;
    await read(remembering, all);
    const expected = await read(forgetful(), all);
    // The remembering instance reads the manifest instead of the warm table, and the archive as before. A
    // query that DynamoDB ends early takes more requests, so compare the read with the fewest.
    const later: number[] = [];
    for (let i = 0; i < 5; i++) {
      const beforeThis = tiers.calls();
      expect(await read(remembering, all)).toEqual(expected);
      later.push(tiers.calls() - beforeThis);
    }
    expect(Math.min(...later)).toBeLessThan(first);
    for (let round = 0; round < ROUNDS; round++) {
      const action = Math.floor(random() * 4);
      const range = random() < 0.5 ? all : windowOf(Math.floor(random() * 3));
      if (action < 2) await post(someOf(), startMs, all.toMs);
      if (action === 2) {
        const source = sourceOf.labels(oracle.all()[Math.floor(random() * 5)]!.labels);
        await tiers
          .newCatalogue()
          .deletions.put({ tenantId: tenant.id, partition: 0 }, sourceIdOf(tenant.id, source), {
            ...windowOf(Math.floor(random() * 3)),
            selector: ALL_NAMES,
            version: { arrivalMs: Date.now(), sequence: BigInt(++sequence) },
          });
      }
      const still = await read(forgetful(), range);
      expect(await read(remembering, range)).toEqual(still);
      if (random() < 0.5) continue;
      let isMoving = true;
      const moved = flush().finally(() => {
        isMoving = false;
      });
      do expect(await read(remembering, range)).toEqual(still);
      while (isMoving);
      await moved;
      expect(await read(remembering, range)).toEqual(still);
    }
  });
});
