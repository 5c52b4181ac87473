import { GRAPH_UNITS, type GraphUnit } from '../../../../shared/registry/graph-units';
import { byNature } from '../view/natural-order';
import type { SourceRef } from '../view/view-state';
import type { Measure } from './ways';

/**
 * A graph definition in Mackerel's format. `*` and `#` match one part of a name; `%1` is replaced by the
 * first match.
 */
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
  /** Unique within its source. Used in links. */
  readonly name: string;
  readonly title: string;
  readonly unit: GraphUnit;
  readonly lines: readonly Line[];
  /** The parts of the name, by which the tree groups graphs. */
  readonly path: readonly string[];
  /** Set if the lines are counters or histograms, whose stored values only increase. */
  readonly measure?: Measure;
}

export interface Line {
  /** Unique within its graph. Used in links. */
  readonly id: string;
  readonly label: string;
  readonly isStacked: boolean;
  readonly source: SourceRef;
  readonly metric: string;
}

const stacked = (name: string, displayName: string) => ({ name, displayName, isStacked: true });
const line = (name: string, displayName: string) => ({ name, displayName, isStacked: false });

/** The graphs of metrics that mackerel-agent posts without plugins. */
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
      line('memory.active', 'active'),
      line('memory.inactive', 'inactive'),
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

/**
 * Groups a source's metrics into graphs. A definition makes one graph of all metrics that match it. Other
 * metrics are grouped by their name up to the last dot.
 *
 * @param definitions the tenant's definitions; they take precedence over those of mackerel-agent's own
 *   metrics
 */
export function graphsOf(
  source: SourceRef,
  names: readonly string[],
  definitions: readonly GraphDefinition[] = [],
): Graph[] {
  const left = new Set([...names].sort(byNature));
  const lineOf = (metric: string, label: string, isStacked: boolean): Line => ({
    id: metric,
    label,
    isStacked,
    source,
    metric,
  });
  const graphs: Graph[] = [];
  for (const { name, displayName, unit, metrics: patterns } of [...definitions, ...SYSTEM_GRAPHS]) {
    const lines: Line[] = [];
    for (const pattern of patterns) {
      const match = matcherOf(pattern.name);
      for (const metric of [...left]) {
        const parts = match(metric);
        if (parts === undefined) continue;
        left.delete(metric);
        const label = labelOf(pattern.displayName || lastPart(pattern.name), parts);
        lines.push(lineOf(metric, label, pattern.isStacked === true));
      }
    }
    if (lines.length > 0)
      graphs.push({
        name,
        title: displayName || withoutPrefix(name),
        unit: GRAPH_UNITS.find((each) => each === unit) ?? 'float',
        lines,
        path: withoutPrefix(name).split('.'),
      });
  }
  const byPrefix = new Map<string, string[]>();
  for (const name of left) {
    const prefix = name.includes('.') ? name.slice(0, name.lastIndexOf('.')) : name;
    byPrefix.set(prefix, [...(byPrefix.get(prefix) ?? []), name]);
  }
  const taken = new Set(graphs.map(({ name }) => name));
  for (const [prefix, metrics] of byPrefix) {
    // The name up to the last dot may be taken by a definition that does not match all metrics below it. Then add the
    // dot.
    const name = taken.has(prefix) ? `${prefix}.` : prefix;
    graphs.push({
      name,
      title: withoutPrefix(prefix),
      unit: 'float',
      lines: metrics.map((metric) => lineOf(metric, lastPart(metric), false)),
      path: withoutPrefix(name).split('.'),
    });
  }
  return graphs;
}

/** Whether each of the words is in a graph's title, its name, or one of its lines. */
export function graphHas({ name, title, lines }: Graph, words: readonly string[]): boolean {
  const text = [name, title, ...lines.flatMap(({ id, label }) => [id, label])].join('\n').toLowerCase();
  return words.every((word) => text.includes(word));
}

export function wordsOf(search: string): string[] {
  return search.toLowerCase().split(/\s+/).filter(Boolean);
}

/**
 * Returns a function that matches a name against the pattern. The function returns the text that each
 * wildcard matches (an empty array if there are no wildcards), or undefined if the name does not match.
 */
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

/** Replaces `%1` by the first match. If the label does not contain `%1`, appends the matches. */
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
