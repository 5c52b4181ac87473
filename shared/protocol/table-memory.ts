/** Memory of the tables of series and of line heads in a process, about. Most processes get one protocol alone. */
const MAX_BYTES = 320_000_000;

/** Shortest time between a table's first entry and its emptying: one that made room would lose each entry just before it comes again. */
export const TABLE_FULL_MS = 15 * 60_000;

class TableMemory {
  private usedBytes = 0;

  get leftBytes(): number {
    return MAX_BYTES - this.usedBytes;
  }

  /** @param bytes negative when they are free again */
  use(bytes: number): void {
    this.usedBytes += bytes;
  }
}

export const tableMemory = new TableMemory();

/** FNV-1a of four bytes at a time, from `start` to `end`: 32 bits. */
export function byteHash(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5 ^ (end - start);
  let at = start;
  for (; at + 4 <= end; at += 4) {
    const word = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    hash = Math.imul(hash ^ word, 0x01000193);
    // The low bits of a product depend on low bits only.
    hash ^= hash >>> 15;
  }
  for (; at < end; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
  return hash ^ (hash >>> 13);
}
