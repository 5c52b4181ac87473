import type { Matcher } from '../../../shared/model/matcher';
import { staleMarkers } from '../../../shared/model/sample-columns';
import type { TimeRange } from '../../../shared/model/selection';
import { PromqlError } from '../../../shared/promql/errors';
import { MemorySampleStore, STALE_BITS } from '../../../shared/promql/memory-store';
import { OverlayStore } from '../../../shared/promql/overlay-store';
import { parsePromql } from '../../../shared/promql/parser';
import { instantQuery } from '../../../shared/promql/query';
import { SharedReads } from '../../../shared/promql/shared-reads';
import type { SampleStore } from '../../../shared/promql/store';

const OPTIONS = { limits: { maxSeries: 100, maxSamples: 1000, maxValues: 1000 }, isLate: () => false };
const SERIES = [
  ['__name__', 'x'],
  ['job', 'a'],
] as const;

/** Samples of x every 15 s. The value is the number of seconds. */
function storeOfX(): MemorySampleStore {
  const store = new MemorySampleStore();
  for (let s = 0; s <= 3600; s += 15) store.add(SERIES, s * 1000, s);
  return store;
}

describe('reads that several expressions share', () => {
  const reads: TimeRange[] = [];
  const counted = (): SampleStore => ({
    select: (matchers: readonly Matcher[], range: TimeRange) => {
      reads.push(range);
      return storeOfX().select(matchers, range);
    },
  });

  test('read each selector once for all times, and give the results of separate reads', async () => {
    reads.length = 0;
    const exprs = ['x', 'rate(x[5m])', 'max_over_time(x[1m:15s]) - x', 'sum(x) by (job)'];
    const times = [3_000_000, 3_060_000, 3_120_000];
    const shared = new SharedReads(counted);
    for (const atMs of times) for (const expr of exprs) shared.expect(parsePromql(expr), atMs);
    for (const atMs of times)
      for (const expr of exprs) {
        const own = await instantQuery(storeOfX(), expr, atMs, OPTIONS);
        expect((await instantQuery(shared, expr, atMs, OPTIONS)).value).toEqual(own.value);
      }
    expect(reads).toHaveLength(1);
  });

  test('leave out series that have no sample in the range', async () => {
    const shared = new SharedReads(storeOfX);
    shared.expect(parsePromql('x'), 3_000_000);
    shared.expect(parsePromql('x[1h]'), 4_200_000);
    const late = { fromMs: 3_900_001, toMs: 4_200_000 };
    const matchers = [{ label: '__name__', op: '=', value: 'x' }] as const;
    expect((await shared.select(matchers, late)).series).toEqual([]);
  });

  test('begin together with the first evaluation, and fail separately', async () => {
    reads.length = 0;
    const shared = new SharedReads(() => ({
      select: async (matchers, range) => {
        if (matchers.some((matcher) => matcher.op === '=' && matcher.value === 'y'))
          throw new Error('refused');
        return counted().select(matchers, range);
      },
    }));
    for (const expr of ['x', 'y', 'x{job="a"}']) shared.expect(parsePromql(expr), 3_000_000);
    const value = await instantQuery(shared, 'x', 3_000_000, OPTIONS);
    expect(value).toMatchObject({ samples: 20 });
    expect(reads).toHaveLength(2);
    await expect(instantQuery(shared, 'y', 3_000_000, OPTIONS)).rejects.toThrow('refused');
    expect(await instantQuery(shared, 'x{job="a"}', 3_000_000, OPTIONS)).toMatchObject({ samples: 20 });
    expect(reads).toHaveLength(2);
  });

  test('give the results of separate reads although the joined ranges exceed a limit', async () => {
    reads.length = 0;
    const shared = new SharedReads(() => ({
      select: async (matchers, range) => {
        if (range.toMs - range.fromMs > 400_000) throw new PromqlError('execution', 'too many samples');
        return counted().select(matchers, range);
      },
    }));
    // These are the ticks of a rule that catches up.
    const times = [3_000_000, 3_060_000, 3_120_000];
    for (const atMs of times) shared.expect(parsePromql('sum_over_time(x[5m])'), atMs);
    for (const atMs of times) {
      const own = await instantQuery(storeOfX(), 'sum_over_time(x[5m])', atMs, OPTIONS);
      expect((await instantQuery(shared, 'sum_over_time(x[5m])', atMs, OPTIONS)).value).toEqual(own.value);
    }
    expect(reads).toHaveLength(3);
    await expect(instantQuery(shared, 'x[10m]', 3_000_000, OPTIONS)).rejects.toThrow('too many samples');
  });

  test('do not join ranges that do not touch, and read an unexpected selection separately', async () => {
    reads.length = 0;
    const shared = new SharedReads(counted);
    shared.expect(parsePromql('x - x offset 40m'), 3_000_000);
    await instantQuery(shared, 'x - x offset 40m', 3_000_000, OPTIONS);
    expect(reads).toHaveLength(2);
    await instantQuery(shared, 'x', 1_500_000, OPTIONS);
    expect(reads).toHaveLength(3);
    await instantQuery(shared, 'x', 1_500_000, OPTIONS);
    expect(reads).toHaveLength(3);
  });

  test('that have begun are not extended by what is expected afterwards', async () => {
    reads.length = 0;
    const shared = new SharedReads(counted);
    await instantQuery(shared, 'x', 1_500_000, OPTIONS);
    shared.expect(parsePromql('x[10m]'), 1_560_000);
    const { value } = await instantQuery(shared, 'count_over_time(x[10m])', 1_560_000, OPTIONS);
    expect(value).toEqual(
      (await instantQuery(storeOfX(), 'count_over_time(x[10m])', 1_560_000, OPTIONS)).value,
    );
    expect(reads).toHaveLength(2);
  });
});

test('the upper store wins at equal times, adds its own series, and keeps stale markers', async () => {
  const upper = new MemorySampleStore();
  upper.add(SERIES, 30_000, -1);
  upper.add(SERIES, 40_000, STALE_BITS);
  upper.add([['__name__', 'y']], 0, 7);
  const store = new OverlayStore(storeOfX(), upper);
  const { series } = await store.select([], { fromMs: 0, toMs: 60_000 });
  expect(series).toHaveLength(2);
  expect([...series[0]!.timestamps]).toEqual([0, 15_000, 30_000, 40_000, 45_000]);
  expect([...series[0]!.values].filter((value) => !Number.isNaN(value))).toEqual([0, 15, -1, 45]);
  expect([...staleMarkers(series[0]!.values)!]).toEqual([0, 0, 0, 1, 0]);
  expect([...series[1]!.values]).toEqual([7]);
});
