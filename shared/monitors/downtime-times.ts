import type { Downtime } from './downtime';
import { type HostRoles, isInScope } from './scope';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

type Times = Pick<Downtime, 'start' | 'duration' | 'recurrence'>;

/**
 * Whether a downtime holds at a time. Days, weeks and months are those of UTC. A downtime of a month's day that a month lacks begins on the
 * month's last day. Recurrences that begin after `until` are left out.
 */
export function holdsAt({ start, duration, recurrence }: Times, nowMs: number): boolean {
  const startMs = start * 1000;
  const durationMs = duration * MINUTE_MS;
  const untilMs = recurrence?.until == null ? Infinity : recurrence.until * 1000;
  const holds = (fromMs: number) =>
    fromMs >= startMs && fromMs <= untilMs && fromMs <= nowMs && nowMs < fromMs + durationMs;
  if (recurrence == null) return holds(startMs);
  if (nowMs < startMs) return false;
  const { type, interval, weekdays } = recurrence;
  switch (type) {
    case 'hourly':
    case 'daily':
      return latest(
        startMs,
        interval * (type === 'hourly' ? 60 * MINUTE_MS : DAY_MS),
        nowMs,
        durationMs,
      ).some(holds);
    case 'weekly': {
      // Weeks begin on Sunday; each named day has the start's time of day.
      const first = new Date(startMs);
      const days =
        weekdays == null || weekdays.length === 0
          ? [first.getUTCDay()]
          : weekdays.map((day) => WEEKDAYS.indexOf(day));
      return days.some((day) =>
        latest(startMs + (day - first.getUTCDay()) * DAY_MS, interval * 7 * DAY_MS, nowMs, durationMs).some(
          holds,
        ),
      );
    }
    case 'monthly':
    case 'yearly':
      return latestMonths(startMs, interval * (type === 'monthly' ? 1 : 12), nowMs, durationMs).some(holds);
  }
}

/** Most occurrences of one downtime that may overlap, since one may last longer than its interval. */
const MAX_OVERLAPS = 10_000;

/** The times of a period's occurrences that may hold at a time. */
function latest(firstMs: number, periodMs: number, nowMs: number, durationMs: number): number[] {
  const last = Math.floor((nowMs - firstMs) / periodMs);
  const count = Math.min(MAX_OVERLAPS, Math.ceil(durationMs / periodMs) + 1);
  return Array.from({ length: count }, (_, i) => firstMs + (last - i) * periodMs);
}

function latestMonths(firstMs: number, months: number, nowMs: number, durationMs: number): number[] {
  const first = new Date(firstMs);
  const now = new Date(nowMs);
  const between =
    (now.getUTCFullYear() - first.getUTCFullYear()) * 12 + now.getUTCMonth() - first.getUTCMonth();
  const last = Math.floor(between / months);
  const count = Math.min(MAX_OVERLAPS, Math.ceil(durationMs / (28 * DAY_MS * months)) + 1);
  return Array.from({ length: count }, (_, i) => {
    const month = first.getUTCMonth() + (last - i) * months;
    const lastDay = new Date(Date.UTC(first.getUTCFullYear(), month + 1, 0)).getUTCDate();
    const day = Math.min(first.getUTCDate(), lastDay);
    return Date.UTC(first.getUTCFullYear(), month, day) + (firstMs % DAY_MS);
  });
}

/** What a downtime is asked about. */
export interface DownSubject {
  readonly monitorId: string;
  /** The host's roles, if the subject is a host. */
  readonly roles?: HostRoles;
  /** The service, if the subject is a service's metric. */
  readonly service?: string;
}

/** Whether a downtime, while it holds, is about something: every kind of scope that it names must fit. */
export function concerns(downtime: Downtime, { monitorId, roles = {}, service }: DownSubject): boolean {
  const all: HostRoles = service === undefined ? roles : { [service]: [] };
  const fits = (
    included: readonly string[] | null | undefined,
    excluded: readonly string[] | null | undefined,
    isIn: (scopes: readonly string[]) => boolean,
  ) => ((included ?? []).length === 0 || isIn(included!)) && !isIn(excluded ?? []);
  return (
    fits(downtime.serviceScopes, downtime.serviceExcludeScopes, (scopes) => isInScope(all, scopes)) &&
    fits(downtime.roleScopes, downtime.roleExcludeScopes, (scopes) => isInScope(all, scopes)) &&
    fits(downtime.monitorScopes, downtime.monitorExcludeScopes, (ids) => ids.includes(monitorId))
  );
}
