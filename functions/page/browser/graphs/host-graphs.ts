import { byNature } from '../view/natural-order';
import type { SourceRef } from '../view/view-state';
import { type Graph, type GraphDefinition, graphsOf, type Line } from './graphs';

/** A host of a graph over several, and the metrics it has. */
export interface HostMetrics {
  readonly id: string;
  readonly name: string;
  readonly metrics: readonly string[];
}

/** Makes a graph of each metric that any of the hosts has, with a line for each host that has it. */
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
  // Titles and units are those that the metrics have in the graphs of one host.
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

/** Keeps graphs apart from others of the same page: names them with a prefix, and puts them under it in the tree. */
export function underPrefix(prefix: string, graphs: readonly Graph[]): Graph[] {
  return graphs.map((graph) => ({
    ...graph,
    name: `${prefix}:${graph.name}`,
    path: [prefix, ...graph.path],
  }));
}
