import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import type * as z from 'zod';
import { log } from '../platform/log';
import type { ApiKeys } from '../tenancy/api-keys';
import type { QueryBudgets } from '../tenancy/query-budgets';
import type { Right } from '../tenancy/rights';
import type { SampleCharge } from '../tenancy/sample-charge';
import type { TenantMeter } from '../tenancy/tenant-meter';
import type { Tenant, Tenants } from '../tenancy/tenants';
import { keyOf } from './credentials';
import { failureOf } from './failure';
import {
  fitResponse,
  HttpError,
  jsonBody,
  parametersOf,
  queryOf,
  reply,
  replyError,
  withoutBody,
} from './http';
import { meterRequest, runWithinBudget } from './metered';
import { parse, parseQuery } from './parse';
import { replyPrometheusError } from './prometheus-failure';
import { parsePrometheusQuery } from './prometheus-parameters';
import { ROUTES, type Route, type RouteKey, type RoutesByKey } from './routes';
import { respondUnrouted, withReadable } from './unrouted';

/** A request that passed authentication, authorization and validation. */
export interface RouteRequest<R extends Route> {
  readonly event: APIGatewayProxyEventV2;
  /** Tenant of the API key; undefined on routes without a key. */
  readonly tenant: R['right'] extends 'none' ? undefined : Tenant;
  /** Parameters of the path, percent-decoded. */
  readonly path: Readonly<Record<PathParameter<R['path']>, string>>;
  readonly query: R extends { readonly query: infer Q extends z.ZodObject } ? z.output<Q> : undefined;
  readonly body: R extends { readonly body: infer B extends z.ZodType } ? z.output<B> : undefined;
  /**
   * Charges a post of samples to the tenant's budget. The handler must report the number of samples and, unless the body
   * is JSON, the size of the body.
   */
  readonly charge: R extends { readonly budgets: readonly ['samplesPerMinute', ...unknown[]] }
    ? SampleCharge
    : undefined;
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
  /** Present only in the query function. */
  readonly queries?: QueryBudgets;
}

const routesByKey: ReadonlyMap<string, Route> = new Map(
  ROUTES.map((route) => [`${route.method} ${route.path}`, route]),
);

/**
 * Builds a function's HTTP handler from its routes. The handler authenticates, authorizes, validates and
 * dispatches a request, and turns exceptions into responses. It answers HEAD as GET without the body.
 */
export function httpHandler(gatekeeper: Gatekeeper, handlers: RouteHandlers) {
  return async (event: APIGatewayProxyEventV2): Promise<APIGatewayProxyStructuredResultV2> => {
    if (!event.routeKey.startsWith('HEAD ')) return handleEvent(gatekeeper, handlers, event);
    const routeKey = event.routeKey.replace('HEAD', 'GET');
    return withoutBody(await handleEvent(gatekeeper, handlers, { ...event, routeKey }));
  };
}

async function handleEvent(
  gatekeeper: Gatekeeper,
  handlers: RouteHandlers,
  event: APIGatewayProxyEventV2,
): Promise<APIGatewayProxyStructuredResultV2> {
  const route = routesByKey.get(event.routeKey);
  const handle = route && (handlers[event.routeKey as RouteKey] as RouteHandler<never> | undefined);
  if (route === undefined || handle === undefined) return respondUnrouted(event);
  const response = await handleRoute(gatekeeper, route, handle, event);
  return route.crossOrigin ? withReadable(response) : response;
}

async function handleRoute(
  gatekeeper: Gatekeeper,
  route: Route,
  handle: RouteHandler<never>,
  event: APIGatewayProxyEventV2,
): Promise<APIGatewayProxyStructuredResultV2> {
  try {
    const { meter, queries } = gatekeeper;
    const tenant = route.right === 'none' ? undefined : await authorize(gatekeeper, event, route.right);
    const respond = async (charge: SampleCharge | undefined) => {
      const maxBytes = tenant && meter.limits(tenant).bodyBytes;
      const parameters = route.isForm ? parametersOf : queryOf;
      const parseParameters = route.errors === 'prometheus' ? parsePrometheusQuery : parseQuery;
      const request = {
        tenant,
        event,
        path: (event.pathParameters ?? {}) as Record<string, string>,
        query: route.query && parseParameters(route.query, parameters(event, maxBytes)),
        body:
          route.body &&
          parse(
            route.body,
            jsonBody(event, maxBytes, (bytes) => charge?.body(bytes)),
          ),
        charge,
      };
      return fitResponse(await handle(request as never), event.headers['accept-encoding']);
    };
    if (tenant === undefined) return await respond(undefined);
    const work =
      queries === undefined
        ? respond
        : () => runWithinBudget(queries, meter, tenant, () => respond(undefined));
    return await meterRequest(meter, tenant, route, event, work);
  } catch (error) {
    const requestId = event.requestContext?.requestId ?? 'unknown';
    const failure = failureOf(error, requestId);
    // Log store failures and bugs. Handlers throw HttpError for expected 5xx responses, which need no log entry.
    if (failure.status >= 500 && failure !== error)
      log.error('request failed', {
        routeKey: event.routeKey,
        requestId,
        status: failure.status,
        error,
      });
    switch (route.errors) {
      case 'prometheus':
        return replyPrometheusError(failure, error);
      case 'alertmanager':
        return reply(failure.status, failure.message, failure.headers);
      default:
        return replyError(failure);
    }
  }
}

async function authorize({ keys, tenants }: Gatekeeper, event: APIGatewayProxyEventV2, right: Right) {
  const key = keyOf(event);
  const grant = key === undefined ? undefined : await keys.verify(key);
  if (grant === undefined)
    throw new HttpError(
      401,
      key === undefined
        ? 'the API key is missing: send it as X-Api-Key, as Authorization: Bearer, or as the password of Basic authentication'
        : INVALID_KEY,
    );
  if (!grant.rights.includes(right))
    throw new HttpError(403, `the API key lacks the ${right} right; use a key that has it`);
  const tenant = await tenants.get(grant.tenant);
  if (tenant === undefined) throw new HttpError(401, INVALID_KEY);
  return tenant;
}

const INVALID_KEY = 'the API key is unknown, revoked or expired';
