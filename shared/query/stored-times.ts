import { DAY_MS } from '../model/duration';
import type { Id } from '../model/id';
import { dayStartMs, daysIn } from '../model/placement';
import type { TimeRange } from '../model/selection';
import type { TenantIndexes } from './tenant-index';

/**
 * Finds when a tenant's samples begin and end: the start of the first day with samples, and the end of the last one,
 * both within the range.
 *
 * @returns undefined if the range has no samples
 */
export async function storedTimes(
  indexes: Pick<TenantIndexes, 'of'>,
  tenantId: Id,
  range: TimeRange,
): Promise<{ readonly firstMs: number; readonly lastMs: number } | undefined> {
  const isStored = async (part: TimeRange) => (await indexes.of(tenantId, part)).live.includes(1);
  const parts = monthsIn(range);
  const firstMonth = await firstOf(parts, isStored);
  const lastMonth = await firstOf(parts.toReversed(), isStored);
  if (firstMonth === undefined || lastMonth === undefined) return undefined;
  const firstDay = (await firstOf(daysOf(firstMonth), isStored)) ?? firstMonth;
  const lastDay = (await firstOf(daysOf(lastMonth).toReversed(), isStored)) ?? lastMonth;
  return { firstMs: firstDay.fromMs, lastMs: lastDay.toMs - 1 };
}

async function firstOf<T>(
  all: readonly T[],
  isWanted: (each: T) => Promise<boolean>,
): Promise<T | undefined> {
  for (const each of all) if (await isWanted(each)) return each;
  return undefined;
}

/** Divides a range at month boundaries. */
function monthsIn({ fromMs, toMs }: TimeRange): TimeRange[] {
  const parts: TimeRange[] = [];
  for (let startMs = fromMs; startMs < toMs; ) {
    const start = new Date(startMs);
    const endMs = Math.min(toMs, Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1, 1));
    parts.push({ fromMs: startMs, toMs: endMs });
    startMs = endMs;
  }
  return parts;
}

function daysOf({ fromMs, toMs }: TimeRange): TimeRange[] {
  return daysIn(fromMs, toMs).map((day) => ({
    fromMs: Math.max(fromMs, dayStartMs(day)),
    toMs: Math.min(toMs, dayStartMs(day) + DAY_MS),
  }));
}
