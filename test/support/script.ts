import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

const root = join(__dirname, '..', '..');

/** Folder of compiled modules, so that the next process with the same sources need not compile them. */
export const COMPILED = join(root, '.local', 'compiled');

/** Starts a program from the folder `scripts`, such as `soak`. */
export function spawnScript(
  name: string,
  args: readonly string[],
  { env = process.env, ...options }: SpawnOptions = {},
): ChildProcess {
  // The program tsx would start a second process, so use its loader directly.
  const command = ['--import', 'tsx', join(root, 'scripts', `${name}.ts`), ...args];
  return spawn(process.execPath, command, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...env, NODE_COMPILE_CACHE: COMPILED },
    ...options,
  });
}

export interface ScriptRun {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs a program from the folder `scripts` to its end. */
export async function runScript(
  name: string,
  args: readonly string[],
  options: SpawnOptions = {},
): Promise<ScriptRun> {
  const child = spawnScript(name, args, options);
  const [out, err, [code]] = await Promise.all([
    text(child.stdout!),
    text(child.stderr!),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  return { code, out, err };
}
