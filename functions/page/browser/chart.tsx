import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { axisLabels, formatTime, formatValue } from './format';
import type { Graph } from './graphs';
import { lonelySamples, type SeriesData, stackedData, withGaps } from './plot-data';
import type { Span } from './time-range';

export interface ChartProps {
  readonly graph: Graph;
  readonly data: SeriesData;
  /** Which series are drawn. */
  readonly shown: readonly boolean[];
  readonly span: Span;
  readonly utc: boolean;
  readonly onZoom: (fromS: number, toS: number) => void;
  readonly onZoomOut: () => void;
  /** Told where the pointer is: an index of `data`'s times; undefined when it is nowhere. */
  readonly onCursor: (index: number | undefined) => void;
  /** Given the plot once it is there, for pictures. */
  readonly onPlot: (plot: uPlot | undefined) => void;
  /** Told where the time axis begins and how long it is, in pixels of the page, whenever that changes. */
  readonly onAxis: (left: number, width: number) => void;
}

const HEIGHT = 190;
/** The same for all graphs, so that times stand below each other. */
const AXIS_WIDTH = 64;
const SYNC_KEY = 'time';
const BYTE_STEPS = Array.from({ length: 60 }, (_, power) => 2 ** power);

/** Colours of the page's style; series take them in turn. */
export function seriesColor(index: number): string {
  return style(`--series-${index % 10}`);
}

export function style(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** A graph's lines or areas over time. Drag to zoom; with the keyboard, arrows move the crosshair. */
export function Chart(props: ChartProps) {
  const { graph, data, shown, span, utc } = props;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const scheme = useColorScheme();
  /** Index of `data`'s times for each of the plot's, which has more where lines break. */
  const indexes = useRef<readonly number[]>([]);

  useLayoutEffect(() => {
    const element = place.current!;
    const options = optionsOf(latest, indexes, element.clientWidth);
    const made = new uPlot(options, plotted(props, indexes), element);
    plot.current = made;
    latest.current.onPlot(made);
    if (performance.getEntriesByName('first-graph').length === 0) performance.mark('first-graph');
    const resizing = new ResizeObserver(() => {
      if (element.clientWidth === made.width) return;
      made.setSize({ width: element.clientWidth, height: HEIGHT });
    });
    resizing.observe(element);
    return () => {
      resizing.disconnect();
      made.destroy();
      plot.current = undefined;
      latest.current.onPlot(undefined);
    };
    // The rest changes what is drawn, not what it is drawn with.
  }, [graph, utc, scheme, shown]);

  useEffect(() => {
    plot.current?.setData(plotted(latest.current, indexes), false);
    plot.current?.setScale('x', { min: span.fromS, max: span.toS });
  }, [data, span.fromS, span.toS]);

  const [cursor, setCursor] = useState<number>();
  const moveTo = (index: number | undefined) => {
    setCursor(index);
    const made = plot.current;
    if (made === undefined) return;
    const left = index === undefined ? -10 : made.valToPos(data.times[index]!, 'x');
    made.setCursor({ left, top: index === undefined ? -10 : made.over.clientHeight / 2 }, true);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const last = data.times.length - 1;
    const at = Math.min(cursor ?? last, last);
    const leap = Math.max(1, Math.round(last / 10));
    const target = (
      {
        ArrowLeft: at - 1,
        ArrowRight: cursor === undefined ? at : at + 1,
        PageDown: at - leap,
        PageUp: at + leap,
        Home: 0,
        End: last,
      } as Record<string, number>
    )[event.key];
    if (target === undefined || last < 0) return;
    event.preventDefault();
    moveTo(Math.min(last, Math.max(0, target)));
  };

  const at = Math.min(cursor ?? data.times.length - 1, data.times.length - 1);
  return (
    <div
      class="plot"
      ref={place}
      role="slider"
      tabIndex={0}
      aria-label={`${graph.title} over time`}
      aria-orientation="horizontal"
      aria-valuemin={0}
      aria-valuemax={Math.max(0, data.times.length - 1)}
      aria-valuenow={Math.max(0, at)}
      aria-valuetext={at < 0 ? 'no samples' : spoken(graph, data, at, utc)}
      onKeyDown={onKeyDown}
      onBlur={() => moveTo(undefined)}
    />
  );
}

/** A time and its values, as a screen reader says them. */
function spoken(graph: Graph, { times, values }: SeriesData, at: number, utc: boolean): string {
  const said = graph.metrics.map(({ label }, i) => {
    const value = values[i]?.[at];
    return `${label} ${value === null || value === undefined ? 'no value' : formatValue(value, graph.unit)}`;
  });
  return `${formatTime(times[at]!, utc)}: ${said.join(', ')}`;
}

function plotted(
  { data, graph, shown }: ChartProps,
  indexes: { current: readonly number[] },
): uPlot.AlignedData {
  const isStacked = graph.metrics.map((metric) => metric.isStacked);
  const { times, values } = stackedData(withGaps(data), isStacked, shown);
  const original = new Map(data.times.map((time, i) => [time, i]));
  indexes.current = times.map((time) => original.get(time) ?? -1);
  return [times as number[], ...values] as uPlot.AlignedData;
}

function optionsOf(
  latest: { readonly current: ChartProps },
  indexes: { readonly current: readonly number[] },
  width: number,
): uPlot.Options {
  const { graph, shown, utc } = latest.current;
  const ink = style('--muted');
  const grid = { stroke: style('--grid'), width: 1 };
  const font = `11px ${style('--font')}`;
  const isArea = graph.metrics.some(({ isStacked }) => isStacked);
  const areas = graph.metrics.flatMap(({ isStacked }, i) => (isStacked && shown[i] ? [i + 1] : []));
  return {
    width,
    height: HEIGHT,
    padding: [10, 12, 0, 0],
    legend: { show: false },
    tzDate: utc ? (time) => uPlot.tzDate(new Date(time * 1000), 'Etc/UTC') : (time) => new Date(time * 1000),
    cursor: {
      drag: { x: true, y: false, setScale: false },
      points: { size: 7 },
      sync: {
        key: SYNC_KEY,
        setSeries: false,
        // Only the crosshair is shared: a selection is one graph's until it is a range.
        filters: { pub: (type) => type === 'mousemove' || type === 'mouseleave', sub: () => true },
      },
      bind: {
        dblclick: () => () => {
          latest.current.onZoomOut();
          return null;
        },
      },
    },
    scales: {
      x: { time: true, range: () => [latest.current.span.fromS, latest.current.span.toS] },
      y: { range: (_, min, max) => valueRange(graph, isArea, min, max) },
    },
    axes: [
      {
        stroke: ink,
        font,
        grid,
        ticks: { ...grid, size: 4 },
        space: 60,
        size: 30,
        values: (_, splits, _axis, _space, step) => axisLabels(splits, step, utc),
      },
      {
        stroke: ink,
        font,
        grid,
        ticks: { show: false },
        size: AXIS_WIDTH,
        space: 36,
        ...(graph.unit.startsWith('bytes') ? { incrs: BYTE_STEPS } : {}),
        values: (_, splits) => splits.map((value) => formatValue(value, graph.unit)),
      },
    ],
    series: [
      {},
      ...graph.metrics.map(({ label, isStacked }, i): uPlot.Series => {
        const color = seriesColor(i);
        const isAlone = graph.metrics.length === 1;
        return {
          label,
          show: shown[i] ?? true,
          stroke: color,
          width: 1.5,
          ...(isStacked ? { fill: `${color}66` } : isAlone ? { fill: `${color}1f` } : {}),
          points: {
            size: 4,
            filter: (plot, series, isShown) => (isShown ? null : lonelySamples(plot.data[series]!)),
          },
        };
      }),
    ],
    bands: areas.slice(1).map((upper, i) => ({ series: [upper, areas[i]!] as [number, number] })),
    hooks: {
      draw: [
        ({ bbox }) => latest.current.onAxis(bbox.left / devicePixelRatio, bbox.width / devicePixelRatio),
      ],
      setCursor: [
        ({ cursor: { idx, left } }) => {
          const isThere = typeof idx === 'number' && left !== undefined && left >= 0;
          const index = isThere ? indexes.current[idx] : undefined;
          latest.current.onCursor(index === -1 ? undefined : index);
        },
      ],
      setSelect: [
        (plot) => {
          const { left, width: dragged } = plot.select;
          if (dragged < 4) return;
          const [fromS, toS] = [plot.posToVal(left, 'x'), plot.posToVal(left + dragged, 'x')];
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          latest.current.onZoom(fromS, toS);
        },
      ],
    },
  };
}

/** Areas begin at zero and percentages end at a hundred where they add up to it; lines take the room they need. */
function valueRange(graph: Graph, isArea: boolean, min: number | null, max: number | null): [number, number] {
  if (min === null || max === null) return [0, 1];
  if (isArea && graph.unit === 'percentage' && max > 50) return [0, Math.max(100, max)];
  const [low, high] = uPlot.rangeNum(isArea ? Math.min(0, min) : min, max, 0.1, true);
  return [low ?? 0, high ?? 1];
}

/** Dark or light: what is drawn on a canvas does not follow the style by itself. */
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
