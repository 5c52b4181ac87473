import { sampleCount } from '../codec';
import type { Id } from '../model/id';
import type { Layout } from '../model/layout';
import type { Matcher } from '../model/matcher';
import { SelectLimitError, type SelectLimits, tooMany, tooManyExpected } from './find-series';
import type { Reading } from './read';

/** Steps of matching between two checks of the clock: a few ms. */
const STEPS_A_CHECK = 1_000_000;

/**
 * Bounds what all reads of one query may use together. When a bound is exceeded, every read of the query
 * stops with the same error.
 */
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

  /** Aborted with the error of the first read that fails. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Stops all reads. Only the first reason counts. */
  stop(reason: unknown): void {
    this.controller.abort(reason);
  }

  /**
   * Checks whether the reads were stopped, or time is up. Call it before each part of the work.
   *
   * @throws the reason of the stop
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

  /** Checks the clock during matching, which no timer can interrupt. @throws {SelectLimitError} */
  spend(steps: number): void {
    this.steps += steps;
    if (this.steps < STEPS_A_CHECK) return;
    this.steps = 0;
    this.check();
  }

  /**
   * Counts samples before they are read. A negative number cancels an earlier estimate. If there are too many, all
   * reads stop.
   */
  expectSamples(count: number, matchers: readonly Matcher[]): void {
    this.samples += count;
    if (count > 0 && this.samples > this.limits.samples)
      this.stop(tooManyExpected(this.samples, this.limits.samples, matchers, this.selectors === 1));
  }

  private failOf(limit: 'series' | 'samples', matchers: readonly Matcher[]): never {
    this.fail(tooMany(limit, this.limits[limit], matchers, this.selectors === 1));
  }

  private fail(error: SelectLimitError): never {
    this.stop(error);
    throw error;
  }
}

/**
 * The least number of samples of one source's read. The budget counts it until the actual number is known. Homes
 * of a source may have the same samples, so the number is that of the home with the most.
 */
export class ExpectedSamples {
  private byHome: Map<Id, number> | undefined;

  /** @param wanted the series of the read */
  constructor(
    readonly budget: ReadBudget,
    private readonly matchers: readonly Matcher[],
    private readonly wanted: Layout,
  ) {}

  /**
   * Sets the least number of samples that one home is known to have. A later call for the home replaces it.
   *
   * @param least returns the least number of samples that the home has of some series
   * @returns false when the budget stopped
   */
  expect(home: Id, least: (wanted: Layout) => number): boolean {
    const before = this.most();
    this.byHome ??= new Map();
    this.byHome.set(home, least(this.wanted));
    this.budget.expectSamples(this.most() - before, this.matchers);
    return !this.budget.signal.aborted;
  }

  /** Replaces the estimate by the number of samples that were read, and of points that replace samples. @throws {SelectLimitError} */
  take({ block, points }: Pick<Reading, 'block' | 'points'>): void {
    let count = sampleCount(block);
    for (const { timestamps } of points?.series ?? []) count += timestamps.length;
    this.budget.expectSamples(-this.most(), this.matchers);
    this.byHome = undefined;
    this.budget.takeSamples(count, this.matchers);
  }

  private most(): number {
    return Math.max(0, ...(this.byHome?.values() ?? []));
  }
}
