import { crc32, constants as zlib, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { ByteReader, ByteWriter } from '../model/bytes';
import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import { DAY_MS } from '../model/duration';
import type { Id } from '../model/id';
import { labelValue, METRIC_NAME } from '../model/labels';
import { decodeLayout, type Layout } from '../model/layout';
import { packLayout, unpackLayout } from '../model/packed-layout';
import type { GroupId } from '../model/placement';
import { type ByteRange, CorruptArchiveError, type ObjectBytes } from './archive-format';
import {
  columnOf,
  encodeFooter,
  encodeOffsetIndex,
  encodeRowGroup,
  type PlacedPage,
  ROLLUP_COLUMNS,
  VALUE_ENCODINGS,
  type WrittenColumn,
} from './parquet-footer';
import { headerBytes, otherLabels, PARQUET_MAGIC, slices, timestampBounds } from './parquet-format';
import { decodeValues, encodeTimestamps, encodeValues, type Page, TextColumn } from './parquet-pages';
import {
  EXTRA_VALUES,
  eachValue,
  type GrainTimes,
  NO_GRAINS,
  ROLLED_COLUMNS,
  type RolledColumn,
  type RolledGroup,
  type RolledSeries,
  type RolledValue,
  storedExtras,
} from './rollup-grains';

/**
 * Rollup objects: Apache Parquet files with one row for each minute, hour or day in which a series has
 * samples. FORMAT.md describes the bytes.
 */

/** A group's part of an object, as the directory of rollups lists it. */
export interface ListedRollup {
  readonly group: GroupId;
  readonly layout: Id;
  readonly layoutRange: ByteRange;
  /**
   * Where the pages of each column begin. A column has a page for each series with grains, in the layout's order.
   * An extra column has pages only for the series that store a value of it.
   */
  readonly offsets: Readonly<Record<RolledColumn, number>>;
  /** The times of each series' grains, and the sizes of its pages: see {@link encodeDirectory}. */
  readonly directory: Uint8Array;
  /** The archived states of the span's days: see {@link RolledDays}. */
  readonly days: Buffer;
  /** The deletions that were applied: see {@link deletionsKey}. */
  readonly deletions: string;
}

/** A rolled-up group, with the days and deletions from which it was made. */
export interface MadeGroup extends RolledGroup {
  readonly days: Buffer;
  readonly deletions: string;
}

const TRAILER_MAGIC = Buffer.from('HTSDROL1');
const TRAILER_BYTES = 24;
/** A row group ends after the group with which it reaches this number of rows. */
const ROW_GROUP_ROWS = 128 * 1024;
const MAX_INDEX_BYTES = 256 * 1024 * 1024;

interface GroupDirectory {
  /** The times of each series' grains. Series with equal times share one object. */
  readonly timelines: readonly GrainTimes[];
  /** Sizes of the pages of each series, in bytes; 0 without a page. */
  readonly pageBytes: readonly Readonly<Record<RolledColumn, number>>[];
}

/** The pages of a series. */
type SeriesPages = Readonly<Partial<Record<RolledColumn, Page>>>;

interface AddedGroup extends MadeGroup {
  readonly group: GroupId;
  readonly pages: readonly SeriesPages[];
}

/** Writes an object into memory. */
export class RollupWriter {
  private readonly parts: Uint8Array[] = [PARQUET_MAGIC];
  private readonly rowGroups: Uint8Array[] = [];
  private readonly listed: ListedRollup[] = [];
  private readonly layouts = new Map<Id, ByteRange>();
  private added: AddedGroup[] = [];
  private addedRows = 0;
  private rows = 0;
  private end = PARQUET_MAGIC.length;

  /** @param grainMs length of the grains: a minute, an hour or a day */
  constructor(private readonly grainMs: number) {}

  /** Approximate number of bytes written so far. */
  get byteLength(): number {
    return this.end;
  }

  /** Adds a group. Groups must be added in ascending order, each once, and have at least one grain. */
  addGroup(group: GroupId, made: MadeGroup): void {
    const { series } = made;
    const pages = series.map(({ starts, values, extras }): SeriesPages => {
      if (starts.length === 0) return {};
      const encoded: Partial<Record<RolledColumn, Page>> = eachValue((name) => encodeValues(values[name]));
      for (const name of EXTRA_VALUES) {
        const stored = extras[name];
        if (stored !== undefined) encoded[name] = encodeValues(stored);
      }
      return encoded;
    });
    this.added.push({ ...made, group, pages });
    this.addedRows += series.reduce((sum, { starts }) => sum + starts.length, 0);
    if (this.addedRows >= ROW_GROUP_ROWS) this.endRowGroup();
  }

  finish(): { readonly bytes: Buffer; readonly listed: readonly ListedRollup[] } {
    this.endRowGroup();
    const packed = zstdCompressSync(
      Buffer.from(
        JSON.stringify(
          this.listed.map((each) => ({
            ...each,
            directory: Buffer.from(each.directory).toString('base64'),
            days: each.days.toString('base64'),
          })),
        ),
      ),
      { params: { [zlib.ZSTD_c_compressionLevel]: 3 } },
    );
    const index = this.place(packed);
    const trailer = Buffer.alloc(TRAILER_BYTES);
    TRAILER_MAGIC.copy(trailer);
    trailer.writeBigUInt64LE(BigInt(index.offset), 8);
    trailer.writeUInt32LE(index.length, 16);
    trailer.writeUInt32LE(crc32(packed), 20);
    const footer = encodeFooter(ROLLUP_COLUMNS, this.rows, this.rowGroups, {
      heterotsdb: JSON.stringify({ grainMs: this.grainMs, index }),
    });
    const length = Buffer.alloc(4);
    length.writeUInt32LE(footer.length);
    for (const part of [trailer, footer, length, PARQUET_MAGIC]) this.place(part);
    return { bytes: Buffer.concat(this.parts), listed: this.listed };
  }

  private endRowGroup(): void {
    const { added } = this;
    if (added.length === 0) return;
    const firstPart = this.parts.length;
    const rows = this.addedRows;
    this.added = [];
    this.addedRows = 0;
    const offsets = new Map(added.map(({ group }) => [group, eachColumn(() => 0)]));
    const valueColumns = eachValue((name) => this.placeValues(name, rows, added, offsets));
    for (const name of EXTRA_VALUES) this.placePages(name, added, offsets);

    const texts = { name: new TextColumn(), host: new TextColumn(), labels: new TextColumn() };
    const starts = new Float64Array(rows);
    const counts = new Float64Array(rows);
    let at = 0;
    for (const { layout, series } of added)
      for (const [i, rolled] of series.entries()) {
        const { length } = rolled.starts;
        const labels = layout.series[i]!;
        texts.name.add(labelValue(labels, METRIC_NAME) ?? '', length);
        texts.host.add(labelValue(labels, 'host') ?? '', length);
        texts.labels.add(otherLabels(labels), length);
        starts.set(rolled.starts, at);
        counts.set(rolled.counts, at);
        at += length;
      }
    const column = (pages: readonly Page[], bounds?: WrittenColumn['bounds']): WrittenColumn => {
      const { offset } = this.place(Buffer.concat(pages.map(({ bytes }) => bytes)));
      return { ...columnOf(offset, pages), ...(bounds && { bounds }) };
    };
    this.rowGroups.push(
      encodeRowGroup(ROLLUP_COLUMNS, rows, {
        name: column(texts.name.finish(), texts.name.bounds()),
        host: column(texts.host.finish(), texts.host.bounds()),
        labels: column(texts.labels.finish(), texts.labels.bounds()),
        timestamp: column([encodeTimestamps(starts, true)], timestampBounds(starts)),
        count: column([encodeTimestamps(counts, true)]),
        ...valueColumns,
      }),
    );
    this.rows += rows;
    for (const { group, layout, series, pages, days, deletions } of added) {
      const layoutRange = this.layouts.get(layout.id) ?? this.place(packLayout(layout.bytes).packed);
      this.layouts.set(layout.id, layoutRange);
      const directory = encodeDirectory(series, pages, this.grainMs);
      this.listed.push({
        group,
        layout: layout.id,
        layoutRange,
        offsets: offsets.get(group)!,
        directory,
        days,
        deletions,
      });
    }
    // Copy the pages into one buffer: each page keeps alive the buffer in which it was allocated, seven times
    // its size.
    this.parts.push(Buffer.concat(this.parts.splice(firstPart)));
  }

  /** Writes a column of the Parquet file. */
  private placeValues(
    name: RolledValue,
    rows: number,
    added: readonly AddedGroup[],
    offsets: ReadonlyMap<GroupId, Record<RolledColumn, number>>,
  ): WrittenColumn {
    const offset = this.end;
    const placed = this.placePages(name, added, offsets);
    const length = this.end - offset;
    const offsetIndex = this.place(encodeOffsetIndex(placed));
    const uncompressedBytes = 8 * rows + headerBytes(placed);
    return { offset, length, encodings: VALUE_ENCODINGS, uncompressedBytes, offsetIndex };
  }

  /** Writes the pages of a column, ordered by group, and notes where each group's pages begin. */
  private placePages(
    name: RolledColumn,
    added: readonly AddedGroup[],
    offsets: ReadonlyMap<GroupId, Record<RolledColumn, number>>,
  ): PlacedPage[] {
    const placed: PlacedPage[] = [];
    let firstRow = 0;
    for (const { group, series, pages } of added) {
      offsets.get(group)![name] = this.end;
      for (const [i, page] of pages.entries()) {
        const own = page[name];
        if (own !== undefined) placed.push({ ...this.place(own.bytes), firstRow });
        firstRow += series[i]!.starts.length;
      }
    }
    return placed;
  }

  private place(bytes: Uint8Array): ByteRange {
    this.parts.push(bytes);
    const offset = this.end;
    this.end += bytes.length;
    return { offset, length: bytes.length };
  }
}

function eachColumn<T>(of: (name: RolledColumn) => T): Record<RolledColumn, T> {
  return Object.fromEntries(ROLLED_COLUMNS.map((name) => [name, of(name)])) as Record<RolledColumn, T>;
}

/**
 * A directory that would exceed this size is written without the times of first and last samples, because it is
 * copied to an item of DynamoDB (`MAX_ENTRY_BYTES` in rollup-directory.ts). That happens only if many series of a
 * group were sampled at different and irregular times.
 */
const MAX_TIMES_BYTES = 32 * 1024;

/**
 * Encodes the directory of a group:
 *
 *     uvarint   length of the grains, ms
 *     uvarint   1 if timelines have the times of samples, else 0
 *     uvarint   number of timelines; each: uvarint number of runs. A run has consecutive grains with equal counts:
 *               zigzag uvarint grains since the end of the previous run, or since 1970; uvarint grains; uvarint count.
 *               With times of samples then the columns firsts, lasts, restFirsts, inexact of {@link GrainTimes}; each:
 *               uvarint number of changes; each change: uvarint grains since the previous change; zigzag uvarint
 *               difference from the value before, which is 0 at first
 *     uvarint   number of series; each: uvarint timeline; nine uvarints, the sizes of its pages in the order of
 *               {@link ROLLED_COLUMNS}, unless the timeline is empty
 *     uint32    CRC-32, little-endian
 */
function encodeDirectory(
  series: readonly RolledSeries[],
  pages: readonly SeriesPages[],
  grainMs: number,
  hasTimes = true,
): Buffer {
  const timelines = new Map<string, number>();
  const body = new ByteWriter(1024).uvarint(series.length);
  for (const [i, rolled] of series.entries()) {
    const encoded = encodeTimeline(rolled, grainMs, hasTimes).toString('latin1');
    const timeline = timelines.get(encoded) ?? timelines.size;
    timelines.set(encoded, timeline);
    body.uvarint(timeline);
    if (rolled.starts.length > 0)
      for (const name of ROLLED_COLUMNS) body.uvarint(pages[i]![name]?.bytes.length ?? 0);
  }
  const writer = new ByteWriter(1024)
    .uvarint(grainMs)
    .uvarint(hasTimes ? 1 : 0)
    .uvarint(timelines.size);
  for (const timeline of timelines.keys()) writer.bytes(Buffer.from(timeline, 'latin1'));
  writer.bytes(body.finish());
  const crc = crc32(writer.finish());
  writer.hole(4).writeUInt32LE(crc);
  const directory = writer.finish();
  return hasTimes && directory.length > MAX_TIMES_BYTES
    ? encodeDirectory(series, pages, grainMs, false)
    : directory;
}

/** The columns of {@link GrainTimes} that a directory may lack, in the order in which it stores them. */
const TIMES = ['firsts', 'lasts', 'restFirsts', 'inexact'] as const;

function encodeTimeline(times: GrainTimes, grainMs: number, hasTimes: boolean): Buffer {
  const { starts, counts } = times;
  const runs: { readonly gap: number; grains: number; readonly count: number }[] = [];
  let next = 0;
  for (let i = 0; i < starts.length; i++) {
    const grain = starts[i]! / grainMs;
    const last = runs.at(-1);
    if (last !== undefined && grain === next && last.count === counts[i]) last.grains++;
    else runs.push({ gap: grain - next, grains: 1, count: counts[i]! });
    next = grain + 1;
  }
  const writer = new ByteWriter(16).uvarint(runs.length);
  for (const { gap, grains, count } of runs) writer.uvarint(zigzag(gap)).uvarint(grains).uvarint(count);
  if (hasTimes) for (const name of TIMES) encodeChanges(writer, times[name]);
  return writer.finish();
}

function encodeChanges(writer: ByteWriter, column: Float64Array): void {
  const at: number[] = [];
  for (let i = 0; i < column.length; i++) if (column[i] !== (i === 0 ? 0 : column[i - 1])) at.push(i);
  writer.uvarint(at.length);
  for (const [n, i] of at.entries())
    writer.uvarint(i - (at[n - 1] ?? 0)).uvarint(zigzag(column[i]! - (column[i - 1] ?? 0)));
}

function zigzag(value: number): number {
  return value < 0 ? -2 * value - 1 : 2 * value;
}

function unzigzag(value: number): number {
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}

/** @throws {CorruptArchiveError} */
function decodeDirectory(bytes: Uint8Array): GroupDirectory {
  const content = bytes.subarray(0, -4);
  const crc = Buffer.from(bytes.subarray(-4));
  if (crc.length < 4 || crc.readUInt32LE() !== crc32(content))
    throw new CorruptArchiveError(`the checksum of a rollup's directory of ${bytes.length} bytes is wrong`);
  const reader = new ByteReader(content);
  const grainMs = reader.uvarint();
  const hasTimes = reader.uvarint() === 1;
  const timelines = Array.from({ length: reader.count(1) }, () => decodeTimeline(reader, grainMs, hasTimes));
  const ofSeries: GrainTimes[] = [];
  const pageBytes: Record<RolledColumn, number>[] = [];
  for (let left = reader.count(1); left > 0; left--) {
    const timeline = timelines[reader.uvarint()];
    if (timeline === undefined)
      throw new CorruptArchiveError(`series ${ofSeries.length} of a rollup has no timeline`);
    ofSeries.push(timeline);
    pageBytes.push(eachColumn(() => (timeline.starts.length === 0 ? 0 : reader.uvarint())));
  }
  return { timelines: ofSeries, pageBytes };
}

/** Most grains of a series in a span: a year has 8,784 hours. */
const MAX_GRAINS = 10_000;

function decodeTimeline(reader: ByteReader, grainMs: number, hasTimes: boolean): GrainTimes {
  const starts: number[] = [];
  const counts: number[] = [];
  let next = 0;
  for (let runs = reader.count(3); runs > 0; runs--) {
    next += unzigzag(reader.uvarint());
    const grains = reader.uvarint();
    const count = reader.uvarint();
    if (starts.length + grains > MAX_GRAINS)
      throw new CorruptArchiveError(`a rollup's series has more than ${MAX_GRAINS} grains`);
    for (let i = 0; i < grains; i++) {
      starts.push(next++ * grainMs);
      counts.push(count);
    }
  }
  const times = { starts: Float64Array.from(starts), counts: Float64Array.from(counts) };
  const column = () => (hasTimes ? decodeChanges(reader, starts.length) : new Float64Array(starts.length));
  const [firsts, lasts, restFirsts, inexact] = [column(), column(), column(), column()];
  return { ...times, firsts, lasts, restFirsts, inexact: hasTimes ? inexact : inexact.fill(1) };
}

function decodeChanges(reader: ByteReader, length: number): Float64Array {
  const column = new Float64Array(length);
  let [at, value] = [0, 0];
  for (let changes = reader.count(2); changes > 0; changes--) {
    at += reader.uvarint();
    if (at >= length) throw new CorruptArchiveError(`grain ${at} of a rollup's ${length} changes`);
    value += unzigzag(reader.uvarint());
    column.fill(value, at);
  }
  return column;
}

/** Returns the starts of the days in which a group has grains. */
export function groupDays({ directory }: Pick<ListedRollup, 'directory'>): Set<number> {
  const days = new Set<number>();
  for (const { starts } of new Set(decodeDirectory(directory).timelines))
    for (const start of starts) days.add(Math.floor(start / DAY_MS) * DAY_MS);
  return days;
}

/** Some columns of a series' grains. A column without any stored value is absent. Concurrent readers share the arrays. */
export interface ReadGrains {
  readonly times: GrainTimes;
  readonly columns: Readonly<Partial<Record<RolledColumn, Float64Array>>>;
}

/** The decoded part of a group. It grows with each read. */
interface DecodedGroup {
  readonly directory: GroupDirectory;
  /** Decoded columns, by series. */
  readonly columns: Readonly<Record<RolledColumn, Map<number, Float64Array>>>;
  bytes: number;
}

/**
 * Caches decoded rollups, enough for some months of a hundred hosts. An object's bytes never change under its
 * key and ETag, and each read learns both from the directory, so entries never become stale.
 */
const decodedGroups = new Cache<DecodedGroup>(CACHES.rollups, ({ bytes }, key) => bytes + key.length);
/** Estimated memory of a map's entry, besides the column's bytes. */
const COLUMN_BYTES = 200;

/**
 * Reads columns of some series of a group, with as few requests as possible. An instance fetches each page
 * once, as long as it is cached.
 *
 * @param object its `name` must be unique, such as its key and ETag
 * @param columnsOf returns the columns to read of series with these times; without any, only the directory is used
 * @param wanted position in the result, by labels key
 * @returns the grains of each wanted series that the group has, by position
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
  const asked = new Map<GrainTimes, readonly RolledColumn[]>();
  for (const each of found) {
    const times = timelines[each.series]!;
    if (!asked.has(times)) asked.set(times, columnsOf(times));
  }
  const missing = missingPages(listed, decoded, found, asked);
  if (missing.length > 0) {
    const pages = await slices(
      object,
      missing.map(({ page }) => page),
    );
    const columns = decodeValues(
      pages.map((page, i) => ({ page, count: timelines[missing[i]!.series]!.starts.length })),
    );
    for (const [i, column] of columns.entries()) {
      const { series, name } = missing[i]!;
      // Copy the column if it shares its buffer, so that the cache counts what it keeps alive.
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
      for (const name of asked.get(times)!)
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

/** Lists the pages that are not yet decoded, in the order in which the object has them. */
function missingPages(
  { offsets }: ListedRollup,
  { directory: { timelines, pageBytes }, columns }: DecodedGroup,
  found: readonly { readonly series: number }[],
  asked: ReadonlyMap<GrainTimes, readonly RolledColumn[]>,
): MissingPage[] {
  const missing: MissingPage[] = [];
  for (const name of new Set([...asked.values()].flat())) {
    let [series, offset] = [0, offsets[name]];
    for (const each of found) {
      while (series < each.series) offset += pageBytes[series++]![name];
      const length = pageBytes[series]![name];
      if (length > 0 && asked.get(timelines[series]!)!.includes(name) && !columns[name].has(series))
        missing.push({ series, name, page: { offset, length } });
    }
  }
  return missing.sort((a, b) => a.page.offset - b.page.offset);
}

function openGroup({ directory }: ListedRollup): DecodedGroup {
  return {
    directory: decodeDirectory(directory),
    columns: eachColumn(() => new Map()),
    // Estimate: mostly the sizes of the series' pages.
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

/** An object in memory, from which the next one copies unchanged days. */
export class OpenRollup {
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
    const { timelines, pageBytes } = decodeDirectory(listed.directory);
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
  if (bytes.length < TRAILER_BYTES + 8 || !bytes.subarray(-4).equals(PARQUET_MAGIC))
    throw corrupt('does not end as Parquet');
  const at = bytes.length - 8 - bytes.readUInt32LE(bytes.length - 8) - TRAILER_BYTES;
  if (at < 0 || !bytes.subarray(at, at + 8).equals(TRAILER_MAGIC))
    throw corrupt('Parquet, but not written by this system');
  const offset = Number(bytes.readBigUInt64LE(at + 8));
  const packed = bytes.subarray(offset, offset + bytes.readUInt32LE(at + 16));
  if (crc32(packed) !== bytes.readUInt32LE(at + 20)) throw corrupt('the checksum of its index is wrong');
  const index: (Omit<ListedRollup, 'directory' | 'days'> & Record<'directory' | 'days', string>)[] =
    JSON.parse(zstdDecompressSync(packed, { maxOutputLength: MAX_INDEX_BYTES }).toString('utf8'));
  return index.map((each) => ({
    ...each,
    directory: Buffer.from(each.directory, 'base64'),
    days: Buffer.from(each.days, 'base64'),
  }));
}
