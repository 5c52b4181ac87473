import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { PROMETHEUS_ROOT } from './contract/prometheus';
import { HttpError, replyError } from './http';
import { replyPrometheusError } from './prometheus-failure';
import { ROUTES, type Route } from './routes';

/** Response headers that let a page of another origin read a response. */
const READABLE_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'Date, Server-Timing',
};

/** Response headers for a CORS preflight. They say which requests pages of other origins may send. */
const PREFLIGHT_HEADERS = {
  ...READABLE_HEADERS,
  'access-control-allow-headers': 'Accept, Authorization, Content-Type, Origin, X-Api-Key',
  'access-control-allow-methods': 'GET, POST, OPTIONS',
  'access-control-max-age': '86400',
};

/**
 * Answers a request that no route matches. Redirects a path with extra slashes, and answers a CORS preflight. Any
 * other request gets 405 if the path has routes for other methods, else 404. Errors below Prometheus' root have
 * Prometheus' shape.
 */
export function respondUnrouted(event: APIGatewayProxyEventV2): APIGatewayProxyStructuredResultV2 {
  const { rawPath } = event;
  const { method } = event.requestContext.http;
  const routes = routesAt(rawPath);
  if (routes.length === 0) {
    const path = rawPath.replaceAll(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '');
    if (path !== rawPath && routesAt(path).length > 0) return redirect(event, path);
    return replyFailure(rawPath, new HttpError(404, notFoundText(rawPath)));
  }
  if (method === 'OPTIONS' && routes.some(({ crossOrigin }) => crossOrigin))
    return { statusCode: 204, headers: PREFLIGHT_HEADERS };
  const methods = routes.flatMap((route) => (route.method === 'GET' ? ['GET', 'HEAD'] : [route.method]));
  const allow = [...new Set(methods)].join(', ');
  const failure = new HttpError(405, `${method} is not allowed here; use ${allow}`, { allow });
  const response = replyFailure(rawPath, failure);
  return routes.some(({ crossOrigin }) => crossOrigin) ? withReadable(response) : response;
}

/** Lets pages of any origin read a response, as Prometheus does. */
export function withReadable(response: APIGatewayProxyStructuredResultV2): APIGatewayProxyStructuredResultV2 {
  return { ...response, headers: { ...response.headers, ...READABLE_HEADERS } };
}

function routesAt(path: string): Route[] {
  return (ROUTES as readonly Route[]).filter((route) => pathMatches(route.path, path));
}

/** Returns whether a path matches a route's pattern. `{name}` matches one non-empty segment. */
export function pathMatches(pattern: string, path: string): boolean {
  const expected = pattern.split('/');
  const segments = path.split('/');
  return (
    expected.length === segments.length &&
    expected.every((part, i) => (part.startsWith('{') ? segments[i] !== '' : part === segments[i]))
  );
}

/**
 * Redirects GET and HEAD with 301, which every client follows, and other methods with 308, which keeps the method
 * and the body.
 */
function redirect({ rawQueryString, requestContext }: APIGatewayProxyEventV2, path: string) {
  const { method } = requestContext.http;
  const location = rawQueryString === '' ? path : `${path}?${rawQueryString}`;
  return { statusCode: method === 'GET' || method === 'HEAD' ? 301 : 308, headers: { location } };
}

function notFoundText(path: string): string {
  const below = `${PROMETHEUS_ROOT}${path}`;
  const hint = routesAt(below).length > 0 ? `${below} is` : '/openapi.json lists every path';
  return `there is nothing at ${path.slice(0, 200)}; ${hint}`;
}

function replyFailure(path: string, failure: HttpError): APIGatewayProxyStructuredResultV2 {
  const isPrometheus = path === PROMETHEUS_ROOT || path.startsWith(`${PROMETHEUS_ROOT}/`);
  return isPrometheus ? replyPrometheusError(failure, undefined) : replyError(failure);
}
