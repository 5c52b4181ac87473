/**
 * Encodes the values of a column. The kind of data can change within a column, so the values are divided into segments,
 * and each segment has its own form: a constant, decimals (decimals.ts), a dictionary of distinct values, or halves.
 * Halves are two sequences of integers: the upper and the lower 32 bits of each value.
 */
import { type BitReader, type BitWriter, bitLength } from './bits';
import { bitHalvesOf } from './canonical';
import {
  type Decimals,
  denominator,
  FACTORS,
  findDecimals,
  isNoisy,
  MAX_EXPONENT,
  MAX_FACTORED_EXPONENT,
} from './decimals';
import { readIntegers, writeIntegers } from './integers';
import { CorruptChunkError } from './model';

/** Maximum number of values in a segment. A column has as few segments as possible, of about equal length. */
const MAX_SEGMENT = 768;

// The forms of a segment, as stored.
const CONSTANT = 0;
const DECIMALS = 1;
const HALVES = 2;
const DICTIONARY = 3;

// Scratch arrays for the halves of a segment's values, reused by all calls.
const highs = new Float64Array(MAX_SEGMENT);
const lows = new Float64Array(MAX_SEGMENT);

/** Writes the values of a column. Does not write how many there are; the reader must know the number. */
export function writeValues(writer: BitWriter, values: Float64Array): void {
  const segments = Math.ceil(values.length / MAX_SEGMENT);
  for (let segment = 0; segment < segments; segment++) {
    writeSegment(writer, values.subarray(...segmentBounds(values.length, segments, segment)));
  }
}

/** Returns the half-open range of a segment's values in the column. */
function segmentBounds(count: number, segments: number, segment: number): [start: number, end: number] {
  return [Math.floor((count * segment) / segments), Math.floor((count * (segment + 1)) / segments)];
}

function writeSegment(writer: BitWriter, values: Float64Array): void {
  const bits = bitHalvesOf(values);
  const signedBits = new Int32Array(bits.buffer, bits.byteOffset, bits.length);
  const decimals = findDecimals(values, signedBits);
  if (decimals !== undefined && !decimals.hasUlps) {
    writeDecimals(writer, decimals, bits, values.length);
    return;
  }
  if (isConstant(bits)) {
    writer.write(CONSTANT, 2);
    writeBits(writer, bits, 0);
    return;
  }
  const forms: ((writer: BitWriter) => void)[] = [];
  if (decimals !== undefined) forms.push(() => writeDecimals(writer, decimals, bits, values.length));
  if (decimals === undefined || isNoisy(decimals, values.length)) {
    const dictionary = findDictionary(bits);
    if (dictionary !== undefined) forms.push(() => writeDictionary(writer, dictionary, values.length));
    forms.push(() => {
      writer.write(HALVES, 2);
      writeHalves(writer, bits);
    });
  }
  writeSmallest(writer, forms);
}

/** Tries several forms by writing each in turn, and leaves the smallest in the stream. */
function writeSmallest(writer: BitWriter, forms: readonly ((writer: BitWriter) => void)[]): void {
  const { length, pending, pendingCount } = writer;
  const start = writer.bitLength;
  let best = 0;
  let leastBits = Number.POSITIVE_INFINITY;
  for (let form = 0; form < forms.length; form++) {
    Object.assign(writer, { length, pending, pendingCount });
    forms[form]!(writer);
    const written = writer.bitLength - start;
    if (written < leastBits) {
      leastBits = written;
      best = form;
    }
  }
  if (best === forms.length - 1) return;
  Object.assign(writer, { length, pending, pendingCount });
  forms[best]!(writer);
}

/** Whether all values have the same bits. */
function isConstant(bits: Uint32Array): boolean {
  for (let i = 2; i < bits.length; i++) if (bits[i] !== bits[i & 1]) return false;
  return true;
}

function writeBits(writer: BitWriter, bits: Uint32Array, index: number): void {
  writer.writeLong(bits[2 * index]!, 32);
  writer.writeLong(bits[2 * index + 1]!, 32);
}

function writeDecimals(writer: BitWriter, decimals: Decimals, bits: Uint32Array, count: number): void {
  const { factor, exponent, isProduct, mantissas, hasUlps, ulps, exceptionCount, exceptions } = decimals;
  writer.write(DECIMALS, 2);
  if (factor === 1) writer.write(exponent, EXPONENT_BITS);
  else {
    writer.write(FACTORED, EXPONENT_BITS);
    writer.write(FACTORS.indexOf(factor as (typeof FACTORS)[number]), 2);
    writer.write(exponent, EXPONENT_BITS);
  }
  writer.write((isProduct ? 1 : 0) | (hasUlps ? 2 : 0) | (exceptionCount > 0 ? 4 : 0), 3);
  writeIntegers(writer, mantissas, count);
  if (hasUlps) writeIntegers(writer, ulps, count);
  if (exceptionCount === 0) return;
  writer.write(exceptionCount - 1, EXCEPTION_COUNT_BITS);
  for (let i = 0; i < exceptionCount; i++) {
    writer.write(exceptions[i]!, bitLength(count - 1));
    writeBits(writer, bits, exceptions[i]!);
  }
}

const EXPONENT_BITS = 5;
/** Stored instead of an exponent if a factor other than 1 and its exponent follow: see {@link FACTORS}. */
const FACTORED = 31;
/** Size of the exception count, in bits. At most about a sixteenth of a segment's values may be exceptions. */
const EXCEPTION_COUNT_BITS = 7;

function writeHalves(writer: BitWriter, bits: Uint32Array): void {
  const count = bits.length >> 1;
  for (let i = 0; i < count; i++) {
    lows[i] = bits[2 * i]!;
    highs[i] = bits[2 * i + 1]!;
  }
  writeIntegers(writer, highs, count);
  writeIntegers(writer, lows, count);
}

/**
 * The distinct values of a segment, and, for each value of the segment, the index of the distinct value that equals it.
 */
interface Dictionary {
  /** The bits of the distinct values as halves, in the order of their first appearance. */
  readonly entries: Uint32Array;
  /** For each value of the segment, its index in `entries`. */
  readonly indexes: Float64Array;
}

const dictionaryIndexes = new Float64Array(MAX_SEGMENT);
const dictionaryEntries = new Uint32Array(MAX_SEGMENT);
/** Hash table with open addressing. An element is 0 if the slot is free, otherwise 1 + the index of the entry there. */
const slots = new Uint16Array(4096);

/** Builds the dictionary of a segment. Returns undefined if more than a third of the values are distinct. */
function findDictionary(bits: Uint32Array): Dictionary | undefined {
  const count = bits.length >> 1;
  const most = Math.floor(count / 3);
  slots.fill(0);
  let size = 0;
  for (let i = 0; i < count; i++) {
    const low = bits[2 * i]!;
    const high = bits[2 * i + 1]!;
    let slot = (Math.imul(low, 0x9e3779b1) ^ Math.imul(high, 0x85ebca6b)) >>> 20;
    for (; ; slot = (slot + 1) & 4095) {
      const entry = slots[slot]! - 1;
      if (entry < 0) {
        if (size === most) return undefined;
        dictionaryEntries[2 * size] = low;
        dictionaryEntries[2 * size + 1] = high;
        slots[slot] = ++size;
        dictionaryIndexes[i] = size - 1;
        break;
      }
      if (dictionaryEntries[2 * entry] === low && dictionaryEntries[2 * entry + 1] === high) {
        dictionaryIndexes[i] = entry;
        break;
      }
    }
  }
  return { entries: dictionaryEntries.subarray(0, 2 * size), indexes: dictionaryIndexes };
}

function writeDictionary(writer: BitWriter, { entries, indexes }: Dictionary, count: number): void {
  writer.write(DICTIONARY, 2);
  writer.write(entries.length >> 1, DICTIONARY_SIZE_BITS);
  writeHalves(writer, entries);
  writeIntegers(writer, indexes, count);
}

/** Size of the entry count, in bits. */
const DICTIONARY_SIZE_BITS = 9;

/**
 * Reads the values of a column until `into` is full.
 *
 * @throws {CorruptChunkError}
 */
export function readValues(reader: BitReader, into: Float64Array): void {
  const segments = Math.ceil(into.length / MAX_SEGMENT);
  const bits = bitHalvesOf(into);
  for (let segment = 0; segment < segments; segment++) {
    const [start, end] = segmentBounds(into.length, segments, segment);
    const form = reader.read(2);
    if (form === DECIMALS) readDecimals(reader, into, bits, start, end);
    else if (form === CONSTANT) {
      readBits(reader, bits, start);
      const low = bits[2 * start]!;
      const high = bits[2 * start + 1]!;
      for (let i = 2 * start; i < 2 * end; i += 2) {
        bits[i] = low;
        bits[i + 1] = high;
      }
    } else if (form === HALVES) readHalves(reader, bits, start, end);
    else readDictionary(reader, bits, start, end);
  }
}

function readBits(reader: BitReader, bits: Uint32Array, index: number): void {
  bits[2 * index] = reader.readLong(32);
  bits[2 * index + 1] = reader.readLong(32);
}

function readDecimals(
  reader: BitReader,
  into: Float64Array,
  bits: Uint32Array,
  start: number,
  end: number,
): void {
  let factor = 1;
  let exponent = reader.read(EXPONENT_BITS);
  if (exponent === FACTORED) {
    factor = FACTORS[reader.read(2)]!;
    exponent = reader.read(EXPONENT_BITS);
  }
  if (exponent > (factor === 1 ? MAX_EXPONENT : MAX_FACTORED_EXPONENT)) {
    throw new CorruptChunkError(`denominator of ${factor} times 10^${exponent}`);
  }
  const flags = reader.read(3);
  const count = end - start;
  readIntegers(reader, into, start, count);
  const divisor = denominator(factor, exponent);
  if ((flags & 1) !== 0) {
    const inverse = 1 / divisor;
    for (let i = start; i < end; i++) into[i] = into[i]! * inverse;
  } else if (divisor !== 1) {
    for (let i = start; i < end; i++) into[i] = into[i]! / divisor;
  }
  if ((flags & 2) !== 0) {
    readIntegers(reader, lows, 0, count);
    for (let i = 0; i < count; i++) {
      const ulps = lows[i]!;
      if (ulps === 0) continue;
      const low = bits[2 * (start + i)]! + ulps;
      bits[2 * (start + i)] = low;
      bits[2 * (start + i) + 1]! += Math.floor(low / 2 ** 32);
    }
  }
  if ((flags & 4) === 0) return;
  const exceptionCount = reader.read(EXCEPTION_COUNT_BITS) + 1;
  for (let i = 0; i < exceptionCount; i++) {
    const index = reader.read(bitLength(count - 1));
    if (index >= count) throw new CorruptChunkError(`exception at ${index} of ${count} values`);
    readBits(reader, bits, start + index);
  }
}

function readHalves(reader: BitReader, bits: Uint32Array, start: number, end: number): void {
  const count = end - start;
  readIntegers(reader, highs, 0, count);
  readIntegers(reader, lows, 0, count);
  for (let i = 0; i < count; i++) {
    bits[2 * (start + i)] = lows[i]!;
    bits[2 * (start + i) + 1] = highs[i]!;
  }
}

function readDictionary(reader: BitReader, bits: Uint32Array, start: number, end: number): void {
  const size = reader.read(DICTIONARY_SIZE_BITS);
  if (size > MAX_SEGMENT / 2) throw new CorruptChunkError(`dictionary of ${size} values`);
  readHalves(reader, dictionaryEntries, 0, size);
  const count = end - start;
  readIntegers(reader, lows, 0, count);
  for (let i = 0; i < count; i++) {
    const entry = lows[i]!;
    if (!(entry >= 0 && entry < size))
      throw new CorruptChunkError(`entry ${entry} of a dictionary of ${size}`);
    bits[2 * (start + i)] = dictionaryEntries[2 * entry]!;
    bits[2 * (start + i) + 1] = dictionaryEntries[2 * entry + 1]!;
  }
}
