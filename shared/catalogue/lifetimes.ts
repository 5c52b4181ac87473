import { DAY_MS } from '../model/duration';
import type { Id } from '../model/id';
import { bucketOfSource } from '../platform/keys';

/**
 * How long an item of the catalogue is kept after the retention of its samples has ended, in ms. The margin is
 * for samples that were sent up to a day ahead, or archived late.
 */
export const LAYOUT_KEPT_MS = 30 * DAY_MS;

/**
 * Length of a renewal period, in ms. Items that locate a source's samples are renewed once in each period. The day on
 * which a period begins differs from source to source, which spreads the writes over the days.
 */
export const RENEWAL_MS = 16 * DAY_MS;

/** Returns the number of a source's current renewal period, counted from 1970. See {@link RENEWAL_MS}. */
export function renewalPeriodOf(sourceId: Id, nowMs: number): number {
  return Math.floor((nowMs + bucketOfSource(sourceId) * DAY_MS) / RENEWAL_MS);
}

/**
 * Returns the expiry time for an item that readers need for as long as samples with the timestamp `ms` can be read.
 *
 * @param ms timestamp of the latest samples for which the item is needed, in ms
 * @returns Unix time in seconds, the unit that DynamoDB's TTL requires
 */
export function expiresAtOf(ms: number, retentionMs: number): number {
  return Math.ceil((ms + retentionMs + LAYOUT_KEPT_MS) / 1000);
}
