import type { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Settings } from '../shared/platform/settings';

const DAY_MS = 86_400_000;

/**
 * Returns the setting `logRetention` in days. config.ts has checked that CloudWatch Logs has that value.
 */
export function retentionDays(settings: Settings): RetentionDays {
  return settings.logRetention / DAY_MS;
}
