import { presenceOf } from '../codec';
import { labelsOf, METRIC_NAME, type NamedSeries, seriesKeys } from '../model/labels';
import {
  byKey,
  cutSeries,
  encodeLayout,
  type KeyedLabels,
  type PackedLayout,
  packLayout,
} from '../model/layout';
import { splitBitsFor, splitIndexOf } from '../model/placement';
import type { Columns } from '../protocol/protocol';

/** The values of a row that go into one group. */
export interface GroupRow {
  readonly splitBits: number;
  readonly splitIndex: number;
  readonly layout: PackedLayout;
  readonly presence?: Uint8Array;
  readonly values: Uint8Array;
}

/** A union serves a row only if the row has at least this fraction of its names' bytes: a record stays as large as its row. */
const MIN_FRACTION = 1 / 4;
/** Of a union; a larger source has layouts of its own for each row. */
const MAX_SERIES = 16_384;
const MAX_LABEL_BYTES = 2_000_000;
/** A source whose names go on changing has layouts of its own for each row: growing costs as much as the union is large. */
const MAX_GROWTHS = 64;
/** Parts, such as lines, whose ordinals are kept. */
const MAX_PARTS = 1_000;

interface UnionGroup {
  readonly splitIndex: number;
  /** In the order of the layout. */
  readonly ordinals: number[];
  layout: PackedLayout;
}

/**
 * Every series that an instance of post has seen of a source, and their layouts.
 *
 * Senders cut their requests anywhere (Telegraf's batches, a scrape that is hashed over shards), and a layout for each cut
 * would cost more than the samples. A row is written in the union's layouts with a presence map instead. The union grows when
 * a series is new, so a source whose requests are random halves has its last layout after a few requests.
 *
 * Nothing here needs to be agreed on or kept: an instance that knows less writes smaller layouts.
 */
export class SourceUnion {
  /** Series in the order in which they were first seen; their index here is their ordinal, which never changes. */
  private readonly series: KeyedLabels[] = [];
  private readonly ordinals = new Map<string, number>();
  private readonly parts = new Map<string, Uint32Array>();
  private labelBytes = 0;
  private splitBits = 0;
  private groups = new Map<number, UnionGroup>();
  /** For each ordinal its group, and its column in the group's layout. */
  private groupOf: UnionGroup[] = [];
  private columnOf: number[] = [];
  private growths = 0;
  private isGivenUp = false;

  /** Memory, about. */
  get bytes(): number {
    return 500 + 4 * this.labelBytes + 300 * this.series.length;
  }

  /**
   * Splits a row into the union's groups, which grow by the row's new series.
   *
   * @returns undefined when the row is to have layouts of its own: it is the whole union or a small part of it, or the source
   *   is large
   */
  split({ parts, ...columns }: Columns, values: BigUint64Array): GroupRow[] | undefined {
    if (this.isGivenUp) return undefined;
    const ordinals = new Uint32Array(values.length);
    const known = this.series.length;
    let at = 0;
    for (const { key, series } of parts ?? [columns]) {
      const part = this.ordinalsOf(key, series);
      ordinals.set(part, at);
      at += part.length;
    }
    if (this.series.length > known) this.grow(known);
    return this.isGivenUp ? undefined : this.rowsOf(ordinals, values);
  }

  private ordinalsOf(key: string, seriesOf: () => readonly NamedSeries[]): Uint32Array {
    const cached = this.parts.get(key);
    if (cached !== undefined) return cached;
    const ordinals = Uint32Array.from(
      seriesOf().flatMap((named) =>
        seriesKeys(named).map((text, i) => {
          const known = this.ordinals.get(text);
          if (known !== undefined) return known;
          const ordinal = this.series.length;
          this.ordinals.set(text, ordinal);
          this.series.push({
            key: text,
            labels: labelsOf([METRIC_NAME, named.names[i]!], ...named.labels),
          });
          this.labelBytes += Buffer.byteLength(text);
          return ordinal;
        }),
      ),
    );
    if (this.parts.size === MAX_PARTS) this.parts.clear();
    this.parts.set(key, ordinals);
    return ordinals;
  }

  /** Places the series from `first` on; all of them anew when the source needs more groups. */
  private grow(first: number): void {
    this.growths++;
    if (this.series.length > MAX_SERIES || this.labelBytes > MAX_LABEL_BYTES || this.growths > MAX_GROWTHS) {
      this.isGivenUp = true;
      return;
    }
    const splitBits = splitBitsFor(this.series.length, this.labelBytes);
    const isResplit = splitBits !== this.splitBits;
    if (isResplit) this.groups = new Map();
    this.splitBits = splitBits;
    const grown = new Set<UnionGroup>();
    for (let ordinal = isResplit ? 0 : first; ordinal < this.series.length; ordinal++) {
      const splitIndex = splitIndexOf(this.series[ordinal]!.key, splitBits);
      let group = this.groups.get(splitIndex);
      if (group === undefined) {
        group = { splitIndex, ordinals: [], layout: undefined as never };
        this.groups.set(splitIndex, group);
      }
      group.ordinals.push(ordinal);
      this.groupOf[ordinal] = group;
      grown.add(group);
    }
    for (const group of grown) {
      group.ordinals.sort((a, b) => byKey(this.series[a]!, this.series[b]!));
      const series = group.ordinals.map((ordinal) => this.series[ordinal]!);
      // Names that hash into one group, beyond what a layout may have.
      if (cutSeries(series).length > 1) this.isGivenUp = true;
      group.layout = packLayout(encodeLayout(series));
      group.ordinals.forEach((ordinal, column) => {
        this.columnOf[ordinal] = column;
      });
    }
  }

  private rowsOf(ordinals: Uint32Array, values: BigUint64Array): GroupRow[] | undefined {
    const rows = new Map<UnionGroup, { readonly bits: BigUint64Array; readonly isPresent: Uint8Array }>();
    let presentBytes = 0;
    for (let i = 0; i < ordinals.length; i++) {
      const ordinal = ordinals[i]!;
      const group = this.groupOf[ordinal]!;
      let row = rows.get(group);
      if (row === undefined) {
        const { length } = group.ordinals;
        row = { bits: new BigUint64Array(length), isPresent: new Uint8Array(length) };
        rows.set(group, row);
      }
      const column = this.columnOf[ordinal]!;
      // A series that occurs twice has its last value.
      row.bits[column] = values[i]!;
      if (row.isPresent[column] === 0) presentBytes += this.series[ordinal]!.key.length;
      row.isPresent[column] = 1;
    }
    if (presentBytes < MIN_FRACTION * this.labelBytes) return undefined;
    const split = Array.from(rows, ([{ splitIndex, layout }, { bits, isPresent }]): GroupRow => {
      const placed = { splitBits: this.splitBits, splitIndex, layout };
      const present: number[] = [];
      for (let column = 0; column < isPresent.length; column++)
        if (isPresent[column] === 1) {
          bits[present.length] = bits[column]!;
          present.push(column);
        }
      const bytes = new Uint8Array(bits.buffer, 0, 8 * present.length);
      return present.length === isPresent.length
        ? { ...placed, values: bytes }
        : { ...placed, presence: presenceOf(present, isPresent.length), values: bytes };
    });
    const isWhole = rows.size === this.groups.size && split.every(({ presence }) => presence === undefined);
    return isWhole ? undefined : split;
  }
}
