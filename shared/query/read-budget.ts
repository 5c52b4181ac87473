import { type Block, sampleCount } from '../codec';
import type { Id } from '../model/id';
import type { Layout } from '../model/layout';
import type { Matcher } from '../model/matcher';
import { SelectLimitError, type SelectLimits, tooMany, tooManyExpected } from './find-series';
import type { Points } from './rolled-points';

/** Number of matching steps after which the clock is checked. One million steps take a few ms. */
const STEPS_A_CHECK = 1_000_000;

/**
 * Limits the resources that all reads of one query use together. When a limit is exceeded, every read of the query
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

  /** Returns a fresh budget with the same limits and the same deadline. */
  renewed(): ReadBudget {
    return new ReadBudget(this.limits, this.isLate);
  }

  /** Aborted with the error of the first read that fails. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Stops all reads. If it is called more than once, the first reason is kept. */
  stop(reason: unknown): void {
    this.controller.abort(reason);
  }

  /**
   * Checks whether the reads were stopped, or the query has run out of time. Call it before each part of the work.
   *
   * @throws the reason for the stop
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

  /**
   * Checks the clock during matching: because matching is synchronous, no timer can interrupt it.
   *
   * @throws {SelectLimitError}
   */
  spend(steps: number): void {
    this.steps += steps;
    if (this.steps < STEPS_A_CHECK) return;
    this.steps = 0;
    this.check();
  }

  /**
   * Counts samples that a read is about to return. A negative number withdraws an earlier estimate. If the query would
   * exceed its limit, all of its reads stop.
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
 * The minimum number of samples that the read of one source will return. The budget counts this estimate until the
 * actual number is known. Several homes of a source may hold the same samples, so their estimates are not added up;
 * only the largest one counts.
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
   * Sets the minimum number of samples that one home is known to hold. A later call for the same home replaces the
   * number.
   *
   * @param least returns the minimum number of samples of the given series that the home holds
   * @returns false if the budget has stopped the reads
   */
  expect(home: Id, least: (wanted: Layout) => number): boolean {
    const before = this.largestEstimate();
    this.byHome ??= new Map();
    this.byHome.set(home, least(this.wanted));
    this.budget.expectSamples(this.largestEstimate() - before, this.matchers);
    return !this.budget.signal.aborted;
  }

  /**
   * Replaces the estimate by the number of samples that were read, including points that stand for samples.
   *
   * @throws {SelectLimitError}
   */
  settle({ block, points }: { block: Block; points?: readonly Points[] | undefined }): void {
    let count = sampleCount(block);
    for (const { timestamps } of points ?? []) count += timestamps.length;
    this.budget.expectSamples(-this.largestEstimate(), this.matchers);
    this.byHome = undefined;
    this.budget.takeSamples(count, this.matchers);
  }

  private largestEstimate(): number {
    return Math.max(0, ...(this.byHome?.values() ?? []));
  }
}
