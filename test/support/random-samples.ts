import { labelsOf } from '../../shared/model/labels';
import { MemorySampleStore, STALE_BITS } from '../../shared/promql/memory-store';

const VALUES = [0, 1, 2, 3, 10, 1e300, -1, Number.NaN, Number.POSITIVE_INFINITY, STALE_BITS] as const;

/** Half an hour of series with gaps, resets, stale markers, NaN and infinities, from `startMs` on. */
export function randomSamples(random: () => number, startMs = 0): MemorySampleStore {
  const store = new MemorySampleStore();
  for (const name of ['x', 'y_total', 'h_bucket', 'q'])
    for (const a of ['1', '2', '3'])
      for (const le of name === 'h_bucket' ? ['0.5', '2', '+Inf'] : ['']) {
        const labels = labelsOf(['__name__', name], ['a', a], ...(le === '' ? [] : [['le', le] as const]));
        // One series of each name has many odd values, the others few.
        const oddness = a === '1' ? 1 : 0.03;
        let total = 0;
        for (let ms = 0; ms < 1_800_000; ms += 15_000) {
          total = random() < 0.02 ? 0 : total + Math.floor(random() * 10);
          if (random() > 0.8) continue;
          store.add(
            labels,
            startMs + ms,
            random() < oddness ? VALUES[Math.floor(random() * VALUES.length)]! : total,
          );
        }
      }
  return store;
}
