import fc from 'fast-check';
import {
  type Graph,
  type GraphDefinition,
  graphHas,
  graphsOf,
  wordsOf,
} from '../../../functions/page/browser/graphs/graphs';
import { hostGraphsOf, underPrefix } from '../../../functions/page/browser/graphs/host-graphs';
import {
  labelGraphsOf,
  labelSourceOf,
  otherSources,
} from '../../../functions/page/browser/graphs/label-graphs';
import { type TreeNode, treeOf } from '../../../functions/page/browser/side/graph-tree';

const web1 = { kind: 'host', id: 'web1' } as const;

const shape = (names: string[], definitions: GraphDefinition[] = []) =>
  graphsOf(web1, names, definitions).map(({ name, title, unit, lines }) => [
    name,
    title,
    unit,
    lines.map(({ label, isStacked }) => (isStacked ? `${label} stacked` : label)),
  ]);

describe('graphs of one source', () => {
  test.each([
    {
      name: 'those of mackerel-agent have titles and units',
      names: ['loadavg5', 'loadavg1', 'cpu.user.percentage', 'cpu.idle.percentage'],
      graphs: [
        ['loadavg', 'Load average', 'float', ['1 min', '5 min']],
        ['cpu', 'CPU', 'percentage', ['user stacked', 'idle stacked']],
      ],
    },
    {
      name: 'devices share a graph, each with its name',
      names: ['disk.sda.reads.delta', 'disk.sdb.reads.delta', 'disk.sda.writes.delta'],
      graphs: [['disk', 'Disk operations', 'iops', ['sda reads', 'sdb reads', 'sda writes']]],
    },
    {
      name: 'numbers within names count as numbers',
      names: ['custom.a.item10', 'custom.a.item2', 'custom.b10.c', 'custom.b2.c'],
      graphs: [
        ['custom.a', 'a', 'float', ['item2', 'item10']],
        ['custom.b2', 'b2', 'float', ['c']],
        ['custom.b10', 'b10', 'float', ['c']],
      ],
    },
    {
      name: 'others are grouped by their names up to the last dot',
      names: ['custom.a.b.c', 'custom.a.b.d', 'custom.a.e', 'orders'],
      graphs: [
        ['custom.a.b', 'a.b', 'float', ['c', 'd']],
        ['custom.a', 'a', 'float', ['e']],
        ['orders', 'orders', 'float', ['orders']],
      ],
    },
  ])('$name', ({ names, graphs }) => {
    expect(shape(names)).toEqual(graphs);
  });

  test('a definition sets title, unit, labels and stacking; metrics that it does not match have graphs of their own', () => {
    const definition = {
      name: 'custom.dice.#',
      displayName: 'Dice',
      unit: 'integer',
      metrics: [{ name: 'custom.dice.#.d6', displayName: '%1 rolled', isStacked: true }],
    };
    expect(shape(['custom.dice.red.d6', 'custom.dice.blue.d6', 'custom.dice.red.d20'], [definition])).toEqual(
      [
        ['custom.dice.#', 'Dice', 'integer', ['blue rolled stacked', 'red rolled stacked']],
        ['custom.dice.red', 'dice.red', 'float', ['d20']],
      ],
    );
  });

  test('what a wildcard matched is appended to a label without a place for it', () => {
    const definition = { name: 'custom.q.*', metrics: [{ name: 'custom.q.*.len', displayName: 'length' }] };
    expect(shape(['custom.q.a.len', 'custom.q.b.len'], [definition])).toEqual([
      ['custom.q.*', 'q.*', 'float', ['length a', 'length b']],
    ]);
  });

  const part = fc.constantFrom(
    'custom',
    'cpu',
    'loadavg1',
    'a',
    'b',
    '__proto__',
    'constructor',
    'user',
    'percentage',
  );
  const names = fc.uniqueArray(
    fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('.')),
  );
  test('every metric is in one graph, and every graph once in the tree', () => {
    fc.assert(
      fc.property(names, (given) => {
        const graphs = graphsOf(web1, given);
        expect(graphs.flatMap(({ lines }) => lines.map(({ metric }) => metric)).sort()).toEqual(
          [...given].sort(),
        );
        const all = graphs.map(({ name }) => name);
        expect(new Set(all).size).toBe(all.length);
        expect(leaves(treeOf(graphs)).sort()).toEqual(all.sort());
      }),
    );
  });
});

test.each([
  { search: '', found: true },
  { search: 'QUEUE', found: true },
  { search: 'jobs length', found: true },
  { search: 'custom.queue', found: true },
  { search: 'jobs disk', found: false },
])('a search for "$search" in the graphs of a queue: $found', ({ search, found }) => {
  const [graph] = graphsOf(web1, ['custom.queue.jobs.length']);
  expect(graphHas(graph!, wordsOf(search))).toBe(found);
});

const linesOf = ({ name, title, unit, lines }: Graph) => [name, title, unit, lines.map(({ label }) => label)];

describe('graphs over several hosts', () => {
  const hosts = [
    { id: 'b', name: 'web10', metrics: ['loadavg1', 'cpu.user.percentage'] },
    { id: 'a', name: 'web2', metrics: ['loadavg1', 'custom.queue.length'] },
  ];

  test('are one for each metric, titled as in the graphs of one host, with a line for each host that has it', () => {
    expect(hostGraphsOf(hosts).map(linesOf)).toEqual([
      ['loadavg1', 'Load average: 1 min', 'float', ['web2', 'web10']],
      ['cpu.user.percentage', 'CPU: user', 'percentage', ['web10']],
      ['custom.queue.length', 'queue: length', 'float', ['web2']],
    ]);
    expect(hostGraphsOf(hosts)[0]!.lines[0]).toMatchObject({
      id: 'a',
      isStacked: false,
      source: { kind: 'host', id: 'a' },
      metric: 'loadavg1',
    });
  });

  test("stay apart from the service's own graphs", () => {
    const all = [
      ...graphsOf({ kind: 'service', id: 'shop' }, ['loadavg1']),
      ...underPrefix('hosts', hostGraphsOf(hosts)),
    ];
    expect(all.map(({ name }) => name)).toEqual([
      'loadavg',
      'hosts:loadavg1',
      'hosts:cpu.user.percentage',
      'hosts:custom.queue.length',
    ]);
    expect(leaves(treeOf(all)).length).toBe(4);
  });
});

describe('graphs of sources that are no Mackerel hosts', () => {
  const cpu = (core: string, name = 'cpu_usage_user') =>
    [
      ['__name__', name],
      ['cpu', core],
      ['host', 'tele1'],
    ] as const;

  test('are one for each name, with a line for each set of labels; labels that all have are left out', () => {
    const series = [
      cpu('cpu10'),
      cpu('cpu2'),
      [
        ['__name__', 'mem_used'],
        ['host', 'tele1'],
      ],
    ] as const;
    const graphs = labelGraphsOf([['host', 'tele1']], series, new Map());
    expect(graphs.map(linesOf)).toEqual([
      ['cpu_usage_user', 'cpu_usage_user', 'float', ['cpu=cpu2', 'cpu=cpu10']],
      ['mem_used', 'mem_used', 'float', ['mem_used']],
    ]);
    expect(graphs[0]!.lines[0]).toMatchObject({
      id: 'cpu=cpu2,host=tele1',
      source: { kind: 'labels', id: 'cpu=cpu2,host=tele1' },
      metric: 'cpu_usage_user',
    });
    expect(graphs[0]!.path).toEqual(['cpu', 'usage', 'user']);
  });

  test('are one for the parts of a histogram; counters and histograms are measures, and bytes are bytes', () => {
    const described = (type: string, unit = '') => ({ type, help: '', unit });
    const metadata = new Map([
      ['latency_seconds', described('histogram')],
      ['requests_total', described('counter')],
      ['memory_bytes', described('gauge')],
    ]);
    const named = (name: string, ...labels: [string, string][]) =>
      [['__name__', name], ...labels, ['job', 'a']] as const;
    const graphs = labelGraphsOf(
      [['job', 'a']],
      [
        named('latency_seconds_bucket', ['le', '1']),
        named('latency_seconds_bucket', ['le', '+Inf']),
        named('latency_seconds_count'),
        named('memory_bytes'),
        named('requests_total'),
      ],
      metadata,
    );
    expect(graphs.map(({ name, unit, measure }) => [name, unit, measure?.kind, measure?.matchers])).toEqual([
      ['latency_seconds', 'float', 'histogram', '{job="a"}'],
      ['memory_bytes', 'bytes', undefined, undefined],
      ['requests_total', 'float', 'counter', '{job="a"}'],
    ]);
    expect(graphs[0]!.lines.map(({ label }) => label)).toEqual([
      'latency_seconds_bucket le=+Inf',
      'latency_seconds_bucket le=1',
      'latency_seconds_count',
    ]);
  });

  test('belong to the host that their label names, else to all their labels', () => {
    expect(labelSourceOf(cpu('cpu0'))).toEqual([['host', 'tele1']]);
    expect(
      labelSourceOf([
        ['__name__', 'up'],
        ['job', 'node'],
      ]),
    ).toEqual([['job', 'node']]);
    expect(
      labelSourceOf([
        ['__name__', 'node_cpu_seconds_total'],
        ['cpu', '0'],
        ['instance', 'a:9100'],
        ['job', 'node'],
      ]),
    ).toEqual([
      ['instance', 'a:9100'],
      ['job', 'node'],
    ]);
  });

  test('are listed once a source, in natural order, without the hosts and services that are listed already', () => {
    const sources = [
      ['host', 'id1'],
      ['host', 'tele10'],
      ['host', 'tele2'],
      ['host', 'tele2'],
      ['service', 'shop'],
    ];
    expect(
      otherSources(
        sources.map(([name, value]) => [[name!, value!] as const]),
        new Set(['id1']),
        new Set(['shop']),
      ),
    ).toEqual(['host=tele2', 'host=tele10']);
  });
});

function leaves(nodes: readonly TreeNode[]): string[] {
  return nodes.flatMap(({ graph, children }) => [
    ...(graph === undefined ? [] : [graph.name]),
    ...leaves(children),
  ]);
}
