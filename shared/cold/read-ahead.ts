import type { ByteRange } from './archive-format';

const BLOCK_BYTES = 4 * 1024 * 1024;
/**
 * Maximum number of blocks in memory. A reader alternates between the values of a row group and its other columns,
 * which come after the values. So the reader needs blocks from both places.
 */
const BLOCKS = 4;

/**
 * Serves small reads of an object from large blocks, for callers that read in mostly ascending order. Keeps the most
 * recently used blocks.
 */
export class ReadAhead {
  private readonly blocks = new Map<number, Promise<Uint8Array>>();

  constructor(
    private readonly fetch: (range: ByteRange) => Promise<Uint8Array>,
    private readonly objectBytes: number,
  ) {}

  async slice({ offset, length }: ByteRange): Promise<Uint8Array> {
    const first = Math.floor(offset / BLOCK_BYTES);
    const last = Math.floor((offset + length - 1) / BLOCK_BYTES);
    if (last - first + 1 >= BLOCKS) return this.fetch({ offset, length });
    const parts: Uint8Array[] = [];
    for (let block = first; block <= last; block++) parts.push(await this.block(block));
    const bytes = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
    return bytes.subarray(offset - first * BLOCK_BYTES, offset - first * BLOCK_BYTES + length);
  }

  private block(index: number): Promise<Uint8Array> {
    const known = this.blocks.get(index);
    this.blocks.delete(index);
    const offset = index * BLOCK_BYTES;
    const block = known ?? this.fetch({ offset, length: Math.min(BLOCK_BYTES, this.objectBytes - offset) });
    // Move the block to the end, so that the least recently used block is first.
    this.blocks.set(index, block);
    const [oldest] = this.blocks.keys();
    if (this.blocks.size > BLOCKS) this.blocks.delete(oldest!);
    return block;
  }
}
