import type * as z from 'zod';
import type { FunctionName } from '../../platform/names';
import type { Right } from '../../tenancy/rights';

/** One entry of the HTTP API: synthesis, dispatch, authorization, validation and the OpenAPI document all read it. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** As API Gateway writes it: `{name}` stands for one path segment. */
  readonly path: string;
  /** The right that the key must have; `none`: the route asks for no key. */
  readonly right: Right | 'none';
  readonly function: FunctionName;
  readonly summary: string;
  /** Parameters of the query string; an array for a parameter that may repeat. Unknown parameters are ignored. */
  readonly query?: z.ZodObject;
  /** Schema of a JSON body. */
  readonly body?: z.ZodType;
  /** Content type of a body that is not JSON; its handler parses it. */
  readonly rawBody?: string;
  /** Whether the parameters may come in a form body too, which counts before the query string. */
  readonly isForm?: true;
  /** Whose shape errors have, and whose rules parameters follow. Alertmanager's errors are JSON strings. @default Mackerel's */
  readonly errors?: 'prometheus' | 'alertmanager';
  /** Whether pages of other origins may read its answers, with a key of their own. */
  readonly crossOrigin?: true;
  /** True if a 200 answers with plain text instead of JSON. */
  readonly isText?: true;
  /** Content type of a 200 that is neither JSON nor plain text. */
  readonly answerType?: string;
  /** Schema of the JSON body of a 200; absent when the answer is not JSON. */
  readonly answer?: z.ZodType;
  /** Status of success. @default 200 */
  readonly status?: 202 | 204 | 302;
  /** Schema of a 400 in another protocol's shape than Mackerel's. */
  readonly refusal?: z.ZodType;
}

export const HOST = '/api/v0/hosts/{hostId}';
export const SERVICE = '/api/v0/services/{serviceName}';
export const ROLE = `${SERVICE}/roles/{roleName}` as const;
