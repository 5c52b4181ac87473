import { crc32 } from 'node:zlib';
import { type Block, sampleCount } from '../codec';
import { ByteReader, ByteWriter } from '../model/bytes';
import type { Id } from '../model/id';
import type { Layout } from '../model/layout';
import type { LayoutBlock } from '../model/layout-block';
import { type ArchivedChunk, type ByteRange, CorruptArchiveError } from './archive-format';
import { decodeValues, encodeValues } from './parquet-pages';
import { decodeRowSets, decodeSkeleton, encodeRowSets, encodeSkeleton, type RowSets } from './skeleton';

/** A part of an object that has its own checksum. */
export interface Section extends ByteRange {
  /** CRC-32 of the section's bytes. */
  readonly crc: number;
}

export interface ParquetIndex {
  /** Ordered by group, then time. */
  readonly chunks: readonly ArchivedChunk[];
  readonly layouts: readonly (ByteRange & { readonly id: Id })[];
  /**
   * One section for each row group. A section holds the row group's columns, followed by the layouts, skeletons
   * (skeleton.ts) and directories of its chunks.
   */
  readonly sections: readonly Section[];
}

/**
 * A chunk's directory. It contains the size of each page of values, from which the locations of the pages follow, and
 * the times at which each series has values.
 */
export interface PageDirectory {
  /** Size of each series' page, in bytes; 0 if the series has no values. */
  readonly pageBytes: readonly number[];
  readonly rowSets: RowSets;
}

export interface EncodedBlock {
  /** The pages of values, concatenated. */
  readonly bytes: Uint8Array;
  readonly directory: Uint8Array;
  readonly skeleton: Uint8Array;
  readonly minTimestamp: number;
  readonly maxTimestamp: number;
  readonly samples: number;
}

export function encodeBlock(block: Block): EncodedBlock {
  const pages = block.columns.map(({ values }) =>
    values.length === 0 ? undefined : encodeValues(values).bytes,
  );
  return {
    bytes: Buffer.concat(pages.filter((page) => page !== undefined)),
    directory: encodePageDirectory(
      pages.map((page) => page?.length ?? 0),
      block,
    ),
    skeleton: encodeSkeleton(block),
    minTimestamp: block.timestamps[0] ?? 0,
    maxTimestamp: block.timestamps.at(-1) ?? 0,
    samples: sampleCount(block),
  };
}

/** Encodes a directory: the number of series, the size of each series' page, the row sets, a CRC-32. */
function encodePageDirectory(pageBytes: readonly number[], block: Block): Uint8Array {
  const writer = new ByteWriter(256).uvarint(pageBytes.length);
  for (const bytes of pageBytes) writer.uvarint(bytes);
  writer.bytes(encodeRowSets(block));
  const crc = crc32(writer.finish());
  writer.hole(4).writeUInt32LE(crc);
  return writer.finish();
}

/** @throws {CorruptArchiveError} */
export function decodePageDirectory(bytes: Uint8Array): PageDirectory {
  const content = bytes.subarray(0, -4);
  const crc = Buffer.from(bytes.subarray(-4));
  if (crc.length < 4 || crc.readUInt32LE() !== crc32(content))
    throw new CorruptArchiveError(`the checksum of a directory of ${bytes.length} bytes is wrong`);
  const reader = new ByteReader(content);
  const pageBytes = Array.from({ length: reader.count(1) }, () => reader.uvarint());
  return { pageBytes, rowSets: decodeRowSets(reader.bytes(reader.remaining)) };
}

/** A chunk in its stored form. A writer can copy the bytes without decoding them. */
export class StoredBlock implements EncodedBlock {
  readonly minTimestamp: number;
  readonly maxTimestamp: number;
  readonly samples: number;

  constructor(
    readonly chunk: ArchivedChunk,
    readonly layout: Layout,
    readonly bytes: Uint8Array,
    readonly directory: Uint8Array,
    readonly skeleton: Uint8Array,
  ) {
    this.minTimestamp = chunk.minTimestamp;
    this.maxTimestamp = chunk.maxTimestamp;
    this.samples = chunk.samples;
  }

  /** @throws {CorruptChunkError | CorruptArchiveError} */
  decode(): LayoutBlock {
    const { pageBytes, rowSets } = decodePageDirectory(this.directory);
    let at = 0;
    const pages = pageBytes.map((length) => {
      at += length;
      return this.bytes.subarray(at - length, at);
    });
    const values = decodePages(pages, pageBytes.keys(), rowSets);
    return { block: decodeSkeleton(this.skeleton, rowSets, values), layout: this.layout };
  }
}

export const NO_VALUES = new Float64Array(0);

/**
 * Decodes pages of values.
 *
 * @param pages an empty page belongs to a series without values
 * @param series the series of each page
 */
export function decodePages(
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
