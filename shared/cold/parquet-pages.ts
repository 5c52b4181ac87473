import { crc32, constants as zlib, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { ByteReader, ByteWriter, MalformedBytesError } from '../model/bytes';
import { CorruptArchiveError } from './archive-format';
import { encodeThrift, i32, readStruct, struct, type ThriftStruct } from './thrift';

/** The numbers that identify Parquet's encodings. */
export const ENCODING = {
  plain: 0,
  rle: 3,
  deltaBinaryPacked: 5,
  rleDictionary: 8,
  byteStreamSplit: 9,
} as const;

const DATA_PAGE = 0;
const DICTIONARY_PAGE = 2;

/** A page: its header and its compressed body. */
export interface EncodedPage {
  readonly bytes: Uint8Array;
  readonly encoding: number;
  /**
   * Total size of the header and the uncompressed body, in bytes. The column's metadata contains the sum of these
   * sizes.
   */
  readonly uncompressedBytes: number;
}

const LEVEL = 6;

function compress(bytes: Uint8Array): Buffer {
  return zstdCompressSync(bytes, {
    // zlib allocates a buffer of `chunkSize` bytes, even if the result is small.
    chunkSize: Math.min(64 * 1024, Math.max(1024, bytes.length)),
    params: { [zlib.ZSTD_c_compressionLevel]: LEVEL },
    pledgedSrcSize: bytes.length,
  });
}

/**
 * Encodes one series' values as PLAIN or BYTE_STREAM_SPLIT, whichever compresses better. Both preserve every bit.
 * Parquet's dictionary encoding is not used: it might lose -0 and NaN payloads.
 */
export function encodeValues(values: Float64Array): EncodedPage {
  const plain = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  const packed = compress(plain);
  // For a single value, BYTE_STREAM_SPLIT gives the same bytes as PLAIN.
  const split = values.length === 1 ? packed : compress(splitStreams(plain));
  return split.length < packed.length
    ? dataPage(split, plain.length, values.length, ENCODING.byteStreamSplit)
    : dataPage(packed, plain.length, values.length, ENCODING.plain);
}

/** A page made by {@link encodeValues}, and the expected number of values. */
export interface ValuePage {
  readonly page: Uint8Array;
  readonly count: number;
}

/** Maximum total size of the values that one call decompresses, in bytes. */
const MAX_CALL_BYTES = 4 * 1024 * 1024;
/** The minimum value of zlib's option `chunkSize`. */
const LEAST_CHUNK_BYTES = 64;

/**
 * Decodes pages made by {@link encodeValues}.
 *
 * @returns each page's values; several arrays may share a buffer
 * @throws {CorruptArchiveError}
 */
export function decodeValues(pages: readonly ValuePage[]): Float64Array[] {
  const opened = pages.map(({ page, count }) => {
    const { body, uncompressedBytes, values, encoding } = openPage(page);
    if (values !== count || uncompressedBytes !== 8 * count)
      throw new CorruptArchiveError(
        `a page says ${values} values in ${uncompressedBytes} bytes, its directory ${count}`,
      );
    if (encoding !== ENCODING.byteStreamSplit && encoding !== ENCODING.plain)
      throw new CorruptArchiveError(`a page of values has encoding ${encoding}`);
    return { body, bytes: uncompressedBytes, isSplit: encoding === ENCODING.byteStreamSplit };
  });
  const decoded: Float64Array[] = [];
  for (let first = 0; first < opened.length; first = decoded.length) {
    const { bytes } = opened[first]!;
    let end = first + 1;
    const most = bytes < LEAST_CHUNK_BYTES ? 1 : Math.ceil(MAX_CALL_BYTES / bytes);
    while (opened[end]?.bytes === bytes && end - first < most) end++;
    const together = opened.slice(first, end);
    const values = decompressAll(
      together.map(({ body }) => body),
      bytes,
    );
    together.forEach(({ isSplit }, i) => {
      const own = values.subarray(i * bytes, (i + 1) * bytes);
      decoded.push(isSplit ? joinStreams(own) : new Float64Array(own.buffer, own.byteOffset, bytes / 8));
    });
  }
  return decoded;
}

/** Reorders values for BYTE_STREAM_SPLIT: byte 0 of every value, then byte 1 of every value, and so on. */
function splitStreams(bytes: Uint8Array): Uint8Array {
  const count = bytes.length / 8;
  const streams = new Uint8Array(bytes.length);
  for (let k = 0; k < 8; k++)
    for (let i = 0, at = k, to = k * count; i < count; i++, at += 8) streams[to + i] = bytes[at]!;
  return streams;
}

function joinStreams(streams: Uint8Array): Float64Array {
  const count = streams.length / 8;
  // Joins the first four streams into the lower halves of the float64s, then the other four into the upper halves.
  // Assumes a little-endian machine.
  const halves = new Uint32Array(2 * count);
  for (let half = 0; half < 2; half++) {
    const a = 4 * half * count;
    const [b, c, d] = [a + count, a + 2 * count, a + 3 * count];
    for (let i = 0, to = half; i < count; i++, to += 2)
      halves[to] =
        streams[a + i]! | (streams[b + i]! << 8) | (streams[c + i]! << 16) | (streams[d + i]! << 24);
  }
  return new Float64Array(halves.buffer);
}

/** @throws {CorruptArchiveError} */
function openPage(page: Uint8Array) {
  const reader = new ByteReader(page);
  let header: ThriftStruct;
  try {
    header = readStruct(reader);
  } catch (cause) {
    throw new CorruptArchiveError(`a page of ${page.length} bytes has no header`, { cause });
  }
  const body = page.subarray(reader.offset);
  const { 1: type, 2: uncompressedBytes, 3: bodyBytes, 4: crc, 5: data } = header;
  if (type !== DATA_PAGE || bodyBytes !== body.length || typeof data !== 'object')
    throw new CorruptArchiveError(`a page of ${page.length} bytes says type ${type}, ${bodyBytes} bytes`);
  if (crc32(body) !== Number(crc) >>> 0)
    throw new CorruptArchiveError(`the checksum of a page of ${page.length} bytes is wrong`);
  return { body, uncompressedBytes: Number(uncompressedBytes), values: Number(data[1]), encoding: data[2] };
}

/**
 * Decompresses several bodies in one call. Each body has `bytes` bytes when uncompressed. One call for all bodies is
 * faster than one call for each, because creating a zstd context takes as long as decompressing a page of one day. The
 * option `chunkSize` must be the size of a body: zlib starts the next body when its output buffer is full.
 *
 * @throws {CorruptArchiveError}
 */
function decompressAll(bodies: readonly Uint8Array[], bytes: number): Uint8Array {
  const packed = bodies.length === 1 ? bodies[0]! : Buffer.concat(bodies);
  const maxOutputLength = bytes * bodies.length;
  try {
    const unpacked = zstdDecompressSync(packed, {
      chunkSize: Math.max(LEAST_CHUNK_BYTES, bytes),
      maxOutputLength,
    });
    if (unpacked.length !== maxOutputLength)
      throw new MalformedBytesError(`${unpacked.length} bytes instead of ${maxOutputLength}`);
    return unpacked.byteOffset % 8 === 0 ? unpacked : Uint8Array.from(unpacked);
  } catch (cause) {
    throw new CorruptArchiveError(`${bodies.length} pages of ${packed.length} bytes cannot be decompressed`, {
      cause,
    });
  }
}

/** Number of deltas in a DELTA_BINARY_PACKED block. A block is divided into `MINIBLOCKS` equal miniblocks. */
const DELTA_BLOCK = 128;
const MINIBLOCKS = 4;
const MINIBLOCK = DELTA_BLOCK / MINIBLOCKS;
/**
 * Timestamps are encoded as deltas only if their magnitude, in ms, is at most this. With larger timestamps, a delta or
 * the difference between two deltas may be too large for a float64 to represent exactly.
 */
const MAX_EXACT = 2 ** 51;

/**
 * Encodes timestamps, in ms. Uses DELTA_BINARY_PACKED, which takes hardly any bytes for regular intervals, except in
 * these cases:
 *
 * - PLAIN is smaller if many series have the same irregular times, because zstd finds the repetition.
 * - Only PLAIN is correct if differences are not exact.
 *
 * @param isRepeated whether several series have the same times. Both encodings are then tried
 * @see https://parquet.apache.org/docs/file-format/data-pages/encodings/
 */
export function encodeTimestamps(timestamps: Float64Array, isRepeated: boolean): EncodedPage {
  const isExact = timestamps.every((ms) => Math.abs(ms) <= MAX_EXACT);
  const pages = [
    ...(isExact ? [integerPage(deltaBinaryPacked(timestamps), timestamps, ENCODING.deltaBinaryPacked)] : []),
    ...(isRepeated || !isExact ? [integerPage(plainIntegers(timestamps), timestamps, ENCODING.plain)] : []),
  ];
  return pages.reduce((least, page) => (page.bytes.length < least.bytes.length ? page : least));
}

function integerPage(bytes: Uint8Array, { length }: Float64Array, encoding: number): EncodedPage {
  return dataPage(compress(bytes), bytes.length, length, encoding);
}

function plainIntegers(integers: Float64Array): Uint8Array {
  const halves = new Uint32Array(2 * integers.length);
  for (let i = 0; i < integers.length; i++) {
    const high = Math.floor(integers[i]! / 2 ** 32);
    halves[2 * i] = integers[i]! - high * 2 ** 32;
    halves[2 * i + 1] = high;
  }
  return new Uint8Array(halves.buffer);
}

function deltaBinaryPacked(integers: Float64Array): Uint8Array {
  const writer = new ByteWriter(1024);
  const signed = (value: number) => writer.uvarint(value < 0 ? -2 * value - 1 : 2 * value);
  writer.uvarint(DELTA_BLOCK).uvarint(MINIBLOCKS).uvarint(integers.length);
  signed(integers[0] ?? 0);
  const deltas = new Float64Array(DELTA_BLOCK);
  for (let start = 1; start < integers.length; start += DELTA_BLOCK) {
    const count = Math.min(DELTA_BLOCK, integers.length - start);
    let least = Number.POSITIVE_INFINITY;
    for (let i = 0; i < count; i++) {
      const delta = integers[start + i]! - integers[start + i - 1]!;
      deltas[i] = delta;
      if (delta < least) least = delta;
    }
    signed(least);
    for (let i = 0; i < DELTA_BLOCK; i++) deltas[i] = i < count ? deltas[i]! - least : 0;
    const widths = Array.from({ length: MINIBLOCKS }, (_, m) => {
      if (m * MINIBLOCK >= count) return 0;
      let most = 0;
      for (let i = m * MINIBLOCK; i < (m + 1) * MINIBLOCK; i++) if (deltas[i]! > most) most = deltas[i]!;
      let width = 0;
      while (2 ** width <= most) width++;
      return width;
    });
    for (const width of widths) writer.byte(width);
    for (let m = 0; m * MINIBLOCK < count; m++)
      packBits(deltas.subarray(m * MINIBLOCK, (m + 1) * MINIBLOCK), widths[m]!, writer);
  }
  return writer.finish();
}

/** Packs the non-negative integers of a miniblock, lowest bits first. */
function packBits(integers: Float64Array, width: number, writer: ByteWriter): void {
  if (width === 0) return;
  const bytes = writer.hole((integers.length * width) / 8).fill(0);
  for (let i = 0; i < integers.length; i++) {
    let rest = integers[i]!;
    for (let bit = i * width, end = bit + width; bit < end; ) {
      const taken = Math.min(8 - (bit & 7), end - bit);
      const low = rest % 2 ** taken;
      bytes[bit >> 3]! |= low << (bit & 7);
      // Division, not >>: bitwise operators truncate to 32 bits.
      rest = (rest - low) / 2 ** taken;
      bit += taken;
    }
  }
}

/** A string column with many repeated values. It is stored as its distinct values, and runs of indexes into them. */
export class TextColumn {
  private readonly indexes = new Map<string, number>();
  private readonly runs: { readonly index: number; count: number }[] = [];
  private rows = 0;
  /** Size of the distinct values, in bytes. */
  dictionaryBytes = 0;

  add(value: string, count: number): void {
    if (count === 0) return;
    let index = this.indexes.get(value);
    if (index === undefined) {
      index = this.indexes.size;
      this.indexes.set(value, index);
      this.dictionaryBytes += 4 + Buffer.byteLength(value);
    }
    const last = this.runs.at(-1);
    if (last?.index === index) last.count += count;
    else this.runs.push({ index, count });
    this.rows += count;
  }

  /** Returns the least and the greatest value in byte order, which Parquet's statistics use. */
  bounds(): readonly [min: Buffer, max: Buffer] {
    const ordered = [...this.indexes.keys()].map((value) => Buffer.from(value)).sort(Buffer.compare);
    return [ordered[0]!, ordered.at(-1)!];
  }

  finish(): readonly [dictionary: EncodedPage, indexes: EncodedPage] {
    const values = new ByteWriter(this.dictionaryBytes);
    for (const value of this.indexes.keys()) {
      const bytes = Buffer.from(value);
      values.bytes(uint32(bytes.length)).bytes(bytes);
    }
    const dictionary = values.finish();
    const packed = compress(dictionary);
    const header = pageHeader(DICTIONARY_PAGE, packed, dictionary.length, {
      7: struct({ 1: i32(this.indexes.size), 2: i32(ENCODING.plain) }),
    });
    return [
      {
        bytes: Buffer.concat([header, packed]),
        encoding: ENCODING.plain,
        uncompressedBytes: header.length + dictionary.length,
      },
      this.indexPage(),
    ];
  }

  /**
   * Encodes the indexes of the values: the bit width, then the runs. A run is a length and an index. The index takes
   * as many bytes as the width needs.
   */
  private indexPage(): EncodedPage {
    const width = Math.max(1, 32 - Math.clz32(this.indexes.size - 1));
    const writer = new ByteWriter(64).byte(width);
    for (const { index, count } of this.runs) {
      writer.uvarint(2 * count);
      for (let shift = 0; shift < width; shift += 8) writer.byte((index >>> shift) & 0xff);
    }
    const bytes = writer.finish();
    return dataPage(compress(bytes), bytes.length, this.rows, ENCODING.rleDictionary);
  }
}

function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function dataPage(body: Uint8Array, uncompressed: number, values: number, encoding: number): EncodedPage {
  // REQUIRED columns have no levels, so the encoding of levels does not matter; RLE is customary.
  const header = pageHeader(DATA_PAGE, body, uncompressed, {
    5: struct({ 1: i32(values), 2: i32(encoding), 3: i32(ENCODING.rle), 4: i32(ENCODING.rle) }),
  });
  return {
    bytes: Buffer.concat([header, body]),
    encoding,
    uncompressedBytes: header.length + uncompressed,
  };
}

function pageHeader(
  type: number,
  body: Uint8Array,
  uncompressed: number,
  own: Parameters<typeof struct>[0],
): Buffer {
  const header = { 1: i32(type), 2: i32(uncompressed), 3: i32(body.length), 4: i32(crc32(body) | 0), ...own };
  return encodeThrift(struct(header));
}
