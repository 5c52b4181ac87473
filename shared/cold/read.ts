import type { LocatedBlock, Selection } from '../model/selection';
import { mapLimited } from '../platform/concurrency';
import type { ColdTier } from './cold-tier';

/** Requests in flight at a time, for objects and again for the ranges of each. */
const PARALLEL = 16;

/**
 * Reads series out of the archive: each object's index, then only the byte ranges that hold them.
 *
 * @param keys objects that the manifest names
 * @throws {ObjectChangedError} when one was replaced meanwhile: the read begins again
 * @throws {Error} when one is missing: a committed object is never removed, so that is not an empty one
 */
export async function readCold(
  cold: ColdTier,
  keys: readonly string[],
  selection: Selection,
): Promise<LocatedBlock[]> {
  const found = await mapLimited(keys, PARALLEL, async (key) => {
    const object = await cold.open(key);
    if (object === undefined) throw new Error(`the manifest names ${key}, which does not exist`);
    const { reader } = object;
    return mapLimited(reader.plan(selection), PARALLEL, (planned) => reader.read(planned));
  });
  return found.flat().filter((block) => block !== undefined);
}
