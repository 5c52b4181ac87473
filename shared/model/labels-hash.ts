import type { Labels } from './labels';

/** Number of bytes that a {@link labelsKey} has around the name and value of each label: `["",""],`. */
const PAIR_BYTES = 8;
/** Number of bytes that the key has around the whole list of labels: two brackets, minus the last comma. */
const KEY_BYTES = 1;

/** The result of {@link labelsHash}. */
export interface LabelsHash {
  /** The hash of the labels, 32 bits. */
  readonly hash: number;
  /** Size of the labels' {@link labelsKey} in bytes, without escape characters. */
  readonly keyBytes: number;
}

/**
 * Computes the hash of labels. The hash is the sum of the labels' hashes. Their order therefore does not matter, and
 * the hash of two sets together is the sum of their hashes. It is not keyed with a secret, so senders can choose labels
 * with equal hashes.
 */
export function labelsHash(labels: Labels): LabelsHash {
  let hash = 0;
  let keyBytes = KEY_BYTES;
  for (const [name, value] of labels) {
    hash = (hash + pairHash(name, value)) | 0;
    keyBytes += PAIR_BYTES + Buffer.byteLength(name) + Buffer.byteLength(value);
  }
  return { hash, keyBytes };
}

function pairHash(name: string, value: string): number {
  const hash = textHash(value, textHash(name, 0x9e3779b9));
  const mixed = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

/** Hashes a text by multiplying and shifting, much like MurmurHash2. */
function textHash(text: string, seed: number): number {
  let hash = seed ^ text.length;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x5bd1e995);
    hash ^= hash >>> 15;
  }
  return hash;
}

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
