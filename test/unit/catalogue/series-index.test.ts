import fc from 'fast-check';
import { SeriesIndex } from '../../../shared/catalogue/series-index';
import { type JoinedLabels, NOTHING_JOINED } from '../../../shared/catalogue/shape-columns';
import { type Labels, labelsKey, labelsOf, labelValue } from '../../../shared/model/labels';
import { layoutOf } from '../../../shared/model/layout';
import { compileMatcher, equals, isIn, type Matcher, seriesTest } from '../../../shared/model/matcher';
import { shapeOf } from '../../../shared/model/shape';
import {
  bySource,
  DEFAULT_LIMITS,
  matchesOf,
  SelectLimitError,
  withJoined,
} from '../../../shared/query/find-series';
import { ReadBudget } from '../../../shared/query/read-budget';

/** An index of layouts, numbered from 0. */
function indexOf(layouts: readonly (readonly Labels[])[]) {
  const index = new SeriesIndex();
  for (const [i, series] of layouts.entries()) {
    const { id, bytes } = layoutOf(series);
    const { common, shape } = shapeOf(bytes);
    index.addShape(shape);
    index.add({ group: `group${i}`, layoutId: id, common, shapeId: shape.id, windowMs: 3_600_000 });
  }
  return index;
}

const all = (index: SeriesIndex) => new Uint8Array(index.layoutCount).fill(1);

function selected(
  index: SeriesIndex,
  matchers: readonly Matcher[],
  { live, joined = NOTHING_JOINED }: { live?: Uint8Array; joined?: JoinedLabels } = {},
): string[] {
  const matches = index.select(matchers.map(compileMatcher), live ?? all(index), joined);
  return bySource(matches, matchers, DEFAULT_LIMITS)
    .flatMap(({ series }) => series.map(labelsKey))
    .sort();
}

const cpu = (host: string, mode: string) => labelsOf(['__name__', 'cpu'], ['host', host], ['mode', mode]);
const load = (host: string, ...more: [string, string][]) =>
  labelsOf(['__name__', 'load'], ['host', host], ...more);

test('of a shape without the metric, only one layout is tested', () => {
  const index = indexOf(
    Array.from({ length: 50 }, (_, i) => [cpu(`web${i}`, 'user'), cpu(`web${i}`, 'idle'), load(`web${i}`)]),
  );
  const matchers = [{ label: 'host', op: '=~', value: '.*b.*' } as const, equals('__name__', 'disk')];
  let tested = 0;
  const spend = () => void tested++;
  expect([...index.select(matchers.map(compileMatcher), all(index), NOTHING_JOINED, spend)]).toEqual([]);
  expect(tested).toBe(1);
});

const FLEET = [
  [cpu('web1', 'user'), cpu('web1', 'idle'), load('web1')],
  [cpu('web2', 'user'), cpu('web2', 'idle'), load('web2')],
  [load('db1', ['rack', 'r1'])],
];

test.each<{ name: string; matchers: Matcher[]; series: Labels[] }>([
  {
    name: 'a name over hosts',
    matchers: [equals('__name__', 'cpu'), equals('mode', 'user')],
    series: [cpu('web1', 'user'), cpu('web2', 'user')],
  },
  {
    name: 'an expression',
    matchers: [{ label: 'host', op: '=~', value: 'web.|db1' }, equals('__name__', 'load')],
    series: [load('db1', ['rack', 'r1']), load('web1'), load('web2')],
  },
  { name: 'an expression is anchored', matchers: [{ label: 'host', op: '=~', value: 'web' }], series: [] },
  {
    name: 'an absent label',
    matchers: [equals('rack', ''), equals('__name__', 'load')],
    series: [load('web1'), load('web2')],
  },
  {
    name: 'a label that is not empty',
    matchers: [{ label: 'rack', op: '!=', value: '' }],
    series: [load('db1', ['rack', 'r1'])],
  },
  {
    name: 'a negated expression, which series without the label pass',
    matchers: [{ label: 'mode', op: '!~', value: 'u.*|x' }, equals('host', 'web2')],
    series: [cpu('web2', 'idle'), load('web2')],
  },
  {
    name: 'one of several values',
    matchers: [isIn('host', ['db1', 'web1']), equals('__name__', 'load')],
    series: [load('db1', ['rack', 'r1']), load('web1')],
  },
  { name: 'a label that nothing has', matchers: [equals('zone', 'a')], series: [] },
])('$name selects $series.length series', ({ matchers, series }) => {
  expect(selected(indexOf(FLEET), matchers)).toEqual(series.map(labelsKey).sort());
});

test('a slow expression over many long values ends when the time is up', () => {
  const index = indexOf([
    Array.from({ length: 500 }, (_, i) => load(`${'a'.repeat(1_000)}${i}`, ['instance', 'i'])),
  ]);
  const slow: Matcher = { label: 'host', op: '=~', value: '.*a.{900}b' };
  let looks = 0;
  const budget = new ReadBudget(DEFAULT_LIMITS, () => ++looks === 3);
  const view = { index, live: all(index), joined: NOTHING_JOINED };
  let steps = 0;
  const spend = (more: number) => {
    steps += more;
    budget.spend(more);
  };
  const find = () => bySource(matchesOf({ ...view, spend }, [slow]), [slow], DEFAULT_LIMITS);
  expect(find).toThrow(expect.objectContaining({ limit: 'time' }));
  // One value takes 900 instructions for each of its 1,000 characters. The search stops after a few of the
  // 500 values.
  expect(steps / (900 * 1_000)).toBeLessThan(10);
  // The other selectors of the query stop, too.
  expect(() => budget.check()).toThrow(expect.objectContaining({ limit: 'time' }));
});

test('layouts that are not live are left out', () => {
  const index = indexOf([[load('today')], [load('yesterday')]]);
  expect(selected(index, [], { live: Uint8Array.of(1, 0) })).toEqual([labelsKey(load('today'))]);
  expect(selected(index, [])).toHaveLength(2);
});

test('labels of the registry match like stored labels, and a stored label takes precedence', () => {
  const index = indexOf([...FLEET, [load('web3', ['role', 'own'])]]);
  const roles = new Map<string, Labels>([
    ['web1', [['role', 'app']]],
    ['web3', [['role', 'app']]],
  ]);
  const joined = { names: ['role'], of: (host: string) => roles.get(host) };
  const select = (matcher: Matcher) => selected(index, [equals('__name__', 'load'), matcher], { joined });
  expect(select(equals('role', 'app'))).toEqual([labelsKey(load('web1'))]);
  expect(select(equals('role', 'own'))).toEqual([labelsKey(load('web3', ['role', 'own']))]);
  expect(select(equals('role', ''))).toEqual(
    [load('db1', ['rack', 'r1']), load('web2')].map(labelsKey).sort(),
  );
});

test('a source that had several layouts has each series once', () => {
  const index = indexOf([
    [cpu('a', 'user'), load('a')],
    [cpu('a', 'user'), cpu('a', 'idle')],
  ]);
  expect(selected(index, [])).toHaveLength(3);
});

test.each([
  { limits: { sources: 2 }, message: '{} selects more than 2 sources; narrow it by labels' },
  { limits: { series: 6 }, message: '{} selects more than 6 series; narrow it by labels' },
])('$message', ({ limits, message }) => {
  const index = indexOf(FLEET);
  const find = () =>
    bySource(index.select([], all(index), NOTHING_JOINED), [], { ...DEFAULT_LIMITS, ...limits });
  expect(find).toThrow(SelectLimitError);
  expect(find).toThrow(message);
});

test('selects what testing each series selects, whatever the layouts', () => {
  const name = fc.constantFrom('__name__', 'host', 'instance', 'job', 'a', 'role');
  const value = fc.constantFrom('x', 'y', 'xy', 'z');
  const labels = fc
    .dictionary(name, value, { minKeys: 1 })
    .map((pairs) => labelsOf(...Object.entries({ ...pairs, __name__: pairs.__name__ ?? 'n' })));
  const layout = fc.uniqueArray(labels, { minLength: 1, maxLength: 6, selector: labelsKey });
  const matcher = fc.record({
    label: name,
    op: fc.constantFrom('=', '!=', '=~', '!~'),
    value: fc.constantFrom('', 'x', 'y', 'x.*', 'x|y', '.+'),
  }) as fc.Arbitrary<Matcher>;
  const joined = { names: ['role'], of: (host: string): Labels => [['role', `${host}y`]] };
  fc.assert(
    fc.property(
      fc.array(layout, { maxLength: 5 }),
      fc.array(matcher, { maxLength: 3 }),
      (layouts, matchers) => {
        const isMatch = seriesTest(matchers);
        const all = new Map(layouts.flat().map((each) => [labelsKey(each), each]));
        const expected = [...all.values()].filter((each) => {
          const host = labelValue(each, 'host');
          return isMatch(withJoined(each, host === undefined ? [] : joined.of(host)));
        });
        const found = selected(indexOf(layouts), matchers, { joined });
        expect(found).toEqual(expected.map(labelsKey).sort());
      },
    ),
    { numRuns: 500 },
  );
});
