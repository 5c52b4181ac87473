import fc from 'fast-check';
import { HashSet } from '../../../shared/model/hash-set';

test('a set of hashes has what was added, once each, whatever their low bits', () => {
  const hash = fc.oneof(
    fc.maxSafeNat(),
    fc.nat({ max: 100 }).map((n) => n * 2 ** 32),
  );
  fc.assert(
    fc.property(
      fc.array(hash, { maxLength: 200 }),
      fc.array(hash),
      fc.nat({ max: 300 }),
      (all, others, expected) => {
        const set = new HashSet(expected);
        const known = new Set<number>();
        for (const each of all) {
          const stored = each || 1;
          expect(set.add(each)).toBe(!known.has(stored));
          known.add(stored);
        }
        expect(set.size).toBe(known.size);
        for (const each of [...all, ...others]) expect(set.has(each)).toBe(known.has(each || 1));
      },
    ),
  );
});
