import { CorruptChunkError } from '../codec';
import { MalformedBytesError } from '../model/bytes';

/** DynamoDB's sentences about an item or attribute that is too large. Other validation errors are a wrong deploy's. */
const TOO_LARGE = /size|exceed|too (large|long)|maximum/i;

/**
 * Finds why a store, or the code before it, refuses records for their content, so that repeating them would be in vain.
 *
 * @returns the reason; undefined for throttling, time-outs, denied access and outages, which pass
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
