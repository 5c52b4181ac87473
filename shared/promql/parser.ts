import { METRIC_NAME } from '../model/labels';
import { compileMatcher } from '../model/matcher';
import { InvalidPatternError } from '../model/value-pattern';
import { checkTypes } from './check';
import { PromqlError, parseError } from './errors';
import { type Token, tokensOf, unquote } from './lexer';
import { MAX_DURATION_MS, parseDurationMs, parseNumber } from './numbers';
import { functionNamed } from './signatures';
import {
  AGGREGATION_OPERATORS,
  type Aggregation,
  type AggregationOperator,
  type At,
  type BinaryOperator,
  COMPARISONS,
  type Duration,
  type Expr,
  type Matching,
  type Selector,
  type Subquery,
} from './syntax';

/** Maximum length of an expression, in characters. */
const MAX_LENGTH = 256 * 1024;
/** Maximum nesting depth of expressions. It is limited because the parser and the evaluator are recursive. */
const MAX_DEPTH = 200;

/** Precedence of operators; higher binds tighter. A unary sign binds like `*`. */
const PRECEDENCE: ReadonlyMap<string, number> = new Map([
  ['or', 1],
  ['and', 2],
  ['unless', 2],
  ['==', 3],
  ['!=', 3],
  ['<', 3],
  ['<=', 3],
  ['>', 3],
  ['>=', 3],
  ['+', 4],
  ['-', 4],
  ['*', 5],
  ['/', 5],
  ['%', 5],
  ['atan2', 5],
  ['^', 6],
]);
const UNARY = 5;

const AGGREGATORS: ReadonlySet<string> = new Set(AGGREGATION_OPERATORS);
const WITH_PARAM: ReadonlySet<string> = new Set(['topk', 'bottomk', 'count_values', 'quantile']);
const EXPERIMENTAL_AGGREGATORS: ReadonlySet<string> = new Set(['limitk', 'limit_ratio']);
/** Words that can be a metric's name only in quotes. */
const RESERVED: ReadonlySet<string> = new Set([
  'on',
  'ignoring',
  'group_left',
  'group_right',
  'bool',
  'atan2',
]);

/**
 * Parses an expression and checks its types.
 *
 * @throws {PromqlError} `bad_data`, with line and column
 * @see https://prometheus.io/docs/prometheus/latest/querying/basics/
 */
export function parsePromql(text: string): Expr {
  if (text.length > MAX_LENGTH)
    throw new PromqlError(
      'bad_data',
      `the expression has ${text.length} characters; at most ${MAX_LENGTH} are allowed`,
    );
  const parser = new Parser(text);
  const expr = parser.parseWhole();
  checkTypes(text, expr);
  return expr;
}

/**
 * Parses a single selector, as in the parameter `match[]`.
 *
 * @throws {PromqlError} `bad_data`
 */
export function parseSelector(text: string): Selector {
  const expr = parsePromql(text);
  if (expr.kind !== 'selector' || expr.offset !== undefined || expr.at !== undefined)
    throw parseError(text, 0, 'expected a series selector without modifiers');
  return expr;
}

class Parser {
  private readonly tokens: readonly Token[];
  private position = 0;
  private depth = 0;

  constructor(private readonly text: string) {
    this.tokens = tokensOf(text);
  }

  parseWhole(): Expr {
    if (this.peek().type === 'end')
      throw new PromqlError('bad_data', 'unknown position: parse error: no expression found in input');
    const expr = this.expression(1);
    if (this.peek().type !== 'end') throw this.unexpected();
    return expr;
  }

  private peek(ahead = 0): Token {
    return this.tokens[Math.min(this.position + ahead, this.tokens.length - 1)]!;
  }

  private next(): Token {
    const token = this.peek();
    this.position++;
    return token;
  }

  private isNext(symbol: string, ahead = 0): boolean {
    const { type, text } = this.peek(ahead);
    return type === 'symbol' && text === symbol;
  }

  /** Returns the next token as a keyword in lower case. Keywords may be written in any case. */
  private keyword(ahead = 0): string | undefined {
    const { type, text } = this.peek(ahead);
    return type === 'word' ? text.toLowerCase() : undefined;
  }

  private accept(symbol: string): boolean {
    if (!this.isNext(symbol)) return false;
    this.position++;
    return true;
  }

  private expect(symbol: string, context: string): Token {
    if (!this.isNext(symbol)) throw this.unexpected(context, JSON.stringify(symbol));
    return this.next();
  }

  private unexpected(context = '', expected = ''): PromqlError {
    const { type, text, at } = this.peek();
    const shown = text.length > 60 ? `${text.slice(0, 60)}...` : text;
    const what =
      type === 'end'
        ? 'end of input'
        : type === 'symbol'
          ? JSON.stringify(text)
          : type === 'word'
            ? `identifier ${JSON.stringify(shown)}`
            : `${type} ${JSON.stringify(shown)}`;
    return this.error(
      at,
      `unexpected ${what}${context && ` in ${context}`}${expected && `, expected ${expected}`}`,
    );
  }

  private error(at: number, message: string): PromqlError {
    return parseError(this.text, at, message);
  }

  private lastEnd(): number {
    const { at, text } = this.tokens[this.position - 1]!;
    return at + text.length;
  }

  private nested<T>(parse: () => T): T {
    if (++this.depth > MAX_DEPTH)
      throw this.error(this.peek().at, `the expression nests deeper than ${MAX_DEPTH} levels`);
    const result = parse();
    this.depth--;
    return result;
  }

  /** Parses an expression whose operators have at least the precedence `least`. */
  private expression(least: number): Expr {
    return this.nested(() => {
      let left = this.unary();
      for (let length = 1; ; length++) {
        const word = this.peek().type === 'symbol' ? this.peek().text : this.keyword();
        const precedence = word === undefined ? undefined : PRECEDENCE.get(word);
        if (precedence === undefined || precedence < least) return left;
        if (length > MAX_DEPTH)
          throw this.error(this.peek().at, `more than ${MAX_DEPTH} operators follow each other`);
        const at = this.next().at;
        const op = word as BinaryOperator;
        const bool = this.keyword() === 'bool' && this.next() !== undefined;
        if (bool && !COMPARISONS.has(op))
          throw this.error(at, 'bool modifier can only be used on comparison operators');
        const matching = this.matching();
        this.rejectFill();
        // Only ^ is right-associative.
        const right = this.expression(op === '^' ? precedence : precedence + 1);
        left = { kind: 'binary', op, left, right, bool, matching, start: left.start, end: right.end };
      }
    });
  }

  private matching(): Matching {
    const word = this.keyword();
    if (word !== 'on' && word !== 'ignoring') return { on: false, labels: [], include: [] };
    this.next();
    const labels = this.groupingLabels();
    const group = this.keyword();
    if (group !== 'group_left' && group !== 'group_right') return { on: word === 'on', labels, include: [] };
    this.next();
    const include = this.isNext('(') ? this.groupingLabels() : [];
    return { on: word === 'on', labels, include, many: group === 'group_left' ? 'left' : 'right' };
  }

  private rejectFill(): void {
    if (/^fill(_left|_right)?$/.test(this.keyword() ?? '') && this.isNext('(', 1))
      throw this.error(this.peek().at, 'binop fill modifiers are experimental and not supported');
  }

  private groupingLabels(): string[] {
    this.expect('(', 'grouping opts');
    const labels: string[] = [];
    while (!this.accept(')')) {
      const token = this.peek();
      const label = token.type === 'string' ? this.unquoted() : this.next().text;
      if ((token.type !== 'string' && token.type !== 'word') || token.text.includes(':')) {
        if (token.type !== 'string') {
          this.position--;
          throw this.unexpected('grouping opts', 'label');
        }
      }
      if (label === '') throw this.error(token.at, 'invalid label name for grouping: ""');
      labels.push(label);
      if (!this.isNext(')') && !this.accept(',')) throw this.unexpected('grouping opts', '"," or ")"');
    }
    return labels;
  }

  private unary(): Expr {
    const { at } = this.peek();
    const op = this.isNext('-') ? '-' : this.isNext('+') ? '+' : undefined;
    if (op === undefined) return this.postfix();
    this.next();
    // The operand includes operators that bind tighter: -2^2 is -(2^2).
    const expr = this.expression(UNARY + 1);
    if (expr.kind === 'number') return { ...expr, value: op === '-' ? -expr.value : expr.value, start: at };
    return { kind: 'unary', op, expr, start: at, end: expr.end };
  }

  /** Parses an expression and any brackets and modifiers after it. */
  private postfix(): Expr {
    let expr = this.primary();
    for (let length = 0; ; length++) {
      if (length > MAX_DEPTH)
        throw this.error(this.peek().at, `more than ${MAX_DEPTH} modifiers follow each other`);
      if (this.isNext('[')) expr = this.brackets(expr);
      else if (this.isNext('@')) expr = this.atModifier(expr);
      else if (this.keyword() === 'offset') expr = this.offsetModifier(expr);
      else if (this.keyword() === 'anchored' || this.keyword() === 'smoothed')
        throw this.error(this.peek().at, `${this.keyword()} modifier is experimental and not supported`);
      else return expr;
    }
  }

  private brackets(expr: Expr): Expr {
    const at = this.next().at;
    const range = this.positiveDuration('subquery or range selector');
    if (this.accept(':')) {
      const step = this.isNext(']') ? undefined : this.positiveDuration('subquery selector');
      this.expect(']', 'subquery selector');
      return {
        kind: 'subquery',
        expr,
        range,
        ...(step && { step }),
        start: expr.start,
        end: this.lastEnd(),
      };
    }
    this.expect(']', 'subquery or range');
    if (expr.kind !== 'selector') throw this.error(at, 'ranges only allowed for vector selectors');
    if (expr.offset !== undefined) throw this.error(at, 'no offset modifiers allowed before range');
    if (expr.at !== undefined) throw this.error(at, 'no @ modifiers allowed before range');
    return { kind: 'range', selector: expr, range, start: expr.start, end: this.lastEnd() };
  }

  private atModifier(expr: Expr): Expr {
    const token = this.next();
    const word = this.keyword();
    let time: At;
    if ((word === 'start' || word === 'end') && this.isNext('(', 1)) {
      this.next();
      this.next();
      this.expect(')', '@');
      time = word;
    } else {
      const sign = this.accept('-') ? -1 : 1;
      if (sign === 1) this.accept('+');
      if (!this.isNumber()) throw this.unexpected('@', 'timestamp');
      const seconds = sign * this.numberValue();
      if (!(Math.abs(seconds) < 2 ** 63))
        throw this.error(expr.start, `timestamp out of bounds for @ modifier: ${seconds}`);
      time = Math.round(seconds * 1000);
    }
    return this.shift(expr, token, 'at', time, '@ modifier', '@ <timestamp>');
  }

  private offsetModifier(expr: Expr): Expr {
    const token = this.next();
    return this.shift(expr, token, 'offset', this.offsetDuration(), 'offset modifier', 'offset');
  }

  private shift(
    expr: Expr,
    token: Token,
    key: 'at' | 'offset',
    value: At | Duration,
    modifier: string,
    short: string,
  ): Expr {
    const set = <T extends Selector | Subquery>(target: T): T => {
      if (target[key] !== undefined) throw this.error(expr.start, `${short} may not be set multiple times`);
      return { ...target, [key]: value, end: this.lastEnd() };
    };
    if (expr.kind === 'selector' || expr.kind === 'subquery') return set(expr);
    if (expr.kind === 'range') return { ...expr, selector: set(expr.selector), end: this.lastEnd() };
    throw this.error(
      token.at,
      `${modifier} must be preceded by an instant vector selector or range vector selector or a subquery`,
    );
  }

  private isNumber(): boolean {
    const { type } = this.peek();
    return type === 'number' || type === 'duration' || this.keyword() === 'inf' || this.keyword() === 'nan';
  }

  /** Parses a number. A duration is converted to seconds. */
  private numberValue(): number {
    const { type, text, at } = this.next();
    if (type === 'duration') {
      const ms = parseDurationMs(text);
      if (typeof ms === 'string') throw this.error(at, ms);
      return ms / 1000;
    }
    const value = parseNumber(text);
    if (value === undefined)
      throw this.error(at, `error parsing number: ${JSON.stringify(text.slice(0, 100))} is out of range`);
    return value;
  }

  private positiveDuration(context: string): Duration {
    const { at } = this.peek();
    const duration = this.duration(1, context);
    if (duration.op === 'literal' && !(duration.seconds > 0))
      throw this.error(at, 'duration must be greater than 0');
    return duration;
  }

  /**
   * Parses an offset. An operator is part of the offset only inside parentheses: `x offset 5m * 2` multiplies x
   * by 2.
   */
  private offsetDuration(): Duration {
    const sign = this.isNext('-') ? '-' : this.isNext('+') ? '+' : undefined;
    if (sign !== undefined) this.next();
    if (this.isNext('(') && sign === undefined) return this.duration(1, 'offset');
    return applySign(sign, this.durationPrimary('offset'));
  }

  private duration(least: number, context: string): Duration {
    return this.nested(() => {
      const sign = this.isNext('-') ? '-' : this.isNext('+') ? '+' : undefined;
      if (sign !== undefined) this.next();
      let left =
        sign === undefined
          ? this.durationPrimary(context)
          : applySign(sign, this.duration(UNARY + 1, context));
      for (let length = 0; ; length++) {
        const { type, text: op, at } = this.peek();
        const precedence = PRECEDENCE.get(op);
        if (type !== 'symbol' || !/^[-+*/%^]$/.test(op) || precedence === undefined || precedence < least)
          return left;
        if (length > MAX_DEPTH) throw this.error(at, `more than ${MAX_DEPTH} operators follow each other`);
        this.next();
        const right = this.duration(op === '^' ? precedence : precedence + 1, context);
        if ((op === '/' || op === '%') && right.op === 'literal' && right.seconds === 0)
          throw this.error(at, op === '/' ? 'division by zero' : 'modulo by zero');
        left = { op: op as '+', left, right };
      }
    });
  }

  private durationPrimary(context: string): Duration {
    const { at } = this.peek();
    const word = this.keyword();
    if ((word === 'step' || word === 'range') && this.isNext('(', 1)) {
      this.position += 2;
      this.expect(')', context);
      return { op: word };
    }
    if ((word === 'min_of' || word === 'max_of') && this.isNext('(', 1)) {
      this.position += 2;
      const left = this.duration(1, context);
      this.expect(',', context);
      const right = this.duration(1, context);
      this.expect(')', context);
      return { op: word, left, right };
    }
    if (this.accept('(')) {
      const of = this.duration(1, context);
      this.expect(')', context);
      return { op: 'paren', of };
    }
    if (this.peek().type !== 'number' && this.peek().type !== 'duration')
      throw this.unexpected(context, 'number, duration, step(), or range()');
    const plain = this.peek().type === 'number';
    const seconds = this.numberValue();
    if (!(seconds * 1000 <= MAX_DURATION_MS)) throw this.error(at, 'duration out of range');
    return { op: 'literal', seconds, plain };
  }

  private primary(): Expr {
    const token = this.peek();
    const { at } = token;
    if (this.accept('(')) {
      const expr = this.expression(1);
      this.expect(')', 'parentheses');
      return { kind: 'paren', expr, start: at, end: this.lastEnd() };
    }
    if (this.isNext('{')) return this.selector(undefined, at);
    if (this.isNumber()) {
      const value = this.numberValue();
      return { kind: 'number', value, start: at, end: this.lastEnd() };
    }
    if (token.type === 'string') {
      const value = this.unquoted();
      return { kind: 'string', value, start: at, end: this.lastEnd() };
    }
    const word = this.keyword();
    if (word === undefined) throw this.unexpected();
    const isCalled = this.isNext('(', 1);
    const isGrouped = ['by', 'without'].includes(this.keyword(1) ?? '');
    if (EXPERIMENTAL_AGGREGATORS.has(word) && (isCalled || isGrouped))
      throw this.error(at, `${word}() is experimental and not supported`);
    if (AGGREGATORS.has(word) && (isCalled || isGrouped))
      return this.aggregation(word as AggregationOperator);
    if (RESERVED.has(word)) throw this.unexpected();
    if (isCalled) return this.call();
    return this.selector(this.next().text, at);
  }

  private aggregation(op: AggregationOperator): Aggregation {
    const { at } = this.next();
    let grouping = this.grouping();
    const args = this.args();
    grouping ??= this.grouping();
    const end = this.lastEnd();
    const wanted = WITH_PARAM.has(op) ? 2 : 1;
    if (args.length === 0) throw this.error(at, 'no arguments for aggregate expression provided');
    if (args.length !== wanted)
      throw this.error(
        at,
        `wrong number of arguments for aggregate expression provided, expected ${wanted}, got ${args.length}`,
      );
    return {
      kind: 'aggregation',
      op,
      expr: args[wanted - 1]!,
      ...(wanted === 2 && { param: args[0]! }),
      labels: grouping?.labels ?? [],
      without: grouping?.without ?? false,
      start: at,
      end,
    };
  }

  private grouping(): { readonly labels: string[]; readonly without: boolean } | undefined {
    const word = this.keyword();
    if (word !== 'by' && word !== 'without') return undefined;
    this.next();
    return { labels: this.groupingLabels(), without: word === 'without' };
  }

  private call(): Expr {
    const { text, at } = this.next();
    const func = functionNamed(text);
    if (typeof func === 'string') throw this.error(at, func);
    const args = this.args();
    return { kind: 'call', func, args, start: at, end: this.lastEnd() };
  }

  private args(): Expr[] {
    this.expect('(', 'aggregation');
    const args: Expr[] = [];
    if (this.accept(')')) return args;
    for (;;) {
      args.push(this.expression(1));
      if (this.accept(')')) return args;
      const comma = this.expect(',', 'function call');
      if (this.isNext(')')) throw this.error(comma.at, 'trailing commas not allowed in function call args');
    }
  }

  private selector(name: string | undefined, start: number): Selector {
    const matchers: Selector['matchers'][number][] = [];
    if (this.accept('{')) {
      while (!this.accept('}')) {
        matchers.push(this.matcher());
        if (!this.isNext('}') && !this.accept(',')) throw this.unexpected('label matching', '"," or "}"');
      }
    }
    const named = matchers.find(({ label }) => label === METRIC_NAME);
    if (name !== undefined && named !== undefined)
      throw this.error(
        start,
        `metric name must not be set twice: ${JSON.stringify(name)} or ${JSON.stringify(named.value)}`,
      );
    if (name === undefined && matchers.every((matcher) => compileMatcher(matcher).acceptsEmpty))
      throw this.error(start, 'vector selector must contain at least one non-empty matcher');
    if (name !== undefined) matchers.push({ label: METRIC_NAME, op: '=', value: name });
    return { kind: 'selector', ...(name !== undefined && { name }), matchers, start, end: this.lastEnd() };
  }

  private matcher(): Selector['matchers'][number] {
    const token = this.peek();
    if (token.type !== 'string' && (token.type !== 'word' || token.text.includes(':')))
      throw this.unexpected('label matching', 'identifier or "}"');
    const label = token.type === 'string' ? this.unquoted() : this.next().text;
    const { type, text: op } = this.peek();
    if (type !== 'symbol' || !['=', '!=', '=~', '!~'].includes(op)) {
      if (token.type !== 'string') throw this.unexpected('label matching', 'label matching operator');
      // A quoted name without an operator is the metric's name.
      return { label: METRIC_NAME, op: '=', value: label };
    }
    this.next();
    if (this.peek().type !== 'string') throw this.unexpected('label matching', 'string');
    const matcher = { label, op: op as '=', value: this.unquoted() };
    try {
      compileMatcher(matcher);
    } catch (error) {
      if (error instanceof InvalidPatternError) throw this.error(token.at, error.message);
      throw error;
    }
    return matcher;
  }

  private unquoted(): string {
    const { text, at } = this.next();
    const value = unquote(text);
    if (value === undefined)
      throw this.error(at, `error unquoting string ${text.slice(0, 100)}: invalid syntax`);
    return value;
  }
}

function applySign(sign: '-' | '+' | undefined, of: Duration): Duration {
  if (sign !== '-') return of;
  return of.op === 'literal' ? { ...of, seconds: -of.seconds } : { op: 'minus', of };
}
