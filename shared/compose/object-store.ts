import { S3Client } from '@aws-sdk/client-s3';
import { meterObjects } from '../platform/units';

/** The S3 client of a function; path style where an endpoint is given, since an emulator has one host name. */
export function objectStore(): S3Client {
  return meterObjects(
    new S3Client({ maxAttempts: 5, forcePathStyle: process.env.AWS_ENDPOINT_URL !== undefined }),
  );
}
