import type * as z from 'zod';
import { HttpError } from './http';
import { fieldsOf } from './parse';

/**
 * Validates parameters as Prometheus does: one that is absent counts as an empty text, and an error names the first that is
 * wrong.
 *
 * @throws {HttpError} 400 such as `invalid parameter "time": cannot parse "noon" to a valid timestamp`
 */
export function parsePrometheusQuery<T extends z.ZodObject>(schema: T, query: URLSearchParams): z.output<T> {
  const absent = Object.keys(schema.shape)
    .filter((name) => !schema.shape[name].safeParse(undefined).success)
    .map((name) => [name, '']);
  const result = schema.safeParse({ ...Object.fromEntries(absent), ...fieldsOf(schema, query) });
  if (result.success) return result.data;
  const { path, message } = result.error.issues[0]!;
  throw invalidParameter(String(path[0]), message);
}

/** A 400 in Prometheus' words. */
export function invalidParameter(name: string, message: string): HttpError {
  return new HttpError(400, `invalid parameter ${JSON.stringify(name)}: ${message}`);
}
