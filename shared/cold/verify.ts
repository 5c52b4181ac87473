import { CorruptChunkError } from '../codec';
import { MalformedBytesError } from '../model/bytes';
import { CorruptArchiveError } from './archive-format';
import type { ArchivedPart } from './archived-day';
import { type ColdTier, ObjectGoneError } from './cold-tier';

/** Classes of errors that mean that an object's bytes differ from the bytes that were written. */
const CORRUPT = [CorruptArchiveError, CorruptChunkError, MalformedBytesError, RangeError];

/**
 * Reads a whole object back, and checks it against the manifest's entry (ETag, size, number of samples) and against the
 * checksums and counts in its own index.
 *
 * @returns a description of the difference; undefined if there is none
 */
export async function verifyObject(
  cold: ColdTier,
  { key, etag, bytes, samples }: ArchivedPart,
): Promise<string | undefined> {
  try {
    const object = await cold.open(key);
    if (object === undefined) return 'there is no such object';
    if (object.etag !== etag) return `ETag ${object.etag}, the manifest says ${etag}`;
    if (object.bytes !== bytes) return `${object.bytes} bytes, the manifest says ${bytes}`;
    const held = object.reader.chunks.reduce((sum, chunk) => sum + chunk.samples, 0);
    if (held !== samples) return `${held} samples, the manifest says ${samples}`;
    await object.reader.verify();
    return undefined;
  } catch (error) {
    if (error instanceof ObjectGoneError) return 'it was removed or replaced while it was read';
    if (CORRUPT.some((kind) => error instanceof kind)) return (error as Error).message;
    throw error;
  }
}
