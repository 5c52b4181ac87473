/** Checks every document, and every comment that cites one, against the repository. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { BENCHMARKS } from '../../scripts/bench/benchmarks';
import { FUNCTIONS } from '../../shared/platform/names';
import { settingsSchema } from '../../shared/platform/settings';

const root = join(__dirname, '..', '..');
const OTHERS = new Set(['node_modules', '.local', '.git', 'cdk.out']);
const files = globSync('**/*.{md,ts,tsx,mjs,cjs,py}', {
  cwd: root,
  exclude: (name) => OTHERS.has(name),
}).sort();
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const documents = files.filter((file) => file.endsWith('.md'));
const sources = files.filter((file) => /\.(ts|tsx|mjs|cjs|py)$/.test(file));
const everything = documents.map(read).join('\n');

describe.each(documents)('%s', (document) => {
  const text = read(document);

  test('has links and anchors that lead somewhere', () => {
    const broken = [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, target]) => target!)
      .filter((target) => !/^https?:/.test(target))
      .filter((target) => {
        const [path, anchor] = target.split('#') as [string, string?];
        const file = path === '' ? document : normalize(join(dirname(document), path));
        if (!existsSync(join(root, file))) return true;
        return anchor !== undefined && !anchorsOf(read(file)).has(anchor);
      });
    expect(broken).toEqual([]);
  });

  test('names files that exist', () => {
    const cited = [...text.matchAll(/`([^`\n]+)`/g)].flatMap(([, code]) => pathsIn(code!));
    expect(cited.filter((path) => !exists(path, document))).toEqual([]);
  });

  test('shows commands and options that exist', () => {
    const unknown = commandsIn(text).filter(({ words, flags }) => !isCommand(words, flags));
    expect(unknown).toEqual([]);
  });

  test('shows settings that exist', () => {
    const shown = [...text.matchAll(/(?<!\S)(?:--set|-c) ([a-zA-Z]+)=/g)].map(([, name]) => name!);
    const known = new Set(['stage', 'size', 'key', ...Object.keys(settingsSchema.shape)]);
    expect(shown.filter((name) => !known.has(name))).toEqual([]);
  });
});

describe('comments', () => {
  const cites = sources.flatMap((file) => commentsOf(file).map((comment) => ({ file, comment })));

  test('name files that exist', () => {
    const unknown = cites.flatMap(({ file, comment }) =>
      pathsIn(comment.replace(/https?:\S+/g, ''))
        .filter((path) => !exists(path, file))
        .map((path) => `${file}: ${path}`),
    );
    expect(unknown).toEqual([]);
  });

  test('cite rules that DESIGN.md has', () => {
    const rules = new Set([...read('shared/DESIGN.md').matchAll(/^### Rule (\d+):/gm)].map(([, n]) => n));
    expect(rules.size).toBeGreaterThan(0);
    const unknown = cites
      .flatMap(({ file, comment }) =>
        [...comment.matchAll(/\brules? (\d+)(?:,? and (\d+))?/g)].map(([cite, ...numbers]) => ({
          file,
          cite,
          numbers,
        })),
      )
      .filter(({ numbers }) => numbers.some((n) => n !== undefined && !rules.has(n)));
    expect(unknown).toEqual([]);
  });
});

describe('what exists is documented:', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };

  test.each(Object.keys(scripts).filter((name) => !name.startsWith('pre')))('npm script %s', (name) => {
    const isShort = name === 'start' || name === 'test';
    expect(everything).toMatch(new RegExp(`npm ${isShort ? '' : 'run '}${name}(?![\\w:-])`));
  });

  test.each([...operatorCommands().keys()])('operator command %s', (name) => {
    const [group, command] = name.split(' ') as [string, string?];
    const shown = everything.split('\n').filter((line) => new RegExp(`ops -- ${group}\\b`).test(line));
    expect(shown.filter((line) => command === undefined || line.includes(command))).not.toEqual([]);
  });

  test.each(BENCHMARKS.map(({ name }) => name))('benchmark %s', (name) => {
    expect(read('scripts/bench/README.md')).toMatch(new RegExp(`npm run bench -- ${name}\\b`));
  });

  test('every function, and no other, in the table of functions', () => {
    const [, table = ''] = /\| function +\|.*\n\| -.*\n((?:\|.*\n)+)/.exec(read('README.md')) ?? [];
    const named = [...table.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name);
    expect(named.sort()).toEqual([...FUNCTIONS].sort());
  });
});

test('README.md is the face: at most 250 lines, none over 120 columns but in tables and code', () => {
  const text = read('README.md');
  expect(text.split('\n').length).toBeLessThanOrEqual(251);
  expect(
    withoutCode(text)
      .split('\n')
      .filter((line) => line.length > 120 && !line.startsWith('|')),
  ).toEqual([]);
});

/** The text without fenced code blocks. */
function withoutCode(text: string): string {
  return text.replace(/^```.*?^```$/gms, '');
}

/** Anchors that GitHub makes of a document's headings. */
function anchorsOf(text: string): Set<string> {
  const anchors = [...withoutCode(text).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
  return new Set(anchors);
}

/**
 * Returns the paths of documents and code in a document. Omits paths that begin with a slash, which are addresses, and
 * paths with a placeholder, which are examples.
 */
function pathsIn(text: string): string[] {
  return [...text.matchAll(/(?<![\w/.*-])[\w.][\w./-]*\.(?:md|tsx?|mjs|cjs|py)\b(?![\w(*])/g)].map(
    ([path]) => path,
  );
}

/** @param from the file that names the path: relative to it, to the root, or as the end of the path of any file */
function exists(path: string, from: string): boolean {
  if (path.startsWith('.')) return existsSync(join(root, dirname(from), path));
  return files.some((file) => file === path || file.endsWith(`/${path}`));
}

/** The comments of a source, one string each. */
function commentsOf(file: string): string[] {
  const text = read(file);
  if (file.endsWith('.py')) return [...text.matchAll(/"""(.*?)"""|#(.*)$/gms)].map(([comment]) => comment);
  return [...text.matchAll(/\/\*\*?(.*?)\*\/|^\s*\/\/(.*)$|(?<=[;,{)\s])\/\/ (.*)$/gms)].map(
    ([comment]) => comment,
  );
}

interface Shown {
  readonly words: readonly string[];
  readonly flags: readonly string[];
}

/** Commands that a document shows: `npm run ops -- tenants create|list --stack S` shows two. */
function commandsIn(text: string): Shown[] {
  return [
    ...text.matchAll(/\bnpm (?:run (?:--silent )?([a-z][\w:-]*)|(start|test)\b)((?: [^`\n#&<>;()]*)?)/g),
  ].flatMap(([, run, short, rest]) => {
    const script = (run ?? short)!;
    const [, after = ''] = / -- (.*)/.exec(rest!) ?? [];
    const flags = [...after.matchAll(/(?<!\S)\[?(--[\w-]+)/g)].map(([, flag]) => flag!);
    const [first, second] = after.split(/\s+/).filter((word) => word !== '') as [string?, string?];
    if (script !== 'ops' && script !== 'bench') return [{ words: [script], flags }];
    if (first === undefined || !/^[a-z]/.test(first)) return [{ words: [script], flags }];
    const groups = first.split('|');
    const isGroup = [...operatorCommands().keys()].some((name) => name.startsWith(`${first} `));
    if (script === 'ops' && isGroup && second !== undefined && /^[a-z]/.test(second))
      return second.split('|').map((command) => ({ words: [script, first, command], flags }));
    return groups.map((name) => ({ words: [script, name], flags }));
  });
}

function isCommand([script, ...words]: readonly string[], flags: readonly string[]): boolean {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  if (scripts[script!] === undefined) return false;
  const ours = ['start', 'soak'].includes(script!) ? flags : [];
  const place = script === 'start' ? 'scripts/local/start-options.mjs' : `scripts/${script}.ts`;
  if (words.length === 0) return ours.every((flag) => hasOption(place, flag));
  if (script === 'bench') {
    const options = BENCHMARKS.find(({ name }) => name === words[0])?.command().options;
    return options !== undefined && flags.every((flag) => options.some(({ long }) => long === flag));
  }
  const commands = operatorCommands();
  const isKnown =
    commands.has(words.join(' ')) ||
    [...commands.keys()].some((name) => name.startsWith(`${words[0]} `) && words.length === 1);
  return isKnown && flags.every((flag) => hasOption('scripts/ops', flag));
}

function hasOption(prefix: string, flag: string): boolean {
  if (flag === '--help') return true;
  return sources.some(
    (file) => file.startsWith(prefix) && new RegExp(`(?:'|^  )${flag}\\b(?!-)`, 'm').test(read(file)),
  );
}

/** Command names such as `drain` and `tenants create`, each with the file that defines it. */
function operatorCommands(): Map<string, string> {
  const commands = new Map<string, string>();
  for (const file of sources.filter((name) => /^scripts\/ops[./]/.test(name))) {
    const text = read(file);
    const [, own] = /new Command\('([\w-]+)'\)/.exec(text) ?? [];
    // The commands of a group may have a folder of the group's name.
    const [, folder] = /^scripts\/ops\/([\w-]+)\//.exec(file) ?? [];
    if (folder !== undefined) {
      const name = own ?? /\bcommand\(\s*'([\w-]+)'/.exec(text)?.[1];
      if (name !== undefined) commands.set(`${folder} ${name}`, file);
      continue;
    }
    const group = own === undefined || own === 'ops' ? '' : `${own} `;
    const names = [...text.matchAll(/(?<!\.)\bcommand\(\s*'([\w-]+)'/g)].map(([, name]) => name!);
    if (names.length === 0 && group !== '') commands.set(own!, file);
    // In a file, a command comes before its subcommands.
    const [first] = names;
    const isParent = group === '' && text.includes('.addCommand(');
    for (const name of names)
      commands.set(isParent && name !== first ? `${first} ${name}` : `${group}${name}`, file);
  }
  return commands;
}
