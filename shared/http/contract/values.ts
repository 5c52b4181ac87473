import * as z from 'zod';
import { DAY_MS, parseDuration } from '../../model/duration';

/**
 * Text of `min` to `max` characters, counted as JSON Schema and Go count them: code points, not UTF-16 units.
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
  // A code point has at most two units.
  if (value.length > max * 2) return false;
  let characters = 0;
  for (const _ of value) characters++;
  return characters <= max;
}

/** JSON's objects and arrays nested no deeper than this are kept; well below what overflows the stack on the way out. */
const MAX_DEPTH = 100;

/**
 * Any JSON object, kept as it is: `__proto__` in it is data, which a record of zod would leave out.
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

function isNotDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (levels === 0) return false;
  return Object.values(value).every((inner) => isNotDeeper(inner, levels - 1));
}

/** Whole seconds since epoch. */
export const epochSeconds = z.int().min(0).meta({ description: 'Seconds since epoch.' });

/** An integer of the query string: decimal digits and nothing else, such as `60`; not `60.0`, `6e1` or ` 60`. */
export const integerParameter = z
  .string()
  .regex(/^-?\d{1,16}$/, 'expected integer')
  .transform((digits, context) => {
    const value = Number(digits);
    if (Number.isSafeInteger(value)) return value;
    context.addIssue({ code: 'custom', message: 'expected integer below 2^53' });
    return z.NEVER;
  })
  .meta({ type: 'integer', pattern: undefined });

/** Longer than any step that is of use. */
const MAX_DURATION_MS = 366 * DAY_MS;

/** A duration of the query string in ms: `300`, in seconds, or `5m`. At least 1 s, at most 366 days, in whole seconds. */
export const durationParameter = z
  .string()
  .transform((value, context) => {
    const ms = parseDuration(/^\d+$/.test(value) ? `${value}s` : value);
    if (ms !== undefined && ms >= 1000 && ms <= MAX_DURATION_MS && ms % 1000 === 0) return ms;
    context.addIssue({
      code: 'custom',
      message: 'expected a number of seconds or a duration such as 5m, at most 366d',
      input: value,
    });
    return z.NEVER;
  })
  .meta({ examples: ['300', '5m'] });

export const success = z.object({ success: z.literal(true) }).meta({ id: 'Success' });

/** For calls that say all in their path: `{}` as documented, `null` as Go sends it, or nothing. */
export const emptyBody = z.looseObject({}).nullish();
