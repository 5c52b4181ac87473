import type { SeriesDictionary } from '../dictionary/series-dictionary';
import type { SourceRows } from '../dictionary/series-source';
import { DAY_MS, durationText } from '../model/duration';
import { MAX_AHEAD_MS } from '../model/placement';

/**
 * A write protocol: converts a request's body into rows of the tenant's series.
 *
 * A protocol is pure: it uses no store and no clock. It never refuses a whole body for invalid samples, since senders
 * would resend the body again and again. It leaves out the samples that cannot be stored, and reports them.
 */
export interface Protocol<Body, Options, Dropped> {
  parse(
    dictionary: SeriesDictionary,
    body: Body,
    accepts: AcceptedTimes,
    options: Options,
  ): ParsedBody<Dropped>;
}

/**
 * Sample times that a request may contain: from `nowMs - maxAgeMs` to `nowMs + MAX_AHEAD_MS`
 * (model/placement.ts), both inclusive.
 */
export interface AcceptedTimes {
  readonly nowMs: number;
  readonly maxAgeMs: number;
}

/** Numbers of samples left out because of their times. */
export interface OutOfTime {
  /** Number of samples older than `maxAgeMs`. */
  readonly tooOld: number;
  /** Number of samples more than {@link MAX_AHEAD_MS} ahead. */
  readonly tooNew: number;
}

/** Describes the bound that a sample's time violates: `older than 24 h` or `more than 24 h ahead`. */
export function timeBoundText(bound: keyof OutOfTime, maxAgeMs: number): string {
  return bound === 'tooOld' ? `older than ${ageText(maxAgeMs)}` : `more than ${ageText(MAX_AHEAD_MS)} ahead`;
}

/** Formats a duration in its largest unit, except that a day is `24 h`, as in agents' documentation. */
function ageText(ms: number): string {
  return ms === DAY_MS ? '24 h' : durationText(ms).replace(/[a-z]+$/, ' $&');
}

/** Maximum number of labels of a series. */
export const MAX_LABELS = 256;

/** A request exceeds a bound of body-bounds.ts. The message names the exceeded bound. */
export class RequestTooLargeError extends Error {
  override readonly name = 'RequestTooLargeError';
}

export interface ParsedBody<Dropped> {
  readonly sources: readonly SourceRows[];
  /** Number of samples in `sources`. */
  readonly samples: number;
  /** The samples that were not stored, and the reasons, in the protocol's own terms. */
  readonly dropped: Dropped;
}
