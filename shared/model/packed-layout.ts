import { constants as zlib, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { ByteWriter } from './bytes';
import { Cache } from './cache';
import { CACHES } from './cache-budgets';
import { type Id, idText } from './id';
import type { Labels } from './labels';
import { encodeSeries, layoutIdOf, seriesCountOf } from './layout-bytes';

/** A layout as records and stores hold it: compressed once, where it is made. */
export interface PackedLayout {
  readonly id: Id;
  /** The id's 16 bytes. */
  readonly idBytes: Uint8Array;
  readonly seriesCount: number;
  /** zstd of the layout's bytes. */
  readonly packed: Uint8Array;
}

/** Most bytes that a layout may unpack to; those of this release are far smaller. */
const MAX_LAYOUT_BYTES = 4 * 1024 * 1024;

/** Small tables and chunks: a layout is a few KB, and zstd's defaults take as long to allocate as to compress. */
const PACK = {
  chunkSize: 4096,
  params: { [zlib.ZSTD_c_compressionLevel]: 1, [zlib.ZSTD_c_windowLog]: 15 },
};

const UNPACK = { chunkSize: 16_384, maxOutputLength: MAX_LAYOUT_BYTES };

export function packLayout(bytes: Uint8Array): PackedLayout {
  const idBytes = layoutIdOf(bytes);
  return {
    id: idText(idBytes),
    idBytes,
    seriesCount: seriesCountOf(bytes),
    // A copy with memory of its own: zlib returns a view, which would keep its whole chunk, and Buffer.from cuts from a slab,
    // of which a layout of 50 bytes would keep 8 KB.
    packed: new Uint8Array(zstdCompressSync(bytes, PACK)),
  };
}

/**
 * Unpacks a layout.
 *
 * @param packed zstd of its bytes
 * @throws {Error} when `packed` is not zstd, or unpacks to more than {@link MAX_LAYOUT_BYTES}
 */
export function unpackLayout(packed: Uint8Array): Buffer {
  const bytes = zstdDecompressSync(packed, UNPACK);
  // zlib returns a view: a small layout is copied, or it would keep the view's whole chunk in memory.
  return 2 * bytes.length < bytes.buffer.byteLength ? Buffer.from(bytes) : bytes;
}

/**
 * Bytes of layouts that a record brought and that were checked, by id. To store a new layout takes its bytes three times; without the
 * cache an ingester unpacks them each time.
 */
const checkedBytes = new Cache<Buffer>(CACHES.unpackedLayouts, ({ length }) => length + 200);

/** @param id hash of the bytes */
export function noteChecked(id: Id, bytes: Buffer): void {
  checkedBytes.set(id, bytes);
}

/** A layout's bytes, unpacked unless the layout was checked lately. */
export function bytesOfPacked({ id, packed }: Pick<PackedLayout, 'id' | 'packed'>): Buffer {
  return checkedBytes.get(id) ?? unpackLayout(packed);
}

/** A larger layout makes {@link packSeries} replace the buffer. */
const MAX_ROOM_BYTES = 1_000_000;

/** Buffer for the bytes of one layout, reused. */
let room = new ByteWriter(64 * 1024);

/** Packs what {@link encodeLayout} returns, without allocating a buffer for the bytes. */
export function packSeries(ordered: readonly { readonly labels: Labels }[]): PackedLayout {
  const bytes = encodeSeries(room.restart(), ordered);
  if (bytes.length > MAX_ROOM_BYTES) room = new ByteWriter(64 * 1024);
  return packLayout(bytes);
}
