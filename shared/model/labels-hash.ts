import type { Labels } from './labels';
import { TextHash } from './text-hash';

/** Maximum number of strings whose hashes are cached. Names and values of labels recur from series to series. */
const MAX_TEXTS = 16_384;
/** Maximum length of a string whose hash is cached, in characters. */
const MAX_LENGTH = 256;
/**
 * Maximum number of labels per series whose hashes are kept for the next series. Consecutive series mostly have the
 * same labels at the same positions, so these labels need not be hashed again.
 */
const MAX_POSITIONS = 32;
/** Number of bytes that a {@link labelsKey} has around the name and value of each label: `["",""],`. */
const PAIR_BYTES = 8;
/** Number of bytes that the key has around the whole list of labels: two brackets, minus the last comma. */
const KEY_BYTES = 1;

/**
 * Computes the hash of labels. The hash is the sum of the labels' hashes. Their order therefore does not matter, and
 * the hash of two sets together is the sum of their hashes. A call of {@link of} leaves its result in the fields of
 * this object, where the next call overwrites it, so calls allocate nothing. Texts and labels that recur are hashed
 * only once.
 */
export class LabelsHash {
  private readonly textHash = new TextHash();
  /** Index of each cached text in the arrays below. */
  private readonly indexes = new Map<string, number>();
  private readonly hashes = new Int32Array(MAX_TEXTS + 1);
  private readonly bytes = new Int32Array(MAX_TEXTS + 1);
  /** The labels of the previous series, by position. */
  private readonly pairs = new Array<Labels[number] | undefined>(MAX_POSITIONS + 1).fill(undefined);
  private readonly pairHashes = new Int32Array(MAX_POSITIONS + 1);
  private readonly pairBytes = new Int32Array(MAX_POSITIONS + 1);

  /** The hash of the labels, 32 bits. */
  number = 0;
  /** Size of the labels' {@link labelsKey} in bytes, without escape characters. */
  keyBytes = 0;

  of(labels: Labels): this {
    const { pairs, pairHashes, pairBytes } = this;
    let sum = 0;
    let bytes = KEY_BYTES;
    for (let i = 0; i < labels.length; i++) {
      const pair = labels[i]!;
      const position = Math.min(i, MAX_POSITIONS);
      if (pair !== pairs[position]) this.read(position, pair);
      sum = (sum + pairHashes[position]!) | 0;
      bytes += pairBytes[position]!;
    }
    this.number = sum;
    this.keyBytes = bytes;
    return this;
  }

  private read(position: number, pair: Labels[number]): void {
    const { hashes, bytes } = this;
    // Read the hash of the name before looking up the value, which may clear the cache.
    const name = this.indexOf(pair[0]);
    const nameHash = hashes[name]!;
    const nameBytes = bytes[name]!;
    const value = this.indexOf(pair[1]);
    let hash = Math.imul(nameHash ^ 0x9e3779b9, 0x5bd1e995) ^ hashes[value]!;
    hash = Math.imul(hash ^ (hash >>> 15), 0xc2b2ae35);
    this.pairs[position] = pair;
    this.pairHashes[position] = hash ^ (hash >>> 13);
    this.pairBytes[position] = PAIR_BYTES + nameBytes + bytes[value]!;
  }

  private indexOf(text: string): number {
    const isKept = text.length <= MAX_LENGTH;
    const known = isKept ? this.indexes.get(text) : undefined;
    if (known !== undefined) return known;
    // A text that is not cached uses the last index.
    let index = MAX_TEXTS;
    if (isKept) {
      if (this.indexes.size === MAX_TEXTS) this.indexes.clear();
      index = this.indexes.size;
      this.indexes.set(text, index);
    }
    const { low, high } = this.textHash.of(text);
    this.hashes[index] = low ^ Math.imul(high, 0x85ebca6b);
    this.bytes[index] = Buffer.byteLength(text);
    return index;
  }
}

export const labelsHash = new LabelsHash();

/**
 * Returns the total size of the labels' names and values, in bytes.
 *
 * @param keyBytes {@link LabelsHash.keyBytes} of the labels
 */
export function textBytesOf(keyBytes: number, labels: Labels): number {
  return keyBytes - KEY_BYTES - PAIR_BYTES * labels.length;
}

/** Returns the {@link LabelsHash.keyBytes} of two sets of labels combined, given that of each set. */
export function keyBytesTogether(a: number, b: number): number {
  return a + b - KEY_BYTES;
}
