import { OPERATIONS } from '../promql/operators';
import { type Binary, COMPARISONS, type Expr, SET_OPERATORS } from '../promql/syntax';

/** The condition under which a rule raises alerts, in a form that a graph can show. */
export type Condition =
  /** Values of `query` compared with a number, as in `load > 10`. */
  | { readonly kind: 'threshold'; readonly query: string; readonly op: string; readonly threshold: number }
  /** Missing series, as in `absent(up{job="api"})`. */
  | { readonly kind: 'absence'; readonly query: string };

/** The operator to use when the sides of a comparison are swapped: `10 < load` is `load > 10`. */
const MIRRORED: Readonly<Record<string, string>> = { '>': '<', '<': '>', '>=': '<=', '<=': '>=' };

/**
 * Finds the condition that an alert's expression tests.
 *
 * @param expr the parsed `text`
 * @returns undefined when the expression is neither a comparison with a number nor a test for absence
 */
export function conditionOf(expr: Expr, text: string): Condition | undefined {
  const textOf = ({ start, end }: Expr) => text.slice(start, end);
  if (expr.kind === 'paren') return conditionOf(expr.expr, text);
  if (expr.kind === 'call') return absenceOf(expr, textOf);
  if (expr.kind !== 'binary') return undefined;
  // `and` and `unless` only filter: the values come from the left side.
  if (expr.op === 'and' || expr.op === 'unless') return conditionOf(expr.left, text);
  if (!COMPARISONS.has(expr.op) || expr.bool) return undefined;
  const [left, right] = [numberOf(expr.left), numberOf(expr.right)];
  if ((left === undefined) === (right === undefined)) return undefined;
  const threshold = (left ?? right)!;
  if (!Number.isFinite(threshold)) return undefined;
  return left === undefined
    ? { kind: 'threshold', query: textOf(expr.left), op: expr.op, threshold }
    : { kind: 'threshold', query: textOf(expr.right), op: MIRRORED[expr.op] ?? expr.op, threshold };
}

function absenceOf(
  { func, args: [series] }: Extract<Expr, { kind: 'call' }>,
  textOf: (expr: Expr) => string,
): Condition | undefined {
  if (func.name === 'absent') return { kind: 'absence', query: textOf(series!) };
  if (func.name !== 'absent_over_time' || series?.kind !== 'range') return undefined;
  return { kind: 'absence', query: textOf(series.selector) };
}

/** Returns the value of a constant expression such as `10 * 1024 ^ 2`; undefined for any other expression. */
function numberOf(expr: Expr): number | undefined {
  switch (expr.kind) {
    case 'number':
      return expr.value;
    case 'paren':
      return numberOf(expr.expr);
    case 'unary': {
      const value = numberOf(expr.expr);
      return value === undefined || expr.op === '+' ? value : -value;
    }
    case 'binary':
      return SET_OPERATORS.has(expr.op) ? undefined : resultOf(expr);
    default:
      return undefined;
  }
}

function resultOf({ op, left, right }: Binary): number | undefined {
  const [a, b] = [numberOf(left), numberOf(right)];
  return a === undefined || b === undefined ? undefined : OPERATIONS[op as keyof typeof OPERATIONS](a, b);
}
