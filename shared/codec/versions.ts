/**
 * Encodes the versions of a chunk. An arrival time is stored as its delay after the time of its row, since delays vary
 * little. A sequence number is divided into parts, because some of its digits are a clock, some are a counter, and some
 * never change. Each part is stored as a separate sequence of integers.
 */
import { type BitReader, type BitWriter, bitLength } from './bits';
import { readIntegers, writeIntegers } from './integers';
import { type Block, CorruptChunkError, compareVersions, type Version } from './model';
import { readWideIntegers, writeWideIntegers } from './wide-integers';

const MAX_ARRIVAL_MS = 2 ** 48 - 1;
const MAX_SEQUENCE_BITS = 448;
const SEQUENCE_LENGTH_BITS = 9;

/** For parts with these numbers of bits, returns the number of values that each part can have. */
const bitsEach = (...counts: number[]) => counts.map((count) => 1n << BigInt(count));

/**
 * Number of values that each part of a sequence number can have, lowest part first. The last entry also
 * applies to all higher parts.
 */
const ANY_PARTS = bitsEach(48);
/**
 * The parts of Kinesis' current sequence numbers, lowest first: shard and format in 36 bits, seconds in 36 bits, zeros
 * in 8 bits. The counter above them has 64 bits, and so takes two parts of 48 bits.
 */
const KINESIS_PARTS = bitsEach(36, 36, 8, 48);
/** Index of the part with the seconds. A chunk stores only the difference between this part and the arrival time. */
const CLOCK_PART = 1;
/**
 * A sequence number is assumed to come from Kinesis if its seconds differ from the arrival time by less than this, in
 * seconds.
 */
const MAX_CLOCK_DISTANCE = 1e6;
/** Maximum number of parts of a sequence number, when 448 bits are divided as in {@link KINESIS_PARTS}. */
const MAX_PARTS = 11;

/**
 * Compares two versions in the order in which a chunk stores them: by arrival time, then by sequence number. Only the
 * format uses this order; {@link compareVersions} decides which of two values wins. The two orders differ only where
 * arrival times do not ascend with sequence numbers.
 */
function compareStored(a: Version, b: Version): number {
  return a.arrivalMs - b.arrivalMs || compareVersions(a, b);
}

/** A list of versions, and each row's version as an index in this list. Blocks and the tails of chunks have both. */
export interface VersionIndexes {
  readonly versions: readonly Version[];
  /** The version of each row, as an index in `versions`. */
  readonly rowVersions: Uint32Array;
}

/**
 * Sorts versions into the order in which chunks store them.
 *
 * @returns `part`, sorted, and `renumber`, which maps old indexes of versions to new ones; undefined if the
 *   versions are sorted already
 */
export function inStoredOrder<T extends VersionIndexes>(part: T) {
  return inOrder(part, compareStored);
}

/**
 * Sorts versions by {@link compareVersions}, which decides between values. Returns the same as
 * {@link inStoredOrder}.
 */
export function inDecidingOrder<T extends VersionIndexes>(part: T) {
  return inOrder(part, compareVersions);
}

function inOrder<T extends VersionIndexes>(
  part: T,
  compare: (a: Version, b: Version) => number,
): { readonly part: T; renumber(indexes: Uint32Array): Uint32Array } | undefined {
  const { versions } = part;
  if (versions.every((version, i) => i === 0 || compare(versions[i - 1]!, version) < 0)) return undefined;
  const order = Uint32Array.from(versions.keys()).sort((a, b) => compare(versions[a]!, versions[b]!));
  const ranks = new Uint32Array(order.length);
  for (let i = 0; i < order.length; i++) ranks[order[i]!] = i;
  const renumber = (indexes: Uint32Array) => indexes.map((index) => ranks[index]!);
  return {
    part: {
      ...part,
      versions: Array.from(order, (index) => versions[index]!),
      rowVersions: renumber(part.rowVersions),
    },
    renumber,
  };
}

/** Writes the versions of a block, sorted by {@link inStoredOrder}, and the version of each row. */
export function writeVersions(writer: BitWriter, block: Block): void {
  const { timestamps, versions, rowVersions } = block;
  const count = versions.length;
  writer.writeUnsigned(count);
  if (count === 0) return;
  if (count === 1) {
    writer.writeUnsigned(versions[0]!.arrivalMs);
    writeBigint(writer, versions[0]!.sequence);
    return;
  }
  writeIntegers(writer, new Float64Array(rowVersions), rowVersions.length);
  const arrivals = Float64Array.from(versions, ({ arrivalMs }) => arrivalMs);
  const rowTimes = rowTimesOfVersions(timestamps, rowVersions, count);
  const delays = arrivals.map((arrivalMs, i) => arrivalMs - rowTimes[i]!);
  // Store arrival times instead of delays if they vary less than the delays, as in a backfill, or if a delay exceeds
  // 2^53 and so is not exact.
  const isDelayed = delays.every(Number.isSafeInteger) && spread(delays) < spread(arrivals);
  writer.write(isDelayed ? 1 : 0, 1);
  writeWideIntegers(writer, isDelayed ? delays : arrivals, count);
  writeSequences(writer, versions);
}

/**
 * Returns the row time of each version, from which the version's delay is measured: the time of the first row that has
 * the version. A version that no row has gets the row time of the previous version, or 0.
 */
function rowTimesOfVersions(timestamps: Float64Array, rowVersions: Uint32Array, count: number): Float64Array {
  const times = new Float64Array(count).fill(Number.NaN);
  for (let row = rowVersions.length - 1; row >= 0; row--) times[rowVersions[row]!] = timestamps[row]!;
  let previous = 0;
  for (let i = 0; i < count; i++) {
    if (Number.isNaN(times[i]!)) times[i] = previous;
    else previous = times[i]!;
  }
  return times;
}

/** Returns the difference between the highest and the lowest integer. */
function spread(integers: Float64Array): number {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const integer of integers) {
    if (integer < low) low = integer;
    if (integer > high) high = integer;
  }
  return high - low;
}

function writeSequences(writer: BitWriter, versions: readonly Version[]): void {
  let least = versions[0]!.sequence;
  let most = least;
  for (const { sequence } of versions) {
    if (sequence < least) least = sequence;
    if (sequence > most) most = sequence;
  }
  writer.write(least === most ? 0 : 1, 1);
  if (least === most) {
    writeBigint(writer, least);
    return;
  }
  const isKinesis = hasClock(versions[0]!);
  writer.write(isKinesis ? 1 : 0, 2);
  const sizes = isKinesis ? KINESIS_PARTS : ANY_PARTS;
  let rest = versions.map(({ sequence }) => sequence);
  for (let part = 0; ; part++) {
    const isLast = rest.every((sequence) => sequence === rest[0]);
    writer.write(isLast ? 0 : 1, 1);
    if (isLast) break;
    const size = sizes[Math.min(part, sizes.length - 1)]!;
    const integers = Float64Array.from(rest, (sequence, i) => {
      const expected = isKinesis && part === CLOCK_PART ? clockAt(versions[i]!.arrivalMs) : 0;
      return Number(sequence % size) - expected;
    });
    writeIntegers(writer, integers, integers.length);
    rest = rest.map((sequence) => sequence / size);
  }
  writeBigint(writer, rest[0]!);
}

/** Whether the part of a sequence number in which Kinesis stores its clock is close to the arrival time. */
function hasClock({ arrivalMs, sequence }: Version): boolean {
  const seconds = Number((sequence / KINESIS_PARTS[0]!) % KINESIS_PARTS[CLOCK_PART]!);
  return Math.abs(seconds - clockAt(arrivalMs)) < MAX_CLOCK_DISTANCE;
}

function clockAt(arrivalMs: number): number {
  return Math.floor(arrivalMs / 1000);
}

function writeBigint(writer: BitWriter, value: bigint): void {
  const hex = value === 0n ? '' : value.toString(16);
  const bits = hex === '' ? 0 : (hex.length - 1) * 4 + bitLength(Number.parseInt(hex[0]!, 16));
  writer.write(bits, SEQUENCE_LENGTH_BITS);
  for (let i = hex.length - 1, left = bits; i >= 0; i--, left -= 4) {
    writer.write(Number.parseInt(hex[i]!, 16), Math.min(4, left));
  }
}

/** The versions of a chunk, as stored. */
export interface StoredVersions {
  readonly count: number;
  /** For each row, the index of its version. */
  readonly rowVersions: Uint32Array;
  /**
   * Builds the versions, in the order in which a chunk stores them ({@link compareStored}). They are built only on
   * request, because most readers do not need them, and building a sequence number takes several times as long as
   * reading its parts.
   *
   * @throws {CorruptChunkError}
   */
  build(): Version[];
}

/**
 * Reads versions that {@link writeVersions} wrote.
 *
 * @param timestamps the times of the rows
 * @param maxVersions maximum number of versions; checked before allocating
 * @throws {CorruptChunkError}
 */
export function readVersions(
  reader: BitReader,
  timestamps: Float64Array,
  maxVersions: number,
): StoredVersions {
  const rowCount = timestamps.length;
  const count = reader.readUnsigned();
  if (count > maxVersions || (count === 0 && rowCount > 0)) {
    throw new CorruptChunkError(`${count} versions for ${rowCount} rows`);
  }
  const rowVersions = new Uint32Array(rowCount);
  if (count === 0) return { count, rowVersions, build: () => [] };
  if (count === 1) {
    const only = readOneVersion(reader);
    return { count, rowVersions, build: () => [only] };
  }
  const integers = new Float64Array(rowCount);
  readIntegers(reader, integers, 0, rowCount);
  for (let row = 0; row < rowCount; row++) {
    const version = integers[row]!;
    if (!isIndex(version, count))
      throw new CorruptChunkError(`row ${row} has version ${version} of ${count}`);
    rowVersions[row] = version;
  }
  const isDelayed = reader.read(1) === 1;
  const arrivals = readWideIntegers(reader, count);
  if (isDelayed) {
    const rowTimes = rowTimesOfVersions(timestamps, rowVersions, count);
    for (let i = 0; i < count; i++) arrivals[i]! += rowTimes[i]!;
  }
  for (let i = 0; i < count; i++) {
    if (!isIndex(arrivals[i]!, MAX_ARRIVAL_MS + 1))
      throw new CorruptChunkError(`arrival time ${arrivals[i]}`);
  }
  const sequences = readSequences(reader, arrivals);
  return { count, rowVersions, build: () => versionsOf(arrivals, sequences()) };
}

function versionsOf(arrivals: Float64Array, sequences: readonly bigint[]): Version[] {
  const versions = sequences.map((sequence, i): Version => ({ arrivalMs: arrivals[i]!, sequence }));
  for (let i = 1; i < versions.length; i++) {
    if (compareStored(versions[i - 1]!, versions[i]!) >= 0) {
      throw new CorruptChunkError(`version ${i} of ${versions.length} is not above the one before`);
    }
  }
  return versions;
}

function readOneVersion(reader: BitReader): Version {
  const arrivalMs = reader.readUnsigned();
  if (arrivalMs > MAX_ARRIVAL_MS) throw new CorruptChunkError(`arrival time ${arrivalMs}`);
  return { arrivalMs, sequence: readBigint(reader) };
}

/** Whether a number is an integer from 0 to `end - 1`. */
export function isIndex(value: number, end: number): boolean {
  return value >= 0 && value < end && Math.floor(value) === value;
}

/**
 * Reads the parts of sequence numbers.
 *
 * @returns a function that builds the numbers
 */
function readSequences(reader: BitReader, arrivals: Float64Array): () => bigint[] {
  const count = arrivals.length;
  if (reader.read(1) === 0) {
    const same = readBigint(reader);
    return () => new Array(count).fill(same);
  }
  const scheme = reader.read(2);
  if (scheme > 1) throw new CorruptChunkError(`scheme ${scheme} of sequence numbers is unknown`);
  const isKinesis = scheme === 1;
  const sizes = isKinesis ? KINESIS_PARTS : ANY_PARTS;
  const parts: { readonly values: Float64Array; readonly unit: bigint }[] = [];
  let unit = 1n;
  for (let part = 0; reader.read(1) === 1; part++) {
    if (part === MAX_PARTS) throw new CorruptChunkError(`sequence numbers of more than ${MAX_PARTS} parts`);
    const size = sizes[Math.min(part, sizes.length - 1)]!;
    const limit = Number(size);
    const values = new Float64Array(count);
    readIntegers(reader, values, 0, count);
    for (let i = 0; i < count; i++) {
      if (isKinesis && part === CLOCK_PART) values[i]! += clockAt(arrivals[i]!);
      if (!isIndex(values[i]!, limit))
        throw new CorruptChunkError(`part ${part} of a sequence number is ${values[i]}`);
    }
    parts.push({ values, unit });
    unit *= size;
  }
  const rest = readBigint(reader) * unit;
  return () =>
    Array.from({ length: count }, (_, i) => {
      let sequence = rest;
      for (const { values, unit } of parts) sequence += BigInt(values[i]!) * unit;
      if (sequence >> BigInt(MAX_SEQUENCE_BITS) !== 0n)
        throw new CorruptChunkError(`sequence number has more than ${MAX_SEQUENCE_BITS} bits`);
      return sequence;
    });
}

function readBigint(reader: BitReader): bigint {
  const bits = reader.read(SEQUENCE_LENGTH_BITS);
  if (bits > MAX_SEQUENCE_BITS) throw new CorruptChunkError(`sequence number of ${bits} bits`);
  let hex = '';
  for (let left = bits; left > 0; left -= 4) hex = reader.read(Math.min(4, left)).toString(16) + hex;
  return hex === '' ? 0n : BigInt(`0x${hex}`);
}
