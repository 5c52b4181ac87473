import { constants as zlib, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { type Id, idText } from './id';
import { layoutIdOf, seriesCountOf } from './layout-bytes';

/**
 * A packed layout: a layout whose bytes are compressed with zstd. The layout is compressed once, when it is made;
 * records and stores hold the compressed bytes.
 */
export interface PackedLayout {
  readonly id: Id;
  /** The id's 16 bytes. */
  readonly idBytes: Uint8Array;
  readonly seriesCount: number;
  /** The layout's bytes, compressed with zstd. */
  readonly packed: Uint8Array;
  /**
   * The layout's bytes, unpacked; undefined unless the layout has just arrived in a record. The ingester uses the bytes
   * of a new layout twice, and unpacking them again would take longer than all of its other steps. Caches do not keep
   * unpacked bytes.
   */
  readonly bytes?: Buffer;
}

/** Maximum size of an unpacked layout, in bytes. Layouts made by this release are much smaller. */
const MAX_LAYOUT_BYTES = 4 * 1024 * 1024;

/**
 * Options of zstd for layouts, which are a few KB. With zstd's default buffers, allocating would take as long as
 * compressing.
 */
const PACK = {
  chunkSize: 4096,
  params: { [zlib.ZSTD_c_compressionLevel]: 1, [zlib.ZSTD_c_windowLog]: 15 },
};

const UNPACK = { chunkSize: 16_384, maxOutputLength: MAX_LAYOUT_BYTES };

/** Packs the bytes of a layout, and computes its id. */
export function packLayout(bytes: Uint8Array): PackedLayout {
  const idBytes = layoutIdOf(bytes);
  return {
    id: idText(idBytes),
    idBytes,
    seriesCount: seriesCountOf(bytes),
    // Copy the bytes into a buffer of their own. zlib returns a view of a larger buffer, and Buffer.from would use
    // Node's pool. Either way, a 50-byte layout would keep kilobytes alive.
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
  // Copy a small layout, because zlib returns a view that would keep a larger buffer alive.
  return 2 * bytes.length < bytes.buffer.byteLength ? Buffer.from(bytes) : bytes;
}

/** Returns the unpacked bytes of a layout. Unpacks them if the layout does not already have them. */
export function bytesOfPacked({ packed, bytes }: Pick<PackedLayout, 'packed' | 'bytes'>): Buffer {
  return bytes ?? unpackLayout(packed);
}

/** Returns a layout without its unpacked bytes, for caches. */
export function withoutBytes({ bytes, ...layout }: PackedLayout): PackedLayout {
  return layout;
}
