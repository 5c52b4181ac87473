import type { TimeRange } from '../model/selection';
import { durationMs, type QueryTimes } from './durations';
import { GRAIN_FUNCTIONS, GRAIN_OF_SELECTOR, grainEndMs, grainStartMs } from './grains';
import type { AskedGrains } from './store';
import { childrenOf, type Expr, type Selector, type Shift, type Subquery } from './syntax';
import type { Steps } from './vectors';

/** Times that are constant for a whole query. */
export interface QueryContext extends QueryTimes {
  readonly startMs: number;
  readonly endMs: number;
  /** How far back an instant selector looks for the latest sample, in ms. */
  readonly lookbackMs: number;
  /** Step of subqueries that do not specify one, in ms. */
  readonly subqueryStepMs: number;
  readonly rollups?: AllowedRollups | undefined;
}

/** Grains of rollups that may replace samples in a query. */
export interface AllowedRollups {
  readonly grainMs: number;
  /** A shorter range is read from samples, in ms. */
  readonly leastRangeMs: number;
}

/** The time to which a selector or subquery refers at each step, before its range is subtracted. */
export interface Reference {
  readonly of: (evalMs: number) => number;
  readonly isFixed: boolean;
}

export function referenceOf({ at, offset }: Shift, context: QueryContext): Reference {
  const offsetMs = offset === undefined ? 0 : durationMs(offset, context, true);
  if (at === undefined) return { of: (evalMs) => evalMs - offsetMs, isFixed: false };
  const time = (at === 'start' ? context.startMs : at === 'end' ? context.endMs : at) - offsetMs;
  return { of: () => time, isFixed: true };
}

/**
 * Returns a subquery's own steps: multiples of its step since epoch that cover the windows of all outer
 * steps.
 */
export function subquerySteps(
  subquery: Subquery,
  { startMs, stepMs, count }: Steps,
  context: QueryContext,
): Steps {
  const rangeMs = durationMs(subquery.range, context);
  const ownStepMs = subquery.step === undefined ? context.subqueryStepMs : durationMs(subquery.step, context);
  const reference = referenceOf(subquery, context);
  const beforeMs = reference.of(startMs) - rangeMs;
  const lastMs = reference.of(startMs + Math.max(0, count - 1) * stepMs);
  // The window excludes its start.
  const firstMs = (Math.floor(beforeMs / ownStepMs) + 1) * ownStepMs;
  return {
    startMs: firstMs,
    stepMs: ownStepMs,
    count: count === 0 || lastMs < firstMs ? 0 : Math.floor((lastMs - firstMs) / ownStepMs) + 1,
  };
}

export interface PlannedSelect {
  readonly selector: Selector;
  /** Consists of whole grains if `grains` is set. */
  readonly range: TimeRange;
  /** The grains that replace the samples. */
  readonly grains?: AskedGrains;
}

/**
 * Returns the samples that each selector of an expression needs.
 *
 * @param func the function whose argument the expression is
 */
export function planSelects(expr: Expr, steps: Steps, context: QueryContext, func?: string): PlannedSelect[] {
  if (steps.count === 0) return [];
  if (expr.kind === 'selector') {
    const range = rangeOf(expr, context.lookbackMs, steps, context);
    // A grain does not store the time of its last sample.
    const aggregate = func === 'timestamp' ? undefined : GRAIN_OF_SELECTOR;
    return [planned(expr, range, context, aggregate)];
  }
  if (expr.kind === 'range') {
    const range = rangeOf(expr.selector, durationMs(expr.range, context), steps, context);
    const { aggregate, before } = (func === undefined ? undefined : GRAIN_FUNCTIONS[func]) ?? {};
    return [planned(expr.selector, range, context, aggregate, before)];
  }
  const inner = expr.kind === 'subquery' ? subquerySteps(expr, steps, context) : steps;
  const own = expr.kind === 'call' ? expr.func.name : expr.kind === 'paren' ? func : undefined;
  return childrenOf(expr).flatMap((child) => planSelects(child, inner, context, own));
}

/**
 * @param range times of the samples: from 1 ms after the first window's start to 1 ms after the last one's
 * end
 * @param aggregate what each grain must provide; undefined if only samples can be used
 * @param before number of grains to read before the first window
 */
function planned(
  selector: Selector,
  range: TimeRange,
  { rollups }: QueryContext,
  aggregate: AskedGrains['aggregate'] | undefined,
  before = 0,
): PlannedSelect {
  if (aggregate === undefined || rollups === undefined || range.toMs - range.fromMs < rollups.leastRangeMs)
    return { selector, range };
  const { grainMs } = rollups;
  return {
    selector,
    range: {
      fromMs: grainStartMs(range.fromMs - 1, grainMs) - before * grainMs,
      toMs: grainEndMs(range.toMs - 1, grainMs),
    },
    grains: { grainMs, aggregate },
  };
}

function rangeOf(selector: Selector, lengthMs: number, steps: Steps, context: QueryContext): TimeRange {
  const reference = referenceOf(selector, context);
  const firstMs = reference.of(steps.startMs);
  const lastMs = reference.of(steps.startMs + (steps.count - 1) * steps.stepMs);
  // The window excludes its start and includes its end.
  return { fromMs: firstMs - lengthMs + 1, toMs: lastMs + 1 };
}
