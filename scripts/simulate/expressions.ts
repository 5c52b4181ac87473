import { isDeepStrictEqual } from 'node:util';
import { AwsError } from './aws-error';

/**
 * Implements the parts of DynamoDB's expressions that the functions use: comparisons, BETWEEN, IN, functions, AND, OR,
 * NOT, and updates with SET, ADD and REMOVE. Anything else is refused, so that a new use of an expression is noticed.
 */

/** A value in DynamoDB's JSON: one key, its type. Binary is base64. */
export type Value = Readonly<Record<string, unknown>>;
export type Item = Readonly<Record<string, Value>>;

/** The names and values that an expression refers to. */
export interface Given {
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>>;
  readonly ExpressionAttributeValues?: Item;
}

type Test = (item: Item, given: Given) => boolean;
type Operand = (item: Item, given: Given) => Value | undefined;
type Change = (item: Item, given: Given, result: Record<string, Value>) => void;

const tests = new Map<string, Test>();
const changes = new Map<string, Change[]>();

/** Whether an item fulfils a condition, filter or key condition. */
export function holds(expression: string, item: Item, given: Given): boolean {
  return entry(tests, expression, () => new Parser(expression).wholeCondition())(item, given);
}

/** Applies an update to an item, and returns the result. */
export function updated(expression: string, item: Item, given: Given): Item {
  const result: Record<string, Value> = { ...item };
  for (const change of entry(changes, expression, () => new Parser(expression).update()))
    change(item, given, result);
  return result;
}

/** Returns the attributes that a projection names. */
export function projected(expression: string | undefined, item: Item, given: Given): Item {
  if (expression === undefined) return item;
  const names = expression.split(',').map((name) => nameOf(name.trim(), given));
  return Object.fromEntries(names.filter((name) => name in item).map((name) => [name, item[name]!]));
}

const SURROGATE = /[\ud800-\udfff]/;
const TOKEN = /\s*([:#]?[A-Za-z_][\w.-]*|<>|<=|>=|[=<>(),+-])/y;
const COMPARED: Readonly<Record<string, (order: number) => boolean>> = {
  '=': (order) => order === 0,
  '<>': (order) => order !== 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
};

class Parser {
  private readonly tokens: string[] = [];
  private at = 0;

  constructor(private readonly text: string) {
    TOKEN.lastIndex = 0;
    for (let end = 0; end < text.trimEnd().length; end = TOKEN.lastIndex) {
      const token = TOKEN.exec(text)?.[1];
      if (token === undefined) throw this.invalid();
      this.tokens.push(token);
    }
  }

  wholeCondition(): Test {
    const test = this.either();
    if (this.at < this.tokens.length) throw this.invalid();
    return test;
  }

  update(): Change[] {
    const made: Change[] = [];
    while (this.at < this.tokens.length) {
      const section = this.take().toUpperCase();
      do made.push(this.change(section));
      while (this.takes(','));
    }
    return made;
  }

  private change(section: string): Change {
    const name = this.take();
    if (section === 'REMOVE')
      return (_, given, result) => {
        delete result[nameOf(name, given)];
      };
    if (section === 'SET') {
      this.expect('=');
      const value = this.sum();
      return (item, given, result) => {
        result[nameOf(name, given)] = present(value(item, given));
      };
    }
    if (section !== 'ADD') throw this.invalid();
    const amount = this.operand();
    return (item, given, result) => {
      const key = nameOf(name, given);
      result[key] = added(item[key], present(amount(item, given)));
    };
  }

  private sum(): Operand {
    const left = this.operand();
    const sign = this.takes('+') ? 1 : this.takes('-') ? -1 : 0;
    if (sign === 0) return left;
    const right = this.operand();
    return (item, given) => number(numberOf(left(item, given)) + sign * numberOf(right(item, given)));
  }

  private operand(): Operand {
    const token = this.take();
    if (token.startsWith(':')) return (_, given) => present(given.ExpressionAttributeValues?.[token]);
    if (token === 'size' && this.takes('(')) {
      const inner = this.operand();
      this.expect(')');
      return (item, given) => {
        const [text] = Object.values(inner(item, given) ?? {});
        return typeof text === 'string' ? number(text.length) : undefined;
      };
    }
    if (token === 'if_not_exists') {
      this.expect('(');
      const name = this.take();
      this.expect(',');
      const otherwise = this.operand();
      this.expect(')');
      return (item, given) => item[nameOf(name, given)] ?? otherwise(item, given);
    }
    return (item, given) => item[nameOf(token, given)];
  }

  private either(): Test {
    const left = this.both();
    if (!this.takes('OR')) return left;
    const right = this.either();
    return (item, given) => left(item, given) || right(item, given);
  }

  private both(): Test {
    const left = this.single();
    if (!this.takes('AND')) return left;
    const right = this.both();
    return (item, given) => left(item, given) && right(item, given);
  }

  private single(): Test {
    if (this.takes('NOT')) {
      const inner = this.single();
      return (item, given) => !inner(item, given);
    }
    if (this.takes('(')) {
      const inner = this.either();
      this.expect(')');
      return inner;
    }
    const token = this.tokens[this.at]!;
    if (this.tokens[this.at + 1] === '(' && token !== 'size') return this.call();
    const left = this.operand();
    if (this.takes('BETWEEN')) {
      const from = this.operand();
      this.expect('AND');
      const to = this.operand();
      return (item, given) =>
        isOrdered(left(item, given), from(item, given), COMPARED['>=']!) &&
        isOrdered(left(item, given), to(item, given), COMPARED['<=']!);
    }
    if (this.takes('IN')) {
      this.expect('(');
      const options = [this.operand()];
      while (this.takes(',')) options.push(this.operand());
      this.expect(')');
      return (item, given) =>
        options.some((option) => isDeepStrictEqual(option(item, given), left(item, given)));
    }
    const compare = COMPARED[this.take()];
    if (compare === undefined) throw this.invalid();
    const right = this.operand();
    return (item, given) => isOrdered(left(item, given), right(item, given), compare);
  }

  private call(): Test {
    const name = this.take();
    this.expect('(');
    const subject = this.operand();
    const argument = this.takes(',') ? this.operand() : undefined;
    this.expect(')');
    const texts = (item: Item, given: Given) =>
      [subject(item, given)?.S, argument?.(item, given)?.S] as [string | undefined, string | undefined];
    switch (name) {
      case 'attribute_exists':
        return (item, given) => subject(item, given) !== undefined;
      case 'attribute_not_exists':
        return (item, given) => subject(item, given) === undefined;
      case 'begins_with':
        return (item, given) => {
          const [text, prefix] = texts(item, given);
          return text !== undefined && prefix !== undefined && text.startsWith(prefix);
        };
      case 'contains':
        return (item, given) => {
          const [text, part] = texts(item, given);
          return text !== undefined && part !== undefined && text.includes(part);
        };
      default:
        throw this.invalid();
    }
  }

  private take(): string {
    const token = this.tokens[this.at++];
    if (token === undefined) throw this.invalid();
    return token;
  }

  private takes(token: string): boolean {
    const isNext = this.tokens[this.at]?.toUpperCase() === token;
    if (isNext) this.at++;
    return isNext;
  }

  private expect(token: string): void {
    if (!this.takes(token)) throw this.invalid();
  }

  private invalid(): AwsError {
    return new AwsError(400, 'ValidationException', `the model cannot read the expression ${this.text}`);
  }
}

function entry<V>(map: Map<string, V>, key: string, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}

function nameOf(token: string, given: Given): string {
  if (!token.startsWith('#')) return token;
  const name = given.ExpressionAttributeNames?.[token];
  if (name === undefined) throw new AwsError(400, 'ValidationException', `${token} has no name`);
  return name;
}

function present(value: Value | undefined): Value {
  if (value === undefined) throw new AwsError(400, 'ValidationException', 'an operand has no value');
  return value;
}

/**
 * Tests the order of two numbers or of two strings. For other values, `test` gets 0 if they are equal, otherwise NaN.
 */
function isOrdered(a: Value | undefined, b: Value | undefined, test: (order: number) => boolean): boolean {
  if (a === undefined || b === undefined) return false;
  if (a.N !== undefined && b.N !== undefined) return test(Number(a.N) - Number(b.N));
  if (a.S !== undefined && b.S !== undefined) return test(compareTexts(a.S as string, b.S as string));
  return test(isDeepStrictEqual(a, b) ? 0 : Number.NaN);
}

/** Compares by UTF-8 bytes, as DynamoDB does. */
export function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  // UTF-16 and UTF-8 order strings alike unless one of them has surrogates, which are rare.
  if (SURROGATE.test(a) || SURROGATE.test(b)) return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return a < b ? -1 : 1;
}

function added(before: Value | undefined, amount: Value): Value {
  if (amount.N !== undefined) return number(numberOf(before ?? number(0)) + numberOf(amount));
  for (const type of ['SS', 'NS', 'BS'])
    if (amount[type] !== undefined)
      return {
        [type]: [...new Set([...((before?.[type] ?? []) as string[]), ...(amount[type] as string[])])],
      };
  throw new AwsError(400, 'ValidationException', 'ADD takes numbers and sets');
}

function numberOf(value: Value | undefined): number {
  if (value?.N === undefined) throw new AwsError(400, 'ValidationException', 'an operand is not a number');
  return Number(value.N);
}

function number(value: number): Value {
  return { N: String(value) };
}
