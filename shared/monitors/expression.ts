import { DAY_MS } from '../model/duration';

/** An expression of Mackerel's language for graphs and expression monitors: a function call. */
export interface Expression {
  readonly func: ExpressionFunction;
  readonly metrics: readonly Expression[];
  /** Other arguments: names as text, numbers as numbers, durations in ms. */
  readonly values: readonly (string | number)[];
}

/** The text is not a valid expression. The message gives the position. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
}

type ArgumentKind = 'metrics' | 'text' | 'role' | 'number' | 'percentage' | 'duration';

/**
 * The functions with their arguments; `group` takes any number of metrics.
 *
 * @see https://mackerel.io/docs/entry/advanced/advanced-graph#functions
 */
const FUNCTIONS = {
  host: ['text', 'text'],
  service: ['text', 'text'],
  role: ['role', 'text'],
  roleSlots: ['role', 'text'],
  avg: ['metrics'],
  max: ['metrics'],
  min: ['metrics'],
  sum: ['metrics'],
  product: ['metrics'],
  diff: ['metrics', 'metrics'],
  divide: ['metrics', 'metrics'],
  scale: ['metrics', 'number'],
  offset: ['metrics', 'number'],
  percentile: ['metrics', 'percentage'],
  timeShift: ['metrics', 'duration'],
  movingAverage: ['metrics', 'duration'],
  linearRegression: ['metrics', 'duration'],
  timeLeftForecast: ['metrics', 'duration', 'number'],
  group: ['metrics'],
  stack: ['metrics'],
  alias: ['metrics', 'text'],
} as const satisfies Readonly<Record<string, readonly ArgumentKind[]>>;

export type ExpressionFunction = keyof typeof FUNCTIONS;

function isFunction(name: string): name is ExpressionFunction {
  return Object.hasOwn(FUNCTIONS, name);
}

/** Maximum length of an expression, in characters. Users write a few hundred. */
const MAX_CHARACTERS = 10_000;
const MAX_DEPTH = 32;
const MAX_CALLS = 500;
/** Maximum duration, in ms. */
const MAX_DURATION_MS = 3 * 365 * DAY_MS;

const UNITS_MS: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: DAY_MS,
  w: 7 * DAY_MS,
  mo: 30 * DAY_MS,
  y: 365 * DAY_MS,
};

/**
 * Parses an expression.
 *
 * @throws {ExpressionError}
 */
export function parseExpression(text: string): Expression {
  if (text.length > MAX_CHARACTERS)
    throw new ExpressionError(
      `the expression has ${text.length} characters; at most ${MAX_CHARACTERS} are allowed`,
    );
  const parser = new Parser(tokensOf(text));
  const expression = parser.call(0);
  parser.end();
  return expression;
}

/** A bracket, comma, quoted text or bare word. */
interface Token {
  readonly kind: '(' | ')' | ',' | 'quoted' | 'word' | 'end';
  readonly text: string;
  /** Index of the token's first character in the expression. */
  readonly at: number;
}

const TOKEN = /\s*(?:([(),])|'((?:[^'\\]|\\[\s\S])*)'|"((?:[^"\\]|\\[\s\S])*)"|([^\s(),'"]+))/y;

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  const end = text.trimEnd().length;
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < end; ) {
    const from = TOKEN.lastIndex;
    const found = TOKEN.exec(text);
    if (found === null) throw new ExpressionError(`character ${from + 1}: a quoted text is not closed`);
    const [whole, symbol, single, double, word] = found;
    const at = from + whole.length - whole.trimStart().length;
    const quoted = single ?? double;
    if (symbol === '(' || symbol === ')' || symbol === ',') tokens.push({ kind: symbol, text: symbol, at });
    else if (quoted !== undefined)
      tokens.push({ kind: 'quoted', text: quoted.replaceAll(/\\(['"\\])/g, '$1'), at });
    else tokens.push({ kind: 'word', text: word!, at });
  }
  tokens.push({ kind: 'end', text: '', at: end });
  return tokens;
}

class Parser {
  private next = 0;
  private calls = 0;

  constructor(private readonly tokens: readonly Token[]) {}

  call(depth: number): Expression {
    const name = this.take('word', 'a function');
    const { text: func } = name;
    if (!isFunction(func)) throw failure(name, `unknown function ${JSON.stringify(func.slice(0, 50))}`);
    if (depth >= MAX_DEPTH) throw failure(name, `calls are nested more than ${MAX_DEPTH} deep`);
    if (++this.calls > MAX_CALLS) throw failure(name, `the expression has more than ${MAX_CALLS} calls`);
    const kinds: readonly ArgumentKind[] = FUNCTIONS[func];
    const metrics: Expression[] = [];
    const values: (string | number)[] = [];
    this.take('(', `"(" after ${func}`);
    for (let i = 0; i < kinds.length || (func === 'group' && this.peek().kind === ','); i++) {
      if (i > 0) this.take(',', `"," and another argument of ${func}, which takes ${kinds.length}`);
      const kind = kinds[i] ?? 'metrics';
      if (kind === 'metrics') metrics.push(this.call(depth + 1));
      else values.push(this.value(func, kind));
    }
    this.take(')', `")" after the arguments of ${func}`);
    return { func, metrics, values };
  }

  end(): void {
    this.take('end', 'the end of the expression');
  }

  private value(func: ExpressionFunction, kind: Exclude<ArgumentKind, 'metrics'>): string | number {
    const token = this.peek();
    if (token.kind !== 'word' && token.kind !== 'quoted')
      throw failure(token, `${DESCRIPTIONS[kind]} of ${func} is missing`);
    this.next++;
    const value = READERS[kind](token.text);
    if (value === undefined)
      throw failure(
        token,
        `${JSON.stringify(token.text.slice(0, 50))} of ${func} is not ${DESCRIPTIONS[kind]}`,
      );
    return value;
  }

  private peek(): Token {
    return this.tokens[this.next]!;
  }

  private take(kind: Token['kind'], wanted: string): Token {
    const token = this.peek();
    if (token.kind !== kind)
      throw failure(
        token,
        token.kind === 'end'
          ? `${wanted} is missing`
          : `expected ${wanted}, got ${JSON.stringify(token.text.slice(0, 50))}`,
      );
    this.next++;
    return token;
  }
}

function failure({ at }: Token, message: string): ExpressionError {
  return new ExpressionError(`character ${at + 1}: ${message}`);
}

const DESCRIPTIONS: Readonly<Record<ArgumentKind, string>> = {
  metrics: 'metrics',
  text: 'a name',
  role: 'a role, such as service:role',
  number: 'a number, such as 1.5 or 1/86400',
  percentage: 'a percentage between 0 and 100',
  duration: 'a duration of minutes to 3 years, such as 5m, 1h, 2d, 1w, 3mo or 1y',
};

const READERS: Readonly<
  Record<Exclude<ArgumentKind, 'metrics'>, (text: string) => string | number | undefined>
> = {
  text: (text) => (text === '' ? undefined : text),
  role: (text) => /^([^:\s]+):\s*([^:\s]+)$/.exec(text)?.slice(1).join(':'),
  number: numberOf,
  percentage: (text) => {
    const value = numberOf(text);
    return value !== undefined && value > 0 && value < 100 ? value : undefined;
  },
  duration: (text) => {
    const [, count, unit] = /^(\d{1,9})(mo|[mhdwy])$/.exec(text) ?? [];
    const ms = Number(count) * (UNITS_MS[unit!] ?? Number.NaN);
    return ms > 0 && ms <= MAX_DURATION_MS ? ms : undefined;
  },
};

const NUMBER =
  /^([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)(?:\/([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?))?$/;

/** Parses a number or a quotient of two numbers. */
function numberOf(text: string): number | undefined {
  const [, dividend, divisor = '1'] = (text.length <= 100 && NUMBER.exec(text)) || [];
  const value = Number(dividend) / Number(divisor);
  return Number.isFinite(value) ? value : undefined;
}
