import fc from 'fast-check';
import { ReadAhead } from '../../../shared/cold/read-ahead';

const MIB = 1024 * 1024;
const OBJECT = Buffer.alloc(21 * MIB + 7);
// Each four bytes hold their own place, so that bytes of another place are noticed.
for (let at = 0; at + 4 <= OBJECT.length; at += 4) OBJECT.writeUInt32LE(at, at);

function open() {
  const fetched: number[] = [];
  const reader = new ReadAhead(async ({ offset, length }) => {
    expect(offset + length).toBeLessThanOrEqual(OBJECT.length);
    fetched.push(length);
    return OBJECT.subarray(offset, offset + length);
  }, OBJECT.length);
  return { reader, fetched };
}

test('a slice has the bytes of its range, whatever was read before', async () => {
  const range = fc
    .record({
      offset: fc.nat({ max: OBJECT.length - 1 }),
      length: fc.oneof(fc.nat({ max: 4_000 }), fc.nat({ max: 18 * MIB })),
    })
    .map(({ offset, length }) => ({ offset, length: Math.min(length, OBJECT.length - offset) }));
  await fc.assert(
    fc.asyncProperty(fc.array(range, { maxLength: 12 }), async (ranges) => {
      const { reader } = open();
      for (const { offset, length } of ranges) {
        const slice = await reader.slice({ offset, length });
        expect(Buffer.compare(slice, OBJECT.subarray(offset, offset + length))).toBe(0);
      }
    }),
    { numRuns: 30 },
  );
});

test('a reader that ascends in two places at once fetches every byte once, in large blocks', async () => {
  const { reader, fetched } = open();
  const half = 12 * MIB;
  for (let at = 0; half + at + 100_000 <= OBJECT.length; at += 100_000)
    for (const offset of [at, half + at]) await reader.slice({ offset, length: 100_000 });
  expect(fetched.length).toBeLessThanOrEqual(6);
  expect(fetched.reduce((sum, length) => sum + length, 0)).toBeLessThanOrEqual(OBJECT.length);
});

test('a block that is read again and again stays, however many others are read', async () => {
  const { reader, fetched } = open();
  for (let block = 1; block <= 5; block++)
    for (const at of [block, 0]) await reader.slice({ offset: at * 4 * MIB, length: 1 });
  expect(fetched).toHaveLength(6);
});
