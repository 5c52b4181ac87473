import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { withFunctionUrl } from '../../../shared/http/function-url';
import { log } from '../../../shared/platform/log';

const API_URL = 'https://api.example.com/';

function event(method: string, path: string, query = '', routeKey = '$default'): APIGatewayProxyEventV2 {
  return {
    routeKey,
    rawPath: path,
    rawQueryString: query,
    headers: {},
    requestContext: { requestId: 'id', http: { method, path, sourceIp: '192.0.2.1' } },
  } as unknown as APIGatewayProxyEventV2;
}

/** Answers with the route and the path parameters that the handler received. */
const echo = async (given: APIGatewayProxyEventV2): Promise<APIGatewayProxyStructuredResultV2> => ({
  statusCode: 200,
  body: JSON.stringify({ routeKey: given.routeKey, pathParameters: given.pathParameters }),
});

const ask = (...args: Parameters<typeof event>) => withFunctionUrl('post', API_URL, echo)(event(...args));

describe("a request at the function's URL", () => {
  test.each([
    { method: 'POST', path: '/api/v0/tsdb', parameters: {} },
    { method: 'POST', path: '/api/v0/services/shop/tsdb', parameters: { serviceName: 'shop' } },
    { method: 'POST', path: '/api/v0/services/sh%6fp/tsdb', parameters: { serviceName: 'shop' } },
    { method: 'POST', path: '/api/v0/services/%zz/tsdb', parameters: { serviceName: '%zz' } },
    { method: 'POST', path: '/write', parameters: {} },
    { method: 'POST', path: '/prometheus/api/v1/write', parameters: {} },
    { method: 'POST', path: '/v1/metrics', parameters: {} },
  ])('$method $path is answered by the route that matches', async ({ method, path, parameters }) => {
    const response = await ask(method, path);
    const { routeKey, pathParameters } = JSON.parse(response.body!);
    expect(routeKey.split('/').length).toBe(path.split('/').length);
    expect(pathParameters).toEqual(parameters);
  });

  test.each([
    { method: 'POST', path: '/api/v0/hosts', query: '', to: 'https://api.example.com/api/v0/hosts' },
    { method: 'PUT', path: '/api/v0/hosts/1', query: '', to: 'https://api.example.com/api/v0/hosts/1' },
    { method: 'GET', path: '/api/v0/tsdb', query: '', to: 'https://api.example.com/api/v0/tsdb' },
    { method: 'GET', path: '/a/b', query: 'x=1&x=2', to: 'https://api.example.com/a/b?x=1&x=2' },
    { method: 'GET', path: '//evil.example', query: '', to: 'https://api.example.com//evil.example' },
    { method: 'GET', path: '/\\evil.example', query: '', to: 'https://api.example.com//evil.example' },
    { method: 'GET', path: '/a\r\nset-cookie: x', query: '', to: 'https://api.example.com/aset-cookie:%20x' },
    { method: 'GET', path: '/a', query: '\r\nb', to: 'https://api.example.com/a?b' },
    { method: 'GET', path: '/ä', query: '', to: 'https://api.example.com/%C3%A4' },
    { method: 'GET', path: '/..//@evil.example/', query: '', to: 'https://api.example.com//@evil.example/' },
  ])('of another route is redirected: $method to $to', async ({ method, path, query, to }) => {
    expect(await ask(method, path, query)).toEqual({ statusCode: 307, headers: { location: to } });
  });

  test('keeps the query and the body of a post', async () => {
    let seen: APIGatewayProxyEventV2 | undefined;
    const handle = withFunctionUrl('post', API_URL, async (given) => {
      seen = given;
      return { statusCode: 204 };
    });
    await handle({ ...event('POST', '/write', 'precision=s'), body: 'cpu v=1' });
    expect(seen).toMatchObject({ routeKey: 'POST /write', rawQueryString: 'precision=s', body: 'cpu v=1' });
  });

  test('is logged without query, headers and body when it is refused', async () => {
    const info = jest.spyOn(log, 'info').mockImplementation(() => {});
    const handle = withFunctionUrl('post', API_URL, async () => ({ statusCode: 401 }));
    await handle({ ...event('POST', '/write', 'u=me&p=ht_secret'), body: 'cpu v=1' });
    expect(info.mock.calls).toEqual([
      [
        'request refused',
        { requestId: 'id', sourceIp: '192.0.2.1', path: '/write', routeKey: 'POST /write', status: 401 },
      ],
    ]);
    info.mockRestore();
  });
});

test('a request that comes by API Gateway is passed on as it is', async () => {
  const response = await ask('POST', '/write', '', 'POST /write');
  expect(JSON.parse(response.body!)).toEqual({ routeKey: 'POST /write' });
});

test('a function without a URL answers as before', () => {
  expect(withFunctionUrl('post', undefined, echo)).toBe(echo);
});
