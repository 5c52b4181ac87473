import {
  BatchExecuteStatementCommand,
  BatchGetItemCommand,
  DeleteItemCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { KinesisClient, PutRecordsCommand } from '@aws-sdk/client-kinesis';
import { S3Client } from '@aws-sdk/client-s3';
import type { HttpHandlerOptions } from '@smithy/core/protocols';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { type CallTimes, WORKING } from '../platform/call-time';
import { callDirectly } from '../platform/direct-call';
import { getDirectly } from '../platform/direct-object';
import { variable } from '../platform/environment';
import { ENV } from '../platform/names';
import type { Table } from '../platform/table';
import { countStreamUnits, countTableUnits, meterObjects, meterStream, meterTables } from '../platform/units';

/**
 * DynamoDB clients of this instance, one for each set of time limits. Both tables share a client and its connections.
 */
const clients = new Map<CallTimes, DynamoDBClient>();

function tableClient(times: CallTimes): DynamoDBClient {
  const known = clients.get(times);
  if (known !== undefined) return known;
  const options = { maxAttempts: 5, cacheMiddleware: true, requestHandler: requestHandler(times) };
  const client = callDirectly(
    boundCalls(meterTables(new DynamoDBClient(options)), times),
    'dynamodb',
    {
      BatchExecuteStatement: BatchExecuteStatementCommand,
      BatchGetItem: BatchGetItemCommand,
      DeleteItem: DeleteItemCommand,
      GetItem: GetItemCommand,
      PutItem: PutItemCommand,
      Query: QueryCommand,
      UpdateItem: UpdateItemCommand,
    },
    countTableUnits,
  );
  clients.set(times, client);
  return client;
}

/** Returns the meta table, which has everything except chunks. */
export function metaTable(times: CallTimes = WORKING): Table {
  return { client: tableClient(times), name: variable(ENV.metaTable) };
}

/** Returns the warm table, which has chunks. */
export function warmTable(times: CallTimes = WORKING): Table {
  return { client: tableClient(times), name: variable(ENV.warmTable) };
}

/** Makes the Kinesis client of a function that puts records. */
export function streamClient(): KinesisClient {
  return callDirectly(
    // Use HTTP/1.1. The SDK's default, HTTP/2, gains nothing: an instance has only one request in progress at a time.
    // And emulators close HTTP/2 connections too early.
    boundCalls(
      meterStream(new KinesisClient({ maxAttempts: 3, requestHandler: requestHandler(WORKING) })),
      WORKING,
    ),
    'kinesis',
    { PutRecords: PutRecordsCommand },
    countStreamUnits,
  );
}

/**
 * Makes the S3 client of a function that writes objects of any size. A call may take any length of time, but
 * fails if its connection is idle for `WORKING.totalMs`.
 */
export function objectStore(): S3Client {
  const connections = new NodeHttpHandler({
    connectionTimeout: WORKING.connectMs,
    socketTimeout: WORKING.totalMs,
  });
  return meterObjects(s3Client(connections));
}

/** Makes the S3 client of a function that reads parts of objects, with a time limit for each call. */
export function objectReader(times: CallTimes): S3Client {
  return getDirectly(boundCalls(meterObjects(s3Client(requestHandler(times))), times));
}

/** Makes an S3 client. An emulator has only one host name, so requests to it have the bucket in the path. */
function s3Client(requestHandler: NodeHttpHandler): S3Client {
  const forcePathStyle = process.env.AWS_ENDPOINT_URL !== undefined;
  return new S3Client({ maxAttempts: 5, forcePathStyle, requestHandler });
}

/** Makes the handler that sends an SDK client's requests over HTTP/1.1, with a time limit for each attempt. */
export function requestHandler({ connectMs, attemptMs, totalMs }: CallTimes): NodeHttpHandler {
  return new NodeHttpHandler({
    connectionTimeout: connectMs,
    requestTimeout: attemptMs,
    throwOnRequestTimeout: true,
    // Give up on a reply that stops halfway.
    socketTimeout: totalMs,
  });
}

interface Client {
  send: (command: never, options?: never) => Promise<unknown>;
}

/**
 * Bounds every call of a client: the call, including its retries, fails after `totalMs`. Callers that pass an abort
 * signal set their own bound.
 */
export function boundCalls<C extends Client>(client: C, { totalMs }: CallTimes): C {
  const send = client.send.bind(client) as unknown as (
    command: unknown,
    options: HttpHandlerOptions,
  ) => Promise<unknown>;
  client.send = ((command: unknown, options: HttpHandlerOptions = {}) =>
    send(command, {
      ...options,
      abortSignal: options.abortSignal ?? AbortSignal.timeout(totalMs),
    })) as C['send'];
  return client;
}
