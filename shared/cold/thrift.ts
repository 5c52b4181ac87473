import { type ByteReader, ByteWriter, MalformedBytesError } from '../model/bytes';

/**
 * The part of Thrift's compact protocol that Parquet needs.
 *
 * @see https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
 */
export interface ThriftValue {
  readonly type: number;
  write(writer: ByteWriter): void;
}

const TRUE = 1;
const FALSE = 2;
const I32 = 5;
const I64 = 6;
const BINARY = 8;
const LIST = 9;
const STRUCT = 12;

/** @param value an integer within 2^52 of 0 */
export function i32(value: number): ThriftValue {
  return { type: I32, write: (writer) => writer.uvarint(zigzag(value)) };
}

/** @param value an integer within 2^52 of 0 */
export function i64(value: number): ThriftValue {
  return { type: I64, write: (writer) => writer.uvarint(zigzag(value)) };
}

export function bool(value: boolean): ThriftValue {
  return { type: value ? TRUE : FALSE, write: () => {} };
}

export function binary(bytes: Uint8Array): ThriftValue {
  return { type: BINARY, write: (writer) => writer.uvarint(bytes.length).bytes(bytes) };
}

export function text(value: string): ThriftValue {
  return { type: BINARY, write: (writer) => writer.text(value) };
}

/** @param items all of the same type; an empty list is encoded as a list of structs */
export function list(items: readonly ThriftValue[]): ThriftValue {
  return {
    type: LIST,
    write: (writer) => {
      const type = items[0]?.type ?? STRUCT;
      if (items.length < 15) writer.byte((items.length << 4) | type);
      else writer.byte(0xf0 | type).uvarint(items.length);
      for (const item of items) item.write(writer);
    },
  };
}

/** @param fields by field id, ascending, with gaps of at most 15; undefined fields are omitted */
export function struct(fields: Readonly<Record<number, ThriftValue | undefined>>): ThriftValue {
  return {
    type: STRUCT,
    write: (writer) => {
      let last = 0;
      for (const [key, value] of Object.entries(fields)) {
        if (value === undefined) continue;
        const id = Number(key);
        writer.byte(((id - last) << 4) | value.type);
        value.write(writer);
        last = id;
      }
      writer.byte(0);
    },
  };
}

export function encodeThrift(value: ThriftValue): Buffer {
  const writer = new ByteWriter(256);
  value.write(writer);
  return writer.finish();
}

/** The integers and structs of a struct, by field id. */
export interface ThriftStruct {
  readonly [id: number]: number | ThriftStruct;
}

/** A page header nests two levels. */
const MAX_DEPTH = 4;

/**
 * Reads a struct that has only 32-bit integers and structs, such as a page header.
 *
 * @throws {MalformedBytesError} when it has fields of another type
 */
export function readStruct(reader: ByteReader, depth = 1): ThriftStruct {
  if (depth > MAX_DEPTH) throw new MalformedBytesError(`Thrift structs nested deeper than ${MAX_DEPTH}`);
  const fields: Record<number, number | ThriftStruct> = {};
  for (let id = 0; ; ) {
    const header = reader.byte();
    if (header === 0) return fields;
    id += header >> 4;
    const type = header & 15;
    if (type === I32) fields[id] = unzigzag(reader.uvarint());
    else if (type === STRUCT) fields[id] = readStruct(reader, depth + 1);
    else throw new MalformedBytesError(`Thrift field ${id} has type ${type}`);
  }
}

function zigzag(value: number): number {
  return value < 0 ? -2 * value - 1 : 2 * value;
}

function unzigzag(value: number): number {
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}
