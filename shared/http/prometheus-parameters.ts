import type * as z from 'zod';
import { HttpError } from './http';
import { queryParametersOf } from './parse';

/**
 * Validates parameters as Prometheus does: a required parameter that is absent counts as empty, and the error names
 * only the first flaw.
 *
 * @throws {HttpError} 400 such as `invalid parameter "time": cannot parse "noon" to a valid timestamp`
 */
export function parsePrometheusQuery<T extends z.ZodObject>(schema: T, query: URLSearchParams): z.output<T> {
  const absent = Object.keys(schema.shape)
    .filter((name) => !schema.shape[name].safeParse(undefined).success)
    .map((name) => [name, '']);
  const result = schema.safeParse({ ...Object.fromEntries(absent), ...queryParametersOf(schema, query) });
  if (result.success) return result.data;
  const { path, message } = result.error.issues[0]!;
  throw invalidParameter(String(path[0]), message);
}

/** Builds a 400 with Prometheus' wording. */
export function invalidParameter(name: string, message: string): HttpError {
  return new HttpError(400, `invalid parameter ${JSON.stringify(name)}: ${message}`);
}
