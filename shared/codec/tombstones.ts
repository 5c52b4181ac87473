/** Removes deleted samples from blocks. A block does not store tombstones, so callers pass them. */
import { type BlockDraft, bitHalvesOf, type Cells, canonicalBlock } from './canonical';
import { distinctVersions, mergeVersions } from './lazy-versions';
import type { Block, Tombstone } from './model';

/** A tombstone. `version` is the index of its version in a {@link BlockDraft}'s versions. */
interface TombstoneRange extends Omit<Tombstone, 'version'> {
  readonly version: number;
}

/**
 * Removes each sample that is covered by a tombstone with a higher version.
 *
 * @throws {RangeError} when a tombstone's series is not a column
 */
export function applyTombstones(block: Block, all: readonly Tombstone[]): Block {
  if (all.length === 0) return block;
  const outside = all.find(({ series }) => block.columns[series] === undefined);
  if (outside !== undefined)
    throw new RangeError(`tombstone of series ${outside.series} of ${block.columns.length}`);
  const [firstMs, lastMs] = [block.timestamps[0] ?? Infinity, block.timestamps.at(-1) ?? -Infinity];
  const tombstones = all.filter(({ fromMs, toMs }) => fromMs <= lastMs && toMs > firstMs);
  if (tombstones.length === 0) return block;
  const arrived = distinctVersions(tombstones.map(({ version }) => version));
  const { versions, fromA, fromB } = mergeVersions(block.versions, arrived.versions);
  const renumber = (version: number): number => fromA[version]!;
  const draft: BlockDraft = {
    layout: block.layout,
    timestamps: block.timestamps,
    versions,
    rowVersions: block.rowVersions.map(renumber),
    cells: block.columns.map((column) => ({ ...column, versions: column.versions?.map(renumber) })),
  };
  const ranges = tombstones.map((tombstone, i) => ({ ...tombstone, version: fromB[arrived.indexes[i]!]! }));
  const cells = withoutDeleted(draft, disjointRanges(ranges));
  const hasDeleted = cells.some(({ values }, series) => values.length < block.columns[series]!.values.length);
  return hasDeleted ? canonicalBlock({ ...draft, cells }) : block;
}

/**
 * Converts ranges, which may overlap, into disjoint ranges. Where several ranges overlap, the highest version wins.
 *
 * @returns ranges, ascending by series and then time; adjacent ranges with the same version are joined
 */
function disjointRanges(ranges: readonly TombstoneRange[]): TombstoneRange[] {
  const bySeries = new Map<number, TombstoneRange[]>();
  for (const range of ranges) {
    if (range.fromMs >= range.toMs) continue;
    const list = bySeries.get(range.series);
    if (list === undefined) bySeries.set(range.series, [range]);
    else list.push(range);
  }
  const result: TombstoneRange[] = [];
  for (const series of [...bySeries.keys()].sort((a, b) => a - b)) {
    const list = bySeries.get(series)!;
    if (list.length === 1) result.push({ ...list[0]! });
    else paintRanges(series, list, result);
  }
  return result;
}

/**
 * Implements {@link disjointRanges} for one series. The bounds of all ranges divide time into stretches. The function
 * goes through the ranges in descending order of version. Each range paints its stretches with its version, except
 * stretches that are already painted.
 *
 * @param result receives the disjoint ranges
 */
function paintRanges(series: number, list: TombstoneRange[], result: TombstoneRange[]): void {
  const bounds = [...new Set(list.flatMap(({ fromMs, toMs }) => [fromMs, toMs]))].sort((a, b) => a - b);
  const indexOf = new Map(bounds.map((ms, index) => [ms, index]));
  const painted = new Int32Array(bounds.length).fill(-1);
  // A union-find forest: each stretch leads to the next unpainted stretch, and an unpainted stretch leads to itself.
  const nextBare = Uint32Array.from(bounds.keys());
  const findBare = (from: number): number => {
    let bare = from;
    while (nextBare[bare] !== bare) bare = nextBare[bare] = nextBare[nextBare[bare]!]!;
    return bare;
  };
  for (const { fromMs, toMs, version } of list.toSorted((a, b) => b.version - a.version)) {
    const end = indexOf.get(toMs)!;
    for (let i = findBare(indexOf.get(fromMs)!); i < end; i = findBare(i)) {
      painted[i] = version;
      nextBare[i] = i + 1;
    }
  }
  for (let i = 0; i < bounds.length; ) {
    const version = painted[i]!;
    const start = i++;
    if (version < 0) continue;
    while (painted[i] === version) i++;
    result.push({ series, fromMs: bounds[start]!, toMs: bounds[i]!, version });
  }
}

/**
 * Returns the columns of a draft without the deleted cells.
 *
 * @param ranges result of {@link disjointRanges}
 */
function withoutDeleted(draft: BlockDraft, ranges: readonly TombstoneRange[]): Cells[] {
  const { timestamps, rowVersions } = draft;
  const cells = draft.cells.slice();
  for (let first = 0; first < ranges.length; ) {
    const series = ranges[first]!.series;
    const column = cells[series]!;
    const count = column.values.length;
    const kept = new Uint32Array(count);
    let keptCount = 0;
    let at = first;
    for (let i = 0; i < count; i++) {
      const row = column.rows === undefined ? i : column.rows[i]!;
      const ms = timestamps[row]!;
      while (at < ranges.length && ranges[at]!.series === series && ranges[at]!.toMs <= ms) at++;
      const range = ranges[at];
      const version = column.versions === undefined ? rowVersions[row]! : column.versions[i]!;
      if (range === undefined || range.series !== series || range.fromMs > ms || range.version <= version) {
        kept[keptCount++] = i;
      }
    }
    if (keptCount < count) cells[series] = pickCells(column, kept.subarray(0, keptCount));
    while (first < ranges.length && ranges[first]!.series === series) first++;
  }
  return cells;
}

/** Returns the cells of a column at the given indexes. */
function pickCells(column: Cells, indexes: Uint32Array): Cells {
  const values = new Float64Array(indexes.length);
  const from = bitHalvesOf(column.values);
  const to = bitHalvesOf(values);
  for (let i = 0; i < indexes.length; i++) {
    const index = indexes[i]!;
    to[2 * i] = from[2 * index]!;
    to[2 * i + 1] = from[2 * index + 1]!;
  }
  const { rows, versions } = column;
  return {
    rows: rows === undefined ? indexes.slice() : indexes.map((index) => rows[index]!),
    values,
    versions: versions === undefined ? undefined : indexes.map((index) => versions[index]!),
  };
}
