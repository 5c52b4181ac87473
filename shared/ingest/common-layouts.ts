import { isPresent, presenceBytes } from '../codec';
import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import type { Id } from '../model/id';
import { columnsOfPart } from '../model/layout-bytes';
import { openLayout } from '../model/open-layouts';
import { bytesOfPacked, type PackedLayout, withoutBytes } from '../model/packed-layout';
import type { GroupId } from '../model/placement';

/** What says which series a row has values of. */
interface RowSeries {
  readonly layout: PackedLayout;
  readonly presence?: Uint8Array;
}

/** A layout of a group in which the ingester writes rows that came in smaller layouts. */
interface CommonLayout {
  readonly layout: PackedLayout;
  /**
   * By the id of another layout: this layout's column for each of its series; undefined if one is missing.
   */
  readonly columns: Map<Id, Uint16Array | undefined>;
}

/**
 * Most common layouts of a group. A group may need several: for example, one for each queue of a Prometheus.
 */
const MAX_COMMON = 16;
/** Most other layouts whose columns a common layout remembers. */
const MAX_OTHERS = 64;

/**
 * The common layouts of each group, in which the ingester writes rows of other layouts.
 *
 * A sender may cut its requests at any place. Each instance of post then builds its own unions of the
 * source's series (`dictionary/home.ts`), and begins with small ones. Without common layouts, every new
 * instance would add layouts that all stores keep. All rows of a group come to one ingester at a time. It
 * writes them in one of the group's largest layouts so far that has all of their series. Groups whose rows
 * never had a presence map stay as they are.
 */
export class CommonLayouts {
  private readonly groups = new Cache<readonly CommonLayout[]>(CACHES.commonLayouts, (all, group) =>
    all.reduce((sum, { columns }) => sum + 200 + 600 * columns.size, group.length + 100),
  );

  /** Returns a function that writes rows of `layout` in a common layout of the group, if there is one. */
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
    // Keep the largest layouts: they are most likely to have the series of other layouts.
    return [...others, { layout: withoutBytes(layout), columns: new Map<Id, Uint16Array | undefined>() }]
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
    // Put the entry into the cache again, because its size has changed.
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
      // Both layouts must have the series in the same order, since the values of a row keep theirs.
      if (column === undefined || column <= last) return undefined;
      found[i++] = column;
      last = column;
    }
    return found;
  }
}
