import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { TIERS } from '../../../../shared/model/tier';
import type { Annotation, Api } from '../api/api';
import { type Reading, readSeries } from '../api/reading';
import type { TierShare } from '../api/server-timing';
import { formatDuration } from '../view/format';
import { stepFor } from '../view/time-range';
import type { OverHosts } from '../view/view-state';
import { drawingOf, MAX_GRAPH_LINES } from './drawing';
import { GraphPanel, type GraphPanelView } from './graph-panel';
import type { Graph } from './graphs';
import { measuredProps, WayChoice } from './measured';
import { QueryGraph } from './query-graph';
import { TierStrip } from './tier-strip';
import { type ReadingProps, type ReadingState, useReading } from './use-reading';
import { type Measure, type Way, wayOf } from './ways';

export interface GraphCardProps extends ReadingProps, GraphPanelView {
  readonly api: Api;
  readonly sourceName: string;
  readonly graph: Graph;
  readonly over: OverHosts;
  readonly annotations: readonly Annotation[];
  readonly showsTiers: boolean;
  /** How a counter or histogram is shown; undefined for the default way. */
  readonly way: string | undefined;
  readonly onWay: (way: Way) => void;
  /** Height of the plot, in pixels. */
  readonly height?: number;
}

/** Default height of a plot, in pixels. */
const HEIGHT = 190;

/**
 * Tiers without samples, shown until there is a response. They take up as much room as the tiers in the response will.
 */
const NO_TIERS: readonly TierShare[] = TIERS.map((tier) => ({ tier, samples: 0, spans: [] }));

/** A graph of a source: stored samples, or the result of PromQL on a counter or histogram. */
export function GraphCard(props: GraphCardProps) {
  const { measure } = props.graph;
  return measure !== undefined && wayOf(measure, props.way) !== 'stored' ? (
    <MeasuredGraph {...props} measure={measure} />
  ) : (
    <StoredGraph {...props} />
  );
}

function MeasuredGraph(props: GraphCardProps & { readonly measure: Measure }) {
  const { graph, measure } = props;
  const panel = useRef<HTMLElement>(null);
  const isWanted = useIsNear(panel);
  const way = wayOf(measure, props.way);
  return (
    <QueryGraph
      {...props}
      key={way}
      name={graph.name}
      title={graph.title}
      loneLabel={graph.title}
      height={props.height ?? HEIGHT}
      panel={panel}
      isWanted={isWanted}
      {...measuredProps(measure, way, props.onWay)}
    />
  );
}

function StoredGraph(props: GraphCardProps) {
  const { graph: whole, span, utc, compareS, over } = props;
  const graph = useMemo(() => ({ ...whole, lines: whole.lines.slice(0, MAX_GRAPH_LINES) }), [whole]);
  const panel = useRef<HTMLElement>(null);
  const { lines } = graph;
  const state = useReading(
    props,
    lines,
    (during, signal) => readSeries(props.api, lines, during, signal),
    useIsNear(panel),
  );
  const { reading, earlier } = state;
  const drawing = useMemo(
    () => reading && drawingOf(graph, reading, earlier, compareS ?? 0, over),
    [graph, reading, earlier, over],
  );
  return (
    <GraphPanel
      {...props}
      graph={graph}
      drawing={drawing}
      error={state.error}
      height={props.height ?? HEIGHT}
      panel={panel}
      controls={
        whole.measure && (
          <WayChoice measure={whole.measure} title={whole.title} way="stored" onWay={props.onWay} />
        )
      }
      empty={
        <>
          No samples in this range. <span>Choose a longer one, or go back in time.</span>
        </>
      }
      footer={(axis) => (
        <>
          <Remarks state={state} whole={whole} />
          {props.showsTiers && (
            <>
              <TierStrip tiers={reading?.tiers ?? NO_TIERS} span={span} utc={utc} axis={axis} />
              <p class="note">{summaryOf(reading, stepFor(span))}</p>
            </>
          )}
        </>
      )}
    />
  );
}

/** Warnings below a graph: lines that were left out, and samples lost from memory. */
function Remarks({ state, whole }: { readonly state: ReadingState<Reading>; readonly whole: Graph }) {
  const { reading, earlier } = state;
  return (
    <>
      {whole.lines.length > MAX_GRAPH_LINES && (
        <p class="note">
          The first {MAX_GRAPH_LINES} of {whole.lines.length} lines are read.
        </p>
      )}
      {(reading?.isIncomplete || earlier?.isIncomplete) && (
        <p class="note alert">Some of these samples are missing; they are being ingested again.</p>
      )}
    </>
  );
}

function summaryOf(reading: Reading | undefined, stepS: number | undefined): string {
  const duration = reading === undefined ? 'reading' : `answered in ${reading.durationMs.toFixed(0)} ms`;
  const samples = stepS === undefined ? 'samples as stored' : `means of ${formatDuration(stepS * 1000)}`;
  return `${duration}, ${samples}`;
}

/** Whether an element is in or near the visible area. The page only reads data of such elements. */
function useIsNear(element: { readonly current: HTMLElement | null }): boolean {
  const [isNear, setNear] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver(
      (entries) => setNear(entries.some(({ isIntersecting }) => isIntersecting)),
      { rootMargin: '400px' },
    );
    observer.observe(element.current!);
    return () => observer.disconnect();
  }, []);
  return isNear;
}
