import { type Labels, labelsKey, METRIC_NAME } from '../model/labels';
import { keyBytesTogether, labelsHash } from '../model/labels-hash';
import { type EncodedNames, encodeLayoutOf, encodeNames } from '../model/layout-bytes';
import { type PackedLayout, packLayout } from '../model/packed-layout';
import { MAX_GROUP_SERIES, splitBitsFor } from '../model/placement';
import { ByteTable } from './byte-table';
import type { SeriesDictionary, SeriesNamer } from './series-dictionary';
import type { SeriesSource } from './series-source';

/** Labels of series without their name: for example, the tags of a line, or the host of a Mackerel metric. */
export interface LabelSet {
  /** Number of the set in {@link NamedSeries}, starting at 0. */
  readonly number: number;
  readonly source: SeriesSource;
  /** The part of a series' hash that comes from these labels (`LabelsHash`). */
  readonly hash: number;
  /** Size of these labels in a series' key, in bytes (`LabelsHash`). */
  readonly keyBytes: number;
  readonly labelCount: number;
  /** The set's entry in the table of label sets. */
  readonly entry: number;
}

/** A metric name. */
interface Name {
  /** The label `__name__` with this name. */
  readonly pair: Labels[number];
  /** The part of a series' hash that comes from the name (`LabelsHash`). */
  readonly hash: number;
  /** Size of the name in a series' key, in bytes (`LabelsHash`). */
  readonly keyBytes: number;
}

/** The names of the series of a layout, in the order of its columns. */
interface NamesOfLayout {
  readonly encoded: EncodedNames;
  /** For each column, the position of its series in the row. */
  readonly positions: Uint32Array;
  /** Total size of the names in the {@link labelsKey}s of all series, in bytes. */
  readonly nameBytes: number;
}

/** Reused buffer for the names of one layout. {@link NamedSeries.layoutOf} makes no larger layout. */
const namesScratch = new Int32Array(MAX_GROUP_SERIES);

/** Approximate memory of a label set without its text, in bytes. */
const SET_BYTES = 130;
/** Approximate memory of a name without its text, in bytes. */
const NAME_BYTES = 200;
/** Number of bytes that a {@link labelsKey} has around a quoted name: `["__name__",],`. */
const NAME_PAIR_BYTES = 14;

/**
 * The series that senders name by a label set and a metric name. Each set and each name is stored once. The hosts of a
 * fleet have the same metric names, so their layouts share the encoding of these names.
 */
export class NamedSeries implements SeriesNamer {
  private readonly namer: number;
  private readonly setTable: ByteTable;
  private readonly sets: LabelSet[] = [];
  private readonly nameTable: ByteTable;
  private readonly names: Name[] = [];
  /**
   * The sorted and encoded names of each layout that has been made so far. The key consists of the numbers of the
   * names, as bytes, in the order of the row.
   */
  private readonly layouts = new Map<string, NamesOfLayout>();
  /** The series that was looked up last. */
  private lastSeries = 0;
  /** The label set whose labels were decoded last, and these labels. */
  private lastSet = -1;
  private lastLabels: Labels = [];

  constructor(private readonly dictionary: SeriesDictionary) {
    this.namer = dictionary.addNamer(this);
    this.setTable = new ByteTable((bytes) => dictionary.use(bytes));
    this.nameTable = new ByteTable((bytes) => dictionary.use(bytes));
  }

  /**
   * Returns the label set with these labels. The first call adds it.
   *
   * @param labels sorted, without `__name__`
   */
  setOf(labels: Labels): LabelSet {
    const key = Buffer.from(labelsKey(labels));
    const known = this.setTable.find(key, 0, key.length);
    if (known !== 0) return this.sets[this.setTable.valueOf(known)]!;
    const number = this.sets.length;
    const entry = this.setTable.add(key, 0, key.length, number);
    const source = this.dictionary.sourceOf(labels);
    const { number: hash, keyBytes } = labelsHash.of(labels);
    const set = { number, source, hash, keyBytes, labelCount: labels.length, entry };
    this.sets.push(set);
    this.dictionary.use(SET_BYTES);
    return set;
  }

  /**
   * Returns the number of a metric name: the bytes from `start` to `end`, in UTF-8. The first call adds the name.
   */
  nameOf(bytes: Buffer, start: number, end: number): number {
    const known = this.nameTable.find(bytes, start, end);
    if (known !== 0) return this.nameTable.valueOf(known);
    const pair = [METRIC_NAME, bytes.toString('utf8', start, end)] as const;
    const { number: hash, keyBytes } = labelsHash.of([pair]);
    const name = this.names.push({ pair, hash, keyBytes }) - 1;
    this.nameTable.add(bytes, start, end, name);
    this.dictionary.use(NAME_BYTES + end - start);
    return name;
  }

  /**
   * Returns the number of a series in the dictionary. The first call adds the series.
   *
   * @param name result of {@link nameOf}
   */
  seriesOf(set: LabelSet, name: number): number {
    // Try the next number first: series were numbered in the order of a sender's first request, and senders repeat
    // this order.
    const next = this.lastSeries + 1;
    if (this.dictionary.isNamedBy(next, this.namer, set.number, name)) {
      this.lastSeries = next;
      return next;
    }
    const { hash, keyBytes } = this.names[name]!;
    const digest = {
      hash: (set.hash + hash) | 0,
      keyBytes: keyBytesTogether(set.keyBytes, keyBytes),
      labelCount: set.labelCount + 1,
    };
    const seriesName = { namer: this.namer, first: set.number, second: name };
    this.lastSeries = this.dictionary.numberOf(set.source, digest, seriesName);
    return this.lastSeries;
  }

  labelsOf(set: number, name: number): Labels {
    const labels = [...this.labelsOfSet(set)];
    let at = 0;
    while (at < labels.length && labels[at]![0] < METRIC_NAME) at++;
    labels.splice(at, 0, this.names[name]!.pair);
    return labels;
  }

  private labelsOfSet(set: number): Labels {
    if (set !== this.lastSet) {
      this.lastLabels = JSON.parse(this.setTable.bytesOf(this.sets[set]!.entry).toString()) as Labels;
      this.lastSet = set;
    }
    return this.lastLabels;
  }

  /**
   * Makes a layout for series that all have the same label set. These layouts can share the encoding of names.
   *
   * @param series numbers of distinct series
   * @returns the layout, and the series in the order of its columns; undefined if there are fewer than two
   *   series, if they have several label sets, or if they do not fit into one group
   */
  layoutOf(series: Int32Array): { readonly layout: PackedLayout; readonly series: Int32Array } | undefined {
    const { dictionary, namer } = this;
    const set = dictionary.firstOf(series[0]!, namer);
    if (set === -1 || series.length < 2 || splitBitsFor(series.length) > 0) return undefined;
    const names = namesScratch.subarray(0, series.length);
    for (let i = 0; i < series.length; i++) {
      if (dictionary.firstOf(series[i]!, namer) !== set) return undefined;
      names[i] = dictionary.secondOf(series[i]!);
    }
    const key = Buffer.from(names.buffer, 0, names.byteLength).toString('latin1');
    let found = this.layouts.get(key);
    if (found === undefined) {
      found = this.inOrder(names);
      this.layouts.set(key, found);
      dictionary.use(400 + 9 * names.length + found.encoded.bytes.length);
    }
    const { encoded, positions, nameBytes } = found;
    const labels = this.labelsOfSet(set);
    const keyBytes = nameBytes + encoded.count * Buffer.byteLength(labelsKey(labels));
    if (splitBitsFor(encoded.count, keyBytes) > 0) return undefined;
    const ordered = new Int32Array(series.length);
    for (let column = 0; column < ordered.length; column++) ordered[column] = series[positions[column]!]!;
    return { layout: packLayout(encodeLayoutOf(labels, encoded)), series: ordered };
  }

  /** Sorts and encodes the names of a layout. */
  private inOrder(names: Int32Array): NamesOfLayout {
    const all = Array.from(names, (name, i) => {
      const text = this.names[name]!.pair[1];
      return { text, key: JSON.stringify(text), i };
    }).sort((a, b) => (a.key < b.key ? -1 : 1));
    return {
      encoded: encodeNames(all.map(({ text }) => text)),
      positions: Uint32Array.from(all, ({ i }) => i),
      nameBytes: all.reduce((sum, { key }) => sum + Buffer.byteLength(key) + NAME_PAIR_BYTES, 0),
    };
  }
}
