import { type Block, type Column, encodeChunk, openChunk } from '../codec';
import { ByteReader, ByteWriter } from '../model/bytes';

/**
 * A skeleton is a block without its values. Archive objects store each series' values in a page that any Parquet reader
 * understands. Only our own readers need the rest: the versions, and which series have values at which times. These are
 * stored as a chunk whose values are all 0.
 */

/**
 * The rows of a block in which each series has values. A row set is a set of rows; series with values in the same rows
 * share one row set.
 *
 *     uvarint  number of series
 *     uvarint  number of row sets
 *     uvarint  for each series its row set; absent if there is only one row set
 *     chunk    one column for each row set, with one version
 */
export interface RowSets {
  readonly seriesCount: number;
  /** Returns the row set of a series, as a column of zeros. */
  rowSetOf(series: number): Column;
  /** A block with one column for each row set. */
  readonly block: Block;
}

export function encodeRowSets(block: Block): Buffer {
  const { rowSets, columns } = rowSetsOf(block);
  const writer = new ByteWriter(256).uvarint(rowSets.length).uvarint(columns.length);
  if (columns.length !== 1) for (const rowSet of rowSets) writer.uvarint(rowSet);
  const { layout, timestamps } = block;
  const versions = timestamps.length === 0 ? [] : [{ arrivalMs: 0, sequence: 0n }];
  const rowVersions = new Uint32Array(timestamps.length);
  return writer.bytes(encodeChunk({ layout, timestamps, versions, rowVersions, columns })).finish();
}

/** @throws {MalformedBytesError | CorruptChunkError} */
export function decodeRowSets(bytes: Uint8Array): RowSets {
  const reader = new ByteReader(bytes);
  const seriesCount = reader.uvarint();
  const count = reader.uvarint();
  const rowSets = count === 1 ? undefined : readMany(reader, seriesCount);
  const block = openChunk(reader.bytes(reader.remaining)).block();
  const rowSetOf = (series: number): Column => {
    const column = block.columns[rowSets === undefined ? 0 : rowSets[series]!];
    if (column === undefined) throw new RangeError(`series ${series} of ${seriesCount} has no row set`);
    return column;
  };
  return { seriesCount, rowSetOf, block };
}

/** Encodes everything in a block except its values. */
export function encodeSkeleton(block: Block): Uint8Array {
  const columns = hasOwnVersions(block) ? block.columns.map(withZeros) : rowSetsOf(block).columns;
  const { layout, timestamps, versions, rowVersions } = block;
  return encodeChunk({ layout, timestamps, versions, rowVersions, columns });
}

/**
 * Restores a block from its skeleton.
 *
 * @param values each series' values, in order
 * @throws {CorruptChunkError}
 */
export function decodeSkeleton(bytes: Uint8Array, rowSets: RowSets, values: readonly Float64Array[]): Block {
  const skeleton = openChunk(bytes).block();
  // Columns that share a row set and have no versions of their own were stored as one column.
  const isShared = skeleton.columns.length !== rowSets.seriesCount;
  return {
    ...skeleton,
    columns: values.map((of, series) => ({
      ...(isShared ? rowSets.rowSetOf(series) : skeleton.columns[series]!),
      values: of,
    })),
  };
}

/**
 * Whether any value has a version that differs from its row's version. If so, the skeleton has a column for each
 * series.
 */
function hasOwnVersions({ columns }: Block): boolean {
  return columns.some(({ versions }) => versions !== undefined);
}

function rowSetsOf({ columns }: Block): { readonly rowSets: readonly number[]; readonly columns: Column[] } {
  const known = new Map<string, number>();
  const distinct: Column[] = [];
  const rowSets = columns.map(({ rows, values }) => {
    const key = rows === undefined ? 'all' : Buffer.from(rows.slice().buffer).toString('latin1');
    let rowSet = known.get(key);
    if (rowSet === undefined) {
      rowSet = distinct.length;
      known.set(key, rowSet);
      distinct.push({ ...(rows === undefined ? {} : { rows }), values: new Float64Array(values.length) });
    }
    return rowSet;
  });
  return { rowSets, columns: distinct };
}

function withZeros({ values, ...column }: Column): Column {
  return { ...column, values: new Float64Array(values.length) };
}

function readMany(reader: ByteReader, count: number): number[] {
  const numbers: number[] = [];
  while (numbers.length < count) numbers.push(reader.uvarint());
  return numbers;
}
