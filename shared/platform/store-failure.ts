import { isServerError, isThrottlingError, isTransientError } from '@smithy/core/retry';

/** Maximum number of nested causes that are inspected. */
const MAX_DEPTH = 5;

/**
 * Whether an error means that a store failed, timed out or throttled. A store that refuses a malformed request has not
 * failed: such a request is a bug in this project.
 */
export function isStoreFailure(error: unknown, depth = 0): boolean {
  if (!(error instanceof Error) || depth > MAX_DEPTH) return false;
  if (isThrottlingError(error as never) || isTransientError(error as never) || isServerError(error as never))
    return true;
  if (NAMES.has(error.name) || REDIS_MESSAGE.test(error.message)) return true;
  // Node throws an AggregateError when each address of a host refused the connection.
  if (error instanceof AggregateError) return error.errors.some((each) => isStoreFailure(each, depth + 1));
  return isStoreFailure(error.cause, depth + 1);
}

/**
 * Names of errors that are store failures. They are recognized by name, because importing their classes would load
 * clients of stores that the function does not use.
 */
const NAMES = new Set([
  // AWS SDK: an aborted call, and credentials that cannot be fetched or have expired.
  'AbortError',
  'CredentialsProviderError',
  'ExpiredTokenException',
  // This project's own: the stream refused records, or archive objects were removed repeatedly while they were being
  // read.
  'StreamUnavailableError',
  'ObjectGoneError',
]);

/**
 * Messages of ioredis' own errors, and error replies of a Redis server that is temporarily unable to serve. Errors are
 * matched by message because ioredis names them after their constructors, which bundling renames.
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
