/**
 * Reads by rollups return what reads of samples return, whatever happened to the samples and however far the
 * rollups are behind.
 */

import fc from 'fast-check';
import { archiveDay } from '../../shared/archive/execute';
import { purgeDay } from '../../shared/archive/purge';
import { mustRollUp, rollUpPartitions } from '../../shared/archive/rollup';
import { RollupDirectory, type SpanState } from '../../shared/cold/rollup-directory';
import { SeriesDictionary } from '../../shared/dictionary/series-dictionary';
import { flushPartition } from '../../shared/flush/execute';
import { ingestBatch } from '../../shared/ingest/ingest';
import { AGGREGATES, type Aggregate, downsample, type Samples } from '../../shared/model/aggregates';
import { ALL_TIME, type Deletion, selects } from '../../shared/model/deletion';
import { metricOf, sourceOf } from '../../shared/model/labels';
import { dayOf, sourceIdOf, tenantIdOf } from '../../shared/model/placement';
import { bucketKeys } from '../../shared/platform/keys';
import { rowsOf } from '../../shared/protocol/mackerel/json';
import { stepGrains } from '../../shared/query/plan';
import { sampleColumnsOf } from '../../shared/query/point-joiner';
import { readSeries } from '../../shared/query/read-series';
import { deletionRecords } from '../../shared/stream/deletion-records';
import type { DeliveredRecord } from '../../shared/stream/record-decoder';
import { rowRecords } from '../../shared/stream/row-records';
import { IS_LONG } from '../support/long';
import { ARCHIVE_LIMITS, startTiers, type Tiers } from '../support/tiers';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NAMES = ['a.x', 'a.y', 'b'] as const;
const HOSTS = ['h', 'i'] as const;
const midnight = Math.floor(Date.now() / DAY) * DAY;
/** Ranges to read, in days before today. */
const RANGES = [
  [9, 0],
  [6, 4],
  [5, 4],
] as const;
/** Times of samples: several in a minute, in an hour, in a day and in nine days. */
const TIMES = [
  -9,
  -8,
  -6.5,
  -5,
  -5 + 1 / 2880,
  -5 + 1 / 48,
  -4 - 1 / 1440,
  -4,
  -3.5,
  -2,
  -1,
  -1 + 1 / 1440,
].map((days) => midnight + Math.round(days * 2880) * 30_000);
const VALUES = [1, 0.1, -0, 1e16, 1.7e308, -1.7e308, 5e-324, 7];
const STEPS_MS = [MINUTE, 5 * MINUTE, HOUR, 6 * HOUR, DAY, 3 * DAY];
const quarantine = {
  put: async () => {
    throw new Error('nothing here is poison');
  },
};

type Host = (typeof HOSTS)[number];

/** A record of the stream. */
type Entry = { readonly host: Host } & (
  | {
      readonly kind: 'post';
      readonly times: readonly number[];
      readonly values: Readonly<Record<string, number>>;
    }
  | { readonly kind: 'delete'; readonly deletion: Deletion }
);

type Step =
  | Entry
  /** Delivers records by their place in the stream; a place beyond its end means the last record. */
  | { readonly kind: 'deliver'; readonly records: readonly number[] }
  | { readonly kind: 'flush' }
  | { readonly kind: 'archive' }
  | { readonly kind: 'purge' }
  | { readonly kind: 'roll up' };

interface Question {
  readonly stepMs: number;
  readonly aggregate: Aggregate;
  readonly host: Host;
  readonly days: (typeof RANGES)[number];
  /** Whether the reader reads the manifest only once. It may do so if no purge can overtake it. */
  readonly asksOnce: boolean;
}

const anyHost = fc.constantFrom(...HOSTS);
const anyRange = fc.oneof(
  fc.constant(ALL_TIME),
  fc
    .uniqueArray(fc.constantFrom(...TIMES, midnight), { minLength: 2, maxLength: 2 })
    .map(([a, b]) => ({ fromMs: Math.min(a!, b!), toMs: Math.max(a!, b!) })),
);
const anySelector = fc.constantFrom({ name: 'a.x', isPrefix: false }, { name: 'a.', isPrefix: true });
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('post' as const),
      host: anyHost,
      times: fc.subarray(TIMES, { minLength: 1 }),
      values: fc.dictionary(fc.constantFrom(...NAMES), fc.constantFrom(...VALUES), { minKeys: 1 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('delete' as const),
      host: anyHost,
      deletion: fc
        .tuple(anySelector, anyRange)
        .map(([selector, range]): Deletion => ({ selector, ...range })),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('deliver' as const),
      records: fc.array(fc.nat(12), { minLength: 1, maxLength: 8 }),
    }),
  },
  {
    weight: 7,
    arbitrary: fc.constantFrom<Step>(
      { kind: 'flush' },
      { kind: 'archive' },
      { kind: 'purge' },
      { kind: 'roll up' },
      { kind: 'roll up' },
    ),
  },
);
const anyQuestion: fc.Arbitrary<Question> = fc.record({
  stepMs: fc.constantFrom(...STEPS_MS),
  aggregate: fc.constantFrom(...AGGREGATES),
  host: anyHost,
  days: fc.constantFrom(...RANGES),
  asksOnce: fc.boolean(),
});

/** Maximum number of attempts at rolling up. Sometimes, two in a row lose their answers. */
const MAX_ATTEMPTS = 20;

describe('rollups', () => {
  let tiers: Tiers;
  let rollups: RollupDirectory;
  let runs = 0;

  beforeAll(async () => {
    tiers = await startTiers();
    rollups = new RollupDirectory(tiers.meta, 460 * DAY);
  });

  afterAll(async () => {
    await tiers?.stop();
  });

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
    const days = () => tiers.manifest.days(ref, '1970-01-01', '9999-12-31');

    /** Rolls up until nothing is left. If the answer to a commit is lost, its span is made again. */
    async function rollUp(): Promise<number> {
      let sum = 0;
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        const { rolledUp, left } = await rollUpPartitions({ ...tiers, rollups }, [ref], {
          hasTime: () => true,
          onFailure: (_, __, error) => {
            throw error;
          },
        });
        sum += rolledUp;
        if (left === 0) return sum;
      }
      throw new Error(`spans are left after ${MAX_ATTEMPTS} attempts`);
    }

    /** Computes the answer that rule 2 (DESIGN.md) asks for, from the delivered records. */
    function expected({ host, ...question }: Question, names: readonly string[] = NAMES): Samples[] {
      const { fromMs, toMs } = rangeOf(question);
      const cells = new Map<string, Map<number, number>>(names.map((metric) => [metric, new Map()]));
      for (const [place, entry] of entries.entries()) {
        if (!delivered.has(place) || entry.host !== host) continue;
        if (entry.kind === 'post')
          for (const [metric, value] of Object.entries(entry.values))
            for (const at of entry.times) cells.get(metric)?.set(at, value);
        else
          for (const [metric, samples] of cells)
            for (const at of samples.keys()) {
              const { selector, fromMs, toMs } = entry.deletion;
              if (selects(selector, metric) && fromMs <= at && at < toMs) samples.delete(at);
            }
      }
      return [...cells.values()].map((samples) => {
        const sorted = [...samples].filter(([at]) => at >= fromMs && at < toMs).sort(([a], [b]) => a - b);
        const all = { timestamps: sorted.map(([at]) => at), values: sorted.map(([, value]) => value) };
        return shown(downsample(all, question.stepMs, question.aggregate));
      });
    }

    async function read(
      { stepMs, aggregate, host, days, asksOnce }: Question,
      names: readonly string[] = NAMES,
    ) {
      const source = sourceOf.host(host);
      const purgeAfterMs = asksOnce ? 15 * 60_000 : 0;
      const reader = { ...tiers, catalogue: tiers.newCatalogue(), rollups, purgeAfterMs };
      const grains = stepGrains(stepMs, aggregate);
      const known = await reader.catalogue.source(tenant.id, sourceIdOf(tenant.id, source));
      const series = names.map((metric) => metricOf(source, metric));
      const found = await readSeries(reader, tenant, { source, series, known }, rangeOf({ stepMs, days }), {
        grains,
      });
      const answers = sampleColumnsOf(found, grains).map((samples) =>
        shown(downsample(samples, stepMs, aggregate)),
      );
      const { rollupDays } = found;
      return { answers, rollupDays };
    }

    return {
      ref,
      read,
      expected,
      rollUp,
      records: () => stream.map((_, place) => place),
      async run(step: Step): Promise<void> {
        if (step.kind === 'flush')
          await flushPartition({ ...tiers, windowMs: HOUR }, ref, await tiers.hot.nodes.now(), () => true);
        else if (step.kind === 'archive')
          for (const entry of await days())
            await archiveDay({ ...tiers, now: Date.now }, ref, entry, ARCHIVE_LIMITS);
        else if (step.kind === 'purge')
          for (const entry of await days()) await purgeDay({ ...tiers, now: Date.now }, ref, entry, 0);
        else if (step.kind === 'roll up') await rollUp();
        else if (step.kind === 'deliver') {
          if (stream.length === 0) return;
          const places = step.records.map((place) => Math.min(place, stream.length - 1));
          for (const place of places) delivered.add(place);
          const batch = places.map((place) => stream[place]!);
          const ingester = { ...tiers, quarantine, windowMs: HOUR, isReplay: false };
          const { errors } = await ingestBatch(ingester, batch);
          if (errors[0] !== undefined) throw errors[0].cause;
        } else {
          const source = sourceOf.host(step.host);
          const [record] =
            step.kind === 'post'
              ? rowRecords(tenant, [
                  rowsOf(
                    dictionary,
                    source,
                    new Map(step.times.map((at) => [at, new Map(Object.entries(step.values))])),
                  ),
                ])
              : deletionRecords(tenant, source, step.deletion);
          const sequenceNumber = String(stream.length);
          stream.push({ data: record!.data, sequenceNumber, arrivalMs: midnight, shardId: 's' });
          entries.push(step);
        }
      },
    };
  }

  test('give what the samples give, in whatever order these are delivered, replayed, deleted, flushed, archived, purged and rolled up', async () => {
    let days = 0;
    const histories = fc.array(anyStep, { minLength: 8, maxLength: 30, size: 'max' });
    const questions = fc.array(anyQuestion, { minLength: 4, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(histories, questions, async (steps, asked) => {
        const { run, read, expected, rollUp, records } = pipeline();
        const check = async (question: Question) => {
          const { answers, rollupDays } = await read(question);
          expect(answers).toEqual(expected(question));
          days += rollupDays;
        };
        for (const [i, step] of steps.entries()) {
          await run(step);
          if (step.kind !== 'post' && step.kind !== 'delete') await check(asked[i % asked.length]!);
        }
        await run({ kind: 'deliver', records: records().reverse() });
        for (const kind of ['flush', 'archive', 'roll up', 'purge'] as const) {
          await run({ kind });
          for (const question of asked) await check(question);
        }
        await check({ ...asked[0]!, stepMs: DAY, days: [9, 0], asksOnce: true });
        expect(await rollUp()).toBe(0);
      }),
      { numRuns: IS_LONG ? 100 : 8 },
    );
    // If this fails, no answer from rollups was compared.
    expect(days).toBeGreaterThan(0);
  });

  test.each(['before', 'after'] as const)(
    'leave no object behind when the archiver is killed %s a commit, and none of an attempt that had more objects',
    async (phase) => {
      const { run, ref, records } = pipeline();
      const archived = async (entry: Entry) => {
        await run(entry);
        await run({ kind: 'deliver', records: records() });
        for (const kind of ['flush', 'archive'] as const) await run({ kind });
      };
      const post = (value: number) =>
        archived({ kind: 'post', host: 'h', times: TIMES.slice(0, 1), values: { b: value } });
      class Killed extends RollupDirectory {
        override async commit(...asked: Parameters<RollupDirectory['commit']>): Promise<never> {
          if (phase === 'after') await super.commit(...asked);
          throw new Error('killed');
        }
      }
      const killed = async () => {
        const failures: string[] = [];
        await rollUpPartitions({ ...tiers, rollups: new Killed(tiers.meta, 460 * DAY) }, [ref], {
          hasTime: () => true,
          onFailure: (_, __, { message }) => failures.push(message),
        });
        expect(failures).toEqual(['killed', 'killed']);
      };
      const stored = async () => [...(await tiers.objects(bucketKeys.rollupsOf(ref.tenantId))).keys()].sort();
      const named = async () =>
        [...(await rollups.states(ref)).values()].flatMap((text) => namesOfState(JSON.parse(text))).sort();
      const behind = async () =>
        mustRollUp({ rollups }, ref, await tiers.manifest.days(ref, '1970-01-01', '9999-12-31'));
      await post(1);
      expect(await behind()).toBe(true);
      await run({ kind: 'roll up' });
      expect(await behind()).toBe(false);
      await post(2);
      await killed();
      expect(await behind()).toBe(phase === 'before');
      expect(await stored()).toHaveLength(4);
      await post(3);
      await run({ kind: 'roll up' });
      expect(await stored()).toHaveLength(2);
      expect(await stored()).toEqual(await named());
      await post(4);
      await killed();
      await archived({
        kind: 'delete',
        host: 'h',
        deletion: { selector: { name: 'b', isPrefix: false }, ...ALL_TIME },
      });
      await run({ kind: 'roll up' });
      expect([await stored(), await named()]).toEqual([[], []]);
    },
  );

  test('no longer list a source whose last samples were deleted, and list the other sources of its object as before', async () => {
    const { run, ref, records, read, expected } = pipeline();
    const archived = async (...entries: Entry[]) => {
      for (const entry of entries) await run(entry);
      await run({ kind: 'deliver', records: records() });
      for (const kind of ['flush', 'archive', 'roll up'] as const) await run({ kind });
    };
    const [first, last] = [dayOf(TIMES[0]!), dayOf(midnight)];
    const listed = (host: Host) =>
      rollups.of(ref.tenantId, sourceIdOf(ref.tenantId, sourceOf.host(host)), DAY, first, last);
    const sizes = () => Promise.all(HOSTS.map(async (host) => (await listed(host)).size));
    const times = [midnight - 6 * DAY];
    await archived(...HOSTS.map((host): Entry => ({ kind: 'post', host, times, values: { b: 1 } })));
    expect(await sizes()).toEqual(HOSTS.map(() => 1));
    const [gone] = HOSTS;
    const deletion = { selector: { name: '', isPrefix: true }, ...ALL_TIME };
    await archived({ kind: 'delete', host: gone, deletion });
    expect(await sizes()).toEqual(HOSTS.map((host) => (host === gone ? 0 : 1)));
    for (const host of HOSTS) {
      const question = { stepMs: DAY, aggregate: 'sum', host, days: [9, 0], asksOnce: true } as const;
      expect((await read(question)).answers).toEqual(expected(question));
    }
  });
});

function namesOfState({ parts }: SpanState): string[] {
  return parts.map(({ key }) => key);
}

/** The range of the query, in whole steps. */
function rangeOf({ stepMs, days: [from, to] }: Pick<Question, 'stepMs' | 'days'>) {
  return {
    fromMs: Math.floor((midnight - from * DAY) / stepMs) * stepMs,
    toMs: Math.ceil((midnight - to * DAY) / stepMs) * stepMs,
  };
}

/** The samples as plain arrays, in which all NaNs are equal. */
function shown({ timestamps, values }: Samples): Samples {
  return { timestamps: Array.from(timestamps), values: Array.from(values) };
}
