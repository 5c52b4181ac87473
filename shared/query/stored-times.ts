import { NOTHING_JOINED } from '../catalogue/shape-columns';
import { DAY_MS } from '../model/duration';
import type { Id } from '../model/id';
import { dayStartMs, daysIn, sourceIdOf } from '../model/placement';
import type { TimeRange } from '../model/selection';
import { mapLimited } from '../platform/concurrency';
import { matchesBySource } from './find-series';
import type { ListStores } from './list-series';

/**
 * Most sources whose first sample is looked up. If there are more sources, none is looked up, and the result begins
 * with the first day.
 */
const MAX_SOURCES = 1_000;
const PARALLEL = 32;

/**
 * Finds when a tenant's samples begin and end: the first sample of the first day with any, and the end of the
 * last day.
 *
 * @returns undefined when there are none in the range
 */
export async function storedTimes(
  { catalogue, indexes }: ListStores,
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
  const { index, live } = await indexes.of(tenantId, firstDay);
  const sources = [...matchesBySource(index.select([], live, NOTHING_JOINED))];
  const firsts =
    sources.length > MAX_SOURCES
      ? []
      : await mapLimited(sources, PARALLEL, async ({ source }) => {
          const { firstMs } = await catalogue.source(tenantId, sourceIdOf(tenantId, source));
          return firstMs;
        });
  const firstMs = firsts.reduce((first, each) => Math.min(first, each), Infinity);
  return {
    firstMs: Math.max(firstDay.fromMs, Number.isFinite(firstMs) ? firstMs : firstDay.fromMs),
    lastMs: Math.min(lastDay.toMs, range.toMs) - 1,
  };
}

async function firstOf<T>(
  all: readonly T[],
  isWanted: (each: T) => Promise<boolean>,
): Promise<T | undefined> {
  for (const each of all) if (await isWanted(each)) return each;
  return undefined;
}

/** Divides a range at the ends of months. */
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
