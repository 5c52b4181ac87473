import type { SeriesDictionary } from '../dictionary/series-dictionary';
import type { SourceRows } from '../dictionary/series-source';
import { DAY_MS, durationText } from '../model/duration';
import { MAX_AHEAD_MS } from '../model/placement';

/**
 * The port of a write protocol: turns a request's body into rows of the tenant's series. Mackerel's JSON and InfluxDB's
 * line protocol are behind it.
 *
 * A protocol is pure: it knows no store and no clock. It refuses no body as a whole: what it cannot keep it leaves out and
 * reports, since senders would post a refused body again and again.
 */
export interface Protocol<Body, Options, Dropped> {
  parse(
    dictionary: SeriesDictionary,
    body: Body,
    accepts: AcceptedTimes,
    options: Options,
  ): ParsedBody<Dropped>;
}

/** The sample times that a request may have: from `nowMs - maxAgeMs` to `nowMs + MAX_AHEAD_MS` (model/placement.ts), inclusive. */
export interface AcceptedTimes {
  readonly nowMs: number;
  readonly maxAgeMs: number;
}

/** Samples that were left out for their times. */
export interface OutOfTime {
  /** Samples older than `maxAgeMs`. */
  readonly tooOld: number;
  /** Samples more than {@link MAX_AHEAD_MS} ahead. */
  readonly tooNew: number;
}

/** Names the bound that a sample's time breaks, for answers: `older than 24 h` or `more than 24 h ahead`. */
export function timeBoundText(bound: keyof OutOfTime, maxAgeMs: number): string {
  return bound === 'tooOld'
    ? `older than ${spanText(maxAgeMs)}`
    : `more than ${spanText(MAX_AHEAD_MS)} ahead`;
}

/** A day is `24 h`, as documents of agents have it; others are in their largest unit. */
function spanText(ms: number): string {
  return ms === DAY_MS ? '24 h' : durationText(ms).replace(/[a-z]+$/, ' $&');
}

/** Labels of a series that comes with all of them. */
export const MAX_LABELS = 256;
/** What the worst body takes of post's memory above rest, of 42 that were made to cost much; measured (decisions/protocols-and-post.md). */
export const WORST_BODY_BYTES = 290_000_000;
/**
 * What one request may have, so that post handles any body within {@link WORST_BODY_BYTES}: samples, sources, bytes of series' names
 * and labels, and rows whose series differ, for each of which post may make a layout.
 */
export const MAX_SAMPLES = 262_144;
export const MAX_SOURCES = 10_000;
export const MAX_SERIES_SETS = 10_000;
export const MAX_LABEL_BYTES = 32 * 1024 * 1024;

/** A request has more of something than post holds in memory. The message says what, and how much is allowed. */
export class RequestTooLargeError extends Error {
  override readonly name = 'RequestTooLargeError';
}

export interface ParsedBody<Dropped> {
  readonly sources: readonly SourceRows[];
  /** Samples in `sources`. */
  readonly samples: number;
  /** The samples left out and why, in the protocol's own terms. */
  readonly dropped: Dropped;
}
