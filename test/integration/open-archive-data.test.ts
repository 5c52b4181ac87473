import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { SeriesData } from '../../scripts/bench/data/agent-data';
import { dataSets } from '../../scripts/bench/data/data-sets';
import { ImportBatch, seriesKey } from '../../scripts/ops/import-batch';
import { archiveDay } from '../../shared/archive/execute';
import { seriesOf } from '../../shared/catalogue/source-series';
import { SeriesDictionary } from '../../shared/dictionary/series-dictionary';
import { flushPartition } from '../../shared/flush/execute';
import { ingestBatch } from '../../shared/ingest/ingest';
import { type Labels, labelValue, METRIC_NAME } from '../../shared/model/labels';
import { dayOf, sourceIdOf, tenantIdOf } from '../../shared/model/placement';
import { remoteWrite } from '../../shared/protocol/prometheus/remote-write';
import { readSeries } from '../../shared/query/read-series';
import { rowRecords } from '../../shared/stream/row-records';
import { type ArchiveRow, bitsOf, readAsOthers } from '../support/archive-readers';
import { temporaryDir } from '../support/temporary-dir';
import { ARCHIVE_LIMITS, startTiers, type Tiers } from '../support/tiers';

const DAY = 86_400_000;
const REPOSITORY = join(__dirname, '..', '..');
/** Maximum number of series of each data set, and of samples of each series: as many as take a few seconds. */
const MAX_SERIES = 12;
const MAX_SAMPLES = 1_000;

function sliceOf(series: readonly SeriesData[]): SeriesData[] {
  return series.slice(0, MAX_SERIES).map(({ labels, timestamps, values }) => ({
    labels,
    timestamps: timestamps.slice(0, MAX_SAMPLES),
    values: values.slice(0, MAX_SAMPLES),
  }));
}

// The files that ARCHIVE_DATA names, else those beside the repository, and generated metrics.
describe.each(dataSets(process.env.ARCHIVE_DATA?.split(',')))('the archive of $name', ({ name, load }) => {
  let tiers: Tiers;
  let folder: string;
  let sources: Labels[] = [];
  let sequence = 0;
  const days = new Set<string>();
  const tenant = {
    id: tenantIdOf(name),
    name,
    placement: { epochs: [{ fromDay: '1970-01-01', partitions: 1 }] },
  };
  const ref = { tenantId: tenant.id, partition: 0 };
  const dictionary = new SeriesDictionary(tenant.id);

  beforeAll(async () => {
    spawnSync(process.execPath, [join(REPOSITORY, 'scripts', 'setup.mjs'), '--readers'], {
      stdio: 'inherit',
    });
    tiers = await startTiers();
    folder = temporaryDir();
  });

  afterAll(async () => {
    await tiers?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Stores samples as the importer does, through memory into the warm tier. */
  async function post(
    series: readonly Pick<SeriesData, 'labels' | 'timestamps' | 'values'>[],
  ): Promise<number> {
    let samples = 0;
    for (const { labels, timestamps, values } of series) {
      const batch = new ImportBatch();
      for (const [i, timestamp] of timestamps.entries()) {
        batch.add(seriesKey(labels), { labels, timestamp, value: values[i]! });
        days.add(dayOf(timestamp));
      }
      const accepts = { nowMs: Date.now() + 1000 * DAY, maxAgeMs: 1e13 };
      const parsed = remoteWrite.parse(dictionary, batch.encode(), accepts, { version: 1 });
      samples += parsed.samples;
      const known = new Set(sources.map((source) => JSON.stringify(source)));
      sources = [
        ...sources,
        ...parsed.sources.map(([of]) => of.labels).filter((of) => !known.has(JSON.stringify(of))),
      ];
      const records = rowRecords(tenant, parsed.sources).map(({ data }) => ({
        data,
        sequenceNumber: String(++sequence),
        arrivalMs: Date.now(),
        shardId: 's',
      }));
      const quarantine = { put: async () => Promise.reject(new Error('nothing here is poison')) };
      const { errors } = await ingestBatch({ ...tiers, quarantine, windowMs: DAY, isReplay: false }, records);
      if (errors[0] !== undefined) throw errors[0].cause;
    }
    await flushPartition(
      { ...tiers, windowMs: DAY },
      ref,
      (await tiers.hot.nodes.now()) + 2 * DAY,
      () => true,
    );
    return samples;
  }

  async function archive(all: Iterable<string>): Promise<void> {
    for (const day of all)
      expect(await archiveDay({ ...tiers, now: Date.now }, ref, { day }, ARCHIVE_LIMITS)).toBe(true);
  }

  /** Copies the bucket, while others may write to it. */
  async function download(): Promise<void> {
    rmSync(folder, { recursive: true, force: true });
    for (const [key, bytes] of await tiers.objects(`archive/v1/tenant=${tenant.id}/`)) {
      const file = join(folder, key);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, bytes);
    }
  }

  /** What our own reads return, as rows. */
  async function answers(): Promise<Set<string>> {
    const rows = new Set<string>();
    const sorted = [...days].sort();
    const range = { fromMs: Date.parse(sorted[0]!), toMs: Date.parse(sorted.at(-1)!) + DAY };
    for (const source of sources) {
      const known = await tiers.newCatalogue().source(tenant.id, sourceIdOf(tenant.id, source));
      const series = seriesOf(known);
      const { block } = await readSeries(tiers, tenant, { source, series, known }, range);
      block.columns.forEach(({ rows: at, values }, i) => {
        const labels = series[i]!;
        const rest = labels.filter(([label]) => label !== METRIC_NAME && label !== 'host');
        const [metric, host] = [METRIC_NAME, 'host'].map((label) => labelValue(labels, label) ?? '');
        values.forEach((value, cell) => {
          const ms = block.timestamps[at === undefined ? cell : at[cell]!]!;
          rows.add(
            JSON.stringify([
              tenant.id,
              dayOf(ms),
              metric,
              host,
              JSON.stringify(Object.fromEntries(rest)),
              ms,
              bitsOf(value),
            ]),
          );
        });
      });
    }
    return rows;
  }

  // A sample occurs twice while both the old and the new object of its day exist.
  const textsOf = (rows: readonly ArchiveRow[]) => new Set(rows.map((row) => JSON.stringify(row)));
  const original = (rows: Set<string>) => [...rows].filter((row) => !row.includes('"late_')).sort();

  test('is read by DuckDB and pyarrow as the API answers, also while objects are rewritten', async () => {
    const samples = await post(sliceOf(load()));
    await archive(days);
    await download();
    const expected = await answers();
    expect(expected.size).toBe(samples);
    const first = await readAsOthers(folder);
    expect(textsOf(first.duckdb)).toEqual(expected);
    expect(textsOf(first.pyarrow)).toEqual(expected);

    let isRewriting = true;
    const rewrite = async () => {
      const [day] = days;
      for (let i = 0; i < 3; i++) {
        await post([
          {
            labels: { __name__: `late_${i}`, host: 'late' },
            timestamps: [Date.parse(day!) + i],
            values: [i],
          },
        ]);
        await archive([day!]);
      }
      isRewriting = false;
    };
    const rewriting = rewrite();
    let compared = 0;
    while (isRewriting) {
      await download();
      expect(original(await answers())).toEqual([...expected].sort());
      compared++;
    }
    await rewriting;
    expect(compared).toBeGreaterThan(0);
    // The last copy was taken at some moment while days were rewritten.
    const during = await readAsOthers(folder);
    expect(original(textsOf(during.duckdb))).toEqual([...expected].sort());
    await download();
    const last = await readAsOthers(folder);
    const whole = await answers();
    expect(whole.size).toBe(samples + 3);
    expect(textsOf(last.duckdb)).toEqual(whole);
    expect(textsOf(last.pyarrow)).toEqual(whole);
  });
});
