import type { SourceCatalogue } from '../catalogue/catalogue';
import type { LayoutMatch } from '../catalogue/shape-columns';
import type { Id } from '../model/id';
import type { Layout } from '../model/layout';
import { type GroupId, groupIdOf, sourceIdOfGroup, splitIndexOf } from '../model/placement';
import type { Selection } from '../model/selection';

/** Groups that may hold wanted series of a source: its own, or its pool's. */
export interface Home {
  /** Id of the source or pool. */
  readonly id: Id;
  readonly groups: readonly GroupId[];
  /** Layouts of the groups, as far as they are known. */
  readonly layouts: ReadonlyMap<Id, Layout>;
  /** See {@link Selection.places}. */
  readonly places?: Selection['places'];
}

/** Where the samples of a source's wanted series may lie. */
export interface Whereabouts {
  /** At least one, and nearly always only one. */
  readonly homes: readonly Home[];
  /** Every length of the windows that the samples were written with, ms, ascending. */
  readonly windowLengthsMs: readonly number[];
  /** No sample is earlier, ms. */
  readonly firstMs: number;
}

/**
 * The whereabouts of matching series of one source: an entry of the index is there before a sample in its group and window is.
 *
 * @param firstMs of each layout of the index, by number
 */
export function whereaboutsOf(matches: readonly LayoutMatch[], firstMs: Float64Array): Whereabouts {
  const homes = Map.groupBy(matches, ({ group }) => sourceIdOfGroup(group));
  return {
    homes: Array.from(homes, ([id, own]) => ({
      id,
      groups: [...new Set(own.map(({ group }) => group))],
      layouts: new Map(own.map((match) => [match.layoutId, match.layout()])),
      places: matches.length === 1 ? placesOf(matches[0]!) : undefined,
    })),
    windowLengthsMs: lengthsOf(matches.map(({ windowMs }) => windowMs)),
    firstMs: matches.reduce((first, { number }) => Math.min(first, firstMs[number]!), Infinity),
  };
}

/** The wanted series are those of one layout, in its order. */
function placesOf({ layoutId, columns, seriesCount }: LayoutMatch): Selection['places'] {
  const positions = Uint32Array.from(columns.keys());
  return new Map([[layoutId, { columns: Uint32Array.from(columns), positions, seriesCount }]]);
}

/** The whereabouts of series of one source that are read together. */
export function joinWhereabouts(all: readonly Whereabouts[]): Whereabouts {
  const homes = Map.groupBy(
    all.flatMap((each) => each.homes),
    ({ id }) => id,
  );
  return {
    homes: Array.from(homes, ([id, own]) => ({
      id,
      groups: [...new Set(own.flatMap(({ groups }) => groups))],
      layouts: new Map(own.flatMap(({ layouts }) => [...layouts])),
    })),
    windowLengthsMs: lengthsOf(all.flatMap(({ windowLengthsMs }) => windowLengthsMs)),
    firstMs: Math.min(...all.map(({ firstMs }) => firstMs)),
  };
}

function lengthsOf(lengthsMs: readonly number[]): number[] {
  return [...new Set(lengthsMs)].sort((a, b) => a - b);
}

/** The whereabouts of a source's series by its catalogue. */
export function whereaboutsIn(known: SourceCatalogue, sourceId: Id, wanted: Layout): Whereabouts {
  const { splits, windowLengthsMs, firstMs } = known;
  const ids = splits.size === 0 ? [sourceId] : [...splits.keys()];
  // Without the layouts of chunks that the archiver merged, which the catalogue need not have.
  const layouts = new Map([...known.layouts.values()].flat().map((layout) => [layout.id, layout]));
  const homes = ids.map((id) => ({ id, groups: groupsOf(id, wanted, known), layouts }));
  return { homes, windowLengthsMs, firstMs };
}

/** The groups of a source or pool that hold the series: one for each split that it has had. */
function groupsOf(id: Id, { columns }: Layout, { splits }: SourceCatalogue): GroupId[] {
  const keys = [...columns.keys()];
  const groups = (splits.get(id) ?? []).flatMap((bits) =>
    keys.map((key) => groupIdOf(id, bits, splitIndexOf(key, bits))),
  );
  return [...new Set(groups)];
}
