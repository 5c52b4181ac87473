import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { InvocationResult } from '../../../scripts/local/function-pool';
import {
  handleRequest,
  MAX_INVOCATION_BYTES,
  MAX_PAYLOAD_BYTES,
  matchRoute,
  type proxyEvent,
} from '../../../scripts/local/http-api';

const routes = [
  'GET /hosts',
  'GET /hosts/{id}',
  'GET /hosts/latest',
  'GET /hosts/{id}/m/{name}',
  'ANY /any',
  'POST /hosts',
  '$default',
].map((routeKey) => ({ routeKey, functionName: `function of ${routeKey}` }));

describe('a route is matched as API Gateway does', () => {
  test.each([
    { name: 'as a whole', method: 'GET', path: '/hosts', routeKey: 'GET /hosts' },
    { name: 'by its method', method: 'POST', path: '/hosts', routeKey: 'POST /hosts' },
    { name: 'by any method', method: 'PATCH', path: '/any', routeKey: 'ANY /any' },
    {
      name: 'with a parameter',
      method: 'GET',
      path: '/hosts/h1',
      routeKey: 'GET /hosts/{id}',
      parameters: { id: 'h1' },
    },
    {
      name: 'in full rather than with a parameter',
      method: 'GET',
      path: '/hosts/latest',
      routeKey: 'GET /hosts/latest',
    },
    {
      name: 'with its parameters decoded',
      method: 'GET',
      path: '/hosts/a%2Fb/m/%E3%81%82',
      routeKey: 'GET /hosts/{id}/m/{name}',
      parameters: { id: 'a/b', name: 'あ' },
    },
    {
      name: 'with a broken escape as it is',
      method: 'GET',
      path: '/hosts/%zz',
      routeKey: 'GET /hosts/{id}',
      parameters: { id: '%zz' },
    },
    { name: 'not with an empty parameter', method: 'GET', path: '/hosts/', routeKey: '$default' },
    { name: 'not by another method', method: 'DELETE', path: '/hosts', routeKey: '$default' },
    { name: 'not by a part of its path', method: 'GET', path: '/hosts/h1/m', routeKey: '$default' },
  ])('$name: $method $path', ({ method, path, routeKey, parameters }) => {
    const match = matchRoute(routes, method, path);
    expect(match?.route.routeKey).toBe(routeKey);
    expect(match?.pathParameters).toEqual(parameters);
  });

  test('and no route matches if there is no default route', () => {
    expect(matchRoute(routes.slice(0, -1), 'GET', '/nowhere')).toBeUndefined();
  });
});

describe('a request', () => {
  let server: Server;
  let url: string;
  /** The event of the route's function, and its answer. */
  let seen: { functionName: string; event: ReturnType<typeof proxyEvent> }[];
  let result: InvocationResult;

  beforeAll(async () => {
    server = createServer((request, response) => {
      handleRequest(request, response, routes, async (functionName, event) => {
        seen.push({ functionName, event: event as ReturnType<typeof proxyEvent> });
        return result;
      }).catch((error: Error) => response.destroy(error));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  beforeEach(() => {
    seen = [];
    result = { ok: true, payload: { statusCode: 200, body: '{}' } };
  });

  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  test('becomes an event of payload format 2.0', async () => {
    await fetch(`${url}/hosts/h%201?b=1&a=x%20y&b=2`, {
      headers: { 'X-Api-Key': 'k', 'User-Agent': 'agent/1' },
    });
    expect(seen[0]!.functionName).toBe('function of GET /hosts/{id}');
    expect(seen[0]!.event).toMatchObject({
      version: '2.0',
      routeKey: 'GET /hosts/{id}',
      rawPath: '/hosts/h%201',
      rawQueryString: 'b=1&a=x%20y&b=2',
      queryStringParameters: { a: 'x y', b: '1,2' },
      pathParameters: { id: 'h 1' },
      headers: { 'x-api-key': 'k' },
      requestContext: {
        routeKey: 'GET /hosts/{id}',
        stage: '$default',
        http: {
          method: 'GET',
          path: '/hosts/h%201',
          protocol: 'HTTP/1.1',
          sourceIp: '127.0.0.1',
          userAgent: 'agent/1',
        },
      },
      isBase64Encoded: false,
    });
    expect(seen[0]!.event).not.toHaveProperty('body');
  });

  test('with an empty query, as agents send it, has no parameters', async () => {
    // fetch drops an empty query, so the request is written byte by byte.
    const { request } = await import('node:http');
    await new Promise((resolve, reject) =>
      request(`${url}`, { path: '/hosts?', method: 'GET' }, (response) =>
        response.resume().on('end', resolve),
      )
        .on('error', reject)
        .end(),
    );
    expect(seen[0]!.event).toMatchObject({ routeKey: 'GET /hosts', rawPath: '/hosts', rawQueryString: '' });
    expect(seen[0]!.event).not.toHaveProperty('queryStringParameters');
    expect(seen[0]!.event).not.toHaveProperty('pathParameters');
  });

  test.each([
    { type: 'application/json', text: '[{"name":"あ"}]' },
    { type: 'text/plain; charset=utf-8', text: 'a\n' },
    { type: 'application/problem+json', text: '{}' },
  ])('with a body of $type carries it as text', async ({ type, text }) => {
    await fetch(`${url}/hosts`, { method: 'POST', headers: { 'content-type': type }, body: text });
    expect(seen[0]!.event).toMatchObject({ body: text, isBase64Encoded: false });
  });

  test.each([
    {
      name: 'bytes',
      headers: { 'content-type': 'application/x-protobuf' },
      body: Buffer.from([0, 255, 128, 1]),
    },
    {
      name: 'compressed JSON',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: gzipSync('[1]'),
    },
  ])('with $name in it carries them as base64, bit for bit', async ({ headers, body }) => {
    await fetch(`${url}/hosts`, { method: 'POST', headers, body });
    const { event } = seen[0]!;
    expect(event.isBase64Encoded).toBe(true);
    expect(Buffer.from(event.body!, 'base64')).toEqual(body);
    if (headers['content-encoding'] !== undefined)
      expect(gunzipSync(Buffer.from(event.body!, 'base64')).toString()).toBe('[1]');
  });

  test("of exactly Lambda's limit reaches the function; one byte more is refused before it, as beyond API Gateway's limit", async () => {
    const post = (bytes: number) => fetch(`${url}/hosts`, { method: 'POST', body: Buffer.alloc(bytes, 32) });
    expect((await post(MAX_INVOCATION_BYTES)).status).toBe(200);
    for (const bytes of [MAX_INVOCATION_BYTES + 1, MAX_PAYLOAD_BYTES + 1]) {
      const refused = await post(bytes);
      expect(refused.status).toBe(413);
      expect(await refused.json()).toEqual({ message: 'Request Entity Too Large' });
    }
  });

  test('is answered with status, headers, cookies and body of the function', async () => {
    result = {
      ok: true,
      payload: {
        statusCode: 404,
        headers: { 'content-type': 'application/json', 'retry-after': 5 },
        cookies: ['a=1', 'b=2'],
        body: '{"error":"あ"}',
      },
    };
    const response = await fetch(`${url}/hosts`);
    expect(response.status).toBe(404);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(response.headers.get('retry-after')).toBe('5');
    expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
    expect(await response.text()).toBe('{"error":"あ"}');
  });

  test('is answered with bytes when the function gives base64', async () => {
    const bytes = Buffer.from([0, 255, 128]);
    result = {
      ok: true,
      payload: { statusCode: 200, body: bytes.toString('base64'), isBase64Encoded: true },
    };
    expect(Buffer.from(await (await fetch(`${url}/hosts`)).arrayBuffer())).toEqual(bytes);
  });

  test('is answered 200 with JSON when the function gives no status', async () => {
    result = { ok: true, payload: { hosts: [] } };
    const response = await fetch(`${url}/hosts`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toEqual({ hosts: [] });
  });

  test('is answered 500 without the reason when the function fails', async () => {
    result = { ok: false, error: { errorType: 'Error', errorMessage: 'a secret' } };
    const response = await fetch(`${url}/hosts`);
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({ message: 'Internal Server Error' });
  });
});
