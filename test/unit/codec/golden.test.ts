/**
 * Every release reads the files of all earlier ones. Files are never rewritten. GOLDEN=write adds missing
 * files, for a new feature of the format.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  decodeFrame,
  encodeChunk,
  encodeFrame,
  encodeVersion,
  type Frame,
  openChunk,
  packPartialFrame,
  packSampleFrame,
  presenceOf,
} from '../../../shared/codec';
import { bitwise, bytesOf, LAYOUT } from './arbitraries';
import { exampleBlocks, kinesisVersion } from './example-blocks';

const folder = join(__dirname, '../../golden/codec');
const isWriting = process.env.GOLDEN === 'write';

const exampleFrames: Readonly<Record<string, Frame>> = {
  post: {
    layout: LAYOUT,
    timestamp: 1_700_000_040_000,
    version: kinesisVersion(0),
    values: bytesOf([1.5, -0, 51.846000000000004]),
  },
  'packed-post': {
    layout: LAYOUT,
    timestamp: 1_700_000_040_000,
    version: kinesisVersion(0),
    values: bytesOf([0, 1.5, -0, 4096, 51.846000000000004]),
  },
  'partial-post': {
    layout: LAYOUT,
    timestamp: 1_700_000_040_000,
    version: kinesisVersion(0),
    presence: presenceOf([1, 8], 9),
    values: bytesOf([0.1, 51.846000000000004]),
  },
  'partial-packed-post': {
    layout: LAYOUT,
    timestamp: 1_700_000_040_000,
    version: kinesisVersion(0),
    presence: presenceOf([0, 2, 8], 9),
    values: bytesOf([0, 1.5, 51.846000000000004]),
  },
};

/** The bytes of a golden file, and their meaning, read from the JSON file of the same name. */
function golden(name: string, bytes: () => Uint8Array, meaning: () => unknown) {
  const path = join(folder, name);
  if (!existsSync(path)) {
    if (!isWriting) throw new Error(`${path} is missing: GOLDEN=write adds it`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(path, bytes());
    writeFileSync(`${path}.json`, `${JSON.stringify(meaning())}\n`);
  }
  return { bytes: readFileSync(path), meaning: JSON.parse(readFileSync(`${path}.json`, 'utf8')) };
}

/** The value after a round trip through JSON. */
const plain = (value: unknown) => JSON.parse(JSON.stringify(value));

const written = (name: string, frame: Frame) => {
  if (name === 'post') return encodeFrame(frame);
  const { layout, timestamp, presence, values } = frame;
  const version = encodeVersion(frame.version);
  return presence === undefined
    ? packSampleFrame(layout, timestamp, version, values)
    : packPartialFrame(layout, timestamp, version, presence, values);
};

const frameMeaning = (frame: Frame) => ({
  ...frame,
  layout: Buffer.from(frame.layout).toString('hex'),
  version: `${frame.version.arrivalMs}/${frame.version.sequence}`,
  values: Buffer.from(frame.values).toString('hex'),
  ...(frame.presence !== undefined && { presence: Buffer.from(frame.presence).toString('hex') }),
});

describe('golden files', () => {
  test.each(Object.entries(exampleBlocks))('chunk: %s', (name, make) => {
    const { bytes, meaning } = golden(
      `${name}.chunk`,
      () => encodeChunk(make()),
      () => bitwise(make()),
    );
    const chunk = openChunk(bytes);
    expect(plain(bitwise(chunk.block()))).toEqual(meaning);
  });

  test.each(Object.entries(exampleFrames))('frame: %s', (name, frame) => {
    const { bytes, meaning } = golden(
      `${name}.frame`,
      () => written(name, frame),
      () => frameMeaning(frame),
    );
    expect(plain(frameMeaning(decodeFrame(bytes)))).toEqual(meaning);

    const ofLaterVersion = Uint8Array.from(bytes);
    ofLaterVersion[0]! += 0x10;
    expect(() => decodeFrame(ofLaterVersion)).toThrow(/no frame of version 1/);
  });

  test('none is left without a test', () => {
    const known = [
      ...Object.keys(exampleBlocks).map((name) => `${name}.chunk`),
      ...Object.keys(exampleFrames).map((name) => `${name}.frame`),
    ];
    const files = readdirSync(folder).filter((file) => !file.endsWith('.json'));
    expect(files.sort()).toEqual(known.sort());
  });
});
