import { CompensatedSum } from '../model/compensated-sum';
import { type Labels, labelsKey, METRIC_NAME } from '../model/labels';
import { PromqlError } from './errors';
import { plainText } from './numbers';
import { CompensatedMean, quantileOf } from './sums';
import type { Aggregation, AggregationOperator } from './syntax';
import { type Budget, emptyVectors, VALUES_PER_CHECK, type Vectors, withLabels } from './vectors';

/** The group that each row belongs to: `groups[row]` is an index into `labels`. */
interface Grouping {
  readonly groups: Uint32Array;
  readonly labels: Labels[];
}

type Grouped = Pick<Aggregation, 'labels' | 'without'>;

function labelsOfGroup(labels: Labels, { labels: named, without }: Grouped): Labels {
  return labels.filter(([name]) =>
    without ? name !== METRIC_NAME && !named.includes(name) : named.includes(name),
  );
}

function groupingOf(input: Vectors, by: Grouped): Grouping {
  if (!by.without && by.labels.length === 0)
    return { groups: new Uint32Array(input.labels.length), labels: input.labels.length === 0 ? [] : [[]] };
  const indexes = new Map<string, number>();
  const labels: Labels[] = [];
  const groups = Uint32Array.from(input.labels, (each) => {
    const group = labelsOfGroup(each, by);
    const key = labelsKey(group);
    const known = indexes.get(key);
    if (known !== undefined) return known;
    indexes.set(key, labels.length);
    return labels.push(group) - 1;
  });
  return { groups, labels };
}

/** Accumulates the values of one group at one step. */
interface Accumulator {
  add(value: number): void;
  readonly result: number;
}

class Sum implements Accumulator {
  private readonly sum = new CompensatedSum();
  private isEmpty = true;

  add(value: number): void {
    // Adding the first value to 0 would turn -0 into 0.
    if (this.isEmpty) this.sum.sum = value;
    else this.sum.add(value);
    this.isEmpty = false;
  }

  get result(): number {
    return this.sum.total;
  }
}

class Mean extends CompensatedMean implements Accumulator {
  get result(): number {
    return this.mean;
  }
}

class Extreme implements Accumulator {
  result = Number.NaN;

  constructor(private readonly sign: 1 | -1) {}

  add(value: number): void {
    if (value * this.sign > this.result * this.sign || Number.isNaN(this.result)) this.result = value;
  }
}

class Count implements Accumulator {
  result = 0;

  add(): void {
    this.result++;
  }
}

class Group implements Accumulator {
  readonly result = 1;

  add(): void {}
}

/** Variance of a population, by Welford's method. */
class Variance implements Accumulator {
  private count = 0;
  private mean = 0;
  private squares = 0;

  add(value: number): void {
    if (++this.count === 1) {
      this.mean = value;
      this.squares = Number.isFinite(value) ? 0 : Number.NaN;
      return;
    }
    const delta = value - this.mean;
    this.mean += delta / this.count;
    this.squares += delta * (value - this.mean);
  }

  get result(): number {
    return this.squares / this.count;
  }
}

class Deviation extends Variance {
  override get result(): number {
    return Math.sqrt(super.result);
  }
}

class Quantile implements Accumulator {
  private readonly values: number[] = [];

  constructor(private readonly q: number) {}

  add(value: number): void {
    this.values.push(value);
  }

  get result(): number {
    return quantileOf(this.q, Float64Array.from(this.values));
  }
}

function accumulator(op: AggregationOperator, param: number): Accumulator {
  switch (op) {
    case 'sum':
      return new Sum();
    case 'avg':
      return new Mean();
    case 'min':
      return new Extreme(-1);
    case 'max':
      return new Extreme(1);
    case 'count':
      return new Count();
    case 'group':
      return new Group();
    case 'stdvar':
      return new Variance();
    case 'stddev':
      return new Deviation();
    case 'quantile':
      return new Quantile(param);
    default:
      throw new TypeError(`${op} keeps no running value`);
  }
}

/**
 * Aggregates vectors at each step.
 *
 * @param params the argument of `quantile` at each step
 */
export function aggregate(
  { op, ...by }: Grouped & { readonly op: AggregationOperator },
  input: Vectors,
  params: Float64Array | undefined,
  budget: Budget,
): Vectors {
  const { steps, values, present } = input;
  const { groups, labels } = groupingOf(input, by);
  const output = budget.vectors(labels, steps);
  const rowsOf = rowsByGroup(groups, labels.length);
  const running: (Accumulator | undefined)[] = new Array(steps);
  for (let group = 0; group < labels.length; group++) {
    running.fill(undefined);
    for (const row of rowsOf(group)) {
      for (let step = 0, at = row * steps; step < steps; step++, at++) {
        if (at % VALUES_PER_CHECK === 0) budget.checkTime();
        if (present[at] === 0) continue;
        running[step] ??= accumulator(op, params?.[step] ?? 0);
        running[step]!.add(values[at]!);
      }
    }
    for (let step = 0, at = group * steps; step < steps; step++, at++) {
      if (at % VALUES_PER_CHECK === 0) budget.checkTime();
      const found = running[step];
      if (found === undefined) continue;
      output.values[at] = found.result;
      output.present[at] = 1;
    }
  }
  return output;
}

function rowsByGroup(groups: Uint32Array, count: number): (group: number) => Uint32Array {
  const starts = new Uint32Array(count + 1);
  for (const group of groups) starts[group + 1]!++;
  for (let i = 0; i < count; i++) starts[i + 1]! += starts[i]!;
  const rows = new Uint32Array(groups.length);
  const next = starts.slice();
  for (const [row, group] of groups.entries()) rows[next[group]!++] = row;
  return (group) => rows.subarray(starts[group]!, starts[group + 1]!);
}

/** Number of steps of a group that are sorted between two checks of the time limit. */
const STEPS_PER_CHECK = 256;

/**
 * Keeps the k highest or lowest values of each group at each step. NaN ranks last.
 *
 * @returns rows in the order of their groups; for an instant query, sorted by value
 * @throws {PromqlError} when `k` is not a number or does not fit in 64 bits at some step
 */
export function selectTop(
  { op, ...by }: Grouped & { readonly op: 'topk' | 'bottomk' },
  input: Vectors,
  params: Float64Array,
  budget: Budget,
): Vectors {
  const { steps, values, present } = input;
  if (params.every((k) => k < 1)) return emptyVectors(steps);
  const wrong = params.find((k) => Number.isNaN(k) || Math.abs(k) >= 2 ** 63);
  if (wrong !== undefined)
    throw new PromqlError(
      'execution',
      Number.isNaN(wrong)
        ? 'Parameter value is NaN'
        : `Scalar value ${wrong} ${wrong > 0 ? 'overflows' : 'underflows'} int64`,
    );
  const { groups, labels } = groupingOf(input, by);
  const rowsOf = rowsByGroup(groups, labels.length);
  const sign = op === 'topk' ? 1 : -1;
  const isBetter = (a: number, b: number) => a * sign > b * sign || (Number.isNaN(b) && !Number.isNaN(a));
  const kept = new Uint8Array(present.length);
  const order: number[] = [];
  for (let group = 0; group < labels.length; group++) {
    const rows = rowsOf(group);
    for (let step = 0; step < steps; step++) {
      if (step % STEPS_PER_CHECK === 0) budget.checkTime();
      const k = Math.trunc(params[step]!);
      if (k < 1) continue;
      const at = (row: number) => values[row * steps + step]!;
      const found: number[] = [];
      for (let i = 0; i < rows.length; i++) if (present[rows[i]! * steps + step] === 1) found.push(rows[i]!);
      const best = bestOf(found, k, at, isBetter);
      for (const row of best) kept[row * steps + step] = 1;
      if (steps === 1) order.push(...best);
    }
  }
  if (steps > 1) return { ...input, present: kept };
  return {
    steps,
    labels: order.map((row) => input.labels[row]!),
    values: Float64Array.from(order, (row) => values[row]!),
    present: new Uint8Array(order.length).fill(1),
  };
}

/** A series of `count_values`, with the count at each step. */
interface ValueCounts {
  readonly labels: Labels;
  readonly counts: Float64Array;
}

/** Implements `count_values`: counts the elements that have the same value. The value becomes the label `label`. */
export function countValues(label: string, by: Grouped, input: Vectors, budget: Budget): Vectors {
  const { steps, values, present } = input;
  const grouped = by.without ? by : { ...by, labels: [...by.labels, label] };
  const rows = new Map<string, ValueCounts>();
  for (const [row, labels] of input.labels.entries()) {
    const groupOf = new Map<string, ValueCounts>();
    for (let step = 0; step < steps; step++) {
      if ((row * steps + step) % VALUES_PER_CHECK === 0) budget.checkTime();
      if (present[row * steps + step] === 0) continue;
      const text = plainText(values[row * steps + step]!);
      let group = groupOf.get(text);
      if (group === undefined) {
        const named = labelsOfGroup(withLabels(labels, new Map([[label, text]])), grouped);
        const key = labelsKey(named);
        group = rows.get(key);
        if (group === undefined) {
          // A series that has a different value at each step produces as many result series as there are steps.
          budget.hold(steps);
          group = { labels: named, counts: new Float64Array(steps) };
          rows.set(key, group);
        }
        groupOf.set(text, group);
      }
      group.counts[step]! += 1;
    }
  }
  const found = [...rows.values()];
  const output = new Float64Array(found.length * steps);
  for (const [row, { counts }] of found.entries()) output.set(counts, row * steps);
  const isCounted = new Uint8Array(output.length);
  for (let at = 0; at < output.length; at++) if (output[at]! > 0) isCounted[at] = 1;
  return {
    steps,
    labels: found.map((group) => group.labels),
    values: output,
    present: isCounted,
  };
}

/**
 * Returns the best `k` rows, the best first. Among equal rows, the earlier ones come first.
 *
 * @param scoreOf returns a row's value
 * @param isBetter whether value `a` is better than value `b`
 */
function bestOf(
  rows: number[],
  k: number,
  scoreOf: (row: number) => number,
  isBetter: (a: number, b: number) => boolean,
): number[] {
  // If k is large, sorting all rows once is cheaper than keeping the best k in order.
  if (4 * k > rows.length) {
    const rank = (a: number, b: number) => (isBetter(a, b) ? -1 : isBetter(b, a) ? 1 : 0);
    return rows.sort((a, b) => rank(scoreOf(a), scoreOf(b))).slice(0, k);
  }
  const best: number[] = [];
  let worst = Number.NaN;
  for (const row of rows) {
    const value = scoreOf(row);
    if (best.length === k && !isBetter(value, worst)) continue;
    let [first, end] = [0, best.length];
    while (first < end) {
      const middle = (first + end) >> 1;
      if (isBetter(value, scoreOf(best[middle]!))) end = middle;
      else first = middle + 1;
    }
    best.splice(first, 0, row);
    if (best.length > k) best.pop();
    worst = scoreOf(best.at(-1)!);
  }
  return best;
}

/** Sorts an instant vector by value, NaN last. */
export function sortByValue(input: Vectors, sign: 1 | -1): Vectors {
  const { labels, values } = input;
  const order = labels.map((_, row) => row).filter((row) => input.present[row] === 1);
  const rank = (a: number, b: number) => {
    if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
    return a === b ? 0 : a * sign < b * sign ? -1 : 1;
  };
  order.sort((a, b) => rank(values[a]!, values[b]!));
  return {
    steps: 1,
    labels: order.map((row) => labels[row]!),
    values: Float64Array.from(order, (row) => values[row]!),
    present: new Uint8Array(order.length).fill(1),
  };
}
