import type { Matcher } from '../model/matcher';
import { firstFrom, type SampleColumns } from '../model/sample-columns';
import type { TimeRange } from '../model/selection';
import { PromqlError } from './errors';
import { planSelects } from './plan';
import { DEFAULT_TIMES } from './query';
import type { SampleStore, SelectedSamples } from './store';
import type { Expr } from './syntax';

interface PlannedRead {
  readonly matchers: readonly Matcher[];
  range: TimeRange;
  read?: Promise<SelectedSamples>;
}

/**
 * Reads the samples that several expressions need, each selector only once. Call {@link expect} for all expressions,
 * then evaluate them with this store. The first evaluation starts all expected reads together, so that they share
 * requests. A selection that was not expected is read when it is first used, and shared from then on.
 */
export class SharedReads implements SampleStore {
  private readonly plannedReads = new Map<string, PlannedRead[]>();

  /**
   * @param store creates a store for each read, so that reads do not share a budget
   * @param aheadMs how far beyond its requested end an unexpected selection is read, in ms. A caller that steps forward
   *   in time then reads each selection only once. @default 0
   */
  constructor(
    private readonly store: () => SampleStore,
    private readonly aheadMs: () => number = () => 0,
  ) {}

  /** Announces that an expression will be evaluated at a time. */
  expect(expr: Expr, atMs: number): void {
    const steps = { startMs: atMs, stepMs: 1, count: 1 };
    const context = { ...DEFAULT_TIMES, startMs: atMs, endMs: atMs, stepMs: 0, rangeMs: 0 };
    try {
      for (const { selector, range } of planSelects(expr, steps, context)) this.add(selector.matchers, range);
    } catch (error) {
      // Ignore the error: evaluating the expression throws it again.
      if (!(error instanceof PromqlError)) throw error;
    }
  }

  private add(matchers: readonly Matcher[], range: TimeRange): void {
    const plannedReads = this.plannedReadsOf(matchers);
    const met = plannedReads.find(
      (planned) =>
        planned.read === undefined &&
        planned.range.fromMs <= range.toMs &&
        range.fromMs <= planned.range.toMs,
    );
    if (met === undefined) plannedReads.push({ matchers, range });
    else
      met.range = {
        fromMs: Math.min(met.range.fromMs, range.fromMs),
        toMs: Math.max(met.range.toMs, range.toMs),
      };
  }

  private plannedReadsOf(matchers: readonly Matcher[]): PlannedRead[] {
    const key = JSON.stringify(matchers);
    const plannedReads = this.plannedReads.get(key) ?? [];
    this.plannedReads.set(key, plannedReads);
    return plannedReads;
  }

  /** Takes the samples from a planned read that covers the range. If that read exceeds a limit, reads only the range. */
  async select(matchers: readonly Matcher[], range: TimeRange): Promise<SelectedSamples> {
    const plannedReads = this.plannedReadsOf(matchers);
    let planned = plannedReads.find(
      ({ range: { fromMs, toMs } }) => fromMs <= range.fromMs && range.toMs <= toMs,
    );
    if (planned === undefined) {
      planned = { matchers, range: { ...range, toMs: range.toMs + this.aheadMs() } };
      plannedReads.push(planned);
    }
    if (planned.read === undefined) this.readAll();
    const joined = planned;
    const { series, warnings } = await joined.read!.catch((error: unknown) => {
      const isWhole = joined.range.fromMs === range.fromMs && joined.range.toMs === range.toMs;
      if (isWhole || !(error instanceof PromqlError && error.kind === 'execution')) throw error;
      // The planned read covers the ranges of several expressions, so it may exceed a limit that a read of one range
      // does not. Put the new read at the front of the list, where others that need this range find it first.
      const read = this.store().select(matchers, range);
      plannedReads.unshift({ matchers, range, read });
      return read;
    });
    const parts = series.map((each) => partOf(each, range));
    return { series: parts.filter(({ timestamps }) => timestamps.length > 0), warnings };
  }

  /** Frees all samples. Later selections are read again. */
  clear(): void {
    this.plannedReads.clear();
  }

  private readAll(): void {
    for (const planned of [...this.plannedReads.values()].flat()) {
      planned.read ??= this.store().select(planned.matchers, planned.range);
      // The caller that awaits the read handles its failure; this only prevents an unhandled rejection.
      planned.read.catch(() => {});
    }
  }
}

function partOf({ labels, timestamps, values }: SampleColumns, { fromMs, toMs }: TimeRange): SampleColumns {
  const from = firstFrom(timestamps, fromMs);
  const to = firstFrom(timestamps, toMs);
  return { labels, timestamps: timestamps.subarray(from, to), values: values.subarray(from, to) };
}
