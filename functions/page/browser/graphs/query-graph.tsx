import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import type { GraphUnit } from '../../../../shared/registry/graph-units';
import type { Api } from '../api/api';
import { type GraphResult, type LabelMap, readGraph, seriesText, shortTexts } from '../api/promql-results';
import { counted, formatDuration } from '../view/format';
import type { DrawnAnnotation } from './chart';
import { drawingOf, MAX_GRAPH_LINES } from './drawing';
import { GraphPanel, type GraphPanelView } from './graph-panel';
import type { Graph } from './graphs';
import { TierStrip } from './tier-strip';
import { type ReadingProps, useReading } from './use-reading';
import type { DrawnQuery } from './ways';

/**
 * Give graphs of different queries different values of `key`. Otherwise a graph could show the response to
 * earlier queries.
 */
export interface QueryGraphProps extends ReadingProps, GraphPanelView {
  readonly api: Api;
  readonly sourceName: string;
  readonly name: string;
  readonly title: string;
  readonly unit: GraphUnit;
  /** Returns the queries for a step length in seconds. */
  readonly queriesAt: (stepS: number) => readonly DrawnQuery[];
  /** Name of the line if there is only one. @default the labels of the line's series */
  readonly loneLabel?: string;
  readonly annotations: readonly DrawnAnnotation[];
  /** Returns further annotations that depend on the drawn series. */
  readonly annotationsOf?: ((series: readonly LabelMap[]) => readonly DrawnAnnotation[]) | undefined;
  /** A number with which the values are compared. */
  readonly threshold?: number | undefined;
  readonly warning?: number | undefined;
  readonly height: number;
  readonly showsTiers: boolean;
  readonly controls?: ComponentChildren;
  /** Describes what the graph shows, if its title does not. */
  readonly shows?: (stepS: number) => ComponentChildren;
  /** Returns content below the legend that depends on the drawn series. */
  readonly remark?: (series: readonly LabelMap[]) => ComponentChildren;
  readonly isWanted: boolean;
  readonly panel?: { readonly current: HTMLElement | null };
}

/** A graph of the results of PromQL queries. */
export function QueryGraph(props: QueryGraphProps) {
  const { api, span, utc, compareS, queriesAt, name } = props;
  const { reading, earlier, error } = useReading(
    props,
    name,
    (during, signal) => readGraph(api, queriesAt, during, signal),
    props.isWanted,
  );
  const graph = useMemo(() => graphWith(props, reading), [name, reading?.series]);
  const drawing = useMemo(
    () =>
      reading &&
      drawingOf(graph, drawnOf(reading), earlier && sameSeries(reading, earlier), compareS ?? 0, 'each'),
    [graph, reading, earlier],
  );
  const { annotationsOf } = props;
  const annotations = useMemo(
    () => [...props.annotations, ...(annotationsOf?.(drawnSeries(reading)) ?? [])],
    [props.annotations, annotationsOf, reading?.series],
  );
  return (
    <GraphPanel
      {...props}
      graph={graph}
      drawing={drawing}
      annotations={annotations}
      error={error}
      empty={
        <>
          No series. <span>The query matches nothing in this range.</span>
        </>
      }
      footer={(axis) =>
        reading !== undefined && (
          <>
            {reading.series.length > MAX_GRAPH_LINES && (
              <p class="note">
                The first {MAX_GRAPH_LINES} of {counted(reading.series.length, 'series', 'series')} are drawn.
                topk(10, …) picks the greatest.
              </p>
            )}
            {props.remark?.(drawnSeries(reading))}
            {props.shows && <p class="note">{props.shows(reading.stepS)}</p>}
            {reading.warnings.map((warning) => (
              <p key={warning} class="note">
                {warning}
              </p>
            ))}
            {props.showsTiers && (
              <>
                {reading.tiers.length > 0 && (
                  <TierStrip tiers={reading.tiers} span={span} utc={utc} axis={axis} />
                )}
                <p class="note">
                  {counted(reading.series.length, 'series', 'series')}, one value each{' '}
                  {formatDuration(reading.stepS * 1000)}, answered in {reading.durationMs.toFixed(0)} ms
                </p>
              </>
            )}
          </>
        )
      }
    />
  );
}

function graphWith(
  { name, title, unit, loneLabel }: QueryGraphProps,
  result: GraphResult | undefined,
): Graph {
  const series = drawnSeries(result);
  const labels = series.length === 1 && loneLabel !== undefined ? [loneLabel] : shortTexts(series);
  const lines = series.map((each, i) => {
    const id = idOf(result!, i);
    return {
      id,
      label: result!.names[i] ?? labels[i]!,
      isStacked: false,
      source: NO_SOURCE,
      metric: seriesText(each),
    };
  });
  return { name, title, unit, lines, path: [name] };
}

function drawnSeries(result: GraphResult | undefined): readonly LabelMap[] {
  return (result?.series ?? []).slice(0, MAX_GRAPH_LINES);
}

const NO_SOURCE = { kind: 'labels', id: '' } as const;

function idOf({ series, names }: GraphResult, at: number): string {
  const name = names[at];
  // Add the labels if two series have the same name.
  return name === undefined || names.indexOf(name) !== names.lastIndexOf(name)
    ? `${name ?? ''}${seriesText(series[at]!)}`
    : name;
}

/** Returns the values of the drawn series. */
function drawnOf({ data: { times, values } }: GraphResult): GraphResult['data'] {
  return { times, values: values.slice(0, MAX_GRAPH_LINES) };
}

/** Returns the earlier values of the drawn series, in the same order. */
function sameSeries(result: GraphResult, earlier: GraphResult): GraphResult['data'] {
  const { times, values } = earlier.data;
  const rows = new Map(earlier.series.map((_, i) => [idOf(earlier, i), values[i]!]));
  const none: readonly null[] = times.map(() => null);
  const shown = result.series.slice(0, MAX_GRAPH_LINES);
  return { times, values: shown.map((_, i) => rows.get(idOf(result, i)) ?? none) };
}
