import { snappyUncompressor } from 'hysnappy';
import { ByteReader, MalformedBytesError } from '../../model/bytes';
import { RequestTooLargeError } from '../protocol';

/**
 * Maximum uncompressed size that a block may announce, in bytes. Senders limit requests to 2,000 samples, about 500 KB.
 */
export const MAX_UNCOMPRESSED_BYTES = 32 * 1024 * 1024;

let uncompress: ReturnType<typeof snappyUncompressor> | undefined;

/**
 * Uncompresses a snappy block (not the framed format).
 *
 * The announced length is checked before anything is allocated. A block that yields fewer bytes than announced is
 * refused, because the rest of the buffer would hold bytes of an earlier request. A block that yields more bytes is
 * refused, too.
 *
 * @throws {RequestTooLargeError} when the block announces more than {@link MAX_UNCOMPRESSED_BYTES}
 * @throws {MalformedBytesError}
 * @see https://github.com/google/snappy/blob/main/format_description.txt
 */
export function uncompressBlock(block: Uint8Array): Uint8Array {
  const reader = new ByteReader(block);
  const bytes = reader.uvarint();
  if (bytes > MAX_UNCOMPRESSED_BYTES)
    throw new RequestTooLargeError(
      `the snappy block declares ${bytes} bytes; at most ${MAX_UNCOMPRESSED_BYTES} are allowed`,
    );
  if (bytes === 0) {
    if (reader.remaining > 0)
      throw new MalformedBytesError(`snappy: ${reader.remaining} bytes after an empty block`);
    return new Uint8Array(0);
  }
  uncompress ??= snappyUncompressor();
  try {
    return uncompress(block, bytes);
  } catch (error) {
    throw new MalformedBytesError(`snappy: ${(error as Error).message}`);
  }
}
