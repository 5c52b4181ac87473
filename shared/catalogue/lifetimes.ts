import { DAY_MS } from '../model/duration';
import type { Id } from '../model/id';
import { bucketOfSource } from '../platform/keys';

/**
 * How long items of the catalogue outlive the retention of their samples, which may be sent a day ahead and
 * archived late.
 */
export const LAYOUT_KEPT_MS = 30 * DAY_MS;

/**
 * Items about a source's placement are renewed once in this time. The day differs from source to source, to
 * spread the load.
 */
export const TURN_MS = 16 * DAY_MS;

/** Returns the number of the turn that a source is in. A source's items are renewed once a turn. */
export function turnOf(sourceId: Id, nowMs: number): number {
  return Math.floor((nowMs + bucketOfSource(sourceId) * DAY_MS) / TURN_MS);
}

/** Returns when an item expires that is needed for samples with timestamp `ms`, in seconds since epoch. */
export function expiresAtOf(ms: number, retentionMs: number): number {
  return Math.ceil((ms + retentionMs + LAYOUT_KEPT_MS) / 1000);
}
