import { isPresent, presenceBytes } from '../codec';
import { BoundedCache } from '../model/bounded-cache';
import type { Id } from '../model/id';
import type { Layout, PackedLayout } from '../model/layout';
import type { GroupId } from '../model/placement';

/** The part of a row that says of which series its values are. */
interface Partial {
  readonly layout: PackedLayout;
  readonly presence?: Uint8Array;
}

/** The layout that most rows of a group are written in. */
interface Common {
  readonly layout: PackedLayout;
  /** Columns in it of the series of other layouts; undefined where it lacks one. */
  readonly columns: Map<Id, Uint16Array | undefined>;
}

/** Layouts of a group whose columns are kept. */
const MAX_OTHERS = 64;

/**
 * The largest layout that rows with presence maps have come in, for each group.
 *
 * Each instance of post makes unions of its own of a source whose requests are cut anywhere (`stream/source-unions.ts`), and
 * begins with small ones. All rows of a group come to one ingester at a time, so here they are written in one layout, if it
 * has their series: a new instance of post makes no new layouts. Groups without such rows are left as they are.
 */
export class CommonLayouts {
  private readonly groups = new BoundedCache<Common>(
    64_000_000,
    ({ columns }, group) => group.length + 300 + 600 * columns.size,
  );

  constructor(private readonly decoded: (layout: PackedLayout) => Layout) {}

  /** @returns what writes rows of `layout` in the group's common layout, or leaves them as they are */
  of(group: GroupId, layout: PackedLayout): <Row extends Partial>(row: Row) => Row {
    return (row) => this.write(group, layout, row);
  }

  private write<Row extends Partial>(group: GroupId, layout: PackedLayout, row: Row): Row {
    const common = this.groups.get(group);
    if (common === undefined || common.layout.id === layout.id) {
      if (common === undefined && row.presence !== undefined)
        this.groups.set(group, { layout, columns: new Map() });
      return row;
    }
    const columns = this.columnsOf(group, common, layout);
    if (columns === undefined) {
      if (row.presence !== undefined && layout.seriesCount > common.layout.seriesCount)
        this.groups.set(group, { layout, columns: new Map() });
      return row;
    }
    const presence = new Uint8Array(presenceBytes(common.layout.seriesCount));
    for (const [i, column] of columns.entries())
      if (row.presence === undefined || isPresent(row.presence, i))
        presence[column >> 3]! |= 1 << (column & 7);
    return { ...row, layout: common.layout, presence };
  }

  private columnsOf(group: GroupId, common: Common, other: PackedLayout): Uint16Array | undefined {
    const { layout, columns } = common;
    if (columns.has(other.id)) return columns.get(other.id);
    const found = other.seriesCount < layout.seriesCount ? this.columnsIn(layout, other) : undefined;
    if (columns.size === MAX_OTHERS) columns.clear();
    columns.set(other.id, found);
    // Again, for its size has changed.
    this.groups.set(group, common);
    return found;
  }

  private columnsIn(layout: PackedLayout, other: PackedLayout): Uint16Array | undefined {
    const { columns } = this.decoded(layout);
    const found = new Uint16Array(other.seriesCount);
    let i = 0;
    let last = -1;
    for (const key of this.decoded(other).columns.keys()) {
      const column = columns.get(key);
      // Both are in the order of the keys, so that values stay in theirs.
      if (column === undefined || column <= last) return undefined;
      found[i++] = column;
      last = column;
    }
    return found;
  }
}
