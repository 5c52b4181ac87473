import type { Selection, TimeRange } from '../model/selection';
import { mapLimited } from '../platform/concurrency';
import type { ColdTier } from './cold-tier';
import type { RolledSource } from './rollup-directory';
import type { ReadGrains } from './rollup-format';
import type { GrainTimes, RolledColumn } from './rollup-grains';
import { readRollup } from './rollup-object';

/** A source's entry for a rollup object, and the time ranges to read from it. */
export interface RequestedRollup {
  readonly source: RolledSource;
  /** Half-open, ascending, and not adjacent. */
  readonly ranges: readonly TimeRange[];
}

/** The object that was read, and how much was read from it. */
export interface ReadPlace {
  readonly place: string;
  readonly bytes: number;
  readonly samples: number;
  /** Start times of the first and the last grain (hour or day) that was read; undefined if none was read. */
  readonly extent: { readonly firstMs: number; readonly lastMs: number } | undefined;
}

/** Maximum number of objects that a read requests at the same time. */
const PARALLEL = 32;

export interface RolledObject {
  readonly requested: RequestedRollup;
  /**
   * The grains of each series, with the series' position in the request. A series that moved to another group occurs
   * twice.
   */
  readonly grains: readonly (readonly [position: number, grains: ReadGrains])[];
  readonly place: string;
  readonly bytes: number;
}

/**
 * Reads whole columns of series from rollup objects.
 *
 * @param columnsOf returns the columns to read for series with these times
 * @throws {ObjectGoneError}
 */
export function readObjects(
  cold: ColdTier,
  requested: readonly RequestedRollup[],
  { wanted, groups, layouts }: Selection,
  columnsOf: (times: GrainTimes) => readonly RolledColumn[],
): Promise<RolledObject[]> {
  return mapLimited(requested, PARALLEL, async (each): Promise<RolledObject> => {
    const { key, etag } = each.source;
    let bytes = 0;
    const slice = (range: { readonly offset: number; readonly length: number }) => {
      bytes += range.length;
      return cold.slice(key, etag, range);
    };
    const object = { name: `${key} ${etag}`, slice };
    const ofGroups = await Promise.all(
      each.source.groups
        .filter(({ group }) => groups.includes(group))
        .map((listed) => readRollup(object, listed, layouts, wanted.columns, columnsOf)),
    );
    return { requested: each, grains: ofGroups.flatMap((grains) => [...grains]), place: key, bytes };
  });
}
