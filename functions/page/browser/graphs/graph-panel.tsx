import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { Breakable } from '../view/breakable';
import { formatTime } from '../view/format';
import type { Span } from '../view/time-range';
import { Chart, type Cursor, type DrawnAnnotation } from './chart';
import type { Drawing } from './drawing';
import type { Graph } from './graphs';
import { Legend } from './legend';
import { lastIndex } from './plot-data';
import { SaveButtons } from './save-buttons';

/** Left edge and width of a plot's time axis, in pixels of the page. */
export interface TimeAxis {
  readonly left: number;
  readonly width: number;
}

/** Properties that all graphs of a view have in common: how they are shown, and callbacks. */
export interface GraphPanelView {
  readonly span: Span;
  readonly utc: boolean;
  readonly hidden: readonly string[];
  readonly compareS: number | undefined;
  readonly onHide: (id: string, isHidden: boolean) => void;
  readonly onZoom: (fromS: number, toS: number) => void;
  readonly onZoomOut: () => void;
}

export interface GraphPanelProps extends GraphPanelView {
  /** Prefix of the names of saved files. */
  readonly sourceName: string;
  readonly graph: Graph;
  /** Undefined until there is something to draw. */
  readonly drawing: Drawing | undefined;
  readonly annotations: readonly DrawnAnnotation[];
  /** A number with which the values are compared. */
  readonly threshold?: number | undefined;
  readonly warning?: number | undefined;
  /** Height of the plot, in pixels. */
  readonly height: number;
  /** Why there is no response, or why only an old one is shown. */
  readonly error: string | undefined;
  /** Shown instead of a drawing without samples. */
  readonly empty: ComponentChildren;
  readonly controls?: ComponentChildren;
  /** Content below the legend. */
  readonly footer: (axis: TimeAxis | undefined) => ComponentChildren;
  readonly panel?: { readonly current: HTMLElement | null };
}

/**
 * A graph with its title, the values at the crosshair, and buttons for saving it. The caller reads the data.
 */
export function GraphPanel(props: GraphPanelProps) {
  const { graph, drawing, span, utc, error, height } = props;
  const [plot, setPlot] = useState<uPlot>();
  const [axis, setAxis] = useState<TimeAxis>();
  const onAxis = (left: number, width: number) =>
    setAxis((old) => (old?.left === left && old.width === width ? old : { left, width }));
  const showValues = useRef<(index: number | undefined) => void>(() => {});
  const time = useRef<HTMLElement>(null);
  // Update the page directly, without rendering it again: whenever the pointer moves, the crosshair moves in all
  // graphs.
  const isHovered = useRef(false);
  const onCursor = (cursor: Cursor | undefined) => {
    isHovered.current = cursor !== undefined;
    const times = drawing?.data.times ?? [];
    const index = cursor === undefined ? drawing && lastIndex(drawing.data) : cursor.index;
    const timeS = times[index ?? -1] ?? cursor?.timeS;
    time.current!.textContent = timeS === undefined ? '' : formatTime(timeS, utc).slice(5);
    showValues.current(index);
  };
  useEffect(() => {
    // The plot reports its crosshair when it gets new data. Without a crosshair, it reports nothing.
    if (!isHovered.current) onCursor(undefined);
  }, [drawing, utc]);

  const titleId = useId();
  const isWaiting = drawing === undefined && error === undefined;
  return (
    <article class="card" ref={props.panel} aria-labelledby={titleId} aria-busy={isWaiting}>
      <header>
        <h2 id={titleId} title={graph.name}>
          <Breakable text={graph.title} />
        </h2>
        <span class="at" ref={time} />
        {props.controls}
        <SaveButtons
          sourceName={props.sourceName}
          graph={graph}
          drawing={drawing}
          plot={plot}
          hidden={props.hidden}
        />
      </header>
      {error !== undefined && (
        <p class="note alert" role={drawing === undefined ? 'alert' : undefined}>
          {error}
        </p>
      )}
      {drawing === undefined ? (
        (isWaiting || props.panel !== undefined) && (
          <div class="plot waiting" style={{ minHeight: `${height}px` }}>
            <span>{isWaiting ? 'reading …' : ''}</span>
          </div>
        )
      ) : (
        <div class="plotted">
          <Chart
            graph={graph}
            drawing={drawing}
            hidden={props.hidden}
            span={span}
            utc={utc}
            annotations={props.annotations}
            threshold={props.threshold}
            warning={props.warning}
            height={height}
            onZoom={props.onZoom}
            onZoomOut={props.onZoomOut}
            onPlot={setPlot}
            onAxis={onAxis}
            onCursor={onCursor}
          />
          {lastIndex(drawing.data) === undefined && <p class="empty">{props.empty}</p>}
        </div>
      )}
      <Legend
        title={graph.title}
        drawing={drawing}
        unit={graph.unit}
        hidden={props.hidden}
        compareS={props.compareS}
        show={showValues}
        onHide={props.onHide}
      />
      {props.footer(axis)}
    </article>
  );
}
