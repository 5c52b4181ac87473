/** `npm run bench -- cold-start`: size of the functions' bundles, and CPU of loading one. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { buildSync } from 'esbuild';
import { bundleForBrowser } from '../../infra/browser-bundle';
import { BUNDLE_OPTIONS } from '../../infra/bundle-options';
import { ENV, FUNCTIONS, type FunctionName } from '../../shared/platform/names';
import { parseSettings } from '../../shared/platform/settings';

interface Result {
  readonly function: FunctionName;
  readonly bundleBytes: number;
  /** CPU of a process that loads the bundle, less that of one that loads nothing; the least of several. */
  readonly initCpuMs: number;
}

const ROUNDS = 7;

/** @param args what follows `cold-start` on the command line */
export async function benchColdStart(args: string[]): Promise<void> {
  const command = new Command('bench cold-start')
    .description(
      'Size of the bundles as they are deployed, and CPU (user and system) of their initialisation in Node.',
    )
    .option('--json', 'an array on stdout');
  command.parse(args, { from: 'user' });
  const dir = mkdtempSync(join(tmpdir(), 'bench-cold-start-'));
  try {
    const empty = join(dir, 'empty.js');
    writeFileSync(empty, '');
    const nothingMs = cpuMs(empty);
    const results = FUNCTIONS.map((name): Result => {
      const outfile = join(dir, name, 'index.js');
      const folder = join(__dirname, '..', '..', 'functions', name);
      buildSync({ ...BUNDLE_OPTIONS, entryPoints: [join(folder, 'handler.ts')], outfile });
      const browserFolder = join(folder, 'browser');
      if (existsSync(browserFolder)) bundleForBrowser(browserFolder, join(dir, name, 'assets'));
      return {
        function: name,
        bundleBytes: statSync(outfile).size,
        initCpuMs: Math.round(cpuMs(outfile) - nothingMs),
      };
    });
    if (command.opts<{ json?: boolean }>().json) process.stdout.write(`${JSON.stringify(results)}\n`);
    else
      for (const { function: name, bundleBytes, initCpuMs } of results)
        process.stdout.write(`${name.padEnd(10)} ${Math.round(bundleBytes / 1000)} kB, ${initCpuMs} ms\n`);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** CPU of a process that loads a file and ends, ms; the least of a few, because disturbances only add. */
function cpuMs(file: string): number {
  const load = `require(${JSON.stringify(file)});const{user,system}=process.cpuUsage();console.error((user+system)/1000);process.exit()`;
  // Nothing listens there: clients are made, connections are not.
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
