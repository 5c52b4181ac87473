import fc from 'fast-check';
import { archiveDay } from '../../shared/archive/execute';
import { purgeDay } from '../../shared/archive/purge';
import { SeriesDictionary } from '../../shared/dictionary/series-dictionary';
import { flushPartition } from '../../shared/flush/execute';
import { ingestBatch } from '../../shared/ingest/ingest';
import { ALL_TIME, type Deletion, selects } from '../../shared/model/deletion';
import { labelValue, METRIC_NAME, metricOf, sourceOf } from '../../shared/model/labels';
import { isIn } from '../../shared/model/matcher';
import {
  dayOf,
  MAX_GROUP_SERIES,
  sourceIdOf,
  splitBitsOfGroup,
  tenantIdOf,
} from '../../shared/model/placement';
import { rowsOf } from '../../shared/protocol/mackerel/json';
import { sampleColumnsOf as pointsOf } from '../../shared/query/point-joiner';
import { readSeries } from '../../shared/query/read-series';
import { Querier } from '../../shared/query/select';
import { TenantIndexes } from '../../shared/query/tenant-index';
import { deletionRecords } from '../../shared/stream/deletion-records';
import type { DeliveredRecord } from '../../shared/stream/record-decoder';
import { rowRecords } from '../../shared/stream/row-records';
import { ARCHIVE_LIMITS, startTiers, type Tiers } from '../support/tiers';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const source = sourceOf.host('h');
const NAMES = ['a.x', 'a.y', 'b'] as const;
const midnight = Math.floor(Date.now() / DAY) * DAY;
/** Times in two windows and two days. */
const TIMES = [midnight - 2 * MINUTE, midnight - MINUTE, midnight, midnight + MINUTE];
const DAYS = [dayOf(midnight - 1), dayOf(midnight)];
const quarantine = {
  put: async () => {
    throw new Error('nothing here is poison');
  },
};

/** A record of the stream. */
type Entry =
  | {
      readonly kind: 'post';
      readonly at: number;
      readonly values: Readonly<Record<string, number>>;
      readonly by?: Writer;
    }
  | { readonly kind: 'delete'; readonly deletion: Deletion };

/**
 * Which instance of post writes a record. `old`: one that has written other records before. `young`: a new
 * one. `wide`: one whose row also has enough other series that all series of the source change their groups.
 */
type Writer = 'old' | 'young' | 'wide';

type Step =
  | Entry
  /** Delivers records by their place in the stream; a place beyond the end of the stream means the last record. */
  | { readonly kind: 'deliver'; readonly records: readonly number[] }
  | { readonly kind: 'flush' }
  | { readonly kind: 'archive' }
  | { readonly kind: 'purge' };

const anyRange = fc.oneof(
  fc.constant(ALL_TIME),
  fc
    .uniqueArray(fc.constantFrom(...TIMES, midnight + DAY), { minLength: 2, maxLength: 2 })
    .map(([a, b]) => ({ fromMs: Math.min(a!, b!), toMs: Math.max(a!, b!) })),
);
const anySelector = fc.constantFrom(
  { name: 'a.x', isPrefix: false },
  { name: 'a.', isPrefix: true },
  { name: '', isPrefix: true },
);
const anyPost = {
  kind: fc.constant('post' as const),
  at: fc.constantFrom(...TIMES),
  values: fc.dictionary(fc.constantFrom(...NAMES), fc.integer({ min: 1, max: 99 }), { minKeys: 1 }),
};
const anyWriter = fc.constantFrom<Writer>('old', 'young', 'wide');
const OTHERS = Array.from({ length: MAX_GROUP_SERIES }, (_, i) => [`other${i}`, i] as const);
const anyStep = stepOf(fc.record(anyPost));
const anyStepOfWriters = stepOf(fc.record({ ...anyPost, by: anyWriter }));

function stepOf(post: fc.Arbitrary<Step>): fc.Arbitrary<Step> {
  return fc.oneof(
    { weight: 5, arbitrary: post },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('delete' as const),
        deletion: fc
          .tuple(anySelector, anyRange)
          .map(([selector, range]): Deletion => ({ selector, ...range })),
      }),
    },
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('deliver' as const),
        records: fc.array(fc.nat(12), { minLength: 1, maxLength: 8 }),
      }),
    },
    {
      weight: 5,
      arbitrary: fc.constantFrom<Step>({ kind: 'flush' }, { kind: 'archive' }, { kind: 'purge' }),
    },
  );
}

describe('deletions', () => {
  let tiers: Tiers;
  let runs = 0;

  beforeAll(async () => {
    tiers = await startTiers();
  });

  afterAll(async () => {
    await tiers?.stop();
  });

  /** A new tenant, its stream, and the result of applying rule 2 (DESIGN.md) to what was delivered. */
  function pipeline() {
    const name = `t${runs++}`;
    const tenant = {
      id: tenantIdOf(name),
      name,
      placement: { epochs: [{ fromDay: '1970-01-01', partitions: 1 }] },
    };
    const ref = { tenantId: tenant.id, partition: 0 };
    const dictionary = new SeriesDictionary(tenant.id);
    const stream: DeliveredRecord[] = [];
    const entries: Entry[] = [];
    const delivered = new Set<number>();

    const recordsOf = (at: number, values: readonly (readonly [string, number])[], by: Writer = 'old') =>
      rowRecords(tenant, [
        rowsOf(
          by === 'young' ? new SeriesDictionary(tenant.id) : dictionary,
          source,
          new Map([[at, new Map(by === 'wide' ? [...values, ...OTHERS] : values)]]),
        ),
      ]);

    let nowMs = Date.now();
    const indexes = new TenantIndexes(tiers.newCatalogue(), 460 * DAY, () => (nowMs += 20_000));

    const days = (work: (day: string) => Promise<void>) =>
      Promise.all(
        DAYS.map(async (day) => {
          if ((await tiers.manifest.get(ref, day)) !== undefined) await work(day);
        }),
      );
    const archive = () =>
      days(async (day) => {
        const entry = (await tiers.manifest.get(ref, day))!;
        expect(await archiveDay({ ...tiers, now: Date.now }, ref, entry, ARCHIVE_LIMITS)).toBe(true);
      });

    return {
      async run(step: Step): Promise<void> {
        if (step.kind === 'flush')
          await flushPartition({ ...tiers, windowMs: HOUR }, ref, await tiers.hot.nodes.now(), () => true);
        else if (step.kind === 'archive') await archive();
        else if (step.kind === 'purge')
          await days(async (day) => {
            await purgeDay({ ...tiers, now: Date.now }, ref, (await tiers.manifest.get(ref, day))!, 0);
          });
        else if (step.kind === 'deliver') {
          if (stream.length === 0) return;
          const places = step.records.map((place) => Math.min(place, stream.length - 1));
          for (const place of places) delivered.add(place);
          const batch = places.map((place) => stream[place]!);
          const { errors } = await ingestBatch(
            { ...tiers, quarantine, windowMs: HOUR, isReplay: false },
            batch,
          );
          if (errors[0] !== undefined) throw errors[0].cause;
        } else {
          const [record] =
            step.kind === 'post'
              ? recordsOf(step.at, Object.entries(step.values), step.by)
              : deletionRecords(tenant, source, step.deletion);
          const sequenceNumber = String(stream.length);
          stream.push({
            data: record!.data,
            sequenceNumber,
            // Arrival times do not ascend.
            arrivalMs: midnight + (stream.length ^ 3),
            shardId: 's',
          });
          entries.push(step);
        }
      },
      async read(): Promise<string[]> {
        const known = await tiers.catalogue.source(tenant.id, sourceIdOf(tenant.id, source));
        const series = NAMES.map((metric) => metricOf(source, metric));
        const range = { fromMs: midnight - HOUR, toMs: midnight + HOUR };
        const { block, tiers: readings } = await readSeries(tiers, tenant, { source, series, known }, range);
        const lines = block.columns.flatMap(({ rows, values }, i) =>
          Array.from(values, (value, cell) => {
            const ms = block.timestamps[rows === undefined ? cell : rows[cell]!]!;
            return `${NAMES[i]}@${(ms - midnight) / MINUTE}=${value}`;
          }),
        );
        // If no place is shown, every tier must report that it has no samples.
        if (lines.length === 0)
          for (const { samples, places } of Object.values(readings))
            expect([samples, places.filter(({ matched }) => matched > 0)]).toEqual([0, []]);
        return lines.sort();
      },
      /** Reads as PromQL does. */
      async select(): Promise<string[]> {
        const range = { fromMs: midnight - HOUR, toMs: midnight + HOUR };
        // A new index, because an index that is kept may miss series of the last seconds.
        const querier = new Querier({ ...tiers, indexes }, tenant);
        const { blocks } = await querier.select([isIn('__name__', [...NAMES])], range);
        return blocks
          .flatMap((block) => pointsOf(block))
          .flatMap(({ labels, timestamps, values }) =>
            Array.from(timestamps, (ms, i) => {
              return `${labelValue(labels, METRIC_NAME)}@${(ms - midnight) / MINUTE}=${values[i]}`;
            }),
          )
          .sort();
      },
      /** The splits of the groups in the archive. */
      async groups(): Promise<Set<number>> {
        const splits = new Set<number>();
        for (const day of DAYS)
          for (const { group } of await tiers.archivedChunks(ref, day)) splits.add(splitBitsOfGroup(group));
        return splits;
      },
      expected(): string[] {
        const cells = new Map<string, number>();
        for (const [place, entry] of entries.entries()) {
          if (!delivered.has(place)) continue;
          if (entry.kind === 'post')
            for (const [metric, value] of Object.entries(entry.values))
              cells.set(`${metric} ${entry.at}`, value);
          else
            for (const key of cells.keys()) {
              const [metric, at] = key.split(' ') as [string, string];
              const { selector, fromMs, toMs } = entry.deletion;
              if (selects(selector, metric) && fromMs <= Number(at) && Number(at) < toMs) cells.delete(key);
            }
        }
        return [...cells]
          .map(([key, value]) => {
            const [metric, at] = key.split(' ') as [string, string];
            return `${metric}@${(Number(at) - midnight) / MINUTE}=${value}`;
          })
          .sort();
      },
      /** Counts the samples in the archive's objects, including deleted ones that reads hide. */
      async archived(): Promise<number> {
        let samples = 0;
        for (const day of DAYS)
          for (const chunk of await tiers.archivedChunks(ref, day)) samples += chunk.samples;
        return samples;
      },
      records: () => stream.map((_, place) => place),
      isOpen: async () => {
        const found = await tiers.manifest.days(ref, DAYS[0]!, DAYS[1]!);
        return found.some(({ announcements, archived }) => archived?.announcements !== announcements);
      },
    };
  }

  test('are read as rule 2 says, in whatever order records are delivered, replayed, flushed, archived and purged', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { minLength: 4, maxLength: 24, size: 'max' }), async (steps) => {
        const { run, read, expected, archived, records } = pipeline();
        for (const step of steps) {
          await run(step);
          if (step.kind !== 'post' && step.kind !== 'delete') expect(await read()).toEqual(expected());
        }
        // In the end, everything is delivered once more, backwards, and moved to the archive. Deletions hold
        // there, too.
        await run({ kind: 'deliver', records: records().reverse() });
        expect(await read()).toEqual(expected());
        for (const kind of ['flush', 'archive', 'purge'] as const) await run({ kind });
        expect(await read()).toEqual(expected());
        expect(await archived()).toBe(expected().length);
      }),
      { numRuns: 40 },
    );
  });

  test('are read so too if the series change their groups, by both ways of reading', async () => {
    let changes = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyStepOfWriters, { minLength: 8, maxLength: 24, size: 'max' }),
        async (steps) => {
          const { run, read, select, expected, records, groups } = pipeline();
          for (const step of steps) {
            await run(step);
            if (step.kind === 'post' || step.kind === 'delete') continue;
            expect(await read()).toEqual(expected());
            expect(await select()).toEqual(expected());
          }
          await run({ kind: 'deliver', records: records().reverse() });
          for (const kind of ['flush', 'archive', 'purge'] as const) {
            await run({ kind });
            expect(await read()).toEqual(expected());
            expect(await select()).toEqual(expected());
          }
          if ((await groups()).size > 1) changes++;
        },
      ),
      { numRuns: 12 },
    );
    expect(changes).toBeGreaterThan(0);
  });

  const post = (at: number, value: number): Step => ({
    kind: 'post',
    at,
    values: { 'a.x': value, b: value },
  });
  const remove: Step = {
    kind: 'delete',
    deletion: { selector: { name: 'a.x', isPrefix: false }, ...ALL_TIME },
  };

  test.each([
    { tier: 'hot', moves: [] as const },
    { tier: 'warm', moves: ['flush'] as const },
    { tier: 'cold', moves: ['flush', 'archive', 'purge'] as const },
  ])('hide $tier samples at once, and a replay of everything brings none back', async ({ moves }) => {
    const { run, read, archived, isOpen } = pipeline();
    for (const [i, at] of TIMES.entries()) await run(post(at, i));
    await run({ kind: 'deliver', records: [0, 1, 2, 3] });
    for (const kind of moves) await run({ kind });
    const others = ['b@-2=0', 'b@-1=1', 'b@0=2', 'b@1=3'].sort();
    expect(await read()).toHaveLength(8);

    await run(remove);
    await run({ kind: 'deliver', records: [4] });
    expect(await read()).toEqual(others);
    for (const kind of ['flush', 'archive', 'purge'] as const) await run({ kind });
    expect(await archived()).toBe(4);

    await run({ kind: 'deliver', records: [0, 1, 2, 3] });
    expect(await read()).toEqual(others);
    for (const kind of ['flush', 'archive'] as const) {
      await run({ kind });
      expect(await read()).toEqual(others);
    }
    expect(await archived()).toBe(4);
    expect(await isOpen()).toBe(false);

    // A correction is newer than the deletion.
    await run(post(TIMES[1]!, 7));
    await run({ kind: 'deliver', records: [5] });
    expect(await read()).toEqual(
      ['a.x@-1=7', 'b@-1=7', ...others.filter((line) => line !== 'b@-1=1')].sort(),
    );
  });

  test('of samples that an archived day does not have leave its object unchanged', async () => {
    const { run, read } = pipeline();
    await run(post(TIMES[0]!, 1));
    await run({ kind: 'deliver', records: [0] });
    for (const kind of ['flush', 'archive'] as const) await run({ kind });
    const ref = { tenantId: tenantIdOf(`t${runs - 1}`), partition: 0 };
    const before = await tiers.manifest.get(ref, DAYS[0]!);
    await run({
      kind: 'delete',
      deletion: { selector: { name: 'c', isPrefix: true }, ...ALL_TIME },
    });
    await run({ kind: 'deliver', records: [1] });
    await run({ kind: 'archive' });
    const after = await tiers.manifest.get(ref, DAYS[0]!);
    expect(after!.announcements).toBeGreaterThan(before!.announcements);
    expect(after!.archived).toMatchObject({
      announcements: after!.announcements,
      parts: before!.archived!.parts,
    });
    expect(await read()).toEqual(['a.x@-2=1', 'b@-2=1']);

    // Deliver the deletion once more, as a replay does. It must not mark the day as changed again.
    await run({ kind: 'deliver', records: [1] });
    expect(await tiers.manifest.get(ref, DAYS[0]!)).toEqual(after);
  });

  test('of two partitions are two, although they name the same samples: their versions are not compared', async () => {
    const tenantId = tenantIdOf(`t${runs++}`);
    const sourceId = sourceIdOf(tenantId, source);
    const selector = { name: 'a.x', isPrefix: false };
    for (const [partition, sequence] of [
      [0, 9n],
      [1, 3n],
    ] as const) {
      const deletion = { selector, ...ALL_TIME, version: { arrivalMs: midnight, sequence } };
      expect(await tiers.catalogue.deletions.put({ tenantId, partition }, sourceId, deletion)).toBe(true);
    }
    const deletions = await tiers.catalogue.deletions.of(tenantId, sourceId);
    expect(deletions.map(({ version }) => version.sequence).sort()).toEqual([3n, 9n]);
    // No epoch that is published later begins before the second midnight after this one.
    expect(deletions.map(({ toMs }) => toMs)).toEqual([midnight + 2 * DAY, midnight + 2 * DAY]);
  });

  test('that are repeated leave one item in the catalogue, with the highest version', async () => {
    const { run } = pipeline();
    for (let i = 0; i < 3; i++) await run(remove);
    await run({ kind: 'deliver', records: [2, 0, 1] });
    const tenantId = tenantIdOf(`t${runs - 1}`);
    const deletions = await tiers.catalogue.deletions.of(tenantId, sourceIdOf(tenantId, source));
    expect(deletions.map(({ version }) => version.sequence)).toEqual([2n]);
  });
});
