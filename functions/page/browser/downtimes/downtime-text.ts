import type { Downtime } from '../../../../shared/monitors/downtime';
import { formatDuration, formatTime } from '../view/format';

const UNITS = { hourly: 'hour', daily: 'day', weekly: 'week', monthly: 'month', yearly: 'year' } as const;

/** Describes when a downtime is in effect. */
export function timesText({ start, duration, recurrence }: Downtime, utc: boolean): string {
  const first = `${formatTime(start, utc).slice(0, 16)} for ${formatDuration(duration * 60_000)}`;
  if (recurrence == null) return first;
  const { type, interval, weekdays, until } = recurrence;
  const every = interval === 1 ? `every ${UNITS[type]}` : `every ${interval} ${UNITS[type]}s`;
  const days = (weekdays ?? []).length === 0 ? '' : ` on ${weekdays!.join(', ')}`;
  const end = until == null ? '' : `, until ${formatTime(until, utc).slice(0, 16)}`;
  return `${every}${days} from ${first}${end}`;
}

/** Whether a downtime is in effect now, will be in effect later, or is over. */
export type DowntimeState = 'now' | 'coming' | 'over';

/**
 * Returns whether a downtime is in effect, is still to come, or is over.
 *
 * @param isNow whether the downtime is in effect at `nowS`
 */
export function stateOf({ start, recurrence }: Downtime, nowS: number, isNow: boolean): DowntimeState {
  if (isNow) return 'now';
  if (start > nowS) return 'coming';
  return recurrence != null && (recurrence.until == null || recurrence.until > nowS) ? 'coming' : 'over';
}

/** Describes the services, roles and monitors to which a downtime applies. */
export function scopesText(downtime: Downtime, monitorName: (id: string) => string): string {
  const { monitorScopes, monitorExcludeScopes } = downtime;
  const included = [
    ...(downtime.serviceScopes ?? []),
    ...(downtime.roleScopes ?? []),
    ...(monitorScopes ?? []).map(monitorName),
  ];
  const excluded = [
    ...(downtime.serviceExcludeScopes ?? []),
    ...(downtime.roleExcludeScopes ?? []),
    ...(monitorExcludeScopes ?? []).map(monitorName),
  ];
  const where = included.length === 0 ? 'everything' : included.join(', ');
  return excluded.length === 0 ? where : `${where}, except ${excluded.join(', ')}`;
}
