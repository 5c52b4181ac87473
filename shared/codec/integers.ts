/**
 * Encodes sequences of integers. Chunks store values, times, rows and versions as sequences of integers. The encoder
 * takes the distance of each integer from the first one, and divides all distances by their greatest common divisor. It
 * writes the resulting quotients themselves (order 0), their differences (order 1), or the differences of the
 * differences (order 2), whichever takes the fewest bits. The numbers that it writes are called latents. Latents are
 * put into bins (bins.ts), and the bins' symbols are coded with tANS (ans.ts).
 */
import { type Bins, chooseBins, MAX_RESOLUTION, newBins } from './bins';
import type { BitReader, BitWriter } from './bits';
import { readLatents, writeLatents } from './latents';

/** Maximum magnitude of an integer in a sequence. */
export const MAX_INTEGER = 2 ** 51;

/**
 * Differences are tried only if the quotients are at most this far apart. Otherwise, differences could need more than
 * 53 bits.
 */
const MAX_DELTA_RANGE = 2 ** 50;
/** Stored instead of the order (0, 1 or 2) if all integers equal the first one. */
const ALL_EQUAL = 3;
/** For sequences longer than this, the encoder uses a sample to choose the order. */
const SAMPLE_ABOVE = 384;
/** A sample consists of SAMPLE_RUNS runs, each of SAMPLE_RUN consecutive integers. */
const SAMPLE_RUNS = 4;
const SAMPLE_RUN = 64;

// Scratch arrays, reused by all calls.
let quotients = new Float64Array(0);
let latents = new Float64Array(0);
let sorted = new Float64Array(0);
const candidateBins: [Bins, Bins, Bins] = [newBins(), newBins(), newBins()];

function reserveScratch(count: number): void {
  if (quotients.length >= count) return;
  const capacity = Math.max(2048, 2 ** Math.ceil(Math.log2(count)));
  quotients = new Float64Array(capacity);
  latents = new Float64Array(capacity);
  sorted = new Float64Array(capacity);
}

/**
 * Writes `integers[0, count)`. Does not write `count`; the reader must know it.
 *
 * @param integers from -{@link MAX_INTEGER} to {@link MAX_INTEGER}; -0 is read back as 0
 */
export function writeIntegers(writer: BitWriter, integers: Float64Array, count: number): void {
  if (count === 0) return;
  const first = integers[0]!;
  writer.writeSigned(first);
  if (count === 1) return;
  reserveScratch(count);
  const divisor = divideDistances(integers, count);
  if (divisor === 0) {
    writer.write(ALL_EQUAL, 2);
    return;
  }
  const order = chooseOrder(count);
  writer.write(order, 2);
  if (divisor === 1) {
    writer.write(0, 1);
  } else {
    writer.write(1, 1);
    writer.writeUnsigned(divisor);
  }
  const latentCount = takeDifferences(order, 1, count, latents);
  if (order === 2) writer.writeSigned(quotients[1]!);
  if (latentCount === 0) return;
  // Bins that were chosen for a sample need not cover all values, so choose the bins again.
  const bins = candidateBins[order];
  if (count > SAMPLE_ABOVE) {
    sorted.set(latents.subarray(0, latentCount));
    sorted.subarray(0, latentCount).sort();
    chooseBins(sorted, latentCount, MAX_RESOLUTION, 1, bins);
  }
  writeLatents(writer, latents, latentCount, bins);
}

/**
 * Fills `quotients` with the distances from the first integer, divided by their greatest common divisor.
 *
 * @returns the divisor; 0 if all distances are 0
 */
function divideDistances(integers: Float64Array, count: number): number {
  const first = integers[0]!;
  let divisor = 0;
  let i = 1;
  for (; i < count && divisor !== 1; i++) {
    const distance = Math.abs(integers[i]! - first);
    if (distance === 0) continue;
    // `| 0` makes the engine divide 32-bit integers, which is many times faster than float64.
    const isDivided =
      distance <= MAX_INT32 && divisor <= MAX_INT32
        ? divisor !== 0 && (distance | 0) % (divisor | 0) === 0
        : divisor !== 0 && distance % divisor === 0;
    if (!isDivided) divisor = commonDivisor(distance, divisor);
  }
  quotients[0] = 0;
  if (divisor <= 1) for (i = 1; i < count; i++) quotients[i] = integers[i]! - first;
  else for (i = 1; i < count; i++) quotients[i] = (integers[i]! - first) / divisor;
  return divisor;
}

const MAX_INT32 = 0x7fffffff;

/** Returns the greatest common divisor of two non-negative integers. */
function commonDivisor(a: number, b: number): number {
  let [x, y] = [a, b];
  while (y !== 0) [x, y] = [y, x % y];
  return x;
}

/**
 * Writes the differences of `quotients[start, end)` to `into`.
 *
 * @param order 0 writes the quotients themselves, 1 differences, 2 differences of differences, which exist
 *   from index 2 on
 * @returns the number of integers written
 */
function takeDifferences(order: number, start: number, end: number, into: Float64Array): number {
  let count = 0;
  if (order === 0) for (let i = start; i < end; i++) into[count++] = quotients[i]!;
  else if (order === 1) for (let i = start; i < end; i++) into[count++] = quotients[i]! - quotients[i - 1]!;
  else {
    for (let i = Math.max(2, start); i < end; i++) {
      into[count++] = quotients[i]! - 2 * quotients[i - 1]! + quotients[i - 2]!;
    }
  }
  return count;
}

/**
 * Returns the order whose bins have the lowest estimated cost, and leaves these bins in `candidateBins`. If the
 * sequence is not longer than {@link SAMPLE_ABOVE}, the bins are final.
 */
function chooseOrder(count: number): 0 | 1 | 2 {
  const { tries0, tries1, tries2 } = promisingOrders(count);
  if (count > SAMPLE_ABOVE && !tries1) return 0;
  if (count > SAMPLE_ABOVE && !tries0 && !tries2) return 1;
  let best: 0 | 1 | 2 = 0;
  let leastCost = Number.POSITIVE_INFINITY;
  for (const order of ORDERS) {
    if (!(order === 0 ? tries0 : order === 1 ? tries1 : tries2)) continue;
    const bins = candidateBins[order];
    let taken = 0;
    if (count <= SAMPLE_ABOVE) {
      taken = takeDifferences(order, 1, count, sorted);
      sorted.subarray(0, taken).sort();
      chooseBins(sorted, taken, count <= SHORT ? SHORT_RESOLUTION : MIDDLE_RESOLUTION, 1, bins);
    } else {
      const stride = Math.floor((count - 2 - SAMPLE_RUN) / (SAMPLE_RUNS - 1));
      for (let run = 0; run < SAMPLE_RUNS; run++) {
        const start = 2 + run * stride;
        taken += takeDifferences(order, start, start + SAMPLE_RUN, sorted.subarray(taken));
      }
      sorted.subarray(0, taken).sort();
      chooseBins(sorted, taken, SAMPLE_RESOLUTION, count / taken, bins);
    }
    if (bins.cost < leastCost) {
      leastCost = bins.cost;
      best = order;
    }
  }
  return best;
}

const ORDERS = [0, 1, 2] as const;

/**
 * Returns which orders are worth trying. The differences of noise are larger than the noise itself. The differences of
 * a random walk or a counter are smaller than its values. The function compares three sums:
 *
 * - the distances of quotients from their mean
 * - the distances of quotients from the previous quotient
 * - the distances of differences from the previous difference
 */
function promisingOrders(count: number): { tries0: boolean; tries1: boolean; tries2: boolean } {
  let low = 0;
  let high = 0;
  let sum = 0;
  for (let i = 1; i < count; i++) {
    const quotient = quotients[i]!;
    if (quotient < low) low = quotient;
    else if (quotient > high) high = quotient;
    sum += quotient;
  }
  if (high - low > MAX_DELTA_RANGE) return { tries0: true, tries1: false, tries2: false };
  const mean = sum / count;
  let deviation = 0;
  let deltas = 0;
  let turns = 0;
  let delta = 0;
  for (let i = 1; i < count; i++) {
    const quotient = quotients[i]!;
    const nextDelta = quotient - quotients[i - 1]!;
    deviation += Math.abs(quotient - mean);
    deltas += Math.abs(nextDelta);
    if (i > 1) turns += Math.abs(nextDelta - delta);
    delta = nextDelta;
  }
  // For a short sequence, trying another order is a large part of the work, and the sums are less reliable.
  const isShort = count <= SHORT;
  const tries1 = deltas < deviation * (isShort ? 1 : 1.25);
  const tries0 = !tries1 || deltas * (isShort ? 6 : 16) > deviation;
  return { tries0, tries1, tries2: tries1 && turns > 0 && turns < deltas * 1.25 };
}

/** The `resolution` of {@link chooseBins} for sequences up to {@link SHORT}. */
const SHORT_RESOLUTION = 16;
/** The `resolution` of {@link chooseBins} for sequences up to {@link SAMPLE_ABOVE}. */
const MIDDLE_RESOLUTION = 32;
/** Sequences up to this length are short. */
const SHORT = 128;
/**
 * The `resolution` of {@link chooseBins} for longer sequences. Their bins are first chosen for a sample of the
 * sequence.
 */
const SAMPLE_RESOLUTION = 16;

/**
 * Reads `count` integers into `into[start, start + count)`. Corrupt bytes can yield any numbers, so the
 * caller must check the range of each.
 *
 * @throws {CorruptChunkError}
 */
export function readIntegers(reader: BitReader, into: Float64Array, start: number, count: number): void {
  if (count === 0) return;
  const end = start + count;
  const first = reader.readSigned();
  into[start] = first;
  if (count === 1) return;
  const order = reader.read(2);
  if (order === ALL_EQUAL) {
    into.fill(first, start, end);
    return;
  }
  const divisor = reader.read(1) === 1 ? reader.readUnsigned() : 1;
  let at = start + 1;
  let quotient = 0;
  let delta = 0;
  if (order === 2) {
    delta = reader.readSigned();
    quotient = delta;
    into[at++] = first + delta * divisor;
  }
  if (at === end) return;
  readLatents(reader, into, at, end);
  if (order === 0) {
    if (divisor === 1) for (; at < end; at++) into[at] = first + into[at]!;
    else for (; at < end; at++) into[at] = first + into[at]! * divisor;
  } else if (order === 1) {
    for (; at < end; at++) {
      quotient += into[at]!;
      into[at] = first + quotient * divisor;
    }
  } else {
    for (; at < end; at++) {
      delta += into[at]!;
      quotient += delta;
      into[at] = first + quotient * divisor;
    }
  }
}
