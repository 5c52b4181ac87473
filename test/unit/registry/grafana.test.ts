// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of Grafana look like template strings
import * as fc from 'fast-check';
import { dashboardSpec } from '../../../shared/registry/dashboard';
import { convertGrafana, GrafanaError } from '../../../shared/registry/grafana/dashboard';
import { anyCharacter } from '../../support/any-text';

type Fields = Record<string, unknown>;

const convert = (dashboard: Fields) => convertGrafana(JSON.stringify({ title: 'Nodes', ...dashboard }));
const at = (x: number, y: number, w = 12, h = 8) => ({ gridPos: { x, y, w, h } });
const panel = (type: string, fields: Fields = {}) => ({
  type,
  title: 'P',
  ...at(0, 0),
  targets: [{ expr: 'up', legendFormat: '' }],
  ...fields,
});
const defaults = (fields: Fields) => ({ fieldConfig: { defaults: fields } });
/** Converts one panel, without the fields that every widget has. */
const one = (type: string, fields: Fields = {}) => {
  const { dashboard, leftOut } = convert({ panels: [panel(type, fields)] });
  return {
    widgets: dashboard.widgets!.map(({ layout: _, ...widget }) => widget),
    reasons: leftOut.map(({ reason }) => reason),
  };
};
const graph = (query: string, legend = '', fields: Fields = {}) => [
  { type: 'graph', title: 'P', graph: { type: 'query', query, legend }, ...fields },
];
const value = (query: string, fields: Fields = {}) => [
  { type: 'value', title: 'P', metric: { type: 'query', query, legend: '' }, fractionSize: 2, ...fields },
];

describe('a panel of Grafana', () => {
  test.each<[string, ReturnType<typeof one>, Fields[], string[]]>([
    ['timeseries', one('timeseries'), graph('up'), []],
    ['graph of an old release', one('graph'), graph('up'), []],
    [
      'with a legend',
      one('timeseries', { targets: [{ expr: ' up ', legendFormat: '{{job}} on {{instance}}' }] }),
      graph('up', '{{job}} on {{instance}}'),
      [],
    ],
    [
      'with an automatic legend',
      one('timeseries', { targets: [{ expr: 'up', legendFormat: '__auto' }] }),
      graph('up'),
      [],
    ],
    [
      'with a hidden query',
      one('timeseries', { targets: [{ expr: 'down', hide: true }, { expr: 'up' }] }),
      graph('up'),
      [],
    ],
    [
      'with queries that have legends',
      one('timeseries', {
        targets: [
          { expr: 'a', legendFormat: 'costs $5 in $region' },
          { expr: 'b # c', legendFormat: 'read {{device}}' },
          { expr: 'c', legendFormat: '{{job}}/{{instance}}' },
        ],
      }),
      graph(
        [
          'label_replace(a, "legend", "costs $$5 in $region", "", "")',
          'label_replace(b # c\n, "legend", "read ${1}", "device", "(.*)")',
          'label_replace(label_join(c, "legend", "\\n", "job", "instance"), "legend", "${1}/${2}", "legend", "(.*)\\\\n(.*)")',
        ].join(' or '),
        '{{legend}}',
      ),
      [],
    ],
    [
      'with queries of which one has no legend',
      one('timeseries', { targets: [{ expr: 'a', legendFormat: 'A' }, { expr: 'b' }] }),
      graph('label_replace(a, "legend", "A", "", "") or label_replace(b, "legend", "query 2", "", "")'),
      [],
    ],
    [
      'with thresholds that are drawn',
      one('timeseries', {
        ...defaults({
          custom: { thresholdsStyle: { mode: 'line' } },
          thresholds: {
            mode: 'absolute',
            steps: [
              { color: 'green', value: null },
              { color: 'red', value: 80 },
            ],
          },
        }),
      }),
      graph('up', '', { referenceLines: [{ label: 'threshold', value: 80 }] }),
      [],
    ],
    ['table', one('table'), graph('up', '', { showsTable: true }), []],
    ['stat', one('stat'), value('up'), []],
    [
      'gauge',
      one('gauge', defaults({ unit: 'bytes', decimals: 0 })),
      value('up', { suffix: 'B', fractionSize: 0 }),
      [],
    ],
    [
      'of a share',
      one('gauge', {
        ...defaults({
          unit: 'percentunit',
          thresholds: {
            steps: [
              { color: 'green', value: null },
              { color: 'red', value: 0.9 },
            ],
          },
        }),
      }),
      value('100 * (up)', { suffix: '%', formatRules: [{ name: '', threshold: 90, operator: '>' }] }),
      [],
    ],
    [
      'whose high values are good',
      one(
        'stat',
        defaults({
          thresholds: {
            steps: [
              { color: 'red', value: null },
              { color: 'dark-green', value: 1 },
            ],
          },
        }),
      ),
      value('up'),
      [],
    ],
    [
      'of a mean',
      one('stat', { options: { reduceOptions: { calcs: ['mean'] } } }),
      value('avg_over_time((up)[$__range:])'),
      [],
    ],
    [
      'of a reduction that has the name of an inherited property',
      one('stat', { options: { reduceOptions: { calcs: ['constructor'] } } }),
      value('up'),
      ['it shows the last value instead of constructor'],
    ],
    [
      'of another reduction',
      one('stat', { options: { reduceOptions: { calcs: ['diffperc'] } } }),
      value('up'),
      ['it shows the last value instead of diffperc'],
    ],
    [
      'of text',
      one('text', { options: { mode: 'markdown', content: '# hi' } }),
      [{ type: 'markdown', title: 'P', markdown: '# hi' }],
      [],
    ],
    [
      'of HTML',
      one('text', { options: { mode: 'html', content: '<b>' } }),
      [],
      ['text panels of mode html are not imported, only Markdown'],
    ],
    ['heatmap', one('heatmap'), [], ['no widget shows panels of type heatmap']],
    ['without a type', one(7 as never), [], ['no widget shows panels of type ?']],
    [
      'of a library',
      one('', { libraryPanel: { uid: 'a' } }),
      [],
      ['the file does not contain library panels'],
    ],
    ['without queries', one('stat', { targets: [] }), [], ['it has no query']],
    ['with an empty query', one('stat', { targets: [{ expr: ' ' }] }), [], ['a query has no PromQL']],
    [
      'of another data source',
      one('timeseries', { datasource: { type: 'loki', uid: 'x' }, targets: [{ expr: '{app="a"}' }] }),
      [],
      ['its data source is loki, not Prometheus'],
    ],
    [
      'with queries of several data sources',
      one('timeseries', {
        datasource: { type: 'datasource', uid: '-- Mixed --' },
        targets: [
          { expr: 'up', datasource: { type: 'prometheus', uid: 'a' } },
          { query: 'x', datasource: { type: 'influxdb', uid: 'b' } },
          { expression: '$A * 2', datasource: { type: '__expr__', uid: '__expr__' } },
        ],
      }),
      graph('up'),
      [
        'its data source is influxdb, not Prometheus',
        "an expression that Grafana's server evaluates is not PromQL",
      ],
    ],
    [
      'that is repeated and transformed',
      one('timeseries', { repeat: 'job', transformations: [{ id: 'merge' }] }),
      graph('up'),
      [
        'its transformations are not applied',
        'it is not repeated for each $job: one widget shows all chosen values',
      ],
    ],
  ])('%s', (_, found, widgets, reasons) => {
    expect(found).toEqual({ widgets, reasons });
  });

  test.each([
    ['an input', { __inputs: [{ name: 'DS_A', pluginId: 'loki' }] }, '${DS_A}', 0],
    [
      'an input of Prometheus',
      { __inputs: [{ name: 'DS_A', pluginId: 'prometheus' }] },
      { uid: '${DS_A}' },
      1,
    ],
    [
      'a variable',
      { templating: { list: [{ type: 'datasource', name: 'ds', query: 'loki' }] } },
      { uid: '$ds' },
      0,
    ],
    ['a name that nothing explains', {}, 'my metrics', 1],
  ])('names its data source by %s', (_, fields, datasource, count) => {
    const { dashboard } = convert({ ...fields, panels: [panel('timeseries', { datasource })] });
    expect(dashboard.widgets).toHaveLength(count);
  });

  test('with several values is divided into columns, as many as fit', () => {
    const targets = ['a', 'b', 'c'].map((expr) => ({ expr, legendFormat: expr.toUpperCase() }));
    const { dashboard, leftOut } = convert({ panels: [panel('stat', { ...at(3, 1, 5, 4), targets })] });
    expect(dashboard.widgets!.map(({ title, layout }) => [title, layout])).toEqual([
      ['P: A', { x: 3, y: 1, width: 2, height: 4 }],
      ['P: B', { x: 5, y: 1, width: 3, height: 4 }],
    ]);
    expect(leftOut).toEqual([{ title: 'P', reason: 'only its first 2 of 3 queries fit' }]);
  });
});

describe('places', () => {
  const placesOf = (dashboard: Fields) =>
    convert(dashboard).dashboard.widgets!.map(({ title, layout: { x, y, width, height } }) => [
      title,
      x,
      y,
      width,
      height,
    ]);

  test('rows become headings, and panels of a collapsed row stand between its heading and the next row', () => {
    expect(
      placesOf({
        panels: [
          {
            type: 'row',
            title: 'closed',
            ...at(0, 5, 24, 1),
            panels: [
              panel('stat', { title: 'c', ...at(0, 40) }),
              panel('stat', { title: 'd', ...at(12, 40, 12, 9) }),
            ],
          },
          panel('stat', { title: 'a', ...at(0, 0, 24, 5) }),
          { type: 'row', title: 'open', ...at(0, 6, 24, 1), panels: [] },
          panel('stat', { title: 'b', ...at(0, 7) }),
        ],
      }),
    ).toEqual([
      ['a', 0, 0, 24, 5],
      ['closed', 0, 5, 24, 2],
      ['c', 0, 7, 12, 8],
      ['d', 12, 7, 12, 9],
      ['open', 0, 16, 24, 2],
      ['b', 0, 18, 12, 8],
    ]);
  });

  test('rows of old releases lay their panels side by side', () => {
    const rows = [
      {
        title: 'r',
        showTitle: true,
        panels: [
          panel('graph', { title: 'a', span: 8, gridPos: undefined }),
          panel('graph', { title: 'b', span: 8 }),
        ],
      },
      { panels: [panel('graph', { title: 'c', span: 4 })] },
    ];
    expect(placesOf({ rows })).toEqual([
      ['r', 0, 0, 24, 2],
      ['a', 0, 2, 16, 8],
      ['b', 0, 10, 16, 8],
      ['c', 0, 18, 8, 8],
    ]);
  });

  test('places that are not possible are corrected', () => {
    expect(
      placesOf({
        panels: [
          panel('stat', { gridPos: { x: 30, y: -4, w: 99, h: 0.2 } }),
          panel('stat', { gridPos: null }),
        ],
      }),
    ).toEqual([
      ['P', 23, 0, 1, 1],
      ['P', 0, 0, 24, 8],
    ]);
  });
});

describe('variables', () => {
  test.each([
    [
      'values of a label',
      {
        type: 'query',
        name: 'job',
        label: 'Job',
        query: { query: 'label_values(up, job)', refId: 'x' },
        multi: true,
        includeAll: true,
        allValue: '.*',
        current: { value: ['$__all'] },
      },
      {
        name: 'job',
        label: 'Job',
        isMultiple: true,
        hasAll: true,
        allValue: '.*',
        query: 'label_values(up, job)',
      },
      undefined,
    ],
    [
      'values with a regex',
      {
        type: 'query',
        name: 'i',
        query: 'label_values(instance)',
        regex: '/a(.*)/',
        current: { value: 'x' },
      },
      { name: 'i', query: 'label_values(instance)', chosen: ['x'] },
      'its regex is not applied',
    ],
    [
      'a list',
      { type: 'custom', name: 'l', query: 'a, b\\,c,Text : d,a', current: { value: ['a', 'd'] } },
      { name: 'l', values: ['a', 'b,c', 'd'], chosen: ['a', 'd'] },
      undefined,
    ],
    [
      'intervals',
      { type: 'interval', name: 'v', query: '1m,auto,1h', current: { value: '$__auto_interval_v' } },
      { name: 'v', values: ['1m', '1h'] },
      undefined,
    ],
    ['a constant', { type: 'constant', name: 'c', query: 'eu' }, { name: 'c', values: ['eu'] }, undefined],
    ['a text', { type: 'textbox', name: 't', query: 'free' }, { name: 't', chosen: ['free'] }, undefined],
    [
      'another query',
      { type: 'query', name: 'q', query: 'query_result(up)' },
      undefined,
      'its query is neither label_values(label) nor label_values(selector, label)',
    ],
    ['a filter', { type: 'adhoc', name: 'f' }, undefined, 'variables of type adhoc are not supported'],
    [
      'a bad name',
      { type: 'custom', name: 'a b', query: 'a' },
      undefined,
      'its name has characters other than letters, digits and _',
    ],
  ])('%s', (_, given, variable, reason) => {
    const { dashboard, leftOut } = convert({ panels: [], templating: { list: [given] } });
    expect(dashboard.variables).toEqual(variable && [variable]);
    expect(leftOut.map((each) => each.reason)).toEqual(reason === undefined ? [] : [reason]);
  });

  test('a name occurs once, and variables for data sources are left out', () => {
    const list = [
      { type: 'datasource', name: 'ds', query: 'prometheus' },
      { type: 'custom', name: 'a', query: 'x' },
      { type: 'custom', name: 'a', query: 'y' },
    ];
    const { dashboard, leftOut } = convert({ panels: [], templating: { list } });
    expect(dashboard.variables).toEqual([{ name: 'a', values: ['x'] }]);
    expect(leftOut).toEqual([{ title: 'variable a', reason: 'another variable has the same name' }]);
  });
});

describe('a file', () => {
  test.each([
    [
      'of the API',
      { meta: {}, dashboard: { title: 'A', uid: 'rYdddlPWk', description: 'd', panels: [] } },
      'rYdddlPWk',
    ],
    [
      'of a resource',
      { apiVersion: 'v1', spec: { title: 'A', description: 'd', uid: 'a/../b', panels: [] } },
      undefined,
    ],
  ])('%s is read', (_, file, urlPath) => {
    expect(convertGrafana(JSON.stringify(file)).dashboard).toEqual({
      title: 'A',
      memo: 'd',
      urlPath,
      widgets: [],
    });
  });

  test.each([
    ['no JSON', '{', 'the file is not JSON: '],
    ['a list', '[]', 'the file has no panels'],
    ['null', 'null', 'the file has no panels'],
    ['schema 2', '{"spec":{"elements":{}}}', 'the file has version 2 of the schema'],
    ['too long', `"${'a'.repeat(4_000_000)}"`, 'the file has 4000002 characters'],
    ['nested too deep', `{"panels":${'['.repeat(2_000_000)}`, 'nested more than 60 levels'],
  ])('%s is refused', (_, text, message) => {
    expect(() => convertGrafana(text)).toThrow(GrafanaError);
    expect(() => convertGrafana(text)).toThrow(message);
  });

  test('brackets inside texts do not count as nesting', () => {
    const title = `\\"${'['.repeat(100)}`;
    expect(convert({ title, panels: [] }).dashboard.title).toBe(title);
  });

  test('with too many panels loses the last ones, and says so', () => {
    const { dashboard, leftOut } = convert({ panels: Array.from({ length: 20_000 }, () => panel('stat')) });
    expect(dashboard.widgets).toHaveLength(500);
    expect(leftOut).toEqual([{ title: '19500 panels', reason: 'a dashboard has at most 500 widgets' }]);
  });

  test('whatever it has, its dashboard is one that can be stored', () => {
    const keys = [
      'title',
      'type',
      'panels',
      'targets',
      'expr',
      'gridPos',
      'x',
      'y',
      'w',
      'h',
      'legendFormat',
      'options',
      'content',
      'templating',
      'list',
      'name',
      'query',
      'current',
      'value',
      'fieldConfig',
      'defaults',
      'decimals',
      'thresholds',
      'steps',
      'unit',
      '__proto__',
    ];
    const words = [
      'row',
      'stat',
      'gauge',
      'timeseries',
      'table',
      'text',
      'custom',
      'query',
      'constant',
      'label_values(a)',
      'up',
      '{{a}} {{b}}',
      'constructor',
      '',
    ];
    const { json } = fc.letrec((tie) => ({
      json: fc.oneof(
        { maxDepth: 8 },
        fc.oneof(
          fc.constantFrom(...words),
          fc.double(),
          fc.boolean(),
          fc.constant(null),
          fc.string({ unit: anyCharacter }),
        ),
        fc.array(tie('json'), { maxLength: 4 }),
        fc.dictionary(fc.constantFrom(...keys), tie('json')),
      ),
    }));
    void fc.assert(
      fc.property(fc.array(json, { maxLength: 5 }), json, json, (panels, templating, title) => {
        const text = JSON.stringify({ title, panels, templating: { list: [templating] } });
        const { dashboard } = convertGrafana(text);
        expect(dashboardSpec.safeParse(JSON.parse(JSON.stringify(dashboard))).error?.issues).toBeUndefined();
      }),
    );
  });
});
