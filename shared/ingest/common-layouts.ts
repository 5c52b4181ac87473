import { isPresent, presenceBytes } from '../codec';
import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import { columnsOfPart } from '../model/layout-bytes';
import { openLayout } from '../model/open-layouts';
import { bytesOfPacked, type PackedLayout, withoutBytes } from '../model/packed-layout';
import type { GroupId } from '../model/placement';

/** The layout of a row and its presence map. Together they show which series the row has values for. */
interface RowSeries {
  readonly layout: PackedLayout;
  readonly presence?: Uint8Array;
}

/**
 * Maximum number of common layouts for a group. A group may need several: for example, one for each queue of a
 * Prometheus server.
 */
const MAX_COMMON = 16;

/**
 * The common layouts of each group. The ingester writes rows in a common layout even if they arrive in other layouts.
 *
 * A sender may divide its series among requests in any way. Each instance of post builds its own unions of the source's
 * series (`dictionary/home.ts`), and begins with small unions. Without common layouts, every new instance would add
 * layouts that all stores keep. All rows of a group go to a single ingester at a time. If one of the group's largest
 * layouts so far has all of a row's series, the ingester writes the row in that layout. It leaves a group's layouts
 * unchanged if the group's rows have never had a presence map.
 */
export class CommonLayouts {
  /** The common layouts of each group, the largest first. */
  private readonly groups = new Cache<readonly PackedLayout[]>(CACHES.commonLayouts, (all, group) =>
    all.reduce((sum, { packed }) => sum + 200 + packed.length, group.length + 100),
  );

  /** Returns a function that writes rows of `layout` in a common layout of the group, if there is one. */
  of(group: GroupId, layout: PackedLayout): <Row extends RowSeries>(row: Row) => Row {
    const all = this.groups.get(group) ?? [];
    if (all.some(({ id }) => id === layout.id)) return (row) => row;
    for (const common of all) {
      const columns = columnsIn(common, layout);
      if (columns !== undefined) return (row) => ({ ...row, ...widen(row, common, columns) });
    }
    return (row) => {
      if (row.presence !== undefined) this.add(group, layout);
      return row;
    };
  }

  private add(group: GroupId, layout: PackedLayout): void {
    const all = this.groups.get(group) ?? [];
    if (all.some(({ id }) => id === layout.id)) return;
    const others = all.filter((common) => columnsIn(layout, common) === undefined);
    // Keep the largest layouts: they are most likely to have the series of other layouts.
    const largest = [...others, withoutBytes(layout)].sort((a, b) => b.seriesCount - a.seriesCount);
    this.groups.set(group, largest.slice(0, MAX_COMMON));
  }
}

/** Expresses a row's series in a larger layout. `columns` has the column of each series in that layout. */
function widen({ presence }: RowSeries, layout: PackedLayout, columns: Uint16Array): RowSeries {
  const wide = new Uint8Array(presenceBytes(layout.seriesCount));
  for (const [i, column] of columns.entries())
    if (presence === undefined || isPresent(presence, i)) wide[column >> 3]! |= 1 << (column & 7);
  return { layout, presence: wide };
}

/**
 * Returns the column in `layout` of each series of a smaller layout. Returns undefined if a series is missing or the
 * order differs, because a row's values keep their order.
 */
function columnsIn(layout: PackedLayout, other: PackedLayout): Uint16Array | undefined {
  if (other.seriesCount >= layout.seriesCount) return undefined;
  const ofPart = columnsOfPart(bytesOfPacked(layout), bytesOfPacked(other));
  if (ofPart !== 'unlike') return ofPart;
  const { columns } = openLayout(layout.id, layout.packed);
  const found = new Uint16Array(other.seriesCount);
  let i = 0;
  let last = -1;
  for (const key of openLayout(other.id, other.packed).columns.keys()) {
    const column = columns.get(key);
    if (column === undefined || column <= last) return undefined;
    found[i++] = column;
    last = column;
  }
  return found;
}
