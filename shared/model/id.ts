import { hash } from 'node:crypto';

/** An id as text: 128 bits in base64url, always 22 characters, never bytes a user chose. */
export type Id = string;

export const ID_BYTES = 16;

/**
 * The 128-bit id of some content: SHA-256 over the length-prefixed parts, cut to 16 bytes. Every writer derives the same
 * id, so no two can disagree (DESIGN.md, rules 7 and 11).
 *
 * @param kind keeps equal content of two kinds apart
 */
export function idBytes(kind: string, ...parts: (string | Uint8Array)[]): Buffer {
  const pieces: Buffer[] = [];
  for (const part of [kind, ...parts]) {
    const bytes =
      typeof part === 'string'
        ? Buffer.from(part, 'utf8')
        : Buffer.from(part.buffer, part.byteOffset, part.length);
    const length = Buffer.allocUnsafe(4);
    length.writeUInt32LE(bytes.length);
    pieces.push(length, bytes);
  }
  return hash('sha256', Buffer.concat(pieces), 'buffer').subarray(0, ID_BYTES);
}

export function idOf(kind: string, ...parts: (string | Uint8Array)[]): Id {
  return idBytes(kind, ...parts).toString('base64url');
}

/** The text form of an id's 16 bytes. */
export function idText(bytes: Uint8Array): Id {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64url');
}
