import type { Labels } from './labels';
import { TextHash } from './text-hash';

/** Most texts whose hashes are cached. Label names and values recur from series to series. */
const MAX_TEXTS = 16_384;
/** Longest text whose hash is cached, in characters. */
const MAX_LENGTH = 256;
/** Most positions at which a pair is compared with the previous series' pair, which is mostly the same. */
const MAX_PLACES = 32;
/** Bytes around a pair in a {@link labelsKey}: `["",""],`. */
const PAIR_BYTES = 8;
/** Bytes around all pairs: the brackets, minus the last comma. */
const KEY_BYTES = 1;

/**
 * Computes the hash of a label set: the sum of its pairs' hashes, so that their order does not matter. Each
 * call of {@link of} replaces the result. It allocates nothing for each series, and hashes recurring texts
 * and pairs only once.
 */
export class LabelsHash {
  private readonly textHash = new TextHash();
  /** Index of each cached text in the arrays below. */
  private readonly indexes = new Map<string, number>();
  private readonly hashes = new Int32Array(MAX_TEXTS + 1);
  private readonly bytes = new Int32Array(MAX_TEXTS + 1);
  /** The pairs of the previous series, by position. */
  private readonly pairs = new Array<Labels[number] | undefined>(MAX_PLACES + 1).fill(undefined);
  private readonly pairHashes = new Int32Array(MAX_PLACES + 1);
  private readonly pairBytes = new Int32Array(MAX_PLACES + 1);

  /** The hash, 32 bits. */
  number = 0;
  /** Bytes of the labels' {@link labelsKey}, without escape characters. */
  keyBytes = 0;

  of(labels: Labels): this {
    const { pairs, pairHashes, pairBytes } = this;
    let sum = 0;
    let bytes = KEY_BYTES;
    for (let i = 0; i < labels.length; i++) {
      const pair = labels[i]!;
      const place = Math.min(i, MAX_PLACES);
      if (pair !== pairs[place]) this.read(place, pair);
      sum = (sum + pairHashes[place]!) | 0;
      bytes += pairBytes[place]!;
    }
    this.number = sum;
    this.keyBytes = bytes;
    return this;
  }

  private read(place: number, pair: Labels[number]): void {
    const { hashes, bytes } = this;
    // Read the name's hash first: looking up the value may clear the cache.
    const name = this.indexOf(pair[0]);
    const nameHash = hashes[name]!;
    const nameBytes = bytes[name]!;
    const value = this.indexOf(pair[1]);
    let hash = Math.imul(nameHash ^ 0x9e3779b9, 0x5bd1e995) ^ hashes[value]!;
    hash = Math.imul(hash ^ (hash >>> 15), 0xc2b2ae35);
    this.pairs[place] = pair;
    this.pairHashes[place] = hash ^ (hash >>> 13);
    this.pairBytes[place] = PAIR_BYTES + nameBytes + bytes[value]!;
  }

  private indexOf(text: string): number {
    const isKept = text.length <= MAX_LENGTH;
    const known = isKept ? this.indexes.get(text) : undefined;
    if (known !== undefined) return known;
    // The last index is for texts that are not cached.
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

/** Bytes of the labels' names and values only. @param keyBytes the labels' {@link LabelsHash.keyBytes} */
export function textBytesOf(keyBytes: number, labels: Labels): number {
  return keyBytes - KEY_BYTES - PAIR_BYTES * labels.length;
}

/** Returns the {@link LabelsHash.keyBytes} of two label sets together. */
export function keyBytesTogether(a: number, b: number): number {
  return a + b - KEY_BYTES;
}
