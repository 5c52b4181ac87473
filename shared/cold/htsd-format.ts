import { crc32, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { encodeChunk, openChunk, sampleCount } from '../codec';
import type { Id } from '../model/id';
import { decodeLayout, type Layout } from '../model/layout';
import { type LayoutBlock, pickFromChunk } from '../model/layout-block';
import type { GroupId } from '../model/placement';
import type { LocatedBlock, Selection } from '../model/selection';
import {
  type ArchivedChunk,
  type ArchiveFormat,
  type ArchiveReader,
  type ArchiveWriter,
  type ByteRange,
  CorruptArchiveError,
  isAsked,
  type ObjectBytes,
  type PlannedRead,
  type StoredBlock,
} from './archive-format';

/**
 * Our own format: chunks, group after group, the layouts that name their series, an index, and a footer that locates the
 * index.
 *
 *     'HTSDARC1'  8 bytes
 *     chunks and layouts, one after the other
 *     index       zstd of JSON, see {@link HtsdIndex}
 *     footer      uint64 offset of the index, uint32 its length, uint32 CRC-32 of the index, 'HTSDARC1'
 *
 * Integers are little-endian. Chunks bear their own checksums; layouts are checked against their ids.
 */
export const HTSD_FORMAT: ArchiveFormat = {
  writer: (write) => new HtsdWriter(write),
  open: openHtsd,
};

export interface HtsdIndex {
  /** In order of group, then time. */
  readonly chunks: readonly ArchivedChunk[];
  readonly layouts: readonly (ByteRange & { readonly id: Id })[];
  /** The warm items the object holds: sort key -> revision. */
  readonly warm: Readonly<Record<string, string>>;
}

export const HTSD_MAGIC = Buffer.from('HTSDARC1');
const FOOTER_BYTES = 24;
const MAX_INDEX_BYTES = 256 * 1024 * 1024;

class HtsdWriter implements ArchiveWriter {
  private end = 0;
  private readonly chunks: ArchivedChunk[] = [];
  /** Written after the chunks. */
  private readonly layouts = new Map<Id, Uint8Array>();

  constructor(private readonly write: (bytes: Uint8Array) => Promise<void>) {}

  async addGroup(group: GroupId, blocks: readonly (LayoutBlock | StoredBlock)[]): Promise<void> {
    const last = this.chunks.at(-1)?.group;
    if (last !== undefined && last >= group)
      throw new RangeError(`group ${group} follows ${last}; groups must ascend`);
    for (const block of blocks) {
      const { layout } = block;
      this.layouts.set(layout.id, layout.bytes);
      const bytes = bytesOf(block);
      const { minTimestamp, maxTimestamp, samples } = describeChunk(bytes);
      const range = await this.place(bytes);
      this.chunks.push({ group, layout: layout.id, minTimestamp, maxTimestamp, samples, ...range });
    }
  }

  async finish(warm: ReadonlyMap<string, string>): Promise<undefined> {
    const layouts: HtsdIndex['layouts'][number][] = [];
    for (const [id, bytes] of this.layouts) layouts.push({ id, ...(await this.place(bytes)) });
    const index: HtsdIndex = { chunks: this.chunks, layouts, warm: Object.fromEntries(warm) };
    const packed = zstdCompressSync(Buffer.from(JSON.stringify(index)));
    const { offset, length } = await this.place(packed);
    const footer = Buffer.alloc(FOOTER_BYTES);
    footer.writeBigUInt64LE(BigInt(offset), 0);
    footer.writeUInt32LE(length, 8);
    footer.writeUInt32LE(crc32(packed), 12);
    HTSD_MAGIC.copy(footer, 16);
    await this.place(footer);
  }

  private async place(bytes: Uint8Array): Promise<ByteRange> {
    if (this.end === 0) {
      await this.write(HTSD_MAGIC);
      this.end = HTSD_MAGIC.length;
    }
    await this.write(bytes);
    const offset = this.end;
    this.end += bytes.length;
    return { offset, length: bytes.length };
  }
}

/** A chunk of the block: the stored one, if its object is of this format. */
function bytesOf(block: LayoutBlock | StoredBlock): Uint8Array {
  if (block instanceof StoredChunk) return block.bytes;
  return encodeChunk('chunk' in block ? block.decode().block : block.block);
}

function describeChunk(bytes: Uint8Array) {
  const { minTimestamp, maxTimestamp, sampleCount: samples } = openChunk(bytes);
  return { minTimestamp, maxTimestamp, samples };
}

class StoredChunk implements StoredBlock {
  constructor(
    readonly chunk: ArchivedChunk,
    readonly layout: Layout,
    readonly bytes: Uint8Array,
  ) {}

  decode(): LayoutBlock {
    return { block: openChunk(this.bytes).block(), layout: this.layout };
  }
}

async function openHtsd(object: ObjectBytes): Promise<ArchiveReader> {
  const offset = Math.max(0, object.byteLength - FOOTER_BYTES);
  const footer = await object.slice({ offset, length: object.byteLength - offset });
  const { crc, ...range } = locateIndex(footer, object.byteLength);
  return new HtsdReader(object, decodeIndex(await object.slice(range), crc));
}

class HtsdReader implements ArchiveReader {
  readonly chunks: HtsdIndex['chunks'];
  private readonly revisions: HtsdIndex['warm'];
  private readonly layouts: ReadonlyMap<Id, ByteRange>;

  constructor(
    private readonly object: ObjectBytes,
    { chunks, layouts, warm }: HtsdIndex,
  ) {
    this.chunks = chunks;
    this.revisions = warm;
    this.layouts = new Map(layouts.map((layout) => [layout.id, layout]));
  }

  async warm(): Promise<HtsdIndex['warm']> {
    return this.revisions;
  }

  plan(selection: Selection): PlannedRead[] {
    const { layouts } = selection;
    return this.chunks
      .filter((chunk) => isAsked(chunk, selection))
      .map((chunk) => {
        const ranges = layouts.has(chunk.layout) ? [chunk] : [chunk, this.rangeOf(chunk.layout)];
        return { chunk, ranges: ranges.map(({ offset, length }) => ({ offset, length })), selection };
      });
  }

  async read({ chunk, ranges, selection }: PlannedRead): Promise<LocatedBlock | undefined> {
    const [bytes, layoutBytes] = await Promise.all(ranges.map((range) => this.object.slice(range)));
    const layout = selection.layouts.get(chunk.layout) ?? this.decodeLayout(chunk.layout, layoutBytes!);
    const reader = openChunk(bytes!);
    const block = pickFromChunk(reader, layout, selection.wanted);
    const place = `${this.object.key} @ ${chunk.offset} + ${chunk.length}`;
    return block && { place, bytes: chunk.length, samples: reader.sampleCount, block };
  }

  async layout(id: Id): Promise<Layout> {
    return this.decodeLayout(id, await this.object.slice(this.rangeOf(id)));
  }

  async load(chunk: ArchivedChunk): Promise<StoredBlock> {
    const [bytes, layout] = await Promise.all([this.object.slice(chunk), this.layout(chunk.layout)]);
    return new StoredChunk(chunk, layout, bytes);
  }

  async verify(): Promise<void> {
    for (const chunk of this.chunks) {
      const samples = sampleCount(openChunk(await this.object.slice(chunk)).block());
      if (samples !== chunk.samples)
        throw new CorruptArchiveError(
          `${this.object.key}: the chunk at ${chunk.offset} has ${samples} samples, its index says ${chunk.samples}`,
        );
    }
  }

  private rangeOf(id: Id): ByteRange {
    const range = this.layouts.get(id);
    if (range === undefined) throw new CorruptArchiveError(`${this.object.key} has no layout ${id}`);
    return range;
  }

  private decodeLayout(id: Id, bytes: Uint8Array): Layout {
    const layout = decodeLayout(bytes);
    if (layout.id !== id)
      throw new CorruptArchiveError(`layout ${id} of ${this.object.key} has the id ${layout.id}`);
    return layout;
  }
}

/** @throws {CorruptArchiveError} */
function locateIndex(footer: Uint8Array, objectBytes: number): ByteRange & { readonly crc: number } {
  const bytes = Buffer.from(footer.buffer, footer.byteOffset, footer.length);
  if (bytes.length !== FOOTER_BYTES || !HTSD_MAGIC.equals(bytes.subarray(16)))
    throw new CorruptArchiveError(`the last ${bytes.length} bytes are no footer of an archive object`);
  const offset = Number(bytes.readBigUInt64LE(0));
  const length = bytes.readUInt32LE(8);
  if (offset + length + FOOTER_BYTES !== objectBytes)
    throw new CorruptArchiveError(`index of ${length} bytes at ${offset} in an object of ${objectBytes}`);
  return { offset, length, crc: bytes.readUInt32LE(12) };
}

/** @throws {CorruptArchiveError} */
function decodeIndex(packed: Uint8Array, crc: number): HtsdIndex {
  if (crc32(packed) !== crc)
    throw new CorruptArchiveError(`the checksum of an index of ${packed.length} bytes is wrong`);
  try {
    const text = zstdDecompressSync(packed, { maxOutputLength: MAX_INDEX_BYTES }).toString('utf8');
    return JSON.parse(text) as HtsdIndex;
  } catch (cause) {
    throw new CorruptArchiveError(`an index of ${packed.length} bytes cannot be decoded`, { cause });
  }
}
