import type { Day } from '../model/placement';
import type { LocatedBlock, Selection } from '../model/selection';
import { type Limiter, mapLimited } from '../platform/concurrency';
import type { ListedSource } from './archive-directory';
import { isRequested } from './archive-format';
import { type ColdTier, ObjectGoneError } from './cold-tier';

/** Maximum number of objects read at the same time, and of concurrent requests for ranges of one object. */
const PARALLEL = 32;

/** One of the objects that the manifest names for a day. */
export interface ColdDay {
  readonly day: Day;
  readonly key: string;
  /**
   * Returns whether the read may also get samples from `minMs` to `maxMs`, both inclusive, from another tier or object.
   * If so, the read needs the samples' versions.
   */
  readonly isContested: (minMs: number, maxMs: number) => boolean;
}

/**
 * Reads a source's series from the archive. If the directory lists a day, one request fetches the day's series.
 * Otherwise the object's index locates the series. Concurrent reads of several sources share requests.
 *
 * @param listed the source's directory entries, by day
 * @param limit limits the number of concurrent requests of several reads
 * @throws {ObjectGoneError} if an object was removed after the manifest was read; the caller must start over
 */
export async function readCold(
  cold: ColdTier,
  days: readonly ColdDay[],
  listed: ReadonlyMap<Day, ListedSource>,
  selection: Selection,
  limit: Limiter,
): Promise<LocatedBlock[]> {
  const found = await mapLimited(days, PARALLEL, async ({ day, key, isContested }) => {
    const entry = listed.get(day);
    if (entry?.key !== key) return readByIndex(cold, key, selection, limit);
    try {
      return await cold.readListed(entry, selection, isContested, limit);
    } catch (error) {
      // The directory entry is out of date. Use the object's own index instead.
      if (error instanceof ObjectGoneError) return readByIndex(cold, key, selection, limit);
      throw error;
    }
  });
  return found.flat();
}

async function readByIndex(
  cold: ColdTier,
  key: string,
  selection: Selection,
  limit: Limiter,
): Promise<LocatedBlock[]> {
  const object = await cold.openTogether(key, limit);
  if (object === undefined) throw new ObjectGoneError(`${key} was removed after the manifest was read`);
  const { reader } = object;
  const requested = reader.chunks.filter((chunk) => isRequested(chunk, selection));
  const blocks = await mapLimited(requested, PARALLEL, (chunk) => limit(() => reader.read(chunk, selection)));
  return blocks.filter((block) => block !== undefined);
}
