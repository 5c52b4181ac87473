/** Encodes integers of up to 54 bits: times and delays, which may exceed the 51 bits that integers.ts allows. */
import type { BitReader, BitWriter } from './bits';
import { MAX_INTEGER, readIntegers, writeIntegers } from './integers';

/**
 * If any integer is too large for integers.ts, the writer divides all integers by this number, and writes the quotients
 * and the remainders.
 */
const HALF = 2 ** 32;

/** Writes `integers[0, count)` as one sequence, or as two sequences of halves if any integer is too large. */
export function writeWideIntegers(writer: BitWriter, integers: Float64Array, count: number): void {
  let isWide = false;
  for (let i = 0; i < count; i++) if (Math.abs(integers[i]!) > MAX_INTEGER) isWide = true;
  writer.write(isWide ? 1 : 0, 1);
  if (!isWide) {
    writeIntegers(writer, integers, count);
    return;
  }
  const highs = integers.map((integer) => Math.floor(integer / HALF));
  writeIntegers(writer, highs, count);
  writeIntegers(
    writer,
    integers.map((integer, i) => integer - highs[i]! * HALF),
    count,
  );
}

/** Reads `count` integers that {@link writeWideIntegers} wrote. */
export function readWideIntegers(reader: BitReader, count: number): Float64Array {
  const isWide = reader.read(1) === 1;
  const integers = new Float64Array(count);
  readIntegers(reader, integers, 0, count);
  if (!isWide) return integers;
  const lows = new Float64Array(count);
  readIntegers(reader, lows, 0, count);
  return integers.map((high, i) => high * HALF + lows[i]!);
}
