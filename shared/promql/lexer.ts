import { parseError } from './errors';

/** A word, symbol or literal of an expression. */
export interface Token {
  readonly type: 'word' | 'number' | 'duration' | 'string' | 'symbol' | 'end';
  /** Text as written, including a string's quotes. */
  readonly text: string;
  /** Index of the token's first character in the expression. */
  readonly at: number;
}

const SPACE = /(?:[ \t\r\n]+|#[^\r\n]*)+/y;
const WORD = /[A-Za-z_:][A-Za-z0-9_:]*/y;
const DURATION = /(?:\d+(?:ms|[smhdwy]))+(?![A-Za-z0-9_])/y;
const NUMBER =
  /(?:0[xX]_?[0-9A-Fa-f](?:_?[0-9A-Fa-f])*|(?:\d(?:_?\d)*(?:\.(?:\d(?:_?\d)*)?)?|\.\d(?:_?\d)*)(?:[eE][+-]?\d(?:_?\d)*)?)(?![A-Za-z0-9_.])/y;
const BAD_NUMBER = /[A-Za-z0-9_.]+/y;
const SYMBOL = /==|!=|=~|!~|<=|>=|[-+*/%^=<>(){}[\],@:]/y;
const QUOTED = /"(?:[^"\\\n]|\\[^\n])*"|'(?:[^'\\\n]|\\[^\n])*'|`[^`]*`/y;

/** Splits an expression into tokens. The last token has type `end`. */
export function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  const match = (pattern: RegExp, at: number) => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0];
  };
  // Inside brackets, a colon separates the range from the step; elsewhere, it may be part of a name.
  let inBrackets = false;
  for (let at = 0; ; ) {
    at += match(SPACE, at)?.length ?? 0;
    if (at >= text.length) break;
    const push = (type: Token['type'], found: string) => {
      tokens.push({ type, text: found, at });
      at += found.length;
    };
    const c = text[at]!;
    if (/[0-9.]/.test(c)) {
      const duration = match(DURATION, at);
      const number = duration ?? match(NUMBER, at);
      if (number === undefined) {
        const bad = match(BAD_NUMBER, at)!;
        throw parseError(text, at, `bad number or duration syntax: ${JSON.stringify(bad.slice(0, 50))}`);
      }
      push(duration === undefined ? 'number' : 'duration', number);
    } else if (/["'`]/.test(c)) {
      const quoted = match(QUOTED, at);
      if (quoted === undefined)
        throw parseError(text, at, `unterminated ${c === '`' ? 'raw' : 'quoted'} string`);
      push('string', quoted);
    } else if (/[A-Za-z_]/.test(c) || (c === ':' && !inBrackets)) {
      const word = match(WORD, at)!;
      push('word', inBrackets ? word.replace(/:.*$/s, '') : word);
    } else {
      const symbol = match(SYMBOL, at);
      if (symbol === undefined)
        throw parseError(
          text,
          at,
          `unexpected character: ${JSON.stringify(String.fromCodePoint(text.codePointAt(at)!))}`,
        );
      if (symbol === '[') inBrackets = true;
      if (symbol === ']') inBrackets = false;
      push('symbol', symbol);
    }
  }
  tokens.push({ type: 'end', text: '', at: text.length });
  return tokens;
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
};

const ESCAPE = /\\(?:x([0-9A-Fa-f]{2})|([0-7]{3})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))|\\/gsu;

/**
 * Returns the value of a string literal, which may contain Go's escapes. Escaped bytes are decoded as UTF-8. Returns
 * undefined if an escape is invalid.
 */
export function unquote(literal: string): string | undefined {
  const quote = literal[0]!;
  const inner = literal.slice(1, -1);
  if (quote === '`') return inner;
  if (!inner.includes('\\')) return inner;
  let isWrong = false;
  const parts: Buffer[] = [];
  let last = 0;
  for (const found of inner.matchAll(ESCAPE)) {
    const [whole, hex, octal, short, long, simple] = found;
    parts.push(Buffer.from(inner.slice(last, found.index)));
    last = found.index + whole.length;
    const byte = hex === undefined ? octal && Number.parseInt(octal, 8) : Number.parseInt(hex, 16);
    const code = Number.parseInt(short ?? long ?? '', 16);
    if (typeof byte === 'number' && byte < 256) parts.push(Buffer.of(byte));
    else if (code <= 0x10ffff && (code < 0xd800 || code > 0xdfff))
      parts.push(Buffer.from(String.fromCodePoint(code)));
    else if (simple === quote) parts.push(Buffer.from(quote));
    else if (simple !== undefined && ESCAPES[simple] !== undefined) parts.push(Buffer.from(ESCAPES[simple]));
    else isWrong = true;
  }
  parts.push(Buffer.from(inner.slice(last)));
  return isWrong ? undefined : Buffer.concat(parts).toString('utf8');
}
