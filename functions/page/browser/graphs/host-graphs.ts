import { byNature } from '../view/natural-order';
import type { SourceRef } from '../view/view-state';
import { type Graph, type GraphDefinition, graphsOf, type Line } from './graphs';

/** One of the hosts in a graph of several hosts, with its metrics. */
export interface HostMetrics {
  readonly id: string;
  readonly name: string;
  readonly metrics: readonly string[];
}

/** Makes a graph for each metric that any of the hosts has, with a line for each host that has the metric. */
export function hostGraphsOf(
  hosts: readonly HostMetrics[],
  definitions: readonly GraphDefinition[] = [],
): Graph[] {
  const linesOf = new Map<string, Line[]>();
  for (const { id, name, metrics } of [...hosts].sort((a, b) => byNature(a.name, b.name)))
    for (const metric of metrics) {
      const line = { id, label: name, isStacked: false, source: { kind: 'host', id } as const, metric };
      linesOf.set(metric, [...(linesOf.get(metric) ?? []), line]);
    }
  // Use the titles and units of the graphs of a single host.
  const anyHost: SourceRef = { kind: 'host', id: '' };
  return graphsOf(anyHost, [...linesOf.keys()], definitions).flatMap(({ title, unit, lines }) =>
    lines.map(({ metric, label }) => ({
      name: metric,
      title: label === title ? title : `${title}: ${label}`,
      unit,
      lines: linesOf.get(metric)!,
      path: metric.replace(/^custom\./, '').split('.'),
    })),
  );
}

/** Adds a prefix to graphs' names and their places in the tree, to distinguish them from other graphs on the page. */
export function underPrefix(prefix: string, graphs: readonly Graph[]): Graph[] {
  return graphs.map((graph) => ({
    ...graph,
    name: `${prefix}:${graph.name}`,
    path: [prefix, ...graph.path],
  }));
}
