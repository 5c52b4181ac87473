/**
 * Bins: disjoint ranges of integers that together cover all integers of a sequence. An integer is written as the symbol
 * of its bin, followed by its offset in the bin. Bins are narrow where integers are dense, and wide where they are
 * sparse. A frequent integer has its own bin, and needs no offset.
 *
 * As in pcodec (M. Loncaric, https://arxiv.org/abs/2502.06112), bins are chosen by dynamic programming, and their
 * symbols are coded with tANS (ans.ts).
 */
import { bitLength } from './bits';

/**
 * Maximum `resolution`. The resolution is the number of groups, of about equal size, into which values are divided
 * before bins are chosen. A bin consists of one or more neighbouring groups.
 */
export const MAX_RESOLUTION = 64;
/**
 * Maximum number of bins: one for each of up to {@link MAX_RESOLUTION} frequent values, and one for each gap
 * before, between and after these values.
 */
export const MAX_BINS = 2 * MAX_RESOLUTION + 1;

/** A list of `count` bins, in ascending order. The arrays have one element for each bin. */
export interface Bins {
  count: number;
  /** The smallest value of each bin. */
  readonly lower: Float64Array;
  /** Number of bits that an offset takes in each bin, 0 to 53. */
  readonly offsetBits: Uint8Array;
  readonly population: Uint32Array;
  /** Estimated size of all values and of the bins themselves, in bits. {@link chooseBins} minimizes it. */
  cost: number;
}

export function newBins(): Bins {
  return {
    count: 0,
    lower: new Float64Array(MAX_BINS),
    offsetBits: new Uint8Array(MAX_BINS),
    population: new Uint32Array(MAX_BINS),
    cost: 0,
  };
}

const LOG2_ENTRIES = 2048;
/** Logarithms of small integers. Looking them up is faster than calling Math.log2. */
const LOG2 = Float64Array.from({ length: LOG2_ENTRIES }, (_, i) => Math.log2(i));

const groupLow = new Float64Array(MAX_BINS);
const groupHigh = new Float64Array(MAX_BINS);
const groupStart = new Uint32Array(MAX_BINS + 1);
const bestCost = new Float64Array(MAX_BINS + 1);
const bestStart = new Uint16Array(MAX_BINS + 1);

/**
 * Chooses the bins that encode the ascending integers `sorted[0, count)` in the fewest bits, according to an estimate.
 * First divides the integers into about `resolution` groups of neighbours. An integer that is frequent enough to fill a
 * group gets its own group. Then finds the best way to join neighbouring groups into bins.
 *
 * @param resolution at most {@link MAX_RESOLUTION}
 * @param scale if the given values are a sample, how many values each of them represents; otherwise 1
 */
export function chooseBins(
  sorted: Float64Array,
  count: number,
  resolution: number,
  scale: number,
  into: Bins,
): void {
  const groupCount = makeGroups(sorted, count, resolution);
  const logTotal = Math.log2(count);
  const perBin = 1 / scale;
  // The number of bits that a bin's own entry takes, for its bounds and weight.
  const binBits = (BIN_BITS + logTotal / 2) * perBin;
  bestCost[0] = 0;
  for (let end = 1; end <= groupCount; end++) {
    const high = groupHigh[end - 1]!;
    const cumulated = groupStart[end]!;
    let least = Number.POSITIVE_INFINITY;
    let leastStart = 0;
    for (let start = end - 1; start >= 0; start--) {
      const population = cumulated - groupStart[start]!;
      const range = high - groupLow[start]!;
      const width = range < 0x80000000 ? 32 - Math.clz32(range) : bitLength(range);
      const logPopulation = population < LOG2_ENTRIES ? LOG2[population]! : Math.log2(population);
      const ownCost = population * (logTotal - logPopulation + width) + binBits + width * perBin;
      // Stop: this bin alone already takes more bits than the best choice so far, and it would take even more with more
      // groups.
      if (ownCost > least) break;
      const cost = bestCost[start]! + ownCost;
      if (cost < least) {
        least = cost;
        leastStart = start;
      }
    }
    bestCost[end] = least;
    bestStart[end] = leastStart;
  }
  let binCount = 0;
  for (let end = groupCount; end > 0; end = bestStart[end]!) binCount++;
  into.count = binCount;
  into.cost = bestCost[groupCount]! * scale;
  for (let end = groupCount, bin = binCount - 1; end > 0; bin--) {
    const start = bestStart[end]!;
    into.lower[bin] = groupLow[start]!;
    into.offsetBits[bin] = bitLength(groupHigh[end - 1]! - groupLow[start]!);
    into.population[bin] = groupStart[end]! - groupStart[start]!;
    end = start;
  }
}

/** Estimated size of a bin's entry in the list of bins, in bits, excluding the part that depends on the data. */
const BIN_BITS = 11;

/**
 * Divides sorted values into groups of neighbours, from which {@link chooseBins} makes bins. Fills the `group` arrays,
 * and returns the number of groups.
 */
function makeGroups(sorted: Float64Array, count: number, resolution: number): number {
  const fill = Math.max(1, Math.ceil(count / resolution));
  let groups = 0;
  let start = 0;
  for (let i = 0; i < count; ) {
    const value = sorted[i]!;
    const runStart = i++;
    while (i < count && sorted[i] === value) i++;
    if (i - runStart >= fill && runStart > start) {
      groupStart[groups] = start;
      groupLow[groups] = sorted[start]!;
      groupHigh[groups++] = sorted[runStart - 1]!;
      start = runStart;
    }
    if (i - start >= fill || i === count) {
      groupStart[groups] = start;
      groupLow[groups] = sorted[start]!;
      groupHigh[groups++] = value;
      start = i;
    }
  }
  groupStart[groups] = count;
  return groups;
}
