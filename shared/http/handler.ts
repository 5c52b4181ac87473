import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import type * as z from 'zod';
import { log } from '../platform/log';
import { IncompleteReadError } from '../query/incomplete';
import type { ApiKeys } from '../tenancy/api-keys';
import type { Right } from '../tenancy/rights';
import type { TenantMeter } from '../tenancy/tenant-meter';
import type { Tenant, Tenants } from '../tenancy/tenants';
import { fitAnswer, HttpError, jsonBody, queryOf, replyError } from './http';
import { metered } from './metered';
import { parse, parseQuery } from './parse';
import { ROUTES, type Route, type RouteKey, type RoutesByKey } from './routes';

/** A request as its route describes it: the key found good, the query and the body valid. */
export interface RouteRequest<R extends Route> {
  readonly event: APIGatewayProxyEventV2;
  /** Of whom the key is; undefined where none is asked for. */
  readonly tenant: R['right'] extends 'none' ? undefined : Tenant;
  /** Percent-decoded. */
  readonly path: Readonly<Record<PathParameter<R['path']>, string>>;
  readonly query: R extends { readonly query: infer Q extends z.ZodObject } ? z.output<Q> : undefined;
  readonly body: R extends { readonly body: infer B extends z.ZodType } ? z.output<B> : undefined;
}

type PathParameter<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathParameter<Rest>
  : never;

type RouteHandler<K extends RouteKey> = (
  request: RouteRequest<RoutesByKey[K]>,
) => Promise<APIGatewayProxyStructuredResultV2>;

export type RouteHandlers = { readonly [K in RouteKey]?: RouteHandler<K> };

export interface Gatekeeper {
  readonly keys: ApiKeys;
  readonly tenants: Tenants;
  readonly meter: TenantMeter;
}

const routesByKey: ReadonlyMap<string, Route> = new Map(
  ROUTES.map((route) => [`${route.method} ${route.path}`, route]),
);

/**
 * Makes a function's HTTP handler of its routes: authenticates, authorizes, validates, dispatches, and turns what is
 * thrown into an answer in Mackerel's shape.
 */
export function httpHandler(gatekeeper: Gatekeeper, handlers: RouteHandlers) {
  return async (event: APIGatewayProxyEventV2): Promise<APIGatewayProxyStructuredResultV2> => {
    try {
      const route = routesByKey.get(event.routeKey);
      const handle = route && (handlers[event.routeKey as RouteKey] as RouteHandler<never> | undefined);
      if (route === undefined || handle === undefined) throw unrouted(event);
      const { meter } = gatekeeper;
      const tenant = route.right === 'none' ? undefined : await authorize(gatekeeper, event, route.right);
      const answer = async () => {
        const maxBytes = tenant && meter.limits(tenant).bodyBytes;
        const request = {
          tenant,
          event,
          path: (event.pathParameters ?? {}) as Record<string, string>,
          query: route.query && parseQuery(route.query, queryOf(event)),
          body: route.body && parse(route.body, jsonBody(event, maxBytes)),
        };
        return fitAnswer(await handle(request as never), event.headers['accept-encoding']);
      };
      return tenant === undefined ? await answer() : await metered(meter, tenant, event, answer);
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

async function authorize({ keys, tenants }: Gatekeeper, event: APIGatewayProxyEventV2, right: Right) {
  const key = keyOf(event);
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

/** `X-Api-Key: key`, or as InfluxDB's clients send it, `Authorization: Token key`. */
function keyOf({ headers }: APIGatewayProxyEventV2): string | undefined {
  return headers['x-api-key'] ?? /^Token +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
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
