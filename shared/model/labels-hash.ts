import type { Labels } from './labels';
import { TextHash } from './text-hash';

/** Texts whose hashes are kept: label names and values recur from series to series. */
const MAX_TEXTS = 16_384;
/** Characters of such a text. */
const MAX_LENGTH = 256;
/** Labels at the same place of the series before, which most have in common with it. */
const MAX_PLACES = 32;
/** Of a {@link labelsKey}: `["",""],`. */
const PAIR_BYTES = 8;
/** Its brackets, less the last comma. */
const KEY_BYTES = 1;

/**
 * The hash of a label set, the same in any order: the sum of its pairs' hashes. It is made anew by each {@link of}, without an
 * object or a text for each series; texts and pairs that recur are hashed once.
 */
export class LabelsHash {
  private readonly textHash = new TextHash();
  /** Indexes of kept texts in the arrays below. */
  private readonly indexes = new Map<string, number>();
  private readonly hashes = new Int32Array(MAX_TEXTS + 1);
  private readonly bytes = new Int32Array(MAX_TEXTS + 1);
  /** The pairs of the series before, by place. */
  private readonly pairs = new Array<Labels[number] | undefined>(MAX_PLACES + 1).fill(undefined);
  private readonly pairHashes = new Int32Array(MAX_PLACES + 1);
  private readonly pairBytes = new Int32Array(MAX_PLACES + 1);

  /** 32 bits. */
  number = 0;
  /** Bytes of the labels' {@link labelsKey}, without those that escapes add. */
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
    // Before the value, which may make room for itself.
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
    // The last is for texts that are not kept.
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

/** Bytes of the labels' names and values alone. @param keyBytes their {@link LabelsHash.keyBytes} */
export function textBytesOf(keyBytes: number, labels: Labels): number {
  return keyBytes - KEY_BYTES - PAIR_BYTES * labels.length;
}

/** The {@link LabelsHash.keyBytes} of two label sets together. */
export function keyBytesTogether(a: number, b: number): number {
  return a + b - KEY_BYTES;
}
