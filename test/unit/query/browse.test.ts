import { SeriesIndex } from '../../../shared/catalogue/series-index';
import { type Labels, labelsOf } from '../../../shared/model/labels';
import { layoutOf } from '../../../shared/model/layout';
import { equals } from '../../../shared/model/matcher';
import { shapeOf } from '../../../shared/model/shape';
import { cardinality, findSeries, labelNames, labelValues } from '../../../shared/query/browse';
import { DEFAULT_LIMITS, type IndexView } from '../../../shared/query/find-series';

const named = (name: string, ...labels: [string, string][]) => labelsOf(['__name__', name], ...labels);
const LAYOUTS: readonly (readonly Labels[])[] = [
  [
    named('load', ['host', 'a']),
    named('cpu', ['host', 'a'], ['mode', 'user']),
    named('cpu', ['host', 'a'], ['mode', 'idle']),
  ],
  // The same source at a later time, with one series more and one less.
  [named('load', ['host', 'a']), named('disk', ['host', 'a']), named('cpu', ['host', 'a'], ['mode', 'idle'])],
  [
    named('load', ['host', 'b']),
    named('cpu', ['host', 'b'], ['mode', 'user']),
    named('cpu', ['host', 'b'], ['mode', 'idle']),
  ],
  // Series of two sources in one layout.
  [named('up', ['instance', 'i1'], ['job', 'j']), named('up', ['instance', 'i2'], ['job', 'j'])],
];

const view: IndexView = {
  index: new SeriesIndex(),
  live: new Uint8Array(LAYOUTS.length).fill(1),
  joined: {
    names: ['hostname', 'role'],
    of: (host) =>
      host === 'a'
        ? [
            ['hostname', 'web1'],
            ['role', 'app'],
          ]
        : undefined,
  },
};
for (const [i, series] of LAYOUTS.entries()) {
  const { id, bytes } = layoutOf(series);
  const { common, shape } = shapeOf(bytes);
  view.index.addShape(shape);
  view.index.add({ group: `group${i}`, layoutId: id, common, shapeId: shape.id, windowMs: 3_600_000 });
}

test('label names are listed for all or selected series, including joined labels', () => {
  expect(labelNames(view, [])).toEqual(['__name__', 'host', 'hostname', 'instance', 'job', 'mode', 'role']);
  expect(labelNames(view, [[equals('__name__', 'load')]])).toEqual(['__name__', 'host', 'hostname', 'role']);
  expect(labelNames(view, [[equals('host', 'b')], [equals('job', 'j')]])).toEqual([
    '__name__',
    'host',
    'instance',
    'job',
    'mode',
  ]);
});

test.each([
  { label: '__name__', selectors: [], values: ['cpu', 'disk', 'load', 'up'] },
  { label: 'mode', selectors: [], values: ['idle', 'user'] },
  { label: 'instance', selectors: [], values: ['i1', 'i2'] },
  { label: 'hostname', selectors: [], values: ['web1'] },
  { label: 'hostname', selectors: [[equals('host', 'b')]], values: [] },
  { label: 'host', selectors: [[equals('role', 'app')]], values: ['a'] },
  {
    label: '__name__',
    selectors: [[equals('host', 'b')], [equals('job', 'j')]],
    values: ['cpu', 'load', 'up'],
  },
  { label: 'none', selectors: [], values: [] },
])('values of $label in $selectors.length selectors', ({ label, selectors, values }) => {
  expect(labelValues(view, label, selectors)).toEqual(values);
});

test('series of several selectors come once, with the labels of the registry', () => {
  const found = findSeries(
    view,
    [[equals('__name__', 'load')], [equals('role', 'app'), equals('mode', '')]],
    DEFAULT_LIMITS,
  );
  expect(found).toHaveLength(3);
  expect(found).toContainEqual(named('disk', ['host', 'a'], ['hostname', 'web1'], ['role', 'app']));
  expect(found).toContainEqual(named('load', ['host', 'b']));
});

test('cardinality counts each series once', () => {
  expect(cardinality(view, 3)).toEqual({
    series: 9,
    labelPairs: 11,
    seriesByName: [
      { name: 'cpu', count: 4 },
      { name: 'load', count: 2 },
      { name: 'up', count: 2 },
    ],
    valuesByLabel: [
      { name: '__name__', count: 4 },
      { name: 'host', count: 2 },
      { name: 'mode', count: 2 },
    ],
    seriesByPair: [
      { name: '__name__=cpu', count: 4 },
      { name: 'host=a', count: 4 },
      { name: 'host=b', count: 3 },
    ],
    bytesByLabel: [
      { name: '__name__', count: 13 },
      { name: 'mode', count: 8 },
      { name: 'instance', count: 4 },
    ],
  });
});
