import { type Labels, labelsKey } from '../../shared/model/labels';

/** A sample as posted. `time` is a Unix time in seconds, as in the API. */
export interface Sample {
  /** Labels of the series. */
  readonly labels: Labels;
  readonly time: number;
  readonly value: number;
}

/**
 * How a request ended for the client. Refused samples are not stored; samples with an unknown outcome may be stored now
 * or later.
 */
export type Outcome = 'acknowledged' | 'refused' | 'unknown';

/**
 * A request. All of its samples share this object. `sent` and `ended` are positions in the sequence of events that the
 * client sees.
 */
export interface Request {
  readonly sent: number;
  /** Position of the response; Infinity if there was none, since the request may still take effect. */
  ended: number;
  outcome: Outcome;
}

/** What a request does to one sample. */
export interface Attempt<V> {
  readonly value: V;
  readonly request: Request;
}

/**
 * Returns the values that a sample may have, given all requests that contained it.
 *
 * Requests that overlapped may have arrived in any order. If a request was acknowledged before another was sent, it
 * arrived first, so it cannot win once the later one has also been acknowledged. A request without a response may
 * arrive at any time.
 *
 * @param moment responses after this position do not count. @default all count
 */
export function allowedValues<V>(
  attempts: readonly Attempt<V>[],
  moment = Infinity,
): { readonly values: ReadonlySet<V>; readonly mayBeMissing: boolean } {
  let lastSent = -Infinity;
  for (const { request } of attempts)
    if (request.outcome === 'acknowledged' && request.ended <= moment)
      lastSent = Math.max(lastSent, request.sent);
  const possible = attempts.filter(
    ({ request: { ended, outcome } }) =>
      outcome !== 'refused' && (ended <= moment ? ended : Infinity) >= lastSent,
  );
  return { values: new Set(possible.map(({ value }) => value)), mayBeMissing: lastSent === -Infinity };
}

/** Reads one series. `from` and `to` are in seconds, both inclusive. Keeps duplicates in the response. */
export type ReadSeries = (
  labels: Labels,
  from: number,
  to: number,
) => Promise<readonly { readonly time: number; readonly value: number }[]>;

export interface Flaws {
  /** Samples that were acknowledged but cannot be read. */
  readonly lost: number;
  /** Samples that occur more than once in a response. */
  readonly doubled: number;
  /** Samples that were never sent, or whose value no order of the requests explains. */
  readonly wrong: number;
  /** Descriptions of some flaws. */
  readonly examples: readonly string[];
}

/** Maximum range for which the API returns samples as stored, in s. */
const MAX_RANGE_S = 20 * 3600;
const MAX_EXAMPLES = 20;
const PARALLEL = 4;

/** Records every sample sent and the outcome of its request, and checks them by reading all samples back. */
export class Ledger {
  /** Requests by series ({@link labelsKey}) and time. */
  private readonly series = new Map<string, Map<number, Attempt<number>[]>>();
  private clock = 0;
  private acknowledgedSamples = 0;

  /** Number of samples in acknowledged requests, including corrections and repetitions. */
  get acknowledged(): number {
    return this.acknowledgedSamples;
  }

  /**
   * Records that a request with these samples is being sent.
   *
   * @returns a function to call once when the request has ended
   */
  sending(samples: readonly Sample[]): (outcome: Outcome) => void {
    const request: Request = { sent: this.clock++, ended: Infinity, outcome: 'unknown' };
    for (const { labels, time, value } of samples) {
      const times = entryOf(this.series, labelsKey(labels), () => new Map<number, Attempt<number>[]>());
      entryOf(times, time, () => []).push({ value, request });
    }
    return (outcome) => {
      request.outcome = outcome;
      if (outcome !== 'unknown') request.ended = this.clock++;
      if (outcome === 'acknowledged') this.acknowledgedSamples += samples.length;
    };
  }

  /**
   * Reads everything back. Reads series with flaws again, because acknowledged samples may not have arrived yet.
   *
   * @param isPatient called before each further round; says whether to read again
   */
  async verify(read: ReadSeries, isPatient: () => Promise<boolean>): Promise<Flaws> {
    let left = [...this.series.keys()];
    for (;;) {
      const found = new Map<string, Flaws>();
      const queue = [...left];
      const work = async () => {
        for (let key = queue.shift(); key !== undefined; key = queue.shift()) {
          const flaws = await this.flawsOf(key, read);
          if (flaws.lost + flaws.doubled + flaws.wrong > 0) found.set(key, flaws);
        }
      };
      await Promise.all(Array.from({ length: PARALLEL }, work));
      left = [...found.keys()];
      if (left.length === 0 || !(await isPatient())) return sumFlaws([...found.values()]);
    }
  }

  private async flawsOf(key: string, read: ReadSeries): Promise<Flaws> {
    const labels = JSON.parse(key) as Labels;
    const sent = this.series.get(key)!;
    let lost = 0;
    let doubled = 0;
    let wrong = 0;
    const examples: string[] = [];
    const flaw = (time: number, what: string) => examples.push(`${key} at ${time}: ${what}`);
    for (const [from, to] of rangesOf([...sent.keys()])) {
      const found = new Map<number, number>();
      for (const { time, value } of await read(labels, from, to)) {
        if (found.has(time)) {
          doubled++;
          flaw(time, 'stands twice');
        }
        found.set(time, value);
        if (sent.has(time)) continue;
        wrong++;
        flaw(time, `${value} was never sent`);
      }
      for (const [time, attempts] of sent) {
        if (time < from || time > to) continue;
        const { values, mayBeMissing } = allowedValues(attempts);
        const value = found.get(time);
        if (value === undefined && mayBeMissing) continue;
        if (value !== undefined && values.has(value)) continue;
        if (value === undefined) lost++;
        else wrong++;
        const history = attempts.map(
          ({ value, request: { outcome, sent, ended } }) => `${value} ${outcome} ${sent}-${ended}`,
        );
        flaw(time, `${value ?? 'nothing'} after ${history.join(', ')}`);
      }
    }
    return { lost, doubled, wrong, examples };
  }
}

function entryOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}

/**
 * Returns ranges that cover the times, both ends inclusive, each short enough to be read as stored samples.
 */
function rangesOf(times: readonly number[]): [number, number][] {
  const ranges: [number, number][] = [];
  for (const time of [...times].sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last === undefined || time - last[0] > MAX_RANGE_S) ranges.push([time, time]);
    else last[1] = time;
  }
  return ranges;
}

function sumFlaws(all: readonly Flaws[]): Flaws {
  return {
    lost: all.reduce((sum, { lost }) => sum + lost, 0),
    doubled: all.reduce((sum, { doubled }) => sum + doubled, 0),
    wrong: all.reduce((sum, { wrong }) => sum + wrong, 0),
    examples: all.flatMap(({ examples }) => examples).slice(0, MAX_EXAMPLES),
  };
}
