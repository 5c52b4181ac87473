import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { log } from '../platform/log';
import type { FunctionName } from '../platform/names';
import { ROUTES, type Route } from './routes';
import { pathMatches } from './unrouted';

type Handle = (event: APIGatewayProxyEventV2) => Promise<APIGatewayProxyStructuredResultV2>;

/**
 * Route key of every request at a function URL. API Gateway, in contrast, sends a function only the requests for its
 * routes.
 */
const NO_ROUTE = '$default';

/**
 * Wraps a function's HTTP handler so that it also answers at the function's own URL. AWS does not match requests at
 * this URL to routes, so the wrapper does. It redirects a request for another function's route to the API.
 *
 * @param apiUrl base URL of the API; undefined if the function has no URL
 * @see https://docs.aws.amazon.com/lambda/latest/dg/urls-invocation.html
 */
export function withFunctionUrl(name: FunctionName, apiUrl: string | undefined, handle: Handle): Handle {
  if (apiUrl === undefined) return handle;
  const routes = (ROUTES as readonly Route[]).filter((route) => route.function === name);
  return async (event) => {
    if (event.routeKey !== NO_ROUTE) return handle(event);
    const { method } = event.requestContext.http;
    const route = routes.find((each) => each.method === method && pathMatches(each.path, event.rawPath));
    if (route === undefined) return redirect(apiUrl, event);
    const routeKey = `${route.method} ${route.path}`;
    const pathParameters = parametersOf(route.path, event.rawPath);
    const result = await handle({ ...event, routeKey, pathParameters });
    if (result.statusCode! >= 400) logRefused(event, routeKey, result);
    return result;
  };
}

function parametersOf(pattern: string, path: string): Record<string, string> {
  const segments = path.split('/');
  return Object.fromEntries(
    pattern
      .split('/')
      .flatMap((part, i) => (part.startsWith('{') ? [[part.slice(1, -1), decodeSegment(segments[i]!)]] : [])),
  );
}

/** Decodes a path segment as API Gateway does: a malformed segment is left unchanged. */
function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Redirects to the API with 307, which keeps the method and the body. */
function redirect(apiUrl: string, { rawPath, rawQueryString }: APIGatewayProxyEventV2) {
  const location = new URL(apiUrl);
  // The setters of `URL` encode characters that a header must not contain, and they cannot change the host.
  location.pathname = rawPath;
  location.search = rawQueryString;
  return { statusCode: 307, headers: { location: location.href } };
}

/** A function URL has no access log, so refused requests are logged here. AWS counts accepted requests. */
function logRefused(
  { requestContext, rawPath }: APIGatewayProxyEventV2,
  routeKey: string,
  { statusCode }: APIGatewayProxyStructuredResultV2,
): void {
  const { requestId, http } = requestContext;
  log.info('request refused', {
    requestId,
    sourceIp: http.sourceIp,
    path: rawPath.slice(0, 200),
    routeKey,
    status: statusCode,
  });
}
