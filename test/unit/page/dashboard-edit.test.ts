// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of dashboards look like template strings
import * as fc from 'fast-check';
import {
  movedBy,
  type Place,
  placeBelow,
  readingOrder,
  resizedBy,
  withPlace,
} from '../../../functions/page/browser/dashboards/arrangement';
import {
  ALL,
  type Chosen,
  chosenOf,
  namesIn,
  queryText,
  shownText,
  widgetWithVariables as withVariables,
} from '../../../functions/page/browser/dashboards/variables';
import { fieldsOf, newWidget, widgetWith } from '../../../functions/page/browser/dashboards/widget-fields';
import type { Variable, Widget } from '../../../shared/registry/dashboard';
import { parseLabelValues } from '../../../shared/registry/label-values';

const at = (x: number, y: number, width: number, height: number): Place => ({ x, y, width, height });
const textIn = (layout: Place): Widget => ({ type: 'markdown', title: '', markdown: '', layout });
const placesOf = (widgets: readonly Widget[]) => widgets.map(({ layout }) => layout);

describe('the arrangement of widgets', () => {
  test.each([
    ['stays within the left and the top', movedBy(at(2, 1, 8, 4), -5, -5), at(0, 0, 8, 4)],
    ['stays within the right', movedBy(at(2, 1, 8, 4), 99, 0), at(16, 1, 8, 4)],
    ['grows up to the right', resizedBy(at(20, 1, 2, 4), 9, 1), at(20, 1, 4, 5)],
    ['keeps a column and a row', resizedBy(at(20, 1, 2, 4), -9, -9), at(20, 1, 1, 1)],
  ])('a widget %s', (_, place, expected) => {
    expect(place).toEqual(expected);
  });

  test('widgets in the way move down, and so do those below them; others stay the same objects', () => {
    const widgets = [at(0, 0, 8, 4), at(8, 0, 8, 4), at(8, 4, 8, 4), at(16, 0, 8, 4)].map(textIn);
    const placed = withPlace(widgets, 0, at(6, 2, 8, 4));
    expect(placesOf(placed)).toEqual([at(6, 2, 8, 4), at(8, 6, 8, 4), at(8, 10, 8, 4), at(16, 0, 8, 4)]);
    expect(placed[3]).toBe(widgets[3]);
  });

  test('a layout keeps fields that are not known here', () => {
    const widget = textIn({ ...at(0, 0, 8, 4), later: 1 } as Place);
    expect(withPlace([widget], 0, at(1, 0, 8, 4))[0]!.layout).toEqual({ ...at(1, 0, 8, 4), later: 1 });
  });

  test('no widgets overlap, and the one that was placed is where it was put', () => {
    const place = fc.record({
      x: fc.integer({ min: 0, max: 23 }),
      y: fc.integer({ min: 0, max: 40 }),
      width: fc.integer({ min: 1, max: 24 }),
      height: fc.integer({ min: 1, max: 12 }),
    });
    void fc.assert(
      fc.property(
        fc.array(place, { minLength: 1, maxLength: 20 }),
        fc.nat(),
        place,
        (places, which, target) => {
          const index = which % places.length;
          const placed = placesOf(withPlace(places.map(textIn), index, target));
          const width = Math.min(target.width, 24 - target.x);
          expect(placed[index]).toEqual({ ...target, width });
          for (const [i, a] of placed.entries())
            for (const b of placed.slice(i + 1))
              expect(
                a.x >= b.x + b.width ||
                  b.x >= a.x + a.width ||
                  a.y >= b.y + b.height ||
                  b.y >= a.y + a.height,
              ).toBe(true);
        },
      ),
    );
  });

  test('a new widget is below all others, and they are read from top to bottom', () => {
    const widgets = [at(0, 9, 8, 4), at(8, 0, 8, 4), at(0, 0, 8, 4)].map(textIn);
    expect(placeBelow(widgets, 12, 8)).toEqual(at(0, 13, 12, 8));
    expect(placeBelow([], 12, 8)).toEqual(at(0, 0, 12, 8));
    expect(readingOrder(widgets)).toEqual([2, 1, 0]);
  });
});

describe('the form of a widget', () => {
  const layout = { ...at(0, 0, 8, 8), later: 1 };
  const widgets: Widget[] = [
    {
      type: 'graph',
      title: null,
      layout,
      later: 1,
      graph: { type: 'host', hostId: 'h', name: 'n', later: [] },
      range: null,
    },
    {
      type: 'graph',
      title: 't',
      layout,
      graph: { type: 'role', roleFullname: 'a: b', name: 'n', isStacked: null },
    },
    {
      type: 'graph',
      title: '',
      layout,
      graph: { type: 'service', serviceName: 's', name: 'n' },
      legendList: ['a'],
    },
    { type: 'graph', title: '', layout, graph: { type: 'expression', expression: 'host(h, n)' } },
    {
      type: 'graph',
      title: '',
      layout,
      graph: { type: 'query', query: 'up', legend: null },
      showsTable: true,
    },
    {
      type: 'graph',
      title: '',
      layout,
      graph: { type: 'unknown' },
      referenceLines: [{ label: 'l', value: 1, color: 'r' }],
    },
    {
      type: 'value',
      title: '',
      layout,
      metric: { type: 'query', query: 'up', legend: '' },
      fractionSize: null,
      suffix: null,
    },
    {
      type: 'value',
      title: '',
      layout,
      metric: { type: 'unknown' },
      formatRules: [{ name: 'n', threshold: 1, operator: '<' }],
    },
    { type: 'markdown', title: '', layout, markdown: null },
    { type: 'alertStatus', title: '', layout, roleFullname: null },
  ];

  test.each(widgets)('without a change, %j stays as it is', (widget) => {
    const fields = fieldsOf(widget);
    expect(widgetWith(widget, fields, fields)).toEqual(widget);
  });

  const changed = (widget: Widget, changes: Partial<ReturnType<typeof fieldsOf>>) => {
    const fields = fieldsOf(widget);
    return widgetWith(widget, fields, { ...fields, ...changes });
  };

  test.each<[string, Widget, Partial<ReturnType<typeof fieldsOf>>, Partial<Record<string, unknown>>]>([
    ['a title', widgets[0]!, { title: 'x' }, { title: 'x' }],
    ['a metric', widgets[0]!, { name: 'x' }, { graph: { type: 'host', hostId: 'h', name: 'x', later: [] } }],
    [
      'another source',
      widgets[0]!,
      { source: 'query', query: 'up' },
      { graph: { type: 'query', query: 'up', legend: '' } },
    ],
    ['a place', widgets[2]!, { x: '3', width: '99' }, { layout: { ...at(3, 0, 21, 8), later: 1 } }],
    ['a line', widgets[5]!, { lineValue: '2' }, { referenceLines: [{ label: 'l', value: 2, color: 'r' }] }],
    ['no line', widgets[5]!, { lineValue: '' }, { referenceLines: [] }],
    [
      'a limit',
      widgets[7]!,
      { threshold: '2', operator: '>' },
      { formatRules: [{ name: 'n', threshold: 2, operator: '>' }] },
    ],
    ['no limit', widgets[7]!, { threshold: '' }, { formatRules: [] }],
    ['decimals', widgets[6]!, { fractionSize: '3' }, { fractionSize: 3 }],
    ['no table', widgets[4]!, { showsTable: false }, { showsTable: false }],
  ])('%s alone is changed', (_, widget, changes, expected) => {
    expect(changed(widget, changes)).toEqual({ ...widget, ...expected });
  });

  test('a widget of another kind keeps its title and its place', () => {
    expect(changed(widgets[0]!, { type: 'value', source: 'service', serviceName: 's', name: 'n' })).toEqual({
      type: 'value',
      title: null,
      layout,
      fractionSize: 2,
      metric: { type: 'service', serviceName: 's', name: 'n' },
    });
    expect(changed(widgets[0]!, { type: 'markdown', markdown: 'x' })).toEqual({
      type: 'markdown',
      title: null,
      layout,
      markdown: 'x',
    });
  });

  test.each(['graph', 'value', 'markdown', 'alertStatus'] as const)(
    'a new %s is filled in its form',
    (type) => {
      const widget = newWidget(type, layout);
      expect(changed(widget, { title: 'x' })).toEqual({ ...widget, title: 'x' });
    },
  );
});

describe('variables', () => {
  const one: Variable = { name: 'job' };
  const several: Variable = { name: 'job', isMultiple: true, hasAll: true };
  const valuesOf = (variable: Variable, chosen: Chosen) => new Map([[variable.name, { variable, chosen }]]);

  test.each<[string, Variable, Chosen, string, string]>([
    ['a single value', one, ['api'], 'up{job="$job"}', 'up{job="api"}'],
    ['a single value with quotes', one, ['a"\\b'], 'up{job="$job"}', 'up{job="a\\"\\\\b"}'],
    ['a duration', one, ['5m'], 'rate(up[$job])', 'rate(up[5m])'],
    ['one of several', several, ['a.b'], 'up{job=~"$job"}', 'up{job=~"a\\\\.b"}'],
    ['several', several, ['a', 'b|"c'], 'up{job=~"${job}"}', 'up{job=~"(a|b\\\\|\\"c)"}'],
    ['all', several, ALL, 'up{job=~"[[job]]"}', 'up{job=~".+"}'],
    ['all of a list', { ...several, values: ['a', 'b'] }, ALL, 'up{job=~"$job"}', 'up{job=~"(a|b)"}'],
    ['all by a value', { ...several, allValue: 'x.*' }, ALL, 'up{job=~"$job"}', 'up{job=~"x.*"}'],
    ['a format', several, ['a.b', 'c'], '${job:raw} ${job:regex}', 'a.b,c (a\\\\.b|c)'],
    ['other names', one, ['api'], '$jobs $__interval ${1} $ $$', '$jobs $__interval ${1} $ $$'],
  ])('%s replaces its variable in a query', (_, variable, chosen, query, expected) => {
    expect(queryText(query, valuesOf(variable, chosen))).toBe(expected);
  });

  test.each<[Variable, string[] | undefined, string[] | undefined, Chosen | undefined]>([
    [one, undefined, undefined, undefined],
    [one, ['a', 'b'], undefined, ['a']],
    [one, ['a', 'b'], ['b'], ['b']],
    [one, ['a', 'b'], ['b', 'a'], ['b']],
    [{ ...one, chosen: ['b'] }, ['a', 'b'], undefined, ['b']],
    [several, ['a'], undefined, ALL],
    [several, ['a'], [ALL, 'a'], ALL],
    [several, ['a', 'b'], ['b', 'a'], ['b', 'a']],
    [{ ...several, chosen: ['b'] }, undefined, undefined, ['b']],
  ])('%j with the values %j and the choice %j has %j', (variable, known, picked, chosen) => {
    expect(chosenOf(variable, known, picked)).toEqual(chosen);
  });

  test('are replaced in texts by what people read, and are found in each notation', () => {
    expect(shownText('Jobs $job', valuesOf(several, ['a', 'b']))).toBe('Jobs a, b');
    expect(shownText('Jobs ${job}', valuesOf(several, ALL))).toBe('Jobs all');
    expect(namesIn('$a ${b:csv} [[c]] $1')).toEqual(['a', 'b', 'c']);
  });

  test('a widget has values in its title, query and legend, and keeps the rest', () => {
    const layout = at(0, 0, 8, 8);
    const graph = { type: 'query', query: 'up{job="$job"}', legend: '$job {{x}}', later: 1 } as const;
    const widget: Widget = { type: 'graph', title: 'Of $job', layout, graph, later: 1 };
    expect(withVariables(widget, valuesOf(one, ['a']))).toEqual({
      ...widget,
      title: 'Of a',
      graph: { ...graph, query: 'up{job="a"}', legend: 'a {{x}}' },
    });
    expect(withVariables(widget, new Map())).toBe(widget);
  });

  test.each([
    ['label_values(job)', { label: 'job' }],
    [' label_values( up{a="b,c"} , job ) ', { selector: 'up{a="b,c"}', label: 'job' }],
    ['label_values(up, job) or 1', undefined],
    ['label_values()', undefined],
    ['metrics(up)', undefined],
  ])('%j is parsed', (query, expected) => {
    expect(parseLabelValues(query)).toEqual(expected);
  });
});
