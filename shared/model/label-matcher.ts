import type { Matcher } from './matcher';

/**
 * Pattern of one matcher in Alertmanager's syntax, without spaces around it. Only one part of the pattern can match any
 * given space, so matching takes linear time.
 */
const MATCHER =
  /^(?:"((?:[^"\\]|\\.)+)"|([^\s"'`{}(),=!~]+))\s*(=~|!~|!=|=)\s*(?:"((?:[^"\\]|\\.)*)"|([^"\s][^"]*)?)$/su;

/** The text is not a matcher. */
export class MatcherError extends Error {
  override readonly name = 'MatcherError';
}

/**
 * Parses one matcher as Alertmanager does: `severity="page"`, `job=~"a|b"`, `team!=web`.
 *
 * @throws {MatcherError}
 */
export function parseLabelMatcher(text: string): Matcher {
  const [, quotedName, name, op, quotedValue, value = ''] = MATCHER.exec(text.trim()) ?? [];
  if (op === undefined) throw new MatcherError(`bad matcher format: ${text.slice(0, 100)}`);
  return {
    label: quotedName === undefined ? name! : unquote(quotedName),
    op: op as '=' | '!=' | '=~' | '!~',
    value: quotedValue === undefined ? value : unquote(quotedValue),
  };
}

function unquote(text: string): string {
  return text.replace(/\\(.)/gsu, (_, character: string) => (character === 'n' ? '\n' : character));
}
