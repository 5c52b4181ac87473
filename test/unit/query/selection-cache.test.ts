import { SeriesIndex } from '../../../shared/catalogue/series-index';
import { labelsOf } from '../../../shared/model/labels';
import { layoutOf } from '../../../shared/model/layout';
import { equals } from '../../../shared/model/matcher';
import { shapeOf } from '../../../shared/model/shape';
import { type CacheableView, SelectionCache } from '../../../shared/query/selection-cache';

/** A view of hosts that each post one metric. */
function viewOf(token: string, hosts: readonly string[]): CacheableView {
  const index = new SeriesIndex();
  for (const [i, host] of hosts.entries()) {
    const { id, bytes } = layoutOf([labelsOf(['__name__', 'up'], ['host', host])]);
    const { common, shape } = shapeOf(bytes);
    index.addShape(shape);
    index.add({ group: `group${i}`, layoutId: id, common, shapeId: shape.id, windowMs: 3_600_000 });
  }
  return {
    index,
    live: new Uint8Array(hosts.length).fill(1),
    joined: { names: [], of: () => undefined },
    firstMs: new Float64Array(hosts.length),
    token,
  };
}

const [ADA, BOB] = ['ada', 'bob'] as const;
const LIMITS = { series: 10, sources: 10, samples: 10 };
const UP = [equals('__name__', 'up')];
const hostsIn = (found: ReturnType<SelectionCache['of']>) =>
  found.flatMap(({ source }) => source.map(([, host]) => host)).sort();

describe('the cache of selections', () => {
  const one = viewOf('1', ['a']);
  const two = viewOf('2', ['a', 'b']);

  test('selects anew only when the index has changed', () => {
    const cache = new SelectionCache();
    const first = cache.of(ADA, one, UP, LIMITS);
    expect(hostsIn(first)).toEqual(['a']);
    expect(cache.of(ADA, viewOf('1', []), UP, LIMITS)).toBe(first);
    expect(hostsIn(cache.of(ADA, two, UP, LIMITS))).toEqual(['a', 'b']);
    expect(hostsIn(cache.of(ADA, one, UP, LIMITS))).toEqual(['a']);
  });

  test('never gives a tenant, or other matchers, what it selected for another', () => {
    const cache = new SelectionCache();
    cache.of(ADA, one, UP, LIMITS);
    expect(hostsIn(cache.of(BOB, viewOf('1', ['of bob']), UP, LIMITS))).toEqual(['of bob']);
    expect(cache.of(ADA, one, [equals('__name__', 'down')], LIMITS)).toEqual([]);
    const [own] = cache.of(ADA, one, UP, LIMITS);
    const [other] = new SelectionCache().of(BOB, one, UP, LIMITS);
    expect(own!.sourceId).not.toBe(other!.sourceId);
  });

  test.each([{ series: 1 }, { sources: 1 }])(
    'holds a selection that it has to lower limits, too: %j',
    (lower) => {
      const cache = new SelectionCache();
      expect(cache.of(ADA, two, UP, LIMITS)).toHaveLength(2);
      expect(() => cache.of(ADA, two, UP, { ...LIMITS, ...lower })).toThrow('selects more than 1');
      expect(cache.of(ADA, two, UP, { ...LIMITS, series: 2, sources: 2 })).toHaveLength(2);
    },
  );
});
