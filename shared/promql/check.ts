import { parseError } from './errors';
import type { ValueType } from './signatures';
import { COMPARISONS, childrenOf, type Expr, SET_OPERATORS, typeOf } from './syntax';

/** The names that Prometheus' documentation uses for the types. */
const NAMES: Record<ValueType, string> = {
  scalar: 'scalar',
  vector: 'instant vector',
  matrix: 'range vector',
  string: 'string',
};

/**
 * Checks the types of an expression's operands and arguments.
 *
 * @throws {PromqlError} `bad_data`
 */
export function checkTypes(text: string, expr: Expr): void {
  for (const child of childrenOf(expr)) checkTypes(text, child);
  const fail = (at: Expr, message: string) => {
    throw parseError(text, at.start, message);
  };
  const expect = (part: Expr, wanted: ValueType, context: string) => {
    const found = typeOf(part);
    if (found !== wanted) fail(part, `expected type ${NAMES[wanted]} in ${context}, got ${NAMES[found]}`);
  };
  switch (expr.kind) {
    case 'aggregation':
      expect(expr.expr, 'vector', 'aggregation expression');
      if (expr.param !== undefined)
        expect(expr.param, expr.op === 'count_values' ? 'string' : 'scalar', 'aggregation parameter');
      break;
    case 'call': {
      const { func, args } = expr;
      const least = func.variadic === 0 ? func.args.length : func.args.length - 1;
      const most =
        func.variadic === 0 ? least : func.variadic < 0 ? Number.POSITIVE_INFINITY : least + func.variadic;
      const called = `argument(s) in call to "${func.name}", got ${args.length}`;
      if (args.length < least || args.length > most)
        fail(
          expr,
          func.variadic === 0
            ? `expected ${least} ${called}`
            : args.length < least
              ? `expected at least ${least} ${called}`
              : `expected at most ${most} ${called}`,
        );
      for (const [i, arg] of args.entries())
        expect(arg, func.args[Math.min(i, func.args.length - 1)]!, `call to function "${func.name}"`);
      break;
    }
    case 'binary': {
      const { op, left, right, bool, matching } = expr;
      const types = [typeOf(left), typeOf(right)];
      for (const [i, side] of [left, right].entries())
        if (types[i] !== 'scalar' && types[i] !== 'vector')
          fail(side, 'binary expression must contain only scalar and instant vector types');
      const hasScalar = types.includes('scalar');
      if (COMPARISONS.has(op) && !bool && !types.includes('vector'))
        fail(expr, 'comparisons between scalars must use BOOL modifier');
      if (SET_OPERATORS.has(op) && hasScalar)
        fail(expr, `set operator "${op}" not allowed in binary scalar expression`);
      if (hasScalar && matching.labels.length > 0)
        fail(expr, 'vector matching only allowed between instant vectors');
      if (SET_OPERATORS.has(op) && matching.many !== undefined)
        fail(expr, `no grouping allowed for "${op}" operation`);
      const both = matching.on
        ? matching.labels.find((label) => matching.include.includes(label))
        : undefined;
      if (both !== undefined)
        fail(expr, `label ${JSON.stringify(both)} must not occur in ON and GROUP clause at once`);
      break;
    }
    case 'subquery':
      if (typeOf(expr.expr) !== 'vector')
        fail(expr, `subquery is only allowed on instant vector, got ${typeOf(expr.expr)} instead`);
      break;
    case 'unary': {
      const type = typeOf(expr.expr);
      if (type !== 'scalar' && type !== 'vector')
        fail(
          expr,
          `unary expression only allowed on expressions of type scalar or instant vector, got "${NAMES[type]}"`,
        );
      break;
    }
  }
}
