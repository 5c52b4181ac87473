import { crc32 } from 'node:zlib';
import { type Block, type Column, relayout, sampleCount, sliceBlock } from '../codec';
import type { Id } from '../model/id';
import { decodeLayout, type Layout } from '../model/layout';
import { unpackLayout } from '../model/packed-layout';
import type { LocatedBlock, Selection, TimeRange } from '../model/selection';
import {
  type ArchivedChunk,
  type ByteRange,
  CorruptArchiveError,
  type ListedChunk,
  type ObjectBytes,
} from './archive-format';
import { fetchMerged } from './merged-ranges';
import {
  decodePageDirectory,
  decodePages,
  NO_VALUES,
  type PageDirectory,
  type ParquetIndex,
  type Section,
  StoredBlock,
} from './parquet-chunk';
import { readTrailer, type Trailer, unpack } from './parquet-trailer';
import { decodeSkeleton, type RowSets } from './skeleton';

/**
 * Opens an archive object by reading its trailer and its index.
 *
 * @throws {CorruptArchiveError} when the bytes are not a complete object of the format version that this release reads
 */
export async function openArchiveObject(object: ObjectBytes): Promise<ArchiveReader> {
  const trailer = await readTrailer(object);
  const index = unpack<ParquetIndex>(await object.slice(trailer.index), trailer.indexCrc);
  return new ArchiveReader(object, trailer, index);
}

/** Reads an archive object through the object's own index. */
export class ArchiveReader {
  /** Ordered by group, then time. */
  readonly chunks: readonly ArchivedChunk[];
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

  /**
   * Reads the list of warm items whose samples the object contains: sort key -> revision. Used only by the archiver and
   * the purge.
   */
  async warm(): Promise<Readonly<Record<string, string>>> {
    const { warm, warmCrc } = this.trailer;
    return unpack(await this.object.slice(warm), warmCrc);
  }

  /**
   * Reads the selected series of a chunk: first the chunk's directory and, unless it is known, the chunk's
   * layout; then the values.
   *
   * @throws {CorruptArchiveError}
   */
  async read(chunk: ArchivedChunk, { layouts, wanted }: Selection): Promise<LocatedBlock | undefined> {
    const [directory, layout] = await Promise.all([
      this.object.slice(chunk.directory),
      layouts.get(chunk.layout) ?? this.layout(chunk.layout),
    ]);
    const request = { layout, wanted, withVersions: true };
    return readSeries(this.object, chunk, decodePageDirectory(directory), request);
  }

  /** @throws {CorruptArchiveError} */
  async layout(id: Id): Promise<Layout> {
    return this.decodeLayout(id, await this.object.slice(this.rangeOfLayout(id)));
  }

  /**
   * Loads a whole chunk with its layout. One request suffices if the chunk's parts are close to each other.
   *
   * @throws {CorruptArchiveError}
   */
  async load(chunk: ArchivedChunk): Promise<StoredBlock> {
    const { directory, skeleton } = chunk;
    const parts = await fetchMerged([chunk, directory, skeleton, this.rangeOfLayout(chunk.layout)], (range) =>
      this.object.slice(range),
    );
    return new StoredBlock(
      chunk,
      this.decodeLayout(chunk.layout, parts[3]!),
      parts[0]!,
      parts[1]!,
      parts[2]!,
    );
  }

  /**
   * Reads every chunk back, and checks it against the index.
   *
   * @throws {CorruptArchiveError} when a chunk cannot be decoded or has a different number of samples
   */
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
      const within = (range: ByteRange) =>
        bytes.subarray(range.offset - offset, range.offset - offset + range.length);
      for (; checked < this.chunks.length; checked++) {
        const chunk = this.chunks[checked]!;
        if (chunk.offset >= offset + length) break;
        const layout = layouts.get(chunk.layout) ?? (await this.layout(chunk.layout));
        layouts.set(layout.id, layout);
        const parts = [within(chunk), within(chunk.directory), within(chunk.skeleton)] as const;
        const samples = sampleCount(new StoredBlock(chunk, layout, ...parts).decode().block);
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

  /** @throws {CorruptArchiveError} */
  private rangeOfLayout(id: Id): ByteRange {
    const range = this.layouts.get(id);
    if (range === undefined) throw new CorruptArchiveError(`${this.object.key} has no layout ${id}`);
    return range;
  }

  /** @throws {CorruptArchiveError} */
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
 * @param withVersions if false, all samples get the lowest version. That is correct only if no other tier or object has
 *   samples at these times. Merging such samples requires their versions
 */
export async function readListed(
  object: Pick<ObjectBytes, 'key' | 'slice'>,
  { chunk, directory }: ListedChunk,
  { layouts, wanted }: Selection,
  withVersions: boolean,
): Promise<LocatedBlock | undefined> {
  const layout =
    layouts.get(chunk.layout) ?? decodeLayout(unpackLayout(await object.slice(chunk.layoutRange)));
  return readSeries(object, chunk, decodePageDirectory(directory!), { layout, wanted, withVersions });
}

/** Counts the samples in a time range for some columns of a listed chunk, without any request. */
export function countListed(
  { directory }: ListedChunk,
  columns: Iterable<number>,
  { fromMs, toMs }: TimeRange,
): number {
  if (directory === undefined) return 0;
  const { rowSets } = decodePageDirectory(directory);
  const inRange = sliceBlock(rowSets.block, fromMs, toMs).columns;
  const counts = new Map(rowSets.block.columns.map((rowSet, i) => [rowSet, inRange[i]!.values.length]));
  let count = 0;
  for (const column of columns) count += counts.get(rowSets.rowSetOf(column))!;
  return count;
}

interface SeriesRequest {
  /** The chunk's layout. */
  readonly layout: Layout;
  readonly wanted: Layout;
  readonly withVersions: boolean;
}

/** Reads the pages of the wanted series of a chunk and, if requested, the versions. */
async function readSeries(
  object: Pick<ObjectBytes, 'key' | 'slice'>,
  chunk: Omit<ArchivedChunk, 'directory'>,
  { pageBytes, rowSets }: PageDirectory,
  { layout, wanted, withVersions }: SeriesRequest,
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
    fetchMerged(
      found.map(({ page }) => page),
      (range) => object.slice(range),
    ),
    withVersions ? object.slice(chunk.skeleton) : undefined,
  ]);
  const all = new Array<Float64Array>(pageBytes.length).fill(NO_VALUES);
  const requested = found.map(({ series }) => series);
  for (const [i, values] of decodePages(pages, requested, rowSets).entries()) all[requested[i]!] = values;
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

/** Builds a block in which every sample has the lowest version. */
function withoutVersions({ block, rowSetOf }: RowSets, values: readonly Float64Array[]): Block {
  return { ...block, columns: values.map((of, series) => ({ ...rowSetOf(series), values: of })) };
}
