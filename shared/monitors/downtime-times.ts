import { type Downtime, WEEKDAYS } from './downtime';
import { type HostRoles, isInScope } from './scope';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

type Times = Pick<Downtime, 'start' | 'duration' | 'recurrence'>;

/**
 * Whether a downtime holds at a time. Days, weeks and months are those of UTC. A downtime of a month's day that a month lacks begins on the
 * month's last day. Recurrences that begin after `until` are left out.
 */
export function holdsAt({ start, duration, recurrence }: Times, nowMs: number): boolean {
  const startMs = start * 1000;
  const lastMs = recurrence?.until == null ? nowMs : Math.min(nowMs, recurrence.until * 1000);
  // All occurrences last equally long: if one holds, then the newest that has begun does, too.
  return newest(startMs, recurrence, lastMs).some(
    (fromMs) => fromMs >= startMs && fromMs <= lastMs && nowMs < fromMs + duration * MINUTE_MS,
  );
}

/** The newest occurrence that begins by a time, or one for each weekday. */
function newest(startMs: number, recurrence: Times['recurrence'], lastMs: number): number[] {
  if (recurrence == null) return [startMs];
  const { type, interval, weekdays } = recurrence;
  switch (type) {
    case 'hourly':
      return [newestOf(startMs, interval * 60 * MINUTE_MS, lastMs)];
    case 'daily':
      return [newestOf(startMs, interval * DAY_MS, lastMs)];
    case 'weekly': {
      // Weeks begin on Sunday; each named day has the start's time of day.
      const first = new Date(startMs).getUTCDay();
      const days = weekdays?.length ? weekdays.map((day) => WEEKDAYS.indexOf(day)) : [first];
      return days.map((day) => newestOf(startMs + (day - first) * DAY_MS, interval * 7 * DAY_MS, lastMs));
    }
    case 'monthly':
      return [newestOfMonths(startMs, interval, lastMs)];
    case 'yearly':
      return [newestOfMonths(startMs, interval * 12, lastMs)];
  }
}

function newestOf(firstMs: number, periodMs: number, lastMs: number): number {
  return firstMs + Math.floor((lastMs - firstMs) / periodMs) * periodMs;
}

function newestOfMonths(firstMs: number, months: number, lastMs: number): number {
  const first = new Date(firstMs);
  const last = new Date(lastMs);
  const at = (count: number) => {
    const month = first.getUTCMonth() + count * months;
    const lastDay = new Date(Date.UTC(first.getUTCFullYear(), month + 1, 0)).getUTCDate();
    const day = Math.min(first.getUTCDate(), lastDay);
    return Date.UTC(first.getUTCFullYear(), month, day) + (firstMs % DAY_MS);
  };
  const between =
    (last.getUTCFullYear() - first.getUTCFullYear()) * 12 + last.getUTCMonth() - first.getUTCMonth();
  const count = Math.floor(between / months);
  // Within its month, the occurrence may lie after the time.
  return at(count) <= lastMs ? at(count) : at(count - 1);
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
