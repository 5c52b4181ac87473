import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { PromqlError } from '../promql/errors';
import { type HttpError, reply } from './http';
import { invalidParameter } from './prometheus-parameters';

const KINDS = { bad_data: 400, execution: 422, timeout: 503 } as const satisfies Record<
  PromqlError['kind'],
  number
>;

/** Prometheus' `errorType` for each status, used when the error itself does not have one. */
const TYPES: Readonly<Record<number, string>> = {
  400: 'bad_data',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  413: 'execution',
  415: 'bad_data',
  422: 'execution',
  429: 'execution',
  503: 'unavailable',
};

/** Returns the HTTP status of a failed query. */
export function statusOfPromql({ kind }: PromqlError): number {
  return KINDS[kind];
}

/**
 * Answers a failure in Prometheus' format. 413 becomes 422, because Prometheus' clients show the message only for
 * 400, 422 and 503.
 */
export function replyPrometheusError(failure: HttpError, cause: unknown): APIGatewayProxyStructuredResultV2 {
  const status = failure.status === 413 ? 422 : failure.status;
  const errorType = cause instanceof PromqlError ? cause.kind : (TYPES[status] ?? 'internal');
  // A PromQL error of kind bad_data concerns the parameter `query`.
  const isOfQuery = cause instanceof PromqlError && cause.kind === 'bad_data';
  const error = isOfQuery ? invalidParameter('query', failure.message).message : failure.message;
  return reply(status, { status: 'error', errorType, error }, failure.headers);
}
