/**
 * The values of a block as samples of 16 bytes each: an int64 timestamp and a float64 value, little-endian, one series
 * after another. The solid form of a chunk stores samples compressed by zstd, so a chunk is never much larger than its
 * compressed samples.
 */
import { bitHalvesOf, type Cells } from './canonical';
import { type Block, CorruptChunkError } from './model';

/** Number of 32-bit words in a sample. */
const POINT_WORDS = 4;

export function writeSamples({ columns, timestamps }: Block): Uint8Array {
  let count = 0;
  for (const column of columns) count += column.values.length;
  const words = new Int32Array(count * POINT_WORDS);
  const times = new Int32Array(timestamps.length * 2);
  for (let row = 0; row < timestamps.length; row++) {
    times[2 * row] = timestamps[row]! >>> 0;
    times[2 * row + 1] = Math.floor(timestamps[row]! / 2 ** 32);
  }
  let at = 0;
  for (const { rows, values } of columns) {
    const bits = bitHalvesOf(values);
    for (let i = 0; i < values.length; i++) {
      const row = rows === undefined ? i : rows[i]!;
      words[at] = times[2 * row]!;
      words[at + 1] = times[2 * row + 1]!;
      words[at + 2] = bits[2 * i]!;
      words[at + 3] = bits[2 * i + 1]!;
      at += POINT_WORDS;
    }
  }
  return new Uint8Array(words.buffer);
}

/**
 * Decodes samples into rows and columns.
 *
 * @param bytes samples, aligned or not
 * @param counts number of samples of each series; together, the samples must fill `bytes`
 * @throws {CorruptChunkError} when the timestamps of a series do not ascend, or the number of distinct
 *   timestamps is not `rowCount`
 */
export function readSamples(
  bytes: Uint8Array,
  counts: readonly number[],
  rowCount: number,
): { timestamps: Float64Array; cells: Cells[] } {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  const words = new Int32Array(aligned.buffer, aligned.byteOffset, aligned.length >> 2);
  const times = new Float64Array(words.length / POINT_WORDS);
  for (let i = 0; i < times.length; i++) {
    times[i] = words[i * POINT_WORDS + 1]! * 2 ** 32 + (words[i * POINT_WORDS]! >>> 0);
    if (!Number.isSafeInteger(times[i]!))
      throw new CorruptChunkError(`timestamp ${times[i]} is beyond 2^53 - 1`);
  }
  const timestamps = distinct(times);
  if (timestamps.length !== rowCount) {
    throw new CorruptChunkError(`samples of ${timestamps.length} rows, not ${rowCount}`);
  }
  let start = 0;
  const cells = counts.map((count): Cells => {
    const rows = new Uint32Array(count);
    const values = new Float64Array(count);
    const bits = bitHalvesOf(values);
    for (let i = 0, row = 0; i < count; i++, row++) {
      const at = start + i;
      while (row < rowCount && timestamps[row]! < times[at]!) row++;
      if (row === rowCount || timestamps[row] !== times[at]) {
        throw new CorruptChunkError(`timestamp ${times[at]} is out of order`);
      }
      rows[i] = row;
      bits[2 * i] = words[at * POINT_WORDS + 2]!;
      bits[2 * i + 1] = words[at * POINT_WORDS + 3]!;
    }
    start += count;
    return { rows: count === rowCount ? undefined : rows, values };
  });
  return { timestamps, cells };
}

/** Returns the distinct times, ascending. */
function distinct(times: Float64Array): Float64Array {
  const sorted = times.slice().sort();
  let count = 0;
  for (let i = 0; i < sorted.length; i++) {
    if (i === 0 || sorted[i] !== sorted[i - 1]) sorted[count++] = sorted[i]!;
  }
  return sorted.slice(0, count);
}

/**
 * Whether a columnar chunk of `length` bytes is certain to be within the format's bound on a chunk's size. If so, the
 * encoder need not try the solid form. The bound is the size of the samples compressed by zstd, plus some bytes for the
 * chunk and for each series. This function underestimates the compressed size. It counts half a byte for each
 * timestamp, one more byte if several of the timestamp's bytes differ from those of the previous row, and one byte for
 * each distinct value. (The smallest sizes measured were 0.85 and 1.88 bytes for a timestamp, and 2 bytes for a value.)
 */
export function isWithinBound(length: number, { columns, timestamps }: Block): boolean {
  let floor = BOUND_BYTES + BOUND_BYTES_PER_SERIES * columns.length + timestamps.length / 2;
  for (let row = 1; row < timestamps.length; row++) {
    const changed = (timestamps[row]! ^ timestamps[row - 1]!) >>> 0;
    // Whether at least two of the four low bytes changed.
    if ((changed & 0xff) !== 0 ? changed > 0xff : (changed & 0xff00) !== 0 && changed > 0xffff) floor++;
  }
  if (length <= floor) return true;
  let most = floor;
  for (const { values } of columns) most += values.length;
  return length <= most && length <= floor + leastDistinct(columns);
}

/** The constant part of the bound, in bytes. */
const BOUND_BYTES = 64;
/** The part of the bound that is added for each series, in bytes. */
const BOUND_BYTES_PER_SERIES = 4;

const MAX_SEEN_BITS = 16;
/** Hash table of {@link leastDistinct}: 1 for each hash that occurs among the values. */
const seen = new Uint8Array(1 << MAX_SEEN_BITS);

/** Returns a lower bound on the number of distinct values: the number of distinct hashes. */
function leastDistinct(columns: Block['columns']): number {
  let samples = 0;
  for (const { values } of columns) samples += values.length;
  const seenBits = Math.min(MAX_SEEN_BITS, 36 - Math.clz32(samples));
  seen.fill(0, 0, 1 << seenBits);
  let count = 0;
  for (const { values } of columns) {
    const bits = bitHalvesOf(values);
    for (let i = 0; i < bits.length; i += 2) {
      const hash =
        (Math.imul(bits[i]!, 0x9e3779b1) ^ Math.imul(bits[i + 1]!, 0x85ebca6b)) >>> (32 - seenBits);
      if (seen[hash] === 0) {
        seen[hash] = 1;
        count++;
      }
    }
  }
  return count;
}
