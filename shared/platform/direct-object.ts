import { GetObjectCommand, type GetObjectCommandOutput, type S3Client } from '@aws-sdk/client-s3';
import { DirectRequests, type DirectResponse } from './direct-request';
import { encodeRfc3986 } from './signature';
import { use } from './units';

/** SHA-256 of an empty body. S3 requires the hash of the body in a header. */
const NO_BODY_HASH = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const NO_BODY = new Uint8Array(0);

/**
 * Makes an S3 client get objects faster, by calling S3 directly, as direct-call.ts does for tables. If the reply is not
 * 200 or 206, the SDK makes the call again.
 *
 * S3's checksums are not verified: S3 has them only for whole objects. Callers that read ranges must verify checksums
 * of their own.
 *
 * A call takes about 0.5 ms of CPU time through the SDK, and 0.15 ms directly. A read of 30 days makes 30 such calls.
 */
export function getDirectly(client: S3Client): S3Client {
  const send = client.send.bind(client) as (command: unknown, ...rest: unknown[]) => Promise<unknown>;
  const requests = new DirectRequests(client, 's3', 'AWS_ENDPOINT_URL_S3');

  const get = async ({ input }: GetObjectCommand): Promise<Partial<GetObjectCommandOutput> | undefined> => {
    const { Bucket = '', Key = '', Range, IfMatch, ...others } = input;
    if (Object.keys(others).length > 0) return undefined;
    const path = `/${Key.split('/').map(encodeRfc3986).join('/')}`;
    const headers = {
      'x-amz-content-sha256': NO_BODY_HASH,
      ...(Range === undefined ? {} : { range: Range }),
      ...(IfMatch === undefined ? {} : { 'if-match': IfMatch }),
    };
    return requests.send({ method: 'GET', path, headers, body: NO_BODY, bucket: Bucket }, outputOf);
  };

  client.send = (async (command: unknown, ...rest: unknown[]) => {
    const isDirect = command instanceof GetObjectCommand && rest.length === 0;
    const output = isDirect ? await get(command) : undefined;
    if (output === undefined) return send(command, ...rest);
    use('ObjectGets', 1);
    return output;
  }) as typeof client.send;
  return client;
}

function outputOf({ status, headers, body }: DirectResponse): Partial<GetObjectCommandOutput> | undefined {
  if (status !== 200 && status !== 206) return undefined;
  const { etag, 'content-range': ContentRange } = headers;
  const Body = { transformToByteArray: async () => body };
  return { Body: Body as never, ETag: etag, ContentRange, ContentLength: body.length };
}
