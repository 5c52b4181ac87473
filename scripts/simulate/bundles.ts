import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { BUNDLE_OPTIONS } from '../../infra/bundle-options';
import type { FunctionName } from '../../shared/platform/names';
import { isPlantedIn, type PlantedBug } from './planted';
import { changing, type SourceChange } from './source-changes';

const root = join(__dirname, '..', '..');

/**
 * Packages through which functions reach the network, and the property of `simulated` (instance.ts) that replaces each
 * of them.
 *
 * The simulation replaces the SDK's request handler, not each client's `send`. So the SDK's own retries, time limits
 * and parsing, and our direct calls, are part of the simulation, and one replacement serves every service.
 */
const REPLACED: Readonly<Record<string, string>> = {
  '@smithy/node-http-handler': 'http',
  ioredis: 'redis',
};

/** Leaves requests unsigned, because the models do not check signatures, and signing costs CPU time. */
const UNSIGNED: readonly SourceChange[] = [
  {
    file: 'shared/platform/signature.ts',
    from: 'export function makeSigner(',
    to: 'export const makeSigner = () => ({ headers }: SignedRequest) => headers;\nfunction signer(',
  },
  {
    file: 'node_modules/@smithy/signature-v4/dist-es/SignatureV4.js',
    from: 'return this.signRequest(toSign, options);',
    to: 'return toSign;',
  },
];

const replaceNetwork: Plugin = {
  name: 'replace the network',
  setup: ({ onResolve, onLoad }) => {
    const filter = new RegExp(`^(${Object.keys(REPLACED).join('|')})$`);
    onResolve({ filter }, ({ path }) => ({ path, namespace: 'simulated' }));
    onLoad({ filter: /.*/, namespace: 'simulated' }, ({ path }) => ({
      contents: `module.exports = simulated.${REPLACED[path]};`,
    }));
  },
};

/**
 * Bundles functions as they are deployed, except for the network.
 *
 * @param bug a bug to plant
 * @returns the file of each bundle
 */
export async function bundleFunctions(
  names: readonly FunctionName[],
  bug?: PlantedBug,
): Promise<ReadonlyMap<FunctionName, string>> {
  const outdir = mkdtempSync(join(root, '.local', 'simulate-'));
  const [planted, sound] = [
    names.filter((name) => bug !== undefined && isPlantedIn(bug, name)),
    names.filter((name) => bug === undefined || !isPlantedIn(bug, name)),
  ];
  const bundle = (some: readonly FunctionName[], plugins: Plugin[]) =>
    build({
      ...BUNDLE_OPTIONS,
      minify: false,
      entryPoints: some.map((name) => ({ in: join(root, 'functions', name, 'handler.ts'), out: name })),
      outdir,
      plugins: [replaceNetwork, changing(UNSIGNED), ...plugins],
    });
  await bundle(sound, []);
  if (bug !== undefined) await bundle(planted, [changing(bug.changes)]);
  return new Map(names.map((name) => [name, join(outdir, `${name}.js`)]));
}
