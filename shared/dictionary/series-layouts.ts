import { compareLabels, labelsKey } from '../model/labels';
import { cutSeries } from '../model/layout';
import { encodeLayout } from '../model/layout-bytes';
import { type PackedLayout, packLayout } from '../model/packed-layout';
import { splitIndexOf } from '../model/placement';
import { NamedSeries } from './named-series';
import type { SeriesDictionary } from './series-dictionary';

/** A layout of one group, and the series of its columns. */
export interface SeriesLayout {
  /** Index of the group among the `2 ** splitBits` groups of the split. */
  readonly splitIndex: number;
  readonly layout: PackedLayout;
  /** The number of each column's series. */
  readonly series: Int32Array;
}

/**
 * Makes layouts of series: one for each group of the split, or several for a group whose series exceed the bounds of a
 * layout.
 *
 * @param series numbers of distinct series, in any order
 * @param splitBits the series are split by hash into `2 ** splitBits` groups
 */
export function layoutsOf(
  dictionary: SeriesDictionary,
  series: Int32Array,
  splitBits: number,
): SeriesLayout[] {
  const named = splitBits > 0 ? undefined : dictionary.tables(NamedSeries).layoutOf(series);
  if (named !== undefined) return [{ splitIndex: 0, ...named }];
  const ordered = Array.from(series, (each) => ({ series: each, labels: dictionary.labelsOf(each) }));
  ordered.sort((a, b) => compareLabels(a.labels, b.labels));
  const bySplit =
    splitBits === 0
      ? new Map([[0, ordered]])
      : Map.groupBy(ordered, ({ labels }) => splitIndexOf(labelsKey(labels), splitBits));
  return Array.from(bySplit).flatMap(([splitIndex, own]) =>
    // Many series may hash into the same group by chance. Divide them further, into layouts within the bounds.
    cutSeries(own, ({ series }) => dictionary.keyBytesOf(series)).map((part) => ({
      splitIndex,
      layout: packLayout(encodeLayout(part)),
      series: Int32Array.from(part, ({ series }) => series),
    })),
  );
}
