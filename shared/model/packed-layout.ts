import { constants as zlib, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { ByteWriter } from './bytes';
import { Cache } from './cache';
import { CACHES } from './cache-budgets';
import { type Id, idText } from './id';
import type { Labels } from './labels';
import { encodeSeries, layoutIdOf, seriesCountOf } from './layout-bytes';

/** A layout as records and stores contain it. It is compressed once, when it is made. */
export interface PackedLayout {
  readonly id: Id;
  /** The id's 16 bytes. */
  readonly idBytes: Uint8Array;
  readonly seriesCount: number;
  /** The layout's bytes, compressed with zstd. */
  readonly packed: Uint8Array;
}

/** Most bytes that a layout may unpack to. Layouts made by this release are much smaller. */
const MAX_LAYOUT_BYTES = 4 * 1024 * 1024;

/** Small buffers: a layout is a few KB, and with zstd's defaults, allocating takes as long as compressing. */
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
    // Copy the bytes into memory of their own: zlib returns a view that keeps its whole chunk alive, and
    // Buffer.from uses a slab, so that a layout of 50 bytes would keep 8 KB alive.
    packed: new Uint8Array(zstdCompressSync(bytes, PACK)),
  };
}

/**
 * Decompresses a layout's bytes.
 *
 * @throws {Error} when `packed` is not zstd, or unpacks to more than {@link MAX_LAYOUT_BYTES}
 */
export function unpackLayout(packed: Uint8Array): Buffer {
  const bytes = zstdDecompressSync(packed, UNPACK);
  // Copy a small layout: zlib returns a view, which would keep its whole chunk alive.
  return 2 * bytes.length < bytes.buffer.byteLength ? Buffer.from(bytes) : bytes;
}

/**
 * Bytes of layouts that were checked when they arrived in records, by id. Storing a new layout uses its bytes
 * three times; without the cache, an ingester would unpack them each time.
 */
const unpackedBytes = new Cache<Buffer>(CACHES.unpackedLayouts, ({ length }) => length + 200);

/** @param id hash of the bytes */
export function noteUnpacked(id: Id, bytes: Buffer): void {
  unpackedBytes.set(id, bytes);
}

/** Returns a layout's bytes, from the cache or by unpacking them. */
export function bytesOfPacked({ id, packed }: Pick<PackedLayout, 'id' | 'packed'>): Buffer {
  return unpackedBytes.get(id) ?? unpackLayout(packed);
}

/** If a layout is larger, {@link packSeries} replaces the buffer, to free its memory. */
const MAX_ROOM_BYTES = 1_000_000;

/** Reused buffer for the bytes of one layout. */
let room = new ByteWriter(64 * 1024);

/**
 * Encodes and packs a layout like {@link encodeLayout} and {@link packLayout}, without allocating a buffer
 * for its bytes.
 */
export function packSeries(ordered: readonly { readonly labels: Labels }[]): PackedLayout {
  const bytes = encodeSeries(room.restart(), ordered);
  if (bytes.length > MAX_ROOM_BYTES) room = new ByteWriter(64 * 1024);
  return packLayout(bytes);
}
