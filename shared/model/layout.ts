import { MalformedBytesError } from './bytes';
import { type Id, idText } from './id';
import { type Labels, labelsKey } from './labels';
import { encodeLayout, labelsInLayout, layoutIdOf } from './layout-bytes';

/**
 * An ordered list of series: the columns of a frame or chunk. Its id is the hash of its bytes
 * (layout-bytes.ts), which are canonical.
 */
export interface Layout {
  readonly id: Id;
  /** The id's 16 bytes, as stored in frames and chunks. */
  readonly idBytes: Uint8Array;
  readonly bytes: Uint8Array;
  readonly series: readonly Labels[];
  /** The column of a series, by {@link labelsKey}. */
  readonly columns: ReadonlyMap<string, number>;
}

/**
 * Most bytes, uncompressed, of a layout that is a union of others. An item of the catalogue can hold it even
 * if it does not compress. Layouts of rows are much smaller, since the names in a group are bounded in number
 * and length.
 */
export const MAX_UNION_BYTES = 256 * 1024;

/** Most series, and most {@link labelsKey} bytes, of a row's layout: see {@link cutSeries}. */
const MAX_ROW_SERIES = 1024;

const MAX_ROW_KEY_BYTES = 192 * 1024;

/** A series with its {@link labelsKey}, by which layouts sort their series. */
export interface KeyedLabels {
  readonly labels: Labels;
  readonly key: string;
}

/** Makes the layout of at least one series. They must be distinct. */
export function layoutOf(series: Iterable<Labels>): Layout {
  const keyed = Array.from(series, (labels) => ({ labels, key: labelsKey(labels) })).sort(byKey);
  return assemble(
    encodeLayout(keyed),
    keyed.map(({ labels }) => labels),
    keyed.map(({ key }) => key),
  );
}

/**
 * Makes a layout whose id is known. Its other properties are computed when they are first used, since most
 * reads of many sources need only the id.
 *
 * @param seriesOf returns the layout's series, in order
 */
export function lazyLayout(id: Id, seriesOf: () => readonly Labels[]): Layout {
  let idBytes: Buffer | undefined;
  let series: readonly Labels[] | undefined;
  let columns: ReadonlyMap<string, number> | undefined;
  return {
    id,
    get idBytes() {
      idBytes ??= Buffer.from(id, 'base64url');
      return idBytes;
    },
    get bytes() {
      return encodeLayout(this.series.map((labels) => ({ labels })));
    },
    get series() {
      series ??= seriesOf();
      return series;
    },
    get columns() {
      columns ??= new Map(this.series.map((labels, i) => [labelsKey(labels), i]));
      return columns;
    },
  };
}

export function byKey(a: Pick<KeyedLabels, 'key'>, b: Pick<KeyedLabels, 'key'>): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}

/**
 * Divides a row's series into parts that are small enough for a layout, a script call and a record. Nearly
 * every row is one part, because the split of a source keeps groups at 256 series and 128 KB on average.
 *
 * @param keyBytesOf returns the bytes of a series' {@link labelsKey}
 */
export function cutSeries<Series>(
  ordered: readonly Series[],
  keyBytesOf: (series: Series) => number,
): Series[][] {
  const parts: Series[][] = [];
  let part: Series[] = [];
  let bytes = 0;
  for (const series of ordered) {
    const seriesBytes = keyBytesOf(series);
    if (part.length === MAX_ROW_SERIES || (part.length > 0 && bytes + seriesBytes > MAX_ROW_KEY_BYTES)) {
      parts.push(part);
      part = [];
      bytes = 0;
    }
    part.push(series);
    bytes += seriesBytes;
  }
  if (part.length > 0) parts.push(part);
  return parts;
}

/**
 * Reads a layout's bytes.
 *
 * @throws {MalformedBytesError} when they are not a layout
 */
export function decodeLayout(bytes: Uint8Array): Layout {
  const series = labelsInLayout(bytes);
  return assemble(bytes, series, series.map(labelsKey));
}

/** Returns each series' column in `to`, for the series of `from`. @throws {RangeError} when `to` lacks one */
export function positionsIn(from: Layout, to: Layout): Uint32Array {
  return Uint32Array.from(from.columns.keys(), (key) => {
    const column = to.columns.get(key);
    if (column === undefined) throw new RangeError(`layout ${to.id} has no series ${key}`);
    return column;
  });
}

/** Returns the layout of all series of `layouts`. */
export function unionLayout(layouts: readonly Layout[]): Layout {
  const distinct = [...new Map(layouts.map((layout) => [layout.id, layout])).values()];
  const only = distinct[0];
  if (distinct.length === 1 && only !== undefined) return only;
  const series = new Map<string, Labels>();
  for (const layout of distinct) {
    let i = 0;
    for (const key of layout.columns.keys()) series.set(key, layout.series[i++]!);
  }
  return layoutOf(series.values());
}

/** Estimates the memory of a decoded layout, for the budgets of caches. */
export function decodedBytes({ series, columns }: Layout): number {
  let bytes = 500 * series.length;
  for (const key of columns.keys()) bytes += key.length;
  return bytes;
}

function assemble(bytes: Uint8Array, series: readonly Labels[], keys: readonly string[]): Layout {
  const columns = new Map(keys.map((key, i) => [key, i]));
  if (columns.size !== keys.length) throw new MalformedBytesError('the layout names a series twice');
  const id = layoutIdOf(bytes);
  return { id: idText(id), idBytes: id, bytes, series, columns };
}
