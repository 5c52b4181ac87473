import { DAY_MS } from '../model/duration';
import { grainEndMs, grainStartMs, type RequestedGrains, type RollupUse } from '../model/sample-columns';
import type { TimeRange } from '../model/selection';
import { durationMs, type QueryTimes } from './durations';
import { ROLLUP_USES, SELECTOR_USE } from './grains';
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
  /**
   * Total length, in ms, of the steps that are evaluated in other parts. With it, each part chooses between rollups and
   * samples as the whole query would. @default 0
   */
  readonly othersMs?: number;
}

/** Which rollups a query may read instead of samples. */
export interface AllowedRollups {
  /** Lengths, in ms, of the grains that may replace samples if the result stays the same. May be empty. */
  readonly grainsMs: readonly number[];
  /**
   * Length of the grains to which ranges may be widened, in ms. Widening changes the result. Undefined unless the
   * caller allowed widening with `max_source_resolution`.
   */
  readonly widenedMs?: number | undefined;
  /** Minimum length, in ms, of a range that is read from rollups. A shorter range is read from samples. */
  readonly leastRangeMs: number;
}

/**
 * The time to which a selector or subquery refers at each step. If the selector or subquery has a range, the range ends
 * at this time.
 */
export interface Reference {
  readonly of: (evalMs: number) => number;
  /** Whether the time is the same at every step, because of the modifier `@`. */
  readonly isFixed: boolean;
}

export function referenceOf({ at, offset }: Shift, context: QueryContext): Reference {
  const offsetMs = offset === undefined ? 0 : durationMs(offset, context, true);
  if (at === undefined) return { of: (evalMs) => evalMs - offsetMs, isFixed: false };
  const time = (at === 'start' ? context.startMs : at === 'end' ? context.endMs : at) - offsetMs;
  return { of: () => time, isFixed: true };
}

/**
 * Returns the steps of a subquery itself. They are multiples of its step in Unix time, and cover the ranges of all
 * outer steps.
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
  // The range excludes its start.
  const firstMs = (Math.floor(beforeMs / ownStepMs) + 1) * ownStepMs;
  return {
    startMs: firstMs,
    stepMs: ownStepMs,
    count: count === 0 || lastMs < firstMs ? 0 : Math.floor((lastMs - firstMs) / ownStepMs) + 1,
  };
}

export interface PlannedSelect {
  readonly selector: Selector;
  readonly range: TimeRange;
  /** Number of steps at which the selector, or the function over its ranges, is evaluated. */
  readonly steps: number;
  /** The grains that may replace samples. */
  readonly grains?: RequestedGrains;
  /** The reason why the selector reads rollups or samples, for `explain=1`. */
  readonly why: string;
}

/**
 * Plans what each selector of an expression reads.
 *
 * @param func name of the function whose argument the expression is; undefined if there is none
 */
export function planSelects(expr: Expr, steps: Steps, context: QueryContext, func?: string): PlannedSelect[] {
  if (steps.count === 0) return [];
  if (expr.kind === 'selector') return [planSelect(expr, undefined, steps, context, SELECTOR_USE)];
  if (expr.kind === 'range') {
    const use = func === undefined ? undefined : ROLLUP_USES[func];
    return [planSelect(expr.selector, durationMs(expr.range, context), steps, context, use)];
  }
  const inner = expr.kind === 'subquery' ? subquerySteps(expr, steps, context) : steps;
  const own = expr.kind === 'call' ? expr.func.name : expr.kind === 'paren' ? func : undefined;
  return childrenOf(expr).flatMap((child) => planSelects(child, inner, context, own));
}

/**
 * Uses for which rollups often lack exact points, so that the query would probably have to read the samples after all.
 */
const OFTEN_UNKNOWN: ReadonlySet<RollupUse> = new Set(['first', 'difference', 'increase']);

/**
 * Decides whether a selector reads rollups. If every range begins and ends at the edge of a grain, rollups give the
 * same result as samples. Otherwise, rollups can be used only if the ranges are widened to whole grains.
 *
 * @param rangeMs length of a range selector's range; undefined for a plain selector
 * @param use undefined if only samples can be used
 */
function planSelect(
  selector: Selector,
  rangeMs: number | undefined,
  steps: Steps,
  context: QueryContext,
  use: RollupUse | undefined,
): PlannedSelect {
  const { rollups, lookbackMs, othersMs = 0 } = context;
  const range = rangeOf(selector, rangeMs ?? lookbackMs, steps, context);
  const samples = (why: string) => ({ selector, range, steps: steps.count, why });
  if (rollups === undefined) return samples('the stage stores no rollups');
  if (use === undefined) return samples('this use of the selector needs samples');
  const { grainsMs, widenedMs, leastRangeMs } = rollups;
  const ofOthersMs = referenceOf(selector, context).isFixed ? 0 : othersMs;
  if (range.toMs - range.fromMs + ofOthersMs < leastRangeMs)
    return samples(`the range is shorter than ${leastRangeMs / DAY_MS} days`);
  const grainMs = wholeGrain(grainsMs, range.toMs - 1, rangeMs ?? 0, stepOf(selector, steps, context));
  if (grainMs !== undefined && (widenedMs === undefined || !OFTEN_UNKNOWN.has(use))) {
    // A plain selector needs only the newest sample, which a rollup stores as the last sample of its grain. So read
    // that grain from its start, even if the lookback time is shorter than the grain.
    const fromMs = rangeMs === undefined ? grainStartMs(range.fromMs - 1, grainMs) + 1 : range.fromMs;
    const why =
      'all ranges begin and end at multiples of the grain, so rollups give the same result as samples';
    return { ...samples(why), range: { ...range, fromMs }, grains: { grainMs, use, edges: 'exact' } };
  }
  if (widenedMs === undefined)
    return samples(
      grainsMs.length === 0
        ? 'sums of rollups would lose precision'
        : 'the start, the step or the ranges are not multiples of an hour',
    );
  return {
    ...samples('max_source_resolution allows them'),
    range: {
      fromMs: grainStartMs(range.fromMs - 1, widenedMs),
      toMs: grainEndMs(range.toMs - 1, widenedMs),
    },
    grains: { grainMs: widenedMs, use, edges: 'widened' },
  };
}

/** Returns the length in ms of the longest grain that divides all of these times; undefined if none does. */
function wholeGrain(grainsMs: readonly number[], ...timesMs: readonly number[]): number | undefined {
  const whole = grainsMs.filter((grainMs) => timesMs.every((ms) => ms % grainMs === 0));
  return whole.length === 0 ? undefined : Math.max(...whole);
}

/** Returns the time from one range of a selector to the next, in ms; 0 if there is only one range. */
function stepOf(selector: Selector, { stepMs, count }: Steps, context: QueryContext): number {
  const isOnly = count === 1 && !context.othersMs;
  return isOnly || referenceOf(selector, context).isFixed ? 0 : stepMs;
}

/**
 * Returns the times of the samples that a selector needs: from 1 ms after the first range's start up to 1 ms after the
 * last one's end.
 */
function rangeOf(selector: Selector, lengthMs: number, steps: Steps, context: QueryContext): TimeRange {
  const reference = referenceOf(selector, context);
  const firstMs = reference.of(steps.startMs);
  const lastMs = reference.of(steps.startMs + (steps.count - 1) * steps.stepMs);
  // The range excludes its start and includes its end.
  return { fromMs: firstMs - lengthMs + 1, toMs: lastMs + 1 };
}
