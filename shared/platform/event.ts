import type * as z from 'zod';

/** The event that a function was invoked with is invalid. The message says which field and why. */
export class InvalidEventError extends Error {
  override readonly name = 'InvalidEventError';
}

/**
 * Validates the event that a function was invoked with.
 *
 * @throws {InvalidEventError} with the name, the error and the value of each invalid field
 */
export function parseEvent<Schema extends z.ZodType>(schema: Schema, event: unknown): z.output<Schema> {
  const result = schema.safeParse(event);
  if (result.success) return result.data;
  throw new InvalidEventError(
    result.error.issues
      .map(({ path, message }) => `${path.join('.') || 'event'}: ${message} (${show(event, path)})`)
      .join('; '),
  );
}

/** Formats the value at a path of an input for a message: as JSON, at most 100 characters, or `missing`. */
export function show(event: unknown, path: readonly PropertyKey[]): string {
  let value: unknown = event;
  for (const part of path) value = (value as Record<PropertyKey, unknown> | null | undefined)?.[part];
  return (JSON.stringify(value) ?? 'missing').slice(0, 100);
}
