import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { type Api, ApiError, type Reading } from './api';
import { Chart, seriesColor } from './chart';
import { csvOf } from './csv';
import { download, fileName, pictureOf } from './download';
import { formatDuration, formatTime, formatValue } from './format';
import type { Graph } from './graphs';
import { TIERS, type TierShare } from './server-timing';
import { TierStrip } from './tier-strip';
import { type Span, stepFor, type TimeRange } from './time-range';
import type { SourceRef } from './view-state';

export interface GraphCardProps {
  readonly api: Api;
  readonly source: SourceRef;
  readonly sourceName: string;
  readonly graph: Graph;
  readonly range: TimeRange;
  /** The range as it is now; a new object whenever it is to be read again. */
  readonly span: Span;
  readonly utc: boolean;
  readonly showsTiers: boolean;
  readonly onZoom: (fromS: number, toS: number) => void;
  readonly onZoomOut: () => void;
  readonly onAnswer: (error: ApiError | undefined) => void;
}

/** Until there is an answer: as much room as it will take. */
const NO_TIERS: readonly TierShare[] = TIERS.map((tier) => ({ tier, samples: 0, durationMs: 0, spans: [] }));

/** More series than this make no picture. */
const MAX_SERIES = 60;

/** One graph: title, plot, values at the crosshair, and where the samples came from. */
export function GraphCard(props: GraphCardProps) {
  const { sourceName, graph: whole, span, utc, showsTiers } = props;
  const graph = useMemo(() => ({ ...whole, metrics: whole.metrics.slice(0, MAX_SERIES) }), [whole]);
  const card = useRef<HTMLElement>(null);
  const isNear = useIsNear(card);
  const { reading, error } = useReading(props, graph, isNear);

  const [shown, setShown] = useState<readonly boolean[]>(() => graph.metrics.map(() => true));
  const [plot, setPlot] = useState<uPlot>();
  const [axis, setAxis] = useState<{ readonly left: number; readonly width: number }>();
  const onAxis = (left: number, width: number) =>
    setAxis((old) => (old?.left === left && old.width === width ? old : { left, width }));

  // Written straight into the page: the crosshair of one graph moves those of all, with every move of the pointer.
  const values = useRef<(HTMLElement | null)[]>([]);
  const time = useRef<HTMLElement>(null);
  const showValues = (index: number | undefined) => {
    if (reading === undefined) return;
    const at = reading.times[index ?? -1];
    if (time.current !== null)
      time.current.textContent = at === undefined ? '' : formatTime(at, utc).slice(5);
    for (const [i, element] of values.current.entries()) {
      if (!element) continue;
      const row = reading.values[i] ?? [];
      const value = index === undefined ? row.findLast((each) => each !== null) : row[index];
      element.textContent = value === null || value === undefined ? '–' : formatValue(value, graph.unit);
    }
  };
  useEffect(() => showValues(undefined), [reading, utc]);

  const titleId = useId();
  const isEmpty = reading !== undefined && reading.times.length === 0;
  const save = (kind: 'csv' | 'png') => {
    if (reading === undefined) return;
    const title = `${sourceName}: ${graph.title}`;
    if (kind === 'csv') {
      const text = csvOf(
        graph.metrics.map(({ name }) => name),
        reading,
      );
      download(fileName(sourceName, graph, '.csv'), new Blob([text], { type: 'text/csv' }));
    } else if (plot !== undefined)
      void pictureOf(plot, graph, title, shown).then((picture) =>
        download(fileName(sourceName, graph, '.png'), picture),
      );
  };
  const step = stepFor(span);

  return (
    <article class="card" ref={card} aria-labelledby={titleId} aria-busy={reading === undefined && !error}>
      <header>
        <h2 id={titleId} title={whole.name}>
          {graph.title}
        </h2>
        <span class="at" ref={time} />
        <span class="actions">
          <button
            type="button"
            class="quiet"
            disabled={reading === undefined}
            onClick={() => save('csv')}
            aria-label={`Save ${graph.title} as CSV`}
          >
            CSV
          </button>
          <button
            type="button"
            class="quiet"
            disabled={plot === undefined}
            onClick={() => save('png')}
            aria-label={`Save ${graph.title} as PNG`}
          >
            PNG
          </button>
        </span>
      </header>
      {reading === undefined ? (
        <div class="plot waiting">{error === undefined ? <span>reading …</span> : <span>{error}</span>}</div>
      ) : (
        <div class="plotted">
          <Chart
            graph={graph}
            data={reading}
            shown={shown}
            span={span}
            utc={utc}
            onZoom={props.onZoom}
            onZoomOut={props.onZoomOut}
            onCursor={showValues}
            onPlot={setPlot}
            onAxis={onAxis}
          />
          {isEmpty && (
            <p class="empty">
              No samples in this range. <span>Choose a longer one, or go back in time.</span>
            </p>
          )}
        </div>
      )}
      <ul class="legend" aria-label={`Series of ${graph.title}`}>
        {graph.metrics.map(({ name, label }, i) => (
          <li key={name}>
            <button
              type="button"
              aria-pressed={shown[i]}
              title={name}
              onClick={() => setShown(shown.map((isShown, at) => (at === i ? !isShown : isShown)))}
            >
              <i class="swatch" style={{ background: seriesColor(i) }} />
              <span class="label">{label}</span>
              <span
                class="value"
                ref={(element) => {
                  values.current[i] = element;
                }}
              />
            </button>
          </li>
        ))}
      </ul>
      {whole.metrics.length > MAX_SERIES && (
        <p class="note">
          {MAX_SERIES} of {whole.metrics.length} series are drawn.
        </p>
      )}
      {reading?.isIncomplete && (
        <p class="note alert">Memory lost a part of this; it is being read again from the stream.</p>
      )}
      {reading !== undefined && error !== undefined && <p class="note alert">{error}</p>}
      {showsTiers && (
        <>
          <TierStrip tiers={reading?.tiers ?? NO_TIERS} span={span} utc={utc} axis={axis} />
          <p class="note">
            {reading === undefined ? 'reading' : `answered in ${reading.durationMs.toFixed(0)} ms`}
            {step === undefined ? ', samples as stored' : `, means of ${formatDuration(step * 1000)}`}
          </p>
        </>
      )}
    </article>
  );
}

/** After a failure a graph is read again, also where its range stands still. */
const RETRY_MS = 5_000;

/** The samples of a range: read when it is wanted, and again with each new span. */
function useReading(
  { api, source, range, span, onAnswer }: GraphCardProps,
  { metrics }: Graph,
  isWanted: boolean,
): { readonly reading?: Reading; readonly error?: string } {
  const [state, setState] = useState<{ readonly reading?: Reading; readonly error?: string }>({});
  const flight = useRef<{ readonly range: TimeRange; readonly abort: AbortController } | undefined>(
    undefined,
  );
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    if (!isWanted) return;
    // A range that moves on is not read again before the last answer came; another range is, at once.
    if (flight.current?.range === range) return;
    flight.current?.abort.abort();
    const mine = { range, abort: new AbortController() };
    flight.current = mine;
    const names = metrics.map(({ name }) => name);
    const landed = () => {
      if (flight.current === mine) flight.current = undefined;
      return !mine.abort.signal.aborted;
    };
    api.read(source, names, span, mine.abort.signal).then(
      (reading) => {
        if (!landed()) return;
        setState({ reading });
        onAnswer(undefined);
      },
      (reason: Error) => {
        if (!landed()) return;
        setState((old) => ({ ...old, error: reason.message }));
        setTimeout(() => setAttempt((count) => count + 1), RETRY_MS);
        onAnswer(reason instanceof ApiError ? reason : undefined);
      },
    );
  }, [isWanted, range, span, attempt]);
  useEffect(() => () => flight.current?.abort.abort(), []);
  return state;
}

/** Whether an element is in view, or nearly: what nobody sees is not read. */
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
