/**
 * Encodes latents: the integers to which integers.ts has reduced a sequence. A latent is written as the
 * symbol of its bin (bins.ts), coded with tANS (ans.ts), and its offset in the bin as plain bits.
 */
import { decodeTable, encodeStates, fillDecodeTable, MAX_TABLE_LOG } from './ans';
import { type Bins, MAX_BINS } from './bins';
import { type BitReader, type BitWriter, bitLength } from './bits';
import { CorruptChunkError } from './model';

let symbols = new Uint8Array(0);
let steps = new Uint16Array(0);
const weights = new Uint16Array(MAX_BINS);

/** Writes `latents[0, count)` and the bins. There must be at least one latent, and a bin for each. */
export function writeLatents(writer: BitWriter, latents: Float64Array, count: number, bins: Bins): void {
  const tableLog = writeBins(writer, bins, count);
  writeOffsets(writer, latents, count, bins, tableLog);
}

/**
 * Writes the bins. Stores in {@link weights} how many of the entropy coder's states each bin gets.
 *
 * @returns the base-2 logarithm of the number of states; 0 for a single bin, which needs no coder
 */
function writeBins(writer: BitWriter, bins: Bins, latentCount: number): number {
  const { count, lower, offsetBits } = bins;
  writer.write(Math.min(count - 1, 7), 3);
  if (count >= 8) writer.write(count - 8, 8);
  let mostOffsetBits = 0;
  for (let bin = 0; bin < count; bin++) mostOffsetBits = Math.max(mostOffsetBits, offsetBits[bin]!);
  writer.write(mostOffsetBits, 6);
  const offsetField = bitLength(mostOffsetBits);
  if (count > 1) for (let bin = 0; bin < count; bin++) writer.write(offsetBits[bin]!, offsetField);
  writer.writeSigned(lower[0]!);
  if (count === 1) return 0;
  let mostGapBits = 0;
  for (let bin = 1; bin < count; bin++) {
    mostGapBits = Math.max(mostGapBits, bitLength(lower[bin]! - leastLower(lower, offsetBits, bin)));
  }
  writer.write(mostGapBits, 6);
  const gapField = bitLength(mostGapBits);
  for (let bin = 1; bin < count; bin++) {
    const gap = lower[bin]! - leastLower(lower, offsetBits, bin);
    const gapBits = bitLength(gap);
    writer.write(gapBits, gapField);
    if (gapBits > 1) writer.writeLong(gap - 2 ** (gapBits - 1), gapBits - 1);
  }
  const tableLog = chooseTableLog(count, latentCount);
  writer.write(tableLog, 4);
  shareStates(bins, latentCount, tableLog);
  let left = 2 ** tableLog;
  for (let bin = 0; bin < count - 1; bin++) {
    writer.write(weights[bin]! - 1, bitLength(left - (count - bin)));
    left -= weights[bin]!;
  }
  return tableLog;
}

/**
 * Returns the lowest value at which a bin can begin, which follows from the previous bin: if its offsets have `n` bits,
 * that bin is wider than 2^(n-1), because otherwise fewer bits would suffice. The chunk stores only how far above this
 * lowest value the bin begins.
 */
function leastLower(lower: Float64Array, offsetBits: Uint8Array, bin: number): number {
  const bits = offsetBits[bin - 1]!;
  return lower[bin - 1]! + (bits === 0 ? 1 : 2 ** (bits - 1) + 1);
}

/** Chooses the logarithm of the number of states: more states code more precisely, but cost more to write. */
function chooseTableLog(binCount: number, latentCount: number): number {
  const wanted = Math.max(bitLength(binCount - 1) + 2, bitLength(latentCount) - 3);
  return Math.min(MAX_TABLE_LOG, Math.max(wanted, bitLength(binCount - 1)));
}

/**
 * Fills `weights` with the number of states of each bin: at least one, and proportional to the bin's number of
 * latents. The weights add up to 2^tableLog.
 */
function shareStates(bins: Bins, latentCount: number, tableLog: number): void {
  const size = 2 ** tableLog;
  const { count, population } = bins;
  let left = size;
  let largest = 0;
  for (let bin = 0; bin < count; bin++) {
    const weight = Math.max(1, Math.round((population[bin]! * size) / latentCount));
    weights[bin] = weight;
    left -= weight;
    if (weight > weights[largest]!) largest = bin;
  }
  // Subtract the rounding errors from the largest weights, where they matter least.
  while (left < 0) {
    let heaviest = 0;
    for (let bin = 1; bin < count; bin++) if (weights[bin]! > weights[heaviest]!) heaviest = bin;
    const taken = Math.min(-left, Math.max(1, weights[heaviest]! >> 3));
    weights[heaviest]! -= taken;
    left += taken;
  }
  weights[largest]! += left;
}

/** Writes the latents: for each latent, the bits of the coder's step, then the latent's offset in its bin. */
function writeOffsets(
  writer: BitWriter,
  latents: Float64Array,
  count: number,
  bins: Bins,
  tableLog: number,
): void {
  if (symbols.length < count) {
    symbols = new Uint8Array(count * 2);
    steps = new Uint16Array(count * 2);
  }
  const { lower, offsetBits } = bins;
  const binCount = bins.count;
  let mostBits = tableLog;
  if (binCount > 1) {
    findSymbols(latents, count, lower, binCount);
    writer.write(encodeStates(symbols, count, weights, binCount, tableLog, steps), tableLog);
    for (let bin = 0; bin < binCount; bin++) mostBits = Math.max(mostBits, tableLog + offsetBits[bin]!);
  } else {
    mostBits = offsetBits[0]!;
    if (mostBits === 0) return;
    symbols.fill(0, 0, count);
    steps.fill(0, 0, count);
  }
  if (mostBits > 24) {
    for (let i = 0; i < count; i++) {
      const symbol = symbols[i]!;
      writer.write(steps[i]! >> 4, steps[i]! & 15);
      writer.writeLong(latents[i]! - lower[symbol]!, offsetBits[symbol]!);
    }
    return;
  }
  writer.reserve(count * 24);
  const { bytes } = writer;
  let { length, pending, pendingCount } = writer;
  for (let i = 0; i < count; i++) {
    const symbol = symbols[i]!;
    const step = steps[i]!;
    const stepBits = step & 15;
    pending |= ((step >> 4) | ((latents[i]! - lower[symbol]!) << stepBits)) << pendingCount;
    pendingCount += stepBits + offsetBits[symbol]!;
    while (pendingCount >= 8) {
      bytes[length++] = pending;
      pending >>>= 8;
      pendingCount -= 8;
    }
  }
  writer.length = length;
  writer.pending = pending;
  writer.pendingCount = pendingCount;
}

/** Fills `symbols` with the bin of each latent. */
function findSymbols(latents: Float64Array, count: number, lower: Float64Array, binCount: number): void {
  const low = lower[0]!;
  const range = lower[binCount - 1]! - low;
  if (count < MIN_INDEXED || range > 0xffffffff) {
    for (let i = 0; i < count; i++) symbols[i] = findBin(lower, binCount, latents[i]!);
    return;
  }
  // Build an index: for the leading bits of a latent's distance from the lowest bin, the first bin that may hold the
  // latent. From there, the loop below continues to the right bin.
  const shift = Math.max(0, bitLength(range) - INDEX_BITS);
  let slot = 0;
  for (let bin = 0; bin < binCount; bin++) {
    const last = Math.floor((lower[bin]! - low) / 2 ** shift);
    while (slot <= last)
      binIndex[slot++] = bin === 0 || lower[bin] === low + (slot - 1) * 2 ** shift ? bin : bin - 1;
  }
  const lastSlot = slot - 1;
  for (let i = 0; i < count; i++) {
    const latent = latents[i]!;
    const wanted = (latent - low) / 2 ** shift;
    let bin = binIndex[wanted < lastSlot ? wanted | 0 : lastSlot]!;
    while (bin + 1 < binCount && lower[bin + 1]! <= latent) bin++;
    symbols[i] = bin;
  }
}

/** With fewer latents than this, building the index would take longer than searching. */
const MIN_INDEXED = 256;
/** Number of leading bits of a distance by which {@link findSymbols} looks up bins. */
const INDEX_BITS = 9;
const binIndex = new Uint8Array(1 << INDEX_BITS);

/** Returns the last bin whose lower bound does not exceed a latent, by binary search. */
function findBin(lower: Float64Array, binCount: number, latent: number): number {
  let low = 0;
  let high = binCount;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (lower[middle]! <= latent) low = middle;
    else high = middle;
  }
  return low;
}

const readLower = new Float64Array(MAX_BINS);
const readOffsetBits = new Uint8Array(MAX_BINS);
const readWeights = new Uint16Array(MAX_BINS);

/**
 * Reads latents into `into[start, end)`, which must not be empty.
 *
 * @throws {CorruptChunkError}
 */
export function readLatents(reader: BitReader, into: Float64Array, start: number, end: number): void {
  let binCount = reader.read(3) + 1;
  if (binCount === 8) binCount += reader.read(8);
  if (binCount > MAX_BINS) throw new CorruptChunkError(`${binCount} bins exceed ${MAX_BINS}`);
  const mostOffsetBits = reader.read(6);
  if (mostOffsetBits > 53) throw new CorruptChunkError(`offsets of ${mostOffsetBits} bits`);
  const offsetField = bitLength(mostOffsetBits);
  readOffsetBits[0] = mostOffsetBits;
  if (binCount > 1) {
    for (let bin = 0; bin < binCount; bin++) {
      const bits = reader.read(offsetField);
      if (bits > mostOffsetBits) throw new CorruptChunkError(`bin ${bin} has offsets of ${bits} bits`);
      readOffsetBits[bin] = bits;
    }
  }
  const lowest = reader.readSigned();
  if (binCount === 1) {
    if (mostOffsetBits === 0) into.fill(lowest, start, end);
    else for (let i = start; i < end; i++) into[i] = lowest + reader.readLong(mostOffsetBits);
    return;
  }
  readLower[0] = lowest;
  const mostGapBits = reader.read(6);
  if (mostGapBits > 53) throw new CorruptChunkError(`gaps between bins of ${mostGapBits} bits`);
  const gapField = bitLength(mostGapBits);
  for (let bin = 1; bin < binCount; bin++) {
    const gapBits = reader.read(gapField);
    if (gapBits > mostGapBits)
      throw new CorruptChunkError(`the gap before bin ${bin} has ${gapBits} bits, more than ${mostGapBits}`);
    const gap = gapBits <= 1 ? gapBits : 2 ** (gapBits - 1) + reader.readLong(gapBits - 1);
    readLower[bin] = leastLower(readLower, readOffsetBits, bin) + gap;
  }
  const tableLog = reader.read(4);
  if (tableLog > MAX_TABLE_LOG || 2 ** tableLog < binCount) {
    throw new CorruptChunkError(`table of 2^${tableLog} states for ${binCount} bins`);
  }
  let left = 2 ** tableLog;
  for (let bin = 0; bin < binCount - 1; bin++) {
    const weight = reader.read(bitLength(left - (binCount - bin))) + 1;
    if (weight > left - (binCount - bin - 1))
      throw new CorruptChunkError(`bin ${bin} weighs ${weight} of ${left}`);
    readWeights[bin] = weight;
    left -= weight;
  }
  readWeights[binCount - 1] = left;
  fillDecodeTable(readWeights, binCount, tableLog);
  const endState = readSymbols(reader, into, start, end, tableLog, mostOffsetBits);
  reader.checkEnd();
  if (endState !== 0) throw new CorruptChunkError(`coder ends in state ${endState}, not 0`);
}

/**
 * Reads the symbol and the offset of each latent into `into[start, end)`.
 *
 * @returns the coder's final state, which is 0 unless the bytes are corrupt
 */
function readSymbols(
  reader: BitReader,
  into: Float64Array,
  start: number,
  end: number,
  tableLog: number,
  mostOffsetBits: number,
): number {
  const { symbols: symbolOf, steps: stepOf } = decodeTable;
  let state = reader.read(tableLog);
  if (tableLog + mostOffsetBits > 25) {
    for (let i = start; i < end; i++) {
      const symbol = symbolOf[state]!;
      const step = stepOf[state]!;
      state = (step >> 4) + reader.read(step & 15);
      into[i] = readLower[symbol]! + reader.readLong(readOffsetBits[symbol]!);
    }
    return state;
  }
  const { view } = reader;
  let { position } = reader;
  // In a valid chunk, the bits end at the checksum, four bytes before the end. If a corrupt chunk makes the position go
  // beyond that point, the load reads the last four bytes instead of throwing, and `checkEnd` refuses the chunk
  // afterwards.
  const lastWord = view.byteLength - 4;
  for (let i = start; i < end; i++) {
    const symbol = symbolOf[state]!;
    const step = stepOf[state]!;
    const stepBits = step & 15;
    const offsetBits = readOffsetBits[symbol]!;
    const byte = position >>> 3;
    const word = view.getUint32(Math.min(byte, lastWord), true) >>> (position & 7);
    position += stepBits + offsetBits;
    state = (step >> 4) + (word & ((1 << stepBits) - 1));
    into[i] = readLower[symbol]! + ((word >>> stepBits) & ((1 << offsetBits) - 1));
  }
  reader.position = position;
  return state;
}
