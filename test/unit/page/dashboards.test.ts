import type { Host } from '../../../functions/page/browser/api/api';
import { type MarkdownNode, parseMarkdown } from '../../../functions/page/browser/dashboards/markdown';
import {
  expressionQueries,
  legendOf,
  metricQuery,
  namedGraph,
  queryAt,
  roleGraph,
} from '../../../functions/page/browser/dashboards/widget-queries';
import { graphsOf } from '../../../functions/page/browser/graphs/graphs';
import { leastCpuSeconds } from '../../support/cpu-seconds';

const host = (id: string, name: string, roles: Host['roles']): Host => ({
  id,
  name,
  roles,
  status: 'working',
});
const hosts = [
  host('h1', 'web1', { shop: ['web', 'app'] }),
  host('h2', 'web2', { shop: ['web'] }),
  host('h3', 'db1', { shop: ['db'] }),
];

describe('a graph of a source', () => {
  const source = { kind: 'host', id: 'h1' } as const;
  const graphs = graphsOf(source, ['loadavg1', 'loadavg5', 'custom.a.b', 'custom.a.c'], []);
  const metrics = (name: string, legendList?: string[]) =>
    namedGraph(graphs, name, legendList)?.lines.map(({ metric }) => metric);

  test.each([
    ['loadavg', undefined, ['loadavg1', 'loadavg5']],
    ['loadavg5', undefined, ['loadavg5']],
    ['custom.a', undefined, ['custom.a.b', 'custom.a.c']],
    ['custom.a', ['custom.a.c'], ['custom.a.c']],
    ['custom.a', [], ['custom.a.b', 'custom.a.c']],
    ['none', undefined, undefined],
  ])('%s with the legend list %j has the metrics %j', (name, legendList, expected) => {
    expect(metrics(name, legendList)).toEqual(expected);
  });

  test('of a role has a line for each of its hosts', () => {
    const graph = roleGraph({ type: 'role', roleFullname: 'shop: web', name: 'cpu', isStacked: true }, hosts);
    expect(graph.lines).toEqual([
      { id: 'h1', label: 'web1', isStacked: true, source: { kind: 'host', id: 'h1' }, metric: 'cpu' },
      { id: 'h2', label: 'web2', isStacked: true, source: { kind: 'host', id: 'h2' }, metric: 'cpu' },
    ]);
  });
});

describe('an expression', () => {
  test('is drawn by a query for each part of its outermost groups, which aliases name', () => {
    const text =
      "stack(group(alias(avg(role(shop:web, a)), 'all'), group(host(h1, b), alias(role(shop:web, c), 'each'))))";
    expect(expressionQueries(text, hosts)).toEqual([
      { query: 'avg({__name__="a",host=~"h1|h2"})', label: 'all' },
      { query: '{__name__="b",host="h1"}' },
      // An alias of several lines is not used, since they would all have one name.
      { query: '{__name__="c",host=~"h1|h2"}' },
    ]);
  });

  test('a text that is no expression throws the place', () => {
    expect(() => expressionQueries('sum(', hosts)).toThrow();
  });
});

describe('a query', () => {
  const span = { fromS: 0, toS: 7200 };

  test.each([
    ['rate(a[$__rate_interval])', 60, 'rate(a[4m])'],
    ['rate(a[$__rate_interval])', 600, 'rate(a[10m])'],
    ['max_over_time(a[$__interval])', 90, 'max_over_time(a[90s])'],
    ['increase(a[$__range])', 60, 'increase(a[2h])'],
    ['a.b{c.d="e"}', 60, '{"a.b","c.d"="e"}'],
  ])('%s at steps of %d s is %s', (query, stepS, expected) => {
    expect(queryAt(query, stepS, span)).toBe(expected);
  });

  test('names a series in linear time, by whatever legend', () => {
    const seconds = (count: number) => {
      const labelOf = legendOf(`{{${' '.repeat(count)}`)!;
      return leastCpuSeconds(() => void labelOf({}));
    };
    // The input has four times the characters. Quadratic time would be 16 times as long.
    expect(seconds(10_000)).toBeLessThan(10 * (seconds(2_500) + 0.001));
  });

  test('names its series by the labels of its legend', () => {
    expect(legendOf('{{ job }}/{{http.method}} {{none}}')!({ job: 'api', 'http.method': 'GET' })).toBe(
      'api/GET ',
    );
    expect([legendOf(''), legendOf(null), legendOf(undefined)]).toEqual([undefined, undefined, undefined]);
  });
});

test.each([
  [{ type: 'host', hostId: 'h1', name: 'load' }, '{__name__="load",host="h1"}'],
  [{ type: 'service', serviceName: 'shop', name: 'orders' }, '{__name__="orders",host="",service="shop"}'],
  [{ type: 'expression', expression: 'sum(role(shop:db, a))' }, 'sum({__name__="a",host=~"h3"})'],
  [{ type: 'query', query: 'up' }, 'up'],
  [{ type: 'unknown' }, undefined],
] as const)('the value of %j is %s', (metric, query) => {
  expect(metricQuery(metric, hosts, { fromS: 0, toS: 60 })).toBe(query);
});

describe('Markdown', () => {
  /** Writes elements as HTML does, for comparison. */
  const written = (node: MarkdownNode): string => {
    if (typeof node === 'string') return node.replaceAll('<', '&lt;');
    const { tag, href, children } = node;
    return `<${tag}${href === undefined ? '' : ` ${href}`}>${children.map(written).join('')}</${tag}>`;
  };
  const html = (text: string) => parseMarkdown(text, 3).map(written).join('');

  test.each([
    ['# One\n## Two #', '<h3>One</h3><h4>Two</h4>'],
    ['###### deep', '<h3>deep</h3>'],
    ['## A\n#### B\n### C\n# D', '<h3>A</h3><h4>B</h4><h4>C</h4><h3>D</h3>'],
    ['a\nb\n\nc', '<p>a\nb</p><p>c</p>'],
    ['**a** *b* `c*d*` ~~e~~', '<p><strong>a</strong> <em>b</em> <code>c*d*</code> <s>e</s></p>'],
    ['snake_case_name', '<p>snake_case_name</p>'],
    ['- a\n- b\n  - c', '<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul>'],
    ['1. a\n2. b', '<ol><li>a</li><li>b</li></ol>'],
    ['> a\n> b', '<blockquote><p>a\nb</p></blockquote>'],
    ['```sh\n# a\n<b>\n```\nc', '<pre><code># a\n&lt;b></code></pre><p>c</p>'],
    ['---', '<hr></hr>'],
    ['[a](https://example.com/)', '<p><a https://example.com/>a</a></p>'],
    ['https://example.com/x', '<p><a https://example.com/x>https://example.com/x</a></p>'],
    ['[a](javascript:alert(1))', '<p>[a](javascript:alert(1))</p>'],
    ['<script>alert(1)</script>', '<p>&lt;script>alert(1)&lt;/script></p>'],
    [
      '| a | b |\n|---|:-:|\n| 1 | **2** |',
      '<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td><strong>2</strong></td></tr></tbody></table>',
    ],
    ['', ''],
  ])('%j is %s', (text, expected) => {
    expect(html(text)).toBe(expected);
  });

  test.each([
    '*'.repeat(50_000),
    '['.repeat(50_000),
    '> '.repeat(25_000),
    '- '.repeat(25_000),
    '|-\n'.repeat(16_000),
  ])('of hostile text ends: %#', (text) => {
    expect(parseMarkdown(text, 3)).toBeDefined();
  });

  test.each([
    ['a row below a table', (count: number) => `|\n${'-'.repeat(count)}x|`],
    ['a heading', (count: number) => `# a${' '.repeat(count)}b`],
    ['a heading with a line separator', (count: number) => `# ${' '.repeat(count)}a\u2028b`],
    ['an item with a line separator', (count: number) => `- ${' '.repeat(count)}a\u2028b`],
  ])('takes linear time for %s', (_, textOf) => {
    const seconds = (count: number) => {
      const text = textOf(count);
      return leastCpuSeconds(() => {
        for (let i = 0; i < 10; i++) parseMarkdown(text, 3);
      });
    };
    // The input has seven times the characters. Quadratic time would be 49 times as long. The clock's noise is one
    // millisecond.
    expect(seconds(49_000)).toBeLessThan(25 * (seconds(7_000) + 0.001));
  });
});
