import { longestRecordAgeMs, type Settings } from '../shared/platform/settings';

/** Lambda's own bound, 7 days. */
const MAX_RECORD_AGE_MS = 604_800_000;

/**
 * Returns how long the mapping tries a record before it gives up its batch, in ms: the setting `recordAge`, or as long as
 * the stream can still replay the record after a redrive, at most Lambda's 7 days.
 */
export function recordAgeMs(settings: Settings): number {
  return settings.recordAge || Math.min(longestRecordAgeMs(settings), MAX_RECORD_AGE_MS);
}
