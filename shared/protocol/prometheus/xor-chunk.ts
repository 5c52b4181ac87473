/** Maximum number of samples in a chunk, the same as in Prometheus' own chunks. */
export const MAX_CHUNK_SAMPLES = 120;

/**
 * Value of `leading` while there is no window of significant bits yet. No XOR of two different values has so many
 * leading zeros.
 */
const NO_WINDOW = 64;
/** Maximum number of leading zeros that five bits can express. */
const MAX_LEADING = 31;

/**
 * Encodes samples as Prometheus' XOR chunk: timestamps as deltas of deltas, values as their XOR with the previous
 * value. Values are moved as 32-bit words, so every NaN keeps its bits.
 *
 * @param from index of the first sample
 * @param to index after the last sample; at most `from` + 65,535
 * @see https://github.com/prometheus/prometheus/blob/main/tsdb/docs/format/chunks.md
 */
export function encodeXorChunk(
  timestamps: Float64Array,
  values: Float64Array,
  from: number,
  to: number,
): Uint8Array {
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
  const bits = new BitWriter((to - from) * 20 + 16);
  bits.write(to - from, 16);
  let [deltaMs, leading, trailing] = [0, NO_WINDOW, 0];
  for (let i = from; i < to; i++) {
    const [low, high] = [words[2 * i]!, words[2 * i + 1]!];
    if (i === from) {
      bits.varint(timestamps[i]!);
      bits.write(high, 32);
      bits.write(low, 32);
      continue;
    }
    const before = deltaMs;
    deltaMs = timestamps[i]! - timestamps[i - 1]!;
    if (i === from + 1) bits.uvarint(deltaMs);
    else writeDifference(bits, deltaMs - before);
    const [xorLow, xorHigh] = [(low ^ words[2 * i - 2]!) >>> 0, (high ^ words[2 * i - 1]!) >>> 0];
    if (xorLow === 0 && xorHigh === 0) {
      bits.write(0, 1);
      continue;
    }
    const ownLeading = Math.min(MAX_LEADING, xorHigh === 0 ? 32 + Math.clz32(xorLow) : Math.clz32(xorHigh));
    const ownTrailing = xorLow === 0 ? 32 + trailingZeros(xorHigh) : trailingZeros(xorLow);
    if (ownLeading >= leading && ownTrailing >= trailing) bits.write(0b10, 2);
    else {
      [leading, trailing] = [ownLeading, ownTrailing];
      const significant = 64 - leading - trailing;
      bits.write(0b11, 2);
      bits.write(leading, 5);
      // The number 64 does not fit into six bits, so it is written as 0. (There is always at least one significant
      // bit.)
      bits.write(significant & 63, 6);
    }
    writeMiddle(bits, xorHigh, xorLow, leading, trailing);
  }
  return bits.finish();
}

/** The bit widths that a delta of deltas can have, each with the prefix that announces it. */
const WIDTHS = [
  { bits: 14, prefix: 0b10, prefixBits: 2 },
  { bits: 17, prefix: 0b110, prefixBits: 3 },
  { bits: 20, prefix: 0b1110, prefixBits: 4 },
];

function writeDifference(bits: BitWriter, difference: number): void {
  if (difference === 0) {
    bits.write(0, 1);
    return;
  }
  const width = WIDTHS.find(
    (each) => -(2 ** (each.bits - 1)) < difference && difference <= 2 ** (each.bits - 1),
  );
  if (width !== undefined) {
    bits.write(width.prefix, width.prefixBits);
    bits.write(difference & (2 ** width.bits - 1), width.bits);
    return;
  }
  bits.write(0b1111, 4);
  bits.write(Math.floor(difference / 2 ** 32) >>> 0, 32);
  bits.write(difference >>> 0, 32);
}

/** Writes the significant bits of a 64-bit value, between its leading and trailing zeros. */
function writeMiddle(bits: BitWriter, high: number, low: number, leading: number, trailing: number): void {
  if (trailing >= 32) {
    bits.write(high >>> (trailing - 32), 64 - leading - trailing);
    return;
  }
  // There are at most 31 leading zeros, so the upper word always has some of the bits.
  bits.write(high, 32 - leading);
  bits.write(low >>> trailing, 32 - trailing);
}

function trailingZeros(word: number): number {
  return 31 - Math.clz32(word & -word);
}

/** Writes bits, the most significant first. */
class BitWriter {
  private readonly bytes: Uint8Array;
  private length = 0;

  /**
   * @param maxBytes capacity
   */
  constructor(maxBytes: number) {
    this.bytes = new Uint8Array(maxBytes);
  }

  /** Writes the lowest `count` bits of a value. `count` is 1 to 32. */
  write(value: number, count: number): void {
    for (let left = count; left > 0; ) {
      const free = 8 - (this.length & 7);
      const taken = Math.min(free, left);
      const part = (value >>> (left - taken)) & (2 ** taken - 1);
      this.bytes[this.length >>> 3]! |= part << (free - taken);
      this.length += taken;
      left -= taken;
    }
  }

  /** Writes an unsigned LEB128 integer from 0 to 2^53 - 1. */
  uvarint(value: number): void {
    let rest = value;
    for (; rest > 127; rest = Math.floor(rest / 128)) this.write((rest % 128) + 128, 8);
    this.write(rest, 8);
  }

  /** Writes a signed integer, zigzag-encoded, as {@link uvarint} does. */
  varint(value: number): void {
    this.uvarint(value < 0 ? -2 * value - 1 : 2 * value);
  }

  finish(): Uint8Array {
    return this.bytes.subarray(0, (this.length + 7) >>> 3);
  }
}
