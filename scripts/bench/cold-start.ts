import { spawnSync } from 'node:child_process';
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { bundleForBrowser } from '../../infra/browser-bundle';
import { BUNDLE_OPTIONS } from '../../infra/bundle-options';
import { ENV, FUNCTIONS } from '../../shared/platform/names';
import { parseSettings } from '../../shared/platform/settings';
import { bench } from './frame/bench';

const ROUNDS = 7;

export const coldStart = bench({
  name: 'cold-start',
  summary: "size of the functions' bundles, and CPU of their initialisation",
  description:
    'Measures the size of the deployed bundles, and the CPU time (user and system) of their initialisation in Node: that of a process ' +
    `which loads the bundle, minus that of a process which loads nothing. Shows the lowest of ${ROUNDS} runs.`,
  options: {},
  run: async (_, { dir }) => {
    const empty = join(dir, 'empty.js');
    writeFileSync(empty, '');
    const nothingMs = loadCpuMs(empty);
    return FUNCTIONS.map((name) => {
      const outfile = join(dir, name, 'index.js');
      const folder = join(__dirname, '..', '..', 'functions', name);
      buildSync({ ...BUNDLE_OPTIONS, entryPoints: [join(folder, 'handler.ts')], outfile });
      const browserFolder = join(folder, 'browser');
      if (existsSync(browserFolder)) bundleForBrowser(browserFolder, join(dir, name, 'assets'));
      const initCpuMs = Math.round(loadCpuMs(outfile) - nothingMs);
      return { function: name, bundleBytes: statSync(outfile).size, initCpuMs };
    });
  },
});

/**
 * Returns the CPU of a process that loads a file and ends, in ms: the minimum of a few runs, because
 * disturbances only add.
 */
function loadCpuMs(file: string): number {
  const load = `require(${JSON.stringify(file)});const{user,system}=process.cpuUsage();console.error((user+system)/1000);process.exit()`;
  // Addresses without a listener: clients are created but never connect.
  const env = {
    PATH: process.env.PATH,
    AWS_REGION: 'us-east-1',
    AWS_LAMBDA_FUNCTION_NAME: 'bench',
    [ENV.settings]: JSON.stringify(parseSettings({})),
    ...Object.fromEntries(
      Object.values(ENV)
        .filter((name) => name !== ENV.settings)
        .map((name) => [name, name === ENV.redis ? 'redis://127.0.0.1:1' : 'x']),
    ),
  };
  const rounds = Array.from({ length: ROUNDS }, () => {
    const { stderr, status } = spawnSync(process.execPath, ['-e', load], { env, encoding: 'utf8' });
    const ms = Number(stderr.trim().split('\n').at(-1));
    if (status !== 0 || Number.isNaN(ms)) throw new Error(`${file} did not load: ${stderr}`);
    return ms;
  });
  return Math.min(...rounds);
}
