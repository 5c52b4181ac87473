import { isPresent, presenceBytes } from '../codec';
import { BoundedCache } from '../model/bounded-cache';
import { labelsOf, labelsOfKey, METRIC_NAME, type NamedSeries, seriesKeys } from '../model/labels';
import {
  byKey,
  cutSeries,
  decodeLayout,
  encodeLayout,
  type KeyedLabels,
  type PackedLayout,
  packLayout,
  unpackLayout,
} from '../model/layout';
import { splitBitsFor, splitIndexOf } from '../model/placement';
import type { Columns, ColumnsPart, SeriesList } from '../protocol/protocol';

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
  /** Series of unions that are looked up, and encoded again, where rows have new ones. */
  series: number;
}

const MIN_FRACTION = 1 / 4;
/** Of a union; a larger source has layouts of its own for each row. */
const MAX_SERIES = 16_384;
const MAX_LABEL_BYTES = 2_000_000;
/** A source whose names go on changing has layouts of its own for each row: growing costs as much as the union is large. */
const MAX_GROWTHS = 64;
/** Lists whose places are kept. */
const MAX_LISTS = 256;

/** Of the row that a source had first. */
export interface FirstGroup {
  readonly splitBits: number;
  readonly splitIndex: number;
  readonly layout: PackedLayout;
}

type UnionGroup = Omit<FirstGroup, 'splitBits'>;

/** Where a series is: the index of its group times this, and its column in the group's layout, plus 1. 0: not in the union. */
const COLUMNS = 4_096;

/** The place of each series by its key. Made of the layouts again when it is needed and gone. */
const keyedPlaces = new BoundedCache<ReadonlyMap<string, number>>(32_000_000, (places) => 400 * places.size);
let made = 0;

/**
 * Every series that an instance of post has seen of a source, and their layouts.
 *
 * Senders cut their requests anywhere (Telegraf's batches, a scrape that is hashed over shards), and a layout for each cut
 * would cost more than the samples. A row is written in the union's layouts with a presence map instead. The union grows when
 * a series is new, so a source whose requests are random halves has its last layout after a few requests.
 *
 * Nothing here needs to be agreed on or kept: an instance that knows less writes smaller layouts. It holds no names: those
 * are in the packed layouts.
 */
export class SourceUnion {
  private readonly id = (made++).toString();
  private splitBits: number;
  private groups: readonly UnionGroup[];
  private seriesCount: number;
  /** Places by list and index. */
  private readonly lists = new Map<string, Uint32Array>();
  private listBytes = 0;
  private growths = 0;
  private isGivenUp = false;

  /**
   * @param first the groups of the source's first row
   * @param madeAtMs timestamp of the second one
   */
  constructor(
    first: readonly FirstGroup[],
    readonly madeAtMs: number,
  ) {
    this.splitBits = first[0]?.splitBits ?? 0;
    // Where a group had names for several layouts, the source is large, and finds that out again.
    const isWhole = new Set(first.map(({ splitIndex }) => splitIndex)).size === first.length;
    this.groups = isWhole ? first.map(({ splitIndex, layout }) => ({ splitIndex, layout })) : [];
    this.seriesCount = this.groups.reduce((sum, { layout }) => sum + layout.seriesCount, 0);
  }

  /** Memory, about. */
  get bytes(): number {
    return this.groups.reduce((sum, { layout }) => sum + 500 + layout.packed.length, 400 + this.listBytes);
  }

  /**
   * Splits a row into the union's groups, which grow by the row's new series.
   *
   * @returns undefined when the row is to have layouts of its own: the allowance is used up, and the row is a small part of
   *   the union or has new series; or the source is large
   */
  split(columns: Columns, values: BigUint64Array, allowance: Allowance): GroupRow[] | undefined {
    if (this.isGivenUp) return undefined;
    const parts = columns.parts ?? [wholeOf(columns.key, columns, values.length)];
    if (!parts.every((part) => this.knows(part))) {
      if (this.seriesCount > allowance.series) return undefined;
      allowance.series -= this.seriesCount;
      if (this.lists.size > MAX_LISTS) this.forgetLists();
      this.learn(parts);
    }
    return this.isGivenUp ? undefined : this.rowsOf(parts, values, allowance);
  }

  private knows({ list, count, indexes }: ColumnsPart): boolean {
    const places = this.lists.get(list.key);
    if (places === undefined) return false;
    for (let i = 0; i < count; i++) if (!places[indexes === undefined ? i : indexes[i]!]) return false;
    return true;
  }

  /** Finds the places of the parts' series; those that the union lacks are added. */
  private learn(parts: readonly ColumnsPart[]): void {
    const known = this.keyedSeries();
    const added = new Map<string, KeyedLabels>();
    const open: { readonly list: string; readonly index: number; readonly key: string }[] = [];
    for (const { list, count, indexes } of parts) {
      const places = this.placesOf(list);
      const isPresent = new Uint8Array(places.length);
      for (let i = 0; i < count; i++) isPresent[indexes === undefined ? i : indexes[i]!] = 1;
      // All of the list's, since later rows have others.
      const unknown = [...places.keys()].filter((index) => places[index] === 0);
      for (const [i, series] of keyed(list.series(unknown)).entries()) {
        const index = unknown[i]!;
        const place = known.get(series.key);
        if (place !== undefined) places[index] = place;
        else if (isPresent[index] === 1) {
          added.set(series.key, series);
          open.push({ list: list.key, index, key: series.key });
        }
      }
    }
    if (added.size === 0) return;
    this.grow(known, [...added.values()]);
    if (this.isGivenUp) return;
    const grown = this.keyedSeries();
    for (const { list, index, key } of open) this.lists.get(list)![index] = grown.get(key)!;
  }

  /** The places of a list's series, as many as it has by now. */
  private placesOf({ key, count }: SeriesList): Uint32Array {
    const known = this.lists.get(key);
    if (known !== undefined && known.length >= count) return known;
    const places = new Uint32Array(count);
    if (known !== undefined) places.set(known);
    this.lists.set(key, places);
    this.listBytes +=
      known === undefined ? 200 + key.length + places.byteLength : places.byteLength - known.byteLength;
    return places;
  }

  /** The place of each series by its key. */
  private keyedSeries(): ReadonlyMap<string, number> {
    let places = keyedPlaces.get(this.id);
    if (places === undefined) {
      places = placesIn(
        this.groups.map(({ layout }) => [...decodeLayout(unpackLayout(layout.packed)).columns.keys()]),
      );
      keyedPlaces.set(this.id, places);
    }
    return places;
  }

  /** Places series that the union lacks; all of them anew when the source needs more groups. */
  private grow(known: ReadonlyMap<string, number>, added: readonly KeyedLabels[]): void {
    this.growths++;
    const keys = [...known.keys(), ...added.map(({ key }) => key)];
    const labelBytes = keys.reduce((sum, key) => sum + Buffer.byteLength(key), 0);
    if (keys.length > MAX_SERIES || labelBytes > MAX_LABEL_BYTES || this.growths > MAX_GROWTHS) {
      this.giveUp();
      return;
    }
    const splitBits = splitBitsFor(keys.length, labelBytes);
    const isResplit = splitBits !== this.splitBits;
    const bySplit = Map.groupBy(added, ({ key }) => splitIndexOf(key, splitBits));
    const before = Map.groupBy([...known.keys()], (key) => splitIndexOf(key, splitBits));
    const kept = new Map(isResplit ? [] : this.groups.map((group) => [group.splitIndex, group]));
    const keysOf: string[][] = [];
    let isTooLong = false;
    this.groups = [...new Set([...kept.keys(), ...before.keys(), ...bySplit.keys()])].map((splitIndex) => {
      const more = bySplit.get(splitIndex);
      const group = kept.get(splitIndex);
      const old = before.get(splitIndex) ?? [];
      if (group !== undefined && more === undefined) {
        keysOf.push(old);
        return group;
      }
      const series = [...old.map((key) => ({ key, labels: labelsOfKey(key) })), ...(more ?? [])].sort(byKey);
      // Names that hash into one group, beyond what a layout may have.
      if (cutSeries(series).length > 1) isTooLong = true;
      keysOf.push(series.map(({ key }) => key));
      return { splitIndex, layout: packLayout(encodeLayout(series)) };
    });
    if (isTooLong) {
      this.giveUp();
      return;
    }
    this.splitBits = splitBits;
    this.seriesCount = keys.length;
    const places = placesIn(keysOf);
    const moved = new Map(Array.from(known, ([key, place]) => [place, places.get(key)!]));
    for (const list of this.lists.values())
      for (let i = 0; i < list.length; i++) list[i] = moved.get(list[i]!) ?? 0;
    keyedPlaces.set(this.id, places);
  }

  private giveUp(): void {
    this.isGivenUp = true;
    this.groups = [];
    this.forgetLists();
    keyedPlaces.delete(this.id);
  }

  private forgetLists(): void {
    this.lists.clear();
    this.listBytes = 0;
  }

  private rowsOf(
    parts: readonly ColumnsPart[],
    values: BigUint64Array,
    allowance: Allowance,
  ): GroupRow[] | undefined {
    const rows = new Array<PartialRow | undefined>(this.groups.length).fill(undefined);
    let touched = 0;
    let at = 0;
    for (const { list, count, indexes } of parts) {
      const places = this.lists.get(list.key)!;
      for (let i = 0; i < count; i++) {
        const place = places[indexes === undefined ? i : indexes[i]!]! - 1;
        const group = Math.floor(place / COLUMNS);
        const column = place % COLUMNS;
        let row = rows[group];
        if (row === undefined) {
          const { layout } = this.groups[group]!;
          row = new PartialRow(layout, roomFor(group, layout.seriesCount));
          rows[group] = row;
          touched += row.layout.packed.length;
        }
        row.set(column, values[at++]!);
      }
    }
    if (at < MIN_FRACTION * this.seriesCount) {
      if (touched > allowance.bytes) return undefined;
      allowance.bytes -= touched;
    }
    const split: GroupRow[] = [];
    rows.forEach((row, group) => {
      if (row === undefined) return;
      const { splitIndex, layout } = this.groups[group]!;
      split.push({ splitBits: this.splitBits, splitIndex, layout, ...row.finish() });
    });
    return split;
  }
}

/** Gathers the values of a row that go into one group. */
class PartialRow {
  private readonly presence: Uint8Array;

  /** @param bits by column; whatever it has is overwritten */
  constructor(
    readonly layout: PackedLayout,
    private readonly bits: BigUint64Array,
  ) {
    this.presence = new Uint8Array(presenceBytes(layout.seriesCount));
  }

  /** A series that occurs twice has its last value. */
  set(column: number, bits: bigint): void {
    this.bits[column] = bits;
    this.presence[column >> 3]! |= 1 << (column & 7);
  }

  finish(): Pick<GroupRow, 'presence' | 'values'> {
    const { bits, presence, layout } = this;
    let count = 0;
    for (let column = 0; column < layout.seriesCount; column++)
      if (isPresent(presence, column)) bits[count++] = bits[column]!;
    // The processors of Lambda are little-endian, as records are.
    const values = new Uint8Array(bits.slice(0, count).buffer);
    return count === layout.seriesCount ? { values } : { presence, values };
  }
}

/** Room for a row's values by column, for each group of a union: a buffer for each row of a few values would be megabytes. */
const room: BigUint64Array[] = [];

function roomFor(group: number, columns: number): BigUint64Array {
  let bits = room[group];
  if (bits === undefined || bits.length < columns) {
    bits = new BigUint64Array(columns);
    room[group] = bits;
  }
  return bits;
}

/** Columns as one piece. @param key names them within the process */
export function wholeOf(key: string, columns: Columns, count: number): ColumnsPart {
  const all = () => columns.series();
  return {
    list: {
      key,
      count,
      series: (indexes) => {
        const each = all().flatMap(({ labels, names }) => names.map((name) => ({ labels, names: [name] })));
        return Array.from(indexes, (index) => each[index]!);
      },
    },
    count,
  };
}

function keyed(all: readonly NamedSeries[]): KeyedLabels[] {
  return all.flatMap((named) =>
    seriesKeys(named).map((key, i) => ({
      key,
      labels: labelsOf([METRIC_NAME, named.names[i]!], ...named.labels),
    })),
  );
}

/** @param keysOf each group's series, in the order of its layout */
function placesIn(keysOf: readonly (readonly string[])[]): Map<string, number> {
  return new Map(
    keysOf.flatMap((keys, group) => keys.map((key, column) => [key, group * COLUMNS + column + 1])),
  );
}
