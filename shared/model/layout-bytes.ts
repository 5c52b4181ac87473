import { ByteReader, ByteWriter, MalformedBytesError } from './bytes';
import { concat } from './columns';
import { idBytes } from './id';
import { type Labels, labelsOf, METRIC_NAME } from './labels';

/**
 * The format of a layout: a list of series, as labels. Labels that all series share are written once.
 *
 *     byte     format version, 1
 *     uvarint  number of series
 *     uvarint  number of pairs that every series has; each: text name, text value
 *     uvarint  number of label names in the other pairs; each: text
 *     series   uvarint number of pairs; each: uvarint index of its name, text value
 *
 * Series are sorted by their {@link labelsKey}. So equal series always have equal bytes, and the hash of the
 * bytes can be the layout's id.
 */
const FORMAT = 1;

/** Returns the id of a layout, as bytes: the hash of the layout's bytes. */
export function layoutIdOf(bytes: Uint8Array): Buffer {
  return idBytes('layout', bytes);
}

/** Reads the number of series from the bytes of a layout, without decoding the series. */
export function seriesCountOf(bytes: Uint8Array): number {
  const reader = new ByteReader(bytes);
  checkFormat(reader.byte());
  return reader.count(1);
}

/**
 * Checks that bytes are a layout of distinct series, in a fifth of the time that decoding them takes.
 *
 * @returns the {@link seriesHashes}
 * @throws {MalformedBytesError} when the bytes are not a layout, or the series are not distinct
 */
export function checkLayout(bytes: Uint8Array): Float64Array {
  const hashes = seriesHashes(bytes);
  if (hashes.length === 0) throw new MalformedBytesError('the layout has no series');
  // Different series may have the same hash, so compare their bytes before refusing the layout.
  if (distinctHashes([hashes]).length < hashes.length) checkDistinct(bytes);
  return hashes;
}

/** Throws if two series of a layout have the same bytes. */
function checkDistinct(bytes: Uint8Array): void {
  const series = new SeriesBytes(bytes);
  const distinct = new Set<string>();
  for (let i = 0; i < series.count; i++) distinct.add(series.next().text);
  if (distinct.size !== series.count) throw new MalformedBytesError('the layout names a series twice');
}

/** Encodes a layout of distinct series, at least one, sorted by {@link labelsKey}. */
export function encodeLayout(ordered: readonly { readonly labels: Labels }[]): Buffer {
  const first = ordered[0];
  if (first === undefined) throw new RangeError('a layout has at least one series');
  let shared = first.labels;
  for (const { labels } of ordered) shared = inBoth(shared, labels);
  const names = new Map<string, number>();
  for (const { labels } of ordered)
    for (const [name] of without(labels, shared)) if (!names.has(name)) names.set(name, names.size);

  const writer = new ByteWriter(4096).byte(FORMAT).uvarint(ordered.length);
  withShared(writer, shared).uvarint(names.size);
  for (const name of names.keys()) writer.text(name);
  for (const { labels } of ordered) {
    writer.uvarint(labels.length - shared.length);
    for (const [name, value] of without(labels, shared)) writer.uvarint(names.get(name)!).text(value);
  }
  return writer.finish();
}

/**
 * The encoded names of series that differ only in their names: the last part of a layout's bytes. This part contains no
 * labels of a host, so hosts whose series have the same names share one object.
 */
export interface EncodedNames {
  readonly count: number;
  readonly bytes: Uint8Array;
}

/**
 * Encodes the names of series that differ only in their names: at least two, distinct, sorted by their JSON.
 */
export function encodeNames(names: readonly string[]): EncodedNames {
  const writer = new ByteWriter(4096).uvarint(1).text(METRIC_NAME);
  for (const name of names) writer.uvarint(1).uvarint(0).text(name);
  return { count: names.length, bytes: Uint8Array.from(writer.finish()) };
}

/**
 * Like {@link encodeLayout}, but faster. The series must share `labels` and differ only in their names, as the series
 * of most sources do.
 */
export function encodeLayoutOf(labels: Labels, { count, bytes }: EncodedNames): Buffer {
  const writer = new ByteWriter(bytes.length + 1024).byte(FORMAT).uvarint(count);
  return withShared(writer, labels).bytes(bytes).finish();
}

/**
 * Returns the labels that two sorted lists have in common, in one pass. Comparing each label with every other label
 * would take 33 million comparisons for 1,000 series of 256 labels.
 */
function inBoth(a: Labels, b: Labels): Labels {
  if (hasAll(b, a)) return a;
  let at = 0;
  return a.filter(([name, value]) => {
    while (at < b.length && b[at]![0] < name) at++;
    return b[at]?.[0] === name && b[at]![1] === value;
  });
}

/** Returns the labels of a series that the sorted list `shared` lacks. The series has all labels of `shared`. */
function without(labels: Labels, shared: Labels): Labels {
  let at = 0;
  return labels.filter(([name]) => {
    if (shared[at]?.[0] !== name) return true;
    at++;
    return false;
  });
}

/** Whether the sorted list `labels` has all labels of the sorted list `wanted`. */
function hasAll(labels: Labels, wanted: Labels): boolean {
  let at = 0;
  for (const [name, value] of wanted) {
    while (at < labels.length && labels[at]![0] < name) at++;
    const found = labels[at++];
    if (found === undefined || found[0] !== name || found[1] !== value) return false;
  }
  return true;
}

function withShared(writer: ByteWriter, shared: Labels): ByteWriter {
  writer.uvarint(shared.length);
  for (const [name, value] of shared) writer.text(name).text(value);
  return writer;
}

/**
 * Decodes the labels of each series of a layout, in order.
 *
 * @throws {MalformedBytesError} when the bytes are not a layout
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
    series.push(mergeLabels(shared, own));
  }
  if (reader.remaining !== 0) throw new MalformedBytesError(`${reader.remaining} bytes after the layout`);
  return series;
}

/** Merges two lists of labels by name. The lists should be sorted; if one is not, sorts the result. */
function mergeLabels(a: Labels, b: Labels): Labels {
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
 * Finds the columns that the series of the layout `part` have in the layout `whole`. Compares the bytes of
 * the two layouts in one pass, without decoding them.
 *
 * @returns undefined if `whole` lacks one of the series; 'unlike' if the layouts have different shared labels
 *   or label names, so that equal series have different bytes
 */
export function columnsOfPart(whole: Uint8Array, part: Uint8Array): Uint16Array | undefined | 'unlike' {
  const [all, some] = [new SeriesBytes(whole), new SeriesBytes(part)];
  if (!all.hasSharedOf(some)) return 'unlike';
  const columns = new Uint16Array(some.count);
  let column = 0;
  for (let i = 0; i < some.count; i++) {
    some.next();
    // Both layouts are sorted by their series' keys. So if `whole` has the series, the series is after the previous
    // match.
    for (; ; column++) {
      if (column === all.count) return undefined;
      all.next();
      if (all.isAt(some)) break;
    }
    columns[i] = column++;
  }
  return columns;
}

/** Goes through the series in the bytes of a layout, without decoding them. */
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

  /** Whether both layouts have the same shared labels and the same label names. */
  hasSharedOf(other: SeriesBytes): boolean {
    return isEqual(
      ...([this.bytes, this.sharedStart, this.sharedEnd] as const),
      ...([other.bytes, other.sharedStart, other.sharedEnd] as const),
    );
  }

  /** Goes to the next series. */
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

  /** The bytes of the current series, as a string with one character for each byte. */
  get text(): string {
    return this.reader.latin1(this.start);
  }

  /** Whether the current series of the two layouts have equal bytes. */
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
 * Computes a 53-bit hash of each series in the bytes of a layout, in a tenth of the time that decoding the layout
 * takes. The hash is the sum of the hashes of the series' labels, so a series has the same hash in every layout.
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
  if (reader.remaining !== 0) throw new MalformedBytesError(`${reader.remaining} bytes after the layout`);
  return hashes;
}

/**
 * Returns the distinct hashes in several lists, sorted. A `Set` would be slow for hashes that a sender chose: it
 * assigns numbers to slots by a publicly known function, and 65,536 hashes that share one slot take 5 s.
 */
export function distinctHashes(lists: readonly Float64Array[]): Float64Array {
  const all = concat(lists).sort();
  let count = 0;
  for (const hash of all) if (count === 0 || hash !== all[count - 1]) all[count++] = hash;
  return all.slice(0, count);
}

/** Merges two lists of hashes, each ascending and distinct, into one. */
export function mergeHashes(a: Float64Array, b: Float64Array): Float64Array {
  const merged = new Float64Array(a.length + b.length);
  let count = 0;
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    const next = j === b.length || a[i]! <= b[j]! ? a[i]! : b[j]!;
    if (a[i] === next) i++;
    if (b[j] === next) j++;
    merged[count++] = next;
  }
  return merged.slice(0, count);
}

/** Hashes a label in the bytes of a layout: first its name, which gives a seed, then its value. */
class PairHash {
  seed = 0;
  /** The two halves of the hash, 32 bits each. */
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

/** Reads the length of a string. Returns the offset of the string's end. */
function textEnd(reader: ByteReader): number {
  const length = reader.count(1);
  return reader.offset + length;
}

function mix(hash: number, factor: number): number {
  const product = Math.imul(hash, factor);
  return product ^ (product >>> 15);
}

export function checkFormat(format: number): void {
  if (format !== FORMAT)
    throw new MalformedBytesError(`layout format ${format}, this release reads ${FORMAT}`);
}
