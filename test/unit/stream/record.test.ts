import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { presenceOf } from '../../../shared/codec';
import { ALL_TIME } from '../../../shared/model/deletion';
import { idBytes, idOf } from '../../../shared/model/id';
import { metricOf, sourceOf } from '../../../shared/model/labels';
import { layoutOf } from '../../../shared/model/layout';
import { packLayout, withoutBytes } from '../../../shared/model/packed-layout';
import {
  encodeRecord,
  encodeRecords,
  MAX_RECORD_BODY_BYTES,
  type RecordGroup,
  type StreamRecord,
} from '../../../shared/stream/record';
import { decodeRecord, MalformedRecordError } from '../../../shared/stream/record-decoder';

function group(host: string, names: number, frames: number): RecordGroup {
  const layout = layoutOf(Array.from({ length: names }, (_, i) => metricOf(sourceOf.host(host), `m${i}`)));
  return {
    sourceIdBytes: idBytes('source', host),
    splitBits: 1,
    splitIndex: 1,
    layout: packLayout(layout.bytes),
    frames: Array.from({ length: frames }, (_, f) => ({
      timestamp: 1_795_212_060_000 + f * 60_000,
      values: Buffer.from(Float64Array.from({ length: names }, (_, i) => i + f / 7).buffer),
    })),
  };
}

/** The record without the unpacked bytes of its layouts, which only the first record with a layout has. */
function decodedOf(bytes: Uint8Array): StreamRecord {
  const { groups, ...record } = decodeRecord(bytes);
  return { ...record, groups: groups.map((each) => ({ ...each, layout: withoutBytes(each.layout) })) };
}

/** A record of these bytes, with a valid checksum. */
function withBody(body: Buffer): Buffer {
  const bytes = Buffer.concat([Buffer.from('HR\x01'), Buffer.alloc(4), body]);
  bytes.writeUInt32LE(crc32(body), 3);
  return bytes;
}

describe('a stream record', () => {
  test('comes back unchanged, tenant and partition included', () => {
    const record = { tenant: 'acme {x}', partition: 4095, groups: [group('a', 3, 2), group('b', 1, 1)] };
    expect(decodedOf(encodeRecord(record))).toEqual(record);
  });

  test('comes back with its deletions', () => {
    const deletions = [
      { sourceId: idOf('source', 'a'), selector: { name: 'custom.', isPrefix: true }, ...ALL_TIME },
      { sourceId: idOf('source', 'a'), selector: { name: 'm0', isPrefix: false }, fromMs: -1, toMs: 0 },
    ];
    const record = { tenant: 't', partition: 7, groups: [group('a', 3, 2)], deletions };
    expect(decodedOf(encodeRecord(record))).toEqual(record);
  });

  test('has the bytes of a layout that no earlier record brought', () => {
    const bytes = encodeRecord({ tenant: 't', partition: 0, groups: [group('first', 3, 1)] });
    const layouts = () => decodeRecord(bytes).groups.map(({ layout }) => layout);
    const [first] = layouts();
    expect(packLayout(first!.bytes!).id).toBe(first!.id);
    expect(layouts()[0]!.bytes).toBeUndefined();
  });

  test('keeps the bits of every value', () => {
    const values = Buffer.from('020000000000f07f0000000000000080010000000000f8ff', 'hex');
    const given = { ...group('a', 3, 0), frames: [{ timestamp: -1, values }] };
    const [back] = decodeRecord(encodeRecord({ tenant: 't', partition: 0, groups: [given] })).groups;
    expect(Buffer.from(back!.frames[0]!.values).toString('hex')).toBe(values.toString('hex'));
    expect(back!.frames[0]!.timestamp).toBe(-1);
  });

  test('of rows of some series of a layout comes back unchanged', () => {
    const values = Buffer.from(Float64Array.of(1, 2).buffer);
    const frames = [
      { timestamp: 1, presence: presenceOf([0, 8], 9), values },
      ...group('a', 9, 1).frames,
      { timestamp: 2, presence: presenceOf([3, 4], 9), values },
    ];
    const record = { tenant: 't', partition: 0, groups: [{ ...group('a', 9, 0), frames }] };
    expect(decodedOf(encodeRecord(record))).toEqual(record);
  });

  test('is cut so that each stays below 1 MiB even when nothing compresses, and no frame is lost', () => {
    const frames = group('a', 256, 1000).frames.map(({ timestamp, values }) => ({
      timestamp,
      values: crypto.getRandomValues(new Uint8Array(values.length)),
    }));
    const records = encodeRecords('t', 0, [{ ...group('a', 256, 0), frames }, group('b', 1, 1)]);
    expect(records.length).toBeGreaterThan(1);
    for (const record of records) expect(record.length).toBeLessThan(1024 * 1024);
    const back = records.flatMap((record) => decodeRecord(record).groups.flatMap(({ frames }) => frames));
    expect(back).toHaveLength(1001);
    expect(back.slice(0, 1000).map(({ timestamp }) => timestamp)).toEqual(
      frames.map(({ timestamp }) => timestamp),
    );
  });

  test('is refused before it is made when one frame exceeds it', () => {
    const values = new Uint8Array(MAX_RECORD_BODY_BYTES);
    expect(() =>
      encodeRecords('t', 0, [{ ...group('a', 1, 0), frames: [{ timestamp: 0, values }] }]),
    ).toThrow(RangeError);
  });

  test('whose layout does not have the stated id is poison', () => {
    const [a, b] = [group('a', 3, 1), group('b', 3, 1)];
    const swapped = { ...a, layout: { ...a.layout, packed: b.layout.packed } };
    const bytes = encodeRecord({ tenant: 't', partition: 0, groups: [swapped] });
    expect(() => decodeRecord(bytes)).toThrow(MalformedRecordError);
    // It is also rejected if the stated id is already cached.
    decodeRecord(encodeRecord({ tenant: 't', partition: 0, groups: [a, b] }));
    expect(() => decodeRecord(bytes)).toThrow(MalformedRecordError);
  });

  test.each([
    { name: 'empty', bytes: Buffer.alloc(0) },
    { name: 'foreign', bytes: Buffer.from('{"hello":"world"}') },
    { name: 'with a wrong checksum', bytes: Buffer.from('HR\x01garbage') },
    {
      name: 'with a body that announces more than it has',
      bytes: withBody(Buffer.from([1, 0x74, 0, 0xff, 0xff, 0xff, 0x7f])),
    },
    {
      name: 'that deletes an empty range',
      bytes: encodeRecord({
        tenant: 't',
        partition: 0,
        groups: [],
        deletions: [{ sourceId: idOf('s'), selector: { name: 'm', isPrefix: false }, fromMs: 5, toMs: 5 }],
      }),
    },
  ])('$name is poison', ({ bytes }) => {
    expect(() => decodeRecord(bytes)).toThrow(MalformedRecordError);
  });

  test('with altered bytes is poison or a well-formed record, never another error', () => {
    const groups = [group('a', 3, 2)];
    const deletions = [
      { sourceId: idOf('source', 'a'), selector: { name: 'm', isPrefix: true }, ...ALL_TIME },
    ];
    const partial = { timestamp: 1, presence: presenceOf([1], 3), values: Buffer.alloc(8) };
    const records = [{ groups }, { groups, deletions }, { groups: [{ ...groups[0]!, frames: [partial] }] }];
    const encoded = records.map((each) => encodeRecord({ tenant: 't', partition: 1, ...each }));
    fc.assert(
      fc.property(
        fc.constantFrom(...encoded),
        fc.nat(),
        fc.nat(255),
        fc.boolean(),
        (record, at, byte, hasValidChecksum) => {
          const bytes = Buffer.from(record);
          bytes[at % bytes.length] = byte;
          // With a valid checksum, the altered body is decoded.
          if (hasValidChecksum) bytes.writeUInt32LE(crc32(bytes.subarray(7)), 3);
          try {
            decodeRecord(bytes);
          } catch (error) {
            expect(error).toBeInstanceOf(MalformedRecordError);
          }
        },
      ),
    );
  });
});

/** Every release reads these files, which are never rewritten. GOLDEN=write adds missing ones. */
describe('golden records', () => {
  const folder = join(__dirname, '../../golden/record');
  const partial = {
    timestamp: 1_795_212_060_000,
    presence: presenceOf([1, 9], 10),
    values: Buffer.from(Float64Array.of(1.5, -0).buffer),
  };
  const examples: Readonly<Record<string, StreamRecord>> = {
    samples: { tenant: 'acme', partition: 3, groups: [group('a', 3, 2), group('b', 1, 1)] },
    partial: { tenant: 'acme', partition: 3, groups: [{ ...group('a', 10, 0), frames: [partial] }] },
    deletions: {
      tenant: 'acme',
      partition: 4095,
      groups: [group('a', 2, 1)],
      deletions: [
        { sourceId: idOf('source', 'a'), selector: { name: '', isPrefix: true }, ...ALL_TIME },
        {
          sourceId: idOf('source', 'b'),
          selector: { name: 'm0', isPrefix: false },
          fromMs: 1_795_212_060_000,
          toMs: 1_795_212_060_001,
        },
      ],
    },
  };

  test.each(Object.entries(examples))('%s', (name, record) => {
    const path = join(folder, `${name}.record`);
    if (!existsSync(path)) {
      if (process.env.GOLDEN !== 'write') throw new Error(`${path} is missing: GOLDEN=write adds it`);
      mkdirSync(folder, { recursive: true });
      writeFileSync(path, encodeRecord(record));
    }
    const bytes = readFileSync(path);
    expect(decodedOf(bytes)).toEqual(record);

    const ofLaterVersion = Buffer.from(bytes);
    ofLaterVersion[2]!++;
    expect(() => decodeRecord(ofLaterVersion)).toThrow(/has format version 2; this release reads 1/);
  });
});
