import { snappyCompress } from 'hysnappy';
import { ByteWriter, MalformedBytesError } from '../../model/bytes';
import type { Matcher } from '../../model/matcher';
import { RequestTooLargeError } from '../protocol';
import { VARINT, WireReader, writeInt64, writeMessage } from '../wire';
import { type TimeSeries, writeLabels, writeSeries } from './time-series';
import { encodeXorChunk, MAX_CHUNK_SAMPLES } from './xor-chunk';

/** One query of a remote-read request. */
export interface ReadQuery {
  /** Unix time in ms; both ends are inclusive. */
  readonly startMs: number;
  readonly endMs: number;
  readonly matchers: readonly Matcher[];
}

export interface ReadRequest {
  readonly queries: readonly ReadQuery[];
  /** True if the client accepts a stream of chunks; otherwise it gets all samples in one message. */
  readonly acceptsChunks: boolean;
}

/** Maximum number of queries in a request, and of matchers in a query. Prometheus sends one query per selector. */
const MAX_QUERIES = 64;
const MAX_MATCHERS = 256;

const OPERATORS = ['=', '!=', '=~', '!~'] as const;
/** Number of the response type that streams chunks. */
const STREAMED_XOR_CHUNKS = 1;

/**
 * Decodes a `prometheus.ReadRequest`, uncompressed.
 *
 *     ReadRequest   1 queries*   2 accepted_response_types*
 *     Query         1 start_timestamp_ms   2 end_timestamp_ms   3 matchers*   4 hints
 *     LabelMatcher  1 type (= != =~ !~)   2 name   3 value
 *
 * @throws {MalformedBytesError}
 * @throws {RequestTooLargeError}
 * @see https://github.com/prometheus/prometheus/blob/main/prompb/remote.proto
 */
export function decodeReadRequest(bytes: Uint8Array): ReadRequest {
  const reader = new WireReader(bytes);
  const queries: ReadQuery[] = [];
  const accepted: number[] = [];
  while (reader.next()) {
    if (reader.field === 1) {
      if (queries.length === MAX_QUERIES)
        throw new RequestTooLargeError(`the request has more than ${MAX_QUERIES} queries`);
      queries.push(reader.message(readQuery));
    } else if (reader.field !== 2) reader.skip();
    else if (reader.type === VARINT) accepted.push(reader.uvarint());
    else
      reader.message((packed) => {
        while (packed.at < packed.end) accepted.push(packed.uvarint());
      });
  }
  // Readers list response types in order of preference. Take the first known type.
  const acceptsChunks = accepted.find((type) => type <= STREAMED_XOR_CHUNKS) === STREAMED_XOR_CHUNKS;
  return { queries, acceptsChunks };
}

function readQuery(reader: WireReader): ReadQuery {
  let [startMs, endMs] = [0, 0];
  const matchers: Matcher[] = [];
  while (reader.next()) {
    if (reader.field === 1) {
      reader.expect(VARINT);
      startMs = reader.int64();
    } else if (reader.field === 2) {
      reader.expect(VARINT);
      endMs = reader.int64();
    } else if (reader.field === 3) {
      if (matchers.length === MAX_MATCHERS)
        throw new RequestTooLargeError(`a query has more than ${MAX_MATCHERS} matchers`);
      matchers.push(reader.message(readMatcher));
    } else reader.skip();
  }
  return { startMs, endMs, matchers };
}

function readMatcher(reader: WireReader): Matcher {
  let [type, label, value] = [0, '', ''];
  while (reader.next()) {
    if (reader.field === 1) {
      reader.expect(VARINT);
      type = reader.uvarint();
    } else if (reader.field === 2) label = reader.text();
    else if (reader.field === 3) value = reader.text();
    else reader.skip();
  }
  const op = OPERATORS[type];
  if (op === undefined)
    throw new MalformedBytesError(`a matcher of ${JSON.stringify(label)} has type ${type}; expected 0 to 3`);
  return { label, op, value };
}

/**
 * Encodes the response as one `prometheus.ReadResponse` in a snappy block.
 *
 *     ReadResponse 1 results*   QueryResult 1 timeseries*   TimeSeries 1 labels*, 2 samples*   Sample 1 value, 2 timestamp
 *
 * @param results the series of each query
 */
export function encodeSamples(results: readonly (readonly TimeSeries[])[]): Uint8Array {
  const out = new ByteWriter(1 << 16);
  for (const series of results) writeMessage(out, 1, (result) => writeSeries(result, series));
  return snappyCompress(out.finish());
}

/**
 * Encodes the response as a stream of `prometheus.ChunkedReadResponse`, with one series in each message.
 *
 *     frame                uvarint length   CRC-32C of the message, big-endian   message
 *     ChunkedReadResponse  1 chunked_series*   2 query_index
 *     ChunkedSeries        1 labels*   2 chunks*
 *     Chunk                1 min_time_ms   2 max_time_ms   3 type (1: XOR)   4 data
 *
 * @param results the series of each query, sorted by labels
 */
export function encodeChunks(results: readonly (readonly TimeSeries[])[]): Uint8Array {
  const out = new ByteWriter(1 << 16);
  const message = new ByteWriter(1 << 12);
  for (const [index, series] of results.entries())
    for (const each of series) {
      message.restart();
      writeMessage(message, 1, (chunked) => {
        writeLabels(chunked, each.labels);
        writeChunks(chunked, each);
      });
      if (index > 0) message.byte(0x10).uvarint(index);
      const frame = message.finish();
      out.uvarint(frame.length);
      out.hole(4).writeUInt32BE(crc32c(frame));
      out.bytes(frame);
    }
  return out.finish();
}

function writeChunks(out: ByteWriter, { timestamps, values }: TimeSeries): void {
  for (let from = 0; from < timestamps.length; from += MAX_CHUNK_SAMPLES) {
    const to = Math.min(from + MAX_CHUNK_SAMPLES, timestamps.length);
    writeMessage(out, 2, (chunk) => {
      chunk.byte(0x08);
      writeInt64(chunk, timestamps[from]!);
      chunk.byte(0x10);
      writeInt64(chunk, timestamps[to - 1]!);
      const data = encodeXorChunk(timestamps, values, from, to);
      chunk.byte(0x18).byte(1).byte(0x22).uvarint(data.length).bytes(data);
    });
  }
}

/** Table of CRC-32C (Castagnoli), by byte. */
const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  return crc >>> 0;
});

function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (let i = 0; i < bytes.length; i++) crc = (crc >>> 8) ^ CRC_TABLE[(crc ^ bytes[i]!) & 255]!;
  return (crc ^ 0xffffffff) >>> 0;
}
