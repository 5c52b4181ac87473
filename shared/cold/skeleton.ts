import { type Block, type Column, encodeChunk, openChunk } from '../codec';
import { ByteReader, ByteWriter } from '../model/bytes';

/**
 * A block without its values. Archive objects of Parquet hold each series' values in a page that every reader of Parquet
 * understands, and beside them, as a chunk whose values are all 0, what only we need: which series has a value at which
 * time, and versions.
 */

/**
 * The times of a block, and which of them each series has a value at.
 *
 *     uvarint  number of series
 *     uvarint  number of shapes: columns that have values in the same rows share one
 *     uvarint  for each series its shape; left out where there is one
 *     chunk    of one column a shape, one version
 */
export interface Shapes {
  readonly seriesCount: number;
  /** The shape of a series, as a column of zeros. */
  shapeOf(series: number): Column;
  /** One column a shape. */
  readonly block: Block;
}

export function encodeShapes(block: Block): Buffer {
  const { shapes, columns } = shapesOf(block);
  const writer = new ByteWriter(256).uvarint(shapes.length).uvarint(columns.length);
  if (columns.length !== 1) for (const shape of shapes) writer.uvarint(shape);
  const { layout, timestamps } = block;
  const versions = timestamps.length === 0 ? [] : [{ arrivalMs: 0, sequence: 0n }];
  const rowVersions = new Uint32Array(timestamps.length);
  return writer.bytes(encodeChunk({ layout, timestamps, versions, rowVersions, columns })).finish();
}

/** @throws {MalformedBytesError | CorruptChunkError} */
export function decodeShapes(bytes: Uint8Array): Shapes {
  const reader = new ByteReader(bytes);
  const seriesCount = reader.uvarint();
  const count = reader.uvarint();
  const shapes = count === 1 ? undefined : readMany(reader, seriesCount);
  const block = openChunk(reader.bytes(reader.left)).block();
  const shapeOf = (series: number): Column => {
    const column = block.columns[shapes === undefined ? 0 : shapes[series]!];
    if (column === undefined) throw new RangeError(`series ${series} of ${seriesCount} has no shape`);
    return column;
  };
  return { seriesCount, shapeOf, block };
}

/** All of a block but its values. */
export function encodeSkeleton(block: Block): Uint8Array {
  const columns = hasOwnVersions(block) ? block.columns.map(withZeros) : shapesOf(block).columns;
  return encodeChunk({ ...block, columns });
}

/**
 * A block from its skeleton.
 *
 * @param values of the series, in order
 * @throws {CorruptChunkError}
 */
export function decodeSkeleton(bytes: Uint8Array, shapes: Shapes, values: readonly Float64Array[]): Block {
  const skeleton = openChunk(bytes).block();
  // Columns of one shape that bear no versions of their own are one column.
  const isShared = skeleton.columns.length !== shapes.seriesCount;
  return {
    ...skeleton,
    columns: values.map((of, series) => ({
      ...(isShared ? shapes.shapeOf(series) : skeleton.columns[series]!),
      values: of,
    })),
  };
}

/** Whether values differ from their rows in version: then each series has a column. */
function hasOwnVersions({ columns }: Block): boolean {
  return columns.some(({ versions }) => versions !== undefined);
}

function shapesOf({ columns }: Block): { readonly shapes: readonly number[]; readonly columns: Column[] } {
  const known = new Map<string, number>();
  const distinct: Column[] = [];
  const shapes = columns.map(({ rows, values }) => {
    const key = rows === undefined ? 'all' : Buffer.from(rows.slice().buffer).toString('latin1');
    let shape = known.get(key);
    if (shape === undefined) {
      shape = distinct.length;
      known.set(key, shape);
      distinct.push({ ...(rows === undefined ? {} : { rows }), values: new Float64Array(values.length) });
    }
    return shape;
  });
  return { shapes, columns: distinct };
}

function withZeros({ values, ...column }: Column): Column {
  return { ...column, values: new Float64Array(values.length) };
}

function readMany(reader: ByteReader, count: number): number[] {
  const numbers: number[] = [];
  while (numbers.length < count) numbers.push(reader.uvarint());
  return numbers;
}
