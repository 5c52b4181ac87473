import { longestRecordAgeMs, type Settings } from '../shared/platform/settings';

/** Lambda's maximum, 7 days. */
const MAX_RECORD_AGE_MS = 604_800_000;

/**
 * Returns the age up to which the mapping retries a record before it discards the record's batch, in ms. This
 * is the setting `recordAge`. By default, it is the longest age at which the stream can still replay the
 * record after a redrive, but at most 7 days.
 */
export function recordAgeMs(settings: Settings): number {
  return settings.recordAge || Math.min(longestRecordAgeMs(settings), MAX_RECORD_AGE_MS);
}
