import { MalformedBytesError } from './bytes';
import { type Id, idText } from './id';
import { type Labels, labelsKey } from './labels';
import { encodeLayout, labelsInLayout, layoutIdOf } from './layout-bytes';

/**
 * A layout: the ordered list of series for which a frame or chunk has columns. Its id is the hash of its bytes
 * (layout-bytes.ts). Equal lists have equal bytes.
 */
export interface Layout {
  readonly id: Id;
  /** The id's 16 bytes, as stored in frames and chunks. */
  readonly idBytes: Uint8Array;
  readonly bytes: Uint8Array;
  readonly series: readonly Labels[];
  /** The column of each series, by its {@link labelsKey}. */
  readonly columns: ReadonlyMap<string, number>;
}

/**
 * Maximum uncompressed size of a layout that is merged from several, in bytes. A layout of this size fits into an item
 * of the catalogue even if it does not compress. Layouts of rows are much smaller.
 */
export const MAX_MERGED_BYTES = 256 * 1024;

/** Maximum number of series in a row's layout. */
const MAX_ROW_SERIES = 1024;
/** Maximum total size of the {@link labelsKey}s of a row's layout, in bytes. */
const MAX_ROW_KEY_BYTES = 192 * 1024;

/** A series with its {@link labelsKey}, by which layouts are sorted. */
export interface KeyedLabels {
  readonly labels: Labels;
  readonly key: string;
}

/** Makes the layout of distinct series, at least one. */
export function layoutOf(series: Iterable<Labels>): Layout {
  const keyed = Array.from(series, (labels) => ({ labels, key: labelsKey(labels) })).sort(byKey);
  return assemble(
    encodeLayout(keyed),
    keyed.map(({ labels }) => labels),
    keyed.map(({ key }) => key),
  );
}

/**
 * Makes a layout whose id is known. Its other properties are computed when they are first used, because most reads
 * of many sources need only the id.
 *
 * @param seriesOf returns the series of the layout, in order
 */
export function lazyLayout(id: Id, seriesOf: () => readonly Labels[]): Layout {
  return new LazyLayout(id, seriesOf);
}

class LazyLayout implements Layout {
  private ownBytes: Buffer | undefined;
  private ownSeries: readonly Labels[] | undefined;
  private ownColumns: ReadonlyMap<string, number> | undefined;

  constructor(
    readonly id: Id,
    private readonly seriesOf: () => readonly Labels[],
  ) {}

  get idBytes() {
    this.ownBytes ??= Buffer.from(this.id, 'base64url');
    return this.ownBytes;
  }

  get bytes() {
    return encodeLayout(this.series.map((labels) => ({ labels })));
  }

  get series() {
    this.ownSeries ??= this.seriesOf();
    return this.ownSeries;
  }

  get columns() {
    this.ownColumns ??= new Map(this.series.map((labels, i) => [labelsKey(labels), i]));
    return this.ownColumns;
  }
}

/** Compares two series in the order of layouts. */
export function byKey(a: Pick<KeyedLabels, 'key'>, b: Pick<KeyedLabels, 'key'>): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}

/**
 * Divides the series of a row into parts, each small enough to fit into a layout, a script call and a record. Nearly
 * every row is one part, because large sources are split into groups of about 256 series and 128 KB.
 *
 * @param ordered sorted as in a layout
 * @param keyBytesOf returns the size of a series' {@link labelsKey}, in bytes
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
 * Decodes the bytes of a layout.
 *
 * @throws {MalformedBytesError} when they are not a layout
 */
export function decodeLayout(bytes: Uint8Array): Layout {
  const series = labelsInLayout(bytes);
  return assemble(bytes, series, series.map(labelsKey));
}

/**
 * Returns the column in `to` of each series of `from`.
 *
 * @throws {RangeError} when `to` lacks one of these series
 */
export function positionsIn(from: Layout, to: Layout): Uint32Array {
  return Uint32Array.from(from.columns.keys(), (key) => {
    const column = to.columns.get(key);
    if (column === undefined) throw new RangeError(`layout ${to.id} has no series ${key}`);
    return column;
  });
}

/** Merges layouts into the layout of all their series. */
export function mergeLayouts(layouts: readonly Layout[]): Layout {
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

/** Estimates the memory of a decoded layout, in bytes, for budgets of caches. */
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
