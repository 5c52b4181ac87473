import { Random } from '../../../scripts/faults/random';
import { labelsOf } from '../../../shared/model/labels';
import { grainPoints } from '../../../shared/promql/grains';
import { MemorySampleStore, STALE_BITS } from '../../../shared/promql/memory-store';
import { instantQuery, type QueryOptions, type QueryResult, rangeQuery } from '../../../shared/promql/query';
import { grainWithin } from '../../../shared/promql/resolution';
import type { SampleStore } from '../../../shared/promql/store';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const [FROM, TO] = [10 * DAY, 15 * DAY];
const SEED = Number(process.env.FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));

test.each([
  { resolution: 0, stepMs: DAY, stored: [HOUR, DAY], grainMs: undefined },
  { resolution: 5 * MINUTE, stepMs: DAY, stored: [HOUR, DAY], grainMs: undefined },
  { resolution: 5 * MINUTE, stepMs: DAY, stored: [HOUR, DAY, MINUTE], grainMs: MINUTE },
  { resolution: HOUR, stepMs: MINUTE, stored: [HOUR, DAY], grainMs: HOUR },
  { resolution: 2 * DAY, stepMs: MINUTE, stored: [HOUR, DAY], grainMs: DAY },
  { resolution: HOUR, stepMs: DAY, stored: [], grainMs: undefined },
  { resolution: 'auto' as const, stepMs: 30 * MINUTE, stored: [HOUR, DAY], grainMs: undefined },
  { resolution: 'auto' as const, stepMs: 30 * MINUTE, stored: [HOUR, DAY, MINUTE], grainMs: MINUTE },
  { resolution: 'auto' as const, stepMs: HOUR, stored: [HOUR, DAY, MINUTE], grainMs: HOUR },
  { resolution: 'auto' as const, stepMs: DAY, stored: [HOUR, DAY], grainMs: HOUR },
  { resolution: 'auto' as const, stepMs: 5 * DAY, stored: [HOUR, DAY], grainMs: DAY },
  { resolution: 'auto' as const, stepMs: undefined, stored: [HOUR, DAY], grainMs: HOUR },
])('$resolution at a step of $stepMs ms, of $stored: $grainMs', ({ resolution, stepMs, stored, grainMs }) => {
  expect(grainWithin(resolution, stepMs, stored)).toBe(grainMs);
});

/** A store that aggregates its samples to grains. */
class GrainStore implements SampleStore {
  readonly memory = new MemorySampleStore();
  readonly reads: unknown[] = [];

  async select(...[matchers, range, grains]: Parameters<SampleStore['select']>) {
    this.reads.push(grains === undefined ? range : { ...range, ...grains });
    const selected = await this.memory.select(matchers, range);
    if (grains === undefined) return selected;
    const pointsOf = grainPoints(grains);
    return {
      ...selected,
      series: selected.series.map(({ labels, ...samples }) => pointsOf(labels, samples, undefined)),
    };
  }
}

const limits = { maxSeries: 1000, maxSamples: 1_000_000, maxPoints: 1_000_000 };
const exact: QueryOptions = { limits, isLate: () => false };
const widened: QueryOptions = { ...exact, rollups: { grainMs: HOUR, leastRangeMs: DAY } };

function textsOf({ value }: QueryResult): string[] {
  if (!('series' in value)) throw new Error(value.type);
  return value.series.map(
    ({ labels, timestamps, values }) =>
      `${labels.map((pair) => pair.join('=')).join(',')} ${Array.from(timestamps, (ms, i) => `${ms}:${Number(values[i]!.toPrecision(12))}`).join(' ')}`,
  );
}

describe(`grains that replace samples (FUZZ_SEED=${SEED})`, () => {
  const store = new GrainStore();
  const random = new Random(SEED).next;
  // No sample lies on a grain's edge, because there a grain and a window differ: a window contains its end and
  // not its start, a grain its start and not its end.
  for (const [series, every] of [1, 7, 45].entries()) {
    const labels = labelsOf(['__name__', 'x_total'], ['a', String(series)]);
    let [counter, gap] = [0, 0];
    for (let ms = FROM - DAY + MINUTE / 2; ms < TO; ms += every * MINUTE) {
      if (random() < 0.001) gap = ms + random() * 5 * HOUR;
      if (ms < gap) continue;
      counter += Math.floor(random() * 100);
      store.memory.add(labels, ms, counter);
    }
  }
  const range = { startMs: FROM + HOUR, endMs: TO - HOUR, stepMs: HOUR };

  test.each(
    ['avg', 'min', 'max', 'sum', 'count', 'last', 'first'].flatMap((of) =>
      ['1h', '6h'].map((d) => ({ of, d })),
    ),
  )('$of over windows of $d that are made of grains is what samples give', async ({ of, d }) => {
    const query = `${of}_over_time(x_total[${d}])`;
    const answer = await rangeQuery(store, query, range, widened);
    expect(textsOf(answer)).toEqual(textsOf(await rangeQuery(store, query, range, exact)));
    expect(answer.infos).toEqual([
      expect.stringContaining('rollups of 3600s stand for samples as max_source_resolution allows'),
    ]);
  });

  test.each(['rate', 'increase', 'delta'])(
    '%s of a counter without gaps is near what samples give',
    async (of) => {
      const whole = new GrainStore();
      let counter = 0;
      for (let ms = FROM - DAY; ms < TO; ms += MINUTE) {
        counter += Math.floor(random() * 100);
        whole.memory.add(labelsOf(['__name__', 'y_total']), ms, counter);
      }
      const [near, right] = await Promise.all(
        [widened, exact].map(async (options) => {
          const { value } = await rangeQuery(whole, `${of}(y_total[6h])`, range, options);
          return 'series' in value ? value.series[0]!.values : new Float64Array();
        }),
      );
      expect(near).toHaveLength(119);
      // A window has 360 samples. Only those at its two ends differ.
      for (const [i, value] of near!.entries()) expect(Math.abs(value / right![i]! - 1)).toBeLessThan(0.02);
    },
  );

  test('a plain selector finds the last value of the grain that its lookback touches', async () => {
    const answer = await rangeQuery(store, 'x_total{a="2"}', range, widened);
    const last = await rangeQuery(store, 'last_over_time(x_total{a="2"}[1h])', range, exact);
    expect(textsOf(answer)).toEqual(textsOf(last));
  });

  test('windows that do not consist of whole grains are widened', async () => {
    const at = { ...range, startMs: FROM + HOUR + 10 * MINUTE };
    const near = await rangeQuery(store, 'count_over_time(x_total{a="1"}[5m])', at, widened);
    const whole = await rangeQuery(store, 'count_over_time(x_total{a="1"}[1h] offset -50m)', at, exact);
    expect(textsOf(near)).toEqual(textsOf(whole));
  });
});

describe('the selectors that read grains', () => {
  const from = { startMs: FROM, endMs: FROM + 2 * DAY, stepMs: HOUR };
  const readsOf = async (query: string, options = widened) => {
    const store = new GrainStore();
    await rangeQuery(store, query, from, options);
    return store.reads;
  };
  const hours = (aggregate: string, fromMs: number, toMs = FROM + 2 * DAY) => ({
    ...{ fromMs, toMs },
    ...{ grainMs: HOUR, aggregate },
  });

  test.each([
    { query: 'x', reads: [hours('last', FROM - HOUR)] },
    { query: 'sum(rate(x[90m]))', reads: [hours('last', FROM - 3 * HOUR)] },
    { query: 'max_over_time(x[1h]) + x', reads: [hours('max', FROM - HOUR), hours('last', FROM - HOUR)] },
    { query: 'timestamp(x)', reads: [{ fromMs: FROM - 5 * MINUTE + 1, toMs: FROM + 2 * DAY + 1 }] },
    { query: 'stddev_over_time(x[1h])', reads: [{ fromMs: FROM - HOUR + 1, toMs: FROM + 2 * DAY + 1 }] },
    { query: 'x @ 0', reads: [{ fromMs: -5 * MINUTE + 1, toMs: 1 }] },
  ])('$query', async ({ query, reads }) => {
    expect(await readsOf(query)).toEqual(reads);
  });

  test('are none unless the query allows it', async () => {
    expect(await readsOf('x', exact)).toEqual([{ fromMs: FROM - 5 * MINUTE + 1, toMs: FROM + 2 * DAY + 1 }]);
  });
});

test('a grain with a NaN is left out of averages, and a series that ended has no value', async () => {
  const store = new GrainStore();
  const labels = labelsOf(['__name__', 'x']);
  for (let hour = 0; hour < 48; hour++) store.memory.add(labels, FROM + hour * HOUR + 1, hour);
  store.memory.add(labels, FROM + 47 * HOUR + 2, STALE_BITS);
  const at = FROM + 48 * HOUR;
  const average = await instantQuery(store, 'avg_over_time(x[2d])', at, widened);
  expect(textsOf(average)).toEqual([` ${at}:23`]);
  const range = { startMs: FROM + DAY, endMs: at, stepMs: DAY };
  expect(textsOf(await rangeQuery(store, 'x', range, widened))).toEqual([`__name__=x ${FROM + DAY}:23`]);
});

test('an increase includes the reset of a counter between two grains', async () => {
  const store = new GrainStore();
  const labels = labelsOf(['__name__', 'x_total']);
  for (const [hour, value] of [10, 20, 5, 15].entries())
    store.memory.add(labels, FROM + hour * HOUR + 1, value);
  const options = { ...widened, rollups: { grainMs: HOUR, leastRangeMs: 0 } };
  const increase = (text: string) => instantQuery(store, text, FROM + 4 * HOUR, options);
  expect(textsOf(await increase('increase(x_total[3h])'))).toEqual([` ${FROM + 4 * HOUR}:25`]);
  expect(textsOf(await increase('delta(x_total[3h])'))).toEqual([` ${FROM + 4 * HOUR}:5`]);
  // The increase is that of the requested window.
  expect(textsOf(await increase('increase(x_total[30m])'))).toEqual([` ${FROM + 4 * HOUR}:5`]);
});
