import type { Labels } from '../../shared/model/labels';
import { labelsKey } from '../../shared/model/labels';
import { type Matcher, seriesTest } from '../../shared/model/matcher';
import type { TimeRange } from '../../shared/model/selection';
import type { SampleColumns, SampleStore, SelectedSamples } from '../../shared/promql/store';

/** Bits of a stale marker. */
export const STALE = 0x7ff0000000000002n;

/** Keeps series in memory, for tests of the evaluator alone. */
export class MemorySamples implements SampleStore {
  private readonly series = new Map<string, { labels: Labels; samples: Map<number, bigint> }>();

  /** @param value a number, or its 64 bits */
  add(labels: Labels, timestampMs: number, value: number | bigint): void {
    const key = labelsKey(labels);
    const known = this.series.get(key) ?? { labels, samples: new Map() };
    this.series.set(key, known);
    known.samples.set(timestampMs, typeof value === 'bigint' ? value : bitsOf(value));
  }

  /** Every series, its samples as time and bits. */
  all(): { readonly labels: Labels; readonly samples: (readonly [timestampMs: number, bits: bigint])[] }[] {
    return [...this.series.values()].map(({ labels, samples }) => ({ labels, samples: [...samples] }));
  }

  async select(matchers: readonly Matcher[], { fromMs, toMs }: TimeRange): Promise<SelectedSamples> {
    const isMatch = seriesTest(matchers);
    const series: SampleColumns[] = [];
    for (const { labels, samples } of this.series.values()) {
      if (!isMatch(labels)) continue;
      const found = [...samples].filter(([ms]) => ms >= fromMs && ms < toMs).sort(([a], [b]) => a - b);
      series.push({
        labels,
        timestamps: Float64Array.from(found, ([ms]) => ms),
        values: new Float64Array(BigUint64Array.from(found, ([, bits]) => bits).buffer),
      });
    }
    return { series, warnings: [] };
  }
}

function bitsOf(value: number): bigint {
  return new BigUint64Array(Float64Array.of(value).buffer)[0]!;
}
