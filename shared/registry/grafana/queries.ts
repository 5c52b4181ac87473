import { MAX_TEXT } from '../dashboard-limits';
import { type Fields, fieldsOf, listOf, textOf } from './lenient-json';

export interface PanelQuery {
  readonly query: string;
  /** Text in which `{{label}}` stands for a label's value. If the text is empty, series are named by their labels. */
  readonly legend: string;
}

/** Types of data sources, by the name that panels use for them: the name of an input or of a variable. */
export type DataSources = ReadonlyMap<string, string>;

/** Reads the types of data sources that a dashboard declares. */
export function dataSourcesOf(dashboard: Fields): DataSources {
  const inputs = listOf(dashboard.__inputs).map(fieldsOf);
  const variables = listOf(fieldsOf(dashboard.templating).list).map(fieldsOf);
  return new Map([
    ...inputs.map(({ name, pluginId }) => [textOf(name), textOf(pluginId)] as const),
    ...variables
      .filter(({ type }) => type === 'datasource')
      .map(({ name, query }) => [textOf(name), textOf(query)] as const),
  ]);
}

/** Maximum number of queries of a panel. */
const MAX_QUERIES = 20;

export interface PanelQueries {
  readonly queries: readonly PanelQuery[];
  /** Reasons why queries of the panel are left out. */
  readonly reasons: readonly string[];
}

/** Reads the visible PromQL queries of a panel. */
export function queriesOf(panel: Fields, sources: DataSources): PanelQueries {
  const queries: PanelQuery[] = [];
  const reasons = new Set<string>();
  const targets = listOf(panel.targets).map(fieldsOf);
  for (const target of targets) {
    if (target.hide === true) continue;
    const reason = refusalOf(target, panel, sources);
    if (reason !== undefined) reasons.add(reason);
    else if (queries.length === MAX_QUERIES)
      reasons.add(`only its first ${MAX_QUERIES} queries are imported`);
    else queries.push({ query: textOf(target.expr).trim(), legend: legendOf(target) });
  }
  if (queries.length === 0 && reasons.size === 0) reasons.add('it has no query');
  return { queries, reasons: [...reasons] };
}

function refusalOf(target: Fields, panel: Fields, sources: DataSources): string | undefined {
  const type = typeOf(target.datasource ?? panel.datasource, sources);
  if (type === '__expr__') return "an expression that Grafana's server evaluates is not PromQL";
  if (type !== undefined && !type.includes('prometheus'))
    return `its data source is ${shownType(type)}, not Prometheus`;
  const query = textOf(target.expr).trim();
  if (query === '') return 'a query has no PromQL';
  if (query.length > MAX_TEXT) return `a query has more than ${MAX_TEXT} characters`;
  return undefined;
}

function shownType(type: string): string {
  return type.slice(0, 50);
}

/** Returns the type of a data source; undefined if the dashboard does not name it. */
function typeOf(source: unknown, sources: DataSources): string | undefined {
  const { type, uid } = fieldsOf(source);
  if (uid === '__expr__') return '__expr__';
  // In a panel with mixed sources, each query names its own source.
  if (textOf(type) !== '' && type !== 'datasource') return textOf(type);
  const name = textOf(uid) || textOf(source);
  return sources.get(name.replace(/^\$\{?(\w+)\}?$/, '$1')) || undefined;
}

function legendOf({ legendFormat }: Fields): string {
  const legend = textOf(legendFormat);
  return legend === '__auto' || legend.length > MAX_TEXT ? '' : legend;
}

/** Label that holds the legend of each series in a united query. */
const LEGEND = 'legend';

/** Combines queries into one query, which returns the series of all of them and labels each with its query's legend. */
export function unitedQuery(queries: readonly PanelQuery[]): PanelQuery {
  const [first] = queries;
  if (queries.length === 1) return first!;
  const query = queries.map((each, i) => nameQuery(each, i)).join(' or ');
  const isNamed = queries.every(({ legend }) => legend !== '');
  return { query, legend: isNamed ? `{{${LEGEND}}}` : '' };
}

const REFERENCE = /\{\{([^{}]*)\}\}/g;

function nameQuery({ query, legend }: PanelQuery, at: number): string {
  const labels = [...legend.matchAll(REFERENCE)].map(([, label]) => label!.trim());
  // Name a query without a legend by its position. Without a name, the operator `or`, which joins the
  // queries, would drop series that have the same labels as a series of another query.
  const shown = legend === '' ? `query ${at + 1}` : legend;
  let group = 0;
  // Double a literal `$`. Keep the `$` of a variable as it is, so that the dashboard page still recognizes
  // the variable.
  const text = shown
    .split(REFERENCE)
    .map((part, i) => (i % 2 === 0 ? part.replace(/\$(?![A-Za-z_{])/g, '$$$$') : `\${${++group}}`))
    .join('');
  const replaced = (inner: string, from: string, pattern: string) =>
    `label_replace(${innerQuery(inner)}, "${LEGEND}", ${quote(text)}, ${quote(from)}, ${quote(pattern)})`;
  switch (labels.length) {
    case 0:
      return replaced(query, '', '');
    case 1:
      return replaced(query, labels[0]!, '(.*)');
    default: {
      const joined = `label_join(${innerQuery(query)}, "${LEGEND}", "\\n", ${labels.map(quote).join(', ')})`;
      return replaced(joined, LEGEND, labels.map(() => '(.*)').join('\\n'));
    }
  }
}

/**
 * Returns a query's text for use inside another query. Adds a line break if the query may end with a comment,
 * which would otherwise extend over the text that follows.
 */
export function innerQuery(query: string): string {
  return query.includes('#') ? `${query}\n` : query;
}

function quote(text: string): string {
  return JSON.stringify(text);
}
