import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { formatTime, formatValue } from '../view/format';
import type { Span } from '../view/time-range';
import { type Drawing, spreadOf } from './drawing';
import type { Graph } from './graphs';
import { type Plotted, plotOptions, plottedOf } from './plot';

/** The time at the pointer or crosshair. */
export interface Cursor {
  readonly timeS: number;
  /** Index of `timeS` in the data; undefined if no sample is near. */
  readonly index: number | undefined;
}

/** A span of time that a graph shades, as Unix time in seconds. */
export interface DrawnAnnotation {
  readonly from: number;
  readonly to: number;
  /** Whether an alert was active in this span. */
  readonly isAlert?: boolean;
  /** Whether the alert is only a warning. */
  readonly isWarning?: boolean;
}

export interface ChartProps {
  readonly graph: Graph;
  readonly drawing: Drawing;
  readonly hidden: readonly string[];
  readonly span: Span;
  readonly utc: boolean;
  readonly annotations: readonly DrawnAnnotation[];
  /** A number with which the values are compared; it is drawn as a line. */
  readonly threshold?: number | undefined;
  /** The threshold of warnings, also drawn as a line. */
  readonly warning?: number | undefined;
  /** Height of the plot, in pixels. */
  readonly height: number;
  readonly onZoom: (fromS: number, toS: number) => void;
  readonly onZoomOut: () => void;
  /** Called with the position of the pointer or crosshair; undefined when it leaves. */
  readonly onCursor: (cursor: Cursor | undefined) => void;
  /** Called with the plot, for saving pictures. */
  readonly onPlot: (plot: uPlot | undefined) => void;
  /** Called when the time axis moves, with its left edge and its width in pixels of the page. */
  readonly onAxis: (left: number, width: number) => void;
}

/** A graph's lines or areas over time. Dragging zooms; the arrow keys move the crosshair. */
export function Chart(props: ChartProps) {
  const { graph, drawing, hidden, span, utc, annotations } = props;
  const { data } = drawing;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const plotted = useRef<Plotted>(undefined as never);
  plotted.current = useMemo(
    () => plottedOf(props),
    [graph, drawing, hidden, span, props.threshold, props.warning],
  );
  const drawn = useRef<{ readonly plotted: Plotted; readonly annotations: readonly DrawnAnnotation[] }>(
    undefined,
  );
  const scheme = useColorScheme();
  const lines = drawing.lines.map(({ id, isEarlier }) => `${isEarlier} ${id}`).join('\n');

  useLayoutEffect(() => {
    const element = place.current!;
    const made = new uPlot(
      plotOptions(latest, plotted, element.clientWidth),
      plotted.current.data as uPlot.AlignedData,
      element,
    );
    plot.current = made;
    drawn.current = { plotted: plotted.current, annotations };
    latest.current.onPlot(made);
    const resizing = new ResizeObserver(() => {
      if (element.clientWidth === made.width) return;
      made.setSize({ width: element.clientWidth, height: latest.current.height });
    });
    resizing.observe(element);
    return () => {
      resizing.disconnect();
      made.destroy();
      plot.current = undefined;
      latest.current.onPlot(undefined);
    };
    // Changes of other properties affect only the data, for which the plot need not be created again.
  }, [graph, lines, hidden, utc, scheme, props.height]);

  useEffect(() => {
    // A newly created plot has drawn this data already.
    if (drawn.current?.plotted === plotted.current && drawn.current.annotations === annotations) return;
    drawn.current = { plotted: plotted.current, annotations };
    plot.current?.setData(plotted.current.data as uPlot.AlignedData, false);
    plot.current?.setScale('x', { min: span.fromS, max: span.toS });
  }, [drawing, span.fromS, span.toS, annotations]);

  const [cursor, setCursor] = useState<number>();
  const moveTo = (index: number | undefined) => {
    setCursor(index);
    const made = plot.current;
    if (made === undefined) return;
    const left = index === undefined ? -10 : made.valToPos(data.times[index]!, 'x');
    made.setCursor({ left, top: index === undefined ? -10 : made.over.clientHeight / 2 }, true);
  };
  const last = data.times.length - 1;
  const onKeyDown = (event: KeyboardEvent) => {
    const target = targetOf(event.key, cursor, last);
    if (target === undefined || last < 0) return;
    event.preventDefault();
    moveTo(Math.min(last, Math.max(0, target)));
  };

  const at = Math.min(cursor ?? last, last);
  return (
    <div
      class="plot"
      style={{ minHeight: `${props.height}px` }}
      ref={place}
      role="slider"
      tabIndex={0}
      aria-label={`${graph.title} over time`}
      aria-orientation="horizontal"
      aria-valuemin={0}
      aria-valuemax={Math.max(0, last)}
      aria-valuenow={Math.max(0, at)}
      aria-valuetext={at < 0 ? 'no samples' : spoken(props, at)}
      onKeyDown={onKeyDown}
      onBlur={() => moveTo(undefined)}
    />
  );
}

/** Returns the index to which a key moves the crosshair. It may be beyond either end. */
function targetOf(key: string, cursor: number | undefined, last: number): number | undefined {
  const at = Math.min(cursor ?? last, last);
  const leap = Math.max(1, Math.round(last / 10));
  const targets: Record<string, number> = {
    ArrowLeft: at - 1,
    ArrowRight: cursor === undefined ? at : at + 1,
    PageDown: at - leap,
    PageUp: at + leap,
    Home: 0,
    End: last,
  };
  return targets[key];
}

/** Returns a time and its values as text for screen readers. */
function spoken({ graph, drawing, utc }: ChartProps, at: number): string {
  const { lines, data } = drawing;
  const spread = spreadOf(data);
  const values = lines.map(({ label, isEarlier }, i) => {
    const value = data.values[i]?.[at];
    const text = value === null || value === undefined ? 'no value' : formatValue(value, graph.unit, spread);
    return `${label}${isEarlier ? ' before' : ''} ${text}`;
  });
  return `${formatTime(data.times[at]!, utc)}: ${values.join(', ')}`;
}

/** Whether the color scheme is dark. A canvas does not follow the page's style by itself. */
function useColorScheme(): boolean {
  const query = useRef<MediaQueryList | undefined>(undefined);
  query.current ??= matchMedia('(prefers-color-scheme: dark)');
  const [isDark, setDark] = useState(query.current.matches);
  useEffect(() => {
    const changed = ({ matches }: MediaQueryListEvent) => setDark(matches);
    query.current!.addEventListener('change', changed);
    return () => query.current!.removeEventListener('change', changed);
  }, []);
  return isDark;
}
