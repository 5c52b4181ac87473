import { DAY_MS, durationText } from '../model/duration';
import type { Labels, NamedSeries } from '../model/labels';
import type { HashedLabels } from '../model/labels-hash';
import { MAX_AHEAD_MS } from '../model/placement';

/**
 * The port of a write protocol: turns a request's body into rows, and names the source of each series. Mackerel's JSON and
 * InfluxDB's line protocol are behind it.
 *
 * A protocol is pure: it knows no store and no clock. It refuses no body as a whole: what it cannot keep it leaves out and
 * reports, since senders would post a refused body again and again.
 */
export interface Protocol<Body, Options, Dropped> {
  parse(body: Body, accepts: AcceptedTimes, options: Options): ParsedBody<Dropped>;
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

/** Bytes of a series' names and values: with `splitBitsFor`, this keeps layouts below an item of the catalogue. */
export const MAX_SERIES_BYTES = 4_096;
/** Labels of a series that comes with all of them. */
export const MAX_LABELS = 256;
/**
 * What one request may have, so that post handles any body in 256 MB above rest: samples, sources, bytes of series' names
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

/** A source and its rows. */
export type SourceRows = readonly [source: Source, rows: readonly SourceRow[]];

/** A source's labels, or what the protocol remembers of it. */
export type Source = Labels | KnownSource;

/** A source that a protocol remembers: the same object in each request, so that others keep there what they know of it. */
export interface KnownSource {
  /** Decoded when asked for. */
  readonly labels: Labels;
  /** Whatever `stream/pools.ts` knows of it. */
  place: object | undefined;
}

export function labelsOfSource(source: Source): Labels {
  return 'labels' in source ? source.labels : source;
}

/** A row: the samples of one source and time. No two rows of a source and timestamp have a series in common. */
export interface SourceRow {
  /** ms since epoch. */
  readonly timestamp: number;
  readonly columns: Columns;
  /** One for each column: a float64's 8 bytes, which as a JavaScript number could lose the payload of a NaN. */
  readonly values: BigUint64Array;
}

/**
 * Names the series of a row. The first word tells how: by metric names, by numbers of line heads, by numbers of listed series, or
 * as rows of a pool's sources. Keys of different kinds are never equal.
 */
export type ColumnsKey = `${'names' | 'heads' | 'series' | 'pooled'} ${string}`;

/** The series that a row has values of. */
export interface Columns {
  /** Within a source, two keys are equal exactly when the series are. */
  readonly key: ColumnsKey;
  /** In the order of the values. A series that occurs twice has its last value. */
  series(): readonly NamedSeries[];
  /** Consecutive pieces, such as lines, that recur in other combinations and with other series. @default the columns as one piece */
  readonly parts?: readonly ColumnsPart[];
  /** Whether the parts' lists have all series of the source that the protocol knows. @default false */
  readonly isListed?: boolean;
}

/** Series of one list, such as the fields of a measurement and tag set. */
export interface ColumnsPart {
  readonly list: SeriesList;
  readonly count: number;
  /** Index in the list of each of the `count` series; absent: they are the first of the list. */
  readonly indexes?: Uint16Array;
}

/**
 * The identity of a list of series. It is an object, so that lists of different protocols cannot be taken for each other. It holds
 * nothing of its list, so that a cache that remembers it keeps no list in memory.
 */
export class SeriesListId {
  private static made = 0;

  /** Differs for each list of the process, whichever protocol made it. */
  readonly number = SeriesListId.made++;
}

/** Series of one source, each of which keeps its index while the list grows. */
export interface SeriesList {
  /** A list that is made of one row's columns has their key. */
  readonly id: SeriesListId | ColumnsKey;
  readonly count: number;
  series(indexes: ArrayLike<number>): readonly NamedSeries[];
  /** All labels of a series, sorted, for lists that have them together. */
  hashedAt?(index: number): HashedLabels;
  /** Present where the series differ in their names alone. */
  readonly named?: NamedList;
}

export interface NamedList {
  /** Lists of the same text have the same labels. */
  readonly labelsText: string;
  /** Lists of the same key have the same names at their indexes. A list has another key when it has grown. */
  readonly namesKey: string;
}
