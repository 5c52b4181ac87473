import { useId, useMemo, useRef, useState } from 'preact/hooks';
import type { Api } from '../api/api';
import { Chart } from '../graphs/chart';
import { drawingOf, MAX_LINES } from '../graphs/drawing';
import type { Graph } from '../graphs/graphs';
import { Legend } from '../graphs/legend';
import { TierStrip } from '../graphs/tier-strip';
import { type ReadingProps, useReading } from '../graphs/use-reading';
import { formatCount, formatDuration, formatTime } from '../view/format';
import { type GraphAnswer, readGraph, readTable, seriesText, shortTexts, type TableAnswer } from './answers';

export interface QueryCardProps extends ReadingProps {
  readonly api: Api;
  readonly query: string;
  readonly asTable: boolean;
  readonly hidden: readonly string[];
  readonly utc: boolean;
  readonly showsTiers: boolean;
  readonly onHide: (id: string, isHidden: boolean) => void;
  readonly onZoom: (fromS: number, toS: number) => void;
  readonly onZoomOut: () => void;
}

/** A query's answer: series over time, or values at the end of the range. */
export function QueryCard(props: QueryCardProps) {
  return props.asTable ? <TableCard {...props} /> : <PlotCard {...props} />;
}

const NO_ANNOTATIONS: readonly never[] = [];

function PlotCard(props: QueryCardProps) {
  const { api, query, span, utc, compareS } = props;
  const { reading, earlier, error } = useReading(
    props,
    query,
    (during, signal) => readGraph(api, query, during, signal),
    true,
  );
  const graph = useMemo(() => reading && graphWith(query, reading), [query, reading?.series]);
  const drawing = useMemo(
    () =>
      reading &&
      drawingOf(graph!, drawnOf(reading), earlier && sameSeries(reading, earlier), compareS ?? 0, 'each'),
    [graph, reading, earlier],
  );
  const [axis, setAxis] = useState<{ readonly left: number; readonly width: number }>();
  const showValues = useRef<(index: number | undefined) => void>(() => {});
  const time = useRef<HTMLElement>(null);
  const titleId = useId();
  return (
    <article class="card" aria-labelledby={titleId} aria-busy={reading === undefined && error === undefined}>
      <header>
        <h2 id={titleId}>{query}</h2>
        <span class="at" ref={time} />
      </header>
      {drawing === undefined ? (
        <div class="plot waiting">
          <span>{error === undefined ? 'reading …' : ''}</span>
        </div>
      ) : (
        <div class="plotted">
          <Chart
            graph={graph!}
            drawing={drawing}
            hidden={props.hidden}
            span={span}
            utc={utc}
            annotations={NO_ANNOTATIONS}
            onZoom={props.onZoom}
            onZoomOut={props.onZoomOut}
            onPlot={() => {}}
            onAxis={(left, width) =>
              setAxis((old) => (old?.left === left && old.width === width ? old : { left, width }))
            }
            onCursor={(index) => {
              const at = drawing.data.times[index ?? -1];
              time.current!.textContent = at === undefined ? '' : formatTime(at, utc).slice(5);
              showValues.current(index);
            }}
          />
          {reading!.series.length === 0 && (
            <p class="empty">
              No series. <span>The query matches nothing in this range.</span>
            </p>
          )}
        </div>
      )}
      {graph !== undefined && (
        <Legend
          title={query}
          drawing={drawing}
          unit="float"
          hidden={props.hidden}
          compareS={compareS}
          show={showValues}
          onHide={props.onHide}
        />
      )}
      {reading !== undefined && reading.series.length > MAX_LINES && (
        <p class="note">
          The first {MAX_LINES} of {formatCount(reading.series.length)} series are drawn. topk(10, …) picks
          the greatest.
        </p>
      )}
      <Remarks error={error} warnings={reading?.warnings} />
      {props.showsTiers && reading !== undefined && (
        <>
          {reading.tiers.length > 0 && <TierStrip tiers={reading.tiers} span={span} utc={utc} axis={axis} />}
          <p class="note">
            {formatCount(reading.series.length)} series, a value each {formatDuration(reading.stepS * 1000)},
            answered in {reading.durationMs.toFixed(0)} ms
          </p>
        </>
      )}
    </article>
  );
}

/** Rows that are shown; a table of thousands is read by nobody. */
const MAX_ROWS = 500;

function TableCard(props: QueryCardProps) {
  const { api, query, span, utc } = props;
  const { reading, error } = useReading<TableAnswer>(
    { ...props, compareS: undefined },
    query,
    (during, signal) => readTable(api, query, during, signal),
    true,
  );
  const titleId = useId();
  return (
    <article class="card" aria-labelledby={titleId} aria-busy={reading === undefined && error === undefined}>
      <header>
        <h2 id={titleId}>{query}</h2>
        <span class="at">{formatTime(span.toS, utc).slice(5)}</span>
      </header>
      {reading !== undefined && reading.rows.length === 0 && <p class="note">No series at this time.</p>}
      {reading !== undefined && reading.rows.length > 0 && (
        <div class="rows">
          <table aria-labelledby={titleId}>
            <thead>
              <tr>
                <th scope="col">series</th>
                <th scope="col">value</th>
              </tr>
            </thead>
            <tbody>
              {reading.rows.slice(0, MAX_ROWS).map(({ labels, value }) => (
                <tr key={seriesText(labels)}>
                  <td>{seriesText(labels)}</td>
                  <td>{value}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {reading !== undefined && reading.rows.length > MAX_ROWS && (
        <p class="note">
          The first {MAX_ROWS} of {formatCount(reading.rows.length)} series.
        </p>
      )}
      <Remarks error={error} warnings={reading?.warnings} />
    </article>
  );
}

function Remarks({
  error,
  warnings = [],
}: {
  readonly error: string | undefined;
  readonly warnings: readonly string[] | undefined;
}) {
  return (
    <>
      {warnings.map((warning) => (
        <p key={warning} class="note">
          {warning}
        </p>
      ))}
      {error !== undefined && (
        <p class="note alert" role="alert">
          {error}
        </p>
      )}
    </>
  );
}

function graphWith(query: string, { series }: GraphAnswer): Graph {
  const shown = series.slice(0, MAX_LINES);
  const labels = shortTexts(shown);
  const lines = shown.map((each, i) => {
    const id = seriesText(each);
    return { id, label: labels[i]!, isStacked: false, source: NO_SOURCE, metric: id };
  });
  return { name: query, title: query, unit: 'float', lines, path: [query] };
}

const NO_SOURCE = { kind: 'labels', id: '' } as const;

/** The values of the series that are drawn. */
function drawnOf({ data: { times, values } }: GraphAnswer): GraphAnswer['data'] {
  return { times, values: values.slice(0, MAX_LINES) };
}

/** The earlier values of the series that are drawn, in their order. */
function sameSeries({ series }: GraphAnswer, earlier: GraphAnswer): GraphAnswer['data'] {
  const { times, values } = earlier.data;
  const rows = new Map(earlier.series.map((labels, i) => [seriesText(labels), values[i]!]));
  const none: readonly null[] = times.map(() => null);
  return {
    times,
    values: series.slice(0, MAX_LINES).map((labels) => rows.get(seriesText(labels)) ?? none),
  };
}
