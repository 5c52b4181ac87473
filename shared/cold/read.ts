import type { LocatedBlock, Selection } from '../model/selection';
import { mapLimited } from '../platform/concurrency';
import { type ColdTier, ObjectChangedError } from './cold-tier';

/** Requests in flight at a time, for objects and again for the ranges of each. */
const PARALLEL = 16;

/**
 * Reads series out of the archive: each object's index, then only the byte ranges that hold them.
 *
 * @param keys objects that the manifest names
 * @throws {ObjectChangedError} when one was replaced or removed meanwhile: the read begins again
 */
export async function readCold(
  cold: ColdTier,
  keys: readonly string[],
  selection: Selection,
): Promise<LocatedBlock[]> {
  const found = await mapLimited(keys, PARALLEL, async (key) => {
    const object = await cold.open(key);
    if (object === undefined) throw new ObjectChangedError(`${key} was removed after the manifest was read`);
    const { reader } = object;
    return mapLimited(reader.plan(selection), PARALLEL, (planned) => reader.read(planned));
  });
  return found.flat().filter((block) => block !== undefined);
}
