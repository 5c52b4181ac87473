import { crc32 } from 'node:zlib';
import { type Block, type Column, relayout, sampleCount, sliceBlock } from '../codec';
import type { Id } from '../model/id';
import { decodeLayout, type Layout } from '../model/layout';
import { unpackLayout } from '../model/packed-layout';
import type { LocatedBlock, Selection, TimeRange } from '../model/selection';
import {
  type ArchivedChunk,
  type ArchiveReader,
  type ByteRange,
  CorruptArchiveError,
  isAsked,
  type ListedChunk,
  type ObjectBytes,
  type PlannedRead,
  type StoredBlock,
} from './archive-format';
import {
  decodeDirectory,
  decodePages,
  NO_VALUES,
  type PageDirectory,
  type ParquetChunk,
  type ParquetIndex,
  type Section,
  StoredParquet,
} from './parquet-chunk';
import { readTrailer, type Trailer, unpack } from './parquet-trailer';
import { decodeSkeleton, type RowSets } from './skeleton';

/** The reader fetches two pages with one request if the gap between them is at most this size. */
const MAX_GAP_BYTES = 32 * 1024;

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

/** Counts the samples of some columns of a listed chunk in a range, without a request. */
export function countListed(
  { directory }: ListedChunk,
  columns: Iterable<number>,
  { fromMs, toMs }: TimeRange,
): number {
  if (directory === undefined) return 0;
  const { rowSets } = decodeDirectory(directory);
  const inRange = sliceBlock(rowSets.block, fromMs, toMs).columns;
  const counts = new Map(rowSets.block.columns.map((rowSet, i) => [rowSet, inRange[i]!.values.length]));
  let count = 0;
  for (const column of columns) count += counts.get(rowSets.rowSetOf(column))!;
  return count;
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
