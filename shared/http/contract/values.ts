import * as z from 'zod';
import { DAY_MS, parseDuration } from '../../model/duration';

/** Text of `min` to `max` code points, as JSON Schema and Go count, not UTF-16 units. */
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
  // A code point has at most two UTF-16 units.
  if (value.length > max * 2) return false;
  let characters = 0;
  for (const _ of value) characters++;
  return characters <= max;
}

/** Deepest nesting of stored JSON; far below the depth at which JSON.stringify overflows the stack. */
const MAX_DEPTH = 100;

/** Any JSON object, unchanged. A zod record would drop the key `__proto__`, which is data here. */
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

/** An integer in a query string: decimal digits only, so `60`, not `60.0`, `6e1` or ` 60`. */
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

/** Longer than any useful step. */
const MAX_DURATION_MS = 366 * DAY_MS;

/** A duration in a query string, `300` (seconds) or `5m`, as ms: whole seconds, 1 s to 366 days. */
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

/** Body of calls whose path says everything: `{}` as Mackerel documents, `null` as Go sends, or none. */
export const emptyBody = z.looseObject({}).nullish();
