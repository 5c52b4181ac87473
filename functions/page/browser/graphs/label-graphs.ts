import { type Labels, labelsText } from '../view/labels-text';
import { byNature } from '../view/natural-order';
import type { Graph, Line } from './graphs';

const METRIC_NAME = '__name__';

/**
 * The source of a series that no Mackerel host posted, as the server derives it: its `host` label, else its job and
 * instance, else all its labels but the name.
 */
export function labelSourceOf(series: Labels): Labels {
  const host = series.find(([name]) => name === 'host');
  if (host !== undefined) return [host];
  const target = series.filter(([name]) => name === 'instance' || name === 'job');
  return target.length > 0 ? target : withoutName(series);
}

/** The sources that posted none of the given hosts and services, as `labelsText` writes their labels. */
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

/** Makes a graph of each metric name, with a line for each set of labels; labels that all of them have are left out. */
export function labelGraphsOf(series: readonly Labels[]): Graph[] {
  const byName = new Map<string, Labels[]>();
  for (const labels of series) {
    const name = labels.find(([label]) => label === METRIC_NAME)?.[1] ?? '';
    byName.set(name, [...(byName.get(name) ?? []), withoutName(labels)]);
  }
  const common = commonOf(series.map(withoutName));
  return [...byName]
    .sort(([a], [b]) => byNature(a, b))
    .map(([name, all]) => ({
      name,
      title: name,
      unit: 'float',
      lines: all.map((labels) => lineOf(name, labels, common)).sort((a, b) => byNature(a.label, b.label)),
      path: name.split(/[._]+/).filter(Boolean),
    }));
}

function lineOf(name: string, labels: Labels, common: ReadonlySet<string>): Line {
  const id = labelsText(labels);
  const own = labels.filter((pair) => !common.has(JSON.stringify(pair)));
  return {
    id,
    label: own.length === 0 ? name : own.map(([label, value]) => `${label}=${value}`).join(' '),
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
