import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { BUNDLE_OPTIONS } from '../../infra/bundle-options';
import { POST_MEMORY } from '../../shared/compose/post-memory';
import { CACHES } from '../../shared/model/cache-budgets';
import { synthesize } from './synthesize';

const root = join(__dirname, '..', '..');
const MB = 1_000_000;
/**
 * Memory that the worst request of a function needs beyond its caches, if it is more than {@link REQUEST}. A query in
 * steps holds 5 million samples and their copies (shared/query/read-in-slices.ts).
 */
const WORST_REQUEST: Readonly<Record<string, number>> = {
  post: POST_MEMORY.smallCaches + POST_MEMORY.worstBody,
  query: 200 * MB,
};
const REQUEST = 100 * MB;

/**
 * The caches that a function makes, according to its bundle. esbuild leaves out the classes that the function does not
 * use.
 */
async function cachesOf(name: string): Promise<(keyof typeof CACHES)[]> {
  const { outputFiles } = await build({
    ...BUNDLE_OPTIONS,
    minify: false,
    entryPoints: [join(root, 'functions', name, 'handler.ts')],
    absWorkingDir: root,
    external: ['@aws-sdk/*'],
    write: false,
  });
  return Array.from(
    outputFiles[0]!.text.matchAll(/new \w+\(\s*CACHES\.(\w+)/g),
    ([, cache]) => cache as keyof typeof CACHES,
  );
}

const functions = readdirSync(join(root, 'functions'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

test('each function has enough memory for its full caches together with its worst request; post has the caches that compose/post-memory.ts lists', async () => {
  const { stateless } = synthesize();
  const memory = new Map(
    stateless
      .properties('AWS::Lambda::Function')
      .map(({ FunctionName, MemorySize }) => [String(FunctionName).split('-').at(-1)!, MemorySize * 2 ** 20]),
  );
  const used = new Set<string>();
  const full: Record<string, number> = {};
  for (const name of functions) {
    const caches = await cachesOf(name);
    for (const cache of caches) used.add(cache);
    if (name === 'post')
      expect(caches.map((cache) => CACHES[cache].name).sort()).toEqual(
        POST_MEMORY.caches.map((cache) => cache.name).sort(),
      );
    const bytes = caches.reduce((sum, cache) => sum + CACHES[cache].bytes, 0);
    if (bytes > 0)
      full[name] = (POST_MEMORY.atRest + bytes + (WORST_REQUEST[name] ?? REQUEST)) / memory.get(name)!;
  }
  expect(Object.entries(full).filter(([, share]) => !(share <= 1))).toEqual([]);
  // Every budget must belong to a cache.
  expect([...used].sort()).toEqual(Object.keys(CACHES).sort());
});
