import {
  ConditionalCheckFailedException,
  DynamoDBServiceException,
  InternalServerError,
  ProvisionedThroughputExceededException,
  ResourceNotFoundException,
} from '@aws-sdk/client-dynamodb';
import { ObjectGoneError } from '../../../shared/cold/cold-tier';
import { failureOf } from '../../../shared/http/failure';
import { HttpError } from '../../../shared/http/http';
import { isStoreFailure } from '../../../shared/platform/store-failure';
import { SelectLimitError } from '../../../shared/query/find-series';
import { IncompleteReadError } from '../../../shared/query/incomplete';
import { RefusedError } from '../../../shared/registry/refused';
import { StreamUnavailableError } from '../../../shared/stream/put';
import { SeriesLimitError } from '../../../shared/tenancy/limits';

const aws = (status: number) => ({ message: 'x', $metadata: { httpStatusCode: status } });
const coded = (code: string) => Object.assign(new Error(code), { code });
const named = (name: string) => Object.assign(new Error('x'), { name });

describe('a failed call of a store', () => {
  test.each<{ name: string; error: unknown }>([
    { name: 'DynamoDB that throttles', error: new ProvisionedThroughputExceededException(aws(400)) },
    { name: 'DynamoDB that fails', error: new InternalServerError(aws(500)) },
    {
      name: 'S3 that asks to slow down',
      error: new DynamoDBServiceException({ name: 'SlowDown', $fault: 'server', ...aws(503) }),
    },
    { name: 'a request that timed out', error: named('TimeoutError') },
    { name: 'a call that was given up', error: named('AbortError') },
    { name: 'credentials that cannot be fetched', error: named('CredentialsProviderError') },
    ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH'].map(
      (code) => ({ name: `a connection with ${code}`, error: coded(code) }),
    ),
    { name: 'every address refusing', error: new AggregateError([coded('ECONNREFUSED')]) },
    { name: 'a cause that is one of these', error: new Error('x', { cause: coded('ECONNRESET') }) },
    ...[
      'Command timed out',
      'Connection is closed.',
      'Reached the max retries per request limit (which is 3). Refer to "maxRetriesPerRequest"',
      'Failed to refresh slots cache.',
      'None of startup nodes is available',
      'Too many Cluster redirections. Last error: ReplyError: MOVED 1 a:1',
      'LOADING Redis is loading the dataset in memory',
      'OOM command not allowed when used memory > maxmemory.',
      'CLUSTERDOWN The cluster is down',
      "READONLY You can't write against a read only replica.",
    ].map((message) => ({ name: `Redis: ${message.slice(0, 30)}`, error: new Error(message) })),
    { name: 'a stream that refuses records', error: new StreamUnavailableError('x') },
    { name: 'an object that is gone again and again', error: new ObjectGoneError('x') },
  ])('$name is a 503', ({ error }) => {
    expect(isStoreFailure(error)).toBe(true);
    const { status, headers } = failureOf(error, 'r1');
    expect([status, headers['retry-after']]).toEqual([503, '5']);
  });
});

test.each([
  { limit: 'samples', status: 400 },
  { limit: 'memory', status: 400 },
  { limit: 'time', status: 503 },
] as const)('a read beyond its limit of $limit is a $status that says so', ({ limit, status }) => {
  const failure = failureOf(new SelectLimitError(limit, 'too much'), 'r1');
  expect([failure.status, failure.message]).toEqual([status, 'too much']);
});

describe('a bug', () => {
  test.each<{ name: string; error: unknown }>([
    { name: 'a TypeError', error: new TypeError("Cannot read properties of undefined (reading 'x')") },
    { name: 'a RangeError', error: new RangeError('Invalid array length') },
    { name: 'an Error of ours', error: new Error('not reachable') },
    { name: 'something that is no Error', error: 'text' },
    { name: 'nothing', error: undefined },
    { name: 'a missing table', error: new ResourceNotFoundException(aws(400)) },
    { name: 'a request that DynamoDB finds invalid', error: named('ValidationException') },
    { name: 'a denied call', error: named('AccessDeniedException') },
    { name: 'a condition nobody expected to fail', error: new ConditionalCheckFailedException(aws(400)) },
    { name: 'a script that fails', error: new Error('ERR user_script:1: attempt to index a nil value') },
    { name: 'a key of another type', error: new Error('WRONGTYPE Operation against a key') },
  ])('$name is a 500 with the request id, and nothing of the error', ({ error }) => {
    const { status, message, headers } = failureOf(error, 'r1');
    expect([status, message, headers]).toEqual([
      500,
      'internal error; the request id is r1',
      { 'x-request-id': 'r1' },
    ]);
  });
});

describe('what the client can mend or wait for', () => {
  test.each([
    {
      name: 'an HTTP error',
      error: new HttpError(404, 'there is no host "x"'),
      status: 404,
      says: 'host "x"',
    },
    {
      name: 'a refused change',
      error: new RefusedError('the host is retired'),
      status: 400,
      says: 'retired',
    },
    { name: 'a document too large', error: new RefusedError('300 KB', true), status: 413, says: '300 KB' },
    { name: 'lost memory', error: new IncompleteReadError(0), status: 503, says: 'partial=true' },
  ])('$name is $status and says so', ({ error, status, says }) => {
    const failure = failureOf(error, 'r1');
    expect(failure.status).toBe(status);
    expect(failure.message).toContain(says);
  });
});

test('a write that the limit of series leaves nothing of is a 429 that says when to try again', () => {
  const { status, message, headers } = failureOf(new SeriesLimitError(10, 1_500), 'r1');
  expect([status, headers['retry-after']]).toEqual([429, '2']);
  expect(message).toMatch(/^the limit series of 10 is reached/);
});
