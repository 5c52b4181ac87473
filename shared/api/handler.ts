import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { log } from '../log';
import type { ApiKeys } from '../meta/api-keys';
import type { Tenant, Tenants } from '../meta/tenants';
import { IncompleteReadError } from '../query/incomplete';
import { ROUTES, type RouteKey } from '../routes';
import { HttpError, replyError } from './http';

/** A request whose key was found good for its route. */
export interface AuthorizedRequest {
  readonly event: APIGatewayProxyEventV2;
  readonly tenant: Tenant;
}

export type RouteHandler = (request: AuthorizedRequest) => Promise<APIGatewayProxyStructuredResultV2>;

export interface Gatekeeper {
  readonly keys: ApiKeys;
  readonly tenants: Tenants;
}

/** Lambda answers with 6 MB at most, counted with the JSON around and the escapes in the body. */
const MAX_ANSWER_LENGTH = 4_000_000;

/**
 * Makes a function's HTTP handler of its routes: authenticates, authorizes, dispatches, and turns what is thrown
 * into an answer in Mackerel's shape.
 */
export function httpHandler(gatekeeper: Gatekeeper, handlers: Partial<Record<RouteKey, RouteHandler>>) {
  return async (event: APIGatewayProxyEventV2): Promise<APIGatewayProxyStructuredResultV2> => {
    try {
      const route = ROUTES.find(({ method, path }) => `${method} ${path}` === event.routeKey);
      const handle = route && handlers[event.routeKey as RouteKey];
      if (handle === undefined) throw unrouted(event);
      const tenant = await authorize(gatekeeper, event, route!.right);
      const answer = await handle({ event, tenant });
      if ((answer.body?.length ?? 0) > MAX_ANSWER_LENGTH)
        throw new HttpError(413, `the answer has ${answer.body?.length} characters; ask for less`);
      return answer;
    } catch (error) {
      if (error instanceof HttpError) return replyError(error);
      if (error instanceof IncompleteReadError)
        return replyError(
          new HttpError(503, `${error.message}; partial=true gives what is there`, { 'retry-after': '10' }),
        );
      log.error('request failed', { routeKey: event.routeKey, error: error as Error });
      return replyError(new HttpError(503, 'a store did not answer; try again', { 'retry-after': '5' }));
    }
  };
}

async function authorize(
  { keys, tenants }: Gatekeeper,
  event: APIGatewayProxyEventV2,
  right: 'read' | 'write',
) {
  const key = event.headers['x-api-key'];
  const grant = key === undefined ? undefined : await keys.verify(key);
  if (grant === undefined)
    throw new HttpError(
      401,
      key === undefined ? 'the X-Api-Key header is missing' : 'the API key is not valid',
    );
  if (!grant.rights.includes(right)) throw new HttpError(403, `the API key lacks the ${right} right`);
  const tenant = await tenants.get(grant.tenant);
  if (tenant === undefined) throw new HttpError(401, 'the API key is not valid');
  return tenant;
}

/** What no route matches: 405 when its path has routes of other methods, else 404. */
function unrouted(event: APIGatewayProxyEventV2): HttpError {
  const { method } = event.requestContext.http;
  const allowed = ROUTES.filter(({ path }) => pathMatches(path, event.rawPath)).map((route) => route.method);
  if (allowed.length === 0) return new HttpError(404, `there is nothing at ${event.rawPath.slice(0, 200)}`);
  return new HttpError(405, `${method} is not allowed here`, { allow: [...new Set(allowed)].join(', ') });
}

/** Whether a path is of a route's form; `{name}` stands for one segment that is not empty. */
export function pathMatches(pattern: string, path: string): boolean {
  const expected = pattern.split('/');
  const segments = path.split('/');
  return (
    expected.length === segments.length &&
    expected.every((part, i) => (part.startsWith('{') ? segments[i] !== '' : part === segments[i]))
  );
}
