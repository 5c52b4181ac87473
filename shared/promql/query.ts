import { concat } from '../model/columns';
import { type Labels, labelsKey } from '../model/labels';
import type { RequestedGrains, SampleColumns } from '../model/sample-columns';
import type { TimeRange } from '../model/selection';
import { SharedTimes } from '../model/shared-times';
import { PromqlError, TooManyValuesError } from './errors';
import { Evaluator, Remarks, type SampleCounts, timesOf } from './evaluator';
import { UnprovenSumError } from './grains';
import { parsePromql } from './parser';
import { evaluateInParts, IndivisibleError } from './parts';
import { type AllowedRollups, type PlannedSelect, planSelects, type QueryContext } from './plan';
import type { LiveSamples } from './range-functions';
import type { SampleStore } from './store';
import { type Expr, type Selector, typeOf } from './syntax';
import { Budget, type Steps, sortByLabels, type Vectors } from './vectors';

export interface QueryLimits {
  /** Maximum number of series that all selectors together may match. */
  readonly maxSeries: number;
  /** Maximum number of samples that all selectors together may read for one part of the steps. */
  readonly maxSamples: number;
  /**
   * Maximum number of values in intermediate vectors at one time. A range query that needs more is evaluated in parts,
   * some of its steps at a time.
   */
  readonly maxValues: number;
}

export interface QueryOptions {
  /** @default 5 minutes */
  readonly lookbackMs?: number;
  /**
   * Step of subqueries that do not specify one.
   *
   * @default 1 minute
   */
  readonly subqueryStepMs?: number;
  /**
   * Allows rollups to replace the samples of long ranges. If a range is widened, a remark in the result says so.
   * @default only samples
   */
  readonly rollups?: AllowedRollups | undefined;
  readonly limits: QueryLimits;
  /** Returns whether the query has run out of time. */
  readonly isLate: () => boolean;
}

/** A time range and step in ms. In an instant query, `endMs` equals `startMs`. */
export interface QueryRange {
  readonly startMs: number;
  readonly endMs: number;
  readonly stepMs: number;
}

export interface ResultSeries extends LiveSamples {
  readonly labels: Labels;
}

export type QueryValue =
  | { readonly type: 'scalar'; readonly timestamps: Float64Array; readonly values: Float64Array }
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'vector' | 'matrix'; readonly series: readonly ResultSeries[] };

export interface QueryResult {
  readonly value: QueryValue;
  readonly warnings: readonly string[];
  readonly infos: readonly string[];
  /** Number of samples that the selectors read from the store. */
  readonly samples: number;
  readonly counts: Readonly<SampleCounts> & { readonly peak: number };
}

/** Default lookback time, and step of subqueries that do not specify one, in ms. */
export const DEFAULT_TIMES = { lookbackMs: 300_000, subqueryStepMs: 60_000 } as const;

/**
 * Evaluates an expression at one time.
 *
 * @returns a scalar, string or instant vector, or the raw samples of a range vector
 * @throws {PromqlError}
 */
export async function instantQuery(
  store: SampleStore,
  text: string,
  atMs: number,
  options: QueryOptions,
): Promise<QueryResult> {
  const expr = parsePromql(text);
  const range = { startMs: atMs, endMs: atMs, stepMs: 1 };
  return evaluate({ store, text, expr, isInstant: true }, range, options);
}

/**
 * Evaluates an expression at every step of a range.
 *
 * @returns a matrix, sorted by labels
 * @throws {PromqlError}
 */
export async function rangeQuery(
  store: SampleStore,
  text: string,
  range: QueryRange,
  options: QueryOptions,
): Promise<QueryResult> {
  const expr = parsePromql(text);
  const type = typeOf(expr);
  if (type === 'matrix' || type === 'string')
    throw new PromqlError(
      'bad_data',
      `invalid expression type "${type === 'matrix' ? 'range vector' : type}" for range query, must be Scalar or instant Vector`,
    );
  return evaluate({ store, text, expr, isInstant: false }, range, options);
}

/** An expression and everything needed to evaluate it, except the steps. */
interface Evaluation {
  readonly store: SampleStore;
  readonly text: string;
  readonly expr: Expr;
  readonly context: QueryContext;
  readonly limits: QueryLimits;
  readonly isLate: () => boolean;
  readonly isInstant: boolean;
}

async function evaluate(
  query: Pick<Evaluation, 'store' | 'text' | 'expr' | 'isInstant'>,
  { startMs, endMs, stepMs }: QueryRange,
  {
    lookbackMs = DEFAULT_TIMES.lookbackMs,
    subqueryStepMs = DEFAULT_TIMES.subqueryStepMs,
    rollups,
    limits,
    isLate,
  }: QueryOptions,
): Promise<QueryResult> {
  const steps: Steps = { startMs, stepMs, count: Math.floor((endMs - startMs) / stepMs) + 1 };
  const context: QueryContext = {
    startMs,
    endMs,
    stepMs: query.isInstant ? 0 : stepMs,
    rangeMs: endMs - startMs,
    lookbackMs,
    subqueryStepMs,
    rollups,
  };
  const evaluation: Evaluation = { ...query, context, limits, isLate };
  try {
    const parts = await evaluateInParts(
      steps,
      async (part) => {
        const isPart = part.count < steps.count;
        if (isPart) query.store.release?.();
        const othersMs = (steps.count - part.count) * steps.stepMs;
        const own = { ...evaluation, context: { ...context, othersMs } };
        return evaluatePart(own, part, { isDivisible: part.count > 1, isPart });
      },
      valuesOf,
      limits.maxValues,
    );
    return joinParts(parts);
  } catch (error) {
    if (!(error instanceof IndivisibleError)) throw error;
    query.store.release?.();
    return evaluatePart(evaluation, steps, {});
  }
}

interface PartOptions {
  /**
   * Whether to fail, before samples are read, if the vectors may not fit in memory. The caller then tries fewer steps.
   */
  readonly isDivisible?: boolean;
  /** Whether the query has further steps, which are evaluated in other parts. */
  readonly isPart?: boolean;
}

/**
 * Evaluates some or all of the steps. If a sum of rollups is not precise enough, evaluates the same steps again, over
 * samples.
 *
 * @throws {TooManyValuesError}
 * @throws {IndivisibleError} if there are other steps, and the result depends on them
 */
async function evaluatePart(
  evaluation: Evaluation,
  steps: Steps,
  options: PartOptions,
): Promise<QueryResult> {
  try {
    return await evaluateSteps(evaluation, steps, options);
  } catch (error) {
    if (!(error instanceof UnprovenSumError)) throw error;
    const { rollups } = evaluation.context;
    const context = { ...evaluation.context, rollups: rollups && { ...rollups, grainsMs: [] } };
    return await evaluateSteps({ ...evaluation, context }, steps, options);
  }
}

async function evaluateSteps(
  { store, text, expr, context, limits, isLate, isInstant }: Evaluation,
  steps: Steps,
  { isDivisible = false, isPart = false }: PartOptions,
): Promise<QueryResult> {
  const planned = planSelects(expr, steps, context);
  const fetched = await fetchAll(store, planned, limits, isDivisible);
  const remarks = new Remarks(positionsIn(text));
  const budget = new Budget(limits.maxValues, isLate);
  const evaluator = new Evaluator(fetched.of, widenedIn(planned), context, budget, remarks);
  const value = resultOf(evaluator, expr, steps, isInstant);
  if (isPart && evaluator.needsAllSteps) throw new IndivisibleError();
  return {
    value,
    warnings: [...fetched.warnings, ...remarks.warnings],
    infos: [...remarks.infos],
    samples: fetched.samples,
    counts: { ...evaluator.counts, peak: budget.peakValues },
  };
}

function valuesOf({ value }: QueryResult): number {
  return value.type === 'matrix' ? value.series.reduce((sum, { values }) => sum + values.length, 0) : 0;
}

/** Joins the results of a range query's parts, which are consecutive in time. */
function joinParts(parts: readonly QueryResult[]): QueryResult {
  const [first, ...others] = parts as [QueryResult, ...QueryResult[]];
  if (others.length === 0) return first;
  const all = parts.flatMap(({ value }) => (value.type === 'matrix' ? value.series : []));
  const times = new SharedTimes();
  const series = Array.from(
    Map.groupBy(all, ({ labels }) => labelsKey(labels)).values(),
    (own): ResultSeries => ({
      labels: own[0]!.labels,
      timestamps: times.join(own.map(({ timestamps }) => timestamps)),
      values: concat(own.map(({ values }) => values)),
    }),
  );
  const sum = (count: (part: QueryResult) => number) => parts.reduce((total, part) => total + count(part), 0);
  return {
    value: { type: 'matrix', series: sortByLabels(series) },
    warnings: [...new Set(parts.flatMap(({ warnings }) => warnings))],
    infos: [...new Set(parts.flatMap(({ infos }) => infos))],
    samples: sum(({ samples }) => samples),
    counts: {
      queryable: sum(({ counts }) => counts.queryable),
      read: sum(({ counts }) => counts.read),
      peak: Math.max(...parts.map(({ counts }) => counts.peak)),
    },
  };
}

/** Returns the selectors whose ranges are widened to whole grains, and the length of the grains in ms. */
function widenedIn(planned: readonly PlannedSelect[]): Map<Selector, number> {
  return new Map(
    planned.flatMap(({ selector, grains }) =>
      grains?.edges === 'widened' ? [[selector, grains.grainMs]] : [],
    ),
  );
}

function resultOf(evaluator: Evaluator, expr: Expr, steps: Steps, isInstant: boolean): QueryValue {
  switch (typeOf(expr)) {
    case 'string':
      return { type: 'string', value: (inner(expr) as { value: string }).value };
    case 'scalar': {
      const values = evaluator.scalars(expr, steps);
      const timestamps = values.map((_, step) => steps.startMs + step * steps.stepMs);
      return isInstant
        ? { type: 'scalar', timestamps, values }
        : { type: 'matrix', series: [{ labels: [], timestamps, values }] };
    }
    case 'vector': {
      const series = seriesOf(evaluator.vectors(expr, steps), steps);
      const isSorted = isInstant && isOrdered(expr);
      return { type: isInstant ? 'vector' : 'matrix', series: isSorted ? series : sortByLabels(series) };
    }
    case 'matrix': {
      const range = inner(expr) as Extract<Expr, { kind: 'range' | 'subquery' }>;
      return { type: 'matrix', series: sortByLabels(evaluator.rangeVectorOf(range, steps)) };
    }
  }
}

function inner(expr: Expr): Expr {
  return expr.kind === 'paren' ? inner(expr.expr) : expr;
}

/** Returns whether the order of an instant query's elements is significant. */
function isOrdered(given: Expr): boolean {
  const expr = inner(given);
  return (
    (expr.kind === 'call' && expr.func.name.startsWith('sort')) ||
    (expr.kind === 'aggregation' && (expr.op === 'topk' || expr.op === 'bottomk'))
  );
}

/**
 * Converts the rows of vectors to series, leaving out empty steps and rows. Series without gaps share one array of
 * times.
 */
function seriesOf({ labels, values, present }: Vectors, steps: Steps): ResultSeries[] {
  const { count } = steps;
  const times = timesOf(steps);
  const found: ResultSeries[] = [];
  for (const [row, each] of labels.entries()) {
    const [from, to] = [row * count, (row + 1) * count];
    let length = 0;
    for (let at = from; at < to; at++) length += present[at]!;
    if (length === count) found.push({ labels: each, timestamps: times, values: values.subarray(from, to) });
    else if (length > 0) {
      const isThere = (_: number, step: number) => present[from + step] === 1;
      found.push({
        labels: each,
        timestamps: times.filter(isThere),
        values: values.subarray(from, to).filter(isThere),
      });
    }
  }
  return found;
}

/** Returns a function that finds the line and column of an expression's first character. */
function positionsIn(text: string): (expr: Expr) => string {
  return ({ start }) => {
    const lines = text.slice(0, start).split('\n');
    return `${lines.length}:${lines.at(-1)!.length + 1}`;
  };
}

interface Fetched {
  readonly of: ReadonlyMap<Selector, readonly SampleColumns[]>;
  readonly warnings: ReadonlySet<string>;
  readonly samples: number;
}

/**
 * Reads all selectors together. Selectors with the same matchers share a read if their ranges overlap or touch.
 *
 * @param isDivisible whether to fail, before samples are read, if the vectors of all selectors may not fit in memory
 *   together
 * @throws {TooManyValuesError}
 */
async function fetchAll(
  store: SampleStore,
  planned: readonly PlannedSelect[],
  limits: QueryLimits,
  isDivisible: boolean,
): Promise<Fetched> {
  const reads = mergeReads(planned);
  let [series, samples, values] = [0, 0, 0];
  const warnings = new Set<string>();
  const of = new Map<Selector, readonly SampleColumns[]>();
  await Promise.all(
    reads.map(async ({ selectors, range, grains, why, steps }) => {
      const admit = (found: number) => {
        values += found * steps;
        if (values > limits.maxValues) throw new TooManyValuesError(limits.maxValues);
      };
      const { matchers } = selectors[0]!;
      const options = { grains, why, ...(isDivisible && { admit }) };
      const selected = await store.select(matchers, range, options);
      for (const warning of selected.warnings) warnings.add(warning);
      series += selected.series.length;
      for (const { timestamps } of selected.series) samples += timestamps.length;
      if (series > limits.maxSeries) throw tooMany(series, 'series', limits.maxSeries);
      if (samples > limits.maxSamples) throw tooMany(samples, 'samples', limits.maxSamples);
      for (const selector of selectors) of.set(selector, selected.series);
    }),
  );
  return { of, warnings, samples };
}

/** Returns the error for a query whose selectors match more series or samples than a limit allows. */
function tooMany(count: number, what: 'series' | 'samples', most: number): PromqlError {
  const limit = what === 'series' ? 'querySeries' : 'querySamples';
  return new PromqlError(
    'execution',
    `the query selects ${count} ${what}; at most ${most} are allowed by the tenant's limit ${limit}; narrow its selectors or its range`,
  );
}

interface Read {
  readonly selectors: Selector[];
  range: TimeRange;
  /** Number of values computed for each series: one for each step of each selector that shares the read. */
  steps: number;
  readonly grains?: RequestedGrains | undefined;
  readonly why: string;
}

function mergeReads(planned: readonly PlannedSelect[]): Read[] {
  const reads: (Read & { key: string })[] = [];
  // Plan reads of samples first: a selector that could use rollups can instead use samples that are read anyway.
  const ordered = [...planned].sort(
    (a, b) => Number(a.grains !== undefined) - Number(b.grains !== undefined),
  );
  for (const { selector, range, steps, grains, why } of ordered) {
    const key = JSON.stringify([selector.matchers, grains]);
    const ofSamples = grains?.edges === 'exact' ? JSON.stringify([selector.matchers, undefined]) : key;
    const shared = reads.find(
      (read) =>
        (read.key === ofSamples && read.range.fromMs <= range.fromMs && range.toMs <= read.range.toMs) ||
        (read.key === key && read.range.fromMs <= range.toMs && range.fromMs <= read.range.toMs),
    );
    if (shared === undefined) reads.push({ key, selectors: [selector], range, steps, grains, why });
    else {
      shared.selectors.push(selector);
      shared.steps += steps;
      shared.range = {
        fromMs: Math.min(shared.range.fromMs, range.fromMs),
        toMs: Math.max(shared.range.toMs, range.toMs),
      };
    }
  }
  return reads;
}
