import type { Id } from '../model/id';
import type { PackedLayout } from '../model/packed-layout';
import { splitBitsFor } from '../model/placement';
import { PartialRow } from './partial-row';
import type { SeriesDictionary } from './series-dictionary';
import { layoutsOf, type SeriesLayout } from './series-layouts';
import type { SourceRow } from './series-source';

/**
 * The part of a row that belongs to one group of a home. It has the fields that a record needs for the group and its
 * frame.
 */
export interface GroupRow {
  readonly splitBits: number;
  readonly splitIndex: number;
  readonly layout: PackedLayout;
  readonly presence?: Uint8Array;
  readonly values: Uint8Array;
}

/**
 * Number of bits for a column's number. They allow 4,096 columns, four times the maximum number of series in a layout
 * (`cutSeries` in layout.ts).
 */
const COLUMN_BITS = 12;
const COLUMNS = 2 ** COLUMN_BITS;
/** Position of a series that is in no union. All positions in a dictionary start with this value. */
const NOWHERE = 0;
/** Position of a series that is being added to a union. */
const ADDED = -1;

/**
 * Returns the position of a series in its home, above 0. It is one integer, because a dictionary may hold a million of
 * them.
 *
 * @param group the number of the series' group in the home
 * @param column the series' column in the group's layout
 */
function positionOf(group: number, column: number): number {
  return group * COLUMNS + column + 1;
}

function groupAt(position: number): number {
  return (position - 1) >> COLUMN_BITS;
}

function columnAt(position: number): number {
  return (position - 1) & (COLUMNS - 1);
}

/** Approximate memory of a home without its unions, in bytes: an object, two arrays and a set. */
const HOME_BYTES = 250;
/** Approximate memory of a group without its layout and its list of series, in bytes. */
const GROUP_BYTES = 800;

/**
 * Maximum number of series to which a union may grow. A union has more only if its first row had more. Records contain
 * the layouts of their rows, so rows of larger unions take up more of the stream.
 */
const MAX_UNION_SERIES = 4_096;
/**
 * Maximum number of times that a union grows. Each growth makes new layouts, which the catalogue keeps. Senders need
 * far fewer: 500 requests with random halves of 100 series made fewer than 12 layouts (decisions/2026-11-23-unions.md).
 */
const MAX_GROWTHS = 64;
/**
 * Maximum number of unions in a home. With 256 groups each, they have 2^19 groups of 2^12 columns. With more unions,
 * the positions of series might not fit into 31 bits.
 */
const MAX_UNIONS = 2_048;
/**
 * How long a home keeps its unions, in ms of sample time. Then it drops them all and starts again, which removes series
 * that are no longer sent. Starting again costs each source a new layout, so a source makes four layouts a day. If a
 * Prometheus server begins to distribute its series over its queues differently, unions merge, and the server's records
 * are larger for at most this time.
 */
export const UNION_MS = 6 * 3_600_000;
/**
 * How many times more series than the usual 256 (`splitBitsFor`) the groups of a home may have on average. 8 allows
 * 2,048 series; the archive rolls up groups of at most 4,096. Without this bound, a target with many queues would put
 * ten thousand series into a group.
 */
const CROWDED = 8;
/** A row is small if it has less than this share of the series in its unions: see {@link Allowance}. */
const SMALL_SHARE = 1 / 4;

/**
 * A request's budget for layouts: the size of the layouts that the request may still cause, in bytes. A small row uses
 * up the size of the packed layouts that its record must contain. A union that grows uses up the size of the layouts
 * that it replaces. Without this bound, a few samples could cause megabytes of records. (In a test, 900 lines of 16
 * hosts with 300 new fields each took 30 s.)
 */
export interface Allowance {
  layoutBytes: number;
}

/** Returns the allowance that a request starts with. */
export function allowanceOfRequest(): Allowance {
  return { layoutBytes: 1_000_000 };
}

/** A group of the home, with the layout that one union has in this group. */
interface Group extends SeriesLayout {
  readonly union: Union;
}

/** A set of series that arrive in the same rows, and so share layouts. */
interface Union {
  readonly splitBits: number;
  readonly seriesCount: number;
  /** Number of times that the union has grown. */
  readonly growths: number;
  /** The numbers that the union's groups have in the home. */
  readonly groups: number[];
}

/**
 * The home of series: the groups of a source, or of a pool of sources. A home divides its series into unions, and
 * thereby chooses the layouts in which rows are written. A union is a set of series that arrive in the same rows.
 *
 * Senders may divide their series among requests in any way. A layout for each of these divisions would cost more than
 * the samples. So a row is written in the layouts of its union. If the row lacks some of the layouts' series, it gets a
 * presence map. If a row has series of two unions, the two unions are merged.
 *
 * Two examples: a Prometheus server distributes the series of a scrape over queues. Each queue gets a union, because
 * its rows share no series with other queues. In Telegraf's batches, any row may have any series. After a few requests,
 * all series are in one union.
 *
 * Instances of post need not agree on unions, and no store keeps them: an instance that knows fewer series writes
 * smaller layouts (ingest/common-layouts.ts).
 */
export class Home {
  /** Groups by number; undefined if the number is free. */
  private readonly groups: (Group | undefined)[] = [];
  private readonly freeGroups: number[] = [];
  private readonly unions = new Set<Union>();
  /** Number of series in all unions. */
  private seriesCount = 0;
  /** The highest number of series that all unions together have had at any time. */
  private mostSeries = 0;
  /** Timestamp of the first row since the home last dropped its unions, in ms. */
  private beganMs: number | undefined;

  /** @param id id of the source or pool, from which the ids of its groups are derived */
  constructor(
    private readonly dictionary: SeriesDictionary,
    readonly id: Id,
  ) {
    dictionary.use(HOME_BYTES);
  }

  /**
   * Divides a row among the groups that its series have in their unions. If the allowance is used up, divides the row
   * into groups with layouts that are made for this row alone.
   */
  split({ timestamp, series, values }: SourceRow, allowance: Allowance): GroupRow[] {
    this.beganMs ??= timestamp;
    if (timestamp > this.beganMs + UNION_MS || this.unions.size >= MAX_UNIONS) {
      this.forget();
      this.beganMs = timestamp;
    }
    return this.splitByUnions(series, values, allowance) ?? this.splitAlone(series, values);
  }

  /**
   * Divides a row among the groups that its series have in their unions. Returns undefined if the allowance is used up.
   */
  private splitByUnions(
    series: Int32Array,
    values: BigUint64Array,
    allowance: Allowance,
  ): GroupRow[] | undefined {
    if (!this.learn(series, allowance)) return undefined;
    const rows = this.gather(series, values);
    const numbers = [...rows.keys()];
    const unions = new Set(numbers.map((number) => this.groups[number]!.union));
    const seriesCount = sumOf(unions, (union) => union.seriesCount);
    if (series.length < SMALL_SHARE * seriesCount) {
      const bytes = sumOf(numbers, (number) => this.groups[number]!.layout.packed.length);
      if (bytes > allowance.layoutBytes) return undefined;
      allowance.layoutBytes -= bytes;
    }
    return Array.from(rows, ([number, row]) => {
      const { union, splitIndex, layout } = this.groups[number]!;
      return { splitBits: union.splitBits, splitIndex, layout, ...row.finish() };
    });
  }

  /**
   * Merges the unions that have series of a row, and adds the row's new series. Does not change unions that have grown
   * too often, or would become too large.
   *
   * @returns false if the allowance is used up
   */
  private learn(series: Int32Array, allowance: Allowance): boolean {
    const { positions } = this.dictionary;
    const added: number[] = [];
    const together = new Set<Union>();
    let last: Union | undefined;
    for (let i = 0; i < series.length; i++) {
      const each = series[i]!;
      const position = positions[each]!;
      if (position === NOWHERE) {
        // Mark the series, because the row may contain it twice.
        positions[each] = ADDED;
        added.push(each);
      } else if (position !== ADDED) {
        const { union } = this.groups[groupAt(position)]!;
        if (union !== last) together.add(union);
        last = union;
      }
    }
    if (added.length === 0 && together.size === 1) return true;
    if (this.unite(together, added, allowance)) return true;
    for (const each of added) positions[each] = NOWHERE;
    return false;
  }

  /**
   * Makes one union from several unions and from `added`, the series that are in no union.
   *
   * @returns false if the allowance is used up
   */
  private unite(together: ReadonlySet<Union>, added: readonly number[], allowance: Allowance): boolean {
    let growing = [...together].filter(({ growths }) => growths < MAX_GROWTHS);
    const grown = added.length + sumOf(growing, ({ seriesCount }) => seriesCount);
    if (grown > MAX_UNION_SERIES) growing = [];
    if (added.length === 0 && growing.length < 2) return true;
    const numbers = growing.flatMap(({ groups }) => groups);
    const bytes = sumOf(numbers, (number) => this.groups[number]!.layout.packed.length);
    if (bytes > allowance.layoutBytes) return false;
    allowance.layoutBytes -= bytes;
    const series = Int32Array.from(
      [...numbers.map((number) => this.groups[number]!.series), added].flatMap((part) => [...part]),
    );
    this.mostSeries = Math.max(this.mostSeries, this.seriesCount + added.length);
    const splitBits = this.splitBitsOf(series);
    const layouts = layoutsOf(this.dictionary, series, splitBits);
    for (const union of growing) this.remove(union);
    const growths = Math.max(-1, ...growing.map((union) => union.growths)) + 1;
    this.put({ splitBits, seriesCount: series.length, growths, groups: [] }, layouts);
    return true;
  }

  private put(union: Union, layouts: readonly SeriesLayout[]): void {
    const { positions } = this.dictionary;
    for (const each of layouts) {
      const number = this.freeGroups.pop() ?? this.groups.length;
      this.groups[number] = { union, ...each };
      union.groups.push(number);
      const { series } = each;
      for (let column = 0; column < series.length; column++)
        positions[series[column]!] = positionOf(number, column);
    }
    this.unions.add(union);
    this.seriesCount += union.seriesCount;
    this.dictionary.use(this.bytesOf(union));
  }

  private remove(union: Union): void {
    this.dictionary.use(-this.bytesOf(union));
    this.unions.delete(union);
    this.seriesCount -= union.seriesCount;
    for (const number of union.groups) {
      this.groups[number] = undefined;
      this.freeGroups.push(number);
    }
  }

  /** Returns the approximate memory of a union, in bytes. */
  private bytesOf({ groups }: Union): number {
    return sumOf(groups, (number) => {
      const { layout, series } = this.groups[number]!;
      return GROUP_BYTES + layout.packed.length + series.byteLength;
    });
  }

  /** Drops all unions. */
  private forget(): void {
    const { positions } = this.dictionary;
    for (const union of this.unions) {
      for (const number of union.groups)
        for (const series of this.groups[number]!.series) positions[series] = NOWHERE;
      this.remove(union);
    }
  }

  /**
   * Divides a row's values among the groups of their series. The result is keyed by group number. Each series must be
   * in a union.
   */
  private gather(series: Int32Array, values: BigUint64Array): Map<number, PartialRow> {
    const { positions } = this.dictionary;
    const rows = new Map<number, PartialRow>();
    let last = -1;
    let row: PartialRow | undefined;
    for (let i = 0; i < series.length; i++) {
      const position = positions[series[i]!]!;
      const number = groupAt(position);
      if (number !== last) {
        last = number;
        row = rows.get(number);
        if (row === undefined) {
          row = new PartialRow(this.groups[number]!.layout.seriesCount, rows.size);
          rows.set(number, row);
        }
      }
      row!.set(columnAt(position), values[i]!);
    }
    return rows;
  }

  /** Divides a row into groups, in layouts that are made for this row alone. */
  private splitAlone(series: Int32Array, values: BigUint64Array): GroupRow[] {
    // If a series occurs twice, its last value counts.
    const bits = new Map<number, bigint>();
    for (let i = 0; i < series.length; i++) bits.set(series[i]!, values[i]!);
    const distinct = Int32Array.from(bits.keys());
    const splitBits = this.splitBitsOf(distinct);
    return layoutsOf(this.dictionary, distinct, splitBits).map(({ splitIndex, layout, series }) => {
      const own = BigUint64Array.from(series, (each) => bits.get(each)!);
      return { splitBits, splitIndex, layout, values: new Uint8Array(own.buffer) };
    });
  }

  private splitBitsOf(series: Int32Array): number {
    const keyBytes = sumOf(series, (each) => this.dictionary.keyBytesOf(each));
    return Math.max(splitBitsFor(series.length, keyBytes), splitBitsFor(this.mostSeries / CROWDED));
  }
}

function sumOf<T>(all: Iterable<T>, of: (each: T) => number): number {
  let sum = 0;
  for (const each of all) sum += of(each);
  return sum;
}
