import type { SeriesData } from '../graphs/plot-data';
import type { DrawnQuery } from '../graphs/ways';
import type { Span } from '../view/time-range';
import type { Api } from './api';
import { addedTiers } from './reading';
import type { TierShare } from './server-timing';

/** A series' labels, including its name. */
export type LabelMap = Readonly<Record<string, string>>;

/** A Unix time in seconds and a value, in the form of Prometheus' API. */
type Sample = readonly [timeS: number, value: string];

/** The result of a query. */
export type Result =
  | { readonly resultType: 'matrix'; readonly result: readonly Row<readonly Sample[], 'values'>[] }
  | { readonly resultType: 'vector'; readonly result: readonly Row<Sample, 'value'>[] }
  | { readonly resultType: 'scalar' | 'string'; readonly result: Sample };

type Row<T, Field extends string> = { readonly metric: LabelMap } & Readonly<Record<Field, T>>;

interface QueryResult {
  readonly tiers: readonly TierShare[];
  readonly warnings: readonly string[];
  readonly durationMs: number;
}

/** Series over time. */
export interface GraphResult extends QueryResult {
  readonly series: readonly LabelMap[];
  /** For each series, the name that its query gives it; undefined if it is named by its labels. */
  readonly names: readonly (string | undefined)[];
  readonly data: SeriesData;
  readonly stepS: number;
}

/** Values at a single time. */
export interface TableResult extends QueryResult {
  /** The time of the values, as Unix time in seconds. */
  readonly atS: number;
  readonly rows: readonly { readonly labels: LabelMap; readonly value: string }[];
}

/** Maximum number of steps at which a graph evaluates a query. */
const MAX_QUERY_STEPS = 500;
const STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 43_200, 86_400];

/** Returns the step for a span, in seconds. */
export function resolutionFor({ fromS, toS }: Span): number {
  return STEPS_S.find((stepS) => (toS - fromS) / stepS <= MAX_QUERY_STEPS) ?? 86_400;
}

/**
 * Evaluates queries at the steps of a span. The times of the steps are whole multiples of the step length, so
 * that points do not move as time passes.
 *
 * @param queriesAt returns the queries for a step length in seconds
 */
export async function readGraph(
  api: Api,
  queriesAt: (stepS: number) => readonly DrawnQuery[],
  span: Span,
  signal: AbortSignal,
): Promise<GraphResult> {
  const stepS = resolutionFor(span);
  const [startS, endS] = [Math.ceil(span.fromS / stepS) * stepS, Math.floor(span.toS / stepS) * stepS];
  const results = await Promise.all(
    queriesAt(stepS).map(async ({ query, label }) => {
      const fields = { query, start: String(startS), end: String(endS), step: String(stepS) };
      const { data, ...rest } = await api.prometheus<Result>('query_range', fields, signal);
      const graph = graphOf(data, startS, endS, stepS);
      return {
        ...rest,
        ...graph,
        names: graph.series.map((labels) => (typeof label === 'function' ? label(labels) : label)),
      };
    }),
  );
  return {
    series: results.flatMap(({ series }) => series),
    names: results.flatMap(({ names }) => names),
    data: { times: results[0]!.data.times, values: results.flatMap(({ data }) => data.values) },
    tiers: addedTiers(results.map(({ tiers }) => tiers)),
    warnings: [...new Set(results.flatMap(({ warnings }) => warnings))],
    durationMs: Math.max(...results.map(({ durationMs }) => durationMs)),
    stepS,
  };
}

/** Evaluates a query at the end of a span. */
export async function readTable(
  api: Api,
  query: string,
  span: Span,
  signal: AbortSignal,
): Promise<TableResult> {
  const { data, ...rest } = await api.prometheus<Result>('query', { query, time: String(span.toS) }, signal);
  return { ...rest, atS: span.toS, rows: rowsOf(data) };
}

/** Assigns a matrix's values to its steps. A step without a value, or with a value that cannot be drawn, is null. */
export function graphOf(
  result: Result,
  startS: number,
  endS: number,
  stepS: number,
): Pick<GraphResult, 'series' | 'data'> {
  const matrix = result.resultType === 'matrix' ? result.result : [];
  const count = Math.max(0, Math.floor((endS - startS) / stepS) + 1);
  const times = Array.from({ length: count }, (_, i) => startS + i * stepS);
  const values = matrix.map(({ values: samples }) => {
    const row: (number | null)[] = new Array(count).fill(null);
    for (const [timeS, text] of samples) {
      const value = Number(text);
      row[Math.round((timeS - startS) / stepS)] = Number.isFinite(value) ? value : null;
    }
    return row;
  });
  return { series: matrix.map(({ metric }) => metric), data: { times, values } };
}

/** Returns the rows of a table, in descending order of values. */
export function rowsOf(result: Result): TableResult['rows'] {
  switch (result.resultType) {
    case 'vector':
      return result.result
        .map(({ metric, value: [, value] }) => ({ labels: metric, value }))
        .sort((a, b) => Number(b.value) - Number(a.value));
    case 'matrix':
      return result.result.map(({ metric, values }) => ({
        labels: metric,
        value: values.map(([timeS, value]) => `${value} @${timeS}`).join('  '),
      }));
    default:
      return [{ labels: {}, value: result.result[1] }];
  }
}

/** Formats a series as in PromQL: `up{job="api"}`. */
export function seriesText({ __name__: name = '', ...labels }: LabelMap): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}=${JSON.stringify(value)}`);
  return pairs.length === 0 ? name || '{}' : `${name}{${pairs.join(', ')}}`;
}

/** Names series by the labels in which they differ. */
export function shortTexts(series: readonly LabelMap[]): string[] {
  const [first] = series;
  if (first === undefined || series.length === 1) return series.map(seriesText);
  const isShared = (label: string) => series.every((labels) => labels[label] === first[label]);
  return series.map((labels) => {
    const own = Object.entries(labels).filter(([label]) => !isShared(label));
    return own.length === 0 ? seriesText(labels) : seriesText(Object.fromEntries(own));
  });
}
