import type { Matcher } from '../model/matcher';

/** A condition on one label, as Alertmanager's clients write it, trimmed. One part alone can take each space: the time is linear. */
const MATCHER =
  /^(?:"((?:[^"\\]|\\.)+)"|([^\s"'`{}(),=!~]+))\s*(=~|!~|!=|=)\s*(?:"((?:[^"\\]|\\.)*)"|([^"\s][^"]*)?)$/su;

/** A text is no matcher. */
export class MatcherError extends Error {
  override readonly name = 'MatcherError';
}

/**
 * Reads one matcher as Alertmanager does: `severity="page"`, `job=~"a|b"`, `team!=web`.
 *
 * @throws {MatcherError}
 */
export function parseLabelMatcher(text: string): Matcher {
  const [, quotedName, name, op, quotedValue, value = ''] = MATCHER.exec(text.trim()) ?? [];
  if (op === undefined) throw new MatcherError(`bad matcher format: ${text.slice(0, 100)}`);
  return {
    label: quotedName === undefined ? name! : unquoted(quotedName),
    op: op as '=' | '!=' | '=~' | '!~',
    value: quotedValue === undefined ? value : unquoted(quotedValue),
  };
}

function unquoted(text: string): string {
  return text.replace(/\\(.)/gsu, (_, character: string) => (character === 'n' ? '\n' : character));
}
