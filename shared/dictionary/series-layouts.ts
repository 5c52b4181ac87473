import { compareLabels, type Labels, labelsKey } from '../model/labels';
import { cutSeries } from '../model/layout';
import { type PackedLayout, packSeries } from '../model/packed-layout';
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
  const ordered = inOrder(Array.from(series, (each) => labelledOf(dictionary, each)));
  const bySplit =
    splitBits === 0
      ? new Map([[0, ordered]])
      : Map.groupBy(ordered, ({ labels }) => splitIndexOf(labelsKey(labels), splitBits));
  return Array.from(bySplit).flatMap(([splitIndex, own]) =>
    // Many series may hash into the same group by chance. Divide them further, into layouts within the bounds.
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
 * For each list length, the permutation that sorted the last list of that length. Most targets of a fleet send their
 * series in the same order, so the same permutation often sorts the next list too.
 */
const orders = new Map<number, Uint16Array>();
/** Maximum number of permutations that are kept. With {@link MAX_ORDERED}, they take at most 8 MB. */
const MAX_ORDERS = 1_024;
/** Maximum number of series in a list whose permutation is kept. */
const MAX_ORDERED = 4_096;

/** Sorts series by {@link compareLabels}. Tries the permutation of the last list of the same length first. */
function inOrder(all: readonly LabelledSeries[]): LabelledSeries[] {
  const order = orders.get(all.length);
  const guessed = order === undefined ? [] : Array.from(order, (at) => all[at]!);
  if (guessed.length > 0 && isOrdered(guessed)) return guessed;
  // Sort a plain array, not a typed array. V8 sorts a plain array faster if parts of it are already in order, as the
  // series of merged unions are. Sorting a typed array would gain nothing from these parts.
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
