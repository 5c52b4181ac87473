import { CorruptChunkError } from '../codec';
import { MalformedBytesError } from '../model/bytes';

/**
 * Matches DynamoDB's messages about an item or attribute that is too large. Other validation errors come from
 * a faulty deployment, and say nothing about the record.
 */
const TOO_LARGE = /size|exceed|too (large|long)|maximum/i;

/**
 * Tells whether an error means that a store, or the code before it, refuses records for their content.
 * Sending such records again would be useless.
 *
 * @returns the reason; undefined for errors that may pass, such as throttling, time-outs, denied access and
 *   outages
 */
export function contentRefusal(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const isContent =
      cause instanceof RangeError ||
      cause instanceof MalformedBytesError ||
      cause instanceof CorruptChunkError ||
      (cause.name === 'ValidationException' && TOO_LARGE.test(cause.message));
    if (isContent) return `${cause.name}: ${cause.message}`;
  }
  return undefined;
}
