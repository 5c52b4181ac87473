import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { InvocationResult } from './function-pool';
import type { RouteResource } from './template';

/** API Gateway's limit on the size of a payload, in bytes. */
export const MAX_PAYLOAD_BYTES = 10 * 1024 * 1024;
/** Lambda's limit on the size of an event and of a response, base64 included, in bytes. */
export const MAX_INVOCATION_BYTES = 6 * 1024 * 1024;
/** API Gateway's time limit for an integration, in ms. */
const INTEGRATION_TIMEOUT_MS = 30_000;

export interface RouteMatch {
  readonly route: RouteResource;
  readonly pathParameters: Record<string, string> | undefined;
}

/**
 * Chooses a request's route as API Gateway does: exact matches before those with parameters, `$default` last.
 *
 * @param path percent-encoded, as requested
 */
export function matchRoute(
  routes: readonly RouteResource[],
  method: string,
  path: string,
): RouteMatch | undefined {
  const segments = path.split('/');
  let best: (RouteMatch & { readonly parameters: number }) | undefined;
  for (const route of routes) {
    const [routeMethod, pattern] = route.routeKey.split(' ');
    if (pattern === undefined || (routeMethod !== method && routeMethod !== 'ANY')) continue;
    const expected = pattern.split('/');
    if (expected.length !== segments.length) continue;
    const pathParameters: Record<string, string> = {};
    const matches = expected.every((part, i) => {
      const segment = segments[i]!;
      if (!part.startsWith('{')) return part === segment;
      pathParameters[part.slice(1, -1)] = decodeSegment(segment);
      return segment !== '';
    });
    const parameters = Object.keys(pathParameters).length;
    if (matches && (best === undefined || parameters < best.parameters))
      best = { route, pathParameters: parameters === 0 ? undefined : pathParameters, parameters };
  }
  const fallback = routes.find(({ routeKey }) => routeKey === '$default');
  return best ?? (fallback && { route: fallback, pathParameters: undefined });
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Content types of bodies that API Gateway passes on as text instead of base64. */
const TEXT = /^(text\/|application\/(json|javascript|xml|x-www-form-urlencoded))|\+json|\+xml/i;

/**
 * Builds the event for a request, in payload format 2.0.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
 */
export function proxyEvent(request: IncomingMessage, body: Buffer, match: RouteMatch) {
  const url = request.url ?? '/';
  const queryAt = url.indexOf('?');
  const rawPath = queryAt < 0 ? url : url.slice(0, queryAt);
  const rawQueryString = queryAt < 0 ? '' : url.slice(queryAt + 1);
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(',') : (value ?? ''),
    ]),
  );
  const query = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(rawQueryString))
    query.set(name, query.has(name) ? `${query.get(name)},${value}` : value);
  // A body without a content type counts as text, unless it is compressed.
  const isText =
    headers['content-encoding'] === undefined && TEXT.test(headers['content-type'] ?? 'text/plain');
  const now = new Date();
  return {
    version: '2.0',
    routeKey: match.route.routeKey,
    rawPath,
    rawQueryString,
    headers,
    ...(query.size === 0 ? {} : { queryStringParameters: Object.fromEntries(query) }),
    ...(match.pathParameters === undefined ? {} : { pathParameters: match.pathParameters }),
    requestContext: {
      accountId: '000000000000',
      apiId: 'local',
      domainName: headers.host ?? '127.0.0.1',
      domainPrefix: 'local',
      http: {
        method: request.method ?? 'GET',
        path: rawPath,
        protocol: `HTTP/${request.httpVersion}`,
        sourceIp: request.socket.remoteAddress ?? '127.0.0.1',
        userAgent: headers['user-agent'] ?? '',
      },
      requestId: randomUUID(),
      routeKey: match.route.routeKey,
      stage: '$default',
      time: now.toUTCString(),
      timeEpoch: now.getTime(),
    },
    ...(body.length === 0 ? {} : { body: body.toString(isText ? 'utf8' : 'base64') }),
    isBase64Encoded: body.length > 0 && !isText,
  };
}

/** Reads a request's body. Returns undefined if it exceeds API Gateway's limit. */
export async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    // Keep reading, but discard the data: a client that is still writing would not see a response.
    if (bytes <= MAX_PAYLOAD_BYTES) chunks.push(chunk);
    else chunks.length = 0;
  }
  return bytes > MAX_PAYLOAD_BYTES ? undefined : Buffer.concat(chunks);
}

/** Answers a request by invoking its route's function. */
export async function handleRequest(
  request: IncomingMessage,
  response: ServerResponse,
  routes: readonly RouteResource[],
  invoke: (functionName: string, event: unknown) => Promise<InvocationResult>,
): Promise<void> {
  const body = await readBody(request);
  if (body === undefined) return sendJson(response, 413, { message: 'Request Entity Too Large' });
  const path = (request.url ?? '/').split('?')[0]!;
  const match = matchRoute(routes, request.method ?? 'GET', path);
  if (match === undefined) return sendJson(response, 404, { message: 'Not Found' });
  const event = proxyEvent(request, body, match);
  if ((event.body?.length ?? 0) > MAX_INVOCATION_BYTES)
    return sendJson(response, 413, { message: 'Request Entity Too Large' });
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), INTEGRATION_TIMEOUT_MS);
  });
  const result = await Promise.race([invoke(match.route.functionName, event), timeout]);
  clearTimeout(timer);
  if (result === undefined) return sendJson(response, 503, { message: 'Service Unavailable' });
  const isTooLarge = result.ok && JSON.stringify(result.payload ?? null).length > MAX_INVOCATION_BYTES;
  if (!result.ok || isTooLarge) return sendJson(response, 500, { message: 'Internal Server Error' });
  sendResult(response, result.payload);
}

/** Sends a function's response. A response without a status code becomes the body of a 200. */
function sendResult(response: ServerResponse, payload: unknown): void {
  const result = payload as {
    statusCode?: number;
    headers?: Record<string, string | number | boolean>;
    cookies?: string[];
    body?: string;
    isBase64Encoded?: boolean;
  } | null;
  if (typeof result !== 'object' || result?.statusCode === undefined) {
    sendJson(response, 200, payload ?? null);
    return;
  }
  for (const [name, value] of Object.entries(result.headers ?? {})) response.setHeader(name, String(value));
  if (result.cookies !== undefined) response.setHeader('set-cookie', result.cookies);
  const body = Buffer.from(result.body ?? '', result.isBase64Encoded ? 'base64' : 'utf8');
  // A response to HEAD has only headers, and the length of the body is unknown.
  response.writeHead(
    result.statusCode,
    response.req.method === 'HEAD' ? {} : { 'content-length': body.length },
  );
  response.end(body);
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
}
