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
  eachValue,
  NO_GRAINS,
  ROLLED_VALUES,
  type RolledGroup,
  type RolledSeries,
  type RolledValue,
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
   * Where the pages of each column begin. There is a page for each series with grains, in the layout's order.
   */
  readonly offsets: Readonly<Record<RolledValue, number>>;
  /** The grains of each series, their counts, and the sizes of its pages: see {@link encodeDirectory}. */
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

/** Starts and counts of grains. Series with equal timelines share one. */
interface Timeline {
  readonly starts: Float64Array;
  readonly counts: Float64Array;
}

interface GroupDirectory {
  /** The timeline of each series. */
  readonly timelines: readonly Timeline[];
  /** Sizes of the pages of each series, in bytes. */
  readonly pageBytes: readonly Readonly<Record<RolledValue, number>>[];
}

interface AddedGroup extends MadeGroup {
  readonly group: GroupId;
  readonly pages: readonly (Readonly<Record<RolledValue, Page>> | undefined)[];
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
    const pages = series.map(({ starts, values }) =>
      starts.length === 0 ? undefined : eachValue((name) => encodeValues(values[name])),
    );
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
      heterotsdb: JSON.stringify({ unitMs: this.grainMs, index }),
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
    const offsets = new Map(added.map(({ group }) => [group, eachValue(() => 0)]));
    const valueColumns = eachValue((name) => this.placeValues(name, rows, added, offsets));

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

  /** Writes the pages of a column, ordered by group. */
  private placeValues(
    name: RolledValue,
    rows: number,
    added: readonly AddedGroup[],
    offsets: ReadonlyMap<GroupId, Record<RolledValue, number>>,
  ): WrittenColumn {
    const offset = this.end;
    const placed: PlacedPage[] = [];
    let firstRow = 0;
    for (const { group, series, pages } of added) {
      offsets.get(group)![name] = this.end;
      for (const [i, page] of pages.entries()) {
        if (page === undefined) continue;
        placed.push({ ...this.place(page[name].bytes), firstRow });
        firstRow += series[i]!.starts.length;
      }
    }
    const length = this.end - offset;
    const offsetIndex = this.place(encodeOffsetIndex(placed));
    const uncompressedBytes = 8 * rows + headerBytes(placed);
    return { offset, length, encodings: VALUE_ENCODINGS, uncompressedBytes, offsetIndex };
  }

  private place(bytes: Uint8Array): ByteRange {
    this.parts.push(bytes);
    const offset = this.end;
    this.end += bytes.length;
    return { offset, length: bytes.length };
  }
}

/**
 * Encodes the directory of a group:
 *
 *     uvarint   length of the grains, ms
 *     uvarint   number of timelines; each: uvarint number of runs. A run has consecutive grains with equal counts:
 *               zigzag uvarint grains since the end of the previous run, or since 1970; uvarint grains; uvarint count
 *     uvarint   number of series; each: uvarint timeline; five uvarints, the sizes of its pages, unless the timeline is empty
 *     uint32    CRC-32, little-endian
 */
function encodeDirectory(
  series: readonly RolledSeries[],
  pages: readonly (Readonly<Record<RolledValue, Page>> | undefined)[],
  grainMs: number,
): Buffer {
  const timelines = new Map<string, number>();
  const body = new ByteWriter(1024).uvarint(series.length);
  for (const [i, rolled] of series.entries()) {
    const runs = encodeRuns(rolled, grainMs).toString('latin1');
    const timeline = timelines.get(runs) ?? timelines.size;
    timelines.set(runs, timeline);
    body.uvarint(timeline);
    const own = pages[i];
    if (own !== undefined) for (const name of ROLLED_VALUES) body.uvarint(own[name].bytes.length);
  }
  const writer = new ByteWriter(1024).uvarint(grainMs).uvarint(timelines.size);
  for (const runs of timelines.keys()) writer.bytes(Buffer.from(runs, 'latin1'));
  writer.bytes(body.finish());
  const crc = crc32(writer.finish());
  writer.hole(4).writeUInt32LE(crc);
  return writer.finish();
}

function encodeRuns({ starts, counts }: RolledSeries, grainMs: number): Buffer {
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
  for (const { gap, grains, count } of runs)
    writer
      .uvarint(gap < 0 ? -2 * gap - 1 : 2 * gap)
      .uvarint(grains)
      .uvarint(count);
  return writer.finish();
}

/** @throws {CorruptArchiveError} */
function decodeDirectory(bytes: Uint8Array): GroupDirectory {
  const content = bytes.subarray(0, -4);
  const crc = Buffer.from(bytes.subarray(-4));
  if (crc.length < 4 || crc.readUInt32LE() !== crc32(content))
    throw new CorruptArchiveError(`the checksum of a rollup's directory of ${bytes.length} bytes is wrong`);
  const reader = new ByteReader(content);
  const grainMs = reader.uvarint();
  const timelines = Array.from({ length: reader.count(1) }, () => decodeRuns(reader, grainMs));
  const ofSeries: Timeline[] = [];
  const pageBytes: Record<RolledValue, number>[] = [];
  for (let left = reader.count(1); left > 0; left--) {
    const timeline = timelines[reader.uvarint()];
    if (timeline === undefined)
      throw new CorruptArchiveError(`series ${ofSeries.length} of a rollup has no timeline`);
    ofSeries.push(timeline);
    pageBytes.push(eachValue(() => (timeline.starts.length === 0 ? 0 : reader.uvarint())));
  }
  return { timelines: ofSeries, pageBytes };
}

/** Most grains of a series in a span: a year has 8,784 hours. */
const MAX_GRAINS = 10_000;

function decodeRuns(reader: ByteReader, grainMs: number): Timeline {
  const starts: number[] = [];
  const counts: number[] = [];
  let next = 0;
  for (let runs = reader.count(3); runs > 0; runs--) {
    const zigzag = reader.uvarint();
    next += zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
    const grains = reader.uvarint();
    const count = reader.uvarint();
    if (starts.length + grains > MAX_GRAINS)
      throw new CorruptArchiveError(`a rollup's series has more than ${MAX_GRAINS} grains`);
    for (let i = 0; i < grains; i++) {
      starts.push(next++ * grainMs);
      counts.push(count);
    }
  }
  return { starts: Float64Array.from(starts), counts: Float64Array.from(counts) };
}

/** Returns the starts of the days in which a group has grains. */
export function groupDays({ directory }: Pick<ListedRollup, 'directory'>): Set<number> {
  const days = new Set<number>();
  for (const { starts } of new Set(decodeDirectory(directory).timelines))
    for (const start of starts) days.add(Math.floor(start / DAY_MS) * DAY_MS);
  return days;
}

/**
 * One column of a series' grains. If no column was requested, `values` are the counts. Concurrent readers
 * share the arrays.
 */
export interface ReadGrains {
  readonly starts: Float64Array;
  readonly counts: Float64Array;
  readonly values: Float64Array;
}

/** The decoded part of a group. It grows with each read. */
interface DecodedGroup {
  readonly directory: GroupDirectory;
  /** Decoded values, by column and series. */
  readonly values: Readonly<Record<RolledValue, Map<number, Float64Array>>>;
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
 * Reads a column of some series of a group, with as few requests as possible. An instance fetches each page
 * once, as long as it is cached.
 *
 * @param object its `name` must be unique, such as its key and ETag
 * @param value undefined: only counts, which are in the directory
 * @param wanted position in the result, by labels key
 * @returns the grains of each wanted series that the group has, by position
 * @throws {CorruptArchiveError}
 */
export async function readRollup(
  object: Pick<ObjectBytes, 'slice'> & { readonly name: string },
  listed: ListedRollup,
  layouts: ReadonlyMap<Id, Layout>,
  wanted: ReadonlyMap<string, number>,
  value: RolledValue | undefined,
): Promise<Map<number, ReadGrains>> {
  const name = `${object.name} ${listed.group}`;
  const decoded = decodedGroups.get(name) ?? openGroup(listed);
  const { timelines, pageBytes } = decoded.directory;
  const layout = layouts.get(listed.layout) ?? (await readLayout(object, listed));
  const known = value && decoded.values[value];
  const found: { readonly position: number; readonly series: number }[] = [];
  const missing: { readonly series: number; readonly page: ByteRange }[] = [];
  let offset = value === undefined ? 0 : listed.offsets[value];
  let series = 0;
  for (const key of layout.columns.keys()) {
    const length = value === undefined ? 0 : pageBytes[series]![value];
    const position = wanted.get(key);
    if (position !== undefined && timelines[series]!.starts.length > 0) {
      found.push({ position, series });
      if (known?.has(series) === false) missing.push({ series, page: { offset, length } });
    }
    offset += length;
    series++;
  }
  if (known !== undefined && missing.length > 0) {
    const pages = await slices(
      object,
      missing.map(({ page }) => page),
    );
    const columns = decodeValues(
      pages.map((page, i) => ({ page, count: timelines[missing[i]!.series]!.starts.length })),
    );
    for (const [i, column] of columns.entries()) {
      // Copy the column if it shares its buffer, so that the cache counts what it keeps alive.
      known.set(missing[i]!.series, column.byteLength < column.buffer.byteLength ? column.slice() : column);
      decoded.bytes += column.byteLength + COLUMN_BYTES;
    }
    decodedGroups.set(name, decoded);
  }
  return new Map(
    found.map(({ position, series }) => {
      const { starts, counts } = timelines[series]!;
      return [position, { starts, counts, values: known === undefined ? counts : known.get(series)! }];
    }),
  );
}

function openGroup({ directory }: ListedRollup): DecodedGroup {
  return {
    directory: decodeDirectory(directory),
    values: eachValue(() => new Map()),
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
    const at: Record<RolledValue, number> = { ...listed.offsets };
    const series = timelines.map(({ starts, counts }, i): RolledSeries => {
      if (starts.length === 0) return NO_GRAINS;
      const values = eachValue((name) => {
        const offset = at[name];
        at[name] += pageBytes[i]![name];
        const page = this.bytes.subarray(offset, at[name]);
        return decodeValues([{ page, count: starts.length }])[0]!;
      });
      return { starts, counts, values };
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
