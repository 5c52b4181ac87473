import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import type { Annotation, Api } from '../api/api';
import { type Reading, readSeries } from '../api/reading';
import { TIERS, type TierShare } from '../api/server-timing';
import { formatDuration, formatTime } from '../view/format';
import { stepFor } from '../view/time-range';
import type { OverHosts } from '../view/view-state';
import { Chart } from './chart';
import { csvOf } from './csv';
import { download, fileName, pictureOf } from './download';
import { type Drawing, drawingOf, MAX_LINES } from './drawing';
import type { Graph } from './graphs';
import { Legend } from './legend';
import { TierStrip } from './tier-strip';
import { type ReadingProps, type ReadingState, useReading } from './use-reading';

export interface GraphCardProps extends ReadingProps {
  readonly api: Api;
  readonly sourceName: string;
  readonly graph: Graph;
  readonly hidden: readonly string[];
  readonly over: OverHosts;
  readonly annotations: readonly Annotation[];
  readonly utc: boolean;
  readonly showsTiers: boolean;
  readonly onHide: (id: string, isHidden: boolean) => void;
  readonly onZoom: (fromS: number, toS: number) => void;
  readonly onZoomOut: () => void;
}

/** Until there is an answer: takes as much room as the answer will. */
const NO_TIERS: readonly TierShare[] = TIERS.map((tier) => ({ tier, samples: 0, durationMs: 0, spans: [] }));

/** One graph: title, plot, the values at the crosshair, and which tiers the samples came from. */
export function GraphCard(props: GraphCardProps) {
  const { sourceName, graph: whole, span, utc, compareS, over } = props;
  const graph = useMemo(() => ({ ...whole, lines: whole.lines.slice(0, MAX_LINES) }), [whole]);
  const card = useRef<HTMLElement>(null);
  const { lines } = graph;
  const state = useReading(
    props,
    lines,
    (during, signal) => readSeries(props.api, lines, during, signal),
    useIsNear(card),
  );
  const { reading, earlier } = state;
  const drawing = useMemo(
    () => reading && drawingOf(graph, reading, earlier, compareS ?? 0, over),
    [graph, reading, earlier, over],
  );

  const [plot, setPlot] = useState<uPlot>();
  const [axis, setAxis] = useState<{ readonly left: number; readonly width: number }>();
  const onAxis = (left: number, width: number) =>
    setAxis((old) => (old?.left === left && old.width === width ? old : { left, width }));
  const showValues = useRef<(index: number | undefined) => void>(() => {});
  const time = useRef<HTMLElement>(null);
  const onCursor = (index: number | undefined) => {
    const at = drawing?.data.times[index ?? -1];
    time.current!.textContent = at === undefined ? '' : formatTime(at, utc).slice(5);
    showValues.current(index);
  };

  const titleId = useId();
  return (
    <article
      class="card"
      ref={card}
      aria-labelledby={titleId}
      aria-busy={reading === undefined && state.error === undefined}
    >
      <header>
        <h2 id={titleId} title={whole.name}>
          {graph.title}
        </h2>
        <span class="at" ref={time} />
        <SaveButtons
          sourceName={sourceName}
          graph={graph}
          drawing={drawing}
          plot={plot}
          hidden={props.hidden}
        />
      </header>
      {drawing === undefined ? (
        <div class="plot waiting">
          <span>{state.error ?? 'reading …'}</span>
        </div>
      ) : (
        <div class="plotted">
          <Chart {...props} graph={graph} drawing={drawing} {...{ onCursor, onPlot: setPlot, onAxis }} />
          {drawing.data.times.length === 0 && (
            <p class="empty">
              No samples in this range. <span>Choose a longer one, or go back in time.</span>
            </p>
          )}
        </div>
      )}
      <Legend
        title={graph.title}
        drawing={drawing}
        unit={graph.unit}
        hidden={props.hidden}
        compareS={compareS}
        show={showValues}
        onHide={props.onHide}
      />
      <Remarks state={state} whole={whole} />
      {props.showsTiers && (
        <>
          <TierStrip tiers={reading?.tiers ?? NO_TIERS} span={span} utc={utc} axis={axis} />
          <p class="note">{answerText(reading, stepFor(span))}</p>
        </>
      )}
    </article>
  );
}

/** Warnings below a graph: lines left out, samples lost from memory, a failed read. */
function Remarks({ state, whole }: { readonly state: ReadingState<Reading>; readonly whole: Graph }) {
  const { reading, earlier, error } = state;
  return (
    <>
      {whole.lines.length > MAX_LINES && (
        <p class="note">
          The first {MAX_LINES} of {whole.lines.length} lines are read.
        </p>
      )}
      {(reading?.isIncomplete || earlier?.isIncomplete) && (
        <p class="note alert">
          Memory lost some of these samples; they are being read again from the stream.
        </p>
      )}
      {reading !== undefined && error !== undefined && <p class="note alert">{error}</p>}
    </>
  );
}

function answerText(reading: Reading | undefined, stepS: number | undefined): string {
  const answered = reading === undefined ? 'reading' : `answered in ${reading.durationMs.toFixed(0)} ms`;
  const samples = stepS === undefined ? 'samples as stored' : `means of ${formatDuration(stepS * 1000)}`;
  return `${answered}, ${samples}`;
}

interface SaveButtonsProps {
  readonly sourceName: string;
  readonly graph: Graph;
  readonly drawing: Drawing | undefined;
  readonly plot: uPlot | undefined;
  readonly hidden: readonly string[];
}

function SaveButtons({ sourceName, graph, drawing, plot, hidden }: SaveButtonsProps) {
  const saveTable = () => {
    const names = drawing!.lines.map(({ id, isEarlier }) => (isEarlier ? `${id} before` : id));
    const text = csvOf(names, drawing!.data);
    download(fileName(sourceName, graph, '.csv'), new Blob([text], { type: 'text/csv' }));
  };
  const savePicture = async () => {
    const shown = drawing!.lines.filter(({ id, isEarlier }) => !isEarlier && !hidden.includes(id));
    const picture = await pictureOf(plot!, shown, `${sourceName}: ${graph.title}`);
    download(fileName(sourceName, graph, '.png'), picture);
  };
  return (
    <span class="actions">
      <button
        type="button"
        class="quiet"
        disabled={drawing === undefined}
        onClick={saveTable}
        aria-label={`Save ${graph.title} as CSV`}
      >
        CSV
      </button>
      <button
        type="button"
        class="quiet"
        disabled={plot === undefined}
        onClick={() => void savePicture()}
        aria-label={`Save ${graph.title} as PNG`}
      >
        PNG
      </button>
    </span>
  );
}

/** Whether an element is in view or nearly so: the page reads only those. */
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
