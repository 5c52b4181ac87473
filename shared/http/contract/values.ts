import * as z from 'zod';
import { DAY_MS, parseDuration } from '../../model/duration';

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

/** `true` or `false` in a query string. @param absent what an absent or empty parameter means */
export function booleanParameter(absent: boolean) {
  return z
    .string()
    .regex(/^(true|false)?$/, 'expected true or false')
    .transform((value) => (value === '' ? absent : value === 'true'))
    .default(absent);
}

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
