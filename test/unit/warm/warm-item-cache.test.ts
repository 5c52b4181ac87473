import { labelsOf } from '../../../shared/model/labels';
import { layoutOf } from '../../../shared/model/layout';
import { limiter } from '../../../shared/platform/concurrency';
import { readWarm } from '../../../shared/warm/read';
import { WarmItemCache } from '../../../shared/warm/warm-item-cache';
import type { WarmTier } from '../../../shared/warm/warm-tier';

const REF = { tenantId: 'tenant', partition: 0 };
const DAY = '2026-11-25';
const SELECTION = { wanted: layoutOf([labelsOf(['__name__', 'up'])]), groups: ['group'] };

/** @param announcements number of the day's announcements, if the reader has counted them */
function dayWith(announcements: number | undefined) {
  return { ref: REF, day: DAY, windowsFromMs: 0, windowsToMs: 10, windowLengthsMs: [1], announcements };
}

/** For each count of announcements, reads a day that has this count. @returns the number of reads of the table */
async function countRequests(counts: readonly (number | undefined)[]): Promise<number> {
  const cache = new WarmItemCache();
  let reads = 0;
  const groupTogether = async () => {
    reads++;
    return [];
  };
  const warm = { cache, groupTogether } as unknown as WarmTier;
  for (const announcements of counts) {
    await readWarm(warm, [dayWith(announcements)], SELECTION, limiter(1), async () => SELECTION.wanted);
  }
  return reads;
}

test.each([
  { name: 'items read with a count are cached while it is the same', counts: [3, 3, 3], reads: 1 },
  { name: 'a flush announces the day: its items are read again', counts: [3, 4, 4], reads: 2 },
  { name: 'items read without a count are not cached', counts: [undefined, 3, 3], reads: 2 },
  { name: 'a read without a count asks the table', counts: [3, undefined], reads: 2 },
])('$name', async ({ counts, reads }) => {
  expect(await countRequests(counts)).toBe(reads);
});

test('a read without a count notes the day, so that the next read counts first', async () => {
  const cache = new WarmItemCache();
  const hasRead = () => cache.hasRead(dayWith(undefined), 'group');
  expect(hasRead()).toBe(false);
  const warm = { cache, groupTogether: async () => [] } as unknown as WarmTier;
  await readWarm(warm, [dayWith(undefined)], SELECTION, limiter(1), async () => SELECTION.wanted);
  expect(hasRead()).toBe(true);
});
