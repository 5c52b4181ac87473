import * as z from 'zod';
import { HOUR_MS, MINUTE_MS } from '../model/duration';
import { idBytes } from '../model/id';
import { ALERT_STATUSES } from './alert-record';
import { type AlertTransition, advanceTrack, type Track } from './tracks';

const MAX_MESSAGE = 1024;
const MAX_NAME = 255;
const MAX_ATTEMPTS = 10;
const LEAST_INTERVAL = 10;

/** One report of a check, as agents send it. Values beyond Mackerel's limits are clamped. */
export const checkReport = z.object({
  source: z.object({ type: z.literal('host'), hostId: z.string().regex(/^[A-Za-z0-9]{1,64}$/) }),
  name: z.string().min(1).max(MAX_NAME),
  status: z.enum(ALERT_STATUSES),
  message: z
    .string()
    .nullish()
    .transform((text) => [...(text ?? '').toWellFormed()].slice(0, MAX_MESSAGE).join('')),
  /** Unix time in seconds. */
  occurredAt: z.int().min(0).max(1e11),
  /** Interval of repeated notifications in minutes. */
  notificationInterval: z
    .number()
    .nullish()
    .transform((minutes) => (minutes != null && minutes > 0 ? Math.max(LEAST_INTERVAL, minutes) : undefined)),
  maxCheckAttempts: z
    .number()
    .nullish()
    .transform((attempts) => Math.min(MAX_ATTEMPTS, Math.max(1, Math.floor(attempts ?? 1)))),
});
export type CheckReport = z.output<typeof checkReport>;

/** A check of a host, with its last report. */
export interface CheckState {
  /** {@link checkIdOf} */
  readonly id: string;
  readonly hostId: string;
  readonly name: string;
  readonly memo: string;
  /** The last report; absent until the check was first reported. */
  readonly last?: Pick<CheckReport, 'status' | 'message' | 'occurredAt'>;
  /**
   * Times of the latest reports that came from a clock that was ahead, in Unix seconds. A report that is sent again
   * after the clock was corrected is ignored.
   */
  readonly ahead?: readonly number[];
  readonly track?: Track;
}

/**
 * Returns the id of a host's check: the host's id followed by a hash of the name, so that the checks of a
 * host sort together.
 */
export function checkIdOf(hostId: string, name: string): string {
  return hostId + idBytes('check', hostId, name).toString('hex').slice(0, 16);
}

export function newCheck(hostId: string, name: string, memo = ''): CheckState {
  return { id: checkIdOf(hostId, name), hostId, name, memo };
}

export interface ReportContext {
  readonly tenantId: string;
  readonly nowMs: number;
  /** Whether the host's status is watched: neither `maintenance` nor `poweroff`. */
  readonly isWatched: boolean;
  readonly isDown: boolean;
}

/** Maximum age of a report, in ms. Older reports are ignored. */
const MAX_AGE_MS = 6 * HOUR_MS;
/** A report that is further in the future than this, in ms, comes from an agent whose clock is ahead. */
const MAX_AHEAD_MS = MINUTE_MS;
/** Maximum number of remembered reports from a clock that is ahead. */
const MAX_AHEAD_REPORTS = 10;

export interface AdvancedCheck {
  readonly check: CheckState;
  readonly transition?: AlertTransition;
}

/**
 * Applies a report to a check. A report with a time in the future counts as made now.
 *
 * @returns undefined for a report that changes nothing, because it is too old or a later report has been applied
 */
export function advanceCheck(
  check: CheckState,
  report: CheckReport,
  { tenantId, nowMs, isWatched, isDown }: ReportContext,
): AdvancedCheck | undefined {
  const { status, message, occurredAt, maxCheckAttempts, notificationInterval } = report;
  const sampleMs = occurredAt * 1000;
  if (nowMs - sampleMs > MAX_AGE_MS) return undefined;
  const lastMs = (check.last?.occurredAt ?? -Infinity) * 1000;
  const isAhead = (ms: number) => ms > nowMs + MAX_AHEAD_MS;
  const { ahead = [] } = check;
  if (ahead.includes(occurredAt)) return undefined;
  // If the agent's clock was ahead and has been corrected, its reports count although they are earlier than the last
  // one.
  const isCorrected = isAhead(lastMs) && !isAhead(sampleMs);
  if (sampleMs <= lastMs && !isCorrected) return undefined;
  const { track: before, ...unchanged } = check;
  const last = { status, message, occurredAt };
  const rest = isAhead(sampleMs)
    ? { ...unchanged, ahead: [...ahead, occurredAt].slice(-MAX_AHEAD_REPORTS) }
    : unchanged;
  if (!isWatched) return { check: { ...rest, last, ...(before && { track: before }) } };
  const rules = {
    id: `${tenantId} ${check.id}`,
    maxCheckAttempts,
    ...(notificationInterval !== undefined && { repeatMs: notificationInterval * 60_000 }),
    nowMs,
    isDown,
    opensAfterDowntime: false,
  };
  // Reports count as consecutive attempts only if they are at most {@link MAX_AGE_MS} apart.
  const isContinued = before?.alert !== undefined || sampleMs - (before?.sampleMs ?? sampleMs) <= MAX_AGE_MS;
  const known = isContinued ? before : undefined;
  const { track, transition } = advanceTrack(check.id, known, { status, message, sampleMs }, rules);
  return { check: { ...rest, last, ...(track && { track }) }, ...(transition && { transition }) };
}
