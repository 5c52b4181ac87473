import { MAX_TICK_AHEAD_MS } from '../tasks/due-ticks';
import type { OutboxItem } from '../tasks/evaluator-store';
import { isChange } from '../tasks/notification';

/** Result of an attempt to deliver a batch to its destinations. */
export interface Attempt {
  /**
   * Ids of the destinations that have accepted or permanently refused the batch, in this attempt or an earlier one.
   */
  readonly taken: ReadonlySet<string>;
  /** Whether all destinations are in `taken`. */
  readonly isTaken: boolean;
  /**
   * For each destination that has taken only some of its requests, the id of the last one.
   *
   * @default none
   */
  readonly begun?: ReadonlyMap<string, string>;
  /**
   * Whether the run had no time for some requests. The next run continues the attempt.
   *
   * @default false
   */
  readonly isCut?: boolean;
  /** Why receivers permanently refused the batch. */
  readonly refused: ReadonlySet<string>;
  /** Failures of this attempt that may be temporary, by destination id. */
  readonly failures: ReadonlyMap<string, string>;
}

/**
 * What to do with a batch:
 *
 * - `attempt`: try to deliver it.
 * - `wait`: leave it in the outbox, unchanged.
 * - `putOff`: store its progress, and the time of its next attempt.
 * - `sent`: remove it from the outbox.
 * - `refused`: move it to the undelivered batches. Each destination has accepted or refused it, and at least one has
 *   refused it.
 * - `giveUp`: move it to the undelivered batches. Some destinations have neither accepted nor refused it, and are not
 *   attempted again.
 */
export type NextStep =
  | { readonly step: 'attempt' }
  | { readonly step: 'wait' }
  | { readonly step: 'sent' }
  | { readonly step: 'putOff'; readonly item: OutboxItem }
  | { readonly step: 'refused'; readonly item: OutboxItem }
  | {
      readonly step: 'giveUp';
      readonly item: OutboxItem;
      /** Ids of the destinations that failed in the last of {@link MAX_ATTEMPTS} attempts. */
      readonly failing: readonly string[];
    };

/** Maximum number of waiting batches of a tenant. Beyond this number, the oldest batches are given up. */
const MAX_WAITING = 1_000;
/**
 * How long before its expiry a batch is given up, in ms. A batch that has not been attempted
 * by then (after an outage of the evaluator) is first attempted once, unless an earlier batch of its queue has
 * just failed.
 */
const BEFORE_EXPIRY_MS = 3_600_000;
/** Number of attempts after which a batch is given up. */
export const MAX_ATTEMPTS = 36;
/** Reason recorded for a batch that was given up although no receiver refused it. */
const WAITED = 'it waited for a day behind earlier notifications, or while none were sent';
const FIRST_WAIT_MS = 30_000;
/**
 * Maximum wait between two attempts, in ms. New alerts wait behind a batch that failed. Once its receiver
 * works again, they wait for at most this time.
 */
const LONGEST_WAIT_MS = 600_000;

/**
 * Returns how long a batch waits after a failed attempt, in ms.
 *
 * @param attempts number of failed attempts so far
 */
export function waitMs(attempts: number): number {
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempts - 1));
}

/**
 * Returns whether a batch has only repeated notifications. Returns false if any notification is damaged,
 * because it may be a change.
 */
export function isRepeated({ batch, damaged = 0 }: Pick<OutboxItem, 'batch' | 'damaged'>): boolean {
  return damaged === 0 && 'notifications' in batch && !batch.notifications.some(isChange);
}

/**
 * Returns whether an attempt is due later. A time far beyond the maximum wait is ignored: an evaluator whose clock was
 * wrong has set it.
 */
export function isLater({ dueMs }: Pick<OutboxItem, 'dueMs'>, nowMs: number): boolean {
  return dueMs > nowMs && dueMs - nowMs <= LONGEST_WAIT_MS + MAX_TICK_AHEAD_MS;
}

function isEnding({ expiresMs }: OutboxItem, nowMs: number): boolean {
  return nowMs > expiresMs - BEFORE_EXPIRY_MS;
}

/**
 * Decides what to do with a batch before an attempt.
 *
 * @param state `newer`: number of the tenant's batches behind it; `isStopped`: whether it waits for an earlier batch
 */
export function stepBefore(
  item: OutboxItem,
  {
    newer,
    isStopped,
    nowMs,
  }: { readonly newer: number; readonly isStopped: boolean; readonly nowMs: number },
): NextStep {
  const isSurplus = newer >= MAX_WAITING;
  // Never send an expired batch. The table may already have removed later batches that have also expired,
  // so this batch could announce an alert whose end is never announced.
  const isExpired = nowMs > item.expiresMs;
  if (isSurplus || isExpired || (isEnding(item, nowMs) && item.attempts > 0)) {
    const reason = isSurplus ? `more than ${MAX_WAITING} batches of notifications waited` : WAITED;
    return { step: 'giveUp', item: { ...item, refused: [...item.refused, reason] }, failing: [] };
  }
  return { step: isStopped && !isEnding(item, nowMs) ? 'wait' : 'attempt' };
}

/**
 * Decides what to do with a batch after an attempt.
 *
 * @param beganMs when the attempt began
 */
export function stepAfter(
  item: OutboxItem,
  { taken, isTaken, begun = new Map(), isCut = false, refused, failures }: Attempt,
  { beganMs, nowMs }: { readonly beganMs: number; readonly nowMs: number },
): NextStep {
  if (isRepeated(item) || (isTaken && refused.size === 0)) return { step: 'sent' };
  const hasFailed = failures.size > 0;
  const isLastHour = isEnding(item, beganMs);
  // Waiting behind an earlier batch is not an attempt. The only attempt of the last hour counts once it is complete.
  const counts = isTaken || (hasFailed && !(isLastHour && isCut));
  const attempts = item.attempts + (counts ? 1 : 0);
  const tried = { ...item, attempts, taken: [...taken], refused: [...refused], begun: [...begun] };
  if (isTaken) return { step: 'refused', item: tried };
  const isLast = hasFailed && attempts >= MAX_ATTEMPTS;
  if (isLast || (isLastHour && !isCut)) {
    const reasons = hasFailed ? failures.values() : [WAITED];
    const ended = { ...tried, refused: [...refused, ...reasons] };
    return { step: 'giveUp', item: ended, failing: isLast ? [...failures.keys()] : [] };
  }
  if (hasFailed) return { step: 'putOff', item: { ...tried, dueMs: nowMs + waitMs(attempts) } };
  const before = new Map(item.begun);
  const hasProgress =
    taken.size > item.taken.length || [...begun].some(([id, last]) => before.get(id) !== last);
  return hasProgress ? { step: 'putOff', item: tried } : { step: 'wait' };
}
