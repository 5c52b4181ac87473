import type { Matcher } from '../model/matcher';
import type { RequestedGrains, SampleColumns } from '../model/sample-columns';
import type { TimeRange } from '../model/selection';

export interface SelectOptions {
  /**
   * Lets the store return points instead of samples. Given only if the query allows rollups
   * ({@link QueryOptions.rollups}).
   */
  readonly grains?: RequestedGrains | undefined;
  /** The reason why `grains` are given or not, for `explain=1`. */
  readonly why?: string;
  /**
   * The store may call it with the number of series that it found, before it reads their samples. If `admit` throws, the
   * store reads nothing.
   */
  readonly admit?: ((series: number) => void) | undefined;
}

/** Finds the series of an expression's selectors. */
export interface SampleStore {
  /**
   * Returns the series that satisfy all matchers, and their samples in the range. Series without samples may be
   * omitted.
   */
  select(matchers: readonly Matcher[], range: TimeRange, options?: SelectOptions): Promise<SelectedSamples>;

  /**
   * Tells the store that the caller has freed all samples of earlier selections. The store then resets its counts of
   * series and samples to 0, and stops selections that it is still reading.
   */
  release?(): void;
}

export interface SelectedSamples {
  readonly series: readonly SampleColumns[];
  /** Warnings for the result, such as which samples may be missing. */
  readonly warnings: readonly string[];
}
