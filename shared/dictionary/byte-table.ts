import { randomInt } from 'node:crypto';

/** Maximum number of slots that a look-up visits, starting at the slot given by the key's hash. */
const MAX_PROBES = 64;
/**
 * Maximum number of entries with the same hash that get a slot. A look-up compares its key with all of them, and a
 * tenant could make many.
 */
const MAX_EQUAL = 8;
/** Number of slots of an empty table. */
const FIRST_SLOTS = 64;

/**
 * An entry is addressed by a number: the index of its memory chunk times CHUNK_WORDS, plus the index of its
 * first word in the chunk.
 */
const CHUNK_BITS = 16;
const CHUNK_WORDS = 2 ** CHUNK_BITS;
const CHUNK_MASK = CHUNK_WORDS - 1;
/**
 * Number of 32-bit words in the first chunk. Each later chunk is twice as large as the one before, up to
 * {@link CHUNK_WORDS}.
 */
const FIRST_WORDS = 1_024;

// Indexes of the words at the start of an entry. The bytes of the key follow these words.
/** Size of the key, in bytes. */
const LENGTH = 0;
/** The entry that was looked up right after this one last time; 0 if there is none. */
const SUCCESSOR = 1;
const SCOPE = 2;
const PART = 3;
const VALUE = 4;
const HEADER_WORDS = 5;

/** Minimum length of a key, in bytes, for which a native comparison is faster than a loop. */
const LONG_BYTES = 64;

/**
 * A hash table that maps keys to numbers. A key is a byte string with two numbers, `scope` and `part`. Keys are stored
 * in buffers, outside the JavaScript heap: with an object for each of a million series, garbage collection took a third
 * of post's CPU time.
 *
 * Senders send the same series every minute in the same order. So a look-up first tries the entry that followed the
 * previous entry last time, which is nearly always right. A look-up always compares bytes, because a tenant could make
 * two byte strings with equal hashes.
 */
export class ByteTable {
  private readonly words: Int32Array[] = [];
  private readonly chunks: Buffer[] = [];
  /** Number of words in use in the last chunk. */
  private used = 0;
  /** Pairs of a hash and an entry; entry 0 marks a free slot. At most half of the slots are occupied. */
  private slots = new Int32Array(2 * FIRST_SLOTS);
  private count = 0;
  /** The entry that was last found or added. */
  private last = 0;
  /** Hash of the last key for which the first guess of {@link find} was wrong. {@link add} uses it. */
  private missed = 0;

  /** @param use called with each increase of the table's memory, in bytes */
  constructor(private readonly use: (bytes: number) => void) {
    use(this.slots.byteLength + 500);
  }

  /**
   * Guesses the next entry, for a caller that does not know where the bytes of the next key end.
   *
   * @param terminator the byte that follows the key
   * @returns the entry that followed the previous one last time, if `bytes` has that entry's bytes and the terminator at
   *   `at`; else 0
   */
  guess(bytes: Buffer, at: number, terminator: number, scope = 0): number {
    const expected = this.expected();
    if (expected === 0) return 0;
    const end = at + this.lengthOf(expected);
    if (bytes[end] !== terminator || !this.isNamedBy(expected, scope, 0, bytes, at, end)) return 0;
    this.last = expected;
    return expected;
  }

  /**
   * Looks up a key: the bytes from `start` to `end`, with `scope` and `part`.
   *
   * @returns its entry; 0 if there is none
   */
  find(bytes: Uint8Array, start: number, end: number, scope = 0, part = 0): number {
    const expected = this.expected();
    if (expected !== 0 && this.isNamedBy(expected, scope, part, bytes, start, end)) {
      this.last = expected;
      return expected;
    }
    const hash = hashOf(bytes, start, end, scope, part);
    this.missed = hash;
    const { slots } = this;
    const mask = slots.length / 2 - 1;
    const first = firstSlot(hash, mask);
    for (let i = 0; i < MAX_PROBES; i++) {
      const slot = 2 * ((first + i) & mask);
      const entry = slots[slot + 1]!;
      if (entry === 0) return 0;
      if (slots[slot] === hash && this.isNamedBy(entry, scope, part, bytes, start, end)) {
        this.follow(entry);
        return entry;
      }
    }
    return 0;
  }

  /**
   * Adds a key. Call it after {@link find} returned 0 for the same key. If all slots near the key's own slot are taken,
   * later look-ups do not find the entry, and callers add the key again.
   *
   * @returns the entry
   */
  add(bytes: Uint8Array, start: number, end: number, value: number, scope = 0, part = 0): number {
    const entry = this.store(bytes, start, end, value, scope, part);
    if (2 * (this.count + 1) > this.slots.length / 2) {
      this.use(this.slots.byteLength);
      this.slots = twiceAsMany(this.slots);
    }
    const slot = freeSlot(this.slots, this.missed);
    if (slot !== undefined) {
      this.slots[slot] = this.missed;
      this.slots[slot + 1] = entry;
      this.count++;
    }
    this.follow(entry);
    return entry;
  }

  /** Returns the size of an entry's bytes. */
  lengthOf(entry: number): number {
    return this.field(entry, LENGTH);
  }

  valueOf(entry: number): number {
    return this.field(entry, VALUE);
  }

  setValue(entry: number, value: number): void {
    this.words[entry >> CHUNK_BITS]![(entry & CHUNK_MASK) + VALUE] = value;
  }

  scopeOf(entry: number): number {
    return this.field(entry, SCOPE);
  }

  partOf(entry: number): number {
    return this.field(entry, PART);
  }

  /** Returns a view of an entry's bytes. */
  bytesOf(entry: number): Buffer {
    const first = 4 * ((entry & CHUNK_MASK) + HEADER_WORDS);
    return this.chunks[entry >> CHUNK_BITS]!.subarray(first, first + this.lengthOf(entry));
  }

  private store(
    bytes: Uint8Array,
    start: number,
    end: number,
    value: number,
    scope: number,
    part: number,
  ): number {
    const size = HEADER_WORDS + Math.ceil((end - start) / 4);
    let chunk = this.words.length - 1;
    if (chunk === -1 || this.used + size > this.words[chunk]!.length) {
      const next = Math.min(CHUNK_WORDS, FIRST_WORDS * 2 ** this.words.length);
      // An entry larger than a chunk gets a chunk of its own. Word 0 stays unused, so that no entry is 0.
      const buffer = new ArrayBuffer(4 * Math.max(next, 1 + size));
      this.words.push(new Int32Array(buffer));
      this.chunks.push(Buffer.from(buffer));
      this.used = 1;
      this.use(buffer.byteLength + 300);
      chunk++;
    }
    const words = this.words[chunk]!;
    const at = this.used;
    words[at + LENGTH] = end - start;
    words[at + SCOPE] = scope;
    words[at + PART] = part;
    words[at + VALUE] = value;
    this.chunks[chunk]!.set(bytes.subarray(start, end), 4 * (at + HEADER_WORDS));
    this.used += size;
    return chunk * CHUNK_WORDS + at;
  }

  /** Whether an entry has this key. */
  private isNamedBy(
    entry: number,
    scope: number,
    part: number,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): boolean {
    const chunk = entry >> CHUNK_BITS;
    const words = this.words[chunk]!;
    const at = entry & CHUNK_MASK;
    const length = end - start;
    if (words[at + LENGTH] !== length || words[at + SCOPE] !== scope || words[at + PART] !== part)
      return false;
    const own = this.chunks[chunk]!;
    const first = 4 * (at + HEADER_WORDS);
    if (length >= LONG_BYTES) return own.compare(bytes, start, end, first, first + length) === 0;
    // Compare from the end, because similar keys often begin with the same bytes.
    let i = length - 1;
    while (i >= 0 && own[first + i] === bytes[start + i]) i--;
    return i < 0;
  }

  /** Returns the successor of the entry that was looked up last; 0 if it has none. */
  private expected(): number {
    return this.last === 0 ? 0 : this.field(this.last, SUCCESSOR);
  }

  private field(entry: number, word: number): number {
    return this.words[entry >> CHUNK_BITS]![(entry & CHUNK_MASK) + word]!;
  }

  /** Records that `entry` follows the entry of the previous look-up. */
  private follow(entry: number): void {
    const { last } = this;
    if (last !== 0) this.words[last >> CHUNK_BITS]![(last & CHUNK_MASK) + SUCCESSOR] = entry;
    this.last = entry;
  }
}

/**
 * Returns the slot at which the search for a hash begins. Uses the upper bits of the hash, because a hash is a product:
 * its upper bits depend on all bits of the factors, its lower bits only on the factors' lower bits.
 *
 * @param mask number of slots, which is a power of two, minus 1
 */
export function firstSlot(hash: number, mask: number): number {
  return hash >>> Math.clz32(mask);
}

/**
 * Returns the index of a free slot for an entry with a hash. Returns undefined if all slots within reach are taken, or
 * if {@link MAX_EQUAL} entries already have this hash.
 */
function freeSlot(slots: Int32Array, hash: number): number | undefined {
  const mask = slots.length / 2 - 1;
  const first = firstSlot(hash, mask);
  let equal = 0;
  for (let i = 0; i < MAX_PROBES; i++) {
    const slot = 2 * ((first + i) & mask);
    if (slots[slot + 1] === 0) return slot;
    if (slots[slot] === hash && ++equal === MAX_EQUAL) return undefined;
  }
  return undefined;
}

/**
 * Returns a table with twice as many slots and the same entries. Drops entries that have no free slot within reach.
 */
function twiceAsMany(old: Int32Array): Int32Array<ArrayBuffer> {
  const slots = new Int32Array(2 * old.length);
  for (let at = 0; at < old.length; at += 2) {
    if (old[at + 1] === 0) continue;
    const slot = freeSlot(slots, old[at]!);
    if (slot === undefined) continue;
    slots[slot] = old[at]!;
    slots[slot + 1] = old[at + 1]!;
  }
  return slots;
}

/**
 * An odd factor by which hashes are multiplied. It is random for each process, so that senders cannot choose bytes
 * whose hashes collide.
 */
export const MULTIPLIER = randomInt(2 ** 32) | 1;

function hashOf(bytes: Uint8Array, start: number, end: number, scope: number, part: number): number {
  const numbers = Math.imul(Math.imul(scope, 0x9e3779b1) ^ part, 0x85ebca6b);
  return Math.imul(byteHash(bytes, start, end) ^ numbers ^ (numbers >>> 15), MULTIPLIER);
}

/** Hashes the bytes from `start` to `end`: a 32-bit FNV-1a that takes four bytes at a time. */
export function byteHash(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5 ^ (end - start);
  let at = start;
  for (; at + 4 <= end; at += 4) {
    const word = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    hash = Math.imul(hash ^ word, 0x01000193);
    // Mix upper bits into the lower ones, which depend only on the lower bits of the factors.
    hash ^= hash >>> 15;
  }
  for (; at < end; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
  return hash ^ (hash >>> 13);
}
