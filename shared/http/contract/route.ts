import type * as z from 'zod';
import type { FunctionName } from '../../platform/names';
import type { Right } from '../../tenancy/rights';
import type { BudgetName } from '../../tenancy/tenant-meter';

/**
 * One route of the HTTP API. Synthesis, dispatch, authorization, validation and the OpenAPI document all
 * derive from it.
 */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path in API Gateway's syntax: `{name}` matches one segment. */
  readonly path: string;
  /** Right that the API key needs; `none` for a route without a key. */
  readonly right: Right | 'none';
  readonly function: FunctionName;
  /** The tenant's budgets per minute that a request uses. A request over one of them is refused. */
  readonly budgets?: readonly BudgetName[];
  /** True if a request counts as a read of samples. */
  readonly readsSamples?: true;
  readonly summary: string;
  /** Schema of the query string. An array is a parameter that may repeat. Unknown parameters are ignored. */
  readonly query?: z.ZodObject;
  /** Schema of a JSON body. */
  readonly body?: z.ZodType;
  /** Content type of a body that is not JSON. The handler parses the body itself. */
  readonly rawBody?: string;
  /** True if parameters may also come in a form body, which takes precedence over the query string. */
  readonly isForm?: true;
  /**
   * The protocol in whose format the route reports errors. Alertmanager's errors are JSON strings. With `prometheus`,
   * Prometheus' rules for parameters also apply.
   *
   * @default Mackerel's
   */
  readonly errors?: 'prometheus' | 'alertmanager';
  /** True if pages of other origins may read the responses (CORS). These requests still need an API key. */
  readonly crossOrigin?: true;
  /** True if a 200 response is plain text instead of JSON. */
  readonly isText?: true;
  /** Content type of a 200 response that is neither JSON nor plain text. */
  readonly responseType?: string;
  /** Schema of the JSON body of a 200 response; absent when the response is not JSON. */
  readonly response?: z.ZodType;
  /**
   * Status of a successful response.
   *
   * @default 200
   */
  readonly status?: 202 | 204 | 302;
  /** Schema of a 400 response whose shape is not Mackerel's. */
  readonly refusal?: z.ZodType;
}

export const HOST = '/api/v0/hosts/{hostId}';
export const SERVICE = '/api/v0/services/{serviceName}';
export const ROLE = `${SERVICE}/roles/{roleName}` as const;
