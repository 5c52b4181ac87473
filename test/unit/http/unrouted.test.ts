import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { ROUTES } from '../../../shared/http/routes';
import { respondUnrouted } from '../../../shared/http/unrouted';

const respond = (method: string, rawPath: string, rawQueryString = '') =>
  respondUnrouted({
    rawPath,
    rawQueryString,
    requestContext: { http: { method } },
  } as APIGatewayProxyEventV2);
const paths = [...new Set(ROUTES.map(({ path }) => path.replaceAll(/\{[^}]*\}/g, 'x')))];

test.each(['GET', 'HEAD', 'POST'])(
  '%s with extra slashes is redirected to the path without them',
  (method) => {
    for (const path of paths.filter((each) => each !== '/'))
      for (const given of [`${path}/`, path.replace('/', '//')])
        expect(respond(method, given, 'a=1')).toEqual({
          statusCode: method === 'POST' ? 308 : 301,
          headers: { location: `${path}?a=1` },
        });
  },
);

test('a method that a path lacks is answered with the methods that it has', () => {
  for (const path of paths) {
    const { statusCode, headers, body } = respond('TRACE', path);
    expect(statusCode).toBe(405);
    const allowed = String(headers!.allow).split(', ');
    const routes = ROUTES.filter((route) => route.path.replaceAll(/\{[^}]*\}/g, 'x') === path);
    for (const { method } of routes) expect(allowed).toContain(method);
    expect(allowed.includes('HEAD')).toBe(allowed.includes('GET'));
    expect(body).toContain(`use ${headers!.allow}`);
  }
});

test('a page of another origin may ask first, but only for routes that allow it', () => {
  expect(respond('OPTIONS', '/prometheus/api/v1/query')).toMatchObject({
    statusCode: 204,
    headers: { 'access-control-allow-origin': '*' },
  });
  expect(respond('OPTIONS', '/api/v0/hosts')).toMatchObject({ statusCode: 405 });
  expect(respond('OPTIONS', '/api/v0/hosts').headers).not.toHaveProperty('access-control-allow-origin');
});

test.each([
  ['/api/v1/query', /there is nothing at \/api\/v1\/query; \/prometheus\/api\/v1\/query is/],
  ['/nothing', /there is nothing at \/nothing; \/openapi.json lists every path/],
  ['/nothing/', /there is nothing at \/nothing\//],
])('%s is not found, and the answer says where to look', (path, text) => {
  const { statusCode, body } = respond('GET', path);
  expect(statusCode).toBe(404);
  expect(JSON.parse(body!).error.message ?? JSON.parse(body!).error).toMatch(text);
});

test("an error below Prometheus' root has Prometheus' form", () => {
  expect(JSON.parse(respond('GET', '/prometheus/nothing').body!)).toMatchObject({
    status: 'error',
    errorType: 'not_found',
  });
});
