import * as fc from 'fast-check';
import {
  CorruptChunkError,
  decodeFrame,
  encodeFrame,
  encodeVersion,
  type Frame,
  isPresenceOf,
  packPartialFrame,
  packSampleFrame,
  presenceOf,
  presentSeries,
} from '../../../shared/codec';
import { anyBits, anyVersion, bytesOf, LAYOUT } from './arbitraries';

const kinesisSequence = 49590338271490256608559692538361571095921575989136588898n;
const version = { arrivalMs: 1_700_000_000_123, sequence: kinesisSequence };
const post: Frame = {
  layout: LAYOUT,
  timestamp: 1_700_000_000_000,
  version,
  values: bytesOf([1.5, -0, 51.846000000000004]),
};
const pack = ({ layout, timestamp, version, values }: Frame) =>
  packSampleFrame(layout, timestamp, encodeVersion(version), values);

const anyFrame: fc.Arbitrary<Frame> = fc.record({
  layout: fc.uint8Array({ minLength: 16, maxLength: 16 }),
  timestamp: fc.maxSafeInteger().map((ms) => ms + 0),
  version: anyVersion,
  values: fc.array(anyBits, { maxLength: 5 }).map((bits) => bytesOf(BigUint64Array.from(bits))),
});

describe('a frame', () => {
  test('comes back as it was', () => {
    expect(decodeFrame(encodeFrame(post))).toEqual(post);
  });

  test('of anything comes back bit for bit, from any address', () => {
    fc.assert(
      fc.property(anyFrame, fc.nat(7), (frame, shift) => {
        const bytes = encodeFrame(frame);
        const moved = new Uint8Array(bytes.length + shift).subarray(shift);
        moved.set(bytes);
        expect(decodeFrame(moved)).toEqual(frame);
      }),
      { numRuns: 500 },
    );
  });

  test('of 100 series costs 8.56 bytes a point with a Kinesis sequence number', () => {
    expect(encodeFrame({ ...post, values: new Uint8Array(800) }).length / 100).toBe(8.56);
  });

  test.each([
    { name: 'what packing shortens', values: [0, 1.5, -0, 2 ** 40, 0.1], bytes: 3 + 0 + 2 + 1 + 2 + 8 },
    { name: 'one value that is zero', values: [0], bytes: 1 },
    { name: 'nothing but zeros', values: [0, 0, 0, 0], bytes: 2 },
    { name: 'what packing would not shorten, which stays plain', values: [0.1, 0.2], bytes: 16 },
    { name: 'one byte less than 8, which the lengths take', values: [1 + 2 ** -40], bytes: 8 },
    { name: 'no values at all', values: [], bytes: 0 },
  ])('packed comes back as it was: $name', ({ values, bytes }) => {
    const frame = { ...post, values: bytesOf(values) };
    const packed = pack(frame);
    expect(packed.length - encodeFrame({ ...post, values: bytesOf([]) }).length).toBe(bytes);
    expect(decodeFrame(packed)).toEqual(frame);
  });

  test('packed is never longer, and comes back bit for bit, from any address', () => {
    const zeroed = fc
      .tuple(anyBits, fc.nat(8))
      .map(([bits, bytes]) => BigInt.asUintN(64, bits << BigInt(8 * bytes)));
    const values = fc.array(zeroed, { maxLength: 9 }).map((bits) => bytesOf(BigUint64Array.from(bits)));
    fc.assert(
      fc.property(values, fc.nat(7), (values, shift) => {
        const frame = { ...post, values };
        const bytes = pack(frame);
        expect(bytes.length).toBeLessThanOrEqual(encodeFrame(frame).length);
        const moved = new Uint8Array(bytes.length + shift).subarray(shift);
        moved.set(bytes);
        expect(decodeFrame(moved)).toEqual(frame);
      }),
      { numRuns: 500 },
    );
  });

  test('of some series comes back bit for bit, from any address', () => {
    const present = fc
      .array(fc.boolean(), { minLength: 1, maxLength: 70 })
      .filter((series) => series.includes(true));
    fc.assert(
      fc.property(present, fc.infiniteStream(anyBits), fc.nat(7), (series, bits, shift) => {
        const indexes = series.flatMap((isPresent, i) => (isPresent ? [i] : []));
        const presence = presenceOf(indexes, series.length);
        const values = bytesOf(BigUint64Array.from(indexes, () => bits.next().value!));
        const bytes = packPartialFrame(LAYOUT, post.timestamp, encodeVersion(version), presence, values);
        const moved = new Uint8Array(bytes.length + shift).subarray(shift);
        moved.set(bytes);
        expect(decodeFrame(moved)).toEqual({ ...post, presence, values });
        expect([...presentSeries(presence)]).toEqual(indexes);
        expect(isPresenceOf(presence, series.length)).toBe(true);
      }),
    );
  });

  test('is read without copying', () => {
    const bytes = encodeFrame(post);
    expect(decodeFrame(bytes).layout.buffer).toBe(bytes.buffer);
  });
});

describe('bytes that are no frame', () => {
  // Three values. The last one has no partner, so the frame ends with its control byte and its two bytes.
  const packable = { ...post, values: bytesOf([0, 0, 1]) };
  const partial = packPartialFrame(
    LAYOUT,
    post.timestamp,
    encodeVersion(version),
    presenceOf([1], 3),
    bytesOf([0.1]),
  );
  const altered = (frame: Frame, offset: number, value: number) => {
    const bytes = encodeFrame(frame);
    bytes[offset] = value;
    return bytes;
  };
  test.each([
    { name: 'nothing', bytes: new Uint8Array(0) },
    { name: 'a later version', bytes: altered(post, 0, 0x20) },
    { name: 'a presence map cut off', bytes: altered(post, 0, 0x12).subarray(0, 60) },
    { name: 'fewer values than present series', bytes: partial.subarray(0, -8) },
    { name: 'more values than present series', bytes: Uint8Array.of(...partial, ...new Uint8Array(8)) },
    { name: 'a packed value cut off', bytes: pack(packable).subarray(0, -1) },
    { name: 'a byte too many after packed values', bytes: Uint8Array.of(...pack(packable), 0x00, 0x01) },
    {
      name: 'a packed value of 9 bytes',
      bytes: Uint8Array.of(...pack(packable).subarray(0, -3), 0xf9, 1, 2, 3, 4, 5, 6, 7, 8, 9),
    },
    { name: 'a kind unknown', bytes: altered(post, 0, 0x14) },
    { name: 'a head cut off', bytes: encodeFrame(post).subarray(0, 20) },
    { name: 'a value cut off', bytes: encodeFrame(post).subarray(0, -1) },
    { name: 'a byte too many', bytes: Uint8Array.of(...encodeFrame(post), 0) },
    { name: 'a time beyond 2^53', bytes: altered(post, 24, 0x7f) },
    { name: 'a sequence number longer than allowed', bytes: altered(post, 31, 57) },
    { name: 'a sequence number with a leading zero', bytes: altered(post, 32, 0) },
  ])('$name: CorruptChunkError', ({ bytes }) => {
    expect(() => decodeFrame(bytes)).toThrow(CorruptChunkError);
  });

  test.each([
    { name: 'a layout id of 15 bytes', frame: { ...post, layout: LAYOUT.subarray(1) } },
    { name: 'half a millisecond', frame: { ...post, timestamp: 0.5 } },
    { name: 'a negative arrival', frame: { ...post, version: { ...version, arrivalMs: -1 } } },
    { name: 'a sequence of 449 bits', frame: { ...post, version: { ...version, sequence: 2n ** 448n } } },
    { name: 'half a value', frame: { ...post, values: new Uint8Array(12) } },
  ])('$name is not encoded', ({ frame }) => {
    expect(() => encodeFrame(frame as Frame)).toThrow(RangeError);
  });
});
