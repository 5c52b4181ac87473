import * as z from 'zod';
import { isNotDeeper, text, unixSeconds } from '../platform/fields';
import {
  COLUMNS,
  MAX_HEIGHT,
  MAX_MARKDOWN,
  MAX_MEMO,
  MAX_NAME,
  MAX_ROW,
  MAX_TEXT,
  MAX_VALUES,
  MAX_VARIABLES,
  MAX_WIDGETS,
  URL_PATH,
  VARIABLE_NAME,
} from './dashboard-limits';

/**
 * Schema of Mackerel's custom dashboards. They are stored as posted: mkr, Mackerel's command-line
 * client, sends null for unset fields of widgets and expects null back.
 *
 * @see https://mackerel.io/api-docs/entry/dashboards
 */

const MAX_DEPTH = 10;

const name = text(1, MAX_NAME);
const shortText = text(0, MAX_TEXT);

const layout = z.looseObject({
  x: z.int().min(0).max(COLUMNS),
  y: z.int().min(0).max(MAX_ROW),
  width: z.int().min(0).max(COLUMNS),
  height: z.int().min(0).max(MAX_HEIGHT),
});

const hostSource = { type: z.literal('host'), hostId: name, name };
const serviceSource = { type: z.literal('service'), serviceName: name, name };
const expressionSource = { type: z.literal('expression'), expression: text(1, MAX_TEXT) };
const querySource = { type: z.literal('query'), query: text(1, MAX_TEXT), legend: shortText.nullish() };
/** Source of a graph whose host, service or role no longer exists, as Mackerel's API returns it. */
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
    z.looseObject({ type: z.literal('relative'), period: z.int().min(1), offset: z.int() }),
    z.looseObject({ type: z.literal('absolute'), start: unixSeconds, end: unixSeconds }),
  ],
  { error: unionError('relative, absolute') },
);

const referenceLine = z.looseObject({
  label: text(1, 32).refine((label) => label.trim() !== '', { error: 'expected text other than spaces' }),
  value: z.number().min(0),
});

const formatRule = z.looseObject({
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
      /**
       * Whether the widget shows the latest values of its query as a table. Mackerel ignores this field and shows the
       * graph.
       */
      showsTable: z.boolean().nullish(),
      valueRange: z.looseObject({ min: z.number().nullish(), max: z.number().nullish() }).nullish(),
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

/**
 * A value that viewers of the dashboard choose, and that queries and titles refer to by name. Mackerel has no
 * variables; they are an addition for PromQL, as in Grafana.
 */
const variable = z.looseObject({
  name: text(1, 64).regex(VARIABLE_NAME, 'expected letters, digits and _, not beginning with a digit'),
  label: text(0, MAX_NAME).nullish(),
  /** Values to choose from. If both `values` and `query` are absent, the viewer types a value. */
  values: z.array(text(0, MAX_NAME)).max(MAX_VALUES).nullish(),
  /** `label_values(label)` or `label_values(selector, label)`: offers the values of a label as choices. */
  query: text(1, MAX_TEXT).nullish(),
  /** Whether several values may be chosen. */
  isMultiple: z.boolean().nullish(),
  /** Whether all values may be chosen at once. */
  hasAll: z.boolean().nullish(),
  /**
   * Text that stands for the variable in queries when all values are chosen. @default every listed value, or
   * any value of the label
   */
  allValue: text(0, MAX_TEXT).nullish(),
  /** Initially chosen values. If absent: all values if `hasAll` is set, otherwise the first value. */
  chosen: z.array(text(0, MAX_NAME)).max(MAX_VALUES).nullish(),
});

export const dashboardSpec = z.object({
  title: name,
  memo: text(0, MAX_MEMO).nullish(),
  urlPath: text(1, MAX_NAME).regex(URL_PATH, 'expected names with slashes between them').nullish(),
  widgets: z
    .array(widget)
    .max(MAX_WIDGETS)
    .refine((widgets) => isNotDeeper(widgets, MAX_DEPTH), { error: 'nested too deep', abort: true })
    .nullish(),
  variables: z
    .array(variable)
    .max(MAX_VARIABLES)
    .refine((variables) => isNotDeeper(variables, MAX_DEPTH), { error: 'nested too deep', abort: true })
    .refine((variables) => new Set(variables.map(({ name }) => name)).size === variables.length, {
      error: 'expected different names',
    })
    .nullish()
    .meta({ description: 'If the body of a PUT omits them, the variables stay as they are.' }),
});

export type DashboardSpec = z.output<typeof dashboardSpec>;
export type Widget = NonNullable<DashboardSpec['widgets']>[number];
export type WidgetLayout = Widget['layout'];
export type Variable = NonNullable<DashboardSpec['variables']>[number];
export type WidgetGraph = Extract<Widget, { type: 'graph' }>['graph'];
export type WidgetMetric = Extract<Widget, { type: 'value' }>['metric'];

interface DashboardTimes {
  readonly id: string;
  /** Unix time in seconds. */
  readonly createdAt: number;
  /** Increases with each change, so it identifies a version. */
  readonly updatedAt: number;
}

export type Dashboard = DashboardSpec & DashboardTimes;

function unionError(types: string) {
  return ({ code }: { readonly code?: string }) =>
    code === 'invalid_union' ? `expected one of ${types}` : undefined;
}
