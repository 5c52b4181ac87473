import { S3Client } from '@aws-sdk/client-s3';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { type CallTimes, WORKING } from '../platform/call-time';
import { getDirectly } from '../platform/direct-object';
import { meterObjects } from '../platform/units';
import { bounded, requestHandler } from './bounded';

/** Path style where an endpoint is given, since an emulator has one host name. */
const OPTIONS = { maxAttempts: 5, forcePathStyle: process.env.AWS_ENDPOINT_URL !== undefined };

/** The S3 client of a function that writes objects of any size: a call fails when its connection stands still. */
export function objectStore(): S3Client {
  const connections = new NodeHttpHandler({
    connectionTimeout: WORKING.connectMs,
    socketTimeout: WORKING.totalMs,
  });
  return meterObjects(new S3Client({ ...OPTIONS, requestHandler: connections }));
}

/** The S3 client of a function that reads parts of objects. */
export function objectReader(times: CallTimes): S3Client {
  const client = new S3Client({ ...OPTIONS, requestHandler: requestHandler(times) });
  return getDirectly(bounded(meterObjects(client), times));
}
