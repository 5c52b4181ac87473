import type { Matcher } from '../model/matcher';
import type { PromqlFunction, ValueType } from './signatures';

/** Position of an expression in the query: the indexes of its first character, and just past its last one. */
interface Located {
  readonly start: number;
  readonly end: number;
}

export type Expr =
  | NumberLiteral
  | StringLiteral
  | Selector
  | RangeSelector
  | Subquery
  | Call
  | Aggregation
  | Binary
  | Unary
  | Paren;

export interface NumberLiteral extends Located {
  readonly kind: 'number';
  readonly value: number;
}

export interface StringLiteral extends Located {
  readonly kind: 'string';
  readonly value: string;
}

/** A duration that may depend on the query's step and range, such as `5m` or `2*step()`. */
export type Duration =
  /** `plain` means that the duration is written as a number of seconds, without a unit. */
  | { readonly op: 'literal'; readonly seconds: number; readonly plain: boolean }
  | { readonly op: 'step' | 'range' }
  | {
      readonly op: '+' | '-' | '*' | '/' | '%' | '^' | 'min_of' | 'max_of';
      readonly left: Duration;
      readonly right: Duration;
    }
  | { readonly op: 'minus' | 'paren'; readonly of: Duration };

/** Time of the modifier `@`: Unix time in ms, or the query's start or end. */
export type At = number | 'start' | 'end';

/** The modifiers of a selector or subquery. */
export interface Shift {
  readonly offset?: Duration;
  readonly at?: At;
}

export interface Selector extends Located, Shift {
  readonly kind: 'selector';
  /** The name before the braces. It is also among the matchers. */
  readonly name?: string;
  readonly matchers: readonly Extract<Matcher, { readonly value: string }>[];
}

export interface RangeSelector extends Located {
  readonly kind: 'range';
  readonly selector: Selector;
  readonly range: Duration;
}

export interface Subquery extends Located, Shift {
  readonly kind: 'subquery';
  readonly expr: Expr;
  readonly range: Duration;
  /** Undefined for the default step. */
  readonly step?: Duration;
}

export interface Call extends Located {
  readonly kind: 'call';
  readonly func: PromqlFunction;
  readonly args: readonly Expr[];
}

export type AggregationOperator = (typeof AGGREGATION_OPERATORS)[number];

export const AGGREGATION_OPERATORS = [
  'sum',
  'avg',
  'count',
  'min',
  'max',
  'group',
  'stddev',
  'stdvar',
  'topk',
  'bottomk',
  'count_values',
  'quantile',
] as const;

export interface Aggregation extends Located {
  readonly kind: 'aggregation';
  readonly op: AggregationOperator;
  readonly expr: Expr;
  readonly param?: Expr;
  readonly labels: readonly string[];
  readonly without: boolean;
}

export type BinaryOperator =
  | '+'
  | '-'
  | '*'
  | '/'
  | '%'
  | '^'
  | 'atan2'
  | '=='
  | '!='
  | '>'
  | '<'
  | '>='
  | '<='
  | 'and'
  | 'or'
  | 'unless';

export const COMPARISONS: ReadonlySet<string> = new Set(['==', '!=', '>', '<', '>=', '<=']);
export const SET_OPERATORS: ReadonlySet<string> = new Set(['and', 'or', 'unless']);

/** How the elements of two vectors are matched. */
export interface Matching {
  readonly on: boolean;
  readonly labels: readonly string[];
  /** The side that may have several elements for one element of the other side. */
  readonly many?: 'left' | 'right';
  /** Labels copied from the side with one element. */
  readonly include: readonly string[];
}

export interface Binary extends Located {
  readonly kind: 'binary';
  readonly op: BinaryOperator;
  readonly left: Expr;
  readonly right: Expr;
  readonly bool: boolean;
  readonly matching: Matching;
}

export interface Unary extends Located {
  readonly kind: 'unary';
  readonly op: '+' | '-';
  readonly expr: Expr;
}

export interface Paren extends Located {
  readonly kind: 'paren';
  readonly expr: Expr;
}

export function typeOf(expr: Expr): ValueType {
  switch (expr.kind) {
    case 'number':
      return 'scalar';
    case 'string':
      return 'string';
    case 'selector':
    case 'aggregation':
      return 'vector';
    case 'range':
    case 'subquery':
      return 'matrix';
    case 'call':
      return expr.func.returns;
    case 'binary':
      return typeOf(expr.left) === 'scalar' && typeOf(expr.right) === 'scalar' ? 'scalar' : 'vector';
    case 'unary':
    case 'paren':
      return typeOf(expr.expr);
  }
}

export function childrenOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'range':
      return [expr.selector];
    case 'call':
      return expr.args;
    case 'aggregation':
      return expr.param === undefined ? [expr.expr] : [expr.param, expr.expr];
    case 'binary':
      return [expr.left, expr.right];
    case 'subquery':
    case 'unary':
    case 'paren':
      return [expr.expr];
    default:
      return [];
  }
}
