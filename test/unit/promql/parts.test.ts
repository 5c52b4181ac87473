/** Range queries whose vectors do not fit in memory at once, and are evaluated in parts. */
import { Random } from '../../../scripts/faults/random';
import { labelsOf } from '../../../shared/model/labels';
import type { Matcher } from '../../../shared/model/matcher';
import type { TimeRange } from '../../../shared/model/selection';
import { TooManyValuesError } from '../../../shared/promql/errors';
import { MemorySampleStore } from '../../../shared/promql/memory-store';
import {
  type QueryLimits,
  type QueryOptions,
  type QueryResult,
  rangeQuery,
} from '../../../shared/promql/query';
import type { SampleStore, SelectOptions } from '../../../shared/promql/store';
import { PromqlExpressions } from '../../support/promql-expressions';
import { randomSamples } from '../../support/random-samples';
import { SEED } from '../../support/seed';

const MINUTE = 60_000;
const WIDE: QueryLimits = { maxSeries: 1000, maxSamples: 1_000_000, maxValues: 1_000_000 };
const ask = (store: SampleStore, text: string, limits: Partial<QueryLimits> = {}, range = TEN) =>
  rangeQuery(store, text, range, { limits: { ...WIDE, ...limits }, isLate: () => false });
const TEN = { startMs: 0, endMs: 9 * MINUTE, stepMs: MINUTE };

/** Asks for admission before it reads, and records what it reads. */
class AdmittedStore implements SampleStore {
  readonly reads: TimeRange[] = [];
  releases = 0;

  constructor(private readonly memory: MemorySampleStore) {}

  async select(matchers: readonly Matcher[], range: TimeRange, { admit }: SelectOptions = {}) {
    const selected = await this.memory.select(matchers, range);
    admit?.(selected.series.length);
    this.reads.push(range);
    return selected;
  }

  release(): void {
    this.releases++;
  }
}

/** Series of one sample a minute. */
function storeOf(...series: [name: string, a: string][]): AdmittedStore {
  const memory = new MemorySampleStore();
  for (const [name, a] of series)
    for (let ms = 0; ms < 10 * MINUTE; ms += MINUTE)
      memory.add(labelsOf(['__name__', name], ['a', a]), ms, ms + Number(a));
  return new AdmittedStore(memory);
}

const four = () => storeOf(['x', '1'], ['x', '2'], ['x', '3'], ['x', '4']);

test('a query that fits is read at once', async () => {
  const store = four();
  await ask(store, 'sum(x)', { maxValues: 50 });
  expect(store.reads).toEqual([{ fromMs: -5 * MINUTE + 1, toMs: 9 * MINUTE + 1 }]);
  expect(store.releases).toBe(0);
});

test('a query that does not fit reads nothing until its steps are few enough, then each part once', async () => {
  const store = four();
  const result = await ask(store, 'sum(x)', { maxValues: 20 });
  // Four series of ten steps are 40 values, and five steps 20. Their sums take five more, so three steps are left.
  expect(store.reads.map(({ toMs }) => toMs)).toEqual(
    [5, 3, 6, 9, 10].map((step) => (step - 1) * MINUTE + 1),
  );
  expect(result.value).toEqual((await ask(four(), 'sum(x)')).value);
  expect(store.releases).toBe(5);
});

test('limits of series and samples hold for each part', async () => {
  const limits = { maxValues: 25, maxSeries: 4, maxSamples: 36 };
  await expect(ask(four(), 'sum(x)', { ...limits, maxValues: 100 })).rejects.toThrow('selects 40 samples');
  expect((await ask(four(), 'sum(x)', limits)).samples).toBe(20 + 36);
});

test('a result that does not fit is refused as soon as that is known', async () => {
  const store = four();
  await expect(ask(store, 'x', { maxValues: 39 })).rejects.toThrow(
    'the query needs more than 39 values in memory',
  );
  expect(store.reads).toHaveLength(2);
});

test('the last step of a subquery that does not fit is read, since some of its series may have no samples', async () => {
  const store = four();
  await expect(ask(store, 'sum(max_over_time(x[1h:1m]))', { maxValues: 200 })).rejects.toThrow(
    TooManyValuesError,
  );
  expect(store.reads).toHaveLength(1);
});

test('a query may fit, although the store found more series than have samples', async () => {
  const { memory } = four() as unknown as { memory: MemorySampleStore };
  const store: SampleStore = {
    select: (matchers, range, { admit } = {}) => {
      admit?.(1000);
      return memory.select(matchers, range);
    },
  };
  expect((await ask(store, 'sum(x)', { maxValues: 50 })).value).toEqual((await ask(four(), 'sum(x)')).value);
});

test('series that differ only by name are compared at all steps, though the query does not fit', async () => {
  // The two series have no step in common.
  const memory = new MemorySampleStore();
  memory.add(labelsOf(['__name__', 'x']), 0, 1);
  memory.add(labelsOf(['__name__', 'y']), 9 * MINUTE, 1);
  const count = 'count(max_over_time({__name__=~"x|y"}[1m]))';
  const text = `${count} + ${count}`;
  // The two selectors make 40 values, but not at the same time.
  for (const maxValues of [1000, 35])
    await expect(ask(new AdmittedStore(memory), text, { maxValues })).rejects.toThrow(
      'vector cannot contain metrics with the same labelset',
    );
  await expect(ask(new AdmittedStore(memory), text, { maxValues: 19 })).rejects.toThrow(TooManyValuesError);
  expect(
    (await ask(new AdmittedStore(memory), text.replaceAll('|y', ''), { maxValues: 19 })).value,
  ).toMatchObject({
    type: 'matrix',
    series: [{ timestamps: Float64Array.of(0), values: Float64Array.of(2) }],
  });
});

test.each([
  { name: 'nearly cancel each other out', values: [-0.1, 0.1] },
  { name: 'exceed float64 together', values: [1e308, 1.5e308] },
])('a query that cannot be divided reads samples where sums of rollups $name', async ({ values }) => {
  const hourMs = 60 * MINUTE;
  const memory = new MemorySampleStore();
  for (const name of ['x', 'y'])
    for (let hour = 1; hour <= 10; hour++)
      memory.add(labelsOf(['__name__', name], ['a', name]), hour * hourMs, values[hour % 2]!);
  const wants: boolean[] = [];
  const store: SampleStore = {
    select: async (matchers, range, { grains, admit } = {}) => {
      const { series, warnings } = await memory.select(matchers, range);
      admit?.(series.length);
      wants.push(grains !== undefined);
      const points = series.map((each) => ({
        ...each,
        counts: new Float64Array(each.values.length).fill(1),
      }));
      return { series: grains === undefined ? series : points, warnings };
    },
  };
  const count = 'count(sum_over_time({__name__=~"x|y"}[2h]))';
  const range = { startMs: 2 * hourMs, endMs: 10 * hourMs, stepMs: hourMs };
  const run = (maxValues: number) =>
    rangeQuery(store, `${count} + ${count} + ${count}`, range, {
      rollups: { grainsMs: [hourMs], widenedMs: undefined, leastRangeMs: 0 },
      limits: { ...WIDE, maxValues },
      isLate: () => false,
    });
  const { value } = await run(1000);
  expect(wants.splice(0)).toEqual([true, false]);
  // The three selectors make 54 values, but not at the same time.
  expect((await run(50)).value).toEqual(value);
  expect(wants).toEqual([true, false, true, false]);
});

test('each part reads rollups if the whole query would, although its own range is short', async () => {
  const { memory } = four() as unknown as { memory: MemorySampleStore };
  const grains: unknown[] = [];
  const store: SampleStore = {
    select: async (matchers, range, { grains: requested, admit } = {}) => {
      const selected = await memory.select(matchers, range);
      admit?.(selected.series.length);
      grains.push(requested?.edges);
      return selected;
    },
  };
  const kindsOf = async (rollups: QueryOptions['rollups'], maxValues: number) => {
    await rangeQuery(store, 'sum(max_over_time(x[90s]))', TEN, {
      rollups,
      limits: { ...WIDE, maxValues },
      isLate: () => false,
    });
    return grains.splice(0);
  };
  const leastRangeMs = 10 * MINUTE;
  const widened = { grainsMs: [7 * MINUTE], widenedMs: MINUTE, leastRangeMs };
  expect(await kindsOf(widened, 100)).toEqual(['widened']);
  // The fourth part has a single step.
  expect(new Set(await kindsOf(widened, 20))).toEqual(new Set(['widened']));
  expect(new Set(await kindsOf({ ...widened, leastRangeMs: 2 * leastRangeMs }, 20))).toEqual(
    new Set([undefined]),
  );
});

test('@ and durations of the range refer to the whole range in each part', async () => {
  for (const text of ['x @ end() + x', 'sum_over_time(x[range()])', 'x @ start() offset -5m - x'])
    expect((await ask(four(), text, { maxValues: 50 })).value).toEqual((await ask(four(), text)).value);
});

test(`random queries (SEED=${SEED}) have the same results in parts`, async () => {
  const random = new Random(SEED).next;
  const store = new AdmittedStore(randomSamples(random));
  const expressions = new PromqlExpressions(random);
  const range = { startMs: 10 * MINUTE, endMs: 20 * MINUTE, stepMs: 30_000 };
  let inParts = 0;
  for (let i = 0; i < 400; i++) {
    const text = expressions.expression(4);
    const whole = await ask(store, text, {}, range).catch((error: Error) => error);
    const maxValues = Math.floor(10 ** (1 + random() * 2.5));
    const before = store.releases;
    const parts = await ask(store, text, { maxValues }, range).catch((error: Error) => error);
    if (parts instanceof TooManyValuesError) continue;
    expect({ text, maxValues, ...shown(parts) }).toEqual({ text, maxValues, ...shown(whole) });
    if (store.releases > before && !(parts instanceof Error)) inParts++;
  }
  expect(inParts).toBeGreaterThan(40);
});

const DUPLICATES = /^(found duplicate series for the match group|multiple matches for labels:).*/s;

function shown(result: QueryResult | Error) {
  // Each part finds the first duplicates of its own steps, on either side.
  if (result instanceof Error) return { message: result.message.replace(DUPLICATES, 'duplicates') };
  const { value, warnings, infos } = result;
  // Each part warns of its first wrong quantile. A part of one step may be sorted.
  const remarks = [...warnings, ...infos].filter((text) => !/quantile value|sort is ineffective/.test(text));
  return { value, remarks: remarks.sort() };
}
