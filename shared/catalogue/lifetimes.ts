import { DAY_MS } from '../model/duration';
import type { Id } from '../model/id';
import { bucketOfSource } from '../platform/keys';

/** Items of the catalogue outlive their samples' retention by this: samples may be sent a day ahead, and archived late. */
export const LAYOUT_KEPT_MS = 30 * DAY_MS;

/** Items of a source's placement are renewed once in so long, those of different sources on different days. */
export const TURN_MS = 16 * DAY_MS;

/** The number of a source's turn. */
export function turnOf(sourceId: Id, nowMs: number): number {
  return Math.floor((nowMs + bucketOfSource(sourceId) * DAY_MS) / TURN_MS);
}

/** When an item expires that is needed for samples of `ms`: seconds since epoch. */
export function expiresAtOf(ms: number, retentionMs: number): number {
  return Math.ceil((ms + retentionMs + LAYOUT_KEPT_MS) / 1000);
}
