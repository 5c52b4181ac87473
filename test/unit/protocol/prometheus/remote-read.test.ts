import fc from 'fast-check';
import protobuf from 'protobufjs';
import {
  decodeReadRequest,
  encodeChunks,
  encodeSamples,
} from '../../../../shared/protocol/prometheus/remote-read';
import { uncompressBlock } from '../../../../shared/protocol/prometheus/snappy';
import type { TimeSeries } from '../../../../shared/protocol/prometheus/time-series';
import { encodeXorChunk } from '../../../../shared/protocol/prometheus/xor-chunk';
import { decodeXorChunk } from '../../../support/xor-chunk';

const { root } = protobuf.parse(`syntax = "proto3";
  message ReadRequest { repeated Query queries = 1; repeated int32 accepted_response_types = 2; }
  message Query { int64 start_timestamp_ms = 1; int64 end_timestamp_ms = 2; repeated Matcher matchers = 3; Hints hints = 4; }
  message Matcher { int32 type = 1; string name = 2; string value = 3; }
  message Hints { int64 step_ms = 1; string func = 2; }
  message Label { string name = 1; string value = 2; }
  message Sample { fixed64 value = 1; int64 timestamp = 2; }
  message TimeSeries { repeated Label labels = 1; repeated Sample samples = 2; }
  message QueryResult { repeated TimeSeries timeseries = 1; }
  message ReadResponse { repeated QueryResult results = 1; }
  message Chunk { int64 min_time_ms = 1; int64 max_time_ms = 2; int32 type = 3; bytes data = 4; }
  message ChunkedSeries { repeated Label labels = 1; repeated Chunk chunks = 2; }
  message ChunkedReadResponse { repeated ChunkedSeries chunked_series = 1; int64 query_index = 2; }`);

const bitsOf = (values: Float64Array) => [
  ...new BigUint64Array(values.buffer, values.byteOffset, values.length),
];

const columns = fc
  .array(
    fc.record({
      gap: fc.oneof(
        fc.constant(15_000),
        fc.integer({ min: 1, max: 100_000 }),
        fc.integer({ min: 1, max: 2 ** 40 }),
      ),
      bits: fc.oneof(
        fc.constant(0x7ff0000000000002n),
        fc.integer({ min: 0, max: 1000 }).map((value) => bitsOf(Float64Array.of(value / 10))[0]!),
        fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
      ),
    }),
    { minLength: 1, maxLength: 400 },
  )
  .map((samples): Pick<TimeSeries, 'timestamps' | 'values'> => {
    const timestamps = new Float64Array(samples.length);
    let at = -5_000;
    for (const [i, { gap }] of samples.entries()) timestamps[i] = at += gap;
    const bits = BigUint64Array.from(samples, (sample) => sample.bits);
    return { timestamps, values: new Float64Array(bits.buffer) };
  });

describe('an XOR chunk', () => {
  test('gives back every timestamp and every bit', () => {
    fc.assert(
      fc.property(columns, ({ timestamps, values }) => {
        const to = Math.min(120, values.length);
        const decoded = decodeXorChunk(encodeXorChunk(timestamps, values, 0, to));
        expect(decoded).toEqual(
          bitsOf(values)
            .slice(0, to)
            .map((bits, i) => ({ timestamp: timestamps[i], bits })),
        );
      }),
    );
  });

  test("has the bytes of Prometheus' own encoder", () => {
    // The samples 1, 2, 2 and 0.5 at 1000, 2000, 3000 and 4500 ms, as encoded by tsdb/chunkenc of Prometheus 3.
    const timestamps = Float64Array.of(1000, 2000, 3000, 4500);
    const bytes = encodeXorChunk(timestamps, Float64Array.of(1, 2, 2, 0.5), 0, 4);
    expect(Buffer.from(bytes).toString('hex')).toBe(GOLDEN);
  });
});

/** The chunk's bytes, in hexadecimal. */
const GOLDEN = '0004d00f3ff0000000000000e807c25fff207d2ffc';

describe('a read request', () => {
  const encode = (request: object) => root.lookupType('ReadRequest').encode(request).finish();

  test('is decoded: queries with their ranges and matchers, hints skipped', () => {
    const matchers = ['=', '!=', '=~', '!~'].map((_, type) => ({ type, name: `l${type}`, value: 'v' }));
    const query = {
      startTimestampMs: -5,
      endTimestampMs: 1e12,
      matchers,
      hints: { stepMs: 5, func: 'rate' },
    };
    expect(decodeReadRequest(encode({ queries: [query, {}] }))).toEqual({
      queries: [
        {
          startMs: -5,
          endMs: 1e12,
          matchers: ['=', '!=', '=~', '!~'].map((op, type) => ({ label: `l${type}`, op, value: 'v' })),
        },
        { startMs: 0, endMs: 0, matchers: [] },
      ],
      acceptsChunks: false,
    });
  });

  test.each([
    { accepted: [], acceptsChunks: false },
    { accepted: [0], acceptsChunks: false },
    { accepted: [1, 0], acceptsChunks: true },
    { accepted: [0, 1], acceptsChunks: false },
    { accepted: [7, 1], acceptsChunks: true },
  ])('that accepts $accepted gets chunks: $acceptsChunks', ({ accepted, acceptsChunks }) => {
    expect(decodeReadRequest(encode({ acceptedResponseTypes: accepted })).acceptsChunks).toBe(acceptsChunks);
  });

  test('of a matcher of no known type, of too many queries or of cut bytes is refused', () => {
    expect(() => decodeReadRequest(encode({ queries: [{ matchers: [{ type: 4, name: 'x' }] }] }))).toThrow(
      'a matcher of "x" has type 4; expected 0 to 3',
    );
    expect(() => decodeReadRequest(encode({ queries: Array(65).fill({}) }))).toThrow('more than 64 queries');
    expect(() => decodeReadRequest(Uint8Array.of(0x0a, 5, 1))).toThrow('5 bytes announced');
  });
});

describe('an answer', () => {
  const labels = [
    ['__name__', 'up'],
    ['job', 'é'],
  ] as const;

  test('of samples is one snappy block that protobuf reads', () => {
    fc.assert(
      fc.property(columns, ({ timestamps, values }) => {
        const bytes = uncompressBlock(encodeSamples([[{ labels, timestamps, values }], []]));
        const { results } = root
          .lookupType('ReadResponse')
          .toObject(root.lookupType('ReadResponse').decode(bytes), {
            longs: String,
            arrays: true,
            defaults: true,
          });
        expect(results).toEqual([
          {
            timeseries: [
              {
                labels: labels.map(([name, value]) => ({ name, value })),
                samples: bitsOf(values).map((bits, i) => ({
                  value: String(bits),
                  timestamp: String(timestamps[i]),
                })),
              },
            ],
          },
          { timeseries: [] },
        ]);
      }),
      { numRuns: 20 },
    );
  });

  test('of chunks has a frame for each series, with its checksum and its query', () => {
    fc.assert(
      fc.property(columns, ({ timestamps, values }) => {
        const series = { labels, timestamps, values };
        const frames = framesOf(encodeChunks([[series], [series]]));
        expect(frames).toHaveLength(2);
        for (const [index, frame] of frames.entries()) {
          const type = root.lookupType('ChunkedReadResponse');
          const message = type.toObject(type.decode(frame), { longs: Number, defaults: true });
          expect(message.queryIndex).toBe(index);
          const [{ chunks }] = message.chunkedSeries;
          const decoded = chunks.flatMap(({ data }: { data: Uint8Array }) => decodeXorChunk(data));
          expect(decoded).toEqual(bitsOf(values).map((bits, i) => ({ timestamp: timestamps[i], bits })));
          expect(chunks[0].minTimeMs).toBe(timestamps[0]);
          expect(chunks.at(-1).maxTimeMs).toBe(timestamps.at(-1));
        }
      }),
      { numRuns: 20 },
    );
  });
});

/** Divides a stream into its messages, and checks each CRC-32C with a slow and simple computation. */
function framesOf(stream: Uint8Array): Uint8Array[] {
  const frames: Uint8Array[] = [];
  for (let at = 0; at < stream.length; ) {
    let length = 0;
    let byte = 128;
    for (let scale = 1; byte > 127; scale *= 128) {
      byte = stream[at++]!;
      length += (byte & 127) * scale;
    }
    const frame = stream.subarray(at + 4, at + 4 + length);
    let crc = ~0;
    for (const byte of frame) {
      crc ^= byte;
      for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (0x82f63b78 & -(crc & 1));
    }
    expect(Buffer.from(stream).readUInt32BE(at)).toBe(~crc >>> 0);
    frames.push(frame);
    at += 4 + length;
  }
  return frames;
}
