import { crc32 } from 'node:zlib';
import { concat } from '../model/columns';
import type { Id } from '../model/id';
import { type Labels, labelValue, METRIC_NAME } from '../model/labels';
import type { Layout } from '../model/layout';
import type { LayoutBlock } from '../model/layout-block';
import { packLayout } from '../model/packed-layout';
import type { GroupId } from '../model/placement';
import type { ArchivedChunk, ByteRange, ListedChunk } from './archive-format';
import {
  decodePageDirectory,
  encodeBlock,
  type ParquetIndex,
  type Section,
  type StoredBlock,
} from './parquet-chunk';
import {
  columnOf,
  encodeFooter,
  encodeOffsetIndex,
  encodeRowGroup,
  type PageLocation,
  SAMPLE_COLUMNS,
  VALUE_ENCODINGS,
  type WrittenColumn,
} from './parquet-footer';
import { type EncodedPage, encodeTimestamps, TextColumn } from './parquet-pages';
import { END_BYTES, encodeTrailer, PARQUET_MAGIC, pack } from './parquet-trailer';
import type { RowSets } from './skeleton';

/**
 * The writer ends a row group once the row group has at least ROW_GROUP_ROWS rows, or at least ROW_GROUP_LABEL_BYTES
 * bytes of labels. It never divides a group of series between row groups.
 */
const ROW_GROUP_ROWS = 128 * 1024;
const ROW_GROUP_LABEL_BYTES = 1024 * 1024;
/**
 * Maximum size, in bytes, of a chunk's directory in the directory table. Readers get a larger directory from the
 * object.
 */
const MAX_LISTED_BYTES = 8 * 1024;

/** A chunk of the row group that is being written. */
interface RowGroupChunk {
  readonly entry: Omit<ArchivedChunk, 'directory' | 'skeleton' | 'layout'>;
  readonly layout: Layout;
  readonly directory: Uint8Array;
  readonly skeleton: Uint8Array;
}

/**
 * Writes a partition-day's object, group by group. It is an Apache Parquet file that any tool can read, with
 * additional sections for our own reads. See FORMAT.md.
 */
export class ArchiveWriter {
  private end = 0;
  private rows = 0;
  private last: GroupId | undefined;
  private rowGroup = new RowGroup();
  private readonly rowGroups: Uint8Array[] = [];
  private readonly sections: Section[] = [];
  /** CRC-32 of the bytes of the current section so far. */
  private crc = 0;
  private readonly chunks: ArchivedChunk[] = [];
  private readonly listed: ListedChunk[] = [];
  private readonly layouts = new Map<Id, ByteRange>();

  /** @param write receives the object's bytes in order; `addGroup` and `finish` await it */
  constructor(private readonly write: (bytes: Uint8Array) => Promise<void>) {}

  /**
   * Adds a group. Groups must be added in ascending order, each once.
   *
   * @param blocks at least one, none empty, in order of time
   */
  async addGroup(group: GroupId, blocks: readonly (LayoutBlock | StoredBlock)[]): Promise<void> {
    if (this.last !== undefined && this.last >= group)
      throw new RangeError(`group ${group} follows ${this.last}; groups must ascend`);
    this.last = group;
    if (this.end === 0) await this.append(PARQUET_MAGIC);
    for (const block of blocks) await this.addChunk(group, block);
    if (this.rowGroup.isFull) await this.endRowGroup();
  }

  /** Writes a chunk's values. Its directory and skeleton follow at the end of the row group. */
  private async addChunk(group: GroupId, block: LayoutBlock | StoredBlock): Promise<void> {
    const { layout } = block;
    const encoded = 'chunk' in block ? block : encodeBlock(block.block);
    const { directory, skeleton, minTimestamp, maxTimestamp, samples } = encoded;
    const { pageBytes, rowSets } = decodePageDirectory(directory);
    const range = await this.append(encoded.bytes);
    let { offset } = range;
    for (const [i, length] of pageBytes.entries()) {
      this.rowGroup.addSeries(layout.series[i]!, rowSets, i, { offset, length });
      offset += length;
    }
    const entry = { group, minTimestamp, maxTimestamp, samples, ...range };
    this.rowGroup.chunks.push({ entry, layout, directory, skeleton });
  }

  /**
   * Completes the object.
   *
   * @param warm the warm items whose samples the object holds: sort key -> revision
   * @returns the object's chunks for the directory
   */
  async finish(warm: ReadonlyMap<string, string>): Promise<readonly ListedChunk[]> {
    if (this.end === 0) await this.append(PARQUET_MAGIC);
    await this.endRowGroup();
    const layouts = [...this.layouts].map(([id, range]) => ({ id, ...range }));
    const index = pack({ chunks: this.chunks, layouts, sections: this.sections } satisfies ParquetIndex);
    const revisions = pack(Object.fromEntries(warm));
    const { offset, length } = await this.append(index);
    await this.append(revisions);
    const footer = encodeFooter(SAMPLE_COLUMNS, this.rows, this.rowGroups, {
      heterotsdb: JSON.stringify({ index: { offset, length } }),
    });
    await this.append(encodeTrailer(offset, index, revisions, footer));
    const end = Buffer.alloc(END_BYTES);
    end.writeUInt32LE(footer.length, 0);
    PARQUET_MAGIC.copy(end, 4);
    await this.append(Buffer.concat([footer, end]));
    return this.listed;
  }

  private async endRowGroup(): Promise<void> {
    const { rowGroup } = this;
    if (rowGroup.rows > 0) {
      const { bytes, metadata } = rowGroup.finish(this.end);
      this.rowGroups.push(metadata);
      await this.append(bytes);
    }
    for (const { entry, layout, directory, skeleton } of rowGroup.chunks) {
      const layoutRange = this.layouts.get(layout.id) ?? (await this.append(packLayout(layout.bytes).packed));
      this.layouts.set(layout.id, layoutRange);
      const chunk = { ...entry, layout: layout.id, skeleton: await this.append(skeleton) };
      this.chunks.push({ ...chunk, directory: await this.append(directory) });
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

  private async append(bytes: Uint8Array): Promise<ByteRange> {
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
  /** Whether any two consecutive series have the same timestamps. */
  private sharesTimes = false;
  private readonly pages: PageLocation[] = [];

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

  /** Encodes all columns except the values. @param offset where in the object the returned bytes will be */
  finish(offset: number): { readonly bytes: Buffer; readonly metadata: Buffer } {
    const parts: Uint8Array[] = [];
    let end = offset;
    const append = (bytes: Uint8Array): ByteRange => {
      parts.push(bytes);
      end += bytes.length;
      return { offset: end - bytes.length, length: bytes.length };
    };
    const column = (pages: readonly EncodedPage[], bounds: WrittenColumn['bounds']): WrittenColumn => {
      const { offset } = append(Buffer.concat(pages.map(({ bytes }) => bytes)));
      return { ...columnOf(offset, pages), bounds };
    };
    const { name, host, labels } = this.texts;
    const timestamps = concat(this.timestamps);
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
        offsetIndex: append(encodeOffsetIndex(this.pages)),
      },
    });
    return { bytes: Buffer.concat(parts), metadata };
  }
}

/**
 * Estimates the size of page headers. The headers of copied pages are not parsed, so their size is unknown. An
 * estimate suffices, because a column's uncompressed size is only a hint to readers.
 */
export function headerBytes(pages: readonly PageLocation[]): number {
  return 24 * pages.length;
}

/**
 * Encodes the labels that have no column of their own as a JSON object. Builds the text without an object, because
 * `__proto__` is a possible label.
 */
export function otherLabels(series: Labels): string {
  const pairs = series
    .filter(([label]) => label !== METRIC_NAME && label !== 'host')
    .map(([label, value]) => `${JSON.stringify(label)}:${JSON.stringify(value)}`);
  return `{${pairs.join(',')}}`;
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
