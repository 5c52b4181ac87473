import type { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Settings } from '../shared/platform/settings';

const DAY_MS = 86_400_000;

/**
 * Retentions in days that CloudWatch Logs supports. A copy of {@link RetentionDays}, so that commands need
 * not load the CDK.
 */
export const LOG_RETENTION_DAYS: readonly number[] = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
];

/** Returns the setting `logRetention` in days. config.ts has checked that CloudWatch Logs supports it. */
export function retentionDays(settings: Settings): RetentionDays {
  return settings.logRetention / DAY_MS;
}
