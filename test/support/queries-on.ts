import type { SampleInputs } from '../../shared/alerting/invocation';
import type { SampleStore } from '../../shared/promql/store';

/** Returns the queries of any tenant, which all read from one store and have all the time. */
export function queriesOn(store: SampleStore): SampleInputs['queriesOf'] {
  const limits = { maxSeries: 1000, maxSamples: 100_000, maxValues: 100_000 };
  return () => ({ begin: () => ({ store, options: { limits, isLate: () => false } }) });
}
