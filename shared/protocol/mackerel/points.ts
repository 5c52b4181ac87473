import { MAX_METRIC_NAME_LENGTH, METRIC_NAME_PATTERN } from './metric-name';

/** Why a point was not kept. */
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

/** A source's samples of one request: timestamp (ms) -> metric name -> value, the last of each. */
export type SourcePoints = Map<number, Map<string, number>>;

export interface ValidatedPoints {
  /** By host id; by '' for a service's. */
  readonly sources: Map<string, SourcePoints>;
  readonly accepted: number;
  readonly dropped: Map<DropReason, number>;
}

export interface PointLimits {
  readonly nowMs: number;
  readonly maxAgeMs: number;
  /** Samples are aligned down to it. */
  readonly resolutionMs: number;
}

/** Hosts of one request: each may cost a look into the registry. */
const MAX_HOSTS = 2_000;
/** Ids are made by the registry. */
const HOST_ID_PATTERN = /^[A-Za-z0-9]{1,64}$/;
/** How far ahead a sample may be. @see ../shared/mackerel-api.md, 1.1 */
const MAX_AHEAD_MS = 86_400_000;

/**
 * Sorts a posted array into sources. A bad point is dropped and counted, the others are kept: a client that is
 * refused a whole batch sends it again for an hour.
 *
 * @param hasHostId whether each point names its host
 */
export function validatePoints(
  points: readonly unknown[],
  hasHostId: boolean,
  limits: PointLimits,
): ValidatedPoints {
  const sources = new Map<string, SourcePoints>();
  const dropped = new Map<DropReason, number>();
  let accepted = 0;
  for (const point of points) {
    const reason = flawOf(point, hasHostId, limits);
    if (reason !== undefined) {
      dropped.set(reason, (dropped.get(reason) ?? 0) + 1);
      continue;
    }
    const { hostId, name, time, value } = point as {
      hostId: string;
      name: string;
      time: number;
      value: number;
    };
    const source = hasHostId ? hostId : '';
    const timestamp = Math.floor((time * 1000) / limits.resolutionMs) * limits.resolutionMs;
    let byTime = sources.get(source);
    if (byTime === undefined && sources.size >= MAX_HOSTS) {
      dropped.set('tooManyHosts', (dropped.get('tooManyHosts') ?? 0) + 1);
      continue;
    }
    accepted++;
    if (byTime === undefined) {
      byTime = new Map();
      sources.set(source, byTime);
    }
    let values = byTime.get(timestamp);
    if (values === undefined) {
      values = new Map();
      byTime.set(timestamp, values);
    }
    values.set(name, value);
  }
  return { sources, accepted, dropped };
}

function flawOf(
  point: unknown,
  hasHostId: boolean,
  { nowMs, maxAgeMs }: PointLimits,
): DropReason | undefined {
  if (typeof point !== 'object' || point === null || Array.isArray(point)) return 'point';
  const { hostId, name, time, value } = point as Record<string, unknown>;
  if (hasHostId && (typeof hostId !== 'string' || !HOST_ID_PATTERN.test(hostId))) return 'hostId';
  if (typeof name !== 'string' || name.length > MAX_METRIC_NAME_LENGTH || !METRIC_NAME_PATTERN.test(name))
    return 'name';
  // Clients leave out a time of 0.
  if (typeof time !== 'number' || !Number.isSafeInteger(time) || time < 0) return 'time';
  if (typeof value !== 'number' || !Number.isFinite(value)) return 'value';
  if (time * 1000 < nowMs - maxAgeMs) return 'tooOld';
  if (time * 1000 > nowMs + MAX_AHEAD_MS) return 'tooNew';
  return undefined;
}
