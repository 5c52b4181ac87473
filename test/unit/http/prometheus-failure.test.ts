import { HttpError } from '../../../shared/http/http';
import { replyPrometheusError, statusOfPromql } from '../../../shared/http/prometheus-failure';
import { PromqlError } from '../../../shared/promql/errors';

test.each([
  [400, undefined, 400, 'bad_data', 'why'],
  [404, undefined, 404, 'not_found', 'why'],
  [429, undefined, 429, 'execution', 'why'],
  [500, undefined, 500, 'internal', 'why'],
  [503, undefined, 503, 'unavailable', 'why'],
  // Prometheus' clients show the message of a 422, but not of a 413.
  [413, undefined, 422, 'execution', 'why'],
  [503, 'timeout', 503, 'timeout', 'why'],
  [422, 'execution', 422, 'execution', 'why'],
  [400, 'bad_data', 400, 'bad_data', 'invalid parameter "query": why'],
] as const)('a %s, caused by %s, is answered with %s %s', (status, kind, answered, errorType, error) => {
  const cause = kind && new PromqlError(kind, 'why');
  if (cause !== undefined) expect(statusOfPromql(cause)).toBe(status);
  const { statusCode, headers, body } = replyPrometheusError(
    new HttpError(status, 'why', { 'retry-after': '1' }),
    cause,
  );
  expect([statusCode, JSON.parse(body!)]).toEqual([answered, { status: 'error', errorType, error }]);
  expect(headers).toMatchObject({ 'retry-after': '1' });
});
