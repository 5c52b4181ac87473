/** A node of a parsed text: an element, or plain text. */
export type MarkdownNode = string | MarkdownElement;

export interface MarkdownElement {
  readonly tag: string;
  readonly children: readonly MarkdownNode[];
  /** URL of a link, with http or https. */
  readonly href?: string;
}

/**
 * Parses Markdown. HTML in it is treated as text, since the page never inserts HTML. Links may only use http
 * or https.
 *
 * @param level level of the highest heading
 */
export function parseMarkdown(text: string, level: number): MarkdownElement[] {
  return withoutGaps(blocksOf(text.slice(0, MAX_TEXT).split(/\r?\n/)), level);
}

/**
 * Removes gaps between heading levels, and makes `level` the highest: screen readers navigate by headings.
 */
function withoutGaps(blocks: readonly MarkdownElement[], level: number): MarkdownElement[] {
  const open: number[] = [];
  return blocks.map((block) => {
    const own = Number(/^h([1-6])$/.exec(block.tag)?.[1]);
    if (Number.isNaN(own)) return block;
    while (open.length > 0 && open.at(-1)! >= own) open.pop();
    open.push(own);
    return { ...block, tag: `h${Math.min(6, level + open.length - 1)}` };
  });
}

const MAX_TEXT = 50_000;
const MAX_NESTING = 8;

// The flag `s` is needed: without it, `.` stops at a lone \r, and a line of spaces before one would take
// quadratic time.
const LIST = /^\s{0,3}(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/s;
const HEADING = /^(#{1,6})\s+(.*)$/s;

function blocksOf(lines: readonly string[], depth = 0): MarkdownElement[] {
  const blocks: MarkdownElement[] = [];
  for (let i = 0; i < lines.length; ) {
    const line = lines[i]!;
    /** Returns the lines, from the current one up to the first that fails a test, and moves past them. */
    const take = (test: (each: string) => boolean): string[] => {
      const from = i;
      while (i < lines.length && test(lines[i]!)) i++;
      return lines.slice(from, i) as string[];
    };
    const heading = HEADING.exec(line);
    if (line.trim() === '') i++;
    else if (/^\s{0,3}```/.test(line)) {
      i++;
      const code = take((each) => !/^\s{0,3}```\s*$/.test(each));
      i++;
      blocks.push(element('pre', [element('code', [code.join('\n')])]));
    } else if (heading !== null) {
      i++;
      blocks.push(element(depth === 0 ? `h${heading[1]!.length}` : 'p', inline(withoutClosing(heading[2]!))));
    } else if (/^\s{0,3}([-*_])(\s*\1){2,}\s*$/.test(line)) {
      i++;
      blocks.push(element('hr', []));
    } else if (/^\s{0,3}>/.test(line) && depth < MAX_NESTING) {
      const quoted = take((each) => /^\s{0,3}>/.test(each)).map((each) => each.replace(/^\s{0,3}>\s?/, ''));
      blocks.push(element('blockquote', blocksOf(quoted, depth + 1)));
    } else if (isTable(lines, i)) {
      blocks.push(table(take((each) => each.includes('|'))));
    } else if (LIST.test(line) && depth < MAX_NESTING) {
      const isOrdered = LIST.exec(line)![1] !== undefined;
      const items = itemsOf(take((each) => LIST.test(each) || /^\s+\S/.test(each)));
      blocks.push(
        element(
          isOrdered ? 'ol' : 'ul',
          items.map(([first, ...rest]) => element('li', [...inline(first!), ...blocksOf(rest, depth + 1)])),
        ),
      );
    } else {
      const first = i;
      const paragraph = take(
        (each) => each.trim() !== '' && (i === first || !/^\s{0,3}(```|>|#{1,6}\s|[-*+]\s)/.test(each)),
      );
      blocks.push(element('p', inline(paragraph.join('\n'))));
    }
  }
  return blocks;
}

/** Returns a heading's text without closing `#`s. */
function withoutClosing(text: string): string {
  let end = text.length;
  while (text[end - 1] === '#') end--;
  return text.slice(0, end).trimEnd();
}

/** Divides the lines of a list into its items. In each item, all lines but the first lose their indent. */
function itemsOf(lines: readonly string[]): string[][] {
  const items: string[][] = [];
  for (const line of lines) {
    const item = indentOf(line) <= indentOf(lines[0]!) + 1 ? LIST.exec(line) : null;
    if (item !== null) items.push([item[2]!]);
    else items.at(-1)?.push(line.replace(/^(\t|\s{1,4})/, ''));
  }
  return items;
}

function indentOf(line: string): number {
  return line.search(/\S|$/);
}

function isTable(lines: readonly string[], at: number): boolean {
  const next = lines[at + 1] ?? '';
  return lines[at]!.includes('|') && /^[\s|:-]+$/.test(next) && next.includes('-') && next.includes('|');
}

function table([head, , ...rows]: readonly string[]): MarkdownElement {
  const cells = (row: string) =>
    row
      .trim()
      .replace(/^\||\|$/g, '')
      .split('|')
      .map((cell) => cell.trim());
  const row = (tag: 'th' | 'td', text: string) =>
    element(
      'tr',
      cells(text).map((cell) => element(tag, inline(cell))),
    );
  return element('table', [
    element('thead', [row('th', head!)]),
    element(
      'tbody',
      rows.map((each) => row('td', each)),
    ),
  ]);
}

/**
 * Matches code, links, and strong and emphasized text. Code ends at the next backtick, and all other
 * alternatives have bounded length. So matching is fast for any text.
 */
const INLINE =
  /`([^`\n]+)`|\[([^[\]\n]{1,500})\]\(([^()\s]{1,2000})\)|\*\*([^*\n]{1,2000})\*\*|__([^_\n]{1,2000})__|\*([^*\n]{1,2000})\*|\b_([^_\n]{1,2000})_\b|~~([^~\n]{1,2000})~~|(https?:\/\/[^\s<>()]{1,2000})/g;

function inline(text: string): MarkdownNode[] {
  const parts: MarkdownNode[] = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    const [whole, code, label, target, strong, strong2, emphasised, emphasised2, struck, bare] = match;
    parts.push(text.slice(end, match.index));
    end = match.index + whole.length;
    if (code !== undefined) parts.push(element('code', [code]));
    else if (label !== undefined) parts.push(link(target!, label) ?? whole);
    else if (bare !== undefined) parts.push(link(bare, bare) ?? bare);
    else if (struck !== undefined) parts.push(element('s', [struck]));
    else if ((strong ?? strong2) !== undefined) parts.push(element('strong', [(strong ?? strong2)!]));
    else parts.push(element('em', [(emphasised ?? emphasised2)!]));
  }
  parts.push(text.slice(end));
  return parts;
}

function link(target: string, label: string): MarkdownElement | undefined {
  if (!/^https?:\/\//i.test(target) || !URL.canParse(target)) return undefined;
  return { tag: 'a', children: [label], href: target };
}

function element(tag: string, children: readonly MarkdownNode[]): MarkdownElement {
  return { tag, children };
}
