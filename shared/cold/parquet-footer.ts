import type { ByteWriter } from '../model/bytes';
import type { ByteRange } from './archive-format';
import { ENCODING, type EncodedPage } from './parquet-pages';
import { binary, bool, encodeThrift, i32, i64, list, struct, type ThriftValue, text } from './thrift';

/**
 * Parquet's metadata: the schema that every archive object has, row groups, page index, footer.
 *
 * @see https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
 */

const INT64 = 2;
const DOUBLE = 5;
const BYTE_ARRAY = 6;
const ZSTD = 6;
const REQUIRED = 0;
const UTF8 = 0;
const TIMESTAMP_MILLIS = 9;

/** A column of an object's schema. All columns are REQUIRED. */
export interface ColumnSchema<Name extends string = string> {
  readonly name: Name;
  readonly type: typeof INT64 | typeof DOUBLE | typeof BYTE_ARRAY;
  /** Whether the column's integers are timestamps, in ms UTC. */
  readonly isTime?: boolean;
}

const LABEL_COLUMNS = [
  { name: 'name', type: BYTE_ARRAY },
  { name: 'host', type: BYTE_ARRAY },
  { name: 'labels', type: BYTE_ARRAY },
  { name: 'timestamp', type: INT64, isTime: true },
] as const;

/**
 * The schema of samples: one row for each sample, in fixed columns. There is no column for each label, for three
 * reasons: the columns would differ between objects; they would not be known until a day's last group; and their names
 * could collide with those of the fixed columns, or with each other in readers that ignore case.
 */
export const SAMPLE_COLUMNS = [...LABEL_COLUMNS, { name: 'value', type: DOUBLE }] as const;

/** The schema of rollups: one row for each grain (hour or day) of a series. */
export const ROLLUP_COLUMNS = [
  ...LABEL_COLUMNS,
  { name: 'count', type: INT64 },
  { name: 'sum', type: DOUBLE },
  { name: 'min', type: DOUBLE },
  { name: 'max', type: DOUBLE },
  { name: 'first', type: DOUBLE },
  { name: 'last', type: DOUBLE },
] as const;

/** A column of a row group, after it has been written. */
export interface WrittenColumn extends ByteRange {
  readonly encodings: readonly number[];
  readonly uncompressedBytes: number;
  /** Size of the dictionary page at the start of the column, in bytes; undefined if the column has none. */
  readonly dictionaryBytes?: number;
  /** The least and greatest value, in PLAIN encoding. */
  readonly bounds?: readonly [min: Uint8Array, max: Uint8Array];
  readonly offsetIndex?: ByteRange;
}

/** Maximum size, in bytes, of a string in a column's statistics. If a string is longer, the statistics are omitted. */
const MAX_BOUND_BYTES = 64;

export function encodeRowGroup<Name extends string>(
  schema: readonly ColumnSchema<Name>[],
  rows: number,
  columns: Readonly<Record<Name, WrittenColumn>>,
): Buffer {
  const all = schema.map(({ name }) => columns[name]);
  const total = (of: (column: WrittenColumn) => number) => all.reduce((sum, column) => sum + of(column), 0);
  return encodeThrift(
    struct({
      1: list(schema.map(({ name, type }) => columnChunk(name, type, rows, columns[name]))),
      2: i64(total(({ uncompressedBytes }) => uncompressedBytes)),
      3: i64(rows),
      5: i64(Math.min(...all.map(({ offset }) => offset))),
      6: i64(total(({ length }) => length)),
    }),
  );
}

function columnChunk(name: string, type: number, rows: number, column: WrittenColumn): ThriftValue {
  const { offset, length, encodings, uncompressedBytes, dictionaryBytes, bounds, offsetIndex } = column;
  const hasBounds = bounds?.every((bound) => bound.length <= MAX_BOUND_BYTES);
  return struct({
    2: i64(0),
    3: struct({
      1: i32(type),
      2: list(encodings.map(i32)),
      3: list([text(name)]),
      4: i32(ZSTD),
      5: i64(rows),
      6: i64(uncompressedBytes),
      7: i64(length),
      9: i64(offset + (dictionaryBytes ?? 0)),
      11: dictionaryBytes === undefined ? undefined : i64(offset),
      12: struct({
        3: i64(0),
        5: hasBounds ? binary(bounds![1]) : undefined,
        6: hasBounds ? binary(bounds![0]) : undefined,
      }),
    }),
    4: offsetIndex && i64(offsetIndex.offset),
    5: offsetIndex && i32(offsetIndex.length),
  });
}

/** The location of a column's page in the object, and the page's first row in the row group. */
export interface PageLocation extends ByteRange {
  readonly firstRow: number;
}

/** Encodes a column's page index: the location of each of its pages. */
export function encodeOffsetIndex(pages: readonly PageLocation[]): Buffer {
  const locations = pages.map(({ offset, length, firstRow }) =>
    struct({ 1: i64(offset), 2: i32(length), 3: i64(firstRow) }),
  );
  return encodeThrift(struct({ 1: list(locations) }));
}

/**
 * Encodes the file's metadata.
 *
 * @param rowGroups results of {@link encodeRowGroup}
 */
export function encodeFooter(
  columns: readonly ColumnSchema[],
  rows: number,
  rowGroups: readonly Uint8Array[],
  metadata: Readonly<Record<string, string>>,
): Buffer {
  const text0 = { 6: i32(UTF8), 10: struct({ 1: struct({}) }) };
  const milliseconds = {
    6: i32(TIMESTAMP_MILLIS),
    10: struct({ 8: struct({ 1: bool(true), 2: struct({ 1: struct({}) }) }) }),
  };
  const kindOf = ({ type, isTime }: ColumnSchema) =>
    type === BYTE_ARRAY ? text0 : isTime ? milliseconds : {};
  const schema = [
    struct({ 4: text('schema'), 5: i32(columns.length) }),
    ...columns.map((column) =>
      struct({ 1: i32(column.type), 3: i32(REQUIRED), 4: text(column.name), ...kindOf(column) }),
    ),
  ];
  return encodeThrift(
    struct({
      1: i32(2),
      2: list(schema),
      3: i64(rows),
      4: list(rowGroups.map(encodedStruct)),
      5: list(Object.entries(metadata).map(([key, value]) => struct({ 1: text(key), 2: text(value) }))),
      6: text('heterotsdb version 1'),
      // Field 7 is Parquet's column orders: each column's statistics use the order that Parquet defines for its type.
      7: list(columns.map(() => struct({ 1: struct({}) }))),
    }),
  );
}

/** Wraps a struct that has already been encoded. */
function encodedStruct(bytes: Uint8Array): ThriftValue {
  const { type } = struct({});
  return { type, write: (writer: ByteWriter) => writer.bytes(bytes) };
}

/** Returns the metadata of a column at `offset` that consists of one data page, with or without a dictionary page. */
export function columnOf(offset: number, pages: readonly EncodedPage[]): WrittenColumn {
  return {
    offset,
    length: pages.reduce((sum, { bytes }) => sum + bytes.length, 0),
    encodings: [...new Set(pages.map(({ encoding }) => encoding))],
    uncompressedBytes: pages.reduce((sum, { uncompressedBytes }) => sum + uncompressedBytes, 0),
    ...(pages.length === 2 ? { dictionaryBytes: pages[0]!.bytes.length } : {}),
  };
}

/** The possible encodings of value pages. */
export const VALUE_ENCODINGS = [ENCODING.plain, ENCODING.byteStreamSplit] as const;
