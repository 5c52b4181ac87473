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

/** Of texts or pairs: two halves of 32 bits, and bytes in UTF-8. */
class Hashes {
  readonly low: Int32Array;
  readonly high: Int32Array;
  readonly bytes: Int32Array;

  constructor(count: number) {
    this.low = new Int32Array(count);
    this.high = new Int32Array(count);
    this.bytes = new Int32Array(count);
  }
}

/**
 * The hash of a label set, the same in any order: the sum of its pairs' hashes. It is made anew by each {@link of}, without an
 * object or a text for each series; texts and pairs that recur are hashed once.
 */
export class LabelsHash {
  private readonly hash = new TextHash();
  /** Their indexes in the arrays below. */
  private readonly indexes = new Map<string, number>();
  private readonly texts = new Hashes(MAX_TEXTS + 1);
  /** Of the series before, by place. */
  private readonly names = new Array<string>(MAX_PLACES + 1).fill('');
  private readonly nameHashes = new Hashes(MAX_PLACES + 1);
  private readonly pairs = new Array<Labels[number] | undefined>(MAX_PLACES + 1).fill(undefined);
  private readonly pairHashes = new Hashes(MAX_PLACES + 1);

  /** 53 bits. */
  number = 0;
  /** Bytes of the labels' {@link labelsKey}, without those that escapes add. */
  keyBytes = 0;

  of(labels: Labels): this {
    const { pairs, pairHashes } = this;
    let low = 0;
    let high = 0;
    let bytes = KEY_BYTES;
    for (let i = 0; i < labels.length; i++) {
      const pair = labels[i]!;
      const place = Math.min(i, MAX_PLACES);
      if (pair !== pairs[place]) this.read(place, pair);
      low = (low + pairHashes.low[place]!) | 0;
      high = (high + pairHashes.high[place]!) | 0;
      bytes += pairHashes.bytes[place]!;
    }
    this.number = (high >>> 11) * 2 ** 32 + (low >>> 0);
    this.keyBytes = bytes;
    return this;
  }

  private read(place: number, pair: Labels[number]): void {
    const { texts, nameHashes: names, pairHashes } = this;
    if (pair[0] !== this.names[place] || this.pairs[place] === undefined) {
      const name = this.indexOf(pair[0]);
      names.low[place] = texts.low[name]!;
      names.high[place] = texts.high[name]!;
      names.bytes[place] = texts.bytes[name]!;
      this.names[place] = pair[0];
    }
    const value = this.indexOf(pair[1]);
    let low = Math.imul(names.low[place]! ^ 0x9e3779b9, 0x5bd1e995) ^ texts.low[value]!;
    let high = Math.imul(names.high[place]! ^ 0x85ebca6b, 0x1b873593) ^ texts.high[value]!;
    low = Math.imul(low ^ (low >>> 15) ^ (high >>> 16), 0xc2b2ae35);
    high = Math.imul(high ^ (high >>> 13) ^ (low >>> 15), 0x85ebca6b);
    this.pairs[place] = pair;
    pairHashes.low[place] = low ^ (low >>> 13);
    pairHashes.high[place] = high ^ (high >>> 16);
    pairHashes.bytes[place] = PAIR_BYTES + names.bytes[place]! + texts.bytes[value]!;
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
    const { low, high } = this.hash.of(text);
    this.texts.low[index] = low;
    this.texts.high[index] = high;
    this.texts.bytes[index] = Buffer.byteLength(text);
    return index;
  }
}

/** A label set with its hash. */
export interface HashedLabels {
  readonly labels: Labels;
  /** 53 bits, see {@link LabelsHash}. */
  readonly hash: number;
  /** Bytes of their {@link labelsKey}, without those that escapes add. */
  readonly keyBytes: number;
}

const shared = new LabelsHash();

export function hashedLabels(labels: Labels): HashedLabels {
  const { number: hash, keyBytes } = shared.of(labels);
  return { labels, hash, keyBytes };
}

/** {@link HashedLabels.keyBytes} of labels whose hash is known. */
export function keyBytesOf(labels: Labels): number {
  let bytes = KEY_BYTES;
  for (const [name, value] of labels)
    bytes += PAIR_BYTES + Buffer.byteLength(name) + Buffer.byteLength(value);
  return bytes;
}

/** Bytes of names and values alone. */
export function textBytesOf({ labels, keyBytes }: HashedLabels): number {
  return keyBytes - KEY_BYTES - PAIR_BYTES * labels.length;
}
