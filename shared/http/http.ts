import { isUtf8 } from 'node:buffer';
import { gunzipSync, gzipSync, type Inflate, inflateSync } from 'node:zlib';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { MAX_REQUEST_BYTES } from '../platform/names';

/** A response other than 2xx. Clients see the message in their protocol's error shape. */
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

/** Answers with a JSON body. mackerel-agent and mkr treat a 2xx without a JSON body as a failure. */
export function reply(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): APIGatewayProxyStructuredResultV2 {
  return replyText(status, JSON.stringify(body), headers);
}

/**
 * Answers with text that is already JSON.
 *
 * @param json sent unchanged
 */
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

/** Answers 200 with plain text. */
export function replyPlain(
  text: string,
  contentType = 'text/plain; charset=utf-8',
): APIGatewayProxyStructuredResultV2 {
  return {
    statusCode: 200,
    headers: { 'content-type': contentType, 'cache-control': 'no-store' },
    body: text,
  };
}

/** Answers 200 with binary data. */
export function replyBytes(
  bytes: Uint8Array,
  headers: Readonly<Record<string, string>>,
): APIGatewayProxyStructuredResultV2 {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');
  return {
    statusCode: 200,
    headers: { 'cache-control': 'no-store', ...headers },
    body,
    isBase64Encoded: true,
  };
}

/**
 * Maximum length of an uncompressed response, in characters. Lambda's limit of 6 MB also counts the JSON around the
 * body and the body's escapes.
 */
const MAX_PLAIN_RESPONSE = 4_000_000;
/** Maximum length of a base64 body, in characters. It needs no escapes. */
const MAX_COMPRESSED_RESPONSE = 5_500_000;
/** Minimum length of a response that is worth compressing, in characters. */
const MIN_COMPRESSED = 64_000;
/** Maximum length of a response before compression, in characters. A function of 512 MB easily holds it. */
export const MAX_RESPONSE = 32_000_000;

/**
 * Compresses a large response if the client accepts gzip. Browsers and Go's client (mackerel-agent, mkr) do by
 * default.
 *
 * @throws {HttpError} 413 when the response still exceeds Lambda's limit
 */
export function fitResponse(
  response: APIGatewayProxyStructuredResultV2,
  acceptEncoding: string | undefined,
): APIGatewayProxyStructuredResultV2 {
  const length = response.body?.length ?? 0;
  if (length < MIN_COMPRESSED) return response;
  const tooMuch = () =>
    new HttpError(
      413,
      `the response of ${length} characters is too long; ask for a shorter range or fewer names`,
    );
  if (length > (response.isBase64Encoded ? MAX_COMPRESSED_RESPONSE : MAX_RESPONSE)) throw tooMuch();
  // A binary response has already been compressed by its own protocol.
  if (response.isBase64Encoded) return response;
  if (!acceptsEncoding(acceptEncoding, 'gzip')) {
    if (length > MAX_PLAIN_RESPONSE) throw tooMuch();
    return response;
  }
  const body = gzipSync(response.body!, { level: 4 }).toString('base64');
  if (body.length > MAX_COMPRESSED_RESPONSE) throw tooMuch();
  return {
    ...response,
    headers: { ...response.headers, 'content-encoding': 'gzip', vary: 'accept-encoding' },
    body,
    isBase64Encoded: true,
  };
}

/**
 * Returns whether a client accepts an encoding. The weight 0 refuses an encoding, and `*` stands for every encoding that
 * the header does not name.
 *
 * @param header the header `Accept-Encoding`
 * @see https://www.rfc-editor.org/rfc/rfc9110#field.accept-encoding
 */
export function acceptsEncoding(header: string | undefined, encoding: string): boolean {
  const weights = new Map<string, number>();
  for (const part of (header ?? '').split(',')) {
    const [name = '', weight] = part.toLowerCase().split(/\s*;\s*q=/);
    weights.set(name.trim(), Number(weight ?? 1));
  }
  return (weights.get(encoding) ?? weights.get('*') ?? 0) > 0;
}

/** Turns a response to GET into the response to HEAD. */
export function withoutBody(response: APIGatewayProxyStructuredResultV2): APIGatewayProxyStructuredResultV2 {
  return { ...response, body: '', isBase64Encoded: false };
}

export function replyError({ status, message, headers }: HttpError): APIGatewayProxyStructuredResultV2 {
  return reply(status, { error: { message } }, headers);
}

/**
 * Returns `value`, or throws if it is undefined.
 *
 * @param what the kind of object, such as `host`, for the error message
 * @throws {HttpError} 404 that names the object
 */
export function requireFound<T>(what: string, name: string, value: T | undefined): T {
  if (value === undefined)
    throw new HttpError(404, `there is no ${what} ${JSON.stringify(name.slice(0, 100))}`);
  return value;
}

/**
 * Decompressors by content encoding. `deflate` is zlib's format (RFC 9110), as OpenTelemetry's SDKs send it.
 */
const DECOMPRESSORS: ReadonlyMap<string, (bytes: Buffer, options: DecompressOptions) => Buffer> = new Map([
  ['gzip', gunzipSync],
  ['x-gzip', gunzipSync],
  ['deflate', inflateAll],
]);

interface DecompressOptions {
  readonly maxOutputLength: number;
}

/** Decompresses a zlib stream. Unlike {@link inflateSync}, throws if bytes follow its end: they may be samples. */
function inflateAll(bytes: Buffer, options: DecompressOptions): Buffer {
  // Node's type declarations lack the result that the option `info` gives.
  const { buffer, engine } = inflateSync(bytes, { ...options, info: true }) as unknown as {
    readonly buffer: Buffer;
    readonly engine: Inflate;
  };
  const left = bytes.length - engine.bytesWritten;
  if (left > 0) throw new Error(`${left} bytes follow its end`);
  return buffer;
}

/**
 * Called with the size of a body before the body is used. If the body is refused as too large, the function is called
 * with the maximum size.
 */
export type OnBytes = (bytes: number) => void;

/**
 * Returns a request's body, decompressed.
 *
 * @param maxBytes maximum size before and after decompression
 * @throws {HttpError} 413 when the body exceeds `maxBytes`, 415 for an encoding other than gzip and deflate,
 *   400 when it cannot be decompressed
 */
export function bodyBytes(event: APIGatewayProxyEventV2, maxBytes: number, onBytes?: OnBytes): Buffer {
  const encoding = encodingOf(event);
  const bytes = rawBytes(event, maxBytes, onBytes);
  if (encoding === 'identity') return bytes;
  const decompress = DECOMPRESSORS.get(encoding);
  if (decompress === undefined) throw unsupportedEncoding('gzip, deflate', encoding);
  try {
    const decompressed = decompress(bytes, { maxOutputLength: maxBytes });
    onBytes?.(decompressed.length);
    return decompressed;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      onBytes?.(maxBytes);
      throw tooLarge(maxBytes);
    }
    throw new HttpError(400, `the body is not ${encoding}: ${(error as Error).message}`);
  }
}

/**
 * Returns a request's body without decompressing it.
 *
 * @throws {HttpError} 413 when it exceeds `maxBytes`
 */
export function rawBytes(
  { body = '', isBase64Encoded }: APIGatewayProxyEventV2,
  maxBytes: number,
  onBytes?: OnBytes,
): Buffer {
  const bytes = Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8');
  onBytes?.(bytes.length);
  if (bytes.length > maxBytes) throw tooLarge(maxBytes);
  return bytes;
}

/** Returns the content encoding in lower case, or `absent` if the request names none. */
export function encodingOf({ headers }: APIGatewayProxyEventV2, absent = 'identity'): string {
  return headers['content-encoding']?.trim().toLowerCase() || absent;
}

export function unsupportedEncoding(expected: string, encoding: string): HttpError {
  return new HttpError(
    415,
    `content-encoding: expected ${expected}, got ${JSON.stringify(encoding.slice(0, 100))}`,
    { 'accept-encoding': expected },
  );
}

/**
 * Returns a request's body as text, decompressed.
 *
 * @throws {HttpError} as {@link bodyBytes}; 400 when it is not UTF-8
 */
export function bodyText(
  event: APIGatewayProxyEventV2,
  maxBytes = MAX_REQUEST_BYTES,
  onBytes?: OnBytes,
): string {
  const text = event.body ?? '';
  if (encodingOf(event) === 'identity' && !event.isBase64Encoded) {
    const length = Buffer.byteLength(text);
    onBytes?.(length);
    if (length > maxBytes) throw tooLarge(maxBytes);
    return text;
  }
  const bytes = bodyBytes(event, maxBytes, onBytes);
  if (!isUtf8(bytes)) throw new HttpError(400, 'the body is not UTF-8');
  return bytes.toString('utf8');
}

/**
 * Parses a request's body as JSON.
 *
 * @returns undefined for an empty body
 * @throws {HttpError} as {@link bodyText}; 400 when it is not JSON; 413 when its structure would take far
 *   more memory than its bytes
 */
export function jsonBody(
  event: APIGatewayProxyEventV2,
  maxBytes = MAX_REQUEST_BYTES,
  onBytes?: OnBytes,
): unknown {
  return jsonOf(bodyText(event, maxBytes, onBytes));
}

/** Parses text as {@link jsonBody} does. */
export function jsonOf(text: string): unknown {
  if (text === '') return undefined;
  if (text.length > MAX_UNCOUNTED) checkStructure(text);
  try {
    return JSON.parse(text);
  } catch (error) {
    // Leave out V8's message: it quotes the text around the error, and a body must not reach logs or responses.
    throw new HttpError(400, `the body is not JSON${positionIn(error)}`);
  }
}

/** Bodies of up to this many characters are not checked: they have too few commas and brackets to take much memory. */
const MAX_UNCOUNTED = 256 * 1024;
/**
 * Maximum number of commas and opening brackets in a body. A body of 4 MB of `{},` or `[[[` would take 120 to 160 MB
 * once parsed. Posted samples have at most 4 of these characters in 41 bytes, so they stay below the maximum.
 */
const MAX_STRUCTURE = 400_000;

/** Counts commas and opening brackets, including those inside strings. Takes a few ms for 4 MB. */
function checkStructure(text: string): void {
  let structure = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x2c || code === 0x5b || code === 0x7b) structure++;
  }
  if (structure > MAX_STRUCTURE)
    throw new HttpError(
      413,
      `the body has ${structure} commas and opening brackets; at most ${MAX_STRUCTURE} are allowed`,
    );
}

function positionIn(error: unknown): string {
  const position = /position (\d+)/.exec((error as Error).message)?.[1];
  return position === undefined ? '' : `: at position ${position}`;
}

function tooLarge(maxBytes: number): HttpError {
  return new HttpError(413, `the body exceeds ${maxBytes} bytes`);
}

/** Returns the parameters of the query string. API Gateway's own map joins the values of repeated parameters. */
export function queryOf(event: APIGatewayProxyEventV2): URLSearchParams {
  return new URLSearchParams(event.rawQueryString);
}

/**
 * Returns the parameters of a form body, followed by the parameters of the query string. So a caller that takes only
 * the first value of a parameter gets the one from the body.
 *
 * @throws {HttpError} as {@link bodyText}
 */
export function parametersOf(event: APIGatewayProxyEventV2, maxBytes = MAX_REQUEST_BYTES): URLSearchParams {
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(event.headers['content-type'] ?? '');
  const form = new URLSearchParams(isForm ? bodyText(event, maxBytes) : '');
  return new URLSearchParams([...form, ...queryOf(event)]);
}
