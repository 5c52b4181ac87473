import { durationText, MAX_SPAN_S, MIN_SPAN_S, parseDurationText, type TimeRange } from './time-range';

/** What posted the metrics that are looked at. */
export interface SourceRef {
  readonly kind: 'host' | 'service';
  /** A host's id, a service's name. */
  readonly id: string;
}

/** What is seen: all of it is in the address, so that a link shows the same. */
export interface ViewState {
  readonly view: 'graphs' | 'status';
  readonly source: SourceRef | undefined;
  /** Names of the graphs that were picked; undefined: all. */
  readonly graphs: readonly string[] | undefined;
  readonly range: TimeRange;
  readonly utc: boolean;
  /** Whether each graph shows its tiers. */
  readonly tiers: boolean;
}

export const INITIAL_STATE: ViewState = {
  view: 'graphs',
  source: undefined,
  graphs: undefined,
  range: { lastS: 3600 },
  utc: false,
  tiers: true,
};

/** The part of the address after `#`; what is as at first is left out. */
export function encodeState(state: ViewState): string {
  const fields: string[] = [];
  const add = (name: string, value: string) => fields.push(`${name}=${readable(value)}`);
  if (state.view === 'status') add('view', 'status');
  if (state.source !== undefined) add(state.source.kind, state.source.id);
  for (const graph of state.graphs ?? []) add('graph', graph);
  const { range } = state;
  if (!('lastS' in range)) {
    add('from', String(range.fromS));
    add('to', String(range.toS));
  } else if (range.lastS !== 3600) add('last', durationText(range.lastS));
  if (state.utc) add('time', 'utc');
  if (!state.tiers) add('tiers', 'off');
  return fields.join('&');
}

/** What an address says; what it says wrongly is as at first. */
export function decodeState(hash: string): ViewState {
  const fields = new URLSearchParams(hash.replace(/^#/, ''));
  const host = fields.get('host');
  const service = fields.get('service');
  const graphs = fields.getAll('graph');
  return {
    view: fields.get('view') === 'status' ? 'status' : 'graphs',
    source: host ? { kind: 'host', id: host } : service ? { kind: 'service', id: service } : undefined,
    graphs: graphs.length === 0 ? undefined : graphs,
    range: rangeOf(fields) ?? INITIAL_STATE.range,
    utc: fields.get('time') === 'utc',
    tiers: fields.get('tiers') !== 'off',
  };
}

/** The key that a printed address carries: never sent to the server, since it is after `#`. */
export function keyInHash(hash: string): string | undefined {
  return new URLSearchParams(hash.replace(/^#/, '')).get('key') ?? undefined;
}

function rangeOf(fields: URLSearchParams): TimeRange | undefined {
  const lastS = parseDurationText(fields.get('last') ?? '');
  if (lastS !== undefined && lastS >= MIN_SPAN_S && lastS <= MAX_SPAN_S) return { lastS };
  const [fromS, toS] = [wholeNumber(fields.get('from')), wholeNumber(fields.get('to'))];
  if (fromS === undefined || toS === undefined) return undefined;
  return toS - fromS >= MIN_SPAN_S && toS - fromS <= MAX_SPAN_S ? { fromS, toS } : undefined;
}

function wholeNumber(text: string | null): number | undefined {
  return text !== null && /^\d{1,11}$/.test(text) ? Number(text) : undefined;
}

/** Percent-encoded where it must be: people read and edit links. */
function readable(text: string): string {
  return encodeURIComponent(text).replace(/%(2C|3A|2F|40)/gi, decodeURIComponent);
}
