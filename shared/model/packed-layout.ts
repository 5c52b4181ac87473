import { constants as zlib, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { ByteWriter } from './bytes';
import { type Id, idText } from './id';
import type { Labels } from './labels';
import { encodeSeries, layoutIdOf, seriesCountOf, seriesHashes } from './layout-bytes';

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

/** A layout that was just checked. The cache keeps it because storing a new layout takes its bytes several times. */
interface CheckedLayout {
  readonly bytes: Buffer;
  readonly hashes: Float64Array;
}

/** Bytes after which `recent` becomes `lessRecent`. An ingester's batch may bring as many. */
const MAX_RECENT_BYTES = 24_000_000;

let recent = new Map<Uint8Array, CheckedLayout>();

let recentBytes = 0;

let lessRecent = recent;

function checkedBefore(packed: Uint8Array): CheckedLayout | undefined {
  return recent.get(packed) ?? lessRecent.get(packed);
}

/**
 * Unpacks a layout, or returns the bytes that {@link noteChecked} cached.
 *
 * @throws {Error} when the bytes are not zstd, or unpack to more than {@link MAX_LAYOUT_BYTES}
 */
export function unpackLayout(packed: Uint8Array): Buffer {
  const known = checkedBefore(packed)?.bytes;
  if (known !== undefined) return known;
  const bytes = zstdDecompressSync(packed, UNPACK);
  // zlib returns a view: a small layout is copied, or it would keep the view's whole chunk in memory.
  return 2 * bytes.length < bytes.buffer.byteLength ? Buffer.from(bytes) : bytes;
}

/** Caches a checked layout by its packed array. The array must own its memory: a view would keep its whole record in memory. */
export function noteChecked(packed: Uint8Array, checked: CheckedLayout): void {
  if (recentBytes > MAX_RECENT_BYTES) {
    lessRecent = recent;
    recent = new Map();
    recentBytes = 0;
  }
  recent.set(packed, checked);
  recentBytes += checked.bytes.length + checked.hashes.byteLength + packed.length + 200;
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

/** {@link seriesHashes} of a packed layout. */
export function hashesOfPacked(packed: Uint8Array): Float64Array {
  return checkedBefore(packed)?.hashes ?? seriesHashes(unpackLayout(packed));
}
