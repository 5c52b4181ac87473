import { DAY_MS, MINUTE_MS } from '../model/duration';
import type { Downtime } from './downtime';
import { WEEKDAYS } from './weekdays';

type Times = Pick<Downtime, 'start' | 'duration' | 'recurrence'>;

/**
 * Returns whether a downtime is in effect at a time. Days, weeks and months are in UTC. In a month that lacks
 * its day, a monthly downtime begins on the month's last day. No occurrence begins after `until`.
 */
export function holdsAt({ start, duration, recurrence }: Times, nowMs: number): boolean {
  const startMs = start * 1000;
  const lastMs = recurrence?.until == null ? nowMs : Math.min(nowMs, recurrence.until * 1000);
  // All occurrences have the same duration, so it suffices to check the newest one that has begun.
  return newest(startMs, recurrence, lastMs).some(
    (fromMs) => fromMs >= startMs && fromMs <= lastMs && nowMs < fromMs + duration * MINUTE_MS,
  );
}

/**
 * Returns the start of the newest occurrence that begins at or before `lastMs`; for weekly downtimes, one
 * start for each weekday.
 */
function newest(startMs: number, recurrence: Times['recurrence'], lastMs: number): number[] {
  if (recurrence == null) return [startMs];
  const { type, interval, weekdays } = recurrence;
  switch (type) {
    case 'hourly':
      return [newestOf(startMs, interval * 60 * MINUTE_MS, lastMs)];
    case 'daily':
      return [newestOf(startMs, interval * DAY_MS, lastMs)];
    case 'weekly': {
      // Weeks begin on Sunday. Each weekday's occurrence begins at the start's time of day.
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
  // The occurrence in the newest month may still be in the future.
  return at(count) <= lastMs ? at(count) : at(count - 1);
}
