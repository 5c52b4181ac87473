import { unquote } from '../../promql/lexer';
import { TemplateError, type TemplateValue } from './values';

/** A token of an action, the part of a template between `{{` and `}}`. */
export interface TemplateToken {
  readonly type: 'literal' | 'field' | 'variable' | 'word' | 'symbol' | 'space' | 'end';
  /** Name of a field or variable without `.` or `$`; other tokens as written. */
  readonly text: string;
  /** Value of a literal. */
  readonly value?: TemplateValue;
}

/** Text outside actions, or the tokens of an action, the last of which is `end`. */
export type Piece =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'action'; readonly tokens: readonly TemplateToken[]; readonly line: number };

const STRING = /"(?:[^"\\\n]|\\[^\n])*"|`[^`]*`/y;
const CHARACTER = /'(?:[^'\\\n]|\\[^\n]+?)'/y;
const NUMBER =
  /[+-]?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?)(?![\w.])/y;
const FIELD = /\.([\p{L}_][\p{L}\p{N}_]*)/uy;
const VARIABLE = /\$([\p{L}_][\p{L}\p{N}_]*)?/uy;
const WORD = /[\p{L}_][\p{L}\p{N}_]*/uy;
const SPACE = /[ \t\r\n]+/y;
const SYMBOL = /:=|[=|().,]/y;
const COMMENT = /\/\*[\s\S]*?\*\//y;
const LITERAL_WORDS: ReadonlyMap<string, TemplateValue> = new Map([
  ['true', true],
  ['false', false],
  ['nil', null],
]);

/**
 * Splits a template into texts and actions. Trim markers (`{{- ` and ` -}}`) are applied and comments
 * removed.
 *
 * @throws {TemplateError} with the line of the error
 */
export function piecesOf(template: string): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  let trimNext = false;
  while (true) {
    const open = template.indexOf('{{', at);
    let text = template.slice(at, open < 0 ? undefined : open);
    if (trimNext) text = text.trimStart();
    const trimsBefore = open >= 0 && /^-\s/.test(template.slice(open + 2, open + 4));
    if (trimsBefore) text = text.trimEnd();
    if (text !== '') pieces.push({ type: 'text', text });
    if (open < 0) return pieces;
    const line = template.slice(0, open).split('\n').length;
    const action = actionAt(template, open + (trimsBefore ? 3 : 2), line);
    if (action.tokens.length > 1) pieces.push({ type: 'action', tokens: action.tokens, line });
    trimNext = action.trimsAfter;
    at = action.end;
  }
}

interface Action {
  readonly tokens: readonly TemplateToken[];
  readonly trimsAfter: boolean;
  /** Index just past `}}`. */
  readonly end: number;
}

function actionAt(template: string, start: number, line: number): Action {
  const fail = (message: string): never => {
    throw new TemplateError(`${line}: ${message}`);
  };
  const tokens: TemplateToken[] = [];
  let at = start;
  let depth = 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(template);
    if (found !== null) at += found[0].length;
    return found;
  };
  const endOf = (closing: RegExp): Action | undefined => {
    const found = take(closing);
    if (found === null) return undefined;
    if (depth > 0) fail('unclosed left paren');
    while (tokens.at(-1)?.type === 'space') tokens.pop();
    while (tokens[0]?.type === 'space') tokens.shift();
    return {
      tokens: [...tokens, { type: 'end', text: '' }],
      trimsAfter: found[0].length > 2,
      end: at,
    };
  };
  while (at < template.length) {
    const end = endOf(/\s-}}|}}/y);
    if (end !== undefined) return end;
    if (take(SPACE) !== null) {
      tokens.push({ type: 'space', text: ' ' });
      continue;
    }
    if (tokens.every(({ type }) => type === 'space') && take(COMMENT) !== null) {
      const closed = endOf(/\s-}}|}}/y);
      return closed ?? fail('comment ends before closing delimiter');
    }
    const token = tokenAt(take, fail);
    if (token === undefined)
      return fail(
        `unexpected ${JSON.stringify(String.fromCodePoint(template.codePointAt(at)!))} in the action`,
      );
    if (token.text === '(' && token.type === 'symbol') depth++;
    if (token.text === ')' && token.type === 'symbol' && --depth < 0) fail('unexpected right paren');
    tokens.push(token);
  }
  return fail('unclosed action');
}

function tokenAt(
  take: (pattern: RegExp) => RegExpExecArray | null,
  fail: (message: string) => never,
): TemplateToken | undefined {
  const text = take(STRING)?.[0] ?? take(CHARACTER)?.[0];
  if (text !== undefined) {
    const value = unquote(text);
    if (value === undefined) return fail(`bad escape in ${text}`);
    if (!text.startsWith("'")) return { type: 'literal', text, value };
    if ([...value].length !== 1) return fail(`malformed character constant: ${text}`);
    return { type: 'literal', text, value: BigInt(value.codePointAt(0)!) };
  }
  const number = take(NUMBER)?.[0];
  if (number !== undefined) return { type: 'literal', text: number, value: numberOf(number, fail) };
  const field = take(FIELD);
  if (field !== null) return { type: 'field', text: field[1]! };
  const variable = take(VARIABLE);
  if (variable !== null) return { type: 'variable', text: variable[1] ?? '' };
  const word = take(WORD)?.[0];
  if (word !== undefined) {
    const value = LITERAL_WORDS.get(word);
    return value === undefined ? { type: 'word', text: word } : { type: 'literal', text: word, value };
  }
  const symbol = take(SYMBOL)?.[0];
  return symbol === undefined ? undefined : { type: 'symbol', text: symbol };
}

/**
 * Parses a number. Returns a bigint if it is written as an integer, without a point or exponent; otherwise a float.
 */
function numberOf(text: string, fail: (message: string) => never): bigint | number {
  const digits = text.replaceAll('_', '');
  const magnitude = digits.replace(/^[+-]/, '');
  if (/^(0[xXbBoO][0-9a-fA-F]+|\d+)$/.test(magnitude)) {
    // `08` is not a valid octal number. Go refuses it with the same message.
    if (/^0\d*[89]/.test(magnitude)) return fail(`integer overflow: ${text}`);
    const value = BigInt(/^0\d/.test(magnitude) ? `0o${magnitude.slice(1)}` : magnitude);
    if (value >= 1n << 63n) return fail(`integer overflow: ${text}`);
    return digits.startsWith('-') ? -value : value;
  }
  const value = Number(digits);
  return Number.isNaN(value) ? fail(`bad number syntax: ${text}`) : value;
}
