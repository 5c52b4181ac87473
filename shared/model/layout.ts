import { constants as zlib, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { ByteReader, ByteWriter, MalformedBytesError } from './bytes';
import { HashSet } from './hash-set';
import { type Id, idBytes, idText } from './id';
import { type Labels, labelsKey, labelsOf, METRIC_NAME, type NamedSeries } from './labels';

/**
 * A layout is the ordered list of series that a frame or a chunk has columns for. Its bytes are canonical, and
 * its id is the hash of those bytes.
 *
 *     byte     format version, 1
 *     uvarint  number of series
 *     uvarint  number of pairs that every series has; each: text name, text value
 *     uvarint  number of label names the rest uses; each: text
 *     series   uvarint number of pairs; each: uvarint index of its name, text value
 *
 * Series are in the order of the text of their labels (see {@link labelsKey}).
 */
export interface Layout {
  readonly id: Id;
  /** The id's 16 bytes, as frames and chunks bear it. */
  readonly idBytes: Uint8Array;
  readonly bytes: Uint8Array;
  readonly series: readonly Labels[];
  /** The column of a series, by {@link labelsKey}. */
  readonly columns: ReadonlyMap<string, number>;
}

/** A layout as records and stores hold it: compressed once, where it is made. */
export interface PackedLayout {
  readonly id: Id;
  /** The id's 16 bytes. */
  readonly idBytes: Uint8Array;
  readonly seriesCount: number;
  /** zstd of the layout's bytes. */
  readonly packed: Uint8Array;
}

const FORMAT = 1;

/**
 * Most bytes, uncompressed, of a layout that is a union of others: an item of the catalogue holds it however little it
 * compresses. A row's layout stays far below: the names of a group are bounded in number and length.
 */
export const MAX_UNION_BYTES = 256 * 1024;

/** Most series, and most bytes of {@link labelsKey}s, of a row's layout: see {@link cutSeries}. */
const MAX_ROW_SERIES = 1024;
const MAX_ROW_KEY_BYTES = 192 * 1024;

/** The id of a layout's bytes, without decoding them. */
export function layoutIdOf(bytes: Uint8Array): Buffer {
  return idBytes('layout', bytes);
}

/** Most bytes that a layout may unpack to; those of this release are far smaller. */
const MAX_LAYOUT_BYTES = 4 * 1024 * 1024;

/** Small tables and chunks: a layout is a few KB, and zstd's defaults take as long to allocate as to compress. */
const PACK = {
  chunkSize: 4096,
  params: { [zlib.ZSTD_c_compressionLevel]: 1, [zlib.ZSTD_c_windowLog]: 15 },
};
const UNPACK = { chunkSize: 16_384, maxOutputLength: MAX_LAYOUT_BYTES };

export function packLayout(bytes: Uint8Array): PackedLayout {
  const idBytes = layoutIdOf(bytes);
  return {
    id: idText(idBytes),
    idBytes,
    seriesCount: seriesCountOf(bytes),
    // A copy with memory of its own: zlib returns a view, which would keep its whole chunk, and Buffer.from cuts from a slab,
    // of which a layout of 50 bytes would keep 8 KB.
    packed: new Uint8Array(zstdCompressSync(bytes, PACK)),
  };
}

/** A layout that was just checked: whoever takes a new one into its stores needs its bytes several times. */
interface CheckedLayout {
  readonly bytes: Buffer;
  readonly hashes: Float64Array;
}

/** A batch of an ingester's may have as many; those before them are kept until as many more have come. */
const MAX_RECENT_BYTES = 24_000_000;
let recent = new Map<Uint8Array, CheckedLayout>();
let recentBytes = 0;
let lessRecent = recent;

function checkedBefore(packed: Uint8Array): CheckedLayout | undefined {
  return recent.get(packed) ?? lessRecent.get(packed);
}

/**
 * Unpacks a layout, unless it was {@link noteChecked}.
 *
 * @throws {Error} when the bytes are not zstd, or unpack to more than {@link MAX_LAYOUT_BYTES}
 */
export function unpackLayout(packed: Uint8Array): Buffer {
  const known = checkedBefore(packed)?.bytes;
  if (known !== undefined) return known;
  const bytes = zstdDecompressSync(packed, UNPACK);
  // A small layout would keep its whole chunk.
  return 2 * bytes.length < bytes.buffer.byteLength ? Buffer.from(bytes) : bytes;
}

/** Keeps for a while what an array unpacks to, and its {@link checkLayout}. The array is no view of a record. */
export function noteChecked(packed: Uint8Array, checked: CheckedLayout): void {
  if (recentBytes > MAX_RECENT_BYTES) {
    lessRecent = recent;
    recent = new Map();
    recentBytes = 0;
  }
  recent.set(packed, checked);
  recentBytes += checked.bytes.length + checked.hashes.byteLength + packed.length + 200;
}

/** Reads the number of series from a layout's bytes, without decoding them. */
function seriesCountOf(bytes: Uint8Array): number {
  const reader = new ByteReader(bytes);
  checkFormat(reader.byte());
  return reader.count(1);
}

/**
 * Checks that bytes are a layout of distinct series, in a fifth of the time that decoding takes.
 *
 * @returns the {@link seriesHashes}
 * @throws {MalformedBytesError} when they are not a layout
 */
export function checkLayout(bytes: Uint8Array): Float64Array {
  const hashes = seriesHashes(bytes);
  if (hashes.length === 0) throw new MalformedBytesError('the layout has no series');
  const distinct = new HashSet(hashes.length);
  let areDistinct = true;
  for (const each of hashes) areDistinct = distinct.add(each) && areDistinct;
  // Different series may have the same hash.
  if (!areDistinct) checkDistinct(bytes);
  return hashes;
}

/** Compares the bytes of a layout's series. */
function checkDistinct(bytes: Uint8Array): void {
  const series = new SeriesBytes(bytes);
  const distinct = new Set<string>();
  for (let i = 0; i < series.count; i++) distinct.add(series.next().text);
  if (distinct.size !== series.count) throw new MalformedBytesError('the layout names a series twice');
}

/** A series and its {@link labelsKey}, by which layouts order it. */
export interface KeyedLabels {
  readonly labels: Labels;
  readonly key: string;
}

/** The layout of series, which are distinct and at least one. */
export function layoutOf(series: Iterable<Labels>): Layout {
  const keyed = Array.from(series, (labels) => ({ labels, key: labelsKey(labels) })).sort(byKey);
  return assemble(
    encodeLayout(keyed),
    keyed.map(({ labels }) => labels),
    keyed.map(({ key }) => key),
  );
}

export function byKey(a: Pick<KeyedLabels, 'key'>, b: Pick<KeyedLabels, 'key'>): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}

/**
 * Cuts a row's series into parts, each small enough for a layout, a script call and a record. Nearly every row is one part:
 * the split of a source keeps groups at 256 series and 128 KB on average.
 *
 * @param keyBytesOf bytes of a series' {@link labelsKey}
 */
export function cutSeries<Series>(
  ordered: readonly Series[],
  keyBytesOf: (series: Series) => number,
): Series[][] {
  const parts: Series[][] = [];
  let part: Series[] = [];
  let bytes = 0;
  for (const series of ordered) {
    const seriesBytes = keyBytesOf(series);
    if (part.length === MAX_ROW_SERIES || (part.length > 0 && bytes + seriesBytes > MAX_ROW_KEY_BYTES)) {
      parts.push(part);
      part = [];
      bytes = 0;
    }
    part.push(series);
    bytes += seriesBytes;
  }
  if (part.length > 0) parts.push(part);
  return parts;
}

/** Pairs that two sorted lists have in common; in one pass, since 256 labels of each of 1,000 series would be 33 M comparisons. */
function inBoth(a: Labels, b: Labels): Labels {
  if (hasAll(b, a)) return a;
  let at = 0;
  return a.filter(([name, value]) => {
    while (at < b.length && b[at]![0] < name) at++;
    return b[at]?.[0] === name && b[at]![1] === value;
  });
}

/** Whether sorted `labels` have all of `wanted`. */
function hasAll(labels: Labels, wanted: Labels): boolean {
  let at = 0;
  for (const [name, value] of wanted) {
    while (at < labels.length && labels[at]![0] < name) at++;
    const found = labels[at++];
    if (found === undefined || found[0] !== name || found[1] !== value) return false;
  }
  return true;
}

/** Encodes the layout of series that are distinct, at least one, and ordered {@link byKey}. */
export function encodeLayout(ordered: readonly { readonly labels: Labels }[]): Buffer {
  return encodeSeries(new ByteWriter(4096), ordered);
}

/** Most bytes that the room keeps. */
const MAX_ROOM_BYTES = 1_000_000;
/** For one layout at a time. */
let room = new ByteWriter(64 * 1024);

/** The packed {@link encodeLayout}, without a buffer for the bytes. */
export function packSeries(ordered: readonly { readonly labels: Labels }[]): PackedLayout {
  const bytes = encodeSeries(room.restart(), ordered);
  if (bytes.length > MAX_ROOM_BYTES) room = new ByteWriter(64 * 1024);
  return packLayout(bytes);
}

function encodeSeries(writer: ByteWriter, ordered: readonly { readonly labels: Labels }[]): Buffer {
  const first = ordered[0];
  if (first === undefined) throw new RangeError('a layout has at least one series');
  const varying = varyingLabels(ordered);
  if (varying !== undefined) return encodeAlike(writer, ordered, varying);
  let shared = first.labels;
  for (const { labels } of ordered) shared = inBoth(shared, labels);
  const isShared = new Set(shared.map(([name]) => name));
  const names = new Map<string, number>();
  for (const { labels } of ordered)
    for (const [name] of labels) if (!isShared.has(name) && !names.has(name)) names.set(name, names.size);

  withShared(writer.byte(FORMAT).uvarint(ordered.length), shared).uvarint(names.size);
  for (const name of names.keys()) writer.text(name);
  for (const { labels } of ordered) {
    writer.uvarint(labels.length - shared.length);
    for (const [name, value] of labels) if (!isShared.has(name)) writer.uvarint(names.get(name)!).text(value);
  }
  return writer.finish();
}

/**
 * Which labels have several values, by their places.
 *
 * @returns undefined unless the series have the same label names
 */
function varyingLabels(ordered: readonly { readonly labels: Labels }[]): number[] | undefined {
  const first = ordered[0]!.labels;
  const varies = new Uint8Array(first.length);
  for (const { labels } of ordered) {
    if (labels.length !== first.length) return undefined;
    for (let i = 0; i < first.length; i++) {
      const pair = labels[i]!;
      const known = first[i]!;
      if (pair === known) continue;
      if (pair[0] !== known[0]) return undefined;
      if (varies[i] === 0 && pair[1] !== known[1]) varies[i] = 1;
    }
  }
  const varying: number[] = [];
  for (let i = 0; i < first.length; i++) if (varies[i] === 1) varying.push(i);
  return varying;
}

/** {@link encodeLayout} for series that have the same label names, as those of one exporter nearly do. */
function encodeAlike(
  writer: ByteWriter,
  ordered: readonly { readonly labels: Labels }[],
  varying: readonly number[],
): Buffer {
  const first = ordered[0]!.labels;
  const shared = first.filter((_, i) => !varying.includes(i));
  withShared(writer.byte(FORMAT).uvarint(ordered.length), shared).uvarint(varying.length);
  for (const i of varying) writer.text(first[i]![0]);
  for (const { labels } of ordered) {
    writer.uvarint(varying.length);
    for (let name = 0; name < varying.length; name++) writer.uvarint(name).text(labels[varying[name]!]![1]);
  }
  return writer.finish();
}

/** {@link encodeLayout} for series that differ in their names alone, as most sources' do. The names are distinct and ordered. */
export function encodeNamedLayout({ labels, names }: NamedSeries): Buffer {
  const [first, ...others] = names;
  if (first === undefined) throw new RangeError('a layout has at least one series');
  if (others.length > 0) return encodeLayoutOf(labels, encodeNames(names));
  // A single series shares every label, the name included.
  const shared = labelsOf([METRIC_NAME, first], ...labels);
  return withShared(new ByteWriter(4096).byte(FORMAT).uvarint(1), shared).uvarint(0).uvarint(0).finish();
}

/** The part of a layout that says how its series are named, which layouts of other labels have in common. */
export interface EncodedNames {
  readonly count: number;
  readonly bytes: Uint8Array;
}

/** @param names at least two, distinct and ordered {@link byKey} of series that differ in nothing else */
export function encodeNames(names: readonly string[]): EncodedNames {
  const writer = new ByteWriter(4096).uvarint(1).text(METRIC_NAME);
  for (const name of names) writer.uvarint(1).uvarint(0).text(name);
  return { count: names.length, bytes: Uint8Array.from(writer.finish()) };
}

/** {@link encodeNamedLayout} of names that are encoded already. */
export function encodeLayoutOf(labels: Labels, { count, bytes }: EncodedNames): Buffer {
  const writer = new ByteWriter(bytes.length + 1024).byte(FORMAT).uvarint(count);
  return withShared(writer, labels).bytes(bytes).finish();
}

function withShared(writer: ByteWriter, shared: Labels): ByteWriter {
  writer.uvarint(shared.length);
  for (const [name, value] of shared) writer.text(name).text(value);
  return writer;
}

/**
 * Reads a layout's bytes.
 *
 * @throws {MalformedBytesError} when they are not a layout
 */
export function decodeLayout(bytes: Uint8Array): Layout {
  const series = labelsInLayout(bytes);
  return assemble(bytes, series, series.map(labelsKey));
}

/**
 * The labels of each series of a layout's bytes, in their order.
 *
 * @throws {MalformedBytesError} when they are not a layout
 */
export function labelsInLayout(bytes: Uint8Array): Labels[] {
  const reader = new ByteReader(bytes);
  checkFormat(reader.byte());
  const count = reader.count(1);
  const shared = Array.from({ length: reader.count(2) }, () => [reader.text(), reader.text()] as const);
  const names = Array.from({ length: reader.count(1) }, () => reader.text());
  const series: Labels[] = [];
  for (let i = 0; i < count; i++) {
    const own = Array.from({ length: reader.count(2) }, () => {
      const index = reader.uvarint();
      const name = names[index];
      if (name === undefined) throw new MalformedBytesError(`label name ${index} of ${names.length}`);
      return [name, reader.text()] as const;
    });
    series.push(merged(shared, own));
  }
  if (reader.left !== 0) throw new MalformedBytesError(`${reader.left} bytes after the layout`);
  return series;
}

/** Both lists' pairs by name. The lists are ordered, as writers have them, or else sorted. */
function merged(a: Labels, b: Labels): Labels {
  const pairs: Labels[number][] = [];
  let isOrdered = true;
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    const pair = j === b.length || (i < a.length && a[i]![0] <= b[j]![0]) ? a[i++]! : b[j++]!;
    const last = pairs[pairs.length - 1];
    if (last !== undefined && last[0] > pair[0]) isOrdered = false;
    pairs.push(pair);
  }
  return isOrdered ? pairs : labelsOf(...pairs);
}

/**
 * The columns that a layout has for the series of another, by the bytes of both, which are compared in one pass.
 *
 * @returns undefined when it lacks one of them; 'unlike' when the series of the layouts share other labels, so that nothing is told
 */
export function columnsOfPart(whole: Uint8Array, part: Uint8Array): Uint16Array | undefined | 'unlike' {
  const [all, some] = [new SeriesBytes(whole), new SeriesBytes(part)];
  if (!all.hasSharedOf(some)) return 'unlike';
  const columns = new Uint16Array(some.count);
  let column = 0;
  for (let i = 0; i < some.count; i++) {
    some.next();
    // Both are in the order of the keys.
    for (; ; column++) {
      if (column === all.count) return undefined;
      all.next();
      if (all.isAt(some)) break;
    }
    columns[i] = column++;
  }
  return columns;
}

/** Goes through the series in a layout's bytes. */
class SeriesBytes {
  readonly count: number;
  private readonly reader: ByteReader;
  private readonly sharedStart: number;
  private readonly sharedEnd: number;
  private start = 0;
  private end = 0;

  constructor(private readonly bytes: Uint8Array) {
    const reader = new ByteReader(bytes);
    checkFormat(reader.byte());
    this.count = reader.count(1);
    this.sharedStart = reader.offset;
    for (let texts = 2 * reader.count(2); texts > 0; texts--) reader.skip(reader.count(1));
    for (let names = reader.count(1); names > 0; names--) reader.skip(reader.count(1));
    this.sharedEnd = reader.offset;
    this.reader = reader;
  }

  /** Whether the labels that all series have, and the names of the others, are the same. */
  hasSharedOf(other: SeriesBytes): boolean {
    return isEqual(
      ...([this.bytes, this.sharedStart, this.sharedEnd] as const),
      ...([other.bytes, other.sharedStart, other.sharedEnd] as const),
    );
  }

  next(): this {
    const { reader } = this;
    this.start = reader.offset;
    for (let pairs = reader.count(2); pairs > 0; pairs--) {
      reader.uvarint();
      reader.skip(reader.count(1));
    }
    this.end = reader.offset;
    return this;
  }

  /** The bytes of the series at hand, each as one character. */
  get text(): string {
    return this.reader.latin1(this.start);
  }

  /** Whether the series at hand are the same. */
  isAt(other: SeriesBytes): boolean {
    return isEqual(this.bytes, this.start, this.end, other.bytes, other.start, other.end);
  }
}

function isEqual(
  a: Uint8Array,
  aStart: number,
  aEnd: number,
  b: Uint8Array,
  bStart: number,
  bEnd: number,
): boolean {
  if (aEnd - aStart !== bEnd - bStart) return false;
  for (let i = aStart, j = bStart; i < aEnd; i++, j++) if (a[i] !== b[j]) return false;
  return true;
}

/**
 * A 53-bit hash of each series in a layout's bytes, the same in any layout: the sum of its labels' hashes. In a tenth of the
 * time that decoding takes.
 *
 * @throws {MalformedBytesError} when the bytes are not a layout
 */
export function seriesHashes(bytes: Uint8Array): Float64Array {
  const reader = new ByteReader(bytes);
  checkFormat(reader.byte());
  const count = reader.count(1);
  const pair = new PairHash(bytes);
  let sharedLow = 0;
  let sharedHigh = 0;
  for (let i = reader.count(2); i > 0; i--) {
    pair.name(reader);
    pair.value(reader);
    sharedLow = (sharedLow + pair.low) >>> 0;
    sharedHigh = (sharedHigh + pair.high) >>> 0;
  }
  const names = Array.from({ length: reader.count(1) }, () => {
    pair.name(reader);
    return pair.seed;
  });
  const hashes = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    let low = sharedLow;
    let high = sharedHigh;
    for (let left = reader.count(2); left > 0; left--) {
      const index = reader.uvarint();
      if (index >= names.length) throw new MalformedBytesError(`label name ${index} of ${names.length}`);
      pair.seed = names[index]!;
      pair.value(reader);
      low = (low + pair.low) >>> 0;
      high = (high + pair.high) >>> 0;
    }
    hashes[i] = (high >>> 11) * 2 ** 32 + low;
  }
  if (reader.left !== 0) throw new MalformedBytesError(`${reader.left} bytes after the layout`);
  return hashes;
}

/** {@link seriesHashes} of a packed layout. */
export function hashesOfPacked(packed: Uint8Array): Float64Array {
  return checkedBefore(packed)?.hashes ?? seriesHashes(unpackLayout(packed));
}

/** Hashes a label in a layout's bytes: its name to a seed, then its value. */
class PairHash {
  seed = 0;
  /** Each 32 bits. */
  low = 0;
  high = 0;

  constructor(private readonly bytes: Uint8Array) {}

  name(reader: ByteReader): void {
    const end = textEnd(reader);
    let hash = 0x9e3779b9;
    for (let at = reader.offset; at < end; at++) hash = mix(hash ^ this.bytes[at]!, 0x85ebca6b);
    this.seed = hash;
    reader.skip(end - reader.offset);
  }

  value(reader: ByteReader): void {
    const end = textEnd(reader);
    let low = this.seed;
    let high = Math.imul(this.seed, 0x1b873593);
    for (let at = reader.offset; at < end; at++) {
      const byte = this.bytes[at]!;
      low = mix(low ^ byte, 0x5bd1e995);
      high = mix(high ^ byte, 0x1b873593);
    }
    this.low = mix(low ^ (high >>> 16), 0xc2b2ae35);
    this.high = mix(high ^ (low >>> 15), 0x85ebca6b);
    reader.skip(end - reader.offset);
  }
}

/** Where a text ends whose length comes next. */
function textEnd(reader: ByteReader): number {
  const length = reader.count(1);
  return reader.offset + length;
}

function mix(hash: number, factor: number): number {
  const product = Math.imul(hash, factor);
  return product ^ (product >>> 15);
}

/** For each series of `from`, its column in `to`. @throws {RangeError} when `to` lacks a series of `from` */
export function positionsIn(from: Layout, to: Layout): Uint32Array {
  return Uint32Array.from(from.columns.keys(), (key) => {
    const column = to.columns.get(key);
    if (column === undefined) throw new RangeError(`layout ${to.id} has no ${key}`);
    return column;
  });
}

/** The layout of all series of `layouts`. */
export function unionLayout(layouts: readonly Layout[]): Layout {
  const distinct = [...new Map(layouts.map((layout) => [layout.id, layout])).values()];
  const only = distinct[0];
  if (distinct.length === 1 && only !== undefined) return only;
  const series = new Map<string, Labels>();
  for (const layout of distinct) {
    let i = 0;
    for (const key of layout.columns.keys()) series.set(key, layout.series[i++]!);
  }
  return layoutOf(series.values());
}

/** An estimate of a decoded layout's memory, for the bounds of caches. */
export function decodedBytes({ bytes, series }: Layout): number {
  return bytes.length + 500 * series.length;
}

function assemble(bytes: Uint8Array, series: readonly Labels[], keys: readonly string[]): Layout {
  const columns = new Map(keys.map((key, i) => [key, i]));
  if (columns.size !== keys.length) throw new MalformedBytesError('the layout names a series twice');
  const id = layoutIdOf(bytes);
  return { id: idText(id), idBytes: id, bytes, series, columns };
}

export function checkFormat(format: number): void {
  if (format !== FORMAT)
    throw new MalformedBytesError(`layout format ${format}, this release reads ${FORMAT}`);
}
