import { isPresent, presenceBytes } from '../codec';
import { BoundedCache } from '../model/bounded-cache';
import { HashSet } from '../model/hash-set';
import { compareLabels, type Labels, labelsKey, labelsOf, METRIC_NAME } from '../model/labels';
import { type HashedLabels, hashedLabels, keyBytesOf } from '../model/labels-hash';
import { fitsRow, labelsInLayout, type PackedLayout, packSeries, unpackLayout } from '../model/layout';
import { splitBitsFor, splitIndexOf } from '../model/placement';
import type { Columns, ColumnsKey, ColumnsPart, SeriesList } from '../protocol/protocol';

/** The values of a row that go into one group. */
export interface GroupRow {
  readonly splitBits: number;
  readonly splitIndex: number;
  readonly layout: PackedLayout;
  readonly presence?: Uint8Array;
  readonly values: Uint8Array;
}

/** What the unions of one request may cost. */
export interface Allowance {
  /** Bytes of layouts that rows may bear although they have less than {@link MIN_FRACTION} of the series. */
  bytes: number;
  /** Series of unions that are looked up, and encoded, where rows have new ones. */
  series: number;
}

const MIN_FRACTION = 1 / 4;
/** Of a union. */
const MAX_SERIES = 16_384;
const MAX_LABEL_BYTES = 2_000_000;
/** A union whose source's names go on changing is left as it is: growing costs as much as the union is large. */
const MAX_GROWTHS = 64;
/** Of a source; one with more has layouts of its own for each row. */
const MAX_UNIONS = 2_048;
/** A list's other series are looked up too if it has at most so many times those of the row. */
const MAX_LOOKED_UP = 8;
/** Lists whose places are kept. */
const MAX_LISTS = 256;

/** A union is too large for the rows of its source when so many of them more had less than this part of it than had more. */
const SPARSE_ROWS = 16;
const SPARSE_FRACTION = 0.4;
/** Each time the unions of a source were too large, so many times more rows decide. */
const PATIENCE = 4;
/** Unions that begin anew hold at most so many times the largest row, but {@link MIN_MAX_SERIES}. */
const ROWS_A_UNION = 2.5;
const MIN_MAX_SERIES = 1_024;

/** Series of a group, and bytes of their labels, on average, times those that {@link splitBitsFor} allows: of all its unions. */
const CROWDING = { series: 4, labelBytes: 2 };
/** A crowded source's unions are split into at most 2 to the power of this times as many groups as each needs by itself. */
const MAX_CROWDED_BITS = 1;

/** Of the row that a source had first. */
export interface FirstGroup {
  readonly splitBits: number;
  readonly splitIndex: number;
  readonly layout: PackedLayout;
}

type UnionGroup = Omit<FirstGroup, 'splitBits'>;

/**
 * Series that come together, and the layouts of their groups.
 *
 * Its place in the source's list of unions, the index of a group and the column in the group's layout are a series' place.
 */
interface Union {
  readonly splitBits: number;
  readonly groups: readonly UnionGroup[];
  readonly seriesCount: number;
  readonly labelBytes: number;
  /** Each series' hash, in the order of places. */
  readonly hashes: Float64Array;
  readonly growths: number;
  /** Rows that had little of it, less those that had more. */
  sparseRows: number;
}

/** The place of a series is the union's index times this, the group's times {@link COLUMNS}, the column, and 1. 0: in no union. */
const PLACES = 2 ** 20;
const COLUMNS = 4_096;

/** The place of each series by its key. Made of the layouts again when it is needed and gone. */
const keyedPlaces = new BoundedCache<ReadonlyMap<string, number>>(32_000_000, (places) => 400 * places.size);
/** The hashes of all series of a source's unions, made of theirs again when they are needed and gone. */
const hashSets = new BoundedCache<HashSet>(24_000_000, (hashes) => 100 + hashes.bytes);
let made = 0;

/**
 * Every series that an instance of post has seen of a source: series that come in one row are in one union, and share layouts.
 *
 * Senders cut their requests anywhere, and a layout for each cut would cost more than the samples. A row is written in its
 * union's layouts, with a presence map unless it has all of their series. Where a Prometheus deals the series of a scrape out
 * to queues, each queue's rows have series that no other has, so each has a union and needs no presence map, except where a
 * request ends within a scrape. Where any row may have any series (Telegraf's batches), all are in one union after a few requests.
 * A row that has series of two unions makes one of them.
 *
 * If rows come to have little of their union, as when a Prometheus has more queues than before, the unions begin anew.
 *
 * Nothing here needs to be agreed on or kept: an instance that knows less writes smaller layouts. It holds no names: those
 * are in the packed layouts.
 */
export class SourceUnions {
  private readonly id = (made++).toString();
  /** Undefined where a union was that became part of another. */
  private unions: (Union | undefined)[] = [];
  /** Places by list and index. */
  private readonly lists = new Map<SeriesList['id'], Uint32Array>();
  private listBytes = 0;
  private unionBytes = 0;
  private isGivenUp = false;
  private maxSeries = MAX_SERIES;
  private sparseRows = SPARSE_ROWS;
  private largestRow = 0;

  /**
   * @param first the groups of the source's first row; none where it had none
   * @param madeAtMs timestamp of the row at hand
   */
  constructor(
    first: readonly FirstGroup[],
    readonly madeAtMs: number,
  ) {
    // Where a group had names for several layouts, the source is large, and finds that out again.
    const isWhole = new Set(first.map(({ splitIndex }) => splitIndex)).size === first.length;
    if (first.length === 0 || !isWhole) return;
    const groups = first.map(({ splitIndex, layout }) => ({ splitIndex, layout }));
    const series = groups.flatMap(({ layout }) => labelsOfLayout(layout).map(hashedLabels));
    const { splitBits } = first[0]!;
    this.put(0, {
      splitBits,
      groups,
      ...sizeOf(series),
      hashes: Float64Array.from(series, ({ hash }) => hash),
      growths: 0,
      sparseRows: 0,
    });
  }

  /** Memory, about. */
  get bytes(): number {
    return 500 + this.listBytes + this.unionBytes;
  }

  /**
   * Splits a row into the groups of its series' unions, to which its new series are added.
   *
   * @returns undefined when the row is to have layouts of its own: the allowance is used up, and the row is a small part of
   *   its unions or has new series; or the source is large
   */
  split(columns: Columns, values: BigUint64Array, allowance: Allowance): GroupRow[] | undefined {
    if (this.isGivenUp) return undefined;
    const parts = columns.parts ?? [wholeOf(columns.key, columns, values.length)];
    let touched = this.touchedBy(parts);
    if (touched === undefined || touched.length > 1) {
      if (!this.learn(parts, touched ?? [], allowance)) return undefined;
      touched = this.touchedBy(parts)!;
    }
    const rows = this.rowsOf(parts, values, touched, allowance);
    this.watch(touched, values.length);
    return rows;
  }

  /** The indexes of the unions that have the parts' series; undefined when one is in none. */
  private touchedBy(parts: readonly ColumnsPart[]): number[] | undefined {
    const touched: number[] = [];
    let last = -1;
    for (const { list, count, indexes } of parts) {
      const places = this.lists.get(list.id);
      if (places === undefined) return undefined;
      for (let i = 0; i < count; i++) {
        const place = places[indexes === undefined ? i : indexes[i]!];
        if (!place) return undefined;
        const union = Math.floor((place - 1) / PLACES);
        if (union === last) continue;
        last = union;
        if (!touched.includes(union)) touched.push(union);
      }
    }
    return touched;
  }

  /**
   * Finds the places of the parts' series; those that are in no union are added, and the unions that the row has series of
   * become one, as far as that may be.
   *
   * @returns false when the allowance is used up, or there are too many unions
   */
  private learn(parts: readonly ColumnsPart[], touched: readonly number[], allowance: Allowance): boolean {
    if (this.lists.size > MAX_LISTS && touched.length === 0) this.forgetLists();
    const added = touched.length === 0 ? this.findPlaces(parts, allowance) : [];
    if (added === undefined) return false;
    const together = new Set(touched);
    for (const { list, count, indexes } of parts) {
      const places = this.lists.get(list.id)!;
      for (let i = 0; i < count; i++) {
        const place = places[indexes === undefined ? i : indexes[i]!]!;
        if (place > 0) together.add(Math.floor((place - 1) / PLACES));
      }
    }
    return this.unite(together, added, allowance);
  }

  /** @returns the parts' series that are in no union; undefined when the allowance is used up */
  private findPlaces(parts: readonly ColumnsPart[], allowance: Allowance): UnplacedSeries[] | undefined {
    const unplaced: UnplacedSeries[] = [];
    const hashes = this.hashes();
    const ofRow = new HashSet(parts[0]!.count);
    let areNew = true;
    for (const { list, count, indexes } of parts) {
      const places = this.placesOf(list);
      const present = new Set<number>();
      for (let i = 0; i < count; i++) {
        const index = indexes === undefined ? i : indexes[i]!;
        if (places[index] === 0) present.add(index);
      }
      if (present.size === 0) continue;
      const unknown = [...present];
      // All of a short list's, since later rows have others.
      if (places.length <= MAX_LOOKED_UP * present.size)
        for (let index = 0; index < places.length; index++)
          if (places[index] === 0 && !present.has(index)) unknown.push(index);
      const series = hashedAt(list, unknown);
      for (let i = 0; i < unknown.length; i++) {
        const { labels, hash, keyBytes } = series[i]!;
        if (hashes.has(hash) || !ofRow.add(hash)) areNew = false;
        const isPresent = i < present.size;
        unplaced.push({
          labels,
          hash,
          keyBytes,
          isPresent,
          places,
          index: unknown[i]!,
          same: undefined,
        });
      }
    }
    if (areNew) return unplaced.filter(({ isPresent }) => isPresent);
    return this.withoutKnown(distinct(unplaced), allowance);
  }

  /** Places the series that are in a union. @returns those of the row that are in none */
  private withoutKnown(
    unplaced: ReadonlyMap<string, UnplacedSeries>,
    allowance: Allowance,
  ): UnplacedSeries[] | undefined {
    let known = keyedPlaces.get(this.id);
    if (known === undefined) {
      const { size } = this.hashes();
      if (size > allowance.series) return undefined;
      allowance.series -= size;
      known = new Map(
        this.unions.flatMap((union, index) => (union === undefined ? [] : placesIn(union, index))),
      );
      keyedPlaces.set(this.id, known);
    }
    const added: UnplacedSeries[] = [];
    for (const [key, series] of unplaced) {
      const place = known.get(key);
      if (place !== undefined) placeIn(series, place);
      else if (series.isPresent) added.push(series);
    }
    return added;
  }

  private hashes(): HashSet {
    let hashes = hashSets.get(this.id);
    if (hashes === undefined) {
      hashes = new HashSet(total(this.unions.filter((union) => union !== undefined)).seriesCount);
      for (const union of this.unions)
        if (union !== undefined) for (const each of union.hashes) hashes.add(each);
      hashSets.set(this.id, hashes);
    }
    return hashes;
  }

  /** The places of a list's series, as many as it has by now. */
  private placesOf({ id, count }: SeriesList): Uint32Array {
    const known = this.lists.get(id);
    if (known !== undefined && known.length >= count) return known;
    const places = new Uint32Array(count);
    if (known !== undefined) places.set(known);
    this.lists.set(id, places);
    this.listBytes +=
      known === undefined ? 200 + idBytes(id) + places.byteLength : places.byteLength - known.byteLength;
    return places;
  }

  /**
   * Makes one union of some and of series that are in none.
   *
   * @returns false when the allowance is used up, or there are too many unions
   */
  private unite(
    together: ReadonlySet<number>,
    added: readonly UnplacedSeries[],
    allowance: Allowance,
  ): boolean {
    const growing = [...together].filter((index) => this.unions[index]!.growths < MAX_GROWTHS);
    const isOne = growing.length === 1 && added.length === 0;
    if (isOne || growing.length + added.length === 0) return true;
    const old = growing.map((index) => this.unions[index]!);
    const { seriesCount, labelBytes } = total([sizeOf(added), ...old]);
    const maxSeries = old.length === 0 ? MAX_SERIES : this.maxSeries;
    const isTooLarge = seriesCount > maxSeries || labelBytes > MAX_LABEL_BYTES;
    if (isTooLarge && old.length > 0) return added.length === 0 || this.unite(new Set(), added, allowance);
    if (seriesCount > allowance.series) return false;
    allowance.series -= seriesCount;
    const slot = growing[0] ?? this.freeSlot();
    if (isTooLarge || slot === undefined) {
      this.giveUp();
      return false;
    }
    const before = growing.flatMap((index) => seriesOfUnion(this.unions[index]!, index));
    const series = inOrder([...before, ...added]);
    const growths = 1 + Math.max(-1, ...old.map((union) => union.growths));
    const split = this.groupsOf(series, labelBytes);
    if (split === undefined) {
      this.giveUp();
      return false;
    }
    for (const index of growing) this.remove(index);
    this.put(slot, {
      splitBits: split.splitBits,
      groups: split.groups.map(({ splitIndex, own }) => ({
        splitIndex,
        layout: packSeries(own),
      })),
      ...{ seriesCount, labelBytes, growths, sparseRows: 0 },
      hashes: Float64Array.from(
        split.groups.flatMap(({ own }) => own),
        ({ hash }) => hash,
      ),
    });
    this.place(
      slot,
      split.groups.map(({ own }) => own),
    );
    const hashes = this.hashes();
    for (const { hash } of added) hashes.add(hash);
    // Again, for its size has changed.
    hashSets.set(this.id, hashes);
    keyedPlaces.delete(this.id);
    return true;
  }

  /** Writes down the places of a new union's series, those that they had in others too. */
  private place(slot: number, groups: readonly (readonly SeriesOfUnion[])[]): void {
    const moved = new Map<number, number>();
    const added: UnplacedSeries[] = [];
    const places: number[] = [];
    for (let group = 0; group < groups.length; group++) {
      const own = groups[group]!;
      for (let column = 0; column < own.length; column++) {
        const series = own[column]!;
        const place = placeOf(slot, group, column);
        if ('place' in series) moved.set(series.place, place);
        else {
          added.push(series);
          places.push(place);
        }
      }
    }
    if (moved.size > 0)
      for (const list of this.lists.values())
        for (let i = 0; i < list.length; i++) list[i] = moved.get(list[i]!) ?? list[i]!;
    // Afterwards: a new place may be one that another series had.
    for (let i = 0; i < added.length; i++) placeIn(added[i]!, places[i]!);
  }

  private freeSlot(): number | undefined {
    const free = this.unions.indexOf(undefined);
    if (free !== -1) return free;
    return this.unions.length === MAX_UNIONS ? undefined : this.unions.push(undefined) - 1;
  }

  /** Splits a union's series, ordered, into groups. @returns undefined when a group has more than a layout may have */
  private groupsOf(series: readonly SeriesOfUnion[], labelBytes: number) {
    const all = total(this.unions.filter((union) => union !== undefined));
    const alone = splitBitsFor(series.length, labelBytes);
    const crowded = splitBitsFor(all.seriesCount / CROWDING.series, all.labelBytes / CROWDING.labelBytes);
    const splitBits = Math.max(alone, Math.min(crowded, alone + MAX_CROWDED_BITS));
    const bySplit: Map<number, readonly SeriesOfUnion[]> =
      splitBits === 0
        ? new Map([[0, series]])
        : Map.groupBy(series, ({ labels }) => splitIndexOf(labelsKey(labels), splitBits));
    const groups = Array.from(bySplit, ([splitIndex, own]) => ({ splitIndex, own }));
    const areSmall = groups.every(({ own }) => fitsRow(own.length, sizeOf(own).labelBytes));
    return areSmall ? { splitBits, groups } : undefined;
  }

  private put(index: number, union: Union): void {
    this.unions[index] = union;
    this.unionBytes += bytesOf(union);
  }

  private remove(index: number): void {
    this.unionBytes -= bytesOf(this.unions[index]!);
    this.unions[index] = undefined;
  }

  private giveUp(): void {
    this.isGivenUp = true;
    this.forget();
  }

  private forget(): void {
    this.unions = [];
    this.unionBytes = 0;
    this.forgetLists();
    keyedPlaces.delete(this.id);
    hashSets.delete(this.id);
  }

  private forgetLists(): void {
    this.lists.clear();
    this.listBytes = 0;
  }

  /** Begins anew when a union is too large for the rows that come. */
  private watch(touched: readonly number[], samples: number): void {
    if (samples > this.largestRow) this.largestRow = samples;
    const [only, ...others] = touched;
    const union = others.length > 0 ? undefined : this.unions[only!];
    if (union === undefined) return;
    if (samples >= SPARSE_FRACTION * union.seriesCount) {
      if (union.sparseRows > 0) union.sparseRows--;
      return;
    }
    if (++union.sparseRows < this.sparseRows) return;
    this.sparseRows *= PATIENCE;
    this.maxSeries = Math.min(MAX_SERIES, Math.max(MIN_MAX_SERIES, ROWS_A_UNION * this.largestRow));
    this.largestRow = 0;
    this.forget();
  }

  private rowsOf(
    parts: readonly ColumnsPart[],
    values: BigUint64Array,
    touched: readonly number[],
    allowance: Allowance,
  ): GroupRow[] | undefined {
    const rows = new Map<number, PartialRow>();
    let bytes = 0;
    let at = 0;
    let last = -1;
    let row: PartialRow | undefined;
    for (const { list, count, indexes } of parts) {
      const places = this.lists.get(list.id)!;
      for (let i = 0; i < count; i++) {
        const place = places[indexes === undefined ? i : indexes[i]!]! - 1;
        const number = Math.floor(place / COLUMNS);
        if (number !== last) {
          last = number;
          row = rows.get(number);
          if (row === undefined) {
            row = new PartialRow(this.groupAt(number).layout, rows.size);
            rows.set(number, row);
            bytes += row.layout.packed.length;
          }
        }
        row!.set(place % COLUMNS, values[at++]!);
      }
    }
    const seriesCount = touched.reduce((sum, index) => sum + this.unions[index]!.seriesCount, 0);
    if (at < MIN_FRACTION * seriesCount) {
      if (bytes > allowance.bytes) return undefined;
      allowance.bytes -= bytes;
    }
    return Array.from(rows, ([number, row]) => {
      const { splitIndex, layout } = this.groupAt(number);
      const { splitBits } = this.unions[Math.floor(number / GROUPS)]!;
      return { splitBits, splitIndex, layout, ...row.finish() };
    });
  }

  /** @param number of the group among those of all unions */
  private groupAt(number: number): UnionGroup {
    return this.unions[Math.floor(number / GROUPS)]!.groups[number % GROUPS]!;
  }
}

const GROUPS = PLACES / COLUMNS;

interface PlacedSeries extends HashedLabels {
  readonly place: number;
}

/** A series that is in no union, and where a list has it. */
interface UnplacedSeries extends HashedLabels {
  /** Whether the row at hand has it. */
  isPresent: boolean;
  readonly places: Uint32Array;
  readonly index: number;
  /** The same in another place of a list. */
  same: UnplacedSeries | undefined;
}

type SeriesOfUnion = PlacedSeries | UnplacedSeries;

/** Gathers the values of a row that go into one group. */
class PartialRow {
  private readonly presence: Uint8Array;
  /** By column; whatever it has is overwritten. */
  private readonly bits: BigUint64Array;
  /** Columns that are present. */
  private count = 0;

  /** @param nth of the rows that are gathered at a time */
  constructor(
    readonly layout: PackedLayout,
    nth: number,
  ) {
    this.presence = new Uint8Array(presenceBytes(layout.seriesCount));
    this.bits = roomFor(nth, layout.seriesCount);
  }

  /** A series that occurs twice has its last value. */
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
    const { bits, presence, layout, count } = this;
    const isWhole = count === layout.seriesCount;
    if (!isWhole)
      for (let column = 0, at = 0; at < count; column++)
        if (isPresent(presence, column)) bits[at++] = bits[column]!;
    // The processors of Lambda are little-endian, as records are.
    const values = new Uint8Array(bits.slice(0, count).buffer);
    return isWhole ? { values } : { presence, values };
  }
}

/** Room for a row's values by column, for each group that it has: a buffer for each row of a few values would be megabytes. */
const room: BigUint64Array[] = [];

function roomFor(nth: number, columns: number): BigUint64Array {
  let bits = room[nth];
  if (bits === undefined || bits.length < columns) {
    bits = new BigUint64Array(columns);
    room[nth] = bits;
  }
  return bits;
}

/** An estimate of the memory of a list's identity. */
function idBytes(id: SeriesList['id']): number {
  return typeof id === 'string' ? id.length : 24;
}

/** Columns as one piece. @param key identifies them within the source or pool */
export function wholeOf(key: ColumnsKey, columns: Columns, count: number): ColumnsPart {
  const all = () => columns.series();
  return {
    list: {
      id: key,
      count,
      series: (indexes) => {
        const each = all().flatMap(({ labels, names }) => names.map((name) => ({ labels, names: [name] })));
        return Array.from(indexes, (index) => each[index]!);
      },
    },
    count,
  };
}

function hashedAt(list: SeriesList, indexes: readonly number[]): HashedLabels[] {
  if (list.hashedAt !== undefined) return indexes.map((index) => list.hashedAt!(index));
  return list
    .series(indexes)
    .flatMap(({ labels, names }) =>
      names.map((name) => hashedLabels(labelsOf([METRIC_NAME, name], ...labels))),
    );
}

/** Series by key, each once. */
function distinct(all: readonly UnplacedSeries[]): Map<string, UnplacedSeries> {
  const byKey = new Map<string, UnplacedSeries>();
  for (const series of all) {
    const key = labelsKey(series.labels);
    const same = byKey.get(key);
    series.same = same;
    series.isPresent ||= same?.isPresent === true;
    byKey.set(key, series);
  }
  return byKey;
}

/** The order of the rows of each length that were sorted last: targets of a fleet have series of the same names. */
const orders = new Map<number, Uint16Array>();
/** Bounds their memory: 8 MB. */
const MAX_ORDERS = 1_024;
const MAX_ORDERED = 4_096;

/** Sorts series {@link compareLabels}: as those before, if that is their order too. */
function inOrder(series: readonly SeriesOfUnion[]): SeriesOfUnion[] {
  const order = orders.get(series.length);
  const guessed = order === undefined ? [] : Array.from(order, (at) => series[at]!);
  if (guessed.length > 0 && isOrdered(guessed)) return guessed;
  // An array's sort, unlike a typed array's, is quick where there are ordered runs, as old unions are.
  const at = Array.from(series, (_, i) => i).sort((a, b) =>
    compareLabels(series[a]!.labels, series[b]!.labels),
  );
  if (orders.size === MAX_ORDERS) orders.clear();
  if (at.length <= MAX_ORDERED) orders.set(at.length, Uint16Array.from(at));
  return Array.from(at, (each) => series[each]!);
}

function isOrdered(series: readonly SeriesOfUnion[]): boolean {
  for (let i = 1; i < series.length; i++)
    if (compareLabels(series[i - 1]!.labels, series[i]!.labels) > 0) return false;
  return true;
}

function placeIn(series: UnplacedSeries, place: number): void {
  for (let each: UnplacedSeries | undefined = series; each !== undefined; each = each.same)
    each.places[each.index] = place;
}

/** The series of a union, in the order of places. */
function seriesOfUnion({ groups, hashes }: Union, index: number): PlacedSeries[] {
  let at = 0;
  return groups.flatMap(({ layout }, group) =>
    labelsOfLayout(layout).map((labels, column) => ({
      labels,
      hash: hashes[at++]!,
      keyBytes: keyBytesOf(labels),
      place: placeOf(index, group, column),
    })),
  );
}

function labelsOfLayout({ packed }: PackedLayout): Labels[] {
  return labelsInLayout(unpackLayout(packed));
}

function placesIn({ groups }: Union, index: number): [string, number][] {
  return groups.flatMap(({ layout }, group) =>
    labelsOfLayout(layout).map((labels, column): [string, number] => [
      labelsKey(labels),
      placeOf(index, group, column),
    ]),
  );
}

function placeOf(union: number, group: number, column: number): number {
  return union * PLACES + group * COLUMNS + column + 1;
}

type Size = Pick<Union, 'seriesCount' | 'labelBytes'>;

function sizeOf(series: readonly HashedLabels[]): Size {
  return { seriesCount: series.length, labelBytes: series.reduce((sum, { keyBytes }) => sum + keyBytes, 0) };
}

function total(sizes: readonly Size[]): Size {
  return {
    seriesCount: sizes.reduce((sum, size) => sum + size.seriesCount, 0),
    labelBytes: sizes.reduce((sum, size) => sum + size.labelBytes, 0),
  };
}

/** Memory, about. */
function bytesOf({ groups, seriesCount }: Union): number {
  return groups.reduce((sum, { layout }) => sum + 600 + layout.packed.length, 300 + 8 * seriesCount);
}
