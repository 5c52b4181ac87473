import { createHash } from 'node:crypto';
import { brotliDecompressSync } from 'node:zlib';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';

/** Files by name, each compressed by Brotli, `index.html.br` among them. */
export type CompressedFiles = ReadonlyMap<string, Buffer>;

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
};

/**
 * Scripts and styles of this origin only, and requests to nowhere else: what a page that holds an API key may do.
 * Nothing can be written into the page as HTML, since no script may make trusted types.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  vary: 'accept-encoding',
};

/**
 * Answers with the page, or one of its files. Files bear a hash of their content in their names and never change; the
 * page, which names them, is asked for each time and is a 304 when it is the same.
 */
export function serveFile(
  files: CompressedFiles,
  event: Pick<APIGatewayProxyEventV2, 'rawPath' | 'pathParameters' | 'headers'>,
): APIGatewayProxyStructuredResultV2 {
  const name = event.pathParameters?.file ?? 'index.html';
  const compressed = files.get(`${name}.br`);
  if (compressed === undefined)
    return {
      statusCode: 404,
      headers: { ...HEADERS, 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
      body: JSON.stringify({ error: { message: `there is nothing at ${event.rawPath.slice(0, 200)}` } }),
    };
  const etag = `"${createHash('sha256').update(compressed).digest('base64url').slice(0, 22)}"`;
  const headers = {
    ...HEADERS,
    'content-type': TYPES[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream',
    'cache-control': name === 'index.html' ? 'no-cache' : 'public, max-age=31536000, immutable',
    etag,
  };
  if (event.headers['if-none-match']?.includes(etag)) return { statusCode: 304, headers };
  const takesBrotli = /\bbr\b/.test(event.headers['accept-encoding'] ?? '');
  return {
    statusCode: 200,
    headers: takesBrotli ? { ...headers, 'content-encoding': 'br' } : headers,
    body: (takesBrotli ? compressed : brotliDecompressSync(compressed)).toString('base64'),
    isBase64Encoded: true,
  };
}
