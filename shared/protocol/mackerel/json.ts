import { NamedSeries } from '../../dictionary/named-series';
import type { SeriesDictionary } from '../../dictionary/series-dictionary';
import type { SourceRows } from '../../dictionary/series-source';
import { type Labels, sourceOf } from '../../model/labels';
import { MAX_AHEAD_MS } from '../../model/placement';
import { isGivenId } from '../../model/random-id';
import { type AcceptedTimes, type Protocol, timeBoundText } from '../protocol';
import { likelyUnit } from '../timestamp-unit';
import { MAX_METRIC_NAME_LENGTH, METRIC_NAME_PATTERN } from './metric-name';

/** The reason why a sample was dropped. */
export type DropReason =
  | 'point'
  | 'name'
  | 'time'
  | 'tooOld'
  | 'tooNew'
  | 'value'
  | 'hostId'
  | 'unknownHost'
  | 'tooManyHosts'
  | 'seriesLimit';

export interface MackerelOptions {
  /** The service whose metrics are posted; undefined if each element names its host instead. */
  readonly service?: string;
  /** Sample times are rounded down to a multiple of this, in ms. */
  readonly resolutionMs: number;
}

/** Maximum number of hosts in one request. Each host may cost a look-up in the registry. */
const MAX_HOSTS = 2_000;

/** Samples of one source: the last posted value by timestamp (ms) and metric name. */
type SamplesByTime = Map<number, Map<string, number>>;

/**
 * Reads a post of Mackerel's JSON, already parsed: an array of `{hostId, name, time, value}`, or null, which mkr
 * posts when it has no samples.
 *
 * Invalid elements are dropped and counted; all others are stored. The body is never refused as a whole, because
 * mackerel-agent would resend it for an hour.
 */
export const mackerelJson: Protocol<readonly unknown[] | null, MackerelOptions, Map<DropReason, number>> = {
  parse(dictionary, elements, accepts, { service, resolutionMs }) {
    const bySource = new Map<string, SamplesByTime>();
    const dropped = new Map<DropReason, number>();
    let samples = 0;
    const drop = (reason: DropReason) => dropped.set(reason, (dropped.get(reason) ?? 0) + 1);
    for (const element of elements ?? []) {
      const flaw = flawOf(element, service === undefined, accepts);
      if (flaw !== undefined) {
        drop(flaw);
        continue;
      }
      const { hostId, name, time, value } = element as Sample;
      const source = service ?? hostId;
      let byTime = bySource.get(source);
      if (byTime === undefined) {
        if (bySource.size >= MAX_HOSTS) {
          drop('tooManyHosts');
          continue;
        }
        byTime = new Map();
        bySource.set(source, byTime);
      }
      const timestamp = Math.floor((time * 1000) / resolutionMs) * resolutionMs;
      let byName = byTime.get(timestamp);
      if (byName === undefined) {
        byName = new Map();
        byTime.set(timestamp, byName);
      }
      const before = byName.size;
      byName.set(name, value);
      samples += byName.size - before;
    }
    const sources = Array.from(bySource, ([id, byTime]) => {
      return rowsOf(dictionary, service === undefined ? sourceOf.host(id) : sourceOf.service(id), byTime);
    });
    return { sources, samples, dropped };
  },
};

/** Hints at the expected form, by the reason why a sample was dropped. */
const EXPECTED: Partial<Record<DropReason, string>> = {
  point: 'expected an object with name, time and value',
  hostId: 'expected the id that POST /api/v0/hosts answered',
  name: `expected 1 to ${MAX_METRIC_NAME_LENGTH} letters (a-z, A-Z), digits, dots, hyphens and underscores`,
  time: 'expected whole seconds since 1970',
  value: 'expected a finite number, not text',
};

/**
 * Builds a hint about dropped samples: the expected form, the accepted times, and whether times seem to be in a
 * different unit. Returns undefined if there is nothing to say.
 */
export function dropHint(
  elements: readonly unknown[] | null,
  dropped: ReadonlyMap<DropReason, number>,
  maxAgeMs: number,
): string | undefined {
  const hints = [...dropped.keys()].flatMap((reason) => {
    const text =
      reason === 'tooOld' || reason === 'tooNew' ? timeBoundText(reason, maxAgeMs) : EXPECTED[reason];
    return text === undefined ? [] : [`${reason}: ${text}`];
  });
  const unit = dropped.has('tooNew') ? unitHint(elements) : undefined;
  if (unit !== undefined) hints.push(unit);
  return hints.length === 0 ? undefined : hints.join('; ');
}

/** Returns a hint if times look like ms or a finer unit. Mackerel expects seconds. */
function unitHint(elements: readonly unknown[] | null): string | undefined {
  for (const [i, element] of (elements ?? []).entries()) {
    const time = (element as { readonly time?: unknown } | null)?.time;
    const unit = typeof time === 'number' ? likelyUnit(time) : undefined;
    if (unit !== undefined && unit.name !== 'seconds')
      return `times look like ${unit.name} (the first at index ${i}): send seconds`;
  }
  return undefined;
}

/** A valid element of the posted array. */
interface Sample {
  /** Absent if the request posts metrics of a service. */
  readonly hostId: string;
  readonly name: string;
  /** Unix time in seconds. */
  readonly time: number;
  readonly value: number;
}

/** Builds rows from samples of one source, whose series differ only in their metric names. The names must be ASCII. */
export function rowsOf(
  dictionary: SeriesDictionary,
  labels: Labels,
  byTime: ReadonlyMap<number, ReadonlyMap<string, number>>,
): SourceRows {
  const named = dictionary.tables(NamedSeries);
  const set = named.setOf(labels);
  const rows = Array.from(byTime, ([timestamp, byName]) => {
    const series = new Int32Array(byName.size);
    let i = 0;
    // Put all names into one buffer, and look each name up by its range of bytes. Comparing bytes is cheaper than
    // copying them.
    const names = Buffer.from([...byName.keys()].join(''), 'latin1');
    let end = 0;
    for (const name of byName.keys()) {
      const start = end;
      end += name.length;
      series[i++] = named.seriesOf(set, named.nameOf(names, start, end));
    }
    return { timestamp, series, values: new BigUint64Array(Float64Array.from(byName.values()).buffer) };
  });
  return [set.source, rows];
}

function flawOf(
  element: unknown,
  namesHost: boolean,
  { nowMs, maxAgeMs }: AcceptedTimes,
): DropReason | undefined {
  if (typeof element !== 'object' || element === null || Array.isArray(element)) return 'point';
  const { hostId, name, time, value } = element as Record<string, unknown>;
  if (namesHost && (typeof hostId !== 'string' || !isGivenId(hostId))) return 'hostId';
  if (typeof name !== 'string' || name.length > MAX_METRIC_NAME_LENGTH || !METRIC_NAME_PATTERN.test(name))
    return 'name';
  // Mackerel's Go client omits a time of 0. Nevertheless, a missing time is refused like any other invalid time.
  if (typeof time !== 'number' || !Number.isSafeInteger(time) || time < 0) return 'time';
  if (typeof value !== 'number' || !Number.isFinite(value)) return 'value';
  if (time * 1000 < nowMs - maxAgeMs) return 'tooOld';
  if (time * 1000 > nowMs + MAX_AHEAD_MS) return 'tooNew';
  return undefined;
}
