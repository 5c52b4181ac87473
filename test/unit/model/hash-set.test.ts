import fc from 'fast-check';
import { Random } from '../../../scripts/faults/random';
import { firstSlot, HashSet, type Multipliers } from '../../../shared/model/hash-set';

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
        for (const each of [...all, ...others, ...all]) {
          const stored = each || 1;
          expect(set.add(each)).toBe(!known.has(stored));
          known.add(stored);
        }
        expect(set.size).toBe(known.size);
      },
    ),
  );
});

/** Sum of the distances of hashes from their first slots. The order of insertion does not affect it. */
function displacementOf(hashes: readonly number[], multipliers: Multipliers, bits: number): number {
  const slots = Uint32Array.from(hashes, (hash) => firstSlot(hash, multipliers, 32 - bits)).sort();
  let free = 0;
  let displacement = 0;
  for (const slot of slots) {
    displacement += Math.max(0, free - slot);
    free = Math.max(free, slot) + 1;
  }
  return displacement;
}

test.each([
  ['all of their lower half', (i: number) => i * 2 ** 32 + 12_345],
  ['the lower 20 bits', (i: number) => (i % 4_096) * 2 ** 20 + Math.floor(i / 4_096) * 2 ** 36 + 777],
  ['all of their higher half', (i: number) => 2 ** 40 + i],
  ['all but 16 bits in the middle', (i: number) => i * 2 ** 24],
  ['all but their highest bits', (i: number) => i * 2 ** 37],
] as const)('16,384 hashes that share %s lie near their first slots', (_, hashOf) => {
  const hashes = Array.from({ length: 16_384 }, (_, i) => hashOf(i));
  const random = new Random(1);
  const odd = () => random.integer(0, 2 ** 31 - 1) * 2 + 1;
  // If all hashes had the same first slot, the mean distance would be 8,192.
  for (let i = 0; i < 8; i++)
    expect(displacementOf(hashes, [odd(), odd()], 15) / hashes.length).toBeLessThan(4);
});
