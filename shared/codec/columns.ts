/**
 * Encodes each column of a chunk separately, and a directory of the columns' positions, so that a reader can decode a
 * single column.
 */
import { crc32 } from 'node:zlib';
import { type BitReader, BitWriter } from './bits';
import { readIntegers, writeIntegers } from './integers';
import { type Block, CorruptChunkError } from './model';
import { readValues, writeValues } from './values';
import { isIndex } from './versions';

const columnWriter = new BitWriter();

/**
 * Writes the directory, then the bytes of the columns. The directory has a number for each column: its size in bytes. A
 * column with the same bytes as an earlier column is not written again. Instead, its number is negative: -3 refers to
 * the column three positions before it.
 */
export function writeColumns(writer: BitWriter, { columns }: Block): void {
  columnWriter.reset();
  const entries = new Float64Array(columns.length);
  const starts = new Float64Array(columns.length);
  const known = new Map<number, number[]>();
  for (let i = 0; i < columns.length; i++) {
    const start = columnWriter.length;
    starts[i] = start;
    writeValues(columnWriter, columns[i]!.values);
    columnWriter.align();
    const length = columnWriter.length - start;
    entries[i] = length;
    if (length === 0 || columns.length === 1) continue;
    const hash = crc32(columnWriter.bytes.subarray(start, columnWriter.length));
    const alike = known.get(hash);
    const twin = alike?.find(
      (j) =>
        entries[j] === length &&
        columns[j]!.values.length === columns[i]!.values.length &&
        isSame(columnWriter.bytes, starts[j]!, start, length),
    );
    if (twin !== undefined) {
      columnWriter.length = start;
      entries[i] = twin - i;
    } else if (alike !== undefined) alike.push(i);
    else known.set(hash, [i]);
  }
  writeIntegers(writer, entries, entries.length);
  writer.writeBytes(columnWriter.bytes.subarray(0, columnWriter.length));
}

function isSame(bytes: Uint8Array, a: number, b: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (bytes[a + i] !== bytes[b + i]) return false;
  return true;
}

/** The decoded directory: the position of each column, as byte offsets in the chunk. */
export interface ColumnDirectory {
  /** For each series, the series whose bytes it uses: itself, or an earlier series with equal bytes. */
  readonly sources: Uint32Array;
  /** Offset of the first byte of each series that has bytes of its own. */
  readonly starts: Float64Array;
  /** Number of bytes of each series that has bytes of its own. */
  readonly lengths: Float64Array;
  /** The byte just past the last column. */
  readonly end: number;
}

/**
 * Reads the directory.
 *
 * @param valueCounts number of values of each series
 * @throws {CorruptChunkError} when an entry is impossible
 */
export function readDirectory(reader: BitReader, valueCounts: readonly number[]): ColumnDirectory {
  const seriesCount = valueCounts.length;
  const lengths = new Float64Array(seriesCount);
  readIntegers(reader, lengths, 0, seriesCount);
  reader.align();
  const sources = new Uint32Array(seriesCount);
  const starts = new Float64Array(seriesCount);
  let end = reader.position / 8;
  for (let i = 0; i < seriesCount; i++) {
    const entry = lengths[i]!;
    starts[i] = end;
    const source = entry < 0 ? i + entry : i;
    const isGood =
      source === i
        ? isIndex(entry, reader.endByte - end + 1) && (entry > 0 || valueCounts[i] === 0)
        : isIndex(source, i) && lengths[source]! > 0 && valueCounts[source] === valueCounts[i];
    if (!isGood) throw new CorruptChunkError(`directory's entry ${i} of ${seriesCount} is ${entry}`);
    sources[i] = source;
    if (source === i) end += entry;
  }
  return { sources, starts, lengths, end };
}

/**
 * Decodes the values of the series with indexes in the half-open range `[first, end)`. Series with the same
 * bytes share an array.
 *
 * @throws {CorruptChunkError}
 */
export function readColumns(
  reader: BitReader,
  { sources, starts, lengths }: ColumnDirectory,
  valueCounts: readonly number[],
  first: number,
  end: number,
): Float64Array[] {
  const isShared = (i: number) => sources[i]! < i && sources[i]! >= first;
  let total = 0;
  for (let i = first; i < end; i++) if (!isShared(i)) total += valueCounts[i]!;
  const all = new Float64Array(total);
  const columns: Float64Array[] = [];
  let used = 0;
  for (let i = first; i < end; i++) {
    const source = sources[i]!;
    if (isShared(i)) {
      columns.push(columns[source - first]!);
      continue;
    }
    const count = valueCounts[i]!;
    const values = count === total ? all : all.subarray(used, used + count);
    used += count;
    reader.moveTo(starts[source]!, starts[source]! + lengths[source]!);
    readValues(reader, values);
    reader.align();
    if (reader.position !== reader.endByte * 8) {
      throw new CorruptChunkError(`series ${i} ends at bit ${reader.position}, not byte ${reader.endByte}`);
    }
    columns.push(values);
  }
  return columns;
}
