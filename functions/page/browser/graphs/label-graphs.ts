import { type Labels, labelsText } from '../view/labels-text';
import { byNature } from '../view/natural-order';
import type { Graph, Line } from './graphs';
import { describedBy, type Metadata, unitOf } from './metadata';
import { measureOf } from './ways';

const METRIC_NAME = '__name__';

/**
 * Derives the source of a series that was not posted for a Mackerel host, as the server does: its `host`
 * label; else its job and instance; else all labels but the name.
 */
export function labelSourceOf(series: Labels): Labels {
  const host = series.find(([name]) => name === 'host');
  if (host !== undefined) return [host];
  const target = series.filter(([name]) => name === 'instance' || name === 'job');
  return target.length > 0 ? target : withoutName(series);
}

/** Returns the sources that are not among the given hosts and services: their labels as formatted by `labelsText`. */
export function otherSources(
  sources: readonly Labels[],
  hostIds: ReadonlySet<string>,
  services: ReadonlySet<string>,
): string[] {
  const isListed = ([pair, ...others]: Labels) =>
    pair === undefined ||
    (others.length === 0 &&
      ((pair[0] === 'host' && hostIds.has(pair[1])) || (pair[0] === 'service' && services.has(pair[1]))));
  return [...new Set(sources.filter((source) => !isListed(source)).map(labelsText))].sort(byNature);
}

/**
 * Makes a graph for each metric name, or for all parts of a histogram, with a line for each set of labels.
 * Labels that all lines share are omitted from their names.
 *
 * @param source labels that all of the series have
 */
export function labelGraphsOf(source: Labels, series: readonly Labels[], metadata: Metadata): Graph[] {
  const byGraph = new Map<string, { name: string; labels: Labels }[]>();
  for (const labels of series) {
    const name = labels.find(([label]) => label === METRIC_NAME)?.[1] ?? '';
    const described = describedBy(metadata, name);
    const graph = described?.type === 'histogram' ? described.family : name;
    byGraph.set(graph, [...(byGraph.get(graph) ?? []), { name, labels: withoutName(labels) }]);
  }
  const common = commonOf(series.map(withoutName));
  return [...byGraph]
    .sort(([a], [b]) => byNature(a, b))
    .map(([graph, all]) => {
      const { name } = all[0]!;
      const isHistogram = name !== graph;
      const lines = all.map((each) => lineOf(each.name, each.labels, common, isHistogram));
      const measure = measureOf(`${isHistogram ? `${graph}_bucket` : name}${matchersOf(source)}`, metadata);
      return {
        name: graph,
        title: graph,
        unit: isHistogram ? 'float' : unitOf(name, describedBy(metadata, name)),
        lines: lines.sort((a, b) => byNature(a.label, b.label)),
        path: graph.split(/[._]+/).filter(Boolean),
        ...(measure !== undefined && { measure }),
      };
    });
}

function matchersOf(source: Labels): string {
  return `{${source.map(([label, value]) => `${label}=${JSON.stringify(value)}`).join(', ')}}`;
}

function lineOf(name: string, labels: Labels, common: ReadonlySet<string>, isNamed: boolean): Line {
  const own = labels.filter((pair) => !common.has(JSON.stringify(pair)));
  const text = own.map(([label, value]) => `${label}=${value}`).join(' ');
  const id = labelsText(labels);
  return {
    // Metrics in the same graph may have the same labels.
    id: isNamed ? `${name} ${id}` : id,
    label: text === '' ? name : isNamed ? `${name} ${text}` : text,
    isStacked: false,
    source: { kind: 'labels', id },
    metric: name,
  };
}

function commonOf(all: readonly Labels[]): ReadonlySet<string> {
  const [first = [], ...others] = all.map((labels) => labels.map((pair) => JSON.stringify(pair)));
  const sets = others.map((pairs) => new Set(pairs));
  return new Set(first.filter((pair) => sets.every((set) => set.has(pair))));
}

function withoutName(labels: Labels): Labels {
  return labels.filter(([name]) => name !== METRIC_NAME);
}
