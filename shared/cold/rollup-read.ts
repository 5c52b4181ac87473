import type { Aggregate, Grains } from '../model/aggregates';
import { storedGrains } from '../model/aggregates';
import { concat } from '../model/columns';
import type { Selection, TimeRange } from '../model/selection';
import { SharedTimes } from '../model/shared-times';
import { mapLimited } from '../platform/concurrency';
import type { ColdTier } from './cold-tier';
import type { RolledSource } from './rollup-directory';
import type { ReadGrains } from './rollup-format';
import type { GrainTimes, RolledColumn, RolledValue } from './rollup-grains';
import { readRollup } from './rollup-object';

/** A source's entry for a rollup object, and the time ranges to read from it. */
export interface AskedRollup {
  readonly source: RolledSource;
  /** Half-open, ascending, and not adjacent. */
  readonly ranges: readonly TimeRange[];
}

/** What was read from an object. */
export interface ReadPlace {
  readonly place: string;
  readonly bytes: number;
  readonly samples: number;
  /** The first and last start of a grain; undefined when no grain was read. */
  readonly span: { readonly firstMs: number; readonly lastMs: number } | undefined;
}

export interface RolledReading {
  /** The grains of each wanted series, ascending. */
  readonly series: readonly Grains[];
  readonly places: readonly ReadPlace[];
}

/** Objects read at the same time. */
const PARALLEL = 32;

const VALUE_OF: Readonly<Record<Aggregate, RolledValue | undefined>> = {
  avg: 'sum',
  sum: 'sum',
  min: 'min',
  max: 'max',
  first: 'first',
  last: 'last',
  count: undefined,
};

/**
 * Reads an aggregate of series from rollups. Takes a request for each group of an object, or none for counts.
 *
 * @param asked in order of time
 * @throws {ObjectGoneError}
 */
export async function readRollups(
  cold: ColdTier,
  asked: readonly AskedRollup[],
  selection: Selection,
  aggregate: Aggregate,
): Promise<RolledReading> {
  const value = VALUE_OF[aggregate];
  const columns = value === undefined ? [] : [value];
  const objects = await readObjects(cold, asked, selection, () => columns);
  const found = objects.map(({ asked: { ranges }, grains, place, bytes }) => {
    const parts = new Map<number, StoredGrains[]>();
    const times = { samples: 0, firstMs: Infinity, lastMs: -Infinity };
    const pick = picker(ranges);
    for (const [position, { times: own, columns }] of grains) {
      const { starts, counts } = own;
      const picked = pick({ starts, counts, values: value === undefined ? counts : columns[value]! });
      const cut = picked.grains.starts;
      if (cut.length === 0) continue;
      times.samples += picked.samples;
      times.firstMs = Math.min(times.firstMs, cut[0]!);
      times.lastMs = Math.max(times.lastMs, cut[cut.length - 1]!);
      parts.set(position, [...(parts.get(position) ?? []), picked.grains]);
    }
    const { samples, firstMs, lastMs } = times;
    const span = samples === 0 ? undefined : { firstMs, lastMs };
    return { parts, place: { place, bytes, samples, span } };
  });
  const join = joiner(aggregate);
  return {
    series: selection.wanted.series.map((_, position) =>
      join(found.flatMap(({ parts }) => parts.get(position) ?? [])),
    ),
    places: found.map(({ place }) => place),
  };
}

export interface RolledObject {
  readonly asked: AskedRollup;
  /** The grains of series, by position. A series that changed its group occurs twice. */
  readonly grains: readonly (readonly [position: number, grains: ReadGrains])[];
  readonly place: string;
  readonly bytes: number;
}

/**
 * Reads whole columns of series from rollup objects.
 *
 * @param columnsOf returns the columns to read of series with these times
 * @throws {ObjectGoneError}
 */
export function readObjects(
  cold: ColdTier,
  asked: readonly AskedRollup[],
  { wanted, groups, layouts }: Selection,
  columnsOf: (times: GrainTimes) => readonly RolledColumn[],
): Promise<RolledObject[]> {
  return mapLimited(asked, PARALLEL, async (each): Promise<RolledObject> => {
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
    return { asked: each, grains: ofGroups.flatMap((grains) => [...grains]), place: key, bytes };
  });
}

/** One column of a series' grains. */
interface StoredGrains {
  readonly starts: Float64Array;
  readonly counts: Float64Array;
  readonly values: Float64Array;
}

/** The grains of a series within ranges, and the number of their samples. */
interface Picked {
  readonly grains: StoredGrains;
  readonly samples: number;
}

/**
 * Returns a function that selects the grains within ranges. Series that share an array of starts share the
 * search.
 */
function picker(ranges: readonly TimeRange[]): (grains: StoredGrains) => Picked {
  const known = new Map<
    Float64Array,
    { readonly cuts: readonly Cut[]; readonly own: Omit<StoredGrains, 'values'>; readonly samples: number }
  >();
  return ({ starts, counts, values }) => {
    let picked = known.get(starts);
    if (picked === undefined) {
      const cuts = ranges.map(
        ({ fromMs, toMs }): Cut => [lowerBound(starts, fromMs), lowerBound(starts, toMs)],
      );
      const own = { starts: cut(starts, cuts), counts: cut(counts, cuts) };
      picked = { cuts, own, samples: own.counts.reduce((sum, count) => sum + count, 0) };
      known.set(starts, picked);
    }
    return { grains: { ...picked.own, values: cut(values, picked.cuts) }, samples: picked.samples };
  };
}

/** A half-open range of indexes. */
type Cut = readonly [first: number, end: number];

function cut(column: Float64Array, cuts: readonly Cut[]): Float64Array {
  const [only] = cuts;
  if (only !== undefined && cuts.length === 1) return column.subarray(...only);
  return concat(cuts.map((each) => column.subarray(...each)));
}

/** Returns the index of the first start that is at least `ms`. */
function lowerBound(starts: Float64Array, ms: number): number {
  let low = 0;
  let high = starts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (starts[middle]! < ms) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Returns a function that joins a series' grains from several objects and groups. A series may have been in
 * two groups of an object, one after the other. Series with the same arrays of starts share the joined array.
 */
function joiner(aggregate: Aggregate): (parts: readonly StoredGrains[]) => Grains {
  const shared = new SharedTimes();
  const ascending = new Map<ArrayLike<number>, boolean>();
  return (parts) => {
    const inOrder = [...parts].sort((a, b) => a.starts[0]! - b.starts[0]!);
    const starts = shared.join(inOrder.map((part) => part.starts));
    const counts = shared.join(inOrder.map((part) => part.counts));
    const values = inOrder.length === 1 ? inOrder[0]!.values : concat(inOrder.map((part) => part.values));
    const isInOrder = ascending.get(starts) ?? isAscending(starts);
    ascending.set(starts, isInOrder);
    if (isInOrder) return storedGrains(aggregate, starts, values, counts);
    const order = Array.from(starts, (_, i) => i).sort((a, b) => starts[a]! - starts[b]!);
    const sorted = (of: ArrayLike<number>) => Float64Array.from(order, (i) => of[i]!);
    return storedGrains(aggregate, sorted(starts), sorted(values), sorted(counts));
  };
}

function isAscending(starts: ArrayLike<number>): boolean {
  for (let i = 1; i < starts.length; i++) if (starts[i]! <= starts[i - 1]!) return false;
  return true;
}
