import type { SourceCatalogue } from '../catalogue/catalogue';
import type { LayoutMatch } from '../catalogue/shape-columns';
import type { VersionedDeletion } from '../model/deletion';
import type { Id } from '../model/id';
import type { Labels } from '../model/labels';
import { type Layout, layoutOf } from '../model/layout';
import { type GroupId, groupIdOf, sourceIdOfGroup, splitIndexOf } from '../model/placement';
import type { Selection } from '../model/selection';

/**
 * The groups of one home that may contain the series that a query wants from a source. The home is the source's own, or
 * its pool's.
 */
interface HomeLocation {
  /** Id of the source or pool whose home it is. */
  readonly id: Id;
  readonly groups: readonly GroupId[];
  /** Known layouts of the groups. */
  readonly layouts: ReadonlyMap<Id, Layout>;
  /** See {@link Selection.picks}. */
  readonly picks?: Selection['picks'];
}

/** Where the tiers may hold samples of a source's wanted series, and the earliest time of the samples. */
export interface SourceLocation {
  /** The homes of the source: at least one, nearly always exactly one. */
  readonly homes: readonly HomeLocation[];
  /** All window lengths with which the samples were written, in ms, ascending. */
  readonly windowLengthsMs: readonly number[];
  /** Lower bound on the samples' times, in ms. */
  readonly firstMs: number;
}

/** The series found in one source, and where they may be stored. */
export interface FoundSource {
  readonly source: Labels;
  readonly sourceId: Id;
  /** The layout of the series. */
  readonly layout: Layout;
  readonly location: () => SourceLocation;
  /** All deletions of the source. */
  readonly deletions: readonly VersionedDeletion[];
}

/**
 * Finds in the index where the matching series of one source are stored. The index lists every group and window length
 * that has samples, because the ingester writes an index entry before it appends the first sample of a group.
 *
 * @param firstMs for each layout number, a lower bound on the times of the layout's samples
 */
export function locationOf(matches: readonly LayoutMatch[], firstMs: Float64Array): SourceLocation {
  // A source nearly always has just one match.
  if (matches.length === 1) return locationOfOne(matches[0]!, firstMs);
  const homes = Map.groupBy(matches, ({ group }) => sourceIdOfGroup(group));
  return {
    homes: Array.from(homes, ([id, own]) => ({
      id,
      groups: [...new Set(own.map(({ group }) => group))],
      layouts: new Map(own.map((match) => [match.layoutId, match.layout()])),
    })),
    windowLengthsMs: lengthsOf(matches.map(({ windowMs }) => windowMs)),
    firstMs: matches.reduce((first, { number }) => Math.min(first, firstMs[number]!), Infinity),
  };
}

function locationOfOne(match: LayoutMatch, firstMs: Float64Array): SourceLocation {
  const { group, layoutId } = match;
  const home: HomeLocation = {
    id: sourceIdOfGroup(group),
    groups: [group],
    layouts: new Map([[layoutId, match.layout()]]),
    picks: new Map([[layoutId, match.pick]]),
  };
  return { homes: [home], windowLengthsMs: [match.windowMs], firstMs: firstMs[match.number]! };
}

/** Joins the locations of series of one source that are read together. */
export function joinLocations(all: readonly SourceLocation[]): SourceLocation {
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

/** Finds series of a source in its catalogue, which has even the newest series. */
export function foundIn(
  known: SourceCatalogue,
  source: Labels,
  sourceId: Id,
  series: readonly Labels[],
): FoundSource {
  const layout = layoutOf(series);
  return {
    source,
    sourceId,
    layout,
    location: () => locationIn(known, sourceId, layout),
    deletions: known.deletions,
  };
}

/** Finds in the catalogue where a source's series are stored. */
export function locationIn(known: SourceCatalogue, sourceId: Id, wanted: Layout): SourceLocation {
  const { splits, windowLengthsMs, firstMs } = known;
  const ids = splits.size === 0 ? [sourceId] : [...splits.keys()];
  // The map may lack layouts that the archiver created when it merged chunks: the catalogue need not contain those.
  const layouts = new Map([...known.layouts.values()].flat().map((layout) => [layout.id, layout]));
  const homes = ids.map((id) => ({ id, groups: groupsOf(id, wanted, known), layouts }));
  return { homes, windowLengthsMs, firstMs };
}

/**
 * Returns the groups of a source or pool that may contain the series, for every split that the source or pool has ever
 * had.
 */
function groupsOf(id: Id, { columns }: Layout, { splits }: SourceCatalogue): GroupId[] {
  const keys = [...columns.keys()];
  const groups = (splits.get(id) ?? []).flatMap((bits) =>
    keys.map((key) => groupIdOf(id, bits, splitIndexOf(key, bits))),
  );
  return [...new Set(groups)];
}
