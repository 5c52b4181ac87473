import { isUtf8 } from 'node:buffer';
import { gunzipSync, gzipSync } from 'node:zlib';
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
  return replyText(status, JSON.stringify(body), headers);
}

/** @param json is sent as it is */
export function replyText(
  status: number,
  json: string,
  headers: Readonly<Record<string, string>> = {},
): APIGatewayProxyStructuredResultV2 {
  return {
    statusCode: status,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store', ...headers },
    body: json,
  };
}

/** Lambda answers with 6 MB at most, counted with the JSON around and the escapes in the body. */
const MAX_PLAIN_ANSWER = 4_000_000;
/** As base64, which needs no escapes. */
const MAX_COMPRESSED_ANSWER = 5_500_000;
/** Below it compression saves no time. */
const MIN_COMPRESSED = 64_000;
/** Characters of an answer before it is compressed: what a function of 512 MB makes at ease. */
export const MAX_ANSWER = 32_000_000;

/**
 * An answer as it can leave: a large one as gzip, if the client takes that. Go's client, so mackerel-agent and mkr,
 * does by itself, as browsers do.
 *
 * @throws {HttpError} 413 when it is still larger than Lambda answers
 */
export function fitAnswer(
  answer: APIGatewayProxyStructuredResultV2,
  acceptEncoding: string | undefined,
): APIGatewayProxyStructuredResultV2 {
  const length = answer.body?.length ?? 0;
  if (length < MIN_COMPRESSED) return answer;
  const tooMuch = () => new HttpError(413, `the answer has ${length} characters; ask for less`);
  if (length > MAX_ANSWER) throw tooMuch();
  const accepts = (acceptEncoding ?? '').split(',').some((part) => /^(gzip|\*)(;|$)/i.test(part.trim()));
  if (!accepts) {
    if (length > MAX_PLAIN_ANSWER) throw tooMuch();
    return answer;
  }
  const body = gzipSync(answer.body!, { level: 4 }).toString('base64');
  if (body.length > MAX_COMPRESSED_ANSWER) throw tooMuch();
  return {
    ...answer,
    headers: { ...answer.headers, 'content-encoding': 'gzip', vary: 'accept-encoding' },
    body,
    isBase64Encoded: true,
  };
}

export function replyError({ status, message, headers }: HttpError): APIGatewayProxyStructuredResultV2 {
  return reply(status, { error: { message } }, headers);
}

/**
 * A request's body, decompressed.
 *
 * @param maxBytes before and after decompression
 * @throws {HttpError} 413 when it exceeds `maxBytes`, 415 when it is encoded in a way other than gzip, 400
 * when it is not gzip or not UTF-8
 */
export function bodyText(event: APIGatewayProxyEventV2, maxBytes = MAX_BODY_BYTES): string {
  const encoding = event.headers['content-encoding']?.trim().toLowerCase() || 'identity';
  if (!['identity', 'gzip', 'x-gzip'].includes(encoding))
    throw new HttpError(
      415,
      `content-encoding: expected gzip, got ${JSON.stringify(encoding.slice(0, 100))}`,
      {
        'accept-encoding': 'gzip',
      },
    );
  const text = event.body ?? '';
  if (encoding === 'identity' && !event.isBase64Encoded) {
    if (text.length > maxBytes || Buffer.byteLength(text) > maxBytes) throw tooLarge(maxBytes);
    return text;
  }
  let bytes = Buffer.from(text, event.isBase64Encoded ? 'base64' : 'utf8');
  if (bytes.length > maxBytes) throw tooLarge(maxBytes);
  if (encoding !== 'identity') {
    try {
      bytes = gunzipSync(bytes, { maxOutputLength: maxBytes });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(maxBytes);
      throw new HttpError(400, `the body is not gzip: ${(error as Error).message}`);
    }
  }
  if (!isUtf8(bytes)) throw new HttpError(400, 'the body is not UTF-8');
  return bytes.toString('utf8');
}

/**
 * A request's body as JSON.
 *
 * @returns null for an empty body, as for the literal
 * @throws {HttpError} as {@link bodyText}, 400 when it is not JSON, and 413 when it would take much more memory than it
 * has bytes
 */
export function jsonBody(event: APIGatewayProxyEventV2, maxBytes = MAX_BODY_BYTES): unknown {
  const text = bodyText(event, maxBytes);
  if (text === '') return null;
  if (text.length > MAX_UNCOUNTED) checkStructure(text);
  try {
    return JSON.parse(text);
  } catch (error) {
    // V8 quotes the text around the error; a body is not for logs or answers.
    throw new HttpError(400, `the body is not JSON${positionIn(error)}`);
  }
}

/** Shorter bodies cannot hold enough to matter. */
const MAX_UNCOUNTED = 256 * 1024;
/** 4 MB of `{},` or `[[[` are 120 to 160 MB once parsed. Samples, with 4 in 41 bytes at most, stay below. */
const MAX_STRUCTURE = 400_000;

/** Counts what a JSON text is made of, a few ms for 4 MB; what stands inside of strings counts too. */
function checkStructure(text: string): void {
  let structure = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x2c || code === 0x5b || code === 0x7b) structure++;
  }
  if (structure > MAX_STRUCTURE)
    throw new HttpError(
      413,
      `the body has ${structure} commas and opening brackets, ${MAX_STRUCTURE} at most`,
    );
}

function positionIn(error: unknown): string {
  const position = /position (\d+)/.exec((error as Error).message)?.[1];
  return position === undefined ? '' : `: at position ${position}`;
}

function tooLarge(maxBytes: number): HttpError {
  return new HttpError(413, `the body exceeds ${maxBytes} bytes`);
}

/** The query string, in which a name may stand several times; API Gateway's own map joins those. */
export function queryOf(event: APIGatewayProxyEventV2): URLSearchParams {
  return new URLSearchParams(event.rawQueryString);
}
