import { metricNames } from '../catalogue/source-series';
import { DAY_MS } from '../model/duration';
import { type Labels, metricOf } from '../model/labels';
import { sourceIdOf } from '../model/placement';
import type { Tenant } from '../tenancy/tenants';
import type { ReadDependencies } from './read-plan';
import { readSeries } from './read-series';

export interface LatestSample {
  /** Unix time in seconds. */
  readonly time: number;
  readonly value: number;
}

/**
 * How far back to look for the latest sample, in ms. The first read covers an hour, which nearly always contains the
 * sample. For metrics without a sample in that hour, a second read covers a day.
 */
const LOOK_BACK_MS = [3_600_000, DAY_MS] as const;

/** Reads the latest sample of each of a source's metrics. Omits metrics without samples in the last day. */
export async function readLatest(
  dependencies: ReadDependencies,
  tenant: Tenant,
  source: Labels,
  names: readonly string[],
  nowMs: number,
): Promise<Map<string, LatestSample>> {
  const latest = new Map<string, LatestSample>();
  const known = await dependencies.catalogue.source(tenant.id, sourceIdOf(tenant.id, source));
  const existing = new Set(metricNames(known, source));
  let missing = names.filter((name) => existing.has(name));
  for (const backMs of LOOK_BACK_MS) {
    if (missing.length === 0) break;
    const range = { fromMs: nowMs - backMs, toMs: nowMs + DAY_MS };
    const series = missing.map((name) => metricOf(source, name));
    const { block } = await readSeries(dependencies, tenant, { source, series, known }, range);
    missing.forEach((name, i) => {
      const { rows, values } = block.columns[i]!;
      const last = values.length - 1;
      if (last < 0) return;
      const ms = block.timestamps[rows === undefined ? last : rows[last]!]!;
      latest.set(name, { time: Math.floor(ms / 1000), value: values[last]! });
    });
    missing = missing.filter((name) => !latest.has(name));
  }
  return latest;
}
