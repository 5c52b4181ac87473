import { Readable } from 'node:stream';
import { AwsError } from './aws-error';
import type { DynamoDbModel } from './dynamodb';
import type { KinesisModel } from './kinesis';
import type { S3Model } from './s3';

/** A request as the AWS SDK passes it to its request handler. */
export interface SdkRequest {
  readonly hostname: string;
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>> | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
}

/** A response as the SDK expects it from its request handler. */
export interface SdkResponse {
  readonly statusCode: number;
  readonly headers: Record<string, string>;
  /** A stream for an object, which the SDK reads as a stream; bytes for anything else. */
  readonly body: Readable | Uint8Array;
}

/** A request, parsed as a call to an operation of a service. */
export interface Call {
  readonly service: 'dynamodb' | 'kinesis' | 's3' | 'lambda';
  readonly operation: string;
  /** The key that the call concerns, as the trace shows it. */
  readonly subject: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly request: SdkRequest;
}

export interface AwsModels {
  readonly dynamodb: DynamoDbModel;
  readonly kinesis: KinesisModel;
  readonly s3: S3Model;
}

export function callOf(request: SdkRequest): Call {
  const service = /(?:^|\.)(dynamodb|kinesis|s3|lambda)\./.exec(request.hostname)?.[1] as
    | Call['service']
    | undefined;
  if (service === undefined) throw new Error(`the simulation has no ${request.hostname}`);
  if (service === 's3')
    return {
      service,
      operation: request.method,
      subject: decodeURIComponent(request.path),
      input: {},
      request,
    };
  const input = JSON.parse(bytesOf(request.body).toString() || '{}') as Call['input'];
  if (service === 'lambda')
    return { service, operation: request.method, subject: request.path, input, request };
  const target = request.headers['x-amz-target'] ?? request.headers['X-Amz-Target'] ?? '';
  return {
    service,
    operation: target.slice(target.indexOf('.') + 1),
    subject: subjectOf(input),
    input,
    request,
  };
}

/** Answers a call to a store. */
export function respond({ service, operation, input, request }: Call, models: AwsModels): SdkResponse {
  try {
    if (service === 'dynamodb') return json(200, models.dynamodb.call(operation, input));
    if (service === 'kinesis') return json(200, models.kinesis.call(operation, input));
    const { status, headers, body } = models.s3.call({
      method: request.method,
      key: decodeURIComponent(request.path).replace(/^\//, ''),
      query: request.query ?? {},
      headers: Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name.toLowerCase(), value]),
      ),
      body: bytesOf(request.body),
    });
    return { statusCode: status, headers, body: Readable.from(body.length === 0 ? [] : [body]) };
  } catch (error) {
    if (error instanceof AwsError) return refusal(service, error);
    throw error;
  }
}

export function refusal(service: Call['service'], { status, code, message, fields }: AwsError): SdkResponse {
  if (service === 's3')
    return {
      statusCode: status,
      headers: { 'content-type': 'application/xml' },
      body: Buffer.from(`<Error><Code>${code}</Code><Message>${message}</Message></Error>`),
    };
  return json(status, { __type: `com.amazonaws#${code}`, message, ...fields }, { 'x-amzn-errortype': code });
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): SdkResponse {
  return {
    statusCode: status,
    headers: { 'content-type': 'application/x-amz-json-1.0', ...headers },
    body: Buffer.from(JSON.stringify(body)),
  };
}

/** Reads a response's body, as the SDK's own collector does. */
export async function collect(body: SdkResponse['body']): Promise<Uint8Array> {
  if (body instanceof Uint8Array) return body;
  const chunks: Buffer[] = [];
  for await (const chunk of body as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function bytesOf(body: SdkRequest['body']): Buffer {
  if (body === undefined || body === null) return Buffer.alloc(0);
  return typeof body === 'string'
    ? Buffer.from(body)
    : Buffer.from(body.buffer, body.byteOffset, body.length);
}

function subjectOf(input: Call['input']): string {
  const key = (input.Key ?? input.Item ?? input.ExpressionAttributeValues) as
    | Record<string, { S?: string }>
    | undefined;
  return `${key?.pk?.S ?? key?.[':pk']?.S ?? ''} ${key?.sk?.S ?? ''}`;
}
