import { DAY_MS } from '../../shared/model/duration';
import { type Attempt as AnyAttempt, allowedValues, type Outcome, type Request } from '../soak/ledger';

/**
 * Records every operation that was sent, and derives every response that the pipeline may give. Operations are ordered
 * as clients see them: if one ended before another began, it came first.
 */

/**
 * The effect of one request on one sample. A deletion has no value. Most samples are posted only once, with their usual
 * value; all such samples of a request share one list with a single attempt (see {@link SeriesDay.states}).
 */
type Attempt = AnyAttempt<number | 'usual' | undefined>;

/** One UTC day of a series, minute by minute. */
interface SeriesDay {
  /**
   * The state of each minute of the day: 0 if nothing is stored, 1 if exactly the usual value was acknowledged long
   * ago. A higher number stands for the request that posted the usual value and was the only attempt.
   */
  readonly states: Uint16Array;
  /** All attempts at a minute, by minute of the day. Minutes that are completely described by `states` are absent. */
  readonly attempts: Map<number, readonly Attempt[]>;
}

const [NOTHING, USUAL, FIRST_REQUEST] = [0, 1, 2];
/** Maximum number of requests that {@link SeriesDay.states} can name. Far fewer requests are unsettled at a time. */
const MOST_REQUESTS = 65_536 - FIRST_REQUEST;

export interface Series {
  readonly hostId: string;
  readonly name: string;
  readonly seed: number;
  /** The series' days, by the number of UTC days since 1970. */
  readonly days: Map<number, SeriesDay>;
}

/** A sample as posted. `time` is in seconds, a whole minute. */
export interface Sample {
  readonly series: Series;
  readonly time: number;
  readonly value: number;
}

export interface Point {
  readonly time: number;
  readonly value: number;
}

/**
 * An operation that has ended. Once no copy of it can still arrive, its attempts are reduced to their result. It holds
 * no objects for samples, because a million long-lived objects would cost the garbage collector seconds.
 */
interface Pending {
  readonly dueMs: number;
  readonly request: Request;
  /** Series and time, in seconds, of each sample that the request changed. */
  readonly series: readonly Series[];
  readonly times: Uint32Array;
}

/** The effect of a request on one sample: a new value, or no value after a deletion. */
interface Change {
  readonly series: Series;
  readonly time: number;
  readonly value: number | undefined;
}

const DAY_S = DAY_MS / 1000;
const DAY_MINUTES = 1440;
/** After this time, in ms, an unanswered request can no longer arrive, and every read sees the answered requests. */
export const SETTLED_MS = 45 * 60_000;

/**
 * The usual value of a minute. It is computed, so the model need not store it. It is a multiple of 1/4, so that sums
 * are exact, and has few digits, because it is printed and parsed several times.
 */
export function usualValue({ seed }: Series, time: number): number {
  return (Math.imul(seed ^ (time / 60), 0x9e3779b1) >>> 18) / 4;
}

export class Model {
  private clock = 0;
  private readonly pending: Pending[] = [];
  /** The attempt that each of the last requests made, by the request's number in {@link SeriesDay.states}. */
  private readonly requests: (readonly Attempt[])[] = [];
  private requestsMade = 0;
  acknowledged = 0;

  constructor(private readonly now: () => number) {}

  /** The current position in the order of operations. */
  get moment(): number {
    return this.clock;
  }

  /** Records a request that posts samples. @returns a function to call with its outcome */
  sending(samples: readonly Sample[]): (outcome: Outcome) => void {
    return this.note(samples);
  }

  /** Records a request that deletes the samples of series in a range of times in seconds, both ends inclusive. */
  deleting(all: readonly Series[], fromS: number, toS: number): (outcome: Outcome) => void {
    const changes: Change[] = [];
    for (const series of all)
      for (const day of series.days.keys())
        for (let minute = 0; minute < DAY_MINUTES; minute++) {
          const time = day * DAY_S + minute * 60;
          if (time >= fromS && time <= toS && this.knows(series, time))
            changes.push({ series, time, value: undefined });
        }
    return this.note(changes, 0);
  }

  /** Whether a sample was posted for this time that may be stored. */
  knows(series: Series, time: number): boolean {
    const day = series.days.get(Math.floor(time / DAY_S));
    const minute = (time % DAY_S) / 60;
    return day !== undefined && (day.states[minute] !== NOTHING || day.attempts.has(minute));
  }

  private note(changes: readonly Change[], counted = changes.length): (outcome: Outcome) => void {
    const request: Request = { sent: this.clock++, ended: Infinity, outcome: 'unknown' };
    const number = this.requestsMade++ % MOST_REQUESTS;
    this.requests[number] = [{ value: 'usual', request }];
    const series: Series[] = [];
    const times = new Uint32Array(changes.length);
    for (const change of changes) {
      const day = dayAt(change.series, change.time);
      const minute = (change.time % DAY_S) / 60;
      times[series.length] = change.time;
      series.push(change.series);
      const before = this.attemptsAt(day, minute) ?? (day.states[minute] === USUAL ? LONG_AGO : undefined);
      if (before === undefined && change.value === usualValue(change.series, change.time))
        day.states[minute] = FIRST_REQUEST + number;
      else {
        day.states[minute] = NOTHING;
        day.attempts.set(minute, [...(before ?? []), { value: change.value, request }]);
      }
    }
    return (outcome) => {
      request.outcome = outcome;
      if (outcome !== 'unknown') request.ended = this.clock++;
      if (outcome === 'acknowledged') this.acknowledged += counted;
      this.pending.push({ dueMs: this.now() + SETTLED_MS, request, series, times });
    };
  }

  /** Replaces attempts that can no longer change by their result, so that the model stays small. */
  settle(): void {
    const end = this.pending.findIndex(({ dueMs }) => dueMs > this.now());
    for (const { request, series, times } of this.pending.splice(0, end < 0 ? this.pending.length : end)) {
      if (request.ended === Infinity) request.ended = this.clock++;
      for (let i = 0; i < series.length; i++) this.reduce(series[i]!, times[i]!);
    }
  }

  private reduce(series: Series, time: number): void {
    const day = dayAt(series, time);
    const minute = (time % DAY_S) / 60;
    const own = this.attemptsAt(day, minute);
    if (own === undefined || own.some(({ request }) => request.ended === Infinity)) return;
    const usual = usualValue(series, time);
    const result = resultOf(own, usual);
    if (result === undefined) day.attempts.set(minute, own);
    else day.attempts.delete(minute);
    day.states[minute] = result === 'usual' ? USUAL : NOTHING;
  }

  /** Returns the attempts at a minute; undefined if it has none, or if they ended long ago. */
  private attemptsAt({ states, attempts }: SeriesDay, minute: number): readonly Attempt[] | undefined {
    const state = states[minute]!;
    return state >= FIRST_REQUEST ? this.requests[state - FIRST_REQUEST] : attempts.get(minute);
  }

  /** Removes the days before a time in seconds. */
  forget(series: Series, beforeS: number): void {
    for (const day of series.days.keys()) if ((day + 1) * DAY_S <= beforeS) series.days.delete(day);
  }

  /**
   * Compares a response with the values that it may contain, in a range of times in seconds, both ends inclusive.
   *
   * @param moment acknowledged samples must have arrived up to this time; samples acknowledged later may still be
   *   missing
   * @returns descriptions of flaws
   */
  flawsOf(series: Series, found: readonly Point[], from: number, to: number, moment: number): string[] {
    const flaws: string[] = [];
    const flaw = (time: number, what: string) =>
      flaws.push(`${series.name} of ${series.hostId} at ${new Date(time * 1000).toISOString()}: ${what}`);
    const byTime = new Map<number, number>();
    for (const { time, value } of found) {
      if (byTime.has(time)) flaw(time, 'stands twice');
      if (time % 60 !== 0 || time < from || time > to) flaw(time, 'was never sent');
      byTime.set(time, value);
    }
    for (let time = from; time <= to; time += 60) {
      const value = byTime.get(time);
      const day = series.days.get(Math.floor(time / DAY_S));
      const minute = (time % DAY_S) / 60;
      const attempts = day && this.attemptsAt(day, minute);
      if (attempts === undefined) {
        const expected = day?.states[minute] === USUAL ? usualValue(series, time) : undefined;
        if (value !== expected) flaw(time, `${value ?? 'nothing'} instead of ${expected ?? 'nothing'}`);
        continue;
      }
      const usual = usualValue(series, time);
      const { values, mayBeMissing } = outcomes(attempts, usual, moment);
      if (value === undefined ? mayBeMissing : values.has(value)) continue;
      const history = attempts.map(({ value: given, request: { outcome, sent, ended } }) => {
        const text = given === 'usual' ? usual : (given ?? 'deleted');
        return `${text} ${outcome} ${sent}-${ended}`;
      });
      flaw(time, `${value ?? 'nothing'} after ${history.join(', ')}, at ${moment}`);
    }
    return flaws;
  }
}

function dayAt(series: Series, time: number): SeriesDay {
  const number = Math.floor(time / DAY_S);
  let day = series.days.get(number);
  if (day === undefined) {
    day = { states: new Uint16Array(DAY_MINUTES), attempts: new Map() };
    series.days.set(number, day);
  }
  return day;
}

/** The attempts at a minute whose usual value was acknowledged so long ago that it has settled. */
const LONG_AGO: readonly Attempt[] = [
  { value: 'usual', request: { sent: -1, ended: -1, outcome: 'acknowledged' } },
];

/** Returns the values that a sample may have. */
function outcomes(attempts: readonly Attempt[], usual: number, moment: number) {
  const allowed = allowedValues(attempts, moment);
  const values = new Set([...allowed.values].map((value) => (value === 'usual' ? usual : value)));
  return { values, mayBeMissing: allowed.mayBeMissing || values.has(undefined) };
}

/**
 * Returns the only value that a sample can have after these attempts, `nothing` if it has none; undefined if several
 * values are possible.
 */
function resultOf(attempts: readonly Attempt[], usual: number): 'usual' | 'nothing' | undefined {
  const [first] = attempts;
  // A shortcut for most samples, which are posted only once.
  if (attempts.length === 1 && first!.request.outcome === 'acknowledged' && first!.value === 'usual')
    return 'usual';
  const { values, mayBeMissing } = outcomes(attempts, usual, Infinity);
  const [only] = values;
  if (values.size === 0 || (values.size === 1 && only === undefined)) return 'nothing';
  return values.size === 1 && !mayBeMissing && only === usual ? 'usual' : undefined;
}
