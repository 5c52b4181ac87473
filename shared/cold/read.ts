import type { Day } from '../model/placement';
import type { LocatedBlock, Selection } from '../model/selection';
import { type Limiter, mapLimited } from '../platform/concurrency';
import { type ColdTier, ObjectChangedError } from './cold-tier';
import type { ListedSource } from './directory';

/** Requests in flight at a time, for objects and again for the ranges of each. */
const PARALLEL = 32;

/** A day's object, as the manifest names it. */
export interface ColdDay {
  readonly day: Day;
  readonly key: string;
  /** Whether the read has, or may have, other samples of these times, ms, both included. */
  readonly isContested: (minMs: number, maxMs: number) => boolean;
}

/**
 * Reads a source's series out of the archive. Where the directory lists the day, one request fetches them; otherwise the object's
 * index says where they lie. Reads of several sources that come together share requests.
 *
 * @param listed the source's entries in the directory, by day
 * @param limit bounds the requests of several reads
 * @throws {ObjectChangedError} when an object was replaced or removed meanwhile: the read begins again
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
      // The directory lags behind the object.
      if (error instanceof ObjectChangedError) return readByIndex(cold, key, selection, limit);
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
  if (object === undefined) throw new ObjectChangedError(`${key} was removed after the manifest was read`);
  const { reader } = object;
  const blocks = await mapLimited(reader.plan(selection), PARALLEL, (planned) =>
    limit(() => reader.read(planned)),
  );
  return blocks.filter((block) => block !== undefined);
}
