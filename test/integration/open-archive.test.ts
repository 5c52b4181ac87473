import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { archiveDay } from '../../shared/archive/execute';
import { purgeDay } from '../../shared/archive/purge';
import { SeriesDictionary } from '../../shared/dictionary/series-dictionary';
import { flushPartition } from '../../shared/flush/execute';
import { ingestBatch } from '../../shared/ingest/ingest';
import { type Labels, labelValue, METRIC_NAME, metricOf, sourceOf } from '../../shared/model/labels';
import { dayOf, dayStartMs, sourceIdOf, tenantIdOf } from '../../shared/model/placement';
import { rowsOf } from '../../shared/protocol/mackerel/json';
import { readSeries } from '../../shared/query/read-series';
import { deletionRecords } from '../../shared/stream/deletion-records';
import type { OutgoingRecord } from '../../shared/stream/put';
import { rowRecords } from '../../shared/stream/row-records';
import { type ArchiveRow, bitsOf, queryInDuckdb, readAsOthers } from '../support/archive-readers';
import { temporaryDir } from '../support/temporary-dir';
import { ARCHIVE_LIMITS, startTiers, type Tiers } from '../support/tiers';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const REPOSITORY = join(__dirname, '..', '..');

describe('the archive', () => {
  let tiers: Tiers;
  let folder: string;
  const tenant = {
    id: tenantIdOf('open'),
    name: 'open',
    placement: { epochs: [{ fromDay: '1970-01-01', partitions: 1 }] },
  };
  const ref = { tenantId: tenant.id, partition: 0 };
  const dictionary = new SeriesDictionary(tenant.id);
  const midnight = Math.floor(Date.now() / DAY) * DAY;
  const days = [dayOf(midnight - DAY), dayOf(midnight)];
  const hosts = ['a', 'b'].map((id) => sourceOf.host(id));
  const target: Labels = [
    ['instance', 'x:9100'],
    ['job', 'a "quoted" \u{1f600} job'],
  ];
  const sources = [...hosts, target];
  const names = ['cpu.user', 'cpu.system', 'memory'];
  let sequence = 0;

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

  async function deliver(records: readonly OutgoingRecord[]): Promise<void> {
    const quarantine = { put: async () => Promise.reject(new Error('nothing here is poison')) };
    const batch = records.map(({ data }) => ({
      data,
      sequenceNumber: String(++sequence),
      arrivalMs: midnight + sequence,
      shardId: 's',
    }));
    const { errors } = await ingestBatch({ ...tiers, quarantine, windowMs: HOUR, isReplay: false }, batch);
    if (errors[0] !== undefined) throw errors[0].cause;
    await flushPartition({ ...tiers, windowMs: HOUR }, ref, (await tiers.hot.nodes.now()) + DAY, () => true);
  }

  function post(source: Labels, values: Readonly<Record<number, Readonly<Record<string, number>>>>) {
    const rows = Object.entries(values).map(([ms, of]) => [Number(ms), new Map(Object.entries(of))] as const);
    return deliver(rowRecords(tenant, [rowsOf(dictionary, source, new Map(rows))]));
  }

  async function archive(): Promise<void> {
    for (const day of days)
      expect(await archiveDay({ ...tiers, now: Date.now }, ref, { day }, ARCHIVE_LIMITS)).toBe(true);
  }

  /** Copies the archive's objects from the bucket. */
  async function download(): Promise<number> {
    rmSync(folder, { recursive: true, force: true });
    const objects = await tiers.objects('archive/v1/');
    for (const [key, bytes] of objects) {
      const file = join(folder, key);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, bytes);
    }
    return objects.size;
  }

  /** What our own reads return, as rows. */
  async function answers(): Promise<ArchiveRow[]> {
    const rows: ArchiveRow[] = [];
    for (const source of sources) {
      const known = await tiers.newCatalogue().source(tenant.id, sourceIdOf(tenant.id, source));
      const series = names.map((name) => metricOf(source, name));
      const range = { fromMs: dayStartMs(days[0]!), toMs: dayStartMs(days[1]!) + DAY };
      const { block } = await readSeries(tiers, tenant, { source, series, known }, range);
      const rest = source.filter(([label]) => label !== 'host');
      block.columns.forEach(({ rows: at, values }, i) => {
        values.forEach((value, cell) => {
          const ms = block.timestamps[at === undefined ? cell : at[cell]!]!;
          const [name, host] = [METRIC_NAME, 'host'].map((label) => labelValue(series[i]!, label) ?? '');
          const labels = JSON.stringify(Object.fromEntries(rest));
          rows.push([tenant.id, dayOf(ms), name!, host!, labels, ms, bitsOf(value)]);
        });
      });
    }
    return rows.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  }

  async function expectEqual(): Promise<number> {
    const expected = await answers();
    const { duckdb, pyarrow } = await readAsOthers(folder);
    const sorted = (rows: ArchiveRow[]) =>
      rows.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
    expect(sorted(duckdb)).toEqual(expected);
    expect(sorted(pyarrow)).toEqual(expected);
    return expected.length;
  }

  test('is read by DuckDB and pyarrow as the API answers, after late data, a correction and a deletion too', async () => {
    const special = [0.1 + 0.2, -0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 5e-324, 1e300];
    const times = Array.from({ length: 60 }, (_, i) => midnight - HOUR + 2 * i * MINUTE);
    for (const [s, source] of sources.entries())
      await post(
        source,
        Object.fromEntries(
          times.map((ms, i) => [
            ms,
            Object.fromEntries(names.map((name, n) => [name, special[(i + n) % 9] ?? 100 * s + i + n / 8])),
          ]),
        ),
      );
    await archive();
    await post(hosts[0]!, { [midnight - 3 * HOUR]: { 'cpu.user': 1, late: 2 } });
    await archive();
    expect(await download()).toBe(2);
    await post(hosts[1]!, { [midnight + MINUTE]: { memory: 42 }, [midnight + 3 * HOUR]: { memory: 43 } });
    await archive();
    expect(await download()).toBe(2);
    names.push('late');
    // 60 times, 3 sources, 3 names; 2 late values; 2 values of a new time, because the 60 minutes begin
    // before midnight.
    expect(await expectEqual()).toBe(60 * 9 + 2 + 2);

    // Post a correction and a deletion.
    await post(hosts[0]!, { [times[0]!]: { 'cpu.user': -1 } });
    const range = { fromMs: times[10]!, toMs: times[20]! };
    await deliver(deletionRecords(tenant, target, { selector: { name: 'cpu.', isPrefix: true }, ...range }));
    await archive();
    await download();
    expect(await expectEqual()).toBe(60 * 9 + 4 - 20);

    for (const day of days) await purgeDay({ ...tiers, now: Date.now }, ref, { day }, 0);
    expect(await expectEqual()).toBe(60 * 9 + 4 - 20);
  });

  test('has both values of a sample that was corrected after its series changed its group, as FORMAT.md says, and its query lists them', async () => {
    const source = sourceOf.host('grown');
    const ms = midnight + 5 * HOUR;
    await post(source, { [ms]: { corrected: 1, repeated: 7 } });
    const others = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`other${i}`, i]));
    await post(source, { [ms]: { ...others, corrected: 2, repeated: 7 } });
    await archive();
    await download();

    const known = await tiers.newCatalogue().source(tenant.id, sourceIdOf(tenant.id, source));
    const series = ['corrected', 'repeated'].map((name) => metricOf(source, name));
    const range = { fromMs: ms, toMs: ms + 1 };
    const { block } = await readSeries(tiers, tenant, { source, series, known }, range);
    expect(block.columns.map(({ values }) => [...values])).toEqual([[2], [7]]);

    const format = readFileSync(join(REPOSITORY, 'shared', 'cold', 'FORMAT.md'), 'utf8');
    const [, sql] = /```sql\n(.*?)```/s.exec(format)!;
    const listed = await queryInDuckdb(
      `SELECT name, list_sort(all_values) FROM (${sql!.replace('s3://BUCKET', folder)}) ORDER BY name`,
    );
    expect(listed).toEqual([
      ['corrected', [1, 2]],
      ['repeated', [7, 7]],
    ]);
  });
});
