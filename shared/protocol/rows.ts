import type { Labels, NamedSeries } from '../model/labels';
import type { SourcePoints } from './mackerel/points';

/** Which series a row has values of. */
export interface Columns {
  /** Equal, within a source, exactly when the series are. */
  readonly key: string;
  /** In the order of the values. One may be there twice: its last value wins. */
  series(): readonly NamedSeries[];
}

/** What a source posted at one time. No two rows of a source and timestamp have a series in common. */
export interface SourceRow {
  /** ms since epoch. */
  readonly timestamp: number;
  readonly columns: Columns;
  readonly values: ArrayLike<number>;
}

/** Rows of points that name their metric. */
export function rowsOfPoints(source: Labels, points: SourcePoints): SourceRow[] {
  return Array.from(points, ([timestamp, byName]) => {
    const names = [...byName.keys()];
    return {
      timestamp,
      // No name has a space.
      columns: { key: names.join(' '), series: () => [{ labels: source, names }] },
      values: [...byName.values()],
    };
  });
}
