import { isServerError, isThrottlingError, isTransientError } from '@smithy/core/retry';
import { PromqlError } from '../promql/errors';
import { SelectLimitError } from '../query/find-series';
import { IncompleteReadError } from '../query/incomplete';
import { RefusedError } from '../registry/refused';
import { SeriesLimitError } from '../tenancy/series-limit';
import { HttpError } from './http';
import { overLimit } from './metered';
import { statusOfPromql } from './prometheus-failure';

/**
 * The answer to whatever a handler throws: 4xx for what the client can mend, 503 for stores that fail, time out or
 * throttle, 500 for everything else, which is a bug.
 *
 * @param requestId in the message and the header of a 500, so that its log entry can be found
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
    return new HttpError(503, `${error.message}; partial=true reads the rest`, { 'retry-after': '10' });
  if (isStoreFailure(error)) {
    const isStream = error instanceof Error && error.name === 'StreamUnavailableError';
    const message = isStream ? `${error.message}; try again` : 'a store did not answer; try again';
    return new HttpError(503, message, { 'retry-after': '5' });
  }
  return new HttpError(500, `internal error; the request id is ${requestId}`, { 'x-request-id': requestId });
}

/** Nested causes looked at. */
const MAX_DEPTH = 5;

/** Whether a store failed, timed out or throttled, rather than refused a request that should not have been sent. */
export function isStoreFailure(error: unknown, depth = 0): boolean {
  if (!(error instanceof Error) || depth > MAX_DEPTH) return false;
  if (isThrottlingError(error as never) || isTransientError(error as never) || isServerError(error as never))
    return true;
  if (NAMES.has(error.name) || REDIS_MESSAGE.test(error.message)) return true;
  // The addresses of one host, each with its own refusal.
  if (error instanceof AggregateError) return error.errors.some((each) => isStoreFailure(each, depth + 1));
  return isStoreFailure(error.cause, depth + 1);
}

/** By name, where the class would load the client of a store that this function does not use. */
const NAMES = new Set([
  // AWS' SDK: a call given up, and credentials that cannot be fetched or have expired.
  'AbortError',
  'CredentialsProviderError',
  'ExpiredTokenException',
  // Ours: the stream refused records, the archive replaced an object again and again.
  'StreamUnavailableError',
  'ObjectChangedError',
]);

/**
 * ioredis' own failures, then the replies of a server that cannot serve now. By message: ioredis names its errors by
 * their constructors, which the bundle renames.
 */
const REDIS_MESSAGE = new RegExp(
  `^(?:${[
    'Command timed out',
    'Connection is closed',
    'Reached the max retries per request limit',
    'Failed to refresh slots cache',
    'Cluster is disconnect(?:ed|ing)',
    'None of startup nodes is available',
    'Node is disconnected',
    'Too many Cluster redirections',
    "(?:Stream isn't writeable|Cluster isn't ready) and enableOfflineQueue",
    'Socket timeout\\.',
    '(?:ASK|BUSY|CLUSTERDOWN|LOADING|MASTERDOWN|MISCONF|MOVED|NOREPLICAS|OOM|READONLY|TRYAGAIN) ',
    'ERR max number of clients reached',
  ].join('|')})`,
);
