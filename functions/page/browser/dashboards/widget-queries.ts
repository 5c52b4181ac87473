import { type Expression, parseExpression } from '../../../../shared/monitors/expression';
import { promqlOf } from '../../../../shared/monitors/expression-promql';
import { quotedNames } from '../../../../shared/promql/dotted-names';
import type { WidgetGraph, WidgetMetric } from '../../../../shared/registry/dashboard';
import type { Host } from '../api/api';
import type { LabelMap } from '../api/promql-results';
import type { Graph } from '../graphs/graphs';
import type { DrawnQuery } from '../graphs/ways';
import { hostLabel, sharedNames } from '../side/host-text';
import { durationText, type Span } from '../view/time-range';

/** Returns the hosts of a role, given as `service:role` or `service: role`. */
export function hostsOfRole(hosts: readonly Host[], roleFullname: string): readonly Host[] {
  const [service = '', role = ''] = roleFullname.split(':').map((part) => part.trim());
  return hosts.filter(({ roles }) => roles[service]?.includes(role));
}

/** Makes a graph of one metric, with a line for each host of a role. */
export function roleGraph(
  { roleFullname, name, isStacked }: Extract<WidgetGraph, { type: 'role' }>,
  hosts: readonly Host[],
): Graph {
  const members = hostsOfRole(hosts, roleFullname);
  const shared = sharedNames(members);
  const lines = members.map((host) => ({
    id: host.id,
    label: hostLabel(host, shared),
    isStacked: isStacked === true,
    source: { kind: 'host', id: host.id } as const,
    metric: name,
  }));
  return { name, title: name, unit: 'float', lines, path: [name] };
}

/**
 * Finds the graph that a widget names: one of the source's graphs, or a graph of one of its metrics.
 *
 * @param legendList metrics to show; undefined: all
 */
export function namedGraph(
  graphs: readonly Graph[],
  name: string,
  legendList: readonly string[] | null | undefined,
): Graph | undefined {
  const graph = graphs.find((each) => each.name === name) ?? graphs.find((each) => hasLine(each, name));
  if (graph === undefined) return undefined;
  const isShown = (metric: string) =>
    legendList != null && legendList.length > 0
      ? legendList.includes(metric)
      : graph.name === name || metric === name;
  return { ...graph, lines: graph.lines.filter(({ metric }) => isShown(metric)) };
}

function hasLine({ lines }: Graph, name: string): boolean {
  return lines.some(({ metric }) => metric === name);
}

/**
 * Makes the queries for drawing an expression: one for each member of its outermost groups, so that aliases
 * can name the members.
 *
 * @throws {ExpressionError}
 */
export function expressionQueries(text: string, hosts: readonly Host[]): DrawnQuery[] {
  const hostsOf = (role: string) => hostsOfRole(hosts, role).map(({ id }) => id);
  const queriesOf = (expression: Expression): DrawnQuery[] => {
    const { func, metrics, values } = expression;
    if (func === 'group') return metrics.flatMap(queriesOf);
    if (func === 'stack') return queriesOf(metrics[0]!);
    const query = promqlOf(expression, hostsOf);
    return [func === 'alias' && isOneLine(metrics[0]!) ? { query, label: String(values[0]) } : { query }];
  };
  return queriesOf(parseExpression(text));
}

const ONE_LINE: ReadonlySet<string> = new Set(['avg', 'max', 'min', 'sum', 'product', 'percentile']);

function isOneLine({ func, metrics, values }: Expression): boolean {
  if (ONE_LINE.has(func)) return true;
  if (func === 'host' || func === 'service') return !/[*#]/.test(String(values[1]));
  if (func === 'role' || func === 'roleSlots' || func === 'group') return false;
  return metrics.every(isOneLine);
}

/**
 * Returns a function that names series by a legend, in which `{{label}}` is replaced by a label's value.
 * Undefined for an empty legend.
 */
export function legendOf(legend: string | null | undefined): ((labels: LabelMap) => string) | undefined {
  if (legend == null || legend === '') return undefined;
  return (labels) => legend.replace(/\{\{([^{}]*)\}\}/g, (_, label: string) => labels[label.trim()] ?? '');
}

/** Minimum range of a rate, in seconds. Agents post once a minute, and a rate needs several samples. */
const MIN_RATE_S = 240;

const DURATION =
  /\$(?:__(rate_interval|interval|range)(_ms|_s)?\b|\{__(rate_interval|interval|range)(_ms|_s)?\})/g;

/**
 * Replaces Grafana's variables `$__interval`, `$__rate_interval` and `$__range` in a query by durations, such
 * as `5m`. With the suffix `_s` or `_ms`, a variable becomes a number of seconds or milliseconds.
 */
export function queryAt(query: string, stepS: number, { fromS, toS }: Span): string {
  const durations: Readonly<Record<string, number>> = {
    interval: stepS,
    rate_interval: Math.max(MIN_RATE_S, stepS),
    range: Math.max(1, Math.round(toS - fromS)),
  };
  return quotedNames(query).replace(DURATION, (_, plain, plainUnit, braced, bracedUnit) => {
    const seconds = durations[plain ?? braced]!;
    const unit = plainUnit ?? bracedUnit;
    return unit === undefined ? durationText(seconds) : String(unit === '_ms' ? seconds * 1000 : seconds);
  });
}

/** Formats a value of a table: up to six significant digits, and large numbers in groups of three. */
export function valueText(value: string): string {
  const number = Number(value);
  return Number.isFinite(number) ? number.toLocaleString('en', { maximumSignificantDigits: 6 }) : value;
}

/**
 * Returns the query of a value widget; undefined if the metric no longer exists.
 *
 * @throws {ExpressionError}
 */
export function metricQuery(metric: WidgetMetric, hosts: readonly Host[], span: Span): string | undefined {
  switch (metric.type) {
    case 'host':
      return promqlOf({ func: 'host', metrics: [], values: [metric.hostId, metric.name] }, () => []);
    case 'service':
      return promqlOf({ func: 'service', metrics: [], values: [metric.serviceName, metric.name] }, () => []);
    case 'expression': {
      const hostsOf = (role: string) => hostsOfRole(hosts, role).map(({ id }) => id);
      return promqlOf(parseExpression(metric.expression), hostsOf);
    }
    case 'query':
      return queryAt(metric.query, MIN_RATE_S, span);
    case 'unknown':
      return undefined;
  }
}
