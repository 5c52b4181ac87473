import { isPresent, presenceBytes } from '../codec';
import type { Id } from '../model/id';
import type { PackedLayout } from '../model/packed-layout';
import { splitBitsFor } from '../model/placement';
import { type Allowance, HOME_POLICY, type HomePolicy } from './home-policy';
import type { SeriesDictionary } from './series-dictionary';
import { layoutsOf, type SeriesLayout } from './series-layouts';
import type { SourceRow } from './series-source';

/** The values of a row that belong to one group. */
export interface GroupRow {
  readonly splitBits: number;
  readonly splitIndex: number;
  readonly layout: PackedLayout;
  readonly presence?: Uint8Array;
  readonly values: Uint8Array;
}

/**
 * A series' position is `group * COLUMNS + column + 1`, where `group` is the group's number in the home; 0
 * means that it is in no union.
 */
const COLUMN_BITS = 12;
const COLUMNS = 2 ** COLUMN_BITS;
/** Marks a series that is being added to a union. */
const ADDED = -1;

/** Approximate memory of a home, a union, and a group without its layout, in bytes. */
const HOME_BYTES = 250;
const UNION_BYTES = 200;
const GROUP_BYTES = 700;

interface Group extends SeriesLayout {
  readonly union: Union;
}

/** Series that come in the same rows, and share layouts. */
interface Union {
  readonly splitBits: number;
  readonly seriesCount: number;
  readonly keyBytes: number;
  readonly growths: number;
  /** Numbers of the union's groups in the home. */
  readonly groups: number[];
  /** Number of sparse rows minus the other rows, at least 0. */
  sparseRows: number;
}

type Size = Pick<Union, 'seriesCount' | 'keyBytes'>;
const NOTHING: Size = { seriesCount: 0, keyBytes: 0 };

/**
 * The place where series live: the groups of a source, or of a pool of sources. It divides their series into
 * unions of those that come in the same rows.
 *
 * Senders may cut their requests at any place, and a layout for each cut would cost more than the samples. So
 * a row is written in the layouts of its union, with a presence map unless the row has all series of the
 * layout. When a Prometheus distributes the series of a scrape over queues, each queue gets a union, because
 * its rows share no series with other queues. Its rows then need no presence map, except where a request ends
 * within a scrape. When any row may have any series, as in Telegraf's batches, all series are in one union
 * after a few requests. A row with series of two unions merges them.
 *
 * When rows have become sparse, for example because a Prometheus has more queues than before, the unions
 * start again.
 *
 * Instances of post need not agree on unions, and unions are stored nowhere: an instance that knows fewer
 * series writes smaller layouts.
 */
export class Home {
  private readonly groups: (Group | undefined)[] = [];
  private readonly freeGroups: number[] = [];
  private readonly unions = new Set<Union>();
  private total = NOTHING;
  private isGivenUp = false;
  private maxSeries: number;
  /** Number of sparse rows after which the unions start again. */
  private maxSparseRows: number;
  private largestRow = 0;
  /** Timestamp of the first row since the unions last started. */
  private beganMs: number | undefined;

  /** @param id the source's or pool's id, from which the groups' ids are derived */
  constructor(
    private readonly dictionary: SeriesDictionary,
    readonly id: Id,
    private readonly policy: HomePolicy = HOME_POLICY,
  ) {
    this.maxSeries = policy.union.series;
    this.maxSparseRows = policy.sparse.rows;
    dictionary.use(HOME_BYTES);
  }

  /**
   * Divides a row into the groups of its series' unions, after adding its new series to them; or, if that
   * fails, into groups of its own.
   */
  split({ timestamp, series, values }: SourceRow, allowance: Allowance): GroupRow[] {
    this.beganMs ??= timestamp;
    if (timestamp > this.beganMs + this.policy.unionMs) {
      this.forget();
      this.isGivenUp = false;
      this.beganMs = timestamp;
    }
    return this.splitByUnions(series, values, allowance) ?? this.splitAlone(series, values);
  }

  /**
   * @returns undefined when the row must have layouts of its own: because the allowance is used up, and the
   *   row is a small part of its unions or has new series; or because the home is too large
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

  /**
   * Puts a row's values into its series' groups, by the group's number. @returns undefined when a series is
   * in no union
   */
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

  private finish(
    rows: ReadonlyMap<number, PartialRow>,
    unions: ReadonlySet<Union>,
    samples: number,
    allowance: Allowance,
  ): GroupRow[] | undefined {
    let seriesCount = 0;
    for (const union of unions) seriesCount += union.seriesCount;
    if (samples < this.policy.request.smallShare * seriesCount) {
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
   * Merges the unions of a row's series, and adds the row's new series. Unions that have grown too often, or
   * would become too large, are left as they are.
   *
   * @returns false when the allowance is used up, or there are too many unions
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
        // Mark the series, because a row may contain it twice.
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
   * Merges unions, and series that are in no union, into one union.
   *
   * @returns false when the allowance is used up, or there are too many unions
   */
  private unite(together: ReadonlySet<Union>, added: Int32Array, allowance: Allowance): boolean {
    const { union: bounds, home: most, crowded } = this.policy;
    const growing = [...together].filter(({ growths }) => growths < bounds.growths);
    if (growing.length + added.length === 0 || (growing.length === 1 && added.length === 0)) return true;
    const old = growing.reduce(sumOf, NOTHING);
    const ofAdded = this.sizeOf(added);
    const size = sumOf(old, ofAdded);
    if (growing.length > 0 && (size.seriesCount > this.maxSeries || size.keyBytes > bounds.keyBytes))
      return added.length === 0 || this.unite(new Set(), added, allowance);
    if (old.seriesCount > allowance.series) return false;
    allowance.series -= old.seriesCount;
    const series = growing.length === 0 ? added : this.seriesWith(growing, added);
    const alone = splitBitsFor(size.seriesCount, size.keyBytes);
    const all = sumOf(this.total, ofAdded);
    const ofAll = splitBitsFor(all.seriesCount / crowded.series, all.keyBytes / crowded.keyBytes);
    const splitBits = Math.max(alone, Math.min(ofAll, alone + crowded.bits));
    const layouts = layoutsOf(this.dictionary, series, splitBits);
    const isLarge =
      this.unions.size - growing.length === most.unions || this.groups.length + layouts.length > most.groups;
    if (isLarge) {
      this.forget();
      this.isGivenUp = true;
      return false;
    }
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

  private forget(): void {
    const { positions } = this.dictionary;
    for (const union of this.unions) {
      for (const number of union.groups)
        for (const series of this.groups[number]!.series) positions[series] = 0;
      this.remove(union);
    }
  }

  /** Counts sparse rows, and starts the unions again when there are too many. */
  private watch(unions: ReadonlySet<Union>, samples: number): void {
    const { sparse, union: bounds } = this.policy;
    if (samples > this.largestRow) this.largestRow = samples;
    const [union, ...others] = unions;
    if (union === undefined || others.length > 0) return;
    if (samples >= sparse.share * union.seriesCount) {
      if (union.sparseRows > 0) union.sparseRows--;
      return;
    }
    if (++union.sparseRows < this.maxSparseRows) return;
    this.maxSparseRows *= sparse.patience;
    this.maxSeries = Math.min(bounds.series, Math.max(sparse.series, sparse.rowsAUnion * this.largestRow));
    this.largestRow = 0;
    this.forget();
  }

  /** Divides a row into groups whose layouts it shares with no other row. */
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

/** Gathers the values of a row that go into one group. */
class PartialRow {
  private readonly presence: Uint8Array;
  /** Values by column. The buffer is reused: columns that are not present contain values of earlier rows. */
  private readonly bits: BigUint64Array;
  /** Number of columns that are present. */
  private count = 0;

  /** @param nth index among the partial rows that are in use at the same time; each has its own buffer */
  constructor(
    private readonly columns: number,
    nth: number,
  ) {
    this.presence = new Uint8Array(presenceBytes(columns));
    this.bits = roomFor(nth, columns);
  }

  /** If a series occurs twice, its last value counts. */
  set(column: number, bits: bigint): void {
    this.bits[column] = bits;
    const at = column >> 3;
    const before = this.presence[at]!;
    const after = before | (1 << (column & 7));
    if (after === before) return;
    this.presence[at] = after;
    this.count++;
  }

  finish(): Pick<GroupRow, 'presence' | 'values'> {
    const { bits, presence, columns, count } = this;
    const isWhole = count === columns;
    if (!isWhole)
      for (let column = 0, at = 0; at < count; column++)
        if (isPresent(presence, column)) bits[at++] = bits[column]!;
    // Lambda's processors are little-endian, and so are records.
    const values = new Uint8Array(bits.slice(0, count).buffer);
    return isWhole ? { values } : { presence, values };
  }
}

/**
 * Reused buffer for a row's new series, since a new array for each row would be as much garbage as its
 * values.
 */
let addedRoom = new Int32Array(1024);

/**
 * Reused buffers for a row's values by column, one for each of its groups. New buffers for rows with few
 * values would take megabytes.
 */
const room: BigUint64Array[] = [];

function roomFor(nth: number, columns: number): BigUint64Array {
  let bits = room[nth];
  if (bits === undefined || bits.length < columns) {
    bits = new BigUint64Array(columns);
    room[nth] = bits;
  }
  return bits;
}
