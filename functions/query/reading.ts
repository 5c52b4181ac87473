import { HttpError } from '../../shared/http/http';
import type { Aggregate, Samples } from '../../shared/model/aggregates';
import type { TimeRange } from '../../shared/model/selection';
import { clampRange, stepGrains } from '../../shared/query/plan';
import { sampleColumnsOf } from '../../shared/query/point-joiner';
import type { ReadStats } from '../../shared/query/read';
import type { ReadBudget } from '../../shared/query/read-budget';
import { readInSlices } from '../../shared/query/read-in-slices';
import { readSeries, type SeriesRequest } from '../../shared/query/read-series';
import type { Tenant } from '../../shared/tenancy/tenants';
import { dependencies, retentionMs } from './stores';

/**
 * Converts the range of a request to ms.
 *
 * @param query Unix times in seconds; both ends are inclusive
 * @throws {HttpError} 400 when the range ends before it begins
 */
export function requestedRange({ from, to }: { readonly from: number; readonly to: number }): TimeRange {
  if (from > to) throw new HttpError(400, `from ${from} is after to ${to}`);
  return { fromMs: from * 1000, toMs: to * 1000 };
}

/** Limits a range to the retention. */
export function readableRange(range: TimeRange): TimeRange {
  return clampRange(range, Date.now(), retentionMs);
}

/** A slice of a range, converted to the form that the response shows. */
export interface ShownSlice<Shown> extends ReadStats {
  readonly shown: Shown;
}

/**
 * Reads series of one source, slice by slice. The range is cut into slices that each fit into the function's memory.
 *
 * @param show converts a slice to the response's form. It receives the samples of each series, or points that replace
 *   them
 */
export function readShown<Shown>(
  tenant: Tenant,
  request: SeriesRequest,
  range: TimeRange,
  { stepMs, aggregate, partial }: ShownAs,
  show: (samples: readonly Samples[]) => Shown,
): Promise<ShownSlice<Shown>[]> {
  const grains = stepGrains(stepMs, aggregate);
  const read = async (slice: TimeRange, budget: ReadBudget) => {
    const found = await readSeries(dependencies, tenant, request, slice, {
      allowsMissing: partial === 'true',
      grains,
      budget,
    });
    const { tiers, rounds, rollupDays, missingSinceMs } = found;
    return { shown: show(sampleColumnsOf(found, grains)), tiers, rounds, rollupDays, missingSinceMs };
  };
  return readInSlices(read, range, stepMs);
}

interface ShownAs {
  /** Length of the steps, in ms; undefined if samples are read as stored. */
  readonly stepMs: number | undefined;
  readonly aggregate?: Aggregate | undefined;
  readonly partial?: 'true' | 'false' | undefined;
}
