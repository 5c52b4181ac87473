import { type Labels, labelValue, METRIC_NAME } from '../model/labels';
import {
  grainEndMs,
  grainStartMs,
  type SampleColumns,
  staleMarkers,
  withoutStale,
} from '../model/sample-columns';
import { aggregate, countValues, selectTop, sortByValue } from './aggregate';
import { durationMs } from './durations';
import { PromqlError } from './errors';
import { DATE_FUNCTIONS, FLOAT_FUNCTIONS, greatest, least } from './float-functions';
import { overPoints } from './grains';
import { type BucketRemarks, bucketFraction, bucketQuantile, overHistograms } from './histogram';
import { labelJoin, labelReplace } from './label-functions';
import { combine, OPERATIONS, withScalar } from './operators';
import { type QueryContext, type Reference, referenceOf, subquerySteps } from './plan';
import { type LiveSamples, RANGE_FUNCTIONS, type RangeFunction } from './range-functions';
import {
  type Aggregation,
  type Binary,
  type Call,
  type Expr,
  type RangeSelector,
  type Selector,
  type Shift,
  type Subquery,
  typeOf,
} from './syntax';
import {
  type Budget,
  emptyVectors,
  mergeSameLabels,
  Rows,
  requireDistinctLabels,
  type Steps,
  stayDistinct,
  VALUES_PER_CHECK,
  type Vectors,
  withLabels,
  withoutName,
} from './vectors';

/** Warnings and infos of a result, without duplicates. */
export class Remarks {
  readonly warnings = new Set<string>();
  readonly infos = new Set<string>();

  constructor(private readonly positionOf: (expr: Expr) => string) {}

  warn(text: string, at: Expr): void {
    this.warnings.add(`PromQL warning: ${text} (${this.positionOf(at)})`);
  }

  inform(text: string, at: Expr): void {
    this.infos.add(`PromQL info: ${text} (${this.positionOf(at)})`);
  }
}

/** Number of samples that an evaluation used, counted as Prometheus does. */
export interface SampleCounts {
  /** Number of samples in all ranges and look-ups. A sample counts once for every step that uses it. */
  queryable: number;
  /** Number of samples read. A sample that several ranges share counts only once. */
  read: number;
}

/** Range functions whose results keep the metric's name. */
const KEEPS_NAME: ReadonlySet<string> = new Set(['first_over_time', 'last_over_time']);

/** Evaluates expressions over samples that have already been read. */
export class Evaluator {
  readonly counts: SampleCounts = { queryable: 0, read: 0 };
  /**
   * Whether the evaluation refuses two series with the same labels even if they have values at different steps. If so,
   * the result also depends on steps that were not evaluated.
   */
  needsAllSteps = false;

  constructor(
    private readonly fetched: ReadonlyMap<Selector, readonly SampleColumns[]>,
    /** The selectors whose ranges are widened to whole grains, and the length of the grains in ms. */
    private readonly widened: ReadonlyMap<Selector, number>,
    private readonly context: QueryContext,
    private readonly budget: Budget,
    readonly remarks: Remarks,
  ) {}

  /** Evaluates a scalar expression. Returns one value per step. */
  scalars(given: Expr, steps: Steps): Float64Array {
    const expr = unwrap(given);
    return this.budget.scope(
      () => this.scalarsOf(expr, steps),
      ({ length }) => length,
    );
  }

  private scalarsOf(expr: Expr, steps: Steps): Float64Array {
    // Evaluate the operands before allocating their result.
    const operands =
      expr.kind === 'unary' ? [expr.expr] : expr.kind === 'binary' ? [expr.left, expr.right] : [];
    const values = operands.map((operand) => this.scalars(operand, steps));
    this.budget.hold(steps.count);
    switch (expr.kind) {
      case 'number':
        return new Float64Array(steps.count).fill(expr.value);
      case 'unary':
        return expr.op === '-' ? values[0]!.map((value) => -value) : values[0]!;
      case 'binary': {
        const [left, right] = values as [Float64Array, Float64Array];
        const operate = OPERATIONS[expr.op as keyof typeof OPERATIONS];
        return left.map((value, step) => operate(value, right[step]!));
      }
      case 'call':
        if (expr.func.name === 'pi') return new Float64Array(steps.count).fill(Math.PI);
        if (expr.func.name === 'time') return timesOf(steps).map((ms) => ms / 1000);
        if (expr.func.name === 'scalar') return this.onlyValues(expr.args[0]!, steps);
    }
    throw new TypeError(`${expr.kind} is no scalar`);
  }

  /** Implements `scalar()`: the value of a vector's only element, or NaN if the vector has none or several. */
  private onlyValues(expr: Expr, { count, ...rest }: Steps): Float64Array {
    const { labels, values, present } = this.vectors(expr, { count, ...rest });
    const found = new Uint32Array(count);
    const result = new Float64Array(count).fill(Number.NaN);
    for (let row = 0; row < labels.length; row++)
      for (let step = 0, at = row * count; step < count; step++, at++) {
        if (present[at] === 0) continue;
        found[step]!++;
        result[step] = found[step] === 1 ? values[at]! : Number.NaN;
      }
    return result;
  }

  /** Evaluates an instant-vector expression at all steps. */
  vectors(given: Expr, steps: Steps): Vectors {
    const expr = unwrap(given);
    if (steps.count === 0) return emptyVectors(0);
    return this.budget.scope(
      () => this.vectorsOf(expr, steps),
      ({ present }) => present.length,
    );
  }

  private vectorsOf(expr: Expr, steps: Steps): Vectors {
    switch (expr.kind) {
      case 'selector':
        return this.instants(expr, steps, (samples, index) => samples.values[index]!);
      case 'aggregation':
        return this.aggregation(expr, steps);
      case 'binary':
        return this.binary(expr, steps);
      case 'unary': {
        const input = this.vectors(expr.expr, steps);
        if (expr.op === '+') return input;
        return this.each(input, (value) => -value);
      }
      case 'call':
        return this.call(expr, steps);
      default:
        throw new TypeError(`${expr.kind} is no instant vector`);
    }
  }

  /** Finds, for each step, the newest sample within the lookback time, unless it is a stale marker. */
  private instants(
    selector: Selector,
    { startMs, stepMs, count }: Steps,
    valueAt: (samples: SampleColumns, index: number) => number,
  ): Vectors {
    const series = this.fetched.get(selector)!;
    const grainMs = this.noteWidening(selector);
    const reference = referenceOf(selector, this.context);
    const rows = new Rows(this.budget, series.length, count);
    for (const [i, samples] of series.entries()) {
      if (i % 256 === 0) this.budget.checkTime();
      const { timestamps } = samples;
      const stale = staleMarkers(samples.values);
      const { values, present, offset } = rows.next;
      let isEmpty = true;
      let index = -1;
      for (let step = 0; step < count; step++) {
        let atMs = reference.of(startMs + step * stepMs);
        let beforeMs = atMs - this.context.lookbackMs;
        if (grainMs !== undefined) {
          beforeMs = grainStartMs(beforeMs, grainMs) - 1;
          atMs = grainEndMs(atMs, grainMs) - 1;
        }
        while (index + 1 < timestamps.length && timestamps[index + 1]! <= atMs) index++;
        if (index < 0 || timestamps[index]! <= beforeMs || stale?.[index] === 1) continue;
        values[offset + step] = valueAt(samples, index);
        present[offset + step] = 1;
        isEmpty = false;
        this.counts.queryable++;
        this.counts.read++;
      }
      rows.end(samples.labels, isEmpty);
    }
    return rows.vectors();
  }

  /** Applies a function to each value, and removes the metric's name. */
  private each(input: Vectors, compute: (value: number, step: number) => number): Vectors {
    const output = this.budget.vectors(input.labels.map(withoutName), input.steps);
    output.present.set(input.present);
    const { steps, values, present } = input;
    for (let at = 0, step = 0; at < values.length; at++) {
      if (at % VALUES_PER_CHECK === 0) this.budget.checkTime();
      if (present[at] === 1) output.values[at] = compute(values[at]!, step);
      if (++step === steps) step = 0;
    }
    return mergeSameLabels(output);
  }

  private binary(expr: Binary, steps: Steps): Vectors {
    const { left, right } = expr;
    if (typeOf(right) === 'scalar')
      return withScalar(expr, this.vectors(left, steps), this.scalars(right, steps), false, this.budget);
    if (typeOf(left) === 'scalar')
      return withScalar(expr, this.vectors(right, steps), this.scalars(left, steps), true, this.budget);
    return combine(expr, this.vectors(left, steps), this.vectors(right, steps), this.budget);
  }

  private aggregation(expr: Aggregation, steps: Steps): Vectors {
    const { op, param } = expr;
    if (op === 'count_values') {
      const label = textOf(param!);
      if (label === '') throw new PromqlError('execution', 'invalid label name ""');
      return countValues(label, expr, this.vectors(expr.expr, steps), this.budget);
    }
    const params = param === undefined ? undefined : this.scalars(param, steps);
    if (op === 'quantile') this.checkQuantiles(params!, param!);
    const input = this.vectors(expr.expr, steps);
    return op === 'topk' || op === 'bottomk'
      ? selectTop({ ...expr, op }, input, params!, this.budget)
      : aggregate(expr, input, params, this.budget);
  }

  private checkQuantiles(quantiles: Float64Array, at: Expr): void {
    const wrong = quantiles.find((q) => !(q >= 0 && q <= 1));
    if (wrong !== undefined)
      this.remarks.warn(`quantile value should be between 0 and 1, got ${goNumber(wrong)}`, at);
  }

  private call(expr: Call, steps: Steps): Vectors {
    const { name } = expr.func;
    const args = expr.args.map(unwrap);
    const [first, second, third] = args as [Expr, Expr, Expr];
    const float = FLOAT_FUNCTIONS[name];
    if (float !== undefined) return this.each(this.vectors(first, steps), float);
    const date = DATE_FUNCTIONS[name];
    if (date !== undefined) {
      const times = first === undefined ? this.constant(timesOf(steps).map((ms) => ms / 1000)) : undefined;
      return this.each(times ?? this.vectors(first, steps), date);
    }
    const onRanges = RANGE_FUNCTIONS[name];
    if (onRanges !== undefined) return this.applyRangeFunction(expr, onRanges, steps);
    switch (name) {
      case 'absent':
        return this.markAbsent(this.vectors(first, steps), first, steps);
      case 'absent_over_time':
        return this.markAbsent(
          this.applyRangeFunction(expr, RANGE_FUNCTIONS.present_over_time!, steps),
          first,
          steps,
        );
      case 'clamp':
        return this.clamp(first, steps, this.scalars(second, steps), this.scalars(third, steps));
      case 'clamp_max':
        return this.clamp(first, steps, undefined, this.scalars(second, steps));
      case 'clamp_min':
        return this.clamp(first, steps, this.scalars(second, steps), undefined);
      case 'round': {
        const nearest = second === undefined ? undefined : this.scalars(second, steps);
        return this.each(this.vectors(first, steps), (value, step) => {
          const inverse = 1 / (nearest?.[step] ?? 1);
          return Math.floor(value * inverse + 0.5) / inverse;
        });
      }
      case 'sort':
      case 'sort_desc': {
        const input = this.vectors(first, steps);
        if (steps.count === 1) return sortByValue(input, name === 'sort' ? 1 : -1);
        this.remarks.warn(
          'sort is ineffective for range queries since results are always ordered by labels',
          expr,
        );
        return input;
      }
      case 'timestamp':
        return this.timestamps(first, steps);
      case 'vector':
        return this.constant(this.scalars(first, steps));
      case 'histogram_quantile':
        return this.histogramQuantile(first, second, steps);
      case 'histogram_fraction': {
        const [lower, upper] = [this.scalars(first, steps), this.scalars(second, steps)];
        return overHistograms(
          this.vectors(third, steps),
          this.budget,
          this.bucketRemarks(third),
          (buckets, step) => bucketFraction(lower[step]!, upper[step]!, buckets),
        );
      }
      case 'label_replace': {
        const [target, replacement, source, pattern] = args.slice(1).map(textOf) as [
          string,
          string,
          string,
          string,
        ];
        return this.changeLabels(
          first,
          steps,
          labelReplace(target, replacement, source, pattern, this.budget),
        );
      }
      case 'label_join': {
        const [target, separator, ...sources] = args.slice(1).map(textOf) as [string, string, ...string[]];
        return this.changeLabels(first, steps, labelJoin(target, separator, sources, this.budget));
      }
    }
    throw new TypeError(`${name} is no function of instant vectors`);
  }

  private constant(values: Float64Array): Vectors {
    return { steps: values.length, labels: [[]], values, present: new Uint8Array(values.length).fill(1) };
  }

  private clamp(
    expr: Expr,
    steps: Steps,
    lowest: Float64Array | undefined,
    highest: Float64Array | undefined,
  ): Vectors {
    const input = this.vectors(expr, steps);
    const low = (step: number) => lowest?.[step] ?? Number.NEGATIVE_INFINITY;
    const high = (step: number) => highest?.[step] ?? Number.POSITIVE_INFINITY;
    const output = this.each(input, (value, step) => greatest(low(step), least(high(step), value)));
    // If the lower bound is above the upper bound, no element remains.
    for (let at = 0, step = 0; at < output.present.length; at++) {
      if (high(step) < low(step)) output.present[at] = 0;
      if (++step === output.steps) step = 0;
    }
    return output;
  }

  private changeLabels(expr: Expr, steps: Steps, change: (labels: Labels) => Labels): Vectors {
    const input = this.vectors(expr, steps);
    return mergeSameLabels({
      ...input,
      labels: input.labels.map((labels) => {
        // A regular expression may take up to 20 ms for one value.
        this.budget.checkTime();
        return change(labels);
      }),
      values: input.values.slice(),
      present: input.present.slice(),
    });
  }

  private timestamps(expr: Expr, steps: Steps): Vectors {
    if (expr.kind === 'selector') {
      const found = this.instants(expr, steps, ({ timestamps }, index) => timestamps[index]! / 1000);
      return this.each(found, (seconds) => seconds);
    }
    const times = timesOf(steps);
    return this.each(this.vectors(expr, steps), (_, step) => times[step]! / 1000);
  }

  /**
   * Implements `absent`: returns 1 at every step at which the input has no element. The labels come from the selector's
   * `=` matchers.
   */
  private markAbsent(input: Vectors, of: Expr, { count }: Steps): Vectors {
    const isPresent = new Uint8Array(count);
    for (let at = 0, step = 0; at < input.present.length; at++) {
      isPresent[step]! |= input.present[at]!;
      if (++step === count) step = 0;
    }
    if (!isPresent.includes(0)) return emptyVectors(count);
    return {
      steps: count,
      labels: [labelsOfAbsent(of)],
      values: new Float64Array(count).fill(1),
      present: isPresent.map((is) => 1 - is),
    };
  }

  private histogramQuantile(q: Expr, expr: Expr, steps: Steps): Vectors {
    const quantiles = this.scalars(q, steps);
    this.checkQuantiles(quantiles, q);
    const remarks = this.bucketRemarks(expr);
    return overHistograms(this.vectors(expr, steps), this.budget, remarks, (buckets, step) =>
      bucketQuantile(quantiles[step]!, buckets, remarks),
    );
  }

  private bucketRemarks(at: Expr): BucketRemarks {
    return {
      badBucket: (le) =>
        this.remarks.warn(
          `bucket label "le" is missing or has a malformed value of ${JSON.stringify(le)}`,
          at,
        ),
      forcedMonotonic: () =>
        this.remarks.inform(
          'input to histogram_quantile needed to be fixed for monotonicity (see https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile)',
          at,
        ),
    };
  }

  /**
   * If a selector's ranges are widened, adds a remark to the result and returns the length, in ms, of the grains to
   * which they are widened. Otherwise returns undefined. A widened range includes its start and excludes its end.
   */
  private noteWidening(selector: Selector): number | undefined {
    const grainMs = this.widened.get(selector);
    if (grainMs !== undefined)
      this.remarks.inform(
        `rollups of ${grainMs / 1000}s stand for samples as max_source_resolution allows: ranges are widened to whole rollups, and the result is approximate`,
        selector,
      );
    return grainMs;
  }

  /** Applies a range-vector function to the range of each step. */
  private applyRangeFunction({ func, args }: Call, onSamples: RangeFunction, steps: Steps): Vectors {
    const range = args.map(unwrap).find((arg) => typeOf(arg) === 'matrix') as RangeSelector | Subquery;
    const scalar = args.find((arg) => typeOf(arg) === 'scalar');
    const params = scalar === undefined ? undefined : this.scalars(scalar, steps);
    if (func.name === 'quantile_over_time') this.checkQuantiles(params!, scalar!);
    const rangeMs = durationMs(range.range, this.context);
    const shift: Shift = range.kind === 'range' ? range.selector : range;
    const grainMs = range.kind === 'range' ? this.noteWidening(range.selector) : undefined;
    const isExact = grainMs === undefined;
    const isScaled = !isExact && (func.name === 'increase' || func.name === 'delta');
    const stepRanges = stepRangesOf(referenceOf(shift, this.context), steps, rangeMs, grainMs);
    const { queryable } = this.counts;
    const series = this.rangeSeries(range, steps);
    // Restore the count: a subquery's evaluation has already counted its samples, and the ranges below count them
    // again.
    this.counts.queryable = queryable;
    const rows = new Rows(this.budget, series.length, steps.count);
    const stepRange = { evalMs: 0, startMs: 0, endMs: 0, param: 0 };
    const cuts = new Cuts(stepRanges);
    for (const [i, samples] of series.entries()) {
      if (i % 64 === 0) this.budget.checkTime();
      const { timestamps, counts } = samples;
      cuts.cut(timestamps);
      this.counts.queryable += cuts.queryable;
      if (range.kind === 'range') this.counts.read += cuts.read;
      const onPoints = counts && overPoints(func.name, samples, counts, isExact);
      const compute = onPoints ?? onSamples.of(samples);
      const { values, present, offset } = rows.next;
      let isEmpty = true;
      for (let step = 0, work = 0; step < steps.count; step++) {
        const [from, to] = [cuts.from[step]!, cuts.to[step]!];
        if (to - from < onSamples.least) continue;
        work += to - from;
        if (work > SAMPLES_PER_CHECK) {
          this.budget.checkTime();
          work = 0;
        }
        stepRange.evalMs = steps.startMs + step * steps.stepMs;
        stepRange.startMs = stepRanges.startsMs[step]!;
        stepRange.endMs = stepRanges.endsMs[step]!;
        stepRange.param = params?.[step] ?? 0;
        values[offset + step] = compute(from, to, stepRange);
        // Scale the change: it was computed over the widened range, but the caller asked for a range of `rangeMs`.
        if (isScaled) values[offset + step]! *= rangeMs / (stepRange.endMs - stepRange.startMs);
        present[offset + step] = 1;
        isEmpty = false;
      }
      if (!isEmpty && (func.name === 'rate' || func.name === 'increase'))
        this.checkCounter(samples.labels, args[0]!);
      rows.end(KEEPS_NAME.has(func.name) ? samples.labels : withoutName(samples.labels), isEmpty);
    }
    const output = rows.vectors();
    if (func.name === 'absent_over_time' || stayDistinct(series)) return output;
    this.needsAllSteps = true;
    return requireDistinctLabels(output);
  }

  private checkCounter(labels: Labels, at: Expr): void {
    const name = labelValue(labels, METRIC_NAME) ?? '';
    if (name !== '' && !/_(total|sum|count|bucket)$/.test(name))
      this.remarks.inform(
        `metric might not be a counter, name does not end in _total/_sum/_count/_bucket: ${JSON.stringify(name)}`,
        at,
      );
  }

  /** Returns the samples in the range of a range vector at the first of `steps`. */
  rangeVectorOf(
    range: RangeSelector | Subquery,
    steps: Steps,
  ): (LiveSamples & { readonly labels: Labels })[] {
    const rangeMs = durationMs(range.range, this.context);
    const endMs = referenceOf(range.kind === 'range' ? range.selector : range, this.context).of(
      steps.startMs,
    );
    return this.rangeSeries(range, steps).flatMap(({ labels, timestamps, values }) => {
      const from = timestamps.findIndex((ms) => ms > endMs - rangeMs);
      const after = timestamps.findIndex((ms) => ms > endMs);
      const to = after < 0 ? timestamps.length : after;
      if (from < 0 || from >= to) return [];
      if (range.kind === 'range') {
        this.counts.queryable += to - from;
        this.counts.read += to - from;
      }
      return [{ labels, timestamps: timestamps.slice(from, to), values: values.slice(from, to) }];
    });
  }

  /** Returns the samples from which ranges are cut, without stale markers. */
  private rangeSeries(
    range: RangeSelector | Subquery,
    steps: Steps,
  ): (LiveSamples & { readonly labels: Labels })[] {
    if (range.kind === 'range') return this.fetched.get(range.selector)!.map(withoutStale);
    const inner = subquerySteps(range, steps, this.context);
    if (inner.count === 0) return [];
    this.budget.hold(inner.count);
    const { labels, values, present } = this.vectors(range.expr, inner);
    const times = timesOf(inner);
    return labels.map((each, row) => {
      const [from, to] = [row * inner.count, (row + 1) * inner.count];
      const isThere = present.subarray(from, to);
      if (!isThere.includes(0)) return { labels: each, timestamps: times, values: values.subarray(from, to) };
      return {
        labels: each,
        timestamps: times.filter((_, step) => isThere[step] === 1),
        values: values.subarray(from, to).filter((_, step) => isThere[step] === 1),
      };
    });
  }
}

/** Start and end of each step's range, in ms. A range excludes its start and includes its end. */
interface StepRanges {
  readonly startsMs: Float64Array;
  readonly endsMs: Float64Array;
}

/**
 * Returns the time range of each step.
 *
 * @param grainMs length of the grains to which ranges are widened; undefined if they are not widened
 */
function stepRangesOf(
  reference: Reference,
  { startMs, stepMs, count }: Steps,
  rangeMs: number,
  grainMs: number | undefined,
): StepRanges {
  const [startsMs, endsMs] = [new Float64Array(count), new Float64Array(count)];
  for (let step = 0; step < count; step++) {
    const endMs = reference.of(startMs + step * stepMs);
    startsMs[step] = grainMs === undefined ? endMs - rangeMs : grainStartMs(endMs - rangeMs, grainMs) - 1;
    endsMs[step] = grainMs === undefined ? endMs : grainEndMs(endMs, grainMs) - 1;
  }
  return { startsMs, endsMs };
}

/**
 * The samples of a series in each range. Range i has the samples with indexes from `from[i]` up to, but not including,
 * `to[i]`.
 */
class Cuts implements SampleCounts {
  readonly from: Uint32Array;
  readonly to: Uint32Array;
  queryable = 0;
  read = 0;
  private timestamps: Float64Array | undefined;

  constructor(private readonly stepRanges: StepRanges) {
    this.from = new Uint32Array(stepRanges.endsMs.length);
    this.to = new Uint32Array(stepRanges.endsMs.length);
  }

  /**
   * Finds the samples of a series in each range. Does nothing if the previous series had the same array of times. That
   * is common, because the series of a source usually come one after another and share the array.
   */
  cut(timestamps: Float64Array): void {
    if (timestamps === this.timestamps) return;
    const { startsMs, endsMs } = this.stepRanges;
    let [from, to, queryable, read] = [0, 0, 0, 0];
    for (let step = 0; step < endsMs.length; step++) {
      const before = to;
      while (to < timestamps.length && timestamps[to]! <= endsMs[step]!) to++;
      while (from < to && timestamps[from]! <= startsMs[step]!) from++;
      queryable += to - from;
      read += to - Math.max(from, before);
      this.from[step] = from;
      this.to[step] = to;
    }
    this.timestamps = timestamps;
    this.queryable = queryable;
    this.read = read;
  }
}

/** Number of samples that range functions process between two checks of the time limit. */
const SAMPLES_PER_CHECK = 100_000;

export function timesOf({ startMs, stepMs, count }: Steps): Float64Array {
  return Float64Array.from({ length: count }, (_, step) => startMs + step * stepMs);
}

/** Removes any number of parentheses around an expression. */
function unwrap(expr: Expr): Expr {
  let inner = expr;
  while (inner.kind === 'paren') inner = inner.expr;
  return inner;
}

function textOf(expr: Expr): string {
  const inner = unwrap(expr);
  if (inner.kind !== 'string') throw new TypeError(`${inner.kind} is no string`);
  return inner.value;
}

/**
 * Returns the labels that a selector's `=` matchers require, except labels that have several matchers. Returns no
 * labels if the expression is not a selector.
 */
function labelsOfAbsent(of: Expr): Labels {
  const selector = of.kind === 'range' ? of.selector : of;
  if (selector.kind !== 'selector') return [];
  const found = new Map<string, string>();
  for (const { label, op, value } of selector.matchers) {
    if (label === METRIC_NAME) continue;
    found.set(label, op === '=' && !found.has(label) ? value : '');
  }
  return withLabels([], found);
}

function goNumber(value: number): string {
  return Math.abs(value) === Number.POSITIVE_INFINITY ? (value > 0 ? '+Inf' : '-Inf') : String(value);
}
