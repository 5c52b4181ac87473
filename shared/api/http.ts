import { gunzipSync } from 'node:zlib';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';

/** An answer other than 2xx, in Mackerel's error shape. */
export class HttpError extends Error {
  override readonly name = 'HttpError';

  constructor(
    readonly status: number,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}

/** Largest body, before and after decompression. API Gateway and Lambda would take about 4.5 MB. */
export const MAX_BODY_BYTES = 4_000_000;

/** A 2xx without a JSON body counts as a failure for mackerel-agent and mkr. */
export function reply(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): APIGatewayProxyStructuredResultV2 {
  return {
    statusCode: status,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store', ...headers },
    body: JSON.stringify(body),
  };
}

export function replyError({ status, message, headers }: HttpError): APIGatewayProxyStructuredResultV2 {
  return reply(status, { error: { message } }, headers);
}

/**
 * A request's body as JSON.
 *
 * @returns null for an empty body, as for the literal
 * @throws {HttpError} 413 when it exceeds {@link MAX_BODY_BYTES}, 400 when it is not JSON in UTF-8
 */
export function jsonBody(event: APIGatewayProxyEventV2): unknown {
  let bytes = Buffer.from(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8');
  if (bytes.length > MAX_BODY_BYTES) throw tooLarge();
  if (event.headers['content-encoding']?.trim().toLowerCase() === 'gzip') {
    try {
      bytes = gunzipSync(bytes, { maxOutputLength: MAX_BODY_BYTES });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge();
      throw new HttpError(400, `the body is not gzip: ${(error as Error).message}`);
    }
  }
  if (bytes.length === 0) return null;
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    // V8 quotes the text around the error; a body is not for logs or answers.
    throw new HttpError(400, `the body is not JSON${positionIn(error)}`);
  }
}

function positionIn(error: unknown): string {
  const position = /position (\d+)/.exec((error as Error).message)?.[1];
  return position === undefined ? '' : `: at position ${position}`;
}

function tooLarge(): HttpError {
  return new HttpError(413, `the body exceeds ${MAX_BODY_BYTES} bytes`);
}

/** The query string, in which a name may stand several times; API Gateway's own map joins those. */
export function queryOf(event: APIGatewayProxyEventV2): URLSearchParams {
  return new URLSearchParams(event.rawQueryString);
}

/**
 * A required integer of the query string.
 *
 * @throws {HttpError} 400, naming the field and the value
 */
export function integerParameter(query: URLSearchParams, name: string): number {
  const text = query.get(name);
  if (text === null) throw new HttpError(400, `${name} is missing`);
  const value = Number(text);
  if (!/^-?\d+$/.test(text) || !Number.isSafeInteger(value))
    throw new HttpError(400, `${name} is not an integer: ${JSON.stringify(text.slice(0, 100))}`);
  return value;
}

/**
 * A path parameter, percent-decoded.
 *
 * API Gateway decodes these already; what still holds a `%` is taken as it is.
 */
export function pathParameter(event: APIGatewayProxyEventV2, name: string): string {
  return event.pathParameters?.[name] ?? '';
}
