import { RE2JS } from 're2js';

/** A regular expression of a matcher that cannot be used: its syntax is wrong, or it exceeds a limit. */
export class InvalidPatternError extends Error {
  override readonly name = 'InvalidPatternError';
}

/** A regular expression that label values must match as a whole. */
export interface ValuePattern {
  readonly test: (value: string) => boolean;
  /** Steps of a test for each character of the value, at most, about. */
  readonly stepsPerCharacter: number;
  /** The only values that match, where the expression lists them: `a|b`. */
  readonly values: readonly string[] | undefined;
  /** What every value that matches begins with; may be empty. */
  readonly prefix: string;
}

/** Characters. Dashboards join the values of a variable by `|`. */
const MAX_CHARACTERS = 128 * 1024;
/** Instructions. A test takes at most so many steps a character: about 0.1 s for 2,000 characters. */
const MAX_INSTRUCTIONS = 2000;

/**
 * Compiles a regular expression in RE2's syntax, fully anchored; `.` matches newlines. A test takes time linear in the
 * value's length. Lists of words and of globs (`web-.*|db`), as dashboards write them, are tested without an automaton.
 *
 * @throws {InvalidPatternError}
 * @see https://github.com/google/re2/wiki/Syntax
 */
export function valuePattern(expression: string): ValuePattern {
  if (expression.length > MAX_CHARACTERS)
    throw new InvalidPatternError(
      `the regular expression has ${expression.length} characters; at most ${MAX_CHARACTERS} are allowed`,
    );
  return globs(expression) ?? automaton(expression);
}

function automatonOf(expression: string): RE2JS {
  const compiled = compile(expression);
  const size = compiled.programSize();
  if (size > MAX_INSTRUCTIONS)
    throw new InvalidPatternError(
      `the regular expression ${shown(expression)} compiles to ${size} instructions; at most ${MAX_INSTRUCTIONS} are allowed`,
    );
  return compiled;
}

function automaton(expression: string): ValuePattern {
  const compiled = automatonOf(expression);
  const [literal = ''] = /^[\w:/ -]+(?=[\w:/ -])/.exec(expression) ?? [];
  return {
    test: (value) => compiled.testExact(value),
    stepsPerCharacter: compiled.programSize(),
    values: undefined,
    // An alternative at the top would make it the prefix of one only.
    prefix: expression.includes('|') || expression.includes('(?') ? '' : literal,
  };
}

/** A character takes about two instructions at most; compiling far longer ones only to refuse them would cost seconds. */
const MAX_COMPILED_CHARACTERS = 10 * MAX_INSTRUCTIONS;

function compile(expression: string): RE2JS {
  if (expression.length > MAX_COMPILED_CHARACTERS)
    throw new InvalidPatternError(
      `the regular expression ${shown(expression)} has ${expression.length} characters; at most ${MAX_COMPILED_CHARACTERS} are allowed where it is no list of words`,
    );
  try {
    return RE2JS.compile(expression, RE2JS.DOTALL);
  } catch (error) {
    throw new InvalidPatternError((error as Error).message.replace('`(?s)', '`').slice(0, 200), {
      cause: error,
    });
  }
}

function shown(expression: string): string {
  return JSON.stringify(expression.length > 50 ? `${expression.slice(0, 50)}...` : expression);
}

/**
 * Compiles an expression whose groups are wanted.
 *
 * @returns takes a value; if it matches as a whole, returns the text of a group by number or name, undefined for none
 * @throws {InvalidPatternError}
 */
export function capturePattern(
  expression: string,
): (value: string) => ((group: string) => string | undefined) | undefined {
  const compiled = automatonOf(expression);
  const names = compiled.namedGroups() as Readonly<Record<string, number>>;
  return (value) => {
    const matcher = compiled.matcher(value);
    if (!matcher.matches()) return undefined;
    return (group) => {
      const number = /^\d+$/.test(group) ? Number(group) : names[group];
      if (number === undefined || number > matcher.groupCount()) return undefined;
      return matcher.group(number) ?? undefined;
    };
  };
}

/** Literals with gaps between them; `gaps[i]`, the least characters between two, is 0 for `.*` and 1 for `.+`. */
interface Glob {
  readonly literals: readonly string[];
  readonly gaps: readonly number[];
}

/** Literal characters, escaped punctuation, `.*` and `.+`. */
const GLOB_TOKEN = /\.([*+])(?![*+?{])|\\([!-/:-@[-^`{-~])|([^\\.+*?()[\]{}|^$])(?![*+?{])/uy;

/** Undefined when the expression is anything but alternatives of globs, in one group or none. */
function globs(expression: string): ValuePattern | undefined {
  const inner = /^\(\?:.*\)$/s.test(expression)
    ? expression.slice(3, -1)
    : /^\([^?].*\)$/s.test(expression)
      ? expression.slice(1, -1)
      : expression;
  const alternatives: Glob[] = [];
  let [literals, gaps, literal] = [[] as string[], [] as number[], ''];
  for (let at = 0; ; ) {
    if (at === inner.length || inner[at] === '|') {
      alternatives.push({ literals: [...literals, literal], gaps });
      if (at === inner.length) break;
      [literals, gaps, literal] = [[], [], ''];
      at++;
      continue;
    }
    GLOB_TOKEN.lastIndex = at;
    const token = GLOB_TOKEN.exec(inner);
    if (token === null) return undefined;
    at = GLOB_TOKEN.lastIndex;
    // An escape or a group that a quantifier follows is no glob.
    if (token[2] !== undefined && /[*+?{]/.test(inner[at] ?? '')) return undefined;
    if (token[1] === undefined) literal += token[2] ?? token[3]!;
    else {
      literals.push(literal);
      gaps.push(token[1] === '+' ? 1 : 0);
      literal = '';
    }
  }
  const exact = new Set(alternatives.flatMap((glob) => (glob.gaps.length === 0 ? [glob.literals[0]!] : [])));
  const open = alternatives.filter((glob) => glob.gaps.length > 0);
  if (open.length > MAX_GLOBS) return undefined;
  return {
    test: (value) => exact.has(value) || open.some((glob) => matchesGlob(glob, value)),
    stepsPerCharacter: 1 + open.length,
    values: open.length === 0 ? [...exact] : undefined,
    prefix: alternatives.length === 1 ? alternatives[0]!.literals[0]! : '',
  };
}

/** Alternatives with gaps are tried one after the other. */
const MAX_GLOBS = 200;

/** Finds each literal at the first place that leaves the gap before it: later places cannot match more. */
function matchesGlob({ literals, gaps }: Glob, value: string): boolean {
  if (!value.startsWith(literals[0]!)) return false;
  let at = literals[0]!.length;
  for (let i = 1; i < gaps.length; i++) {
    const from = at + gaps[i - 1]!;
    // indexOf finds '' even beyond the end, at the end.
    const found = from > value.length ? -1 : value.indexOf(literals[i]!, from);
    if (found < 0) return false;
    at = found + literals[i]!.length;
  }
  const last = literals.at(-1)!;
  return value.length - last.length >= at + gaps.at(-1)! && value.endsWith(last);
}
