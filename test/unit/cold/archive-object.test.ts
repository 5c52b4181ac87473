import fc from 'fast-check';
import {
  CorruptArchiveError,
  decodeIndex,
  encodeArchive,
  FOOTER_BYTES,
  locateIndex,
} from '../../../shared/cold/archive-object';

const content = {
  chunks: [
    {
      group: 'g1',
      layout: 'l1',
      minTimestamp: 1,
      maxTimestamp: 2,
      samples: 3,
      bytes: Buffer.from('first chunk'),
    },
    { group: 'g2', layout: 'l2', minTimestamp: 5, maxTimestamp: 9, samples: 1, bytes: Buffer.from('second') },
  ],
  layouts: new Map([
    ['l1', Buffer.from('layout one')],
    ['l2', Buffer.from('layout two')],
  ]),
  warm: new Map([['g1#0#0', 'revision']]),
};

function indexOf(object: Buffer) {
  const { offset, length, crc } = locateIndex(object.subarray(-FOOTER_BYTES), object.length);
  return decodeIndex(object.subarray(offset, offset + length), crc);
}

describe('an archive object', () => {
  const object = encodeArchive(content);

  test('is read from its end: footer, index, then only the ranges it names', () => {
    const index = indexOf(object);
    expect(
      index.chunks.map(({ offset, length }) => object.toString('utf8', offset, offset + length)),
    ).toEqual(['first chunk', 'second']);
    expect(
      index.layouts.map(({ offset, length }) => object.toString('utf8', offset, offset + length)),
    ).toEqual(['layout one', 'layout two']);
    expect(index.chunks[0]).toMatchObject({
      group: 'g1',
      layout: 'l1',
      minTimestamp: 1,
      maxTimestamp: 2,
      samples: 3,
    });
    expect(index.warm).toEqual({ 'g1#0#0': 'revision' });
  });

  test('whose footer or index is altered or cut off is refused', () => {
    const indexStart = locateIndex(object.subarray(-FOOTER_BYTES), object.length).offset;
    fc.assert(
      fc.property(
        fc.integer({ min: indexStart, max: object.length - 1 }),
        fc.integer({ min: 1, max: 255 }),
        (at, flip) => {
          const altered = Buffer.from(object);
          altered[at]! ^= flip;
          expect(() => indexOf(altered)).toThrow(CorruptArchiveError);
          expect(() => indexOf(object.subarray(0, at))).toThrow(CorruptArchiveError);
        },
      ),
    );
  });
});
