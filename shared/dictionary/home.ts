import type { Id } from '../model/id';
import type { PackedLayout } from '../model/packed-layout';
import { splitBitsFor } from '../model/placement';
import { PartialRow } from './partial-row';
import type { SeriesDictionary } from './series-dictionary';
import { layoutsOf, type SeriesLayout } from './series-layouts';
import type { SourceRow } from './series-source';

/** The part of a row that belongs to one group of a home. The fields are those of a record's frame. */
export interface GroupRow {
  readonly splitBits: number;
  readonly splitIndex: number;
  readonly layout: PackedLayout;
  readonly presence?: Uint8Array;
  readonly values: Uint8Array;
}

/**
 * The position of a series is `group * COLUMNS + column + 1`, with the group's number in the home and the
 * series' column in the group's layout. It is 0 if the series is in no union.
 */
const COLUMN_BITS = 12;
const COLUMNS = 2 ** COLUMN_BITS;
/** Position of a series that is being added to a union. */
const ADDED = -1;

// Approximate memory of a home, a union and a group in bytes, each without its unions, groups or layout.
const HOME_BYTES = 250;
const UNION_BYTES = 200;
const GROUP_BYTES = 700;

// Bounds of one union. Growing it makes new layouts of all its series.
const MAX_UNION_SERIES = 16_384;
const MAX_UNION_KEY_BYTES = 2_000_000;
const MAX_GROWTHS = 64;
/** Most unions of a home. Their groups, at most some 128 each, have positions that fit into 31 bits. */
const MAX_UNIONS = 2_048;
/**
 * How much sample time may pass until a home drops all unions and starts again, ms. Series that are no longer
 * sent then disappear from the unions. Starting again costs a new layout for each source.
 */
export const UNION_MS = 6 * 3_600_000;
/**
 * A row is sparse if it has less than this share of its union's series. If four queues of a Prometheus shared
 * one union, each row would have a quarter.
 */
const SPARSE_SHARE = 0.4;
/**
 * A home starts again once a union has had this many more sparse rows than other rows. It does not at the
 * first one, since a sender may change its series gradually. Each start multiplies the number by {@link
 * PATIENCE}, so that a sender of small random rows does not cause starts for ever.
 */
const SPARSE_ROWS = 16;
const PATIENCE = 4;
/** Series that a union may always have after such a start, however small the rows were. */
const LEAST_UNION_SERIES = 1_024;
/**
 * Groups are crowded if they have on average this many times what `splitBitsFor` allows in one. New unions then
 * have one more split bit. Else many queues of one target could put tens of thousands of series into a group.
 */
const CROWDED = 4;
/** A row with less than this share of its unions' series is small: see {@link Allowance.bytes}. */
const SMALL_SHARE = 1 / 4;

/** What one request may still cause. Its rows use it up. */
export interface Allowance {
  /**
   * Bytes that the layouts of small rows may take in the records. Without this bound, a hostile request could
   * cause megabytes of layouts with a few samples.
   */
  bytes: number;
  /**
   * Series that may be encoded again, in unions that grow. Without this bound, 900 lines of 16 hosts with 300
   * new fields each took 30 s.
   */
  series: number;
}

/** Returns the whole allowance of a request. */
export function allowanceOfRequest(): Allowance {
  return { bytes: 1_000_000, series: 100_000 };
}

/** A group of the home, with the layout that one union has in it. */
interface Group extends SeriesLayout {
  readonly union: Union;
}

/** A set of series that come in the same rows, and share layouts. */
interface Union {
  readonly splitBits: number;
  readonly seriesCount: number;
  /** Bytes of the label keys of its series. */
  readonly keyBytes: number;
  /** How often it has grown. */
  readonly growths: number;
  /** The numbers of its groups in the home. */
  readonly groups: number[];
  /** Number of sparse rows less the number of other rows, at least 0: see {@link SPARSE_ROWS}. */
  sparseRows: number;
}

type Size = Pick<Union, 'seriesCount' | 'keyBytes'>;
const NOTHING: Size = { seriesCount: 0, keyBytes: 0 };

/**
 * The home of series: the groups of a source, or of a pool of sources. It divides the series into unions, and
 * so chooses the layouts in which rows are written. A union is a set of series that come in the same rows.
 *
 * Senders may cut their requests at any place, and a layout for each cut would cost more than the samples. So
 * a row is written in the layouts of its union, with a presence map unless it has all of their series. If a
 * row has series of two unions, they become one. If a Prometheus distributes the series of a scrape over
 * queues, each queue gets a union, because its rows share no series with other queues. If any row may have
 * any series, as in Telegraf's batches, all series are in one union after a few requests.
 *
 * If rows have become sparse, for example because a Prometheus has more queues than before, the home drops
 * its unions and starts again. Instances of post need not agree on unions, and no store has them: an instance
 * that knows fewer series writes smaller layouts.
 */
export class Home {
  /** Groups by number; undefined if the number is free. */
  private readonly groups: (Group | undefined)[] = [];
  private readonly freeGroups: number[] = [];
  private readonly unions = new Set<Union>();
  /** The size of all unions together. */
  private total = NOTHING;
  /** Whether the home has exceeded its bounds, so that rows have layouts of their own. */
  private isGivenUp = false;
  /** Most series of a union. */
  private maxSeries = MAX_UNION_SERIES;
  /** Number of sparse rows at which the home starts again: see {@link SPARSE_ROWS}. */
  private maxSparseRows = SPARSE_ROWS;
  /** Number of samples in the largest row since the home last started again. */
  private largestRow = 0;
  /** Timestamp of the first row since the home last started again, ms. */
  private beganMs: number | undefined;

  /** @param id id of the source or pool, from which the ids of its groups are derived */
  constructor(
    private readonly dictionary: SeriesDictionary,
    readonly id: Id,
  ) {
    dictionary.use(HOME_BYTES);
  }

  /**
   * Divides a row into the groups of its series' unions or, if that is not allowed, into groups of its own.
   */
  split({ timestamp, series, values }: SourceRow, allowance: Allowance): GroupRow[] {
    this.beganMs ??= timestamp;
    if (timestamp > this.beganMs + UNION_MS) {
      this.forget();
      this.isGivenUp = false;
      this.beganMs = timestamp;
    }
    return this.splitByUnions(series, values, allowance) ?? this.splitAlone(series, values);
  }

  /**
   * Divides a row into the groups of its series' unions, after adding new series to them.
   *
   * @returns undefined if that is not allowed: the home has exceeded its bounds, or the allowance is used up
   */
  private splitByUnions(
    series: Int32Array,
    values: BigUint64Array,
    allowance: Allowance,
  ): GroupRow[] | undefined {
    if (this.isGivenUp) return undefined;
    let rows = this.gather(series, values);
    let unions = rows === undefined ? undefined : this.unionsOf(rows);
    if (unions === undefined || unions.size > 1) {
      if (!this.learn(series, allowance)) return undefined;
      rows = this.gather(series, values)!;
      unions = this.unionsOf(rows);
    }
    const finished = this.finish(rows!, unions, series.length, allowance);
    this.watch(unions, series.length);
    return finished;
  }

  /** Divides a row's values by the number of their series' group. Undefined if a series is in no union. */
  private gather(series: Int32Array, values: BigUint64Array): Map<number, PartialRow> | undefined {
    const { positions } = this.dictionary;
    const rows = new Map<number, PartialRow>();
    let last = -1;
    let row: PartialRow | undefined;
    for (let i = 0; i < series.length; i++) {
      const position = positions[series[i]!]! - 1;
      if (position === -1) return undefined;
      const number = position >> COLUMN_BITS;
      if (number !== last) {
        last = number;
        row = rows.get(number);
        if (row === undefined) {
          row = new PartialRow(this.groups[number]!.layout.seriesCount, rows.size);
          rows.set(number, row);
        }
      }
      row!.set(position & (COLUMNS - 1), values[i]!);
    }
    return rows;
  }

  private unionsOf(rows: ReadonlyMap<number, unknown>): Set<Union> {
    const unions = new Set<Union>();
    for (const number of rows.keys()) unions.add(this.groups[number]!.union);
    return unions;
  }

  /** Makes the groups' rows. Returns undefined if the row is small and the allowance is used up. */
  private finish(
    rows: ReadonlyMap<number, PartialRow>,
    unions: ReadonlySet<Union>,
    samples: number,
    allowance: Allowance,
  ): GroupRow[] | undefined {
    let seriesCount = 0;
    for (const union of unions) seriesCount += union.seriesCount;
    if (samples < SMALL_SHARE * seriesCount) {
      let bytes = 0;
      for (const number of rows.keys()) bytes += this.groups[number]!.layout.packed.length;
      if (bytes > allowance.bytes) return undefined;
      allowance.bytes -= bytes;
    }
    return Array.from(rows, ([number, row]) => {
      const { union, splitIndex, layout } = this.groups[number]!;
      return { splitBits: union.splitBits, splitIndex, layout, ...row.finish() };
    });
  }

  /**
   * Merges the unions of a row's series, and adds the new series of the row. Leaves unions as they are that
   * have grown too often, or would become too large.
   *
   * @returns false if the allowance is used up, or the home would exceed its bounds
   */
  private learn(series: Int32Array, allowance: Allowance): boolean {
    const { positions } = this.dictionary;
    if (addedRoom.length < series.length) addedRoom = new Int32Array(2 * series.length);
    let count = 0;
    const together = new Set<Union>();
    for (let i = 0; i < series.length; i++) {
      const each = series[i]!;
      const position = positions[each]!;
      if (position === 0) {
        // Mark the series, because the row may have it twice.
        positions[each] = ADDED;
        addedRoom[count++] = each;
      } else if (position !== ADDED) together.add(this.groups[(position - 1) >> COLUMN_BITS]!.union);
    }
    const added = addedRoom.subarray(0, count);
    if (this.unite(together, added, allowance)) return true;
    for (const each of added) positions[each] = 0;
    return false;
  }

  /**
   * Makes one union of several unions and of `added`, series that are in no union.
   *
   * @returns false if the allowance is used up, or the home would exceed its bounds
   */
  private unite(together: ReadonlySet<Union>, added: Int32Array, allowance: Allowance): boolean {
    const growing = [...together].filter(({ growths }) => growths < MAX_GROWTHS);
    if (growing.length + added.length === 0 || (growing.length === 1 && added.length === 0)) return true;
    const old = growing.reduce(sumOf, NOTHING);
    const ofAdded = this.sizeOf(added);
    const size = sumOf(old, ofAdded);
    if (growing.length > 0 && (size.seriesCount > this.maxSeries || size.keyBytes > MAX_UNION_KEY_BYTES))
      return added.length === 0 || this.unite(new Set(), added, allowance);
    if (old.seriesCount > allowance.series) return false;
    allowance.series -= old.seriesCount;
    const series = growing.length === 0 ? added : this.seriesWith(growing, added);
    const alone = splitBitsFor(size.seriesCount, size.keyBytes);
    const all = sumOf(this.total, ofAdded);
    const isCrowded = splitBitsFor(all.seriesCount / CROWDED, all.keyBytes / CROWDED) > alone;
    if (this.unions.size - growing.length === MAX_UNIONS) {
      this.forget();
      this.isGivenUp = true;
      return false;
    }
    const splitBits = isCrowded ? alone + 1 : alone;
    const layouts = layoutsOf(this.dictionary, series, splitBits);
    for (const union of growing) this.remove(union);
    const growths = 1 + Math.max(-1, ...growing.map((union) => union.growths));
    this.put({ splitBits, ...size, growths, groups: [], sparseRows: 0 }, layouts);
    return true;
  }

  private sizeOf(series: ArrayLike<number>): Size {
    let keyBytes = 0;
    for (let i = 0; i < series.length; i++) keyBytes += this.dictionary.keyBytesOf(series[i]!);
    return { seriesCount: series.length, keyBytes };
  }

  private seriesWith(unions: readonly Union[], added: Int32Array): Int32Array {
    const parts = unions.flatMap(({ groups }) => groups.map((number) => this.groups[number]!.series));
    return Int32Array.from([...parts, added].flatMap((part) => [...part]));
  }

  private put(union: Union, layouts: readonly SeriesLayout[]): void {
    const { positions } = this.dictionary;
    for (const each of layouts) {
      const number = this.freeGroups.pop() ?? this.groups.length;
      this.groups[number] = { union, ...each };
      union.groups.push(number);
      const { series } = each;
      for (let column = 0; column < series.length; column++)
        positions[series[column]!] = number * COLUMNS + column + 1;
    }
    this.unions.add(union);
    this.total = sumOf(this.total, union);
    this.dictionary.use(this.bytesOf(union));
  }

  private remove(union: Union): void {
    this.dictionary.use(-this.bytesOf(union));
    const { seriesCount, keyBytes } = this.total;
    this.total = { seriesCount: seriesCount - union.seriesCount, keyBytes: keyBytes - union.keyBytes };
    this.unions.delete(union);
    for (const number of union.groups) {
      this.groups[number] = undefined;
      this.freeGroups.push(number);
    }
  }

  /** Returns the approximate memory of a union, in bytes. */
  private bytesOf({ groups }: Union): number {
    let bytes = UNION_BYTES;
    for (const number of groups) {
      const { layout, series } = this.groups[number]!;
      bytes += GROUP_BYTES + layout.packed.length + series.byteLength;
    }
    return bytes;
  }

  /** Drops all unions. */
  private forget(): void {
    const { positions } = this.dictionary;
    for (const union of this.unions) {
      for (const number of union.groups)
        for (const series of this.groups[number]!.series) positions[series] = 0;
      this.remove(union);
    }
  }

  /** Counts sparse rows, and starts again without unions if there are too many. */
  private watch(unions: ReadonlySet<Union>, samples: number): void {
    if (samples > this.largestRow) this.largestRow = samples;
    const [union, ...others] = unions;
    if (union === undefined || others.length > 0) return;
    if (samples >= SPARSE_SHARE * union.seriesCount) {
      if (union.sparseRows > 0) union.sparseRows--;
      return;
    }
    if (++union.sparseRows < this.maxSparseRows) return;
    this.maxSparseRows *= PATIENCE;
    // The largest row so far would be just large enough for a union of this size.
    const most = Math.max(LEAST_UNION_SERIES, this.largestRow / SPARSE_SHARE);
    this.maxSeries = Math.min(MAX_UNION_SERIES, most);
    this.largestRow = 0;
    this.forget();
  }

  /** Divides a row into groups, in layouts that are made for this row alone. */
  private splitAlone(series: Int32Array, values: BigUint64Array): GroupRow[] {
    // If a series occurs twice, its last value counts.
    const bits = new Map<number, bigint>();
    for (let i = 0; i < series.length; i++) bits.set(series[i]!, values[i]!);
    const distinct = Int32Array.from(bits.keys());
    const { keyBytes } = this.sizeOf(distinct);
    const splitBits = splitBitsFor(distinct.length, keyBytes);
    return layoutsOf(this.dictionary, distinct, splitBits).map(({ splitIndex, layout, series }) => {
      const own = BigUint64Array.from(series, (each) => bits.get(each)!);
      return { splitBits, splitIndex, layout, values: new Uint8Array(own.buffer) };
    });
  }
}

function sumOf(a: Size, b: Size): Size {
  return { seriesCount: a.seriesCount + b.seriesCount, keyBytes: a.keyBytes + b.keyBytes };
}

/** Reused buffer for a row's new series. New arrays would be as much garbage as the values of rows. */
let addedRoom = new Int32Array(1024);
