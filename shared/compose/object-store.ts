import { S3Client } from '@aws-sdk/client-s3';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { type CallTimes, WORKING } from '../platform/call-time';
import { getDirectly } from '../platform/direct-object';
import { meterObjects } from '../platform/units';
import { boundCalls, requestHandler } from './bounded';

/** Options of S3 clients. An emulator has only one host name, so requests to it have the bucket in the path. */
const OPTIONS = { maxAttempts: 5, forcePathStyle: process.env.AWS_ENDPOINT_URL !== undefined };

/**
 * Makes the S3 client of a function that writes objects of any size. A call may take any length of time, but
 * fails if its connection is idle for `WORKING.totalMs`.
 */
export function objectStore(): S3Client {
  const connections = new NodeHttpHandler({
    connectionTimeout: WORKING.connectMs,
    socketTimeout: WORKING.totalMs,
  });
  return meterObjects(new S3Client({ ...OPTIONS, requestHandler: connections }));
}

/** Makes the S3 client of a function that reads parts of objects, with a time limit for each call. */
export function objectReader(times: CallTimes): S3Client {
  const client = new S3Client({ ...OPTIONS, requestHandler: requestHandler(times) });
  return getDirectly(boundCalls(meterObjects(client), times));
}
