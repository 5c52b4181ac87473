import fc from 'fast-check';
import { snappyCompress } from 'hysnappy';
import { MalformedBytesError } from '../../../../shared/model/bytes';
import { MAX_UNCOMPRESSED_BYTES, uncompressBlock } from '../../../../shared/protocol/prometheus/snappy';
import { RequestTooLargeError } from '../../../../shared/protocol/protocol';

/** LEB128 of a length, as a block announces it. */
function announced(bytes: number): number[] {
  return bytes < 128 ? [bytes] : [(bytes % 128) + 128, ...announced(Math.floor(bytes / 128))];
}

describe('a snappy block', () => {
  test('comes back as it was compressed', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 5_000 }), fc.nat(20), (bytes, repeats) => {
        const given = Buffer.concat(Array.from({ length: repeats + 1 }, () => bytes));
        if (given.length === 0) return;
        expect(Buffer.compare(uncompressBlock(snappyCompress(given)), given)).toBe(0);
      }),
    );
  });

  test('of nothing is empty', () => {
    expect(uncompressBlock(Uint8Array.of(0))).toHaveLength(0);
  });

  test.each([
    { name: '33 MiB', bytes: 33 * 2 ** 20 },
    { name: '1.9 GB', bytes: 1.9e9 },
    { name: '4 GB', bytes: 2 ** 32 - 1 },
    { name: 'beyond 32 bits', bytes: 2 ** 50 },
  ])('that announces $name is refused before anything is allocated', ({ bytes }) => {
    const before = process.memoryUsage().rss;
    expect(() => uncompressBlock(Uint8Array.of(...announced(bytes), 0, 65))).toThrow(RequestTooLargeError);
    expect(process.memoryUsage().rss - before).toBeLessThan(20e6);
  });

  test('of the largest size is taken', () => {
    expect(uncompressBlock(snappyCompress(Buffer.alloc(MAX_UNCOMPRESSED_BYTES, 7)))).toHaveLength(
      MAX_UNCOMPRESSED_BYTES,
    );
  });

  test.each([
    { name: 'nothing', block: [] },
    { name: 'a length alone', block: [5] },
    { name: 'a length that does not end', block: [128, 128, 128, 128, 128, 128, 128, 128, 128] },
    { name: 'a literal that is cut off', block: [10, 9 << 2, 65] },
    { name: 'fewer bytes than announced', block: [100, 1 << 2, 65, 66] },
    { name: 'more bytes than announced', block: [1, 1 << 2, 65, 66] },
    { name: 'a copy from before the start', block: [10, 0, 65, (4 << 2) | 1, 200] },
    { name: 'bytes after the end', block: [1, 0, 65, 0, 66] },
    { name: 'bytes after an empty block', block: [0, 1] },
  ])('of $name is refused', ({ block }) => {
    expect(() => uncompressBlock(Uint8Array.from(block))).toThrow(MalformedBytesError);
  });

  test('never gives bytes of an earlier block, whatever bytes are altered', () => {
    const block = snappyCompress(Buffer.from('abcdefgh'.repeat(40)));
    const alteration = fc.tuple(fc.nat(block.length - 1), fc.nat(255));
    fc.assert(
      fc.property(fc.array(alteration, { minLength: 1, maxLength: 3 }), (alterations) => {
        uncompressBlock(snappyCompress(Buffer.alloc(5_000, 'S')));
        const altered = Uint8Array.from(block);
        for (const [at, byte] of alterations) altered[at] = byte;
        let bytes: Uint8Array;
        try {
          bytes = uncompressBlock(altered);
        } catch {
          return;
        }
        if (!altered.includes(0x53)) expect(bytes).not.toContain(0x53);
      }),
      { numRuns: 2_000 },
    );
  });
});
