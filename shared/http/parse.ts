import * as z from 'zod';
import { showValue } from '../model/shown-value';
import { HttpError } from './http';

/** Maximum number of invalid fields that one error names. */
const MAX_NAMED = 5;
/** Maximum number of characters of a value that an error shows. */
const MAX_SHOWN = 100;

/**
 * Validates a value against its schema.
 *
 * @throws {HttpError} 400 with a clause for each flaw: the field, the allowed values, and the given value
 */
export function parse<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  throw new HttpError(400, result.error.issues.slice(0, MAX_NAMED).map(sentenceOf).join('; '));
}

/** Validates a query string. If a parameter that must not repeat is repeated, its first value counts. */
export function parseQuery<T extends z.ZodObject>(schema: T, query: URLSearchParams): z.output<T> {
  return parse(schema, queryParametersOf(schema, query));
}

/** Returns the query parameters that the schema defines. Repeatable parameters are arrays. */
export function queryParametersOf(schema: z.ZodObject, query: URLSearchParams): Record<string, unknown> {
  const found = Object.entries(schema.shape).flatMap(([name, field]) => {
    if (!query.has(name)) return [];
    return [[name, isRepeatable(field as z.ZodType) ? query.getAll(name) : query.get(name)]];
  });
  return Object.fromEntries(found);
}

export function isRepeatable(schema: z.ZodType): boolean {
  if (schema instanceof z.ZodOptional) return isRepeatable(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodPipe) return isRepeatable(schema.in as z.ZodType);
  return schema instanceof z.ZodArray;
}

function sentenceOf({ path, message, ...issue }: z.core.$ZodIssue): string {
  const field = path.map(String).join('.').slice(0, MAX_SHOWN) || 'body';
  const input = inputOf(issue);
  if (input === undefined) return `${field} is missing`;
  return `${field}: ${message.replace(/^Invalid input: /, '').replace(/, received .*$/, '')}, got ${showValue(input)}`;
}

/**
 * Returns the value of the field that an issue is about. If a field decides the type of an object, zod reports the
 * whole object instead.
 */
function inputOf(issue: { readonly input?: unknown; readonly discriminator?: unknown }): unknown {
  const { input, discriminator } = issue;
  if (typeof discriminator !== 'string' || typeof input !== 'object' || input === null) return input;
  return Object.hasOwn(input, discriminator) ? (input as Record<string, unknown>)[discriminator] : undefined;
}
