import { openChunk } from '../codec';
import { type Id, idText } from '../model/id';
import type { Layout } from '../model/layout';
import { pickFromChunk } from '../model/layout-block';
import type { Day, GroupId, PartitionRef } from '../model/placement';
import type { LocatedBlock, Selection } from '../model/selection';
import { mapLimited } from '../platform/concurrency';
import type { WarmTier } from './warm-tier';

/** A partition's day, and the half-open range, ms, in which its windows begin. */
export interface WarmDay {
  readonly ref: PartitionRef;
  readonly day: Day;
  readonly windowsFromMs: number;
  readonly windowsToMs: number;
}

/** Requests in flight at a time. */
const PARALLEL = 16;

/**
 * Reads series out of the warm table: one query a day and group.
 *
 * @param layoutOf finds a chunk's layout
 */
export async function readWarm(
  warm: WarmTier,
  days: readonly WarmDay[],
  { wanted, groups }: Pick<Selection, 'wanted' | 'groups'>,
  layoutOf: (group: GroupId, id: Id) => Promise<Layout>,
): Promise<LocatedBlock[]> {
  const targets = days.flatMap((day) => groups.map((group) => ({ ...day, group })));
  const found = await mapLimited(targets, PARALLEL, async (target) => {
    const { ref, day, group, windowsFromMs, windowsToMs } = target;
    const items = await warm.group(ref, day, group, windowsFromMs, windowsToMs);
    return mapLimited(items, PARALLEL, async (item): Promise<LocatedBlock | undefined> => {
      const chunk = openChunk(item.chunk);
      const layout = await layoutOf(group, idText(chunk.layout));
      const block = pickFromChunk(chunk, layout, wanted);
      const place = warm.placeOf(ref, day, item);
      return block && { place, bytes: item.chunk.length, samples: chunk.sampleCount, block };
    });
  });
  return found.flat().filter((block) => block !== undefined);
}
