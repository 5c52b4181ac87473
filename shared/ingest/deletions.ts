import type { Catalogue } from '../catalogue/catalogue';
import type { Manifest } from '../cold/manifest';
import { withinKnownEpochs } from '../model/deletion';
import { DAY_MS } from '../model/duration';
import { type Day, dayOf, type PartitionRef } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import type { PartitionBatch } from './reduce';

const PARALLEL = 16;
// Starts of the earliest and the latest day that a manifest's key, `YYYY-MM-DD`, can name, as Unix time in ms.
const FIRST_DAY_MS = 0;
const LAST_DAY_MS = Date.parse('9999-12-31T00:00:00Z');

/**
 * Puts the deletions of a batch into the catalogue. From then on, no read returns the deleted samples. Then opens the
 * archived days that may contain deleted samples, by announcing these days in the manifest, so that the archiver
 * removes the samples from its objects. In the opposite order, the archiver could commit a day unchanged between the
 * two steps. A deletion that is delivered again announces nothing if an earlier delivery has announced its days.
 */
export async function putDeletions(
  { catalogue, manifest }: { readonly catalogue: Catalogue; readonly manifest: Manifest },
  ref: PartitionRef,
  deletions: PartitionBatch['deletions'],
): Promise<void> {
  await mapLimited(deletions, PARALLEL, async (deletion) => {
    const { sourceId, fromMs, toMs } = withinKnownEpochs(deletion);
    if (!(await catalogue.deletions.put(ref, sourceId, deletion))) return;
    const { firstMs } = await catalogue.source(ref.tenantId, sourceId);
    // A source that has never posted has no archived samples. If its samples arrive later, their flush announces the
    // days.
    const [first, last] = [dayWithin(Math.max(fromMs, firstMs)), dayWithin(toMs - 1)];
    const days = first > last ? [] : await manifest.days(ref, first, last);
    await mapLimited(days, PARALLEL, ({ day }) => manifest.announce(ref, day));
    await catalogue.deletions.noteAnnounced(ref, sourceId, deletion);
  });
}

function dayWithin(ms: number): Day {
  return dayOf(Math.min(Math.max(ms, FIRST_DAY_MS), LAST_DAY_MS + DAY_MS - 1));
}
