/** How the metrics of a graph are written. */
export type Unit =
  | 'float'
  | 'integer'
  | 'percentage'
  | 'seconds'
  | 'milliseconds'
  | 'bytes'
  | 'bytes/sec'
  | 'bits/sec'
  | 'iops';

/** A graph definition in Mackerel's shape: `*` and `#` stand for one part of a name, `%1` for what the first stood for. */
export interface GraphDefinition {
  readonly name: string;
  readonly displayName?: string | undefined;
  readonly unit?: string | undefined;
  readonly metrics: readonly {
    readonly name: string;
    readonly displayName?: string | undefined;
    readonly isStacked?: boolean | undefined;
  }[];
}

export interface Graph {
  /** Unique in its source, and what links have. */
  readonly name: string;
  readonly title: string;
  readonly unit: Unit;
  readonly metrics: readonly GraphMetric[];
}

export interface GraphMetric {
  readonly name: string;
  readonly label: string;
  readonly isStacked: boolean;
}

const stacked = (name: string, displayName: string) => ({ name, displayName, isStacked: true });
const line = (name: string, displayName: string) => ({ name, displayName, isStacked: false });

/** The graphs of what mackerel-agent posts by itself. @see ../../../../shared/mackerel-api.md, section 7 */
const SYSTEM_GRAPHS: readonly GraphDefinition[] = [
  {
    name: 'loadavg',
    displayName: 'Load average',
    unit: 'float',
    metrics: [line('loadavg1', '1 min'), line('loadavg5', '5 min'), line('loadavg15', '15 min')],
  },
  {
    name: 'cpu',
    displayName: 'CPU',
    unit: 'percentage',
    metrics: ['user', 'nice', 'system', 'irq', 'softirq', 'iowait', 'steal', 'guest', 'idle'].map((mode) =>
      stacked(`cpu.${mode}.percentage`, mode),
    ),
  },
  {
    name: 'memory',
    displayName: 'Memory',
    unit: 'bytes',
    metrics: [
      stacked('memory.used', 'used'),
      stacked('memory.buffers', 'buffers'),
      stacked('memory.cached', 'cached'),
      stacked('memory.free', 'free'),
      line('memory.mem_available', 'available'),
      line('memory.total', 'total'),
    ],
  },
  {
    name: 'memory.swap',
    displayName: 'Swap',
    unit: 'bytes',
    metrics: [
      line('memory.swap_free', 'free'),
      line('memory.swap_cached', 'cached'),
      line('memory.swap_total', 'total'),
    ],
  },
  {
    name: 'disk',
    displayName: 'Disk operations',
    unit: 'iops',
    metrics: [line('disk.#.reads.delta', '%1 reads'), line('disk.#.writes.delta', '%1 writes')],
  },
  {
    name: 'interface',
    displayName: 'Network',
    unit: 'bytes/sec',
    metrics: [line('interface.#.rxBytes.delta', '%1 in'), line('interface.#.txBytes.delta', '%1 out')],
  },
  {
    name: 'filesystem',
    displayName: 'File systems',
    unit: 'bytes',
    metrics: [line('filesystem.#.used', '%1 used'), line('filesystem.#.size', '%1 size')],
  },
];

const UNITS: ReadonlySet<string> = new Set<Unit>([
  'float',
  'integer',
  'percentage',
  'seconds',
  'milliseconds',
  'bytes',
  'bytes/sec',
  'bits/sec',
  'iops',
]);

/**
 * The graphs of a source's metrics. A definition makes one graph of all that match it; what none claims is grouped by its
 * name up to the last dot.
 *
 * @param definitions of the tenant; they come before those of the system's metrics
 */
export function graphsOf(names: readonly string[], definitions: readonly GraphDefinition[] = []): Graph[] {
  const left = new Set(names);
  const graphs: Graph[] = [];
  for (const { name, displayName, unit, metrics: patterns } of [...definitions, ...SYSTEM_GRAPHS]) {
    const metrics: GraphMetric[] = [];
    for (const pattern of patterns) {
      const match = matcherOf(pattern.name);
      for (const metric of [...left].sort()) {
        const parts = match(metric);
        if (parts === undefined) continue;
        left.delete(metric);
        const label = labelOf(pattern.displayName || lastPart(pattern.name), parts);
        metrics.push({ name: metric, label, isStacked: pattern.isStacked === true });
      }
    }
    if (metrics.length > 0)
      graphs.push({
        name,
        title: displayName || withoutPrefix(name),
        unit: unit !== undefined && UNITS.has(unit) ? (unit as Unit) : 'float',
        metrics,
      });
  }
  const byPrefix = new Map<string, string[]>();
  for (const name of [...left].sort()) {
    const prefix = name.includes('.') ? name.slice(0, name.lastIndexOf('.')) : name;
    byPrefix.set(prefix, [...(byPrefix.get(prefix) ?? []), name]);
  }
  const taken = new Set(graphs.map(({ name }) => name));
  for (const [prefix, metrics] of byPrefix)
    graphs.push({
      // A definition may have the name and not claim every metric below it.
      name: taken.has(prefix) ? `${prefix}.` : prefix,
      title: withoutPrefix(prefix),
      unit: 'float',
      metrics: metrics.map((name) => ({ name, label: lastPart(name), isStacked: false })),
    });
  return graphs;
}

/** @returns what a name's wildcards stand for, none for a name without; undefined when it does not match */
function matcherOf(pattern: string): (name: string) => string[] | undefined {
  const expected = pattern.split('.');
  return (name) => {
    const parts = name.split('.');
    if (parts.length !== expected.length) return undefined;
    const wild: string[] = [];
    for (const [i, part] of parts.entries()) {
      if (expected[i] === '*' || expected[i] === '#') wild.push(part);
      else if (expected[i] !== part) return undefined;
    }
    return wild;
  };
}

/** A label with what the wildcards stand for in it; after it, where it does not say. */
function labelOf(displayName: string, wild: readonly string[]): string {
  if (/^[*#]$/.test(displayName)) return wild.join('.');
  let isSaid = wild.length === 0;
  const text = displayName.replace(/%(\d)/g, (whole, index: string) => {
    const part = wild[Number(index) - 1];
    if (part !== undefined) isSaid = true;
    return part ?? whole;
  });
  return isSaid ? text : `${text} ${wild.join('.')}`;
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

function withoutPrefix(name: string): string {
  return name.replace(/^custom\./, '');
}

/** Graphs by the parts of their names. */
export interface TreeNode {
  /** The part, or several where there is nothing to choose between. */
  readonly label: string;
  /** All parts up to here. */
  readonly path: string;
  readonly graph: Graph | undefined;
  readonly children: readonly TreeNode[];
}

export function treeOf(graphs: readonly Graph[]): TreeNode[] {
  const groups = new Map<string, Graph[]>();
  for (const graph of graphs) {
    const [head] = partsOf(graph);
    groups.set(head!, [...(groups.get(head!) ?? []), graph]);
  }
  return [...groups].map(([head, inside]) => nodeOf(head, head, inside, 1));
}

function partsOf({ name }: Graph): string[] {
  return withoutPrefix(name).split('.');
}

function nodeOf(label: string, path: string, graphs: readonly Graph[], depth: number): TreeNode {
  if (graphs.length === 1) return { label: graphs[0]!.title, path, graph: graphs[0], children: [] };
  const here = graphs.find((graph) => partsOf(graph).length === depth);
  const groups = new Map<string, Graph[]>();
  for (const graph of graphs) {
    if (graph === here) continue;
    const part = partsOf(graph)[depth]!;
    groups.set(part, [...(groups.get(part) ?? []), graph]);
  }
  if (here === undefined && groups.size === 1) {
    const [[part, inside]] = [...groups] as [[string, Graph[]]];
    return nodeOf(`${label}.${part}`, `${path}.${part}`, inside, depth + 1);
  }
  const children = [...groups].map(([part, inside]) => nodeOf(part, `${path}.${part}`, inside, depth + 1));
  return { label: here?.title ?? label, path, graph: here, children };
}
