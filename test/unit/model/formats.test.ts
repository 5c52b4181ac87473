import {
  CorruptChunkError,
  decodeFrame,
  encodeFrame,
  encodeVersion,
  packPartialFrame,
  packSampleFrame,
  presenceOf,
  type SampleFrame,
} from '../../../shared/codec';
import { FORMATS } from '../../../shared/model/formats';
import { formatToWrite } from '../../../shared/platform/environment';

test.each(Object.entries(FORMATS))(
  'every version of %s that is written can be read',
  (_, { reads, writes }) => {
    for (const version of writes) expect(reads).toContain(version);
  },
);

test('frames of exactly the listed versions can be read', () => {
  const frame: SampleFrame = {
    kind: 'samples',
    layout: new Uint8Array(16),
    timestamp: 1_795_212_060_000,
    version: { arrivalMs: 1, sequence: 1n },
    values: new Uint8Array(24),
  };
  const { layout, timestamp, version, values } = frame;
  const versionBytes = encodeVersion(version);
  const written = [
    encodeFrame(frame),
    packSampleFrame(layout, timestamp, versionBytes, values),
    packPartialFrame(layout, timestamp, versionBytes, presenceOf([0, 1, 2], 3), values),
  ];
  expect(written.map((bytes) => bytes[0]! >> 4)).toEqual(FORMATS.frame.reads);
  for (const bytes of written) expect(decodeFrame(bytes)).toMatchObject(frame);
  const later = Uint8Array.from(written.at(-1)!);
  later[0]! += 0x10;
  expect(() => decodeFrame(later)).toThrow(CorruptChunkError);
});

describe('the format version to write', () => {
  test.each([
    { name: 'the one that the setting names', wanted: 2, written: 2 },
    { name: "the release's default, when the setting names it", wanted: 3, written: 3 },
    { name: 'the default, when the setting is of a later release', wanted: 4, written: 3 },
    { name: 'the default, when there is no setting', wanted: undefined, written: 3 },
  ])('is $name', ({ wanted, written }) => {
    expect(formatToWrite<number>([3, 2], wanted as number)).toBe(written);
  });
});
