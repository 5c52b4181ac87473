import { CorruptChunkError } from '../codec';
import { MalformedBytesError } from '../model/bytes';

/**
 * Matches DynamoDB's messages about an item or attribute that is too large. Other validation errors come from
 * a faulty deployment, and say nothing about the record.
 */
const TOO_LARGE = /size|exceed|too (large|long)|maximum/i;

/** Message of the RangeError that V8 throws when the function's memory runs out. A retry of the same record may succeed. */
const OUT_OF_MEMORY = /allocation failed/i;

/**
 * Returns why a store, or code that runs before the store is called, refuses records for their content. Retrying these
 * records is pointless.
 *
 * @returns the reason; undefined for transient errors, such as throttling, time-outs, denied access,
 *   outages and a function that lacks memory
 */
export function contentRefusal(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const isContent =
      (cause instanceof RangeError && !OUT_OF_MEMORY.test(cause.message)) ||
      cause instanceof MalformedBytesError ||
      cause instanceof CorruptChunkError ||
      (cause.name === 'ValidationException' && TOO_LARGE.test(cause.message));
    if (isContent) return `${cause.name}: ${cause.message}`;
  }
  return undefined;
}
