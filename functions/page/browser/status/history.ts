import type { Status } from '../api/status';
import type { SeriesData } from '../graphs/plot-data';
import { type Count, sampleRate, withCount } from './sample-rate';

/** State of the pipeline at one time. */
interface Observation {
  /** Unix time in seconds. */
  readonly timeS: number;
  /** Samples and reads per second, over the last minutes; null until they are known. */
  readonly samples: number | null;
  readonly reads: number | null;
  /** Lag of the slowest reader of the stream, in seconds. */
  readonly lagS: number | null;
}

/** The status since the view was first opened. */
export interface History {
  readonly samples: readonly Count[];
  readonly reads: readonly Count[];
  readonly observations: readonly Observation[];
}

export const NO_HISTORY: History = { samples: [], reads: [], observations: [] };

/** Maximum number of observations: an hour of them, at one every five seconds. */
const MAX_OBSERVATIONS = 720;

export function withStatus(history: History, { atMs, usage, stream }: Status): History {
  const samples = withCount(history.samples, { atMs, count: usage.samples });
  const reads = withCount(history.reads, { atMs, count: usage.reads });
  const observation = {
    timeS: atMs / 1000,
    samples: sampleRate(samples) ?? null,
    reads: sampleRate(reads) ?? null,
    lagS: stream.behindMs === null ? null : stream.behindMs / 1000,
  };
  const last = history.observations.at(-1);
  // The server may return the same status several times.
  const observations =
    last === undefined || observation.timeS > last.timeS
      ? [...history.observations, observation].slice(-MAX_OBSERVATIONS)
      : history.observations;
  return { samples, reads, observations };
}

/** Returns the series of one figure, with the times at which it was known. */
export function figureOverTime(
  { observations }: History,
  figure: Exclude<keyof Observation, 'timeS'>,
): SeriesData {
  const known = observations.filter((each) => each[figure] !== null);
  return { times: known.map(({ timeS }) => timeS), values: [known.map((each) => each[figure])] };
}

/** Returns one of a tenant's daily figures as a series. Each value has the time at which its day (UTC) starts. */
export function daysOverTime(days: Status['usage']['days'], figure: 'samples' | 'reads'): SeriesData {
  return {
    times: days.map(({ day }) => Date.parse(`${day}T00:00:00Z`) / 1000),
    values: [days.map((each) => each[figure])],
  };
}
