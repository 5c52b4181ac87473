import { crc32, constants as zlib, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { type Block, type Column, relayout, sampleCount } from '../codec';
import { ByteReader, ByteWriter } from '../model/bytes';
import type { Id } from '../model/id';
import { type Labels, labelValue, METRIC_NAME } from '../model/labels';
import { decodeLayout, type Layout } from '../model/layout';
import type { LayoutBlock } from '../model/layout-block';
import { packLayout, unpackLayout } from '../model/packed-layout';
import type { GroupId } from '../model/placement';
import type { LocatedBlock, Selection } from '../model/selection';
import {
  type ArchivedChunk,
  type ArchiveReader,
  type ArchiveWriter,
  type ByteRange,
  CorruptArchiveError,
  isAsked,
  type ListedChunk,
  type ObjectBytes,
  type PlannedRead,
  type StoredBlock,
} from './archive-format';
import {
  columnOf,
  encodeFooter,
  encodeOffsetIndex,
  encodeRowGroup,
  type PlacedPage,
  SAMPLE_COLUMNS,
  VALUE_ENCODINGS,
  type WrittenColumn,
} from './parquet-footer';
import { decodeValues, encodeTimestamps, encodeValues, type Page, TextColumn } from './parquet-pages';
import { decodeRowSets, decodeSkeleton, encodeRowSets, encodeSkeleton, type RowSets } from './skeleton';

/**
 * Begins an archive object. It is an Apache Parquet file that any tool can read, with additional sections for
 * our own reads. See FORMAT.md.
 *
 * @param write receives the object's bytes in order; `addGroup` and `finish` wait for it
 */
export function archiveWriter(write: (bytes: Uint8Array) => Promise<void>): ArchiveWriter {
  return new ParquetWriter(write);
}

/**
 * A chunk's index entry. Its own range is that of its value pages: one for each series, in the layout's
 * order.
 */
interface ParquetChunk extends ArchivedChunk {
  readonly directory: ByteRange;
  readonly skeleton: ByteRange;
}

interface Section extends ByteRange {
  readonly crc: number;
}

interface ParquetIndex {
  /** Ordered by group, then time. */
  readonly chunks: readonly ParquetChunk[];
  readonly layouts: readonly (ByteRange & { readonly id: Id })[];
  /** One section for each row group, which includes the layouts, skeletons and directories of its chunks. */
  readonly sections: readonly Section[];
}

export const PARQUET_MAGIC = Buffer.from('PAR1');
const TRAILER_MAGIC = Buffer.from('HTSDPQT1');
const TRAILER_BYTES = 40;
/** Four bytes of the footer's length, then the magic. */
const END_BYTES = 8;
/**
 * A row group ends after the group of series with which it reaches this number of rows, or of bytes of
 * labels.
 */
const ROW_GROUP_ROWS = 128 * 1024;
const ROW_GROUP_LABEL_BYTES = 1024 * 1024;
const MAX_INDEX_BYTES = 256 * 1024 * 1024;
/** Larger chunk directories are not put into the directory table; they are read from the object. */
const MAX_LISTED_BYTES = 8 * 1024;
/** Pages with gaps up to this size are fetched with one request, which is cheaper than two. */
const MAX_GAP_BYTES = 32 * 1024;

/** For each series of a chunk, where its page of values is, and at which times it has values. */
interface PageDirectory {
  /** Size of each series' page, in bytes; 0 if the series has no values. */
  readonly pageBytes: readonly number[];
  readonly rowSets: RowSets;
}

/** A chunk of the row group that is being written. */
interface RowGroupChunk {
  readonly entry: Omit<ParquetChunk, 'directory' | 'skeleton' | 'layout'>;
  readonly layout: Layout;
  readonly directory: Uint8Array;
  readonly skeleton: Uint8Array;
}

class ParquetWriter implements ArchiveWriter {
  private end = 0;
  private rows = 0;
  private last: GroupId | undefined;
  private rowGroup = new RowGroup();
  private readonly rowGroups: Uint8Array[] = [];
  private readonly sections: Section[] = [];
  /** CRC-32 of the present section, so far. */
  private crc = 0;
  private readonly chunks: ParquetChunk[] = [];
  private readonly listed: ListedChunk[] = [];
  private readonly layouts = new Map<Id, ByteRange>();

  constructor(private readonly write: (bytes: Uint8Array) => Promise<void>) {}

  async addGroup(group: GroupId, blocks: readonly (LayoutBlock | StoredBlock)[]): Promise<void> {
    if (this.last !== undefined && this.last >= group)
      throw new RangeError(`group ${group} follows ${this.last}; groups must ascend`);
    this.last = group;
    if (this.end === 0) await this.place(PARQUET_MAGIC);
    for (const block of blocks) await this.addChunk(group, block);
    if (this.rowGroup.isFull) await this.endRowGroup();
  }

  /** Writes a chunk's values. Its directory and skeleton follow at the end of the row group. */
  private async addChunk(group: GroupId, block: LayoutBlock | StoredBlock): Promise<void> {
    const { layout } = block;
    const encoded =
      block instanceof StoredParquet
        ? block
        : encodeBlock('chunk' in block ? block.decode().block : block.block);
    const { directory, skeleton, minTimestamp, maxTimestamp, samples } = encoded;
    const { pageBytes, rowSets } = decodeDirectory(directory);
    const range = await this.place(encoded.bytes);
    let { offset } = range;
    for (const [i, length] of pageBytes.entries()) {
      this.rowGroup.addSeries(layout.series[i]!, rowSets, i, { offset, length });
      offset += length;
    }
    const entry = { group, minTimestamp, maxTimestamp, samples, ...range };
    this.rowGroup.chunks.push({ entry, layout, directory, skeleton });
  }

  async finish(warm: ReadonlyMap<string, string>): Promise<readonly ListedChunk[]> {
    if (this.end === 0) await this.place(PARQUET_MAGIC);
    await this.endRowGroup();
    const layouts = [...this.layouts].map(([id, range]) => ({ id, ...range }));
    const index = pack({ chunks: this.chunks, layouts, sections: this.sections } satisfies ParquetIndex);
    const revisions = pack(Object.fromEntries(warm));
    const { offset, length } = await this.place(index);
    await this.place(revisions);
    const footer = encodeFooter(SAMPLE_COLUMNS, this.rows, this.rowGroups, {
      heterotsdb: JSON.stringify({ index: { offset, length } }),
    });
    await this.place(encodeTrailer(offset, index, revisions, footer));
    const end = Buffer.alloc(END_BYTES);
    end.writeUInt32LE(footer.length, 0);
    PARQUET_MAGIC.copy(end, 4);
    await this.place(Buffer.concat([footer, end]));
    return this.listed;
  }

  private async endRowGroup(): Promise<void> {
    const { rowGroup } = this;
    if (rowGroup.rows > 0) {
      const { bytes, metadata } = rowGroup.finish(this.end);
      this.rowGroups.push(metadata);
      await this.place(bytes);
    }
    for (const { entry, layout, directory, skeleton } of rowGroup.chunks) {
      const layoutRange = this.layouts.get(layout.id) ?? (await this.place(packLayout(layout.bytes).packed));
      this.layouts.set(layout.id, layoutRange);
      const chunk = { ...entry, layout: layout.id, skeleton: await this.place(skeleton) };
      this.chunks.push({ ...chunk, directory: await this.place(directory) });
      const isSmall = directory.length <= MAX_LISTED_BYTES;
      this.listed.push({ chunk: { ...chunk, layoutRange }, directory: isSmall ? directory : undefined });
    }
    const last = this.sections.at(-1);
    const offset = last === undefined ? PARQUET_MAGIC.length : last.offset + last.length;
    if (this.end > offset) this.sections.push({ offset, length: this.end - offset, crc: this.crc });
    this.crc = 0;
    this.rows += rowGroup.rows;
    this.rowGroup = new RowGroup();
  }

  private async place(bytes: Uint8Array): Promise<ByteRange> {
    await this.write(bytes);
    const offset = this.end;
    if (offset > 0) this.crc = crc32(bytes, this.crc);
    this.end += bytes.length;
    return { offset, length: bytes.length };
  }
}

/** The row group that is being written. Its values have been written; its other columns have not. */
class RowGroup {
  rows = 0;
  readonly chunks: RowGroupChunk[] = [];
  private readonly texts = { name: new TextColumn(), host: new TextColumn(), labels: new TextColumn() };
  private readonly timestamps: Float64Array[] = [];
  /** Whether consecutive series have the same timestamps. */
  private sharesTimes = false;
  private readonly pages: PlacedPage[] = [];

  get isFull(): boolean {
    const { name, host, labels } = this.texts;
    const labelBytes = name.dictionaryBytes + host.dictionaryBytes + labels.dictionaryBytes;
    return this.rows >= ROW_GROUP_ROWS || labelBytes >= ROW_GROUP_LABEL_BYTES;
  }

  addSeries(series: Labels, rowSets: RowSets, index: number, page: ByteRange): void {
    if (page.length === 0) return;
    const { rows } = rowSets.rowSetOf(index);
    const { timestamps } = rowSets.block;
    const times = rows === undefined ? timestamps : Float64Array.from(rows, (row) => timestamps[row]!);
    this.texts.name.add(labelValue(series, METRIC_NAME) ?? '', times.length);
    this.texts.host.add(labelValue(series, 'host') ?? '', times.length);
    this.texts.labels.add(otherLabels(series), times.length);
    if (times === this.timestamps.at(-1)) this.sharesTimes = true;
    this.timestamps.push(times);
    this.pages.push({ ...page, firstRow: this.rows });
    this.rows += times.length;
  }

  /** Encodes the other columns. @param offset where the returned bytes will be in the object */
  finish(offset: number): { readonly bytes: Buffer; readonly metadata: Buffer } {
    const parts: Uint8Array[] = [];
    let end = offset;
    const place = (bytes: Uint8Array): ByteRange => {
      parts.push(bytes);
      end += bytes.length;
      return { offset: end - bytes.length, length: bytes.length };
    };
    const column = (pages: readonly Page[], bounds: WrittenColumn['bounds']): WrittenColumn => {
      const { offset } = place(Buffer.concat(pages.map(({ bytes }) => bytes)));
      return { ...columnOf(offset, pages), bounds };
    };
    const { name, host, labels } = this.texts;
    const timestamps = concat(this.timestamps, this.rows);
    const [first, last] = [this.pages[0]!, this.pages.at(-1)!];
    const metadata = encodeRowGroup(SAMPLE_COLUMNS, this.rows, {
      name: column(name.finish(), name.bounds()),
      host: column(host.finish(), host.bounds()),
      labels: column(labels.finish(), labels.bounds()),
      timestamp: column([encodeTimestamps(timestamps, this.sharesTimes)], timestampBounds(timestamps)),
      value: {
        offset: first.offset,
        length: last.offset + last.length - first.offset,
        encodings: VALUE_ENCODINGS,
        uncompressedBytes: 8 * this.rows + headerBytes(this.pages),
        offsetIndex: place(encodeOffsetIndex(this.pages)),
      },
    });
    return { bytes: Buffer.concat(parts), metadata };
  }
}

/**
 * Estimates the size of page headers: an uncompressed size is only a hint to readers, and the headers of
 * copied pages are not parsed.
 */
export function headerBytes(pages: readonly PlacedPage[]): number {
  return 24 * pages.length;
}

/**
 * Encodes the labels without a column of their own as a JSON object. Builds text instead of an object,
 * because `__proto__` is a possible label.
 */
export function otherLabels(series: Labels): string {
  const pairs = series
    .filter(([label]) => label !== METRIC_NAME && label !== 'host')
    .map(([label, value]) => `${JSON.stringify(label)}:${JSON.stringify(value)}`);
  return `{${pairs.join(',')}}`;
}

export function concat(parts: readonly Float64Array[], length: number): Float64Array {
  const whole = new Float64Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export function timestampBounds(timestamps: Float64Array): [Uint8Array, Uint8Array] {
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (const ms of timestamps) {
    if (ms < min) min = ms;
    if (ms > max) max = ms;
  }
  const bytes = (ms: number) => new Uint8Array(BigInt64Array.of(BigInt(ms)).buffer);
  return [bytes(min), bytes(max)];
}

interface EncodedBlock {
  /** The pages of values, concatenated. */
  readonly bytes: Uint8Array;
  readonly directory: Uint8Array;
  readonly skeleton: Uint8Array;
  readonly minTimestamp: number;
  readonly maxTimestamp: number;
  readonly samples: number;
}

function encodeBlock(block: Block): EncodedBlock {
  const pages = block.columns.map(({ values }) =>
    values.length === 0 ? undefined : encodeValues(values).bytes,
  );
  return {
    bytes: Buffer.concat(pages.filter((page) => page !== undefined)),
    directory: encodeDirectory(
      pages.map((page) => page?.length ?? 0),
      block,
    ),
    skeleton: encodeSkeleton(block),
    minTimestamp: block.timestamps[0] ?? 0,
    maxTimestamp: block.timestamps.at(-1) ?? 0,
    samples: sampleCount(block),
  };
}

/** Layout: number of series, size of each series' page, row sets, CRC-32. */
function encodeDirectory(pageBytes: readonly number[], block: Block): Uint8Array {
  const writer = new ByteWriter(256).uvarint(pageBytes.length);
  for (const bytes of pageBytes) writer.uvarint(bytes);
  writer.bytes(encodeRowSets(block));
  const crc = crc32(writer.finish());
  writer.hole(4).writeUInt32LE(crc);
  return writer.finish();
}

/** @throws {CorruptArchiveError} */
function decodeDirectory(bytes: Uint8Array): PageDirectory {
  const content = bytes.subarray(0, -4);
  const crc = Buffer.from(bytes.subarray(-4));
  if (crc.length < 4 || crc.readUInt32LE() !== crc32(content))
    throw new CorruptArchiveError(`the checksum of a directory of ${bytes.length} bytes is wrong`);
  const reader = new ByteReader(content);
  const pageBytes = Array.from({ length: reader.count(1) }, () => reader.uvarint());
  return { pageBytes, rowSets: decodeRowSets(reader.bytes(reader.left)) };
}

/** A chunk of a Parquet object, which another Parquet object can copy unchanged. */
class StoredParquet implements StoredBlock, EncodedBlock {
  readonly minTimestamp: number;
  readonly maxTimestamp: number;
  readonly samples: number;

  constructor(
    readonly chunk: ParquetChunk,
    readonly layout: Layout,
    readonly bytes: Uint8Array,
    readonly directory: Uint8Array,
    readonly skeleton: Uint8Array,
  ) {
    this.minTimestamp = chunk.minTimestamp;
    this.maxTimestamp = chunk.maxTimestamp;
    this.samples = chunk.samples;
  }

  decode(): LayoutBlock {
    const { pageBytes, rowSets } = decodeDirectory(this.directory);
    let at = 0;
    const pages = pageBytes.map((length) => {
      at += length;
      return this.bytes.subarray(at - length, at);
    });
    const values = decodePages(pages, pageBytes.keys(), rowSets);
    return { block: decodeSkeleton(this.skeleton, rowSets, values), layout: this.layout };
  }
}

/**
 * @throws {CorruptArchiveError} when the bytes are not a complete object of the format version that this
 *   release reads
 */
export async function openArchiveObject(object: ObjectBytes): Promise<ArchiveReader> {
  const trailer = await readTrailer(object);
  const index = unpack<ParquetIndex>(await object.slice(trailer.index), trailer.indexCrc);
  return new ParquetReader(object, trailer, index);
}

class ParquetReader implements ArchiveReader {
  readonly chunks: readonly ParquetChunk[];
  private readonly sections: readonly Section[];
  private readonly layouts: ReadonlyMap<Id, ByteRange>;

  constructor(
    private readonly object: ObjectBytes,
    private readonly trailer: Trailer,
    { chunks, layouts, sections }: ParquetIndex,
  ) {
    this.chunks = chunks;
    this.sections = sections;
    this.layouts = new Map(layouts.map(({ id, ...range }) => [id, range]));
  }

  async warm(): Promise<Readonly<Record<string, string>>> {
    const { warm, warmCrc } = this.trailer;
    return unpack(await this.object.slice(warm), warmCrc);
  }

  /**
   * Plans to read the chunk directory, and the layout unless it is known. They tell which value pages to read
   * next.
   */
  plan(selection: Selection): PlannedRead[] {
    const { layouts } = selection;
    return this.chunks
      .filter((chunk) => isAsked(chunk, selection))
      .map((chunk) => {
        const ranges = layouts.has(chunk.layout)
          ? [chunk.directory]
          : [chunk.directory, this.rangeOf(chunk.layout)];
        return { chunk, ranges, selection };
      });
  }

  async read({ chunk, ranges, selection }: PlannedRead): Promise<LocatedBlock | undefined> {
    const [directory, layoutBytes] = await Promise.all(ranges.map((range) => this.object.slice(range)));
    const layout = selection.layouts.get(chunk.layout) ?? this.decodeLayout(chunk.layout, layoutBytes!);
    return readSeries(
      this.object,
      chunk as ParquetChunk,
      decodeDirectory(directory!),
      layout,
      selection.wanted,
      true,
    );
  }

  async layout(id: Id): Promise<Layout> {
    return this.decodeLayout(id, await this.object.slice(this.rangeOf(id)));
  }

  async load(chunk: ArchivedChunk): Promise<StoredBlock> {
    return this.loadFrom(this.object, chunk as ParquetChunk, await this.layout(chunk.layout));
  }

  private async loadFrom(
    { slice }: Pick<ObjectBytes, 'slice'>,
    chunk: ParquetChunk,
    layout: Layout,
  ): Promise<StoredParquet> {
    const { directory, skeleton } = chunk;
    const [bytes, ...own] = await Promise.all([chunk, directory, skeleton].map((range) => slice(range)));
    return new StoredParquet(chunk, layout, bytes!, own[0]!, own[1]!);
  }

  async verify(): Promise<void> {
    const { footer, footerCrc } = this.trailer;
    if (crc32(await this.object.slice(footer)) !== footerCrc)
      throw new CorruptArchiveError(`${this.object.key}: the checksum of Parquet's footer is wrong`);
    const layouts = new Map<Id, Layout>();
    let checked = 0;
    for (const { crc, offset, length } of this.sections) {
      const bytes = await this.object.slice({ offset, length });
      if (crc32(bytes) !== crc)
        throw new CorruptArchiveError(
          `${this.object.key}: the checksum of the row group at ${offset} is wrong`,
        );
      const slice = async (range: ByteRange) =>
        bytes.subarray(range.offset - offset, range.offset - offset + range.length);
      for (; checked < this.chunks.length; checked++) {
        const chunk = this.chunks[checked]!;
        if (chunk.offset >= offset + length) break;
        const layout = layouts.get(chunk.layout) ?? (await this.layout(chunk.layout));
        layouts.set(layout.id, layout);
        const samples = sampleCount((await this.loadFrom({ slice }, chunk, layout)).decode().block);
        if (samples !== chunk.samples)
          throw new CorruptArchiveError(
            `${this.object.key}: the chunk at ${chunk.offset} has ${samples} samples, its index says ${chunk.samples}`,
          );
      }
    }
    if (checked < this.chunks.length)
      throw new CorruptArchiveError(
        `${this.object.key}: ${this.chunks.length - checked} chunks lie in no row group`,
      );
  }

  private rangeOf(id: Id): ByteRange {
    const range = this.layouts.get(id);
    if (range === undefined) throw new CorruptArchiveError(`${this.object.key} has no layout ${id}`);
    return range;
  }

  private decodeLayout(id: Id, bytes: Uint8Array): Layout {
    const layout = decodeLayout(unpackLayout(bytes));
    if (layout.id !== id)
      throw new CorruptArchiveError(`layout ${id} of ${this.object.key} has the id ${layout.id}`);
    return layout;
  }
}

/**
 * Reads series of a chunk that the directory table lists, nearly always with one request.
 *
 * @param withVersions false gives all samples the lowest version; correct if the caller has no other samples
 *   of these times
 */
export async function readListed(
  object: Pick<ObjectBytes, 'key' | 'slice'>,
  { chunk, directory }: ListedChunk,
  { layouts, wanted }: Selection,
  withVersions: boolean,
): Promise<LocatedBlock | undefined> {
  const layout =
    layouts.get(chunk.layout) ?? decodeLayout(unpackLayout(await object.slice(chunk.layoutRange)));
  return readSeries(object, chunk, decodeDirectory(directory!), layout, wanted, withVersions);
}

/** Reads the pages of the wanted series of a chunk and, if requested, the versions. */
async function readSeries(
  object: Pick<ObjectBytes, 'key' | 'slice'>,
  chunk: Omit<ParquetChunk, 'directory'>,
  { pageBytes, rowSets }: PageDirectory,
  layout: Layout,
  wanted: Layout,
  withVersions: boolean,
): Promise<LocatedBlock | undefined> {
  const found: { series: number; position: number; page: ByteRange }[] = [];
  let { offset } = chunk;
  let series = 0;
  for (const key of layout.columns.keys()) {
    const length = pageBytes[series]!;
    const position = wanted.columns.get(key);
    if (position !== undefined) found.push({ series, position, page: { offset, length } });
    offset += length;
    series++;
  }
  if (found.length === 0) return undefined;
  const [pages, skeleton] = await Promise.all([
    slices(
      object,
      found.map(({ page }) => page),
    ),
    withVersions ? object.slice(chunk.skeleton) : undefined,
  ]);
  const all = new Array<Float64Array>(pageBytes.length).fill(NO_VALUES);
  const asked = found.map(({ series }) => series);
  for (const [i, values] of decodePages(pages, asked, rowSets).entries()) all[asked[i]!] = values;
  const whole =
    skeleton === undefined ? withoutVersions(rowSets, all) : decodeSkeleton(skeleton, rowSets, all);
  const picked = {
    ...whole,
    columns: found.map(({ series }): Column => whole.columns[series]!),
  };
  const positions = Uint32Array.from(found, ({ position }) => position);
  return {
    place: `${object.key} @ ${chunk.offset} + ${chunk.length}`,
    bytes: chunk.length,
    samples: chunk.samples,
    block: relayout(picked, wanted.idBytes, wanted.series.length, positions),
  };
}

/** Makes a block in which every sample has the lowest version. */
function withoutVersions({ block, rowSetOf }: RowSets, values: readonly Float64Array[]): Block {
  return { ...block, columns: values.map((of, series) => ({ ...rowSetOf(series), values: of })) };
}

const NO_VALUES = new Float64Array(0);

/**
 * Decodes pages of values.
 *
 * @param pages an empty page belongs to a series without values
 * @param series the series of each page
 */
function decodePages(
  pages: readonly Uint8Array[],
  series: Iterable<number>,
  rowSets: RowSets,
): Float64Array[] {
  const placed = Array.from(series, (of, i) => ({
    page: pages[i]!,
    count: rowSets.rowSetOf(of).values.length,
  }));
  const decoded = decodeValues(placed.filter(({ page }) => page.length > 0)).values();
  return placed.map(({ page }) => (page.length === 0 ? NO_VALUES : decoded.next().value!));
}

/** Fetches ascending ranges with as few requests as their gaps allow. */
export async function slices(
  object: Pick<ObjectBytes, 'slice'>,
  ranges: readonly ByteRange[],
): Promise<Uint8Array[]> {
  const runs: { offset: number; end: number }[] = [];
  const runOf = ranges.map(({ offset, length }) => {
    const last = runs.at(-1);
    if (last !== undefined && offset - last.end <= MAX_GAP_BYTES) last.end = offset + length;
    else runs.push({ offset, end: offset + length });
    return runs.length - 1;
  });
  const bytes = await Promise.all(
    runs.map(({ offset, end }) =>
      end === offset ? NO_BYTES : object.slice({ offset, length: end - offset }),
    ),
  );
  return ranges.map(({ offset, length }, i) => {
    const start = offset - runs[runOf[i]!]!.offset;
    return bytes[runOf[i]!]!.subarray(start, start + length);
  });
}

const NO_BYTES = new Uint8Array(0);

/**
 * The trailer stands before Parquet's footer and locates our own sections, so that our readers need not
 * decode the footer.
 *
 *     'HTSDPQT1'   8 bytes
 *     uint64       offset of the index, which is zstd of JSON; the warm revisions, also zstd of JSON, follow it
 *     uint32 x 2   bytes of the index, bytes of the warm revisions
 *     uint32 x 4   CRC-32 of the index, of the warm revisions, of Parquet's footer, of the trailer up to here
 */
interface Trailer {
  readonly index: ByteRange;
  readonly indexCrc: number;
  readonly warm: ByteRange;
  readonly warmCrc: number;
  readonly footer: ByteRange;
  readonly footerCrc: number;
}

function encodeTrailer(offset: number, index: Uint8Array, warm: Uint8Array, footer: Uint8Array): Buffer {
  const trailer = Buffer.alloc(TRAILER_BYTES);
  TRAILER_MAGIC.copy(trailer);
  trailer.writeBigUInt64LE(BigInt(offset), 8);
  trailer.writeUInt32LE(index.length, 16);
  trailer.writeUInt32LE(warm.length, 20);
  trailer.writeUInt32LE(crc32(index), 24);
  trailer.writeUInt32LE(crc32(warm), 28);
  trailer.writeUInt32LE(crc32(footer), 32);
  trailer.writeUInt32LE(crc32(trailer.subarray(0, 36)), 36);
  return trailer;
}

/** @throws {CorruptArchiveError} */
async function readTrailer(object: ObjectBytes): Promise<Trailer> {
  const { key, byteLength } = object;
  const corrupt = (what: string) => new CorruptArchiveError(`${key}, ${byteLength} bytes: ${what}`);
  if (byteLength < END_BYTES + TRAILER_BYTES) throw corrupt('too short for a Parquet archive object');
  const end = Buffer.from(await object.slice({ offset: byteLength - END_BYTES, length: END_BYTES }));
  if (end.length !== END_BYTES || !PARQUET_MAGIC.equals(end.subarray(4)))
    throw corrupt('does not end as Parquet');
  const footer = { offset: byteLength - END_BYTES - end.readUInt32LE(0), length: end.readUInt32LE(0) };
  const offset = footer.offset - TRAILER_BYTES;
  if (offset < 0) throw corrupt(`a footer of ${footer.length} bytes`);
  const trailer = Buffer.from(await object.slice({ offset, length: TRAILER_BYTES }));
  if (trailer.length !== TRAILER_BYTES || !TRAILER_MAGIC.equals(trailer.subarray(0, 8)))
    throw corrupt('Parquet, but not written by this system');
  if (trailer.readUInt32LE(36) !== crc32(trailer.subarray(0, 36)))
    throw corrupt('the checksum of its trailer is wrong');
  const index = { offset: Number(trailer.readBigUInt64LE(8)), length: trailer.readUInt32LE(16) };
  const warm = { offset: index.offset + index.length, length: trailer.readUInt32LE(20) };
  if (warm.offset + warm.length !== offset)
    throw corrupt(`its index of ${index.length} bytes at ${index.offset}`);
  const [indexCrc, warmCrc, footerCrc] = [24, 28, 32].map((at) => trailer.readUInt32LE(at)) as [
    number,
    number,
    number,
  ];
  return { index, indexCrc, warm, warmCrc, footer, footerCrc };
}

function pack(content: unknown): Buffer {
  return zstdCompressSync(Buffer.from(JSON.stringify(content)), {
    params: { [zlib.ZSTD_c_compressionLevel]: 3 },
  });
}

/** @throws {CorruptArchiveError} */
function unpack<T>(packed: Uint8Array, crc: number): T {
  if (crc32(packed) !== crc) throw new CorruptArchiveError(`the checksum of ${packed.length} bytes is wrong`);
  try {
    return JSON.parse(zstdDecompressSync(packed, { maxOutputLength: MAX_INDEX_BYTES }).toString('utf8')) as T;
  } catch (cause) {
    throw new CorruptArchiveError(`an index of ${packed.length} bytes cannot be decoded`, { cause });
  }
}
