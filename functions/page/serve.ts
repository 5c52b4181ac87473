import { createHash } from 'node:crypto';
import { brotliDecompressSync } from 'node:zlib';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { acceptsEncoding } from '../../shared/http/http';

/** Brotli-compressed files by name, such as `index.html.br`. */
export type CompressedFiles = ReadonlyMap<string, Buffer>;

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
};

/**
 * The page holds an API key. So it may load scripts and styles only from this origin, and send requests nowhere else.
 * No script may create trusted types, so no script can write HTML into the page.
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
 * Returns a page or one of its files. Names of scripts and styles contain a hash of the content, so browsers may cache
 * them forever. A page names the current files, so browsers revalidate it on each request. The response is 304 while
 * the page is unchanged.
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
    'cache-control': name.endsWith('.html') ? 'no-cache' : 'public, max-age=31536000, immutable',
    etag,
  };
  if (event.headers['if-none-match']?.includes(etag)) return { statusCode: 304, headers };
  const takesBrotli = acceptsEncoding(event.headers['accept-encoding'], 'br');
  return {
    statusCode: 200,
    headers: takesBrotli ? { ...headers, 'content-encoding': 'br' } : headers,
    body: (takesBrotli ? compressed : brotliDecompressSync(compressed)).toString('base64'),
    isBase64Encoded: true,
  };
}
