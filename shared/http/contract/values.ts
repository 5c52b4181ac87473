import * as z from 'zod';
import { DAY_MS, parseDuration } from '../../model/duration';

/** An integer in a query string. Only decimal digits are accepted: `60`, but not `60.0`, `6e1` or ` 60`. */
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

/**
 * A query parameter that is `true` or `false`.
 *
 * @param absent value of an absent or empty parameter
 */
export function booleanParameter(absent: boolean) {
  return z
    .string()
    .regex(/^(true|false)?$/, 'expected true or false')
    .transform((value) => (value === '' ? absent : value === 'true'))
    .default(absent);
}

/** Maximum accepted duration, in ms. It is longer than any useful step. */
const MAX_DURATION_MS = 366 * DAY_MS;

/**
 * A duration in a query string, parsed to ms: `300` (seconds) or `5m`. It must be whole seconds, from 1 s to 366 days.
 */
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

/** Body of a request that needs no body: `{}` as Mackerel documents it, `null` as Go's client sends it, or nothing. */
export const emptyBody = z.looseObject({}).nullish();
