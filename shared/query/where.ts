import { type Labels, metricOf } from '../model/labels';
import { sourceIdOf } from '../model/placement';
import type { TimeRange } from '../model/selection';
import type { Tier } from '../model/tier';
import type { Tenant } from '../tenancy/tenants';
import type { TierPlace } from './read';
import type { ReadDependencies } from './read-plan';
import { readSeries } from './read-series';

export interface TierPlaces {
  /** Number of samples of the series in the range. */
  readonly samples: number;
  /**
   * Size of the samples in bytes: for each key, item or byte range, its size multiplied by the share of its samples
   * that belong to the series.
   */
  readonly bytes: number;
  readonly bytesPerSample: number;
  readonly places: readonly TierPlace[];
}

/** Locates the samples of one series: how many each tier holds, and in which keys, items and objects. */
export async function where(
  dependencies: ReadDependencies,
  tenant: Tenant,
  source: Labels,
  name: string,
  range: TimeRange,
): Promise<Record<Tier, TierPlaces>> {
  const known = await dependencies.catalogue.source(tenant.id, sourceIdOf(tenant.id, source));
  const { tiers } = await readSeries(
    dependencies,
    tenant,
    { source, series: [metricOf(source, name)], known },
    range,
  );
  const placesOf = async (tier: Tier): Promise<TierPlaces> => {
    const places = await Promise.all(
      tiers[tier].places
        .filter(({ matched }) => matched > 0)
        .map(async (place) =>
          tier === 'hot' ? { ...place, bytes: await dependencies.hot.space.memoryOf(place.place) } : place,
        ),
    );
    const samples = places.reduce((sum, { matched }) => sum + matched, 0);
    const bytes = places.reduce((sum, place) => sum + (place.bytes * place.matched) / place.samples, 0);
    const bytesPerSample = samples === 0 ? 0 : Number((bytes / samples).toFixed(3));
    return { samples, bytes: Math.round(bytes), bytesPerSample, places };
  };
  const [hot, warm, cold] = await Promise.all([placesOf('hot'), placesOf('warm'), placesOf('cold')]);
  return { hot, warm, cold };
}
