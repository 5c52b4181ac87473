import uPlot from 'uplot';
import { axisLabels } from '../view/format';
import type { ChartProps, DrawnAnnotation } from './chart';
import { seriesColor, style } from './colors';
import type { DrawnLine } from './drawing';
import { extremesOf, lonelySamples, nearestIndex, reachOf, stackedData, withGaps } from './plot-data';
import { shareOf, type Ticks, ticksOf, type ValueRange, valueRange } from './ticks';

/**
 * Minimum width of the vertical axis, in pixels. All graphs have this width unless labels are wider, so that
 * the time axes of graphs are aligned.
 */
const AXIS_WIDTH = 64;
const AXIS_CHAR_WIDTH = 6.4;
const MAX_TICKS = 5;
/**
 * Padding at the right, in pixels, for the part of a time label, such as `08:00:00`, that extends beyond the
 * end of the axis.
 */
const RIGHT_PADDING = 24;
/** Minimum distance of a drag, in pixels. A shorter movement is a click. */
const MIN_DRAG = 6;
const SYNC_KEY = 'time';
/** Maximum distance at which a sample counts as being at the crosshair, in pixels. */
const NEAR_PIXELS = 6;

/** A graph's data for uPlot. Values are given as shares of the axis, so that numbers of any size can be drawn. */
export interface Plotted {
  readonly data: readonly (readonly (number | null | undefined)[])[];
  /** Maximum distance at which a sample counts as being at the crosshair, in seconds. */
  readonly reachS: number;
  readonly range: ValueRange;
  readonly ticks: Ticks;
  /** Positions of the ticks, as shares of the axis. */
  readonly splits: number[];
}

export function plottedOf({ drawing, graph, hidden, span, threshold, warning }: ChartProps): Plotted {
  const { lines, data } = drawing;
  const isShown = lines.map(({ id }) => !hidden.includes(id));
  const stackOf = (isEarlier: boolean) =>
    lines.map((line, i) => line.isStacked && line.isEarlier === isEarlier && isShown[i]!);
  const stacked = stackedData(stackedData(withGaps(data), stackOf(false)), stackOf(true));
  const found = extremesOf(stacked, isShown, span);
  const compared = [threshold, warning].filter((each) => each !== undefined);
  const min = Math.min(found.min, ...compared);
  const max = Math.max(found.max, ...compared);
  const isArea = lines.some((line) => line.isStacked);
  const range = valueRange(min, max, isArea, graph.unit);
  const ticks = ticksOf(range, MAX_TICKS, graph.unit);
  return {
    data: [
      stacked.times,
      ...stacked.values.map((row) =>
        row.map((value) => (typeof value === 'number' ? shareOf(value, range) : value)),
      ),
    ],
    reachS: reachOf(data.times),
    range,
    ticks,
    splits: ticks.values.map((value) => shareOf(value, range)),
  };
}

interface Latest<T> {
  readonly current: T;
}

export function plotOptions(
  latest: Latest<ChartProps>,
  plotted: Latest<Plotted>,
  width: number,
): uPlot.Options {
  const { drawing, hidden, utc } = latest.current;
  const isShown = (line: DrawnLine) => !hidden.includes(line.id);
  const areas = drawing.lines.flatMap((line, i) =>
    line.isStacked && !line.isEarlier && isShown(line) ? [i + 1] : [],
  );
  return {
    width,
    height: latest.current.height,
    padding: [10, RIGHT_PADDING, 0, 0],
    legend: { show: false },
    tzDate: utc ? (time) => uPlot.tzDate(new Date(time * 1000), 'Etc/UTC') : (time) => new Date(time * 1000),
    cursor: cursorOptions(latest, plotted),
    scales: {
      x: { time: true, range: () => [latest.current.span.fromS, latest.current.span.toS] },
      y: { range: [0, 1] },
    },
    axes: axesOptions(utc, plotted),
    series: [
      {},
      ...drawing.lines.map((line) => seriesOptions(line, isShown(line), drawing.lines.length, plotted)),
    ],
    bands: areas.slice(1).map((upper, i) => ({ series: [upper, areas[i]!] as [number, number] })),
    hooks: {
      drawClear: [(plot) => drawAnnotations(plot, latest.current.annotations)],
      draw: [
        (plot) => drawThreshold(plot, latest.current.warning, '--warm', plotted.current.range),
        (plot) => drawThreshold(plot, latest.current.threshold, '--alert', plotted.current.range),
        ({ bbox }) => latest.current.onAxis(bbox.left / devicePixelRatio, bbox.width / devicePixelRatio),
      ],
      setCursor: [
        (plot) => {
          const { left } = plot.cursor;
          if (left === undefined || left < 0) return latest.current.onCursor(undefined);
          const { times } = latest.current.drawing.data;
          const timeS = plot.posToVal(left, 'x');
          const pixelsS = plot.posToVal(left + NEAR_PIXELS, 'x') - timeS;
          const reachS = Math.max(pixelsS, plotted.current.reachS);
          latest.current.onCursor({ timeS, index: nearestIndex(times, timeS, reachS) });
        },
      ],
      setSelect: [
        (plot) => {
          const { left, width: dragged } = plot.select;
          if (dragged === 0) return;
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          if (dragged < MIN_DRAG) return;
          latest.current.onZoom(plot.posToVal(left, 'x'), plot.posToVal(left + dragged, 'x'));
        },
      ],
    },
  };
}

function cursorOptions(latest: Latest<ChartProps>, plotted: Latest<Plotted>): uPlot.Cursor {
  return {
    // Maximum distance at which a dot marks a sample.
    hover: {
      prox: (plot) => {
        const { min = 0 } = plot.scales.x!;
        const reach = plot.valToPos(min + plotted.current.reachS, 'x') - plot.valToPos(min, 'x');
        return Math.max(NEAR_PIXELS, reach);
      },
    },
    drag: { x: true, y: false, setScale: false },
    points: { size: 7 },
    sync: {
      key: SYNC_KEY,
      setSeries: false,
      // Graphs share only the crosshair. A selection concerns one graph until it becomes the range of all graphs.
      filters: { pub: (type) => type === 'mousemove' || type === 'mouseleave', sub: () => true },
    },
    bind: {
      dblclick: () => () => {
        latest.current.onZoomOut();
        return null;
      },
    },
  };
}

function axesOptions(utc: boolean, plotted: Latest<Plotted>): uPlot.Axis[] {
  const stroke = style('--muted');
  const grid = { stroke: style('--grid'), width: 1 };
  const font = `11px ${style('--font')}`;
  return [
    {
      stroke,
      font,
      grid,
      ticks: { ...grid, size: 4 },
      space: 60,
      size: 30,
      values: (_, splits, _axis, _space, step) => axisLabels(splits, step, utc),
    },
    {
      stroke,
      font,
      grid,
      ticks: { show: false },
      size: (_, labels) =>
        Math.max(
          AXIS_WIDTH,
          14 + AXIS_CHAR_WIDTH * Math.max(0, ...(labels ?? []).map(({ length }) => length)),
        ),
      // uPlot requires a valid increment before it asks for the ticks.
      space: 1,
      incrs: [0.25],
      splits: () => plotted.current.splits,
      values: () => [...plotted.current.ticks.labels],
    },
  ];
}

function seriesOptions(
  line: DrawnLine,
  show: boolean,
  count: number,
  plotted: Latest<Plotted>,
): uPlot.Series {
  const color = seriesColor(line.color);
  const isArea = line.isStacked && !line.isEarlier;
  // Fill areas only if the axis begins at zero, since their size is meaningless otherwise.
  const filled = (opacity: string) => () =>
    plotted.current.range.low === 0 ? `${color}${opacity}` : 'transparent';
  return {
    label: line.label,
    show,
    stroke: line.isEarlier ? `${color}b0` : color,
    width: line.isEarlier ? 1 : 1.5,
    ...(line.isEarlier ? { dash: [4, 3] } : isArea ? { fill: filled('66') } : {}),
    ...(count === 1 && !isArea ? { fill: filled('1f') } : {}),
    points: {
      size: 4,
      filter: (plot, series, isShown) => (isShown ? null : lonelySamples(plot.data[series]!)),
    },
  };
}

/** Draws annotations behind the lines: a band for a span, a line for a moment. */
function drawAnnotations(plot: uPlot, annotations: readonly DrawnAnnotation[]): void {
  const { ctx, bbox } = plot;
  ctx.save();
  for (const { from, to, isAlert = false, isWarning = false } of annotations) {
    const [left, right] = [from, to].map((time) =>
      Math.min(bbox.left + bbox.width, Math.max(bbox.left, plot.valToPos(time, 'x', true))),
    ) as [number, number];
    ctx.globalAlpha = 0.16;
    ctx.fillStyle = style(isWarning ? '--warm' : isAlert ? '--alert' : '--note');
    ctx.fillRect(left, bbox.top, right - left, bbox.height);
    ctx.globalAlpha = 0.9;
    ctx.fillRect(left, bbox.top, 1.5 * devicePixelRatio, bbox.height);
    ctx.beginPath();
    ctx.moveTo(left - 4 * devicePixelRatio, bbox.top);
    ctx.lineTo(left + 5 * devicePixelRatio, bbox.top);
    ctx.lineTo(left + 0.5 * devicePixelRatio, bbox.top + 6 * devicePixelRatio);
    ctx.fill();
  }
  ctx.restore();
}

/** Draws the threshold with which values are compared, in front of the lines. */
function drawThreshold(
  plot: uPlot,
  threshold: number | undefined,
  color: '--alert' | '--warm',
  range: ValueRange,
): void {
  if (threshold === undefined) return;
  const { ctx, bbox } = plot;
  const y = Math.round(plot.valToPos(shareOf(threshold, range), 'y', true));
  ctx.save();
  ctx.strokeStyle = style(color);
  ctx.lineWidth = 1.5 * devicePixelRatio;
  ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.restore();
}
