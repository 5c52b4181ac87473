import { compareLabels, type Labels, labelsKey } from '../model/labels';
import { cutSeries } from '../model/layout';
import { type PackedLayout, packSeries } from '../model/packed-layout';
import { splitIndexOf } from '../model/placement';
import { NamedSeries } from './named-series';
import type { SeriesDictionary } from './series-dictionary';

/** A layout, and the series of each of its columns. */
export interface SeriesLayout {
  readonly splitIndex: number;
  readonly layout: PackedLayout;
  readonly series: Int32Array;
}

/** Makes layouts of series, one for each group of the split. @param series distinct, in any order */
export function layoutsOf(
  dictionary: SeriesDictionary,
  series: Int32Array,
  splitBits: number,
): SeriesLayout[] {
  const named = splitBits > 0 ? undefined : dictionary.tables(NamedSeries).layoutOf(series);
  if (named !== undefined) return [{ splitIndex: 0, ...named }];
  const ordered = inOrder(Array.from(series, (each) => labelledOf(dictionary, each)));
  const bySplit =
    splitBits === 0
      ? new Map([[0, ordered]])
      : Map.groupBy(ordered, ({ labels }) => splitIndexOf(labelsKey(labels), splitBits));
  return Array.from(bySplit).flatMap(([splitIndex, own]) =>
    // Divide further: series that hash into one group may exceed the bounds of a layout.
    cutSeries(own, ({ keyBytes }) => keyBytes).map((part) => ({
      splitIndex,
      layout: packSeries(part),
      series: Int32Array.from(part, ({ series }) => series),
    })),
  );
}

interface LabelledSeries {
  readonly series: number;
  readonly labels: Labels;
  readonly keyBytes: number;
}

function labelledOf(dictionary: SeriesDictionary, series: number): LabelledSeries {
  return { series, labels: dictionary.labelsOf(series), keyBytes: dictionary.keyBytesOf(series) };
}

/**
 * For each row length, the order into which the last row of this length was sorted. Targets of a fleet mostly
 * have the same order.
 */
const orders = new Map<number, Uint16Array>();
/** These bounds limit the orders' memory to 8 MB. */
const MAX_ORDERS = 1_024;
const MAX_ORDERED = 4_096;

/** Sorts series by {@link compareLabels}. First tries the order of the last row of the same length. */
function inOrder(all: readonly LabelledSeries[]): LabelledSeries[] {
  const order = orders.get(all.length);
  const guessed = order === undefined ? [] : Array.from(order, (at) => all[at]!);
  if (guessed.length > 0 && isOrdered(guessed)) return guessed;
  // Sort a plain array: its sort, unlike that of a typed array, is fast on ordered runs, such as those from
  // old unions.
  const at = Array.from(all, (_, i) => i).sort((a, b) => compareLabels(all[a]!.labels, all[b]!.labels));
  if (orders.size === MAX_ORDERS) orders.clear();
  if (at.length <= MAX_ORDERED) orders.set(at.length, Uint16Array.from(at));
  return Array.from(at, (each) => all[each]!);
}

function isOrdered(all: readonly LabelledSeries[]): boolean {
  for (let i = 1; i < all.length; i++)
    if (compareLabels(all[i - 1]!.labels, all[i]!.labels) > 0) return false;
  return true;
}
