import { openChunk } from '../codec';
import { type Id, idText } from '../model/id';
import type { Layout } from '../model/layout';
import { pickFromChunk, pickOf } from '../model/layout-block';
import type { GroupId } from '../model/placement';
import type { LocatedBlock, Selection } from '../model/selection';
import { type Limiter, mapLimited } from '../platform/concurrency';
import type { WarmDay } from './plan';
import type { WarmItem } from './warm-item';
import type { PickedChunk } from './warm-item-cache';
import type { WarmTier } from './warm-tier';

/** Maximum number of requests in progress. */
const PARALLEL = 16;

/**
 * Reads series from the warm table. If this instance has cached a group's items of a day, and the day has not changed
 * since, the table is not read. Concurrent reads of several sources share requests.
 *
 * @param limit limits the number of concurrent queries of several reads
 * @param layoutOf finds a chunk's layout
 */
export async function readWarm(
  warm: WarmTier,
  days: readonly WarmDay[],
  { wanted, groups, picks }: Pick<Selection, 'wanted' | 'groups' | 'picks'>,
  limit: Limiter,
  layoutOf: (group: GroupId, id: Id) => Promise<Layout>,
): Promise<LocatedBlock[]> {
  const targets = days.flatMap((day) => groups.map((group) => ({ ...day, group })));
  const found = await mapLimited(targets, PARALLEL, async (target) => {
    const { ref, day, group } = target;
    const items = await itemsOf(warm, target, limit);
    const located = (item: WarmItem, { block, samples }: PickedChunk): LocatedBlock | undefined =>
      block && { place: warm.placeOf(ref, day, item), bytes: item.chunk.length, samples, block };
    const keyOf = ({ revision }: WarmItem) => `${revision} ${wanted.id}`;
    const known = items.map((item) => warm.cache.picked.get(keyOf(item)));
    // Return without `mapLimited`: its queue would take longer than looking up the cached chunks.
    if (known.every((picked) => picked !== undefined))
      return known.map((picked, i) => located(items[i]!, picked));
    return mapLimited([...items.entries()], PARALLEL, async ([i, item]) => {
      const seen = known[i];
      if (seen !== undefined) return located(item, seen);
      const picked = await pickWanted(item, wanted, picks, (id) => layoutOf(group, id));
      warm.cache.picked.set(keyOf(item), picked);
      return located(item, picked);
    });
  });
  return found.flat().filter((block) => block !== undefined);
}

async function itemsOf(
  warm: WarmTier,
  target: WarmDay & { readonly group: GroupId },
  limit: Limiter,
): Promise<readonly WarmItem[]> {
  const { cache } = warm;
  const { ref, day, group, announcements } = target;
  const known = announcements === undefined ? undefined : cache.items(target, group, announcements);
  if (known !== undefined) return known;
  const items = await warm.groupTogether(ref, day, { ...target, limit });
  // The items can serve a later read only if the number of announcements that they include is known. A read of a day
  // that this instance has never read does not look up that number; `hasRead` makes the next read do so.
  cache.put(target, group, announcements === undefined ? undefined : { announcements, items });
  return items;
}

async function pickWanted(
  { chunk: bytes }: WarmItem,
  wanted: Layout,
  picks: Selection['picks'],
  layoutOf: (id: Id) => Promise<Layout>,
): Promise<PickedChunk> {
  const chunk = openChunk(bytes);
  const samples = chunk.sampleCount;
  const id = idText(chunk.layout);
  if (id === wanted.id) return { block: chunk.block(), samples };
  const own = picks?.get(id) ?? pickOf(await layoutOf(id), wanted);
  return { block: pickFromChunk(chunk, own, wanted), samples };
}
