import { isPresent, presenceBytes } from '../codec';
import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import type { Id } from '../model/id';
import { columnsOfPart } from '../model/layout-bytes';
import { openLayout } from '../model/open-layouts';
import { bytesOfPacked, type PackedLayout } from '../model/packed-layout';
import type { GroupId } from '../model/placement';

/** The part of a row that names the series of its values. */
interface RowSeries {
  readonly layout: PackedLayout;
  readonly presence?: Uint8Array;
}

/** A layout of a group into which the rows of other layouts are rewritten. */
interface CommonLayout {
  readonly layout: PackedLayout;
  /**
   * For each other layout by id: the columns of its series in this layout; undefined if this layout lacks one
   * of them.
   */
  readonly columns: Map<Id, Uint16Array | undefined>;
}

/**
 * Most common layouts of a group. A group may need several, such as one for each sending queue of a
 * Prometheus.
 */
const MAX_COMMON = 16;
/** Most other layouts whose columns are remembered for each common layout. */
const MAX_OTHERS = 64;

/**
 * The common layouts of each group: those of its rows with presence maps, except layouts whose series another
 * one contains.
 *
 * Each instance of post builds its own unions of the series of a source whose requests are cut at arbitrary
 * places (`dictionary/home.ts`), and begins with small ones. But all rows of a group come to one ingester at
 * a time. It rewrites them in one of a few common layouts that contain their series, so that a new instance
 * of post does not add new layouts. Groups without presence maps are left as they are.
 */
export class CommonLayouts {
  private readonly groups = new Cache<readonly CommonLayout[]>(CACHES.commonLayouts, (all, group) =>
    all.reduce((sum, { columns }) => sum + 200 + 600 * columns.size, group.length + 100),
  );

  /**
   * @returns a function that rewrites rows of `layout` in a common layout of the group, or returns them
   *   unchanged
   */
  of(group: GroupId, layout: PackedLayout): <Row extends RowSeries>(row: Row) => Row {
    return (row) => this.write(group, layout, row);
  }

  private write<Row extends RowSeries>(group: GroupId, layout: PackedLayout, row: Row): Row {
    const all = this.groups.get(group) ?? [];
    if (all.some((common) => common.layout.id === layout.id)) return row;
    for (const common of all) {
      const columns = this.columnsOf(group, all, common, layout);
      if (columns === undefined) continue;
      const presence = new Uint8Array(presenceBytes(common.layout.seriesCount));
      for (const [i, column] of columns.entries())
        if (row.presence === undefined || isPresent(row.presence, i))
          presence[column >> 3]! |= 1 << (column & 7);
      return { ...row, layout: common.layout, presence };
    }
    if (row.presence !== undefined) this.groups.set(group, this.withLayout(all, layout));
    return row;
  }

  private withLayout(all: readonly CommonLayout[], layout: PackedLayout): CommonLayout[] {
    const others = all.filter(
      (common) =>
        common.layout.seriesCount >= layout.seriesCount ||
        this.columnsIn(layout, common.layout) === undefined,
    );
    // Keep the largest: they are most likely to contain the series of other layouts.
    return [...others, { layout, columns: new Map<Id, Uint16Array | undefined>() }]
      .sort((a, b) => b.layout.seriesCount - a.layout.seriesCount)
      .slice(0, MAX_COMMON);
  }

  private columnsOf(
    group: GroupId,
    all: readonly CommonLayout[],
    { layout, columns }: CommonLayout,
    other: PackedLayout,
  ): Uint16Array | undefined {
    if (other.seriesCount >= layout.seriesCount) return undefined;
    if (columns.has(other.id)) return columns.get(other.id);
    const found = this.columnsIn(layout, other);
    if (columns.size === MAX_OTHERS) columns.clear();
    columns.set(other.id, found);
    // Set the entry again, because its size has changed.
    this.groups.set(group, all);
    return found;
  }

  private columnsIn(layout: PackedLayout, other: PackedLayout): Uint16Array | undefined {
    const ofPart = columnsOfPart(bytesOfPacked(layout), bytesOfPacked(other));
    if (ofPart !== 'unlike') return ofPart;
    const { columns } = openLayout(layout.id, layout.packed);
    const found = new Uint16Array(other.seriesCount);
    let i = 0;
    let last = -1;
    for (const key of openLayout(other.id, other.packed).columns.keys()) {
      const column = columns.get(key);
      // Both layouts must have their series in the same order, so that the values need not be reordered.
      if (column === undefined || column <= last) return undefined;
      found[i++] = column;
      last = column;
    }
    return found;
  }
}
