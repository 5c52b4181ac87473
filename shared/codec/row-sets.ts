/**
 * Encodes in which rows of a chunk each series has values. Because many series lack values in the same rows, each
 * distinct set of rows is written once, and each series refers to its set.
 */
import type { BitReader, BitWriter } from './bits';
import { readIntegers, writeIntegers } from './integers';
import { type Block, CorruptChunkError } from './model';
import { isIndex } from './versions';

/** Writes the row sets. In most blocks, every series has a value in every row, which takes one bit. */
export function writeRowSets(writer: BitWriter, { columns, timestamps }: Block): void {
  const sets: Uint32Array[] = [];
  const known = new Map<string, number>();
  const setOf = new Float64Array(columns.length);
  for (let i = 0; i < columns.length; i++) {
    const { rows } = columns[i]!;
    if (rows === undefined) continue;
    const key = String(rows);
    let set = known.get(key);
    if (set === undefined) {
      set = sets.push(rows);
      known.set(key, set);
    }
    setOf[i] = set;
  }
  writer.write(sets.length > 0 ? 1 : 0, 1);
  if (sets.length === 0) return;
  writer.writeUnsigned(sets.length);
  for (const rows of sets) {
    const listsMissing = rows.length * 2 > timestamps.length;
    const listed = Float64Array.from(listsMissing ? complement(rows, timestamps.length) : rows);
    writer.write(listsMissing ? 1 : 0, 1);
    writer.writeUnsigned(listed.length);
    writeIntegers(writer, listed, listed.length);
  }
  writeIntegers(writer, setOf, setOf.length);
}

/** Returns the rows from 0 to `rowCount - 1` that `rows` lacks. */
function complement(rows: Uint32Array, rowCount: number): Uint32Array {
  const others = new Uint32Array(rowCount - rows.length);
  for (let row = 0, i = 0, count = 0; row < rowCount; row++) {
    if (rows[i] === row) i++;
    else others[count++] = row;
  }
  return others;
}

/**
 * Reads the rows in which each series has values.
 *
 * @param maxValues maximum number of values of all series together; checked before allocating
 * @returns the rows of each series; undefined if it has a value in every row. Series with the same set share an array
 * @throws {CorruptChunkError}
 */
export function readRowSets(
  reader: BitReader,
  seriesCount: number,
  rowCount: number,
  maxValues: number,
): (Uint32Array | undefined)[] {
  const rowsOf: (Uint32Array | undefined)[] = new Array(seriesCount).fill(undefined);
  let values = 0;
  const take = (count: number): void => {
    values += count;
    if (values > maxValues) throw new CorruptChunkError(`${values} values or more exceed ${maxValues}`);
  };
  if (reader.read(1) === 0) {
    take(seriesCount * rowCount);
    return rowsOf;
  }
  const setCount = reader.readUnsigned();
  if (setCount > seriesCount) throw new CorruptChunkError(`${setCount} row sets for ${seriesCount} series`);
  const sets: (Uint32Array | undefined)[] = [undefined];
  let total = 0;
  for (let set = 0; set < setCount; set++) {
    const listsMissing = reader.read(1) === 1;
    const count = reader.readUnsigned();
    // A writer never lists more than half of the rows: in that case, it lists the missing rows instead.
    if (count * 2 > rowCount) throw new CorruptChunkError(`row set of ${count} in ${rowCount} rows`);
    total += listsMissing ? rowCount - count : count;
    if (total > maxValues) throw new CorruptChunkError(`row sets of ${total} rows exceed ${maxValues}`);
    const listed = readRows(reader, count, rowCount);
    sets.push(listsMissing ? complement(listed, rowCount) : listed);
  }
  const setOf = new Float64Array(seriesCount);
  readIntegers(reader, setOf, 0, seriesCount);
  for (let i = 0; i < seriesCount; i++) {
    const set = setOf[i]!;
    if (!isIndex(set, sets.length))
      throw new CorruptChunkError(`series ${i} has row set ${set} of ${setCount}`);
    rowsOf[i] = sets[set];
    take(rowsOf[i]?.length ?? rowCount);
  }
  return rowsOf;
}

/** Reads a list of `count` rows, which must ascend and be below `rowCount`. */
function readRows(reader: BitReader, count: number, rowCount: number): Uint32Array {
  const integers = new Float64Array(count);
  readIntegers(reader, integers, 0, count);
  const rows = new Uint32Array(count);
  for (let i = 0; i < count; i++) {
    const row = integers[i]!;
    if (!isIndex(row, rowCount) || (i > 0 && row <= rows[i - 1]!)) {
      throw new CorruptChunkError(`row ${row} of ${rowCount} is out of order`);
    }
    rows[i] = row;
  }
  return rows;
}
