import { labelsOf } from '../../shared/model/labels';
import { MemorySampleStore, STALE_BITS } from '../../shared/promql/memory-store';

const VALUES = [0, 1, 2, 3, 10, 1e300, -1, Number.NaN, Number.POSITIVE_INFINITY, STALE_BITS] as const;

/** How long series are, how often they are sampled, and what share of their values is odd. */
interface Shape {
  readonly lengthMs: number;
  readonly everyMs: number;
  readonly oddness: number;
  /** The share for one series of each name. */
  readonly mostOddness: number;
}

const HALF_AN_HOUR: Shape = { lengthMs: 1_800_000, everyMs: 15_000, oddness: 0.03, mostOddness: 1 };
/** Four days of samples. Most days have exact rollups. */
export const FOUR_DAYS: Shape = {
  lengthMs: 4 * 86_400_000,
  everyMs: 300_000,
  oddness: 0,
  mostOddness: 0.002,
};

/** Adds series with gaps, resets, stale markers, NaN and infinities, from `startMs` on. */
export function randomSamples(
  random: () => number,
  startMs = 0,
  { lengthMs, everyMs, oddness: usual, mostOddness }: Shape = HALF_AN_HOUR,
  store = new MemorySampleStore(),
): MemorySampleStore {
  for (const name of ['x', 'y_total', 'h_bucket', 'q'])
    for (const a of ['1', '2', '3'])
      for (const le of name === 'h_bucket' ? ['0.5', '2', '+Inf'] : ['']) {
        const labels = labelsOf(['__name__', name], ['a', a], ...(le === '' ? [] : [['le', le] as const]));
        // One series of each name has many odd values, and the others have few.
        const oddness = a === '1' ? mostOddness : usual;
        let total = 0;
        for (let ms = 0; ms < lengthMs; ms += everyMs) {
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
