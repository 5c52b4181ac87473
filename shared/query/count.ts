import { metricNames } from '../catalogue/source-series';
import { DAY_MS } from '../model/duration';
import { type Labels, metricOf } from '../model/labels';
import { sourceIdOf } from '../model/placement';
import type { TimeRange } from '../model/selection';
import { mapLimited } from '../platform/concurrency';
import type { Tenant } from '../tenancy/tenants';
import type { ReadDependencies } from './read-plan';
import { readSeries } from './read-series';

/** Maximum number of days read at the same time. Each read returns all series of the source. */
const PARALLEL = 4;

/**
 * Counts, for each metric of a source, the samples that a read of the range returns.
 *
 * @param isCounted selects metrics by name
 * @returns counts, sorted by name
 */
export async function countSamples(
  dependencies: ReadDependencies,
  tenant: Tenant,
  source: Labels,
  isCounted: (name: string) => boolean,
  { fromMs, toMs }: TimeRange,
): Promise<{ readonly name: string; readonly samples: number }[]> {
  const known = await dependencies.catalogue.source(tenant.id, sourceIdOf(tenant.id, source));
  const names = metricNames(known).filter(isCounted);
  if (names.length === 0) return [];
  const series = names.map((name) => metricOf(source, name));
  const counts = new Float64Array(names.length);
  const firstDayMs = Math.floor(Math.max(fromMs, known.firstMs) / DAY_MS) * DAY_MS;
  const days = Array.from(
    { length: Math.max(0, Math.ceil((toMs - firstDayMs) / DAY_MS)) },
    (_, i) => firstDayMs + i * DAY_MS,
  );
  await mapLimited(days, PARALLEL, async (dayMs) => {
    const range = { fromMs: Math.max(fromMs, dayMs), toMs: Math.min(toMs, dayMs + DAY_MS) };
    const { block } = await readSeries(dependencies, tenant, { source, series, known }, range);
    block.columns.forEach(({ values }, i) => {
      counts[i]! += values.length;
    });
  });
  return names.map((name, i) => ({ name, samples: counts[i]! }));
}
