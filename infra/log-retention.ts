import type { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Settings } from '../shared/platform/settings';

const DAY_MS = 86_400_000;

/**
 * The settings' log retention as CloudWatch Logs counts it; one of its values, which the configuration
 * checks.
 */
export function retentionDays(settings: Settings): RetentionDays {
  return settings.logRetention / DAY_MS;
}
