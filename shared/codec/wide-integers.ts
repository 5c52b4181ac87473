/** Integers of up to 54 bits: timestamps and their distances, which may exceed the 51 bits of integers.ts. */
import type { BitReader, BitWriter } from './bits';
import { MAX_INTEGER, readIntegers, writeIntegers } from './integers';

/** Wide integers are written as two halves to this base. */
const HALF = 2 ** 32;

/** Writes `integers[0, count)`: as one sequence or, if any of them is large, as two sequences of halves. */
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

export function readWideIntegers(reader: BitReader, count: number): Float64Array {
  const isWide = reader.read(1) === 1;
  const integers = new Float64Array(count);
  readIntegers(reader, integers, 0, count);
  if (!isWide) return integers;
  const lows = new Float64Array(count);
  readIntegers(reader, lows, 0, count);
  return integers.map((high, i) => high * HALF + lows[i]!);
}
