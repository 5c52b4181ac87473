import { OPERATIONS } from '../promql/operators';
import { type Binary, COMPARISONS, type Expr, SET_OPERATORS } from '../promql/syntax';

/** What raises the alerts of a rule, where its expression says it plainly enough for a graph to show it. */
export type Condition =
  /** Values of `query` that compare with a number, as in `load > 10`. */
  | { readonly kind: 'threshold'; readonly query: string; readonly op: string; readonly threshold: number }
  /** Series that are missing, as in `absent(up{job="api"})`. */
  | { readonly kind: 'absence'; readonly query: string };

/** A comparison, seen from its right side. */
const MIRRORED: Readonly<Record<string, string>> = { '>': '<', '<': '>', '>=': '<=', '<=': '>=' };

/**
 * Finds what raises the alerts of an expression.
 *
 * @param expr of `text`
 * @returns undefined for any other expression: that it has a result is all that can be said
 */
export function conditionOf(expr: Expr, text: string): Condition | undefined {
  const textOf = ({ start, end }: Expr) => text.slice(start, end);
  if (expr.kind === 'paren') return conditionOf(expr.expr, text);
  if (expr.kind === 'call') return absenceOf(expr, textOf);
  if (expr.kind !== 'binary') return undefined;
  // An element's value is that of the left side.
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

/** The value of an expression of numbers alone, such as `10 * 1024 ^ 2`. */
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
