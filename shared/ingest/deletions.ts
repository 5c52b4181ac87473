import type { Catalogue } from '../catalogue/catalogue';
import type { Manifest } from '../cold/manifest';
import { DAY_MS } from '../model/duration';
import { type Day, dayOf, type PartitionRef } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import type { PartitionBatch } from './reduce';

const PARALLEL = 16;
/** Days of the manifest are texts of ten characters. */
const FIRST_DAY_MS = 0;
const LAST_DAY_MS = Date.parse('9999-12-31T00:00:00Z');

/**
 * Writes down what a batch deletes: from then on no read shows it, in whatever tier it is. Then opens the days that may
 * have samples of it beyond memory, so that the archiver takes them out for good; in this order, or it could look at a
 * day between the two and commit it as it was. A deletion that was delivered before opens nothing again.
 */
export async function putDeletions(
  { catalogue, manifest }: { readonly catalogue: Catalogue; readonly manifest: Manifest },
  ref: PartitionRef,
  deletions: PartitionBatch['deletions'],
): Promise<void> {
  await mapLimited(deletions, PARALLEL, async (deletion) => {
    const { sourceId, fromMs, toMs } = deletion;
    if (!(await catalogue.putDeletion(ref.tenantId, sourceId, deletion))) return;
    const { firstMs } = await catalogue.source(ref.tenantId, sourceId);
    // A source that has not posted yet has nothing there; what comes is flushed, which opens its day.
    const [first, last] = [dayWithin(Math.max(fromMs, firstMs)), dayWithin(toMs - 1)];
    const days = first > last ? [] : await manifest.days(ref, first, last);
    await mapLimited(days, PARALLEL, ({ day }) => manifest.announce(ref, day));
    await catalogue.markOpened(ref.tenantId, sourceId, deletion);
  });
}

function dayWithin(ms: number): Day {
  return dayOf(Math.min(Math.max(ms, FIRST_DAY_MS), LAST_DAY_MS + DAY_MS - 1));
}
