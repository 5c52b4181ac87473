/** Encodes the overrides of a chunk: the versions of values whose version differs from their row's. */
import type { BitReader, BitWriter } from './bits';
import { readIntegers, writeIntegers } from './integers';
import { type Block, CorruptChunkError } from './model';
import { isIndex } from './versions';

export interface Overrides {
  /** Indexes, in the series' column, of the values whose version differs from their row's; ascending. */
  readonly cells: Uint32Array;
  /** The version of each value at `cells`, as an index in the chunk's versions. */
  readonly versions: Uint32Array;
}

/** Writes the overrides of a block. Most blocks have none, which takes two bits. */
export function writeOverrides(writer: BitWriter, block: Block): void {
  const overridden = [...block.columns.keys()].filter((i) => block.columns[i]!.versions !== undefined);
  writer.write(overridden.length > 0 ? 1 : 0, 2);
  if (overridden.length > 0) writeOverridden(writer, block, overridden);
}

function writeOverridden(
  writer: BitWriter,
  { columns, rowVersions }: Block,
  overridden: readonly number[],
): void {
  writer.writeUnsigned(overridden.length);
  writeIntegers(writer, Float64Array.from(overridden), overridden.length);
  const known = new Map<string, number>();
  for (const [i, series] of overridden.entries()) {
    const { rows, versions } = columns[series]!;
    const isOverride = (version: number, cell: number) =>
      version !== rowVersions[rows === undefined ? cell : rows[cell]!];
    const cells = Uint32Array.from(versions!.keys()).filter((cell) => isOverride(versions![cell]!, cell));
    const own = cells.map((cell) => versions![cell]!);
    // In a pool's group, the series of one source often have equal overrides. In that case, a later series refers to an
    // earlier one.
    const key = `${cells};${own}`;
    const twin = known.get(key);
    writer.write(twin === undefined ? 0 : 1, 1);
    if (twin !== undefined) {
      writer.writeUnsigned(i - twin);
      continue;
    }
    known.set(key, i);
    writer.writeUnsigned(cells.length);
    writeIntegers(writer, Float64Array.from(cells), cells.length);
    writeIntegers(writer, Float64Array.from(own), own.length);
  }
}

/**
 * Reads the overrides of a chunk.
 *
 * @param valueCounts number of values of each series
 * @returns the overrides of each series that has any, by the series' index
 * @throws {CorruptChunkError}
 */
export function readOverrides(
  reader: BitReader,
  valueCounts: readonly number[],
  versionCount: number,
): ReadonlyMap<number, Overrides> {
  const flag = reader.read(2);
  if (flag > 1) throw new CorruptChunkError(`overrides are announced by ${flag}; 0 and 1 are known`);
  const overrides = new Map<number, Overrides>();
  if (flag === 1) readOverridden(reader, valueCounts, versionCount, overrides);
  return overrides;
}

function readOverridden(
  reader: BitReader,
  valueCounts: readonly number[],
  versionCount: number,
  overrides: Map<number, Overrides>,
): void {
  const count = reader.readUnsigned();
  if (count > valueCounts.length) {
    throw new CorruptChunkError(`overrides of ${count} series of ${valueCounts.length}`);
  }
  const overridden = new Float64Array(count);
  readIntegers(reader, overridden, 0, count);
  for (let i = 0; i < count; i++) {
    const series = overridden[i]!;
    if (!isIndex(series, valueCounts.length) || (i > 0 && series <= overridden[i - 1]!)) {
      throw new CorruptChunkError(`overrides of series ${series} are out of order`);
    }
    const valueCount = valueCounts[series]!;
    let own: Overrides | undefined;
    if (reader.read(1) === 1) own = overrides.get(overridden[i - reader.readUnsigned()] ?? -1);
    else {
      const cellCount = reader.readUnsigned();
      if (cellCount > valueCount) {
        throw new CorruptChunkError(`${cellCount} overrides of ${valueCount} values`);
      }
      const cells = readIndexes(reader, cellCount, valueCount);
      own = { cells, versions: readIndexes(reader, cellCount, versionCount) };
      for (let c = 1; c < cellCount; c++) {
        if (cells[c]! <= cells[c - 1]!)
          throw new CorruptChunkError(`overridden cell ${cells[c]} is out of order`);
      }
    }
    if (own === undefined || (own.cells.at(-1) ?? -1) >= valueCount) {
      throw new CorruptChunkError(`overrides of series ${series} are not those of another`);
    }
    overrides.set(series, own);
  }
}

/** Reads `count` integers, which must be from 0 to `end - 1`. */
function readIndexes(reader: BitReader, count: number, end: number): Uint32Array {
  const integers = new Float64Array(count);
  readIntegers(reader, integers, 0, count);
  for (let i = 0; i < count; i++) {
    if (!isIndex(integers[i]!, end)) throw new CorruptChunkError(`index ${integers[i]} of ${end}`);
  }
  return Uint32Array.from(integers);
}
