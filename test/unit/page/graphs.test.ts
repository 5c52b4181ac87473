import fc from 'fast-check';
import {
  type GraphDefinition,
  graphsOf,
  type TreeNode,
  treeOf,
} from '../../../functions/page/browser/graphs';

const shape = (names: string[], definitions: GraphDefinition[] = []) =>
  graphsOf(names, definitions).map(({ name, title, unit, metrics }) => [
    name,
    title,
    unit,
    metrics.map(({ label, isStacked }) => (isStacked ? `${label} stacked` : label)),
  ]);

describe('graphs of metric names', () => {
  test.each([
    {
      name: "the system's own have titles and units",
      names: ['loadavg5', 'loadavg1', 'cpu.user.percentage', 'cpu.idle.percentage'],
      graphs: [
        ['loadavg', 'Load average', 'float', ['1 min', '5 min']],
        ['cpu', 'CPU', 'percentage', ['user stacked', 'idle stacked']],
      ],
    },
    {
      name: 'devices are in one graph, each with its name',
      names: ['disk.sda.reads.delta', 'disk.sdb.reads.delta', 'disk.sda.writes.delta'],
      graphs: [['disk', 'Disk operations', 'iops', ['sda reads', 'sdb reads', 'sda writes']]],
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

  test('a definition says title, unit, labels and stacking, and what it leaves has a graph all the same', () => {
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

  test('a label that does not say what a wildcard stands for gets it added', () => {
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
  const leaves = (nodes: readonly TreeNode[]): string[] =>
    nodes.flatMap(({ graph, children }) => [
      ...(graph === undefined ? [] : [graph.name]),
      ...leaves(children),
    ]);

  test('every metric is in one graph, and every graph once in the tree', () => {
    fc.assert(
      fc.property(names, (given) => {
        const graphs = graphsOf(given);
        expect(graphs.flatMap(({ metrics }) => metrics.map(({ name }) => name)).sort()).toEqual(
          [...given].sort(),
        );
        const all = graphs.map(({ name }) => name);
        expect(new Set(all).size).toBe(all.length);
        expect(leaves(treeOf(graphs)).sort()).toEqual(all.sort());
      }),
    );
  });
});
