import type { DashboardSpec, Widget, WidgetLayout } from '../dashboard';
import { COLUMNS, MAX_HEIGHT, MAX_MEMO, MAX_NAME, MAX_ROW, MAX_WIDGETS, URL_PATH } from '../dashboard-limits';
import type { LeftOut } from './left-out';
import { type Fields, fieldsOf, listOf, numberOf, shorten, textOf } from './lenient-json';
import { convertPanel } from './panel';
import { dataSourcesOf } from './queries';
import { convertVariables } from './variables';

/** The input is not a Grafana dashboard, or the dashboard cannot be converted. */
export class GrafanaError extends Error {
  override readonly name = 'GrafanaError';
}

export interface ConvertedDashboard {
  readonly dashboard: DashboardSpec;
  readonly leftOut: readonly LeftOut[];
}

export const MAX_FILE = 4_000_000;
/** Maximum nesting depth of the JSON. */
const MAX_DEPTH = 60;

/**
 * Converts a Grafana dashboard, exported as JSON, to a Mackerel dashboard. Panels with PromQL queries become widgets in
 * the same places, and rows become headings.
 *
 * @throws {GrafanaError}
 */
export function convertGrafana(text: string): ConvertedDashboard {
  const dashboard = parseFile(text);
  const sources = dataSourcesOf(dashboard);
  const { variables, leftOut: leftOutVariables } = convertVariables(dashboard);
  const leftOut: LeftOut[] = [...leftOutVariables];
  const widgets: Widget[] = [];
  for (const { panel, layout } of placePanels(dashboard)) {
    const title = shorten(textOf(panel.title), 100) || `panel ${numberOf(panel.id) ?? '?'}`;
    if (panel.type === 'row') {
      widgets.push({
        type: 'markdown',
        title: shorten(textOf(panel.title), MAX_NAME),
        markdown: '',
        layout,
      });
      continue;
    }
    const converted = convertPanel(panel, layout, sources);
    widgets.push(...converted.widgets);
    for (const reason of converted.reasons) leftOut.push({ title, reason });
  }
  if (widgets.length > MAX_WIDGETS) {
    const rest = widgets.splice(MAX_WIDGETS);
    leftOut.push({
      title: `${rest.length} panels`,
      reason: `a dashboard has at most ${MAX_WIDGETS} widgets`,
    });
  }
  const uid = textOf(dashboard.uid);
  return {
    dashboard: {
      title: shorten(textOf(dashboard.title).trim(), MAX_NAME) || 'Imported dashboard',
      memo: shorten(textOf(dashboard.description), MAX_MEMO),
      ...(uid.length <= MAX_NAME && URL_PATH.test(uid) && { urlPath: uid }),
      widgets,
      ...(variables.length > 0 && { variables: [...variables] }),
    },
    leftOut,
  };
}

/**
 * Parses a file and returns the dashboard in it. The file may be a dashboard, a response of Grafana's API, or
 * an export for sharing.
 */
function parseFile(text: string): Fields {
  if (text.length > MAX_FILE)
    throw new GrafanaError(`the file has ${text.length} characters; at most ${MAX_FILE} are allowed`);
  if (isDeeper(text, MAX_DEPTH))
    throw new GrafanaError(`the file is nested more than ${MAX_DEPTH} levels deep`);
  let found: Fields;
  try {
    found = fieldsOf(JSON.parse(text));
  } catch (error) {
    throw new GrafanaError(`the file is not JSON: ${(error as Error).message.slice(0, 200)}`);
  }
  const dashboard =
    Array.isArray(found.panels) || Array.isArray(found.rows)
      ? found
      : fieldsOf(found.dashboard ?? found.spec);
  if (Array.isArray(dashboard.panels) || Array.isArray(dashboard.rows)) return dashboard;
  if (fieldsOf(dashboard.elements) === dashboard.elements)
    throw new GrafanaError('the file has version 2 of the schema; export the dashboard as the classic model');
  throw new GrafanaError('the file has no panels, so it is not a Grafana dashboard');
}

/**
 * Returns whether JSON is nested deeper than `levels`, by counting the brackets outside of strings. Call it
 * before parsing: deeply nested JSON must not be parsed.
 */
function isDeeper(text: string, levels: number): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const sign = text[i];
    if (sign === '"') for (i++; i < text.length && text[i] !== '"'; i++) if (text[i] === '\\') i++;
    if (sign === '{' || sign === '[') depth++;
    else if (sign === '}' || sign === ']') depth--;
    if (depth > levels) return true;
  }
  return false;
}

interface Placed {
  readonly panel: Fields;
  readonly layout: WidgetLayout;
}

/** Height of a row's heading, in grid rows. In Grafana, it is 1. */
const HEADING = 2;
const DEFAULT_HEIGHT = 8;

/**
 * Returns the panels and rows in order. Lower panels are shifted down to make room for the panels of
 * collapsed rows.
 */
function placePanels(dashboard: Fields): Placed[] {
  const panels = Array.isArray(dashboard.panels)
    ? listOf(dashboard.panels)
    : panelsOfRows(listOf(dashboard.rows));
  const found: Placed[] = [];
  /** Number of grid rows by which the next panel is lower than in Grafana. */
  let shift = 0;
  for (const panel of inOrder(panels.map(fieldsOf))) {
    const layout = layoutOf(panel, shift);
    if (panel.type !== 'row') {
      found.push({ panel, layout });
      continue;
    }
    found.push({ panel, layout: { x: 0, y: layout.y, width: COLUMNS, height: HEADING } });
    shift += HEADING - 1;
    // The panels of a collapsed row keep the places that they had when the row was open.
    const inside = inOrder(listOf(panel.panels).map(fieldsOf));
    const top = Math.min(...inside.map(topOf));
    const lower = layout.y + HEADING - top;
    const moved = inside.map((each) => ({ panel: each, layout: layoutOf(each, lower) }));
    found.push(...moved);
    const bottom = Math.max(0, ...moved.map((each) => each.layout.y + each.layout.height));
    if (inside.length > 0) shift += bottom - layout.y - HEADING;
  }
  return found;
}

function topOf(panel: Fields): number {
  return numberOf(fieldsOf(panel.gridPos).y) ?? 0;
}

function inOrder(panels: readonly Fields[]): readonly Fields[] {
  const left = (panel: Fields) => numberOf(fieldsOf(panel.gridPos).x) ?? 0;
  return [...panels].sort((a, b) => topOf(a) - topOf(b) || left(a) - left(b));
}

function layoutOf(panel: Fields, shift: number): WidgetLayout {
  const { x, w, h } = fieldsOf(panel.gridPos);
  const column = clamp(numberOf(x) ?? 0, 0, COLUMNS - 1);
  return {
    x: column,
    y: clamp(topOf(panel) + shift, 0, MAX_ROW),
    width: clamp(numberOf(w) ?? COLUMNS, 1, COLUMNS - column),
    height: clamp(numberOf(h) ?? DEFAULT_HEIGHT, 1, MAX_HEIGHT),
  };
}

function clamp(value: number, min: number, max: number): number {
  return Math.max(min, Math.min(max, Math.round(value)));
}

/** Width of a row in grid columns, in files from before 2017. */
const OLD_COLUMNS = 12;

/**
 * Returns the panels of a file from before 2017. In such a file, each row lists adjacent panels with their
 * widths.
 */
function panelsOfRows(rows: readonly unknown[]): Fields[] {
  const found: Fields[] = [];
  let y = 0;
  for (const row of rows.map(fieldsOf)) {
    if (row.showTitle === true)
      found.push({ type: 'row', title: row.title, gridPos: { x: 0, y: y++, w: COLUMNS, h: 1 } });
    let x = 0;
    for (const panel of listOf(row.panels).map(fieldsOf)) {
      const w = clamp(numberOf(panel.span) ?? OLD_COLUMNS, 1, OLD_COLUMNS) * (COLUMNS / OLD_COLUMNS);
      if (x + w > COLUMNS) {
        x = 0;
        y += DEFAULT_HEIGHT;
      }
      found.push({ ...panel, gridPos: { x, y, w, h: DEFAULT_HEIGHT } });
      x += w;
    }
    if (x > 0) y += DEFAULT_HEIGHT;
  }
  return found;
}
