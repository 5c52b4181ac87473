import { formatDuration } from './format';
import { durationText, MAX_SPAN_S, MIN_SPAN_S, parseDurationText, type TimeRange } from './time-range';

const SOURCE_KINDS = ['host', 'service', 'role', 'labels'] as const;

/** The source whose graphs the page shows: a host, a service, the hosts of a role, or labels. */
export interface SourceRef {
  readonly kind: (typeof SOURCE_KINDS)[number];
  /** A host's id, a service's name, a role as `service:role`, or labels formatted by `labelsText`. */
  readonly id: string;
}

/** How a graph of several hosts combines them: a line for each, or a single line. */
export const OVER_HOSTS = ['each', 'average', 'min', 'max', 'sum'] as const;
export type OverHosts = (typeof OVER_HOSTS)[number];

export const VIEWS = [
  'graphs',
  'alerts',
  'dashboards',
  'explore',
  'hosts',
  'monitors',
  'downtimes',
  'status',
] as const;
export type View = (typeof VIEWS)[number];

/** Everything that determines what the page shows. All of it is in the address, so that a link shows the same page. */
export interface ViewState {
  readonly view: View;
  /** The shown source; undefined for the first source in the lists. */
  readonly source: SourceRef | undefined;
  /** Names of the picked graphs; undefined if all are shown. */
  readonly graphs: readonly string[] | undefined;
  /** Words that a graph or one of its lines must contain; empty: all graphs are shown. */
  readonly find: string;
  /** Ids of the lines that are hidden in every graph. */
  readonly hidden: readonly string[];
  readonly range: TimeRange;
  /** Seconds between reads; 0 for never, undefined for the default of the range. */
  readonly refreshS: number | undefined;
  /** Graphs are compared with samples from this many seconds earlier; undefined for no comparison. */
  readonly compareS: number | undefined;
  readonly over: OverHosts;
  readonly utc: boolean;
  /** Whether each graph shows its tiers. */
  readonly tiers: boolean;
  /** The ways in which counters and histograms are shown, by graph name. Other graphs use the default way. */
  readonly ways: Readonly<Record<string, string>>;
  /** PromQL expressions of the explore view. */
  readonly queries: readonly string[];
  /** Whether the explore view shows values at the end of the range, instead of graphs. */
  readonly asTable: boolean;
  /** Ids of the alerts whose details are shown; undefined if only the first alert's details are. */
  readonly alerts: readonly string[] | undefined;
  /** Id of the shown dashboard; undefined if the list of dashboards is shown. */
  readonly dashboard: string | undefined;
  /**
   * Id of the edited monitor, downtime or setting, or `new` with its kind; undefined if the lists are shown.
   */
  readonly item: string | undefined;
  /** Filters of lists by name, such as `status` of hosts. */
  readonly filters: Readonly<Record<string, string>>;
  /**
   * Chosen values of the dashboard's variables, by name. Variables that are absent have the dashboard's own defaults.
   */
  readonly variables: Readonly<Record<string, readonly string[]>>;
}

export const INITIAL_STATE: ViewState = {
  view: 'graphs',
  source: undefined,
  graphs: undefined,
  find: '',
  hidden: [],
  range: { lastS: 3600 },
  refreshS: undefined,
  compareS: undefined,
  over: 'each',
  utc: false,
  tiers: true,
  ways: {},
  queries: [],
  asTable: false,
  alerts: undefined,
  dashboard: undefined,
  item: undefined,
  filters: {},
  variables: {},
};

/** Returns the hidden lines after a line was hidden or shown. */
export function hiddenWith(hidden: readonly string[], id: string, isHidden: boolean): readonly string[] {
  const others = hidden.filter((each) => each !== id);
  return isHidden ? [...others, id] : others;
}

/** Minimum refresh interval, in seconds. Shorter intervals would only load the server. */
const MIN_REFRESH_S = 5;
const MAX_REFRESH_S = 3600;
const MAX_COMPARE_S = 366 * 86_400;
/** Maximum number of queries of the explore view. More graphs would load the server, but nobody would look at them. */
export const MAX_QUERIES = 8;

/** Encodes the state as the part of the address after `#`. Omits values that are equal to `INITIAL_STATE`. */
export function encodeState(state: ViewState): string {
  const fields: string[] = [];
  const add = (name: string, value: string) => fields.push(`${name}=${readable(value)}`);
  if (state.view !== 'graphs') add('view', state.view);
  if (state.source !== undefined) add(state.source.kind, state.source.id);
  for (const graph of state.graphs ?? []) add('graph', graph);
  if (state.find !== '') add('find', state.find);
  for (const line of state.hidden) add('hide', line);
  const { range } = state;
  if (!('lastS' in range)) {
    add('from', String(range.fromS));
    add('to', String(range.toS));
  } else if (range.lastS !== 3600) add('last', durationText(range.lastS));
  if (state.refreshS !== undefined)
    add('refresh', state.refreshS === 0 ? 'off' : durationText(state.refreshS));
  if (state.compareS !== undefined) add('compare', durationText(state.compareS));
  if (state.over !== 'each') add('over', state.over);
  if (state.utc) add('time', 'utc');
  if (!state.tiers) add('tiers', 'off');
  for (const [name, way] of Object.entries(state.ways)) add('way', `${way}:${name}`);
  for (const query of state.queries) add('query', query);
  if (state.asTable) add('show', 'table');
  for (const alert of state.alerts ?? []) add('alert', alert);
  if (state.alerts?.length === 0) add('alert', '');
  if (state.dashboard !== undefined) add('dashboard', state.dashboard);
  if (state.item !== undefined) add('item', state.item);
  for (const [name, value] of Object.entries(state.filters)) add('filter', `${name}:${value}`);
  for (const [name, values] of Object.entries(state.variables))
    for (const value of values) add('var', `${name}:${value}`);
  return fields.join('&');
}

/** Decodes the state. Missing or invalid values are replaced by those of `INITIAL_STATE`. */
export function decodeState(hash: string): ViewState {
  const fields = fieldsOf(hash);
  const kind = SOURCE_KINDS.find((each) => fields.get(each));
  const graphs = fields.getAll('graph');
  const over = fields.get('over');
  return {
    view: VIEWS.find((each) => each === fields.get('view')) ?? 'graphs',
    source: kind === undefined ? undefined : { kind, id: fields.get(kind)! },
    graphs: graphs.length === 0 ? undefined : graphs,
    find: fields.get('find') ?? '',
    hidden: fields.getAll('hide'),
    range: rangeOf(fields) ?? INITIAL_STATE.range,
    refreshS:
      fields.get('refresh') === 'off'
        ? 0
        : within(parseDurationText(fields.get('refresh') ?? ''), MIN_REFRESH_S, MAX_REFRESH_S),
    compareS: within(parseDurationText(fields.get('compare') ?? ''), 3600, MAX_COMPARE_S),
    over: OVER_HOSTS.find((each) => each === over) ?? 'each',
    utc: fields.get('time') === 'utc',
    tiers: fields.get('tiers') !== 'off',
    ways: Object.fromEntries(pairsOf(fields.getAll('way')).map(([way, name]) => [name, way])),
    queries: fields.getAll('query').slice(0, MAX_QUERIES),
    asTable: fields.get('show') === 'table',
    alerts: fields.has('alert') ? fields.getAll('alert').filter((id) => id !== '') : undefined,
    dashboard: fields.get('dashboard') || undefined,
    item: fields.get('item') || undefined,
    filters: Object.fromEntries(pairsOf(fields.getAll('filter'))),
    variables: variablesOf(fields.getAll('var')),
  };
}

/**
 * Returns a message if an address requests an invalid range. The message names the range and the reason. Returns
 * undefined if the range is valid or absent.
 */
export function rangeProblem(hash: string): string | undefined {
  const fields = fieldsOf(hash);
  const given = ['last', 'from', 'to'].filter((name) => fields.has(name));
  if (given.length === 0 || rangeOf(fields) !== undefined) return undefined;
  const requested = given.map((name) => `${name}=${fields.get(name)!.slice(0, 30)}`).join(' ');
  const allowed = `A range is ${formatDuration(MIN_SPAN_S * 1000)} to ${formatDuration(MAX_SPAN_S * 1000)} long`;
  return `The link asks for an impossible time range: ${requested}. ${allowed}: last=6h, or from and to in seconds since 1970. This is the last hour instead.`;
}

/** Returns the key in an address that `npm start` printed. Browsers never send the part after `#`. */
export function keyInHash(hash: string): string | undefined {
  return fieldsOf(hash).get('key') ?? undefined;
}

/** Removes the key from an address. Everything else stays unchanged. */
export function withoutKey(hash: string): string {
  return hash
    .replace(/^#/, '')
    .split('&')
    .filter((field) => !field.startsWith('key='))
    .join('&');
}

function fieldsOf(hash: string): URLSearchParams {
  return new URLSearchParams(hash.replace(/^#/, ''));
}

/** Splits each text at its first colon. */
function pairsOf(texts: readonly string[]): (readonly [string, string])[] {
  return texts.map((text) => [text.slice(0, text.indexOf(':')), text.slice(text.indexOf(':') + 1)]);
}

function rangeOf(fields: URLSearchParams): TimeRange | undefined {
  const lastS = within(parseDurationText(fields.get('last') ?? ''), MIN_SPAN_S, MAX_SPAN_S);
  if (lastS !== undefined) return { lastS };
  const [fromS, toS] = [wholeNumber(fields.get('from')), wholeNumber(fields.get('to'))];
  if (fromS === undefined || toS === undefined) return undefined;
  return within(toS - fromS, MIN_SPAN_S, MAX_SPAN_S) === undefined ? undefined : { fromS, toS };
}

function variablesOf(texts: readonly string[]): ViewState['variables'] {
  const found = new Map<string, string[]>();
  for (const [name, value] of pairsOf(texts)) found.set(name, [...(found.get(name) ?? []), value]);
  return Object.fromEntries(found);
}

function within(value: number | undefined, min: number, max: number): number | undefined {
  return value !== undefined && value >= min && value <= max ? value : undefined;
}

function wholeNumber(text: string | null): number | undefined {
  return text !== null && /^\d{1,11}$/.test(text) ? Number(text) : undefined;
}

/** Percent-encodes only what is necessary, since people read and edit links. */
function readable(text: string): string {
  return encodeURIComponent(text).replace(/%(2C|3A|2F|40)/gi, decodeURIComponent);
}
