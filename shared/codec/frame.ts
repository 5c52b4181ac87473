/**
 * Frames: single rows of a group, as stored in the memory tier. A frame can be decoded without any other frame.
 * FORMAT.md describes the bytes.
 */
import { CorruptChunkError, type Frame, type Version } from './model';
import { presentCount } from './presence';

/**
 * First byte of a frame, without flags. The high four bits are the format version; the low four bits are the flags
 * {@link PACKED} and {@link PARTIAL}.
 */
const VERSION_1 = 0x10;
/** Flag: values are packed, that is, stored without the zero bytes at their low end. */
const PACKED = 1;
/** Flag: a presence map (presence.ts) says which series of the layout have values. */
const PARTIAL = 2;
/**
 * Packed values come in pairs. If the last pair has only one value, this takes the place of the second value's length.
 */
const NO_VALUE = 15;

const LAYOUT_BYTES = 16;
/** Size of the first byte, the layout id and the timestamp together, in bytes. The version follows them. */
const HEAD_BYTES = 1 + LAYOUT_BYTES + 8;
/** Maximum size of a presence map, in bytes. Its length is stored in two bytes. */
const MAX_PRESENCE_BYTES = 0xffff;
const MAX_ARRIVAL_MS = 2 ** 48 - 1;
/** Maximum size of a sequence number, in bytes: 448 bits. Kinesis documents at most 129 decimal digits. */
const MAX_SEQUENCE_BYTES = 56;

/**
 * Encodes a version: the arrival time in 6 bytes, the length of the sequence number in 1 byte, then the
 * sequence number without leading zero bytes, all big-endian. A caller encodes the version of a record once,
 * and passes it to {@link packSampleFrame} for each frame of the record.
 *
 * @throws {RangeError} when the arrival time is not an integer below 2^48, or the sequence number has more
 *   than 448 bits
 */
export function encodeVersion(version: Version): Uint8Array {
  const { arrivalMs, sequence } = version;
  if (!Number.isInteger(arrivalMs) || arrivalMs < 0 || arrivalMs > MAX_ARRIVAL_MS) {
    throw new RangeError(`arrival time ${arrivalMs} is not an integer from 0 to 2^48 - 1`);
  }
  if (sequence < 0n) throw new RangeError(`sequence ${sequence} is negative`);
  const hex = sequence === 0n ? '' : sequence.toString(16);
  const length = (hex.length + 1) >> 1;
  if (length > MAX_SEQUENCE_BYTES) throw new RangeError(`sequence of ${length} bytes exceeds 56`);
  const bytes = new Uint8Array(7 + length);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, arrivalMs / 2 ** 32);
  view.setUint32(2, arrivalMs % 2 ** 32);
  bytes[6] = length;
  for (let i = length, end = hex.length; i > 0; i--, end -= 2) {
    bytes[6 + i] = Number.parseInt(hex.slice(Math.max(0, end - 2), end), 16);
  }
  return bytes;
}

/**
 * Decodes a version that {@link encodeVersion} encoded.
 *
 * @throws {CorruptChunkError} when `bytes` is not one whole version
 */
export function decodeVersion(bytes: Uint8Array): Version {
  if (bytes.length < 7 || bytes.length !== 7 + bytes[6]!) {
    throw new CorruptChunkError(`${bytes.length} bytes are not a version`);
  }
  return readVersion(bytes, 0);
}

/**
 * Encodes a frame that has a value for every series of its layout. Packs the values if that makes them smaller.
 *
 * @param values 8 raw little-endian bytes for each series of the layout
 */
export function packSampleFrame(
  layout: Uint8Array,
  timestamp: number,
  versionBytes: Uint8Array,
  values: Uint8Array,
): Uint8Array {
  const start = HEAD_BYTES + versionBytes.length;
  const bytes = new Uint8Array(start + values.length);
  const packedEnd = packValues(bytes, start, values);
  if (packedEnd === undefined) bytes.set(values, start);
  writeHead(bytes, packedEnd === undefined ? VERSION_1 : VERSION_1 | PACKED, layout, timestamp, versionBytes);
  return packedEnd === undefined ? bytes : bytes.subarray(0, packedEnd);
}

/**
 * Encodes a frame that has values for only some series of its layout. Packs the values if that makes them smaller.
 *
 * @param presence map of the series that have values (presence.ts); it must have at least one series
 * @param values 8 raw little-endian bytes for each present series
 */
export function packPartialFrame(
  layout: Uint8Array,
  timestamp: number,
  versionBytes: Uint8Array,
  presence: Uint8Array,
  values: Uint8Array,
): Uint8Array {
  if (presence.length > MAX_PRESENCE_BYTES)
    throw new RangeError(
      `presence map of ${presence.length} bytes; at most ${MAX_PRESENCE_BYTES} are allowed`,
    );
  const presenceStart = HEAD_BYTES + versionBytes.length;
  const start = presenceStart + 2 + presence.length;
  const bytes = new Uint8Array(start + values.length);
  const packedEnd = packValues(bytes, start, values);
  if (packedEnd === undefined) bytes.set(values, start);
  const kind = VERSION_1 | PARTIAL | (packedEnd === undefined ? 0 : PACKED);
  writeHead(bytes, kind, layout, timestamp, versionBytes);
  bytes[presenceStart] = presence.length;
  bytes[presenceStart + 1] = presence.length >> 8;
  bytes.set(presence, presenceStart + 2);
  return packedEnd === undefined ? bytes : bytes.subarray(0, packedEnd);
}

/**
 * Writes values in packed form: in pairs, each preceded by a byte with the lengths of the two values.
 *
 * @param target its length is a limit; the packed values must end before it
 * @returns the index just past the packed values; undefined if packing does not make them smaller
 */
function packValues(target: Uint8Array, start: number, values: Uint8Array): number | undefined {
  requireWhole(values);
  let control = start;
  let end = start;
  for (let at = 0; at < values.length; at += 8) {
    const isFirst = at % 16 === 0;
    if (isFirst) control = end++;
    let from = at;
    while (from < at + 8 && values[from] === 0) from++;
    const length = at + 8 - from;
    if (end + length >= target.length) return undefined;
    if (isFirst) target[control] = (NO_VALUE << 4) | length;
    else target[control] = (target[control]! & 0x0f) | (length << 4);
    while (from < at + 8) target[end++] = values[from++]!;
  }
  return end;
}

/**
 * Reads the packed values from `start` to the end of `bytes`.
 *
 * @returns 8 raw little-endian bytes for each value
 * @throws {CorruptChunkError}
 */
function unpackValues(bytes: Uint8Array, start: number): Uint8Array {
  let count = 0;
  let end = start;
  for (let isLast = false; end < bytes.length; ) {
    const control = bytes[end]!;
    const first = control & 0x0f;
    const second = control >> 4;
    if (isLast || first > 8 || (second > 8 && second !== NO_VALUE))
      throw new CorruptChunkError(`values of lengths ${first} and ${second} at byte ${end}`);
    isLast = second === NO_VALUE;
    end += 1 + first + (isLast ? 0 : second);
    count += isLast ? 1 : 2;
  }
  if (end !== bytes.length)
    throw new CorruptChunkError(`values are cut off at byte ${bytes.length} of ${end}`);
  const values = new Uint8Array(8 * count);
  let at = start;
  for (let i = 0; i < count; i += 2) {
    const control = bytes[at++]!;
    for (let from = 8 * i + 8 - (control & 0x0f); from < 8 * i + 8; ) values[from++] = bytes[at++]!;
    if (i + 1 === count) break;
    for (let from = 8 * i + 16 - (control >> 4); from < 8 * i + 16; ) values[from++] = bytes[at++]!;
  }
  return values;
}

/** Returns the 16 bytes of the layout id in an encoded frame, as a view. */
export function layoutOfFrame(bytes: Uint8Array): Uint8Array {
  return bytes.subarray(1, 1 + LAYOUT_BYTES);
}

/**
 * Encodes a frame that has a value for every series of its layout, without packing.
 *
 * @throws {RangeError} when a field is outside the bounds that {@link Frame} documents, or the frame has a
 *   presence map
 */
export function encodeFrame({ layout, timestamp, version, presence, values }: Frame): Uint8Array {
  if (presence !== undefined) throw new RangeError('packPartialFrame encodes frames with a presence map');
  requireWhole(values);
  const versionBytes = encodeVersion(version);
  const start = HEAD_BYTES + versionBytes.length;
  const bytes = new Uint8Array(start + values.length);
  writeHead(bytes, VERSION_1, layout, timestamp, versionBytes);
  bytes.set(values, start);
  return bytes;
}

/**
 * Decodes a frame. The result's `layout` and `presence` are views of `bytes`, and so are its values unless they are
 * packed.
 *
 * @param bytes exactly the frame
 * @throws {CorruptChunkError} when `bytes` is not one whole frame of version 1
 */
export function decodeFrame(bytes: Uint8Array): Frame {
  const kind = bytes[0];
  if (kind === undefined || kind < VERSION_1 || kind > (VERSION_1 | PACKED | PARTIAL)) {
    throw new CorruptChunkError(`no frame of version 1: its first byte is ${kind}, not 0x10 to 0x13`);
  }
  const versionEnd = HEAD_BYTES + 7 + (bytes[HEAD_BYTES + 6] ?? 0);
  if (bytes.length < versionEnd) {
    throw new CorruptChunkError(`frame is cut off at byte ${bytes.length} of ${versionEnd} or more`);
  }
  const layout = bytes.subarray(1, 1 + LAYOUT_BYTES);
  const timestamp = readTimestamp(bytes, 1 + LAYOUT_BYTES);
  const version = readVersion(bytes, HEAD_BYTES);
  const isPacked = (kind & PACKED) !== 0;
  if ((kind & PARTIAL) === 0)
    return { layout, timestamp, version, values: valuesFrom(bytes, versionEnd, isPacked) };
  const presenceEnd = versionEnd + 2 + (bytes[versionEnd] ?? 0) + ((bytes[versionEnd + 1] ?? 0) << 8);
  if (bytes.length < presenceEnd)
    throw new CorruptChunkError(`frame is cut off at byte ${bytes.length} of ${presenceEnd} or more`);
  const presence = bytes.subarray(versionEnd + 2, presenceEnd);
  const values = valuesFrom(bytes, presenceEnd, isPacked);
  if (values.length !== 8 * presentCount(presence))
    throw new CorruptChunkError(
      `${values.length} bytes of values for ${presentCount(presence)} series that are present`,
    );
  return { layout, timestamp, version, presence, values };
}

/**
 * Reads the values from `start` to the end of `bytes`, packed or not.
 *
 * @throws {CorruptChunkError}
 */
function valuesFrom(bytes: Uint8Array, start: number, isPacked: boolean): Uint8Array {
  if (isPacked) return unpackValues(bytes, start);
  const values = bytes.subarray(start);
  if (values.length % 8 !== 0)
    throw new CorruptChunkError(`${values.length} bytes of values are not whole float64`);
  return values;
}

function requireWhole(values: Uint8Array): void {
  if (values.length % 8 !== 0) throw new RangeError(`${values.length} bytes of values are not whole float64`);
}

function writeHead(
  target: Uint8Array,
  kind: number,
  layout: Uint8Array,
  ms: number,
  versionBytes: Uint8Array,
): void {
  if (layout.length !== LAYOUT_BYTES) throw new RangeError(`layout id of ${layout.length} bytes, not 16`);
  target[0] = kind;
  target.set(layout, 1);
  writeTimestamp(target, 1 + LAYOUT_BYTES, ms);
  target.set(versionBytes, HEAD_BYTES);
}

/** Writes a timestamp as 8 bytes, little-endian, two's complement. */
function writeTimestamp(target: Uint8Array, offset: number, ms: number): void {
  if (!Number.isSafeInteger(ms)) throw new RangeError(`timestamp ${ms} is not an integer within 2^53`);
  const low = ms >>> 0;
  const high = Math.floor(ms / 2 ** 32);
  for (let i = 0; i < 4; i++) {
    target[offset + i] = low >>> (8 * i);
    target[offset + 4 + i] = high >> (8 * i);
  }
}

function readTimestamp(bytes: Uint8Array, offset: number): number {
  const low =
    bytes[offset]! | (bytes[offset + 1]! << 8) | (bytes[offset + 2]! << 16) | (bytes[offset + 3]! << 24);
  const high =
    bytes[offset + 4]! | (bytes[offset + 5]! << 8) | (bytes[offset + 6]! << 16) | (bytes[offset + 7]! << 24);
  const ms = high * 2 ** 32 + (low >>> 0);
  if (!Number.isSafeInteger(ms)) throw new CorruptChunkError(`timestamp ${ms} is beyond 2^53 - 1`);
  return ms;
}

function readVersion(bytes: Uint8Array, offset: number): Version {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const arrivalMs = view.getUint16(offset) * 2 ** 32 + view.getUint32(offset + 2);
  const length = bytes[offset + 6]!;
  let at = offset + 7;
  const end = at + length;
  if (length > MAX_SEQUENCE_BYTES || (length > 0 && bytes[at] === 0)) {
    throw new CorruptChunkError(`sequence of ${length} bytes is longer than 56 or begins with a zero`);
  }
  let sequence = 0n;
  for (; at + 8 <= end; at += 8) sequence = (sequence << 64n) | view.getBigUint64(at);
  let rest = 0;
  const restBits = 8 * (end - at);
  if (restBits > 32) {
    sequence = (sequence << 32n) | BigInt(view.getUint32(at));
    at += 4;
  }
  for (; at < end; at++) rest = rest * 256 + bytes[at]!;
  if (restBits > 0) sequence = (sequence << BigInt(restBits > 32 ? restBits - 32 : restBits)) | BigInt(rest);
  return { arrivalMs, sequence };
}
