/**
 * Rewrites names with dots, which Mackerel's PromQL allows, to Prometheus' quoted form:
 * `cpu.load{host.name="a"}` becomes `{"cpu.load","host.name"="a"}`. All other text stays unchanged, valid or
 * not.
 */
export function quotedNames(query: string): string {
  let quoted = '';
  /** Open brackets; `l` stands for the parenthesis of a list of labels. */
  const open: string[] = [];
  let lastWord = '';
  for (const [token] of query.matchAll(TOKEN)) {
    const dotted = DOTTED.exec(token)?.groups as { name: string; brace?: string } | undefined;
    if (token === '{' || token === '[') open.push(token);
    else if (token === '(') open.push(LISTS.has(lastWord) ? 'l' : token);
    else if (token === '}' || token === ')' || token === ']') open.pop();
    else if (dotted !== undefined) {
      const { name, brace = '' } = dotted;
      if (open.at(-1) === 'l' || open.at(-1) === '{') quoted += token.replace(name, JSON.stringify(name));
      else if (brace === '') quoted += `{${JSON.stringify(name)}}`;
      else {
        quoted += `{${JSON.stringify(name)},`;
        open.push('{');
      }
      continue;
    }
    if (/^[^\s#]/.test(token)) lastWord = token.toLowerCase();
    quoted += token;
  }
  return quoted;
}

/** Keywords that come before a list of labels. */
const LISTS: ReadonlySet<string> = new Set(['by', 'without', 'on', 'ignoring', 'group_left', 'group_right']);

/** A name with a dot, optionally followed by the brace of its matchers. */
const DOTTED = /^(?<name>[a-zA-Z_:][a-zA-Z0-9_:]*(?:\.[a-zA-Z0-9_:]+)+)(?<brace>\s*\{)?$/;

/** Strings, comments, names and numbers; any other character is a token of its own. */
const TOKEN =
  /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`|#[^\n]*|[a-zA-Z_:][a-zA-Z0-9_:]*(?:\.[a-zA-Z0-9_:]+)+(?:\s*\{)?|[a-zA-Z0-9_:.]+|\s+|[\s\S]/g;
