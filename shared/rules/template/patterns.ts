import { RE2JS } from 're2js';
import { TemplateError } from './values';

/** Maximum length of a pattern, in characters. */
const MAX_PATTERN = 2000;
/** Maximum number of instructions of a compiled pattern. A search takes up to this many steps per character. */
const MAX_INSTRUCTIONS = 2000;

function compilePattern(pattern: string): RE2JS {
  if (pattern.length > MAX_PATTERN)
    throw new TemplateError(`the regular expression has more than ${MAX_PATTERN} characters`);
  let regexp: RE2JS;
  try {
    regexp = RE2JS.compile(pattern);
  } catch (error) {
    throw new TemplateError(`invalid regular expression: ${(error as Error).message}`, { cause: error });
  }
  if (regexp.programSize() > MAX_INSTRUCTIONS)
    throw new TemplateError(`the regular expression compiles to more than ${MAX_INSTRUCTIONS} instructions`);
  return regexp;
}

/** Returns whether an RE2 pattern matches anywhere in a string. */
export function searches(pattern: string, text: string): boolean {
  return compilePattern(pattern).matcher(text).find();
}

/** Maximum total length of the parts that {@link replaceAll} joins, in characters. */
const MAX_PARTS = 1_000_000;

const REFERENCE = /\$(?:(\$)|\{(\w+)\}|(\w+))/g;

/**
 * Replaces every match of an RE2 pattern.
 *
 * @param replacement may refer to groups as `$1`, `${1}` or `${name}`; `$$` is a dollar sign
 */
export function replaceAll(pattern: string, replacement: string, text: string): string {
  const regexp = compilePattern(pattern);
  const names = regexp.namedGroups() as Readonly<Record<string, number>>;
  const matcher = regexp.matcher(text);
  let [result, last, length] = ['', 0, 0];
  const counted = (part: string) => {
    length += part.length;
    if (length > MAX_PARTS)
      throw new TemplateError(`a text with replaced matches has more than ${MAX_PARTS} characters`);
    return part;
  };
  while (matcher.find()) {
    result += counted(text.slice(last, matcher.start()));
    result += counted(replacement).replace(REFERENCE, (_, dollar, braced, bare) => {
      if (dollar !== undefined) return '$';
      const name: string = braced ?? bare;
      const index = /^\d+$/.test(name) ? Number(name) : names[name];
      return counted(
        index !== undefined && index <= matcher.groupCount() ? (matcher.group(index) ?? '') : '',
      );
    });
    last = matcher.end();
  }
  return result + text.slice(last);
}
