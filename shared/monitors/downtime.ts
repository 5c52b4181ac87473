import * as z from 'zod';
import { unixSeconds } from '../platform/fields';
import { givenIds, memo, name, scopeTexts } from './fields';
import { WEEKDAYS } from './weekdays';

/**
 * How downtimes may recur, as in Mackerel. While a downtime is in effect, no alert to which it applies is
 * opened.
 */
const RECURRENCES = ['hourly', 'daily', 'weekly', 'monthly', 'yearly'] as const;

const MAX_DURATION_MINUTES = 366 * 24 * 60;
const MAX_INTERVAL = 1_000;

const recurrence = z
  .object({
    type: z.enum(RECURRENCES),
    interval: z.int().min(1).max(MAX_INTERVAL),
    weekdays: z.array(z.enum(WEEKDAYS)).max(WEEKDAYS.length).nullish(),
    until: unixSeconds.nullish(),
  })
  .superRefine(({ type, weekdays }, context) => {
    const days = weekdays ?? [];
    if (days.length > 0 && type !== 'weekly')
      issue(context, ['weekdays'], `expected none, since the recurrence is ${type}, not weekly`, days);
    if (new Set(days).size < days.length) issue(context, ['weekdays'], 'expected each day once', days);
  });

const SCOPES = [
  ['serviceScopes', 'serviceExcludeScopes'],
  ['roleScopes', 'roleExcludeScopes'],
  ['monitorScopes', 'monitorExcludeScopes'],
] as const;

export const downtimeSpec = z
  .object({
    name,
    memo,
    start: unixSeconds,
    duration: z.int().min(1).max(MAX_DURATION_MINUTES).meta({ description: 'Minutes.' }),
    recurrence: recurrence.nullish(),
    serviceScopes: scopeTexts.nullish(),
    serviceExcludeScopes: scopeTexts.nullish(),
    roleScopes: scopeTexts.nullish(),
    roleExcludeScopes: scopeTexts.nullish(),
    monitorScopes: givenIds.nullish(),
    monitorExcludeScopes: givenIds.nullish(),
  })
  .superRefine((downtime, context) => {
    for (const [included, excluded] of SCOPES) {
      const seen = new Set<string>();
      for (const field of [included, excluded])
        for (const [i, scope] of (downtime[field] ?? []).entries()) {
          // `service: role` and `service:role` are the same role.
          const key = scope.replace(/\s*:\s*/, ':');
          if (seen.has(key)) issue(context, [field, i], 'expected each scope once', scope);
          seen.add(key);
        }
    }
  });

export type DowntimeSpec = z.output<typeof downtimeSpec>;
export type Downtime = DowntimeSpec & { readonly id: string };

function issue(context: z.RefinementCtx, path: PropertyKey[], message: string, input: unknown): void {
  context.addIssue({ code: 'custom', path, message, input });
}
