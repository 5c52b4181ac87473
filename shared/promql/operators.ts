import { type Labels, labelsKey, METRIC_NAME } from '../model/labels';
import { PromqlError } from './errors';
import { type Binary, type BinaryOperator, COMPARISONS, type Matching, SET_OPERATORS } from './syntax';
import {
  type Budget,
  mergeSameLabels,
  VALUES_PER_CHECK,
  type Vectors,
  withLabels,
  withoutName,
} from './vectors';

type Operation = (left: number, right: number) => number;

/** Arithmetic and comparison operators. Comparisons return 1 or 0. */
export const OPERATIONS: Readonly<Record<Exclude<BinaryOperator, 'and' | 'or' | 'unless'>, Operation>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
  '%': (left, right) => left % right,
  '^': power,
  atan2: Math.atan2,
  '==': (left, right) => Number(left === right),
  '!=': (left, right) => Number(left !== right),
  '>': (left, right) => Number(left > right),
  '<': (left, right) => Number(left < right),
  '>=': (left, right) => Number(left >= right),
  '<=': (left, right) => Number(left <= right),
};

/** Follows IEEE 754; in JavaScript, `1 ** NaN` and `(-1) ** Infinity` are NaN. */
function power(base: number, exponent: number): number {
  if (base === 1) return 1;
  if (base === -1 && Math.abs(exponent) === Number.POSITIVE_INFINITY) return 1;
  return base ** exponent;
}

/**
 * Combines each element of a vector with a scalar.
 *
 * @param isSwapped whether the scalar is the left operand
 */
export function withScalar(
  { op, bool }: Pick<Binary, 'op' | 'bool'>,
  input: Vectors,
  scalar: Float64Array,
  isSwapped: boolean,
  budget: Budget,
): Vectors {
  const { steps, values, present } = input;
  const operate = OPERATIONS[op as keyof typeof OPERATIONS];
  const isFilter = COMPARISONS.has(op) && !bool;
  const output = budget.vectors(isFilter ? input.labels : input.labels.map(withoutName), steps);
  for (let at = 0, step = 0; at < present.length; at++) {
    if (present[at] === 1) {
      const value = values[at]!;
      const result = isSwapped ? operate(scalar[step]!, value) : operate(value, scalar[step]!);
      // A comparison keeps the vector's value, even if the vector is the right operand.
      output.values[at] = isFilter ? value : result;
      output.present[at] = isFilter ? result : 1;
    }
    if (++step === steps) step = 0;
  }
  return mergeSameLabels(output);
}

/** For each side, returns the number of each row's match group. Rows with equal numbers match. */
function signaturesOf(matching: Matching, ...sides: readonly Vectors[]): Uint32Array[] {
  const numbers = new Map<string, number>();
  const ignored = new Set([METRIC_NAME, ...matching.labels]);
  return sides.map(({ labels }) =>
    Uint32Array.from(labels, (each) => {
      const key = labelsKey(
        each.filter(([name]) => (matching.on ? matching.labels.includes(name) : !ignored.has(name))),
      );
      const number = numbers.get(key) ?? numbers.size;
      numbers.set(key, number);
      return number;
    }),
  );
}

/** For each match group, marks the steps at which the group has an element. */
function presenceOf(side: Vectors, signatures: Uint32Array, groups: number): Uint8Array {
  const presence = new Uint8Array(groups * side.steps);
  for (const [row, group] of signatures.entries()) {
    const [from, to] = [row * side.steps, group * side.steps];
    for (let step = 0; step < side.steps; step++) presence[to + step]! |= side.present[from + step]!;
  }
  return presence;
}

export function combine(expr: Binary, left: Vectors, right: Vectors, budget: Budget): Vectors {
  return SET_OPERATORS.has(expr.op)
    ? combineSets(expr, left, right, budget)
    : matchElements(expr, left, right, budget);
}

function combineSets({ op, matching }: Binary, left: Vectors, right: Vectors, budget: Budget): Vectors {
  const [leftGroups, rightGroups] = signaturesOf(matching, left, right) as [Uint32Array, Uint32Array];
  const groups = Math.max(-1, ...maxima(leftGroups, rightGroups)) + 1;
  const masked = (
    side: Vectors,
    signatures: Uint32Array,
    presence: Uint8Array,
    wanted: 0 | 1,
  ): Uint8Array => {
    const mask = side.present.slice();
    for (const [row, group] of signatures.entries())
      for (let step = 0; step < side.steps; step++)
        if (presence[group * side.steps + step] !== wanted) mask[row * side.steps + step] = 0;
    return mask;
  };
  if (op !== 'or') {
    const present = masked(left, leftGroups, presenceOf(right, rightGroups, groups), op === 'and' ? 1 : 0);
    return { ...left, present };
  }
  const added = masked(right, rightGroups, presenceOf(left, leftGroups, groups), 0);
  const output = budget.vectors([...left.labels, ...right.labels], left.steps);
  output.values.set(left.values);
  output.values.set(right.values, left.values.length);
  output.present.set(left.present);
  output.present.set(added, left.present.length);
  return mergeSameLabels(output);
}

function maxima(...lists: readonly Uint32Array[]): number[] {
  return lists.map((list) => list.reduce((most, each) => Math.max(most, each), -1));
}

/** Formats labels for messages: `{__name__="up", a="1"}`. */
function labelsText(labels: Labels): string {
  return `{${labels.map(([label, value]) => `${label}=${JSON.stringify(value)}`).join(', ')}}`;
}

/** Two rows, one from each side, that match at some steps. Together they form one row of the result. */
interface Pair {
  readonly many: number;
  readonly one: number;
  readonly labels: Labels;
}

/** Applies an operator to the matching elements of two vectors. */
function matchElements(expr: Binary, left: Vectors, right: Vectors, budget: Budget): Vectors {
  const { op, bool, matching } = expr;
  const { steps } = left;
  const isSwapped = matching.many === 'right';
  const [many, one] = isSwapped ? [right, left] : [left, right];
  const [manyGroups, oneGroups] = signaturesOf(matching, many, one) as [Uint32Array, Uint32Array];
  const oneRows = new Map<number, number[]>();
  for (const [row, group] of oneGroups.entries()) {
    const rows = oneRows.get(group);
    if (rows === undefined) oneRows.set(group, [row]);
    else rows.push(row);
  }
  requireUnique(expr, many, one, oneRows);

  const pairs: Pair[] = [];
  for (const [row, group] of manyGroups.entries())
    for (const other of oneRows.get(group) ?? [])
      pairs.push({
        many: row,
        one: other,
        labels: resultLabels(expr, many.labels[row]!, one.labels[other]!),
      });
  const operate = OPERATIONS[op as keyof typeof OPERATIONS];
  const isFilter = COMPARISONS.has(op) && !bool;
  const output = budget.vectors(
    pairs.map(({ labels }) => labels),
    steps,
  );
  const matched = new Uint8Array(output.present.length);
  for (const [i, pair] of pairs.entries())
    for (let step = 0; step < steps; step++) {
      const [m, o, to] = [pair.many * steps + step, pair.one * steps + step, i * steps + step];
      if (to % VALUES_PER_CHECK === 0) budget.checkTime();
      if (many.present[m] === 0 || one.present[o] === 0) continue;
      matched[to] = 1;
      const [a, b] = isSwapped ? [one.values[o]!, many.values[m]!] : [many.values[m]!, one.values[o]!];
      const result = operate(a, b);
      output.values[to] = isFilter ? a : result;
      output.present[to] = isFilter ? result : 1;
    }
  requireSingleMatches(matching, pairs, manyGroups, matched, steps);
  return mergeSameLabels(output);
}

/**
 * @throws {PromqlError} when a match group has two elements on the "one" side at the same step, even if the group has
 *   none on the other side. Steps at which the whole other side is empty are not checked
 */
function requireUnique(
  { matching }: Binary,
  many: Vectors,
  one: Vectors,
  oneRows: ReadonlyMap<number, readonly number[]>,
): void {
  const { steps } = one;
  let anyMany: Uint8Array | undefined;
  for (const rows of oneRows.values()) {
    if (rows.length === 1) continue;
    anyMany ??= presenceOf(many, new Uint32Array(many.labels.length), 1);
    for (let step = 0; step < steps; step++) {
      if (anyMany[step] !== 1) continue;
      const found = rows
        .filter((row) => one.present[row * steps + step] === 1)
        .map((row) => one.labels[row]!);
      if (found.length < 2) continue;
      const group = found[0]!.filter(([name]) =>
        matching.on
          ? matching.labels.includes(name)
          : name !== METRIC_NAME && !matching.labels.includes(name),
      );
      const [a, b] = found.slice(0, 2).map(labelsText).sort();
      throw new PromqlError(
        'execution',
        `found duplicate series for the match group ${labelsText(group)} on the ${matching.many === 'right' ? 'left' : 'right'} hand-side of the operation: [${a}, ${b}];many-to-many matching not allowed: matching labels must be unique on one side`,
      );
    }
  }
}

/**
 * @throws {PromqlError} when, at one step, two elements match the same element or give results with the same
 *   labels
 */
function requireSingleMatches(
  matching: Matching,
  pairs: readonly Pair[],
  manyGroups: Uint32Array,
  matched: Uint8Array,
  steps: number,
): void {
  const rivals = new Map<string, number[]>();
  for (const [i, { many, labels }] of pairs.entries()) {
    const key =
      matching.many === undefined ? String(manyGroups[many]) : `${manyGroups[many]} ${labelsKey(labels)}`;
    const rows = rivals.get(key);
    if (rows === undefined) rivals.set(key, [i]);
    else rows.push(i);
  }
  for (const rows of rivals.values()) {
    if (rows.length === 1) continue;
    for (let step = 0; step < steps; step++)
      if (rows.filter((row) => matched[row * steps + step] === 1).length > 1)
        throw new PromqlError(
          'execution',
          matching.many === undefined
            ? 'multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)'
            : 'multiple matches for labels: grouping labels must ensure unique matches',
        );
  }
}

function resultLabels({ op, bool, matching }: Binary, many: Labels, one: Labels): Labels {
  const named = bool || !COMPARISONS.has(op) ? withoutName(many) : many;
  if (matching.many === undefined)
    return named.filter(([name]) => matching.labels.includes(name) === matching.on);
  if (matching.include.length === 0) return named;
  const oneValue = (label: string) => one.find(([name]) => name === label)?.[1] ?? '';
  return withLabels(named, new Map(matching.include.map((label) => [label, oneValue(label)])));
}
