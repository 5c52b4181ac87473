import { type GroupWork, prepare } from '../../../shared/archive/prepare';
import type { Catalogue } from '../../../shared/catalogue/catalogue';
import type { ArchivedChunk } from '../../../shared/cold/archive-format';
import type { GroupId } from '../../../shared/model/placement';
import type { WarmTier } from '../../../shared/warm/warm-tier';

const ref = { tenantId: 't', partition: 0 };

/**
 * Prepares the groups. Returns, for each group in order, how many groups' warm items had been read when `prepare` yielded
 * it.
 */
async function readsBefore(works: readonly GroupWork[]): Promise<number[]> {
  let reads = 0;
  const warm = {
    groupOfDay: async () => {
      reads++;
      return [];
    },
  } as Pick<WarmTier, 'groupOfDay'> as WarmTier;
  const dependencies = { warm, catalogue: {} as Catalogue, deletionsOf: async () => [] };
  const counts: number[] = [];
  for await (const _ of prepare(dependencies, ref, '2026-11-21', works)) counts.push(reads);
  return counts;
}

/** The work of group `i`, with an archived chunk of `length` bytes, and warm items that have not been read. */
const workOf = (i: number, length: number): GroupWork => ({
  plan: {
    group: `g${i}` as GroupId,
    copies: [],
    merges: [{ length } as ArchivedChunk],
    readsWarm: true,
    minSamples: 0,
  },
  items: undefined,
});

test('small groups of an archived day are read together', async () => {
  const works = Array.from({ length: 100 }, (_, i) => workOf(i, 1_000));
  expect(await readsBefore(works)).toEqual([...Array(64).fill(64), ...Array(36).fill(100)]);
});

test('large groups of an archived day are read one at a time, so that they fit into memory', async () => {
  const works = Array.from({ length: 5 }, (_, i) => workOf(i, 60_000_000));
  expect(await readsBefore(works)).toEqual([1, 2, 3, 4, 5]);
});
