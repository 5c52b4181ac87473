import type * as z from 'zod';

/** The event is invalid. */
export class InvalidEventError extends Error {
  override readonly name = 'InvalidEventError';
}

/**
 * Validates a function's event.
 *
 * @throws {InvalidEventError} with the name of each invalid field, what is wrong, and its value
 */
export function parseEvent<Schema extends z.ZodType>(schema: Schema, event: unknown): z.output<Schema> {
  const result = schema.safeParse(event);
  if (result.success) return result.data;
  throw new InvalidEventError(
    result.error.issues
      .map(({ path, message }) => `${path.join('.') || 'event'}: ${message} (${shown(event, path)})`)
      .join('; '),
  );
}

/** Formats the value at a path of an input, for a message. */
export function shown(event: unknown, path: readonly PropertyKey[]): string {
  let value: unknown = event;
  for (const part of path) value = (value as Record<PropertyKey, unknown> | null | undefined)?.[part];
  return (JSON.stringify(value) ?? 'missing').slice(0, 100);
}
