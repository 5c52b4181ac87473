/**
 * Textbook Gorilla as the benchmark's reference: timestamps as deltas of deltas, values XORed with the
 * previous one.
 *
 * @see T. Pelkonen et al., Gorilla: A Fast, Scalable, In-Memory Time Series Database, VLDB 2015, section 4.1.
 *   Here the first timestamp and delta take 64 and 32 bits, because the paper's 14-bit delta is for seconds.
 *   The buckets of deltas of deltas are the paper's, in ms.
 */

/** Buffer of bits, most significant first. */
let words = new Uint8Array(1 << 16);

/** Encodes one series with Gorilla, into a new array. */
export function encodeGorilla(timestamps: Float64Array, values: Float64Array): Uint8Array {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
  if (words.length < values.length * 20 + 64) words = new Uint8Array(values.length * 40 + 64);
  const bytes = words;
  let length = 0;
  let pending = 0;
  let pendingCount = 0;
  /** @param count at most 24 */
  const write = (value: number, count: number): void => {
    pending = (pending << count) | value;
    pendingCount += count;
    while (pendingCount >= 8) {
      pendingCount -= 8;
      bytes[length++] = pending >>> pendingCount;
    }
    pending &= 0xff;
  };
  const writeWord = (value: number, count: number): void => {
    if (count > 16) {
      write((value >>> 16) & (2 ** (count - 16) - 1), count - 16);
      write(value & 0xffff, 16);
    } else write(value & (2 ** count - 1), count);
  };
  let delta = 0;
  let leading = 33;
  let meaningful = 0;
  let low = 0;
  let high = 0;
  for (let i = 0; i < timestamps.length; i++) {
    if (i === 0) {
      writeWord(Math.floor(timestamps[0]! / 2 ** 32), 32);
      writeWord(timestamps[0]! >>> 0, 32);
    } else {
      const nextDelta = timestamps[i]! - timestamps[i - 1]!;
      const change = nextDelta - delta;
      delta = nextDelta;
      if (i === 1) writeWord(change, 32);
      else if (change === 0) write(0, 1);
      else if (change >= -63 && change <= 64) write((0b10 << 7) | (change + 63), 9);
      else if (change >= -255 && change <= 256) write((0b110 << 9) | (change + 255), 12);
      else if (change >= -2047 && change <= 2048) write((0b1110 << 12) | (change + 2047), 16);
      else {
        write(0b1111, 4);
        writeWord(change, 32);
      }
    }
    const xorLow = bits[2 * i]! ^ low;
    const xorHigh = bits[2 * i + 1]! ^ high;
    low = bits[2 * i]!;
    high = bits[2 * i + 1]!;
    if (i === 0) {
      writeWord(high, 32);
      writeWord(low, 32);
      continue;
    }
    if ((xorLow | xorHigh) === 0) {
      write(0, 1);
      continue;
    }
    const zerosBefore = Math.min(31, xorHigh === 0 ? 32 + Math.clz32(xorLow) : Math.clz32(xorHigh));
    const zerosAfter = xorLow === 0 ? 32 + trailingZeros(xorHigh) : trailingZeros(xorLow);
    if (leading <= zerosBefore && 64 - leading - meaningful <= zerosAfter) write(0b10, 2);
    else {
      leading = zerosBefore;
      meaningful = 64 - zerosBefore - zerosAfter;
      // 64 does not fit in 6 bits and is written as 0.
      write((0b11 << 11) | (leading << 6) | (meaningful & 63), 13);
    }
    const shift = 64 - leading - meaningful;
    if (shift >= 32) writeWord(xorHigh >>> (shift - 32), meaningful);
    else {
      if (meaningful > 32) writeWord(xorHigh >>> shift, meaningful - 32);
      const lowBits = Math.min(meaningful, 32);
      writeWord(shift === 0 ? xorLow : (xorLow >>> shift) | (xorHigh << (32 - shift)), lowBits);
    }
  }
  if (pendingCount > 0) write(0, 8 - pendingCount);
  return bytes.slice(0, length);
}

function trailingZeros(word: number): number {
  return 31 - Math.clz32(word & -word);
}

/** Decodes what {@link encodeGorilla} wrote. The caller knows the number of samples. */
export function decodeGorilla(
  bytes: Uint8Array,
  count: number,
): { timestamps: Float64Array; values: Float64Array } {
  const timestamps = new Float64Array(count);
  const values = new Float64Array(count);
  const bits = new Int32Array(values.buffer);
  let position = 0;
  /** @param length at most 24 */
  const read = (length: number): number => {
    const byte = position >>> 3;
    const word = (bytes[byte]! << 24) | (bytes[byte + 1]! << 16) | (bytes[byte + 2]! << 8) | bytes[byte + 3]!;
    const value = length === 0 ? 0 : (word << (position & 7)) >>> (32 - length);
    position += length;
    return value;
  };
  const readWord = (length: number): number =>
    length > 16 ? ((read(length - 16) << 16) | read(16)) >>> 0 : read(length);
  const readChange = (): number => {
    let ones = 0;
    while (ones < 4 && read(1) === 1) ones++;
    if (ones === 0) return 0;
    if (ones === 4) return readWord(32) | 0;
    const length = ones === 1 ? 7 : ones === 2 ? 9 : 12;
    return read(length) - (2 ** (length - 1) - 1);
  };
  let delta = 0;
  let leading = 0;
  let meaningful = 0;
  for (let i = 0; i < count; i++) {
    if (i === 0) {
      timestamps[0] = (readWord(32) | 0) * 2 ** 32 + readWord(32);
      bits[1] = readWord(32);
      bits[0] = readWord(32);
      continue;
    }
    if (i === 1) delta = readWord(32) | 0;
    else delta += readChange();
    timestamps[i] = timestamps[i - 1]! + delta;
    let low = bits[2 * i - 2]!;
    let high = bits[2 * i - 1]!;
    if (read(1) === 1) {
      if (read(1) === 1) {
        leading = read(5);
        meaningful = read(6) || 64;
      }
      const shift = 64 - leading - meaningful;
      if (shift >= 32) high ^= readWord(meaningful) << (shift - 32);
      else {
        const top = meaningful > 32 ? readWord(meaningful - 32) : 0;
        const bottom = readWord(Math.min(meaningful, 32));
        low ^= bottom << shift;
        high ^= (top << shift) | (shift === 0 ? 0 : bottom >>> (32 - shift));
      }
    }
    bits[2 * i] = low;
    bits[2 * i + 1] = high;
  }
  return { timestamps, values };
}
