import { labelsKey } from '../model/labels';
import type { Matcher } from '../model/matcher';
import type { SampleColumns } from '../model/sample-columns';
import type { TimeRange } from '../model/selection';
import type { SampleStore, SelectedSamples } from './store';

/** Combines two stores. If both have a sample for the same series and time, the upper store's sample is used. */
export class OverlayStore implements SampleStore {
  constructor(
    private readonly lower: SampleStore,
    private readonly upper: SampleStore,
  ) {}

  async select(matchers: readonly Matcher[], range: TimeRange): Promise<SelectedSamples> {
    const [lower, upper] = await Promise.all([
      this.lower.select(matchers, range),
      this.upper.select(matchers, range),
    ]);
    const laid = new Map(
      upper.series
        .filter(({ timestamps }) => timestamps.length > 0)
        .map((each) => [labelsKey(each.labels), each]),
    );
    if (laid.size === 0) return lower;
    const series = lower.series.map((below) => {
      const key = labelsKey(below.labels);
      const above = laid.get(key);
      laid.delete(key);
      return above === undefined ? below : overlay(below, above);
    });
    return { series: [...series, ...laid.values()], warnings: [...lower.warnings, ...upper.warnings] };
  }
}

function overlay(below: SampleColumns, above: SampleColumns): SampleColumns {
  const most = below.timestamps.length + above.timestamps.length;
  const timestamps = new Float64Array(most);
  const bits = new BigUint64Array(most);
  const [lower, upper] = [bitsOf(below.values), bitsOf(above.values)];
  let length = 0;
  for (let i = 0, j = 0; i < lower.length || j < upper.length; length++) {
    const [a, b] = [below.timestamps[i] ?? Infinity, above.timestamps[j] ?? Infinity];
    timestamps[length] = Math.min(a, b);
    bits[length] = b <= a ? upper[j]! : lower[i]!;
    if (a <= b) i++;
    if (b <= a) j++;
  }
  return {
    labels: below.labels,
    timestamps: timestamps.subarray(0, length),
    values: new Float64Array(bits.buffer, 0, length),
  };
}

/** Views values as bits. JavaScript may change the bits of a NaN that is read as a number. */
export function bitsOf({ buffer, byteOffset, length }: Float64Array): BigUint64Array {
  return new BigUint64Array(buffer, byteOffset, length);
}
