import * as z from 'zod';

/** A text of `min` to `max` code points. JSON Schema and Go count code points too, not UTF-16 units. */
export function text(min: number, max: number) {
  return z
    .string()
    .refine((value) => hasLength(value, min, max), {
      error: `${min === 0 ? 'at most' : `${min} to`} ${max} characters`,
    })
    .meta({ ...(min > 0 && { minLength: min }), maxLength: max });
}

function hasLength(value: string, min: number, max: number): boolean {
  if (value.length <= max) return value.length >= min;
  // Shortcut: a code point has at most two UTF-16 units.
  if (value.length > max * 2) return false;
  let characters = 0;
  for (const _ of value) characters++;
  return characters <= max;
}

/** Deepest nesting of stored JSON. Far below the depth at which JSON.stringify overflows the stack. */
const MAX_DEPTH = 100;

/** Any JSON object, unchanged. A zod record would drop the key `__proto__`, which users may send. */
export const anyObject = z
  .custom<Record<string, unknown>>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    { error: 'expected object' },
  )
  .refine((value) => isNotDeeper(value, MAX_DEPTH), {
    error: `nested too deep, ${MAX_DEPTH} levels at most`,
    abort: true,
  })
  .meta({ type: 'object', additionalProperties: true });

export function isNotDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (levels === 0) return false;
  return Object.values(value).every((inner) => isNotDeeper(inner, levels - 1));
}

/** Whole seconds since epoch. */
export const epochSeconds = z.int().min(0).meta({ description: 'Seconds since epoch.' });
