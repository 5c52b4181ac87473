import type { Settings } from '../shared/platform/settings';

const HOUR_MS = 3_600_000;
/** Lambda's own bound, 7 days. */
const MAX_RECORD_AGE_MS = 604_800_000;

/**
 * Returns how long the mapping tries a record, in ms: the setting `recordAge`, or an hour less than the stream remembers
 * it, so that a batch that is given up can still be read whole; at most Lambda's 7 days.
 */
export function recordAgeMs(settings: Settings): number {
  return settings.recordAge || Math.min(settings.streamRetention - HOUR_MS, MAX_RECORD_AGE_MS);
}
