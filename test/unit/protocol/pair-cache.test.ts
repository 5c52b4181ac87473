import fc from 'fast-check';
import { PairCache } from '../../../shared/protocol/pair-cache';

test('the label cache returns the pair of the given bytes, even if another pair used its slot before', () => {
  const pairs = new PairCache((bytes, start, end) => ({
    text: Buffer.from(bytes).toString('latin1', start, end),
  }));
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 150 }), { maxLength: 200 }), (all) => {
      const body = Buffer.concat(all);
      let at = 0;
      for (const each of all) {
        expect(pairs.of(body, at, at + each.length).text).toBe(Buffer.from(each).toString('latin1'));
        at += each.length;
      }
    }),
    { numRuns: 50 },
  );
});

test('a pair that was decoded is the same object the next time', () => {
  const pairs = new PairCache(() => ({}));
  const bytes = Buffer.from('job=api');
  expect(pairs.of(bytes, 0, 7)).toBe(pairs.of(Buffer.from('.job=api'), 1, 8));
});
