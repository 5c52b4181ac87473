import { hash } from 'node:crypto';

/** An id as a string: 128 bits in base64url, always 22 characters. It never contains characters that a user chose. */
export type Id = string;

export const ID_BYTES = 16;

/** Size of the length field before each part of the hash input, in bytes. */
const LENGTH_BYTES = 4;
/** Reused buffer for the hash input. V8 collects the whole heap for every 64 MB of new buffers. */
const scratch = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * Returns the id of some content: the first 16 bytes of the SHA-256 of its parts, each after its own length. All
 * writers derive the same id, so they cannot disagree (DESIGN.md, rules 7 and 11).
 *
 * @param kind the kind of the content; equal parts of different kinds have different ids
 */
export function idBytes(kind: string, ...parts: (string | Uint8Array)[]): Buffer {
  return hash('sha256', inputOf([kind, ...parts]), 'buffer').subarray(0, ID_BYTES);
}

/** Returns the first 32 bits of {@link idBytes}, in half the time. */
export function idHead(kind: string, ...parts: (string | Uint8Array)[]): number {
  return Number.parseInt(hash('sha256', inputOf([kind, ...parts]), 'hex').slice(0, 8), 16);
}

/** Concatenates parts, each after its length. The next call overwrites the result. */
function inputOf(parts: readonly (string | Uint8Array)[]): Buffer {
  let most = 0;
  // A code unit of UTF-16 takes at most three bytes of UTF-8.
  for (const part of parts) most += LENGTH_BYTES + (typeof part === 'string' ? 3 : 1) * part.length;
  const input = most <= scratch.length ? scratch : Buffer.allocUnsafe(most);
  let end = 0;
  for (const part of parts) {
    const start = end + LENGTH_BYTES;
    if (typeof part === 'string') end = start + input.write(part, start, 'utf8');
    else {
      input.set(part, start);
      end = start + part.length;
    }
    input.writeUInt32LE(end - start, start - LENGTH_BYTES);
  }
  return input.subarray(0, end);
}

/** Returns {@link idBytes} as a string. */
export function idOf(kind: string, ...parts: (string | Uint8Array)[]): Id {
  return idBytes(kind, ...parts).toString('base64url');
}

/** Returns the string form of an id, given its 16 bytes. */
export function idText(bytes: Uint8Array): Id {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64url');
}
