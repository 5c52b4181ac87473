import { setTimeout as sleep } from 'node:timers/promises';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { KinesisClient } from '@aws-sdk/client-kinesis';
import type { S3Client } from '@aws-sdk/client-s3';
import type { HttpHandlerOptions } from '@smithy/core/protocols';
import { isThrottlingError } from '@smithy/core/retry';
import { CALLS_REPEATED } from './names';
import { makeSigner, type Signer } from './signature';
import { use } from './units';

/** Maximum wait after a direct call was throttled, in ms. The SDK's retries have the same maximum. */
const MAX_WAIT_MS = 1_000;

/** The address to which requests are sent. */
interface Origin {
  readonly protocol: string;
  readonly hostname: string;
  readonly port: number | undefined;
  /** Prefix of every path: the bucket if the endpoint has one host name for all buckets, else ''. */
  readonly path: string;
}

export interface DirectRequest {
  readonly method: 'GET' | 'POST';
  /** URI-encoded path, which begins with `/`. In S3 it lacks the bucket. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** The bucket of an object; absent for other services. */
  readonly bucket?: string;
  readonly abortSignal?: HttpHandlerOptions['abortSignal'];
}

export interface DirectResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
}

/**
 * Sends signed requests to a service without the SDK, with the credentials, endpoint, connections and time-outs of
 * a client of the SDK. After a failure, the SDK must make the call again: it handles errors, retries, throttling
 * and clock skew.
 */
export class DirectRequests {
  private readonly sign: Signer;
  private readonly origins = new Map<string | undefined, Promise<Origin>>();

  /**
   * @param service name of the service in signatures
   * @param endpointVariable environment variable that overrides the service's endpoint
   */
  constructor(
    private readonly client: DynamoDBClient | KinesisClient | S3Client,
    service: string,
    private readonly endpointVariable: string,
  ) {
    this.sign = makeSigner(service);
  }

  /**
   * Sends a request.
   *
   * @param read decodes the response; returns undefined if the call has failed
   * @returns the result of `read`; undefined if the call has failed. A failed call is counted. If the service throttled
   *   it, this method has also waited for a random time: the SDK does not know about the failed call, and would make
   *   its first attempt immediately
   */
  async send<Output>(
    { method, path, headers, body, bucket, abortSignal }: DirectRequest,
    read: (received: DirectResponse) => Output | undefined,
  ): Promise<Output | undefined> {
    const { config } = this.client;
    let received: DirectResponse | undefined;
    try {
      const found = this.origins.get(bucket) ?? this.findOrigin(bucket);
      this.origins.set(bucket, found);
      const [origin, credentials, region] = await Promise.all([found, config.credentials(), config.region()]);
      const { hostname, port } = origin;
      const host = port === undefined ? hostname : `${hostname}:${port}`;
      const target = { method, path: origin.path + path };
      const signed = this.sign(
        { ...target, headers: { ...headers, host }, body },
        credentials,
        region,
        new Date(),
      );
      if (body.length > 0) signed['content-length'] = String(body.length);
      const request = { ...origin, ...target, query: {}, headers: signed, body };
      const { response } = await config.requestHandler.handle(request as never, { abortSignal });
      const collected = await config.streamCollector(response.body);
      received = { status: response.statusCode, headers: response.headers, body: collected };
      const output = read(received);
      if (output !== undefined) return output;
    } catch {
      // Ignore the error. The SDK makes the call again, and reports the error if it persists.
      received = undefined;
    }
    use(CALLS_REPEATED, 1);
    if (received !== undefined && isThrottled(received)) await sleep(MAX_WAIT_MS * Math.random());
    return undefined;
  }

  private async findOrigin(bucket: string | undefined): Promise<Origin> {
    const { config } = this.client;
    const { url } = config.endpointProvider({
      Region: await config.region(),
      UseFIPS: await config.useFipsEndpoint(),
      UseDualStack: await config.useDualstackEndpoint(),
      Endpoint: process.env[this.endpointVariable] ?? process.env.AWS_ENDPOINT_URL,
      ...('forcePathStyle' in config && { Bucket: bucket, ForcePathStyle: await config.forcePathStyle }),
    } as never);
    const { protocol, hostname, port, pathname } = new URL(url);
    return {
      protocol,
      hostname,
      port: port === '' ? undefined : Number(port),
      path: pathname.replace(/\/$/, ''),
    };
  }
}

function isThrottled({ status, body }: DirectResponse): boolean {
  const name = errorNameOf(body);
  return isThrottlingError({ name, message: '', $fault: 'client', $metadata: { httpStatusCode: status } });
}

/**
 * Returns the name of the error in a reply; '' if there is none. DynamoDB and Kinesis name it as
 * `{"__type":"prefix#Name"}`, S3 by `<Code>Name</Code>`.
 */
export function errorNameOf(body: Uint8Array): string {
  const text = Buffer.from(body.buffer, body.byteOffset, Math.min(body.length, 1_000)).toString('latin1');
  const [, json, xml] = /"__type"\s*:\s*"(?:[^"]*#)?(\w+)"|<Code>(\w+)<\/Code>/.exec(text) ?? [];
  return json ?? xml ?? '';
}
