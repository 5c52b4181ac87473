import { RE2JS } from 're2js';
import { showText } from './shown-value';

/** A regular expression that cannot be used: its syntax is wrong, or it exceeds a limit. */
export class InvalidPatternError extends Error {
  override readonly name = 'InvalidPatternError';
}

/** A prepared test of label values, such as a compiled regular expression. It must match a whole value. */
export interface ValuePattern {
  /** Tests a value, in time linear in its length. */
  readonly test: (value: string) => boolean;
  /** Approximate upper bound on the steps that a test takes for each character of the value. */
  readonly stepsPerCharacter: number;
  /**
   * All values that match, in any order, if the pattern lists them, as `a|b` does. The empty value may be among them.
   * Undefined if the pattern does not list its values.
   */
  readonly values: readonly string[] | undefined;
  /** A prefix of every value that matches; may be empty. */
  readonly prefix: string;
}

/**
 * Maximum length of an expression, in characters. It is large because dashboards join all of a variable's values with
 * `|`.
 */
const MAX_CHARACTERS = 128 * 1024;
/**
 * Maximum number of instructions of a compiled expression. A test takes at most this number of steps for each
 * character. At this maximum, a test of 2,000 characters takes about 0.1 s.
 */
const MAX_INSTRUCTIONS = 2000;

/**
 * Compiles a regular expression in RE2's syntax, fully anchored; `.` matches newlines. A test takes time
 * linear in the value's length. Lists of words and of globs (`web-.*|db`), as dashboards write them, are
 * tested without an automaton.
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
      `the regular expression ${showText(expression)} compiles to ${size} instructions; at most ${MAX_INSTRUCTIONS} are allowed`,
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
    // With several alternatives, the literal is a prefix of only the first one.
    prefix: expression.includes('|') || expression.includes('(?') ? '' : literal,
  };
}

/**
 * Maximum length of an expression that is compiled, in characters. Most longer expressions would exceed {@link
 * MAX_INSTRUCTIONS}, and compiling one only to find that out would take seconds.
 */
const MAX_COMPILED_CHARACTERS = 10 * MAX_INSTRUCTIONS;

function compile(expression: string): RE2JS {
  if (expression.length > MAX_COMPILED_CHARACTERS)
    throw new InvalidPatternError(
      `the regular expression ${showText(expression)} has ${expression.length} characters; at most ${MAX_COMPILED_CHARACTERS} are allowed where it is no list of words`,
    );
  try {
    return RE2JS.compile(expression, RE2JS.DOTALL);
  } catch (error) {
    throw new InvalidPatternError((error as Error).message.replace('`(?s)', '`').slice(0, 200), {
      cause: error,
    });
  }
}

/**
 * Compiles an expression with capturing groups.
 *
 * @returns a function that matches whole values. For a value that matches, it returns a function that gives the text of
 *   a capturing group, by number or name; for any other value, undefined
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

/**
 * A glob: literals with gaps between them, such as `web-.*`. `gaps[i]` is the minimum number of characters
 * between literals `i` and `i + 1`: 0 for `.*`, 1 for `.+`.
 */
interface Glob {
  readonly literals: readonly string[];
  readonly gaps: readonly number[];
}

/** Matches one token of a glob: a literal character, escaped punctuation, `.*` or `.+`. */
const GLOB_TOKEN = /\.([*+])(?![*+?{])|\\([!-/:-@[-^`{-~])|([^\\.+*?()[\]{}|^$])(?![*+?{])/uy;

/**
 * Parses an expression that is a list of globs, such as `a|b-.*`, perhaps in parentheses. Returns undefined for any
 * other expression.
 */
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
    // An escape before a quantifier, such as `\.+`, is not part of a glob.
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

/** Maximum number of alternatives with wildcards in a pattern. A test tries them one at a time. */
const MAX_GLOBS = 200;

/**
 * Whether a value matches a glob. Takes each literal at its first possible position, since no later position
 * could leave more room for the next literal.
 */
function matchesGlob({ literals, gaps }: Glob, value: string): boolean {
  if (!value.startsWith(literals[0]!)) return false;
  let at = literals[0]!.length;
  for (let i = 1; i < gaps.length; i++) {
    const from = at + gaps[i - 1]!;
    // Check the length: if `from` is beyond the end, indexOf would still find ''.
    const found = from > value.length ? -1 : value.indexOf(literals[i]!, from);
    if (found < 0) return false;
    at = found + literals[i]!.length;
  }
  const last = literals.at(-1)!;
  return value.length - last.length >= at + gaps.at(-1)! && value.endsWith(last);
}
