import * as z from 'zod';

/**
 * A text field of `min` to `max` characters. Characters are counted as code points, as in JSON Schema and Go.
 */
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
  // Do not count the code points of a very long text: a code point has at most two UTF-16 code units, so the text
  // certainly has too many.
  if (value.length > max * 2) return false;
  let characters = 0;
  for (const _ of value) characters++;
  return characters <= max;
}

/** Maximum nesting depth of JSON that is stored. JSON.stringify overflows the stack only at far greater depths. */
const MAX_DEPTH = 100;

/**
 * A field that accepts any JSON object, and keeps it unchanged. A zod record would drop the key `__proto__`.
 */
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

/** Whether objects and arrays are nested at most `levels` deep in a value. */
export function isNotDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (levels === 0) return false;
  return Object.values(value).every((inner) => isNotDeeper(inner, levels - 1));
}

/** End of the year 9999, as Unix time in seconds. A larger number is most likely a time in ms. */
const LAST_SECOND = 253_402_300_799;

/** A field with a Unix time in whole seconds. */
export const unixSeconds = z
  .int()
  .min(0)
  .max(LAST_SECOND, `expected seconds since 1970, at most ${LAST_SECOND}`)
  .meta({ description: 'Unix time in seconds.' });
