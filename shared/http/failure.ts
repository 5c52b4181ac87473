import { isStoreFailure } from '../platform/store-failure';
import { PromqlError } from '../promql/errors';
import { SelectLimitError } from '../query/find-series';
import { IncompleteReadError } from '../query/incomplete';
import { RefusedError } from '../registry/refused';
import { SeriesLimitError } from '../tenancy/limits';
import { HttpError } from './http';
import { overLimit } from './metered';
import { statusOfPromql } from './prometheus-failure';

/**
 * Turns an error that a handler threw into a response: 4xx if the client can correct the error; 503 if a store failed,
 * timed out or throttled; 500 for everything else. A 500 is a bug.
 *
 * @param requestId shown in the message and a header of a 500, to find its log entry
 */
export function failureOf(error: unknown, requestId: string): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof PromqlError) return new HttpError(statusOfPromql(error), error.message);
  if (error instanceof SelectLimitError)
    return new HttpError(error.limit === 'time' ? 503 : 400, error.message);
  if (error instanceof SeriesLimitError)
    return overLimit('series', error.limit, Math.ceil(error.retryAfterMs / 1000));
  if (error instanceof RefusedError) return new HttpError(error.isTooLarge ? 413 : 400, error.message);
  if (error instanceof IncompleteReadError)
    return new HttpError(503, `${error.message}; add partial=true to read the rest`, { 'retry-after': '10' });
  if (isStoreFailure(error)) {
    const isStream = error instanceof Error && error.name === 'StreamUnavailableError';
    const message = isStream ? `${error.message}; try again` : 'a store did not answer; try again';
    return new HttpError(503, message, { 'retry-after': '5' });
  }
  return new HttpError(500, `internal error; the request id is ${requestId}`, { 'x-request-id': requestId });
}
