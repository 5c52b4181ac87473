import * as z from 'zod';
import { epochSeconds, isNotDeeper, text } from '../platform/fields';

/**
 * Schema of Mackerel's custom dashboards. They are stored as posted: mkr sends null for unset widget fields
 * and expects it back.
 *
 * @see https://mackerel.io/api-docs/entry/dashboards
 */

/** Width of a dashboard in grid columns. */
export const COLUMNS = 24;
/** Largest `y` of a widget, in grid rows. */
const MAX_ROW = 10_000;
const MAX_HEIGHT = 1_000;
const MAX_WIDGETS = 500;
const MAX_TEXT = 10_000;
const MAX_MARKDOWN = 50_000;
const MAX_NAME = 255;
const MAX_DEPTH = 10;

const URL_PATH = /^([A-Za-z0-9_][-A-Za-z0-9_]*)(\/[A-Za-z0-9_][-A-Za-z0-9_]*)*$/;

const name = text(1, MAX_NAME);
const shortText = text(0, MAX_TEXT);

const layout = z.object({
  x: z.int().min(0).max(COLUMNS),
  y: z.int().min(0).max(MAX_ROW),
  width: z.int().min(0).max(COLUMNS),
  height: z.int().min(0).max(MAX_HEIGHT),
});

const hostSource = { type: z.literal('host'), hostId: name, name };
const serviceSource = { type: z.literal('service'), serviceName: name, name };
const expressionSource = { type: z.literal('expression'), expression: text(1, MAX_TEXT) };
const querySource = { type: z.literal('query'), query: text(1, MAX_TEXT), legend: shortText.nullish() };
/** Source that Mackerel's API returns for a graph whose host, service or role is gone. */
const unknownSource = { type: z.literal('unknown') };

const graph = z.discriminatedUnion(
  'type',
  [
    z.looseObject(hostSource),
    z.looseObject({
      type: z.literal('role'),
      roleFullname: name,
      name,
      isStacked: z.boolean().nullish(),
    }),
    z.looseObject(serviceSource),
    z.looseObject(expressionSource),
    z.looseObject(querySource),
    z.looseObject(unknownSource),
  ],
  { error: unionError('host, role, service, expression, query, unknown') },
);

const metric = z.discriminatedUnion(
  'type',
  [
    z.looseObject(hostSource),
    z.looseObject(serviceSource),
    z.looseObject(expressionSource),
    z.looseObject(querySource),
    z.looseObject(unknownSource),
  ],
  { error: unionError('host, service, expression, query, unknown') },
);

const range = z.discriminatedUnion(
  'type',
  [
    z.object({ type: z.literal('relative'), period: z.int().min(1), offset: z.int() }),
    z.object({ type: z.literal('absolute'), start: epochSeconds, end: epochSeconds }),
  ],
  { error: unionError('relative, absolute') },
);

const referenceLine = z.object({
  label: text(1, 32).refine((label) => label.trim() !== '', { error: 'expected more than spaces' }),
  value: z.number().min(0),
});

const formatRule = z.object({
  name: text(0, 32).nullish(),
  threshold: z.number(),
  operator: z.enum(['>', '<']),
});

const widgetFields = { title: shortText.nullish(), layout };

const widget = z.discriminatedUnion(
  'type',
  [
    z.looseObject({
      type: z.literal('graph'),
      ...widgetFields,
      graph,
      range: range.nullish(),
      valueRange: z.object({ min: z.number().nullish(), max: z.number().nullish() }).nullish(),
      referenceLines: z.array(referenceLine).max(1).nullish(),
      legendList: z.array(name).max(1_000).nullish(),
    }),
    z.looseObject({
      type: z.literal('value'),
      ...widgetFields,
      metric,
      fractionSize: z.int().min(0).max(16).nullish(),
      suffix: text(0, MAX_NAME).nullish(),
      formatRules: z.array(formatRule).max(1).nullish(),
    }),
    z.looseObject({
      type: z.literal('markdown'),
      ...widgetFields,
      markdown: text(0, MAX_MARKDOWN).nullish(),
    }),
    z.looseObject({ type: z.literal('alertStatus'), ...widgetFields, roleFullname: name.nullish() }),
  ],
  { error: unionError('graph, value, markdown, alertStatus') },
);

export const dashboardSpec = z.object({
  title: name,
  memo: text(0, 2048).nullish(),
  urlPath: text(1, MAX_NAME).regex(URL_PATH, 'expected names with slashes between them').nullish(),
  widgets: z
    .array(widget)
    .max(MAX_WIDGETS)
    .refine((widgets) => isNotDeeper(widgets, MAX_DEPTH), { error: 'nested too deep', abort: true })
    .nullish(),
});

export type DashboardSpec = z.output<typeof dashboardSpec>;
export type Widget = NonNullable<DashboardSpec['widgets']>[number];
export type WidgetGraph = Extract<Widget, { type: 'graph' }>['graph'];
export type WidgetMetric = Extract<Widget, { type: 'value' }>['metric'];

interface DashboardTimes {
  readonly id: string;
  /** Seconds since epoch. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

export type Dashboard = DashboardSpec & DashboardTimes;

function unionError(types: string) {
  return ({ code }: { readonly code?: string }) =>
    code === 'invalid_union' ? `expected one of ${types}` : undefined;
}
