import { Random } from '../../../scripts/faults/random';
import { labelsOf } from '../../../shared/model/labels';
import { STALE_BITS } from '../../../shared/promql/memory-store';
import { instantQuery, type QueryOptions, type QueryResult, rangeQuery } from '../../../shared/promql/query';
import { grainWithin } from '../../../shared/promql/resolution';
import { RolledStore } from '../../support/rolled-store';
import { SEED } from '../../support/seed';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const [FROM, TO] = [10 * DAY, 15 * DAY];

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

const limits = { maxSeries: 1000, maxSamples: 1_000_000, maxValues: 1_000_000 };
const exact: QueryOptions = { limits, isLate: () => false };
const widened: QueryOptions = {
  ...exact,
  rollups: { grainsMs: [], widenedMs: HOUR, leastRangeMs: DAY },
};

function textsOf({ value }: QueryResult): string[] {
  if (!('series' in value)) throw new Error(value.type);
  return value.series.map(
    ({ labels, timestamps, values }) =>
      `${labels.map((pair) => pair.join('=')).join(',')} ${Array.from(timestamps, (ms, i) => `${ms}:${Number(values[i]!.toPrecision(12))}`).join(' ')}`,
  );
}

describe(`grains that replace samples (SEED=${SEED})`, () => {
  const store = new RolledStore();
  const random = new Random(SEED).next;
  // No sample lies on a grain's edge, because there a grain and a range differ: a range contains its end but not its
  // start, and a grain contains its start but not its end.
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
  )('$of over ranges of $d that are made of grains is what samples give', async ({ of, d }) => {
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
      const whole = new RolledStore();
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
      // A range has 360 samples. Only those at its two ends are different.
      for (const [i, value] of near!.entries()) expect(Math.abs(value / right![i]! - 1)).toBeLessThan(0.02);
    },
  );

  test('a plain selector finds the last value of the grain that its lookback touches', async () => {
    const answer = await rangeQuery(store, 'x_total{a="2"}', range, widened);
    const last = await rangeQuery(store, 'last_over_time(x_total{a="2"}[1h])', range, exact);
    expect(textsOf(answer)).toEqual(textsOf(last));
  });

  test('ranges that do not consist of whole grains are widened', async () => {
    const at = { ...range, startMs: FROM + HOUR + 10 * MINUTE };
    const near = await rangeQuery(store, 'count_over_time(x_total{a="1"}[5m])', at, widened);
    const whole = await rangeQuery(store, 'count_over_time(x_total{a="1"}[1h] offset -50m)', at, exact);
    expect(textsOf(near)).toEqual(textsOf(whole));
  });
});

describe('the selectors that read grains', () => {
  const from = { startMs: FROM, endMs: FROM + 2 * DAY, stepMs: HOUR };
  const readsOf = async (query: string, options = widened) => {
    const store = new RolledStore();
    await rangeQuery(store, query, from, options);
    return store.reads;
  };
  const TO = FROM + 2 * DAY;
  const hours = (use: string, fromMs: number, toMs = TO) => ({
    fromMs,
    toMs,
    grainMs: HOUR,
    use,
    edges: 'widened',
  });
  const whole = (grainMs: number, use: string, fromMs: number, toMs = TO + 1) => ({
    fromMs,
    toMs,
    grainMs,
    use,
    edges: 'exact',
  });

  test.each([
    { query: 'x', reads: [hours('last', FROM - HOUR)] },
    { query: 'sum(rate(x[90m]))', reads: [hours('increase', FROM - 2 * HOUR)] },
    { query: 'max_over_time(x[1h]) + x', reads: [hours('max', FROM - HOUR), hours('last', FROM - HOUR)] },
    { query: 'timestamp(x)', reads: [hours('last', FROM - HOUR)] },
    { query: 'stddev_over_time(x[1h])', reads: [{ fromMs: FROM - HOUR + 1, toMs: TO + 1 }] },
    { query: 'x @ 0', reads: [{ fromMs: -5 * MINUTE + 1, toMs: 1 }] },
  ])('$query', async ({ query, reads }) => {
    expect(await readsOf(query)).toEqual(reads);
  });

  test.each([
    { query: 'max_over_time(x[1h])', reads: [whole(HOUR, 'max', FROM - HOUR + 1)] },
    { query: 'max_over_time(x[1d])', reads: [whole(HOUR, 'max', FROM - DAY + 1)] },
    { query: 'count_over_time(x[1d] @ end())', reads: [whole(DAY, 'count', TO - DAY + 1)], days: 0 },
    { query: 'max_over_time(x[90m])', reads: [{ fromMs: FROM - 90 * MINUTE + 1, toMs: TO + 1 }] },
    { query: 'rate(x[2h] offset 1h)', reads: [whole(HOUR, 'increase', FROM - 3 * HOUR + 1, TO - HOUR + 1)] },
    { query: 'x', reads: [whole(HOUR, 'last', FROM - HOUR + 1)] },
    { query: 'x offset 1m', reads: [{ fromMs: FROM - 6 * MINUTE + 1, toMs: TO - MINUTE + 1 }] },
    { query: 'rate(x[1d:1h])', reads: [whole(HOUR, 'last', FROM - DAY + 1)] },
    // Samples are read anyway.
    {
      query: 'avg_over_time(x[1h]) / stddev_over_time(x[1h])',
      reads: [{ fromMs: FROM - HOUR + 1, toMs: TO + 1 }],
    },
  ])('$query without leave', async ({ query, reads, days = 1 }) => {
    const rollups = { grainsMs: [HOUR, DAY], leastRangeMs: days * DAY };
    expect(await readsOf(query, { ...exact, rollups })).toEqual(reads);
  });

  test('widened ranges of a change, since exact ones need samples where values often fall', async () => {
    const rollups = { grainsMs: [HOUR, DAY], widenedMs: HOUR, leastRangeMs: DAY };
    const read = async (query: string) => readsOf(query, { ...exact, rollups });
    expect(await read('rate(x[1h])')).toEqual([hours('increase', FROM - HOUR)]);
    expect(await read('max_over_time(x[1h])')).toEqual([whole(HOUR, 'max', FROM - HOUR + 1)]);
  });

  test('are none unless the query allows it', async () => {
    expect(await readsOf('x', exact)).toEqual([{ fromMs: FROM - 5 * MINUTE + 1, toMs: FROM + 2 * DAY + 1 }]);
  });
});

test('a day with a stale marker is read as samples, and a series that ended has no value', async () => {
  const store = new RolledStore();
  const labels = labelsOf(['__name__', 'x']);
  for (let hour = 0; hour < 48; hour++) store.memory.add(labels, FROM + hour * HOUR + 1, hour);
  store.memory.add(labels, FROM + 47 * HOUR + 2, STALE_BITS);
  const at = FROM + 48 * HOUR;
  const average = await instantQuery(store, 'avg_over_time(x[2d])', at, widened);
  expect(textsOf(average)).toEqual([` ${at}:23.5`]);
  const range = { startMs: FROM + DAY, endMs: at, stepMs: DAY };
  expect(textsOf(await rangeQuery(store, 'x', range, widened))).toEqual([`__name__=x ${FROM + DAY}:23`]);
});

test("a counter's resets within and between grains are counted in", async () => {
  const store = new RolledStore();
  const labels = labelsOf(['__name__', 'x_total']);
  for (let i = 0; i < 48; i++) store.memory.add(labels, FROM + i * 5 * MINUTE + 1, (i * 7) % 101);
  const options = { ...widened, rollups: { grainsMs: [], widenedMs: HOUR, leastRangeMs: 0 } };
  for (const query of ['increase(x_total[3h])', 'delta(x_total[3h])', 'rate(x_total[4h])']) {
    const found = await instantQuery(store, query, FROM + 4 * HOUR, options);
    const right = await instantQuery(store.memory, query, FROM + 4 * HOUR, exact);
    const [near, value] = [found, right].map((each) => Number(textsOf(each)[0]!.split(':')[1]));
    // A range that was widened to whole hours ends 1 ms earlier than the exact range.
    expect(near! / value!).toBeCloseTo(1, 5);
  }
  expect(store.points).toBeGreaterThan(0);
});

test('a sum whose parts cancel each other out is read from samples', async () => {
  const store = new RolledStore();
  const labels = labelsOf(['__name__', 'x']);
  const values = [1e16, 0.5, -1e16, 0.25];
  for (const [hour, value] of values.entries()) store.memory.add(labels, FROM + hour * HOUR + 1, value);
  const options = { ...exact, rollups: { grainsMs: [HOUR], leastRangeMs: 0 } };
  const sum = await instantQuery(store, 'sum_over_time(x[4h])', FROM + 4 * HOUR, options);
  expect(textsOf(sum)).toEqual([` ${FROM + 4 * HOUR}:0.75`]);
  expect(store.reads).toEqual([
    { fromMs: FROM + 1, toMs: FROM + 4 * HOUR + 1, grainMs: HOUR, use: 'sum', edges: 'exact' },
    { fromMs: FROM + 1, toMs: FROM + 4 * HOUR + 1 },
  ]);
});
