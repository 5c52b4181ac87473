/** Decodes damaged bytes. */
import { crc32 } from 'node:zlib';
import { type Block, CorruptChunkError, decodeFrame, encodeChunk, openChunk } from '../../../shared/codec';
import { IS_LONG } from '../../support/long';
import { SEED } from '../../support/seed';
import { bitwise } from './arbitraries';
import { exampleBlocks, noise } from './example-blocks';

const mutations = IS_LONG ? 1_000_000 : 20_000;

const corpus = Object.entries(exampleBlocks).map(([name, make]) => ({
  name,
  bytes: encodeChunk(make()),
  meaning: JSON.stringify(bitwise(make())),
}));

function mutate(bytes: Uint8Array, other: Uint8Array, random: () => number): Uint8Array {
  const below = (end: number) => Math.floor(random() * end);
  const result = Uint8Array.from(bytes);
  const at = below(bytes.length);
  const end = Math.min(bytes.length, at + 1 + below(8));
  switch (below(8)) {
    case 0:
    case 1:
    case 2:
      for (let flips = below(3); flips >= 0; flips--) result[below(bytes.length)]! ^= 1 << below(8);
      return result;
    case 3:
      result[at] = [0, 0xff, 0x80, 0x7f][below(4)]!;
      return result;
    case 4:
      return result.subarray(0, at);
    case 5:
      return Uint8Array.from([...result.subarray(0, at), ...result.subarray(end)]);
    case 6:
      return Uint8Array.from([
        ...result.subarray(0, at),
        ...result.subarray(at, end),
        ...result.subarray(at),
      ]);
    default:
      return Uint8Array.from([...result.subarray(0, at), ...other.subarray(at)]);
  }
}

function withChecksum(bytes: Uint8Array): Uint8Array {
  if (bytes.length < 4) return bytes;
  new DataView(bytes.buffer, bytes.byteOffset).setUint32(
    bytes.length - 4,
    crc32(bytes.subarray(0, bytes.length - 4)),
    true,
  );
  return bytes;
}

/** The properties of a block that its users rely on. */
function expectWellFormed({ timestamps, versions, rowVersions, columns }: Block): void {
  const ascends = (array: ArrayLike<number>, end: number) => {
    for (let i = 0; i < array.length; i++) {
      if (!(array[i]! < end) || (i > 0 && !(array[i]! > array[i - 1]!))) return false;
    }
    return true;
  };
  const areVersions = (array: Uint32Array) => array.every((version) => version < versions.length);
  const isGood =
    ascends(timestamps, 2 ** 53) &&
    timestamps.every(Number.isSafeInteger) &&
    rowVersions.length === timestamps.length &&
    areVersions(rowVersions) &&
    columns.every(
      ({ rows, values, versions: own }) =>
        values.length === (rows?.length ?? timestamps.length) &&
        (rows === undefined || ascends(rows, timestamps.length)) &&
        (own === undefined || (own.length === values.length && areVersions(own))),
    );
  if (!isGood) throw new Error('block is not well-formed');
}

/**
 * Reads the whole chunk and some of its series.
 *
 * @returns undefined when the chunk is rejected as corrupt; any other error fails the test
 */
function read(bytes: Uint8Array): Block | undefined {
  try {
    const chunk = openChunk(bytes);
    const block = chunk.block();
    for (let i = 0; i < Math.min(chunk.seriesCount, 4); i++) chunk.series(i);
    return block;
  } catch (error) {
    if (error instanceof CorruptChunkError) return undefined;
    throw error;
  }
}

describe(`of ${mutations} mutated chunks, SEED=${SEED}`, () => {
  const run = (count: number, check: (bytes: Uint8Array) => void) => {
    const random = noise(SEED);
    for (let i = 0; i < count; i++) {
      const original = corpus[i % corpus.length]!;
      const other = corpus[Math.floor(random() * corpus.length)]!;
      const bytes = mutate(original.bytes, other.bytes, random);
      try {
        check(bytes);
      } catch (error) {
        throw new Error(`${original.name}, mutation ${i}: ${Buffer.from(bytes).toString('hex')}`, {
          cause: error,
        });
      }
    }
  };

  test('none gives a wrong answer', () => {
    run(mutations / 2, (bytes) => {
      const block = read(bytes);
      if (block === undefined) return;
      const meanings = corpus.filter((one) => Buffer.compare(one.bytes, bytes) === 0);
      expect(meanings.map(({ meaning }) => meaning)).toContain(JSON.stringify(bitwise(block)));
    });
  });

  test('none with a corrected checksum gives a malformed block, or takes more memory than its length allows', () => {
    run(mutations / 2, (bytes) => {
      const good = withChecksum(bytes);
      const block = read(good);
      if (block === undefined) return;
      expectWellFormed(block);
      const values = block.columns.reduce((sum, column) => sum + column.values.length, 0);
      const objects = block.columns.length + block.versions.length;
      if (values + 16 * objects > 8192 * good.length) throw new Error(`${values} values, ${objects} objects`);
    });
  });

  test('none read as a frame is anything but a frame or corrupt', () => {
    run(mutations / 10, (bytes) => {
      for (const kind of [0x10, 0x11, 0x12, 0x13]) {
        bytes[0] = kind;
        try {
          decodeFrame(bytes);
        } catch (error) {
          if (!(error instanceof CorruptChunkError)) throw error;
        }
      }
    });
  });
});
