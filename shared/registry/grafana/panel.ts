import type { Widget, WidgetLayout, WidgetMetric } from '../dashboard';
import { MAX_MARKDOWN, MAX_TEXT } from '../dashboard-limits';
import { type Fields, fieldsOf, listOf, numberOf, shorten, textOf } from './lenient-json';
import { type DataSources, innerQuery, type PanelQuery, queriesOf, unitedQuery } from './queries';

export interface ConvertedPanel {
  readonly widgets: readonly Widget[];
  /** Reasons why the panel, or parts of it, are left out. */
  readonly reasons: readonly string[];
}

const NONE: readonly Widget[] = [];

/** Converts a Grafana panel to widgets in the panel's place. */
export function convertPanel(panel: Fields, layout: WidgetLayout, sources: DataSources): ConvertedPanel {
  const type = textOf(panel.type);
  const title = shorten(textOf(panel.title), MAX_TEXT);
  if (type === 'text') return markdownOf(panel, title, layout);
  if (!CONVERTED.has(type)) {
    const isLibrary = fieldsOf(panel.libraryPanel).uid !== undefined;
    const reason = isLibrary
      ? 'the file does not contain library panels'
      : `no widget shows panels of type ${type.slice(0, 50) || '?'}`;
    return { widgets: NONE, reasons: [reason] };
  }
  const { queries, reasons } = queriesOf(panel, sources);
  if (queries.length === 0) return { widgets: NONE, reasons };
  const isValue = type === 'stat' || type === 'gauge' || type === 'singlestat';
  const found = isValue
    ? valuesOf(panel, title, layout, queries)
    : graphOf(panel, title, layout, unitedQuery(queries), type === 'table');
  return { widgets: found.widgets, reasons: [...reasons, ...found.reasons, ...partsLeftOut(panel)] };
}

/** Types of panels that are converted, including names that earlier releases of Grafana used. */
const CONVERTED: ReadonlySet<string> = new Set([
  'timeseries',
  'graph',
  'stat',
  'singlestat',
  'gauge',
  'table',
  'table-old',
]);

function partsLeftOut(panel: Fields): string[] {
  const repeat = textOf(panel.repeat);
  return [
    ...(listOf(panel.transformations).length > 0 ? ['its transformations are not applied'] : []),
    ...(repeat === ''
      ? []
      : [`it is not repeated for each $${repeat.slice(0, 64)}: one widget shows all chosen values`]),
  ];
}

function markdownOf(panel: Fields, title: string, layout: WidgetLayout): ConvertedPanel {
  const options = fieldsOf(panel.options);
  const mode = textOf(options.mode) || textOf(panel.mode) || 'markdown';
  if (mode !== 'markdown')
    return {
      widgets: NONE,
      reasons: [`text panels of mode ${mode.slice(0, 20)} are not imported, only Markdown`],
    };
  const markdown = shorten(textOf(options.content) || textOf(panel.content), MAX_MARKDOWN);
  return { widgets: [{ type: 'markdown', title, markdown, layout }], reasons: [] };
}

function graphOf(
  panel: Fields,
  title: string,
  layout: WidgetLayout,
  united: PanelQuery,
  isTable: boolean,
): ConvertedPanel {
  if (united.query.length > MAX_TEXT)
    return { widgets: NONE, reasons: [`its queries have more than ${MAX_TEXT} characters together`] };
  const defaults = fieldsOf(fieldsOf(panel.fieldConfig).defaults);
  const lines = fieldsOf(fieldsOf(defaults.custom).thresholdsStyle).mode ?? 'off';
  const threshold = lines === 'off' ? undefined : highestStep(defaults)?.value;
  return {
    widgets: [
      {
        type: 'graph',
        title,
        layout,
        graph: { type: 'query', ...united },
        ...(isTable && { showsTable: true }),
        ...(threshold !== undefined &&
          threshold >= 0 && { referenceLines: [{ label: 'threshold', value: threshold }] }),
      },
    ],
    reasons: [],
  };
}

/**
 * PromQL functions for Grafana's calculations, which reduce the values of a range to one value. Undefined: no
 * function is needed, because the widget shows the last value.
 */
const REDUCTIONS: Readonly<Record<string, string | undefined>> = {
  last: undefined,
  lastNotNull: undefined,
  mean: 'avg_over_time',
  max: 'max_over_time',
  min: 'min_over_time',
  sum: 'sum_over_time',
  count: 'count_over_time',
};

function valuesOf(
  panel: Fields,
  title: string,
  layout: WidgetLayout,
  queries: readonly PanelQuery[],
): ConvertedPanel {
  const options = fieldsOf(panel.options);
  const [calc = 'lastNotNull'] = listOf(fieldsOf(options.reduceOptions).calcs).map(textOf);
  const isKnown = Object.hasOwn(REDUCTIONS, calc);
  const reduction = isKnown ? REDUCTIONS[calc] : undefined;
  const reasons = isKnown ? [] : [`it shows the last value instead of ${calc.slice(0, 30)}`];
  const defaults = fieldsOf(fieldsOf(panel.fieldConfig).defaults);
  const { suffix, factor } = unitOf(textOf(defaults.unit));
  const decimals = numberOf(defaults.decimals);
  const step = highestStep(defaults);
  const columns = Math.max(1, Math.min(queries.length, Math.floor(layout.width / MIN_VALUE_WIDTH)));
  if (columns < queries.length) reasons.push(`only its first ${columns} of ${queries.length} queries fit`);
  const widgets = queries.slice(0, columns).flatMap(({ query, legend }, i): Widget[] => {
    const reduced = reducedQuery(query, reduction, factor);
    if (reduced.length > MAX_TEXT) return [];
    const metric: WidgetMetric = { type: 'query', query: reduced, legend };
    return [
      {
        type: 'value',
        metric,
        layout: columnOf(layout, i, columns),
        title: columns === 1 ? title : [title, legend].filter((part) => part !== '').join(': '),
        fractionSize: decimals === undefined ? DECIMALS : Math.max(0, Math.min(16, Math.round(decimals))),
        ...(suffix !== '' && { suffix }),
        ...(step !== undefined && {
          formatRules: [{ name: '', threshold: step.value * factor, operator: '>' }],
        }),
      },
    ];
  });
  return { widgets, reasons };
}

/** Minimum width of a value widget, in grid columns. */
const MIN_VALUE_WIDTH = 2;
const DECIMALS = 2;

function columnOf({ x, y, width, height }: WidgetLayout, at: number, columns: number): WidgetLayout {
  const [from, to] = [at, at + 1].map((each) => Math.floor((each * width) / columns)) as [number, number];
  return { x: x + from, y, width: to - from, height };
}

function reducedQuery(query: string, reduction: string | undefined, factor: number): string {
  const scaled = factor === 1 ? query : `${factor} * (${innerQuery(query)})`;
  return reduction === undefined ? scaled : `${reduction}((${innerQuery(scaled)})[$__range:])`;
}

/** Suffixes of values, by Grafana's name for the unit. Values in other units have no suffix. */
const SUFFIXES: Readonly<Record<string, string>> = {
  percent: '%',
  percentunit: '%',
  bytes: 'B',
  decbytes: 'B',
  bits: 'b',
  Bps: 'B/s',
  bps: 'b/s',
  binBps: 'B/s',
  s: 's',
  ms: 'ms',
  µs: 'µs',
  ns: 'ns',
  m: 'min',
  h: 'h',
  d: 'd',
  reqps: 'req/s',
  ops: 'ops/s',
  rps: 'reads/s',
  wps: 'writes/s',
  iops: 'io/s',
  celsius: '°C',
  watt: 'W',
  hertz: 'Hz',
};

function unitOf(unit: string): { readonly suffix: string; readonly factor: number } {
  const suffix = Object.hasOwn(SUFFIXES, unit) ? SUFFIXES[unit]! : '';
  return { suffix, factor: unit === 'percentunit' ? 100 : 1 };
}

/**
 * Returns the highest threshold; undefined if there is none, if it is a percentage, or if its color is green,
 * which means that values above it are good.
 */
function highestStep(defaults: Fields): { readonly value: number } | undefined {
  const { mode, steps } = fieldsOf(defaults.thresholds);
  if (mode === 'percentage') return undefined;
  const last = fieldsOf(listOf(steps).at(-1));
  const value = numberOf(last.value);
  return value === undefined || textOf(last.color).includes('green') ? undefined : { value };
}
