import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import type { Id } from '../model/id';
import { decodeLayout, type Layout } from '../model/layout';
import { unpackLayout } from '../model/packed-layout';
import type { GroupId } from '../model/placement';
import { type ByteRange, CorruptArchiveError, type ObjectBytes } from './archive-format';
import { fetchMerged } from './merged-ranges';
import { decodeValues } from './parquet-pages';
import { PARQUET_MAGIC, unpack } from './parquet-trailer';
import {
  decodeGroupDirectory,
  eachColumn,
  type GroupDirectory,
  type ListedRollup,
  type MadeGroup,
  type ReadGrains,
  ROLLUP_MAGIC,
  ROLLUP_TRAILER_BYTES,
} from './rollup-format';
import {
  eachValue,
  type GrainTimes,
  NO_GRAINS,
  type RolledColumn,
  type RolledSeries,
  storedExtras,
} from './rollup-grains';

/** The parts of a group that have been decoded so far. Each read may add more. */
interface DecodedGroup {
  readonly directory: GroupDirectory;
  /** Decoded columns, by series. */
  readonly columns: Readonly<Record<RolledColumn, Map<number, Float64Array>>>;
  bytes: number;
}

/**
 * Caches decoded rollups. It has room for a few months of a hundred hosts. Entries never become stale: each cache key
 * contains an object's key and ETag, which every read gets from the directory. The bytes of an object with a given key
 * and ETag never change.
 */
const decodedGroups = new Cache<DecodedGroup>(CACHES.rollups, ({ bytes }, key) => bytes + key.length);
/** Estimated memory of a cached column, in bytes, not counting its values. */
const COLUMN_BYTES = 200;

/**
 * Reads columns of some series of a group, with as few requests as possible. An instance does not fetch a page again
 * while the page is cached.
 *
 * @param object its `name` must be unique, such as its key and ETag
 * @param columnsOf returns the columns to read for series with these times. If it returns none, only the directory is
 *   used
 * @param wanted position in the result, by labels key
 * @returns the grains of each wanted series that the group contains, by position
 * @throws {CorruptArchiveError}
 */
export async function readRollup(
  object: Pick<ObjectBytes, 'slice'> & { readonly name: string },
  listed: ListedRollup,
  layouts: ReadonlyMap<Id, Layout>,
  wanted: ReadonlyMap<string, number>,
  columnsOf: (times: GrainTimes) => readonly RolledColumn[],
): Promise<Map<number, ReadGrains>> {
  const name = `${object.name} ${listed.group}`;
  const decoded = decodedGroups.get(name) ?? openGroup(listed);
  const { timelines, pageBytes } = decoded.directory;
  const layout = layouts.get(listed.layout) ?? (await readLayout(object, listed));
  const found: { readonly position: number; readonly series: number }[] = [];
  let series = 0;
  for (const key of layout.columns.keys()) {
    const position = wanted.get(key);
    if (position !== undefined && timelines[series]!.starts.length > 0) found.push({ position, series });
    series++;
  }
  const columnsByTimes = new Map<GrainTimes, readonly RolledColumn[]>();
  for (const each of found) {
    const times = timelines[each.series]!;
    if (!columnsByTimes.has(times)) columnsByTimes.set(times, columnsOf(times));
  }
  const missing = missingPages(listed, decoded, found, columnsByTimes);
  if (missing.length > 0) {
    const pages = await fetchMerged(
      missing.map(({ page }) => page),
      (range) => object.slice(range),
    );
    const columns = decodeValues(
      pages.map((page, i) => ({ page, count: timelines[missing[i]!.series]!.starts.length })),
    );
    for (const [i, column] of columns.entries()) {
      const { series, name } = missing[i]!;
      // Copy a column that is a view of a larger buffer. Otherwise the cache would keep the whole buffer alive, but
      // count only the column.
      const own = column.byteLength < column.buffer.byteLength ? column.slice() : column;
      decoded.columns[name].set(series, own);
      decoded.bytes += column.byteLength + COLUMN_BYTES;
    }
    decodedGroups.set(name, decoded);
  }
  return new Map(
    found.map(({ position, series }) => {
      const times = timelines[series]!;
      const columns: Partial<Record<RolledColumn, Float64Array>> = {};
      for (const name of columnsByTimes.get(times)!)
        if (pageBytes[series]![name] > 0) columns[name] = decoded.columns[name].get(series)!;
      return [position, { times, columns }];
    }),
  );
}

interface MissingPage {
  readonly series: number;
  readonly name: RolledColumn;
  readonly page: ByteRange;
}

/** Lists the pages that are not decoded yet, in the object's order. */
function missingPages(
  { offsets }: ListedRollup,
  { directory: { timelines, pageBytes }, columns }: DecodedGroup,
  found: readonly { readonly series: number }[],
  columnsByTimes: ReadonlyMap<GrainTimes, readonly RolledColumn[]>,
): MissingPage[] {
  const missing: MissingPage[] = [];
  for (const name of new Set([...columnsByTimes.values()].flat())) {
    let [series, offset] = [0, offsets[name]];
    for (const each of found) {
      while (series < each.series) offset += pageBytes[series++]![name];
      const length = pageBytes[series]![name];
      if (length > 0 && columnsByTimes.get(timelines[series]!)!.includes(name) && !columns[name].has(series))
        missing.push({ series, name, page: { offset, length } });
    }
  }
  return missing.sort((a, b) => a.page.offset - b.page.offset);
}

function openGroup({ directory }: ListedRollup): DecodedGroup {
  return {
    directory: decodeGroupDirectory(directory),
    columns: eachColumn(() => new Map()),
    // An estimate; most of the memory is taken by the page sizes of each series.
    bytes: 20 * directory.length,
  };
}

async function readLayout(
  { slice }: Pick<ObjectBytes, 'slice'>,
  { layout: id, layoutRange }: ListedRollup,
): Promise<Layout> {
  const layout = decodeLayout(unpackLayout(await slice(layoutRange)));
  if (layout.id !== id) throw new CorruptArchiveError(`layout ${id} of a rollup has the id ${layout.id}`);
  return layout;
}

/**
 * A rollup object held in memory. When the archiver replaces an object, it copies unchanged groups and days from the
 * old object.
 */
export class RollupObject {
  private readonly groups: ReadonlyMap<GroupId, ListedRollup>;

  /** @throws {CorruptArchiveError} when the bytes are not a complete object of this format */
  constructor(private readonly bytes: Buffer) {
    this.groups = new Map(indexOf(bytes).map((listed) => [listed.group, listed]));
  }

  get groupIds(): GroupId[] {
    return [...this.groups.keys()];
  }

  /** @throws {CorruptArchiveError} */
  async group(group: GroupId): Promise<MadeGroup | undefined> {
    const listed = this.groups.get(group);
    if (listed === undefined) return undefined;
    const slice = async ({ offset, length }: ByteRange) => this.bytes.subarray(offset, offset + length);
    const layout = await readLayout({ slice }, listed);
    const { timelines, pageBytes } = decodeGroupDirectory(listed.directory);
    const at: Record<RolledColumn, number> = { ...listed.offsets };
    const series = timelines.map((times, i): RolledSeries => {
      const count = times.starts.length;
      if (count === 0) return NO_GRAINS;
      const column = (name: RolledColumn) => {
        const offset = at[name];
        at[name] += pageBytes[i]![name];
        return decodeValues([{ page: this.bytes.subarray(offset, at[name]), count }])[0]!;
      };
      const values = eachValue(column);
      const extras = storedExtras((name) => (pageBytes[i]![name] === 0 ? undefined : column(name)));
      return { ...times, values, extras };
    });
    return { layout, series, days: listed.days, deletions: listed.deletions };
  }
}

function indexOf(bytes: Buffer): ListedRollup[] {
  const corrupt = (what: string) => new CorruptArchiveError(`a rollup of ${bytes.length} bytes: ${what}`);
  if (bytes.length < ROLLUP_TRAILER_BYTES + 8 || !bytes.subarray(-4).equals(PARQUET_MAGIC))
    throw corrupt('does not end as Parquet');
  const at = bytes.length - 8 - bytes.readUInt32LE(bytes.length - 8) - ROLLUP_TRAILER_BYTES;
  if (at < 0 || !bytes.subarray(at, at + 8).equals(ROLLUP_MAGIC))
    throw corrupt('Parquet, but not written by this system');
  const offset = Number(bytes.readBigUInt64LE(at + 8));
  const packed = bytes.subarray(offset, offset + bytes.readUInt32LE(at + 16));
  const index = unpack<(Omit<ListedRollup, 'directory' | 'days'> & Record<'directory' | 'days', string>)[]>(
    packed,
    bytes.readUInt32LE(at + 20),
  );
  return index.map((each) => ({
    ...each,
    directory: Buffer.from(each.directory, 'base64'),
    days: Buffer.from(each.days, 'base64'),
  }));
}
