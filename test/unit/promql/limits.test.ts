import { labelsOf } from '../../../shared/model/labels';
import { countValues } from '../../../shared/promql/aggregate';
import { PromqlError } from '../../../shared/promql/errors';
import { MemorySampleStore } from '../../../shared/promql/memory-store';
import { instantQuery, type QueryLimits, rangeQuery } from '../../../shared/promql/query';
import { Budget, VALUES_PER_CHECK } from '../../../shared/promql/vectors';

const store = new MemorySampleStore();
for (const a of ['1', '2', '3', '4'])
  for (let ms = 0; ms < 600_000; ms += 60_000) store.add(labelsOf(['__name__', 'x'], ['a', a]), ms, ms);

const WIDE: QueryLimits = { maxSeries: 4, maxSamples: 40, maxValues: 1000 };
const range = { startMs: 0, endMs: 540_000, stepMs: 60_000 };

test.each<{ limits: Partial<QueryLimits>; text: string; message: string }>([
  {
    limits: { maxSeries: 3 },
    text: 'x',
    message: "the query selects 4 series; at most 3 are allowed by the tenant's limit querySeries",
  },
  { limits: { maxSeries: 7 }, text: 'x + (x offset 1h)', message: 'the query selects 8 series; at most 7' },
  { limits: { maxSamples: 39 }, text: 'x', message: 'the query selects 40 samples; at most 39 are allowed' },
  { limits: { maxValues: 39 }, text: 'x', message: 'the query needs more than 39 values in memory' },
  { limits: { maxValues: 1000 }, text: 'sum(x)[10m:1ms]', message: 'expression type "range vector"' },
  {
    limits: {},
    text: 'sum_over_time(x[10m:1s])',
    message: 'the query needs more than 1000 values in memory',
  },
  // There are no series, but constants have a value for each step, too.
  {
    limits: {},
    text: 'sum_over_time(vector(1)[30d:1ms])',
    message: 'the query needs more than 1000 values in memory',
  },
  {
    limits: {},
    text: 'max_over_time(vector(time())[1y:1s])',
    message: 'the query needs more than 1000 values',
  },
  {
    limits: {},
    text: 'sum_over_time((1 < bool 2 + vector(3))[1000m:1m])',
    message: 'the query needs more than 1000 values in memory',
  },
  {
    limits: {},
    text: `sum_over_time(vector(${'1+('.repeat(50)}time()${')'.repeat(50)})[1m:1s])`,
    message: 'the query needs more than 1000 values in memory',
  },
])('$text is refused within $limits', async ({ limits, text, message }) => {
  const query = rangeQuery(store, text, range, { limits: { ...WIDE, ...limits }, isLate: () => false });
  await expect(query).rejects.toThrow(PromqlError);
  await expect(query).rejects.toThrow(message);
});

test.each<{ called: string; twice: (text: string) => string }>([
  { called: 'label_join', twice: (text) => `label_join(${text}, "a", "", "a", "a")` },
  { called: 'label_replace', twice: (text) => `label_replace(${text}, "a", "$1$1", "a", "(.*)")` },
])('$called cannot double a label until memory is full', async ({ twice }) => {
  let text = 'x';
  for (let i = 0; i < 40; i++) text = twice(text);
  const query = instantQuery(store, text, 540_000, { limits: WIDE, isLate: () => false });
  await expect(query).rejects.toThrow('label_replace and label_join make label values of more than 32000000');
});

test.each([
  'topk(1, vector(time()))',
  'quantile(0.5, vector(time()))',
  'vector(time()) - on () vector(1)',
  'histogram_quantile(0.5, label_replace(vector(time()), "le", "+Inf", "", ""))',
  'day_of_month(vector(time()))',
  'count_values("v", vector(1))',
])('%s checks its time many times, although it has a single series', async (text) => {
  const steps = 100_000;
  let looks = 0;
  await instantQuery(store, `max_over_time((${text})[${steps}s:1s])`, 540_000, {
    limits: { ...WIDE, maxValues: 10 * steps },
    isLate: () => ++looks > steps,
  });
  expect(looks).toBeGreaterThan(steps / VALUES_PER_CHECK);
});

test('count_values counts each series that it makes, before it makes the next one', () => {
  const steps = 1_000;
  const budget = new Budget(10_000, () => false);
  const values = Float64Array.from({ length: steps }, (_, step) => step);
  const input = { steps, labels: [labelsOf()], values, present: new Uint8Array(steps).fill(1) };
  expect(() => countValues('v', { without: false, labels: [] }, input, budget)).toThrow(PromqlError);
  expect(budget.peakValues).toBeLessThanOrEqual(10_000 + steps);
});

test('intermediate vectors that an expression no longer needs do not count towards its limit', async () => {
  const text = 'sum(x) + sum(x) + sum(x) + sum(x) + sum(x) + sum(x)';
  await rangeQuery(store, text, range, { limits: { ...WIDE, maxValues: 80 }, isLate: () => false });
});

test('values of scalars that an expression no longer needs do not count either', async () => {
  const text = `vector(${Array(100).fill('time()').join('+')})`;
  await rangeQuery(store, text, range, { limits: { ...WIDE, maxValues: 60 }, isLate: () => false });
});

test('selectors of the same series share a read', async () => {
  const reads: Parameters<MemorySampleStore['select']>[] = [];
  const counting = {
    select: async (...args: Parameters<MemorySampleStore['select']>) => {
      reads.push(args);
      return store.select(...args);
    },
  };
  const { samples } = await instantQuery(counting, 'rate(x[5m]) / (x + x offset 1m)', 540_000, {
    limits: WIDE,
    isLate: () => false,
  });
  expect(reads.map(([matchers, range]) => [matchers, range])).toEqual([
    [[{ label: '__name__', op: '=', value: 'x' }], { fromMs: 180_001, toMs: 540_001 }],
  ]);
  expect(samples).toBe(24);
});

test('label_replace checks the time for each series, since a regular expression may take long for one', async () => {
  let looks = 0;
  const query = instantQuery(store, 'label_replace(x, "b", "$1", "a", "(.*)")', 0, {
    limits: WIDE,
    // The evaluation checks the clock three times before it relabels the four series.
    isLate: () => ++looks === 6,
  });
  await expect(query).rejects.toMatchObject({ kind: 'timeout' });
});

test('a query that runs out of time is refused', async () => {
  const query = instantQuery(store, 'sum(x)', 0, { limits: WIDE, isLate: () => true });
  await expect(query).rejects.toMatchObject({ kind: 'timeout' });
});
