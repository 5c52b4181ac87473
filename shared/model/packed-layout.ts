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

/** A layout that was just checked: whoever takes a new one into its stores needs its bytes several times. */
interface CheckedLayout {
  readonly bytes: Buffer;
  readonly hashes: Float64Array;
}

/** A batch of an ingester's may have as many; those before them are kept until as many more have come. */
const MAX_RECENT_BYTES = 24_000_000;

let recent = new Map<Uint8Array, CheckedLayout>();

let recentBytes = 0;

let lessRecent = recent;

function checkedBefore(packed: Uint8Array): CheckedLayout | undefined {
  return recent.get(packed) ?? lessRecent.get(packed);
}

/**
 * Unpacks a layout, unless it was {@link noteChecked}.
 *
 * @throws {Error} when the bytes are not zstd, or unpack to more than {@link MAX_LAYOUT_BYTES}
 */
export function unpackLayout(packed: Uint8Array): Buffer {
  const known = checkedBefore(packed)?.bytes;
  if (known !== undefined) return known;
  const bytes = zstdDecompressSync(packed, UNPACK);
  // A small layout would keep its whole chunk.
  return 2 * bytes.length < bytes.buffer.byteLength ? Buffer.from(bytes) : bytes;
}

/** Keeps for a while what an array unpacks to, and its {@link checkLayout}. The array is no view of a record. */
export function noteChecked(packed: Uint8Array, checked: CheckedLayout): void {
  if (recentBytes > MAX_RECENT_BYTES) {
    lessRecent = recent;
    recent = new Map();
    recentBytes = 0;
  }
  recent.set(packed, checked);
  recentBytes += checked.bytes.length + checked.hashes.byteLength + packed.length + 200;
}

/** Most bytes that the room keeps. */
const MAX_ROOM_BYTES = 1_000_000;

/** For one layout at a time. */
let room = new ByteWriter(64 * 1024);

/** The packed {@link encodeLayout}, without a buffer for the bytes. */
export function packSeries(ordered: readonly { readonly labels: Labels }[]): PackedLayout {
  const bytes = encodeSeries(room.restart(), ordered);
  if (bytes.length > MAX_ROOM_BYTES) room = new ByteWriter(64 * 1024);
  return packLayout(bytes);
}

/** {@link seriesHashes} of a packed layout. */
export function hashesOfPacked(packed: Uint8Array): Float64Array {
  return checkedBefore(packed)?.hashes ?? seriesHashes(unpackLayout(packed));
}
