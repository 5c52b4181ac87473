import type { Matcher } from '../model/matcher';
import { SelectLimitError, type SelectLimits, tooMany } from './find-series';

/** Steps of matching between two looks at the clock: a few ms. */
const STEPS_A_LOOK = 1_000_000;

/** What all reads of one query may take together. Once a bound is met, every read of the query stops with the same error. */
export class ReadBudget {
  private selectors = 0;
  private series = 0;
  private samples = 0;
  private steps = 0;
  private readonly controller = new AbortController();

  /** @param isLate whether the query has run out of time */
  constructor(
    readonly limits: SelectLimits,
    readonly isLate: () => boolean = () => false,
  ) {}

  /** Aborted with the error of the first read that failed. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Stops all reads. The first reason counts. */
  stop(reason: unknown): void {
    this.controller.abort(reason);
  }

  /**
   * Call before each part of the work.
   *
   * @throws what stopped the reads
   */
  check(): void {
    this.signal.throwIfAborted();
    if (this.isLate()) this.fail(new SelectLimitError('time', 'query timed out in query execution'));
  }

  /** Counts the series of a selector before their samples are read. @throws {SelectLimitError} */
  takeSeries(count: number, matchers: readonly Matcher[]): void {
    this.selectors++;
    this.series += count;
    if (this.series > this.limits.series) this.failOf('series', matchers);
    this.check();
  }

  /** Counts samples that were read. @throws {SelectLimitError} */
  takeSamples(count: number, matchers: readonly Matcher[]): void {
    this.samples += count;
    if (this.samples > this.limits.samples) this.failOf('samples', matchers);
    this.check();
  }

  /** Looks at the clock while values are matched, which no timer interrupts. @throws {SelectLimitError} */
  spend(steps: number): void {
    this.steps += steps;
    if (this.steps < STEPS_A_LOOK) return;
    this.steps = 0;
    this.check();
  }

  private failOf(limit: 'series' | 'samples', matchers: readonly Matcher[]): never {
    this.fail(tooMany(limit, this.limits[limit], matchers, this.selectors === 1));
  }

  private fail(error: SelectLimitError): never {
    this.stop(error);
    throw error;
  }
}
