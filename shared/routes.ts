import type { FunctionName } from './names';

/** What a key must be allowed to do for a route. */
export type Right = 'read' | 'write';

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** In API Gateway's form: `{name}` stands for one path segment. */
  readonly path: string;
  readonly right: Right;
  readonly function: FunctionName;
}

/**
 * The HTTP API as data: synthesis makes its routes from this table, the functions dispatch on it, and the
 * registry answers whatever is not in it with 404 or 405.
 *
 * @see ../shared/mackerel-api.md for the contract of each
 */
export const ROUTES = [
  { method: 'POST', path: '/api/v0/tsdb', right: 'write', function: 'post' },
  { method: 'POST', path: '/api/v0/services/{serviceName}/tsdb', right: 'write', function: 'post' },
  { method: 'GET', path: '/api/v0/hosts/{hostId}/metrics', right: 'read', function: 'query' },
  { method: 'GET', path: '/api/v0/services/{serviceName}/metrics', right: 'read', function: 'query' },
  { method: 'GET', path: '/api/v0/tsdb/latest', right: 'read', function: 'query' },
  { method: 'GET', path: '/api/v0/hosts/{hostId}/metric-names', right: 'read', function: 'query' },
  { method: 'GET', path: '/api/v0/services/{serviceName}/metric-names', right: 'read', function: 'query' },
  { method: 'POST', path: '/api/v0/hosts', right: 'write', function: 'registry' },
  { method: 'GET', path: '/api/v0/hosts', right: 'read', function: 'registry' },
  { method: 'GET', path: '/api/v0/hosts/{hostId}', right: 'read', function: 'registry' },
  { method: 'PUT', path: '/api/v0/hosts/{hostId}', right: 'write', function: 'registry' },
] as const satisfies readonly Route[];

/** Handles every request that no route matches. */
export const FALLBACK_FUNCTION: FunctionName = 'registry';

/** A route as API Gateway names it: `GET /api/v0/hosts`. */
export type RouteKey = `${(typeof ROUTES)[number]['method']} ${(typeof ROUTES)[number]['path']}`;
