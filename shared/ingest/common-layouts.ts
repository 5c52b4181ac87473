import { isPresent, presenceBytes } from '../codec';
import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import type { Id } from '../model/id';
import { columnsOfPart } from '../model/layout-bytes';
import { openLayout } from '../model/open-layouts';
import { bytesOfPacked, type PackedLayout } from '../model/packed-layout';
import type { GroupId } from '../model/placement';

/** The part of a row that says of which series its values are. */
interface Partial {
  readonly layout: PackedLayout;
  readonly presence?: Uint8Array;
}

/** A layout that many rows of a group are written in. */
interface Common {
  readonly layout: PackedLayout;
  /** Columns in it of the series of other layouts; undefined where it lacks one. */
  readonly columns: Map<Id, Uint16Array | undefined>;
}

/** Of a group: one for each queue of a Prometheus, say. */
const MAX_COMMON = 16;
/** Layouts whose columns are kept, of each common layout. */
const MAX_OTHERS = 64;

/**
 * The layouts that rows with presence maps have come in, for each group, without those whose series another has.
 *
 * Each instance of post makes unions of its own of a source whose requests are cut anywhere (`dictionary/home.ts`), and
 * begins with small ones. All rows of a group come to one ingester at a time, so here they are written in one of few layouts, if
 * it has their series: a new instance of post makes no new layouts. Groups without such rows are left as they are.
 */
export class CommonLayouts {
  private readonly groups = new Cache<readonly Common[]>(CACHES.commonLayouts, (all, group) =>
    all.reduce((sum, { columns }) => sum + 200 + 600 * columns.size, group.length + 100),
  );

  /** @returns what writes rows of `layout` in a common layout of the group, or leaves them as they are */
  of(group: GroupId, layout: PackedLayout): <Row extends Partial>(row: Row) => Row {
    return (row) => this.write(group, layout, row);
  }

  private write<Row extends Partial>(group: GroupId, layout: PackedLayout, row: Row): Row {
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

  private withLayout(all: readonly Common[], layout: PackedLayout): Common[] {
    const others = all.filter(
      (common) =>
        common.layout.seriesCount >= layout.seriesCount ||
        this.columnsIn(layout, common.layout) === undefined,
    );
    // The largest remain: others' series are most likely to be in them.
    return [...others, { layout, columns: new Map<Id, Uint16Array | undefined>() }]
      .sort((a, b) => b.layout.seriesCount - a.layout.seriesCount)
      .slice(0, MAX_COMMON);
  }

  private columnsOf(
    group: GroupId,
    all: readonly Common[],
    { layout, columns }: Common,
    other: PackedLayout,
  ): Uint16Array | undefined {
    if (other.seriesCount >= layout.seriesCount) return undefined;
    if (columns.has(other.id)) return columns.get(other.id);
    const found = this.columnsIn(layout, other);
    if (columns.size === MAX_OTHERS) columns.clear();
    columns.set(other.id, found);
    // Again, for its size has changed.
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
      // Both are in the order of the keys, so that values stay in theirs.
      if (column === undefined || column <= last) return undefined;
      found[i++] = column;
      last = column;
    }
    return found;
  }
}
