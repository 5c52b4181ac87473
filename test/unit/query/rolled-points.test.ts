/** PromQL and steps over rollups: every answer equals the one from samples. */
import { Random } from '../../../scripts/faults/random';
import { AGGREGATES, downsample } from '../../../shared/model/aggregates';
import { labelsOf } from '../../../shared/model/labels';
import { equals } from '../../../shared/model/matcher';
import { STALE_BITS } from '../../../shared/promql/memory-store';
import { type QueryOptions, rangeQuery } from '../../../shared/promql/query';
import { stepGrains } from '../../../shared/query/plan';
import { IS_LONG } from '../../support/long';
import { anyQuery, anySamples, expectSame } from '../../support/rolled-queries';
import { RolledStore } from '../../support/rolled-store';
import { SEED } from '../../support/seed';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WORLDS = IS_LONG ? 1_000 : 15;
const QUERIES = 40;
const limits = { maxSeries: 1000, maxSamples: 1_000_000, maxValues: 1_000_000 };
const onSamples: QueryOptions = { limits, isLate: () => false };
const onRollups: QueryOptions = { ...onSamples, rollups: { grainsMs: [HOUR, DAY], leastRangeMs: 0 } };

test(`rollups give what samples give (SEED=${SEED})`, async () => {
  const random = new Random(SEED);
  let [rolled, all] = [0, 0];
  for (let world = 0; world < WORLDS; world++) {
    const dayOfSamples = random.integer(8, 15) * DAY;
    const store = new RolledStore((dayMs) => dayMs !== dayOfSamples);
    for (let n = random.integer(1, 3); n > 0; n--)
      for (const [ms, value] of anySamples(random, 10 * DAY, 14 * DAY))
        store.memory.add(labelsOf(['__name__', 'x'], ['n', String(n)]), ms, value);
    for (let i = 0; i < QUERIES; i++) {
      const query = anyQuery(random, (12 * DAY) / 1000);
      const stepMs = random.pick([HOUR, 2 * HOUR, DAY, 30 * MINUTE]);
      const startMs = 11 * DAY + random.pick([0, 0, 0, HOUR, MINUTE]);
      const lookbackMs = random.pick([5 * MINUTE, 5 * MINUTE, HOUR, 2 * DAY]);
      const range = { startMs, endMs: startMs + 2 * DAY, stepMs };
      const before = store.points;
      const found = await rangeQuery(store, query, range, { ...onRollups, lookbackMs });
      if (store.points > before) rolled++;
      all++;
      const right = await rangeQuery(store, query, range, { ...onSamples, lookbackMs });
      expectSame({ world, query, ...range, lookbackMs }, found, right);
    }
  }
  expect(rolled / all).toBeGreaterThan(0.3);
});

const FUNCTIONS = [
  ...['avg', 'min', 'max', 'sum', 'count', 'last', 'first', 'present'].map((of) => `${of}_over_time`),
  ...['rate', 'increase', 'delta'],
];

test.each([
  { what: 'is the greatest', values: [9, 1, 2, 3, 4, 5] },
  { what: 'is the least, and others fall', values: [1, 7, 3, 5, 4, 6] },
  { what: 'is the least of a counter', values: [1, 2, 3, 4, 5, 6] },
  { what: 'is followed by a reset', values: [50, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11] },
  {
    what: 'is followed by a reset, and another',
    values: [50, 1, 2, 3, 4, 5, 6, 7, 8, 9, 2, ...Array(10).fill(3)],
  },
  { what: 'is the only one', values: [5] },
  { what: 'is one of two', values: [5, 6] },
  { what: 'is a thousand times the others', values: [1e3, 0.1, 0.2, 0.3] },
])('every function is exact where the sample at the start of an hour $what', async ({ values }) => {
  const store = new RolledStore();
  for (let hour = 0; hour < 5; hour++)
    for (const [i, value] of values.entries())
      store.memory.add(labelsOf(['__name__', 'x']), 10 * DAY + hour * HOUR + i * 2 * MINUTE, value);
  const range = { startMs: 10 * DAY + HOUR, endMs: 10 * DAY + 6 * HOUR, stepMs: HOUR };
  for (const query of FUNCTIONS.flatMap((of) => [`${of}(x[1h])`, `${of}(x[3h])`]))
    expectSame(
      { query },
      await rangeQuery(store, query, range, onRollups),
      await rangeQuery(store, query, range, onSamples),
    );
  expect(store.points).toBeGreaterThan(0);
});

test(`steps over rollups are those of samples (SEED=${SEED})`, async () => {
  const random = new Random(SEED);
  const matchers = [equals('__name__', 'x')];
  const rolledUp = new Set<string>();
  for (let world = 0; world < WORLDS; world++) {
    const store = new RolledStore((dayMs) => (dayMs / DAY) % 2 === 0);
    for (const [ms, value] of anySamples(random, 8 * DAY, 15 * DAY))
      store.memory.add(labelsOf(['__name__', 'x']), ms, random.chance(0.01) ? STALE_BITS : value);
    for (const aggregate of AGGREGATES)
      for (const stepMs of [HOUR, 6 * HOUR, DAY, 7 * DAY]) {
        const range = { fromMs: 7 * DAY, toMs: 21 * DAY };
        const before = store.points;
        const found = await store.select(matchers, range, { grains: stepGrains(stepMs, aggregate) });
        if (store.points > before) rolledUp.add(aggregate);
        const right = await store.memory.select(matchers, range);
        const steps = ({ series }: typeof found) =>
          series.map((each) => {
            const { timestamps, values } = downsample(each, stepMs, aggregate);
            return { timestamps: Array.from(timestamps), values: Array.from(values) };
          });
        expect({ world, stepMs, aggregate, steps: steps(found) }).toEqual({
          world,
          stepMs,
          aggregate,
          steps: steps(right),
        });
      }
  }
  expect(rolledUp.size).toBe(AGGREGATES.length);
});
