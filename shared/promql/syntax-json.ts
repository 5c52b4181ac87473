import type { Matcher } from '../model/matcher';
import { plainText } from './numbers';
import { type Binary, type Duration, type Expr, SET_OPERATORS, type Shift, typeOf } from './syntax';

type Json = Readonly<Record<string, unknown>>;

/** Converts an expression to the JSON that Prometheus' `parse_query` returns, for tree views. */
export function syntaxJson(expr: Expr): Json {
  switch (expr.kind) {
    case 'number':
      return { type: 'numberLiteral', val: plainText(expr.value) };
    case 'string':
      return { type: 'stringLiteral', val: expr.value };
    case 'selector':
      return {
        type: 'vectorSelector',
        ...selectorJson(expr.name, expr.matchers),
        ...shiftJson(expr),
        ...PLAIN,
      };
    case 'range': {
      const { selector, range } = expr;
      return {
        type: 'matrixSelector',
        ...selectorJson(selector.name, selector.matchers),
        ...durationJson('range', range),
        ...shiftJson(selector),
        ...PLAIN,
      };
    }
    case 'subquery':
      return {
        type: 'subquery',
        expr: syntaxJson(expr.expr),
        ...durationJson('range', expr.range),
        ...durationJson('step', expr.step),
        ...shiftJson(expr),
      };
    case 'call': {
      const { name, args, variadic, returns } = expr.func;
      return {
        type: 'call',
        func: { name, argTypes: args, variadic, returnType: returns },
        args: expr.args.map(syntaxJson),
      };
    }
    case 'aggregation':
      return {
        type: 'aggregation',
        op: expr.op,
        expr: syntaxJson(expr.expr),
        param: expr.param === undefined ? null : syntaxJson(expr.param),
        grouping: expr.labels,
        without: expr.without,
      };
    case 'binary':
      return {
        type: 'binaryExpr',
        op: expr.op,
        lhs: syntaxJson(expr.left),
        rhs: syntaxJson(expr.right),
        matching: matchingJson(expr),
        bool: expr.bool,
      };
    case 'unary':
      // A sign before a number is part of the number.
      if (expr.expr.kind === 'number')
        return syntaxJson({ ...expr.expr, value: expr.op === '-' ? -expr.expr.value : expr.expr.value });
      return { type: 'unaryExpr', op: expr.op, expr: syntaxJson(expr.expr) };
    case 'paren':
      return { type: 'parenExpr', expr: syntaxJson(expr.expr) };
  }
}

/** Experimental modifiers, which are not supported and therefore false. */
const PLAIN = { anchored: false, smoothed: false };

function selectorJson(
  name: string | undefined,
  matchers: readonly Extract<Matcher, { value: string }>[],
): Json {
  return {
    name: name ?? '',
    matchers: matchers.map(({ label, op, value }) => ({ name: label, value, type: op })),
  };
}

function matchingJson({ op, left, right, matching }: Binary): Json | null {
  if (typeOf(left) === 'scalar' || typeOf(right) === 'scalar') return null;
  const { on, labels, many, include } = matching;
  const cards = { left: 'many-to-one', right: 'one-to-many' };
  const card = SET_OPERATORS.has(op) ? 'many-to-many' : many === undefined ? 'one-to-one' : cards[many];
  return { card, labels, on, include, fillValues: { lhs: null, rhs: null } };
}

function shiftJson({ offset, at }: Shift): Json {
  return {
    ...durationJson('offset', offset),
    timestamp: typeof at === 'number' ? at : null,
    startOrEnd: typeof at === 'string' ? at : null,
  };
}

/** Returns a duration in ms, or as an expression if it depends on the query. */
function durationJson(name: string, duration: Duration | undefined): Json {
  if (duration === undefined || duration.op === 'literal')
    return {
      [name]: duration === undefined ? 0 : Math.round(duration.seconds * 1000),
      [`${name}Expr`]: null,
    };
  return { [name]: 0, [`${name}Expr`]: durationTree(duration) };
}

function durationTree(duration: Duration, wrapped = false): Json {
  switch (duration.op) {
    case 'literal':
      return { type: 'numberLiteral', val: plainText(duration.seconds), duration: !duration.plain };
    case 'step':
    case 'range':
      return { type: 'durationExpr', op: duration.op, lhs: null, rhs: null, wrapped };
    case 'paren':
      return durationTree(duration.of, true);
    case 'minus':
      return { type: 'durationExpr', op: '-', lhs: null, rhs: durationTree(duration.of), wrapped };
    default: {
      const { op, left, right } = duration;
      return { type: 'durationExpr', op, lhs: durationTree(left), rhs: durationTree(right), wrapped };
    }
  }
}
