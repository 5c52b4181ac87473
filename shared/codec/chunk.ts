/**
 * Chunks: encoded blocks, which never change. FORMAT.md describes the bytes. In short:
 *
 *     magic, version | layout id | numbers of series and rows | head | columns | tail | CRC-32
 *
 * The head contains the timestamps, the rows in which each series has values, and the position of each column. The tail
 * contains the versions, which only merging and deleting need.
 */
import { crc32 } from 'node:zlib';
import { BitReader, BitWriter } from './bits';
import { type Cells, canonicalBlock } from './canonical';
import { readColumns, readDirectory, writeColumns } from './columns';
import { lazyVersions, versionsByRow } from './lazy-versions';
import { type Block, type Column, CorruptChunkError, type Version } from './model';
import { type Overrides, readOverrides, writeOverrides } from './overrides';
import { readRowSets, writeRowSets } from './row-sets';
import {
  inDecidingOrder,
  inStoredOrder,
  isIndex,
  readVersions,
  type StoredVersions,
  writeVersions,
} from './versions';
import { readWideIntegers, writeWideIntegers } from './wide-integers';

const MAGIC_0 = 0x48;
const MAGIC_1 = 0x74;
/** Third byte of a chunk: the version of the format. */
const VERSION_1 = 0x10;
const LAYOUT_START = 3;
const LAYOUT_BYTES = 16;
const COUNTS_START = LAYOUT_START + LAYOUT_BYTES;
const CRC_BYTES = 4;

/** Maximum number of values in a chunk, a limit of the format. */
const MAX_VALUES = 2 ** 24;
/**
 * Maximum weight of a chunk's content for each byte of the chunk. It limits the memory that a small chunk can make a
 * reader allocate. A value weighs 1; a series or version weighs {@link OBJECT_WEIGHT}. If the data is so regular that a
 * chunk has too few bytes, it is padded with zeros before the checksum.
 */
const MAX_WEIGHT_PER_BYTE = 8192;
const OBJECT_WEIGHT = 16;
/**
 * An open chunk, whose checksum and head have been verified. It decodes a column only when a caller asks for the
 * column.
 */
export interface ChunkReader {
  /** The 16 bytes of the layout's id, as a view of the chunk. */
  readonly layout: Uint8Array;
  readonly seriesCount: number;
  readonly sampleCount: number;
  /** Timestamp of the first sample, in ms; 0 if the chunk has none. */
  readonly minTimestamp: number;
  /** Timestamp of the last sample, in ms, inclusive; 0 if the chunk has none. */
  readonly maxTimestamp: number;
  /**
   * Decodes only one series, as a block with a single column. The result is the same as decoding the whole block and
   * removing all other series with `relayout`.
   *
   * @throws {RangeError} when `index` is not below `seriesCount`
   * @throws {CorruptChunkError}
   */
  series(index: number): Block;
  /**
   * Decodes all series.
   *
   * @throws {CorruptChunkError}
   */
  block(): Block;
}

const writer = new BitWriter();

/**
 * Encodes a block as a chunk. Equal blocks are encoded as equal bytes.
 *
 * @param block in the canonical form (canonical.ts), as the codec returns all blocks
 * @throws {RangeError} when it has more than {@link MAX_VALUES} values, timestamps that are not ascending
 *   integers, or a layout id that is not 16 bytes long
 */
export function encodeChunk(block: Block): Uint8Array {
  let values = 0;
  for (const column of block.columns) values += column.values.length;
  if (values > MAX_VALUES) throw new RangeError(`${values} values exceed ${MAX_VALUES}, a chunk's limit`);
  if (block.layout.length !== LAYOUT_BYTES) throw new RangeError(`layout id of ${block.layout.length} bytes`);
  if (!areTimestamps(block.timestamps)) throw new RangeError('timestamps do not ascend within 2^53');
  const objects = block.columns.length + block.versions.length;
  const leastBytes = Math.ceil((values + OBJECT_WEIGHT * objects) / MAX_WEIGHT_PER_BYTE);
  const stored = storedBlock(block);
  writeStart(stored);
  writeWideIntegers(writer, stored.timestamps, stored.timestamps.length);
  writeRowSets(writer, stored);
  writeColumns(writer, stored);
  return finish(stored, leastBytes);
}

/** Returns a block with its versions in the order in which chunks store them. */
function storedBlock(block: Block): Block {
  const ordered = inStoredOrder(block);
  if (ordered === undefined) return block;
  const { part, renumber } = ordered;
  const columns = part.columns.map((column): Column => {
    return column.versions === undefined ? column : { ...column, versions: renumber(column.versions) };
  });
  return { ...part, columns };
}

function writeStart({ layout, columns, timestamps }: Block): void {
  writer.reset();
  writer.write(MAGIC_0, 8);
  writer.write(MAGIC_1, 8);
  writer.write(VERSION_1, 8);
  writer.writeBytes(layout);
  writer.writeVarint(columns.length);
  writer.writeVarint(timestamps.length);
}

function finish(block: Block, leastBytes: number): Uint8Array {
  writeVersions(writer, block);
  writeOverrides(writer, block);
  writer.align();
  const end = Math.max(writer.length, leastBytes - CRC_BYTES);
  const bytes = new Uint8Array(end + CRC_BYTES);
  bytes.set(writer.bytes.subarray(0, writer.length));
  new DataView(bytes.buffer).setUint32(end, crc32(bytes.subarray(0, end)), true);
  return bytes;
}

/**
 * Opens a chunk: verifies the checksum, and decodes the head.
 *
 * @param bytes exactly the chunk; the bytes must not change while the chunk is in use
 * @throws {CorruptChunkError} when `bytes` is not one whole, unaltered chunk of format 1
 */
export function openChunk(bytes: Uint8Array): ChunkReader {
  const end = bytes.length - CRC_BYTES;
  if (end < COUNTS_START || bytes[0] !== MAGIC_0 || bytes[1] !== MAGIC_1) {
    throw new CorruptChunkError(`${bytes.length} bytes are no chunk`);
  }
  if (bytes[2] !== VERSION_1) throw new CorruptChunkError(`chunk of unknown format ${bytes[2]}`);
  const reader = new BitReader(bytes, COUNTS_START, end);
  const expected = reader.view.getUint32(end, true);
  const actual = crc32(bytes.subarray(0, end));
  if (actual !== expected) throw new CorruptChunkError(`CRC-32 is ${actual}, not ${expected}`);
  const maxWeight = bytes.length * MAX_WEIGHT_PER_BYTE;
  const seriesCount = reader.readVarint(maxWeight / OBJECT_WEIGHT);
  const rowCount = reader.readVarint(Math.min(MAX_VALUES, maxWeight));
  const body = readBody(reader, seriesCount, rowCount, maxWeight);
  return new OpenChunk(bytes.subarray(LAYOUT_START, COUNTS_START), body, reader, maxWeight);
}

/** The rows and columns of a chunk. Reading the body moves the reader to the start of the tail. */
interface Body {
  readonly timestamps: Float64Array;
  /** For each series, the rows in which it has values; undefined if it has a value in every row. */
  readonly rowsOf: readonly (Uint32Array | undefined)[];
  readonly valueCounts: readonly number[];
  readonly sampleCount: number;
  /** Decodes the values of the series with indexes in the half-open range `[first, end)`. */
  values(first: number, end: number): Float64Array[];
}

function readBody(reader: BitReader, seriesCount: number, rowCount: number, maxWeight: number): Body {
  const timestamps = readWideIntegers(reader, rowCount);
  if (!areTimestamps(timestamps)) throw new CorruptChunkError(`timestamps of ${rowCount} rows do not ascend`);
  const rowsOf = readRowSets(reader, seriesCount, rowCount, Math.min(MAX_VALUES, maxWeight));
  let sampleCount = 0;
  const valueCounts: number[] = [];
  for (const rows of rowsOf) {
    const count = rows === undefined ? rowCount : rows.length;
    valueCounts.push(count);
    sampleCount += count;
  }
  const directory = readDirectory(reader, valueCounts);
  reader.moveTo(directory.end, reader.endByte);
  return {
    timestamps,
    rowsOf,
    valueCounts,
    sampleCount,
    values: (first, end) => readColumns(reader, directory, valueCounts, first, end),
  };
}

/** Whether timestamps are strictly ascending integers between -2^53 and 2^53. */
function areTimestamps(timestamps: Float64Array): boolean {
  let previous = -(2 ** 53);
  for (let row = 0; row < timestamps.length; row++) {
    const timestamp = timestamps[row]!;
    if (!(timestamp > previous) || Math.floor(timestamp) !== timestamp) return false;
    previous = timestamp;
  }
  return previous < 2 ** 53;
}

/** The tail as stored in the chunk. The versions are built from their parts when they are first used. */
interface StoredTail {
  readonly versions: StoredVersions;
  readonly overrides: ReadonlyMap<number, Overrides>;
}

/** The decoded tail, with its versions sorted by {@link compareVersions}. */
interface Tail {
  readonly versions: readonly Version[];
  readonly rowVersions: Uint32Array;
  readonly overrides: ReadonlyMap<number, Overrides>;
  /**
   * Whether sorting changed the order of the versions. If so, a block made from the chunk's columns may not be
   * canonical: if several versions of a row are equally frequent, a different one may now be the lowest.
   */
  readonly isReordered: boolean;
}

class OpenChunk implements ChunkReader {
  readonly seriesCount: number;
  readonly sampleCount: number;
  readonly minTimestamp: number;
  readonly maxTimestamp: number;
  private readonly tailStart: number;
  /** Index of the checksum's first byte. */
  private readonly end: number;
  private storedTail: StoredTail | undefined;
  private sortedTail: Tail | undefined;

  constructor(
    readonly layout: Uint8Array,
    private readonly body: Body,
    private readonly reader: BitReader,
    private readonly maxWeight: number,
  ) {
    this.seriesCount = body.rowsOf.length;
    this.sampleCount = body.sampleCount;
    this.minTimestamp = body.timestamps[0] ?? 0;
    this.maxTimestamp = body.timestamps.at(-1) ?? 0;
    this.tailStart = reader.position / 8;
    this.end = reader.endByte;
  }

  series(index: number): Block {
    if (!isIndex(index, this.seriesCount)) throw new RangeError(`series ${index} of ${this.seriesCount}`);
    const { layout, body } = this;
    const { overrides } = this.stored;
    const values = body.values(index, index + 1)[0]!;
    const { timestamps } = body;
    // The block is already canonical: the series has a value in every row, and every value has the version of
    // its row.
    if (body.rowsOf[index] === undefined && overrides.size === 0) {
      return lazyVersions({ layout, timestamps, columns: [{ values }] }, () => versionsByRow(this.tail));
    }
    const { versions, rowVersions } = this.tail;
    const cells = [this.column(index, values) as Cells];
    return canonicalBlock({ layout, timestamps, versions, rowVersions, cells });
  }

  block(): Block {
    const { layout, body, seriesCount } = this;
    const { versions, rowVersions, isReordered } = this.tail;
    const columns = body.values(0, seriesCount).map((values, i) => this.column(i, values));
    const block = { layout, timestamps: body.timestamps, versions, rowVersions, columns };
    return isReordered ? canonicalBlock({ ...block, cells: columns }) : block;
  }

  private column(index: number, values: Float64Array): Column {
    const { rowVersions, overrides: overridesOf } = this.tail;
    const rows = this.body.rowsOf[index];
    const overrides = overridesOf.get(index);
    if (overrides === undefined) return rows === undefined ? { values } : { rows, values };
    const versions = rows === undefined ? rowVersions.slice() : rows.map((row) => rowVersions[row]!);
    for (let i = 0; i < overrides.cells.length; i++) versions[overrides.cells[i]!] = overrides.versions[i]!;
    return rows === undefined ? { values, versions } : { rows, values, versions };
  }

  private get stored(): StoredTail {
    if (this.storedTail !== undefined) return this.storedTail;
    const { reader, body, maxWeight } = this;
    reader.moveTo(this.tailStart, this.end);
    const maxObjects = maxWeight / OBJECT_WEIGHT;
    const versions = readVersions(reader, body.timestamps, maxObjects);
    const overrides = readOverrides(reader, body.valueCounts, versions.count);
    reader.align();
    const end = reader.position / 8;
    const objects = this.seriesCount + versions.count;
    const leastBytes = Math.ceil((this.sampleCount + OBJECT_WEIGHT * objects) / MAX_WEIGHT_PER_BYTE);
    if (this.end !== Math.max(end, leastBytes - CRC_BYTES)) {
      throw new CorruptChunkError(`chunk ends at byte ${end}, its checksum is at ${this.end}`);
    }
    for (let i = end; i < this.end; i++) {
      if (reader.bytes[i] !== 0) throw new CorruptChunkError(`padding at byte ${i} is not 0`);
    }
    this.storedTail = { versions, overrides };
    return this.storedTail;
  }

  private get tail(): Tail {
    if (this.sortedTail !== undefined) return this.sortedTail;
    const { versions: stored, overrides } = this.stored;
    const built = { versions: stored.build(), rowVersions: stored.rowVersions };
    const ordered = inDecidingOrder(built);
    this.sortedTail = {
      ...(ordered?.part ?? built),
      overrides: ordered === undefined ? overrides : renumbered(overrides, ordered.renumber),
      isReordered: ordered !== undefined,
    };
    return this.sortedTail;
  }
}

/** Returns overrides in which versions have the indexes that result from sorting. */
function renumbered(
  overrides: ReadonlyMap<number, Overrides>,
  renumber: (indexes: Uint32Array) => Uint32Array,
): Map<number, Overrides> {
  return new Map(
    Array.from(overrides, ([series, { cells, versions }]) => [
      series,
      { cells, versions: renumber(versions) },
    ]),
  );
}
