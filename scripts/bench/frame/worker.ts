import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { BUNDLE_OPTIONS } from '../../../infra/bundle-options';
import type { Frame } from './frame';

const WORKERS = join(__dirname, '..', 'workers');
const CALL_TIME = /platform\/call-time$/;

interface WorkerOptions {
  readonly env: NodeJS.ProcessEnv;
  /** Options of Node. */
  readonly execArgv?: readonly string[];
  /** Arguments of the program. */
  readonly args?: readonly string[];
  /** A folder for the worker's CPU profile; undefined for none. */
  readonly cpuProf?: string | undefined;
  /** Modules that the bundle has in place of others: file of this folder by package. */
  readonly replaced?: Readonly<Record<string, string>>;
}

/** A process of a benchmark, which serves messages one after the other (serve.ts). */
export class Worker<Ready = object> {
  private constructor(
    readonly child: ChildProcess,
    /** What it reported when it had started. */
    readonly ready: Ready,
  ) {}

  /**
   * Bundles a file of workers/ as functions are bundled, and starts it. It ends with the run.
   *
   * @param file without its extension
   */
  static async start<Ready = object>(
    frame: Frame,
    file: string,
    options: WorkerOptions,
  ): Promise<Worker<Ready>> {
    const { env, execArgv = [], args = [], cpuProf, replaced } = options;
    const child = fork(await bundle(frame.dir, file, replaced), args, {
      // Ignores stdout: the functions print their metrics there.
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      execArgv: [...execArgv, ...(cpuProf === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', cpuProf])],
      env,
    });
    frame.atEnd(() => ended(child));
    return new Worker(child, await nextMessage<Ready>(child));
  }

  /** @throws when the worker ends before it answers */
  ask<T>(message: object): Promise<T> {
    const answered = nextMessage<T>(this.child);
    this.child.send(message);
    return answered;
  }

  /** Ends the worker, once it has written its profile. */
  end(): Promise<void> {
    return ended(this.child);
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  if (child.connected) child.disconnect();
  await gone;
}

async function nextMessage<T>(child: ChildProcess): Promise<T> {
  const over = new AbortController();
  const { signal } = over;
  const exited = once(child, 'exit', { signal }).then(() => {
    throw new Error('a worker ended');
  });
  try {
    const [message] = (await Promise.race([once(child, 'message', { signal }), exited])) as [T];
    return message;
  } finally {
    exited.catch(() => {});
    over.abort();
  }
}

const bundles = new Map<string, Promise<string>>();

/** Bundles a worker once a folder. @returns the bundle's path */
function bundle(dir: string, file: string, replaced?: Readonly<Record<string, string>>): Promise<string> {
  const outfile = join(dir, `${file}.js`);
  const made =
    bundles.get(outfile) ??
    build({
      ...BUNDLE_OPTIONS,
      entryPoints: [join(WORKERS, `${file}.ts`)],
      outfile,
      minify: false,
      alias: Object.fromEntries(
        Object.entries(replaced ?? {}).map(([name, own]) => [name, join(__dirname, `${own}.ts`)]),
      ),
      // A worker with `replaced` modules calls maps that answer at once, so it needs no longer time-outs.
      plugins: replaced === undefined ? [PATIENT] : [],
    }).then(() => outfile);
  bundles.set(outfile, made);
  return made;
}

/** Replaces the functions' call times by patient ones. */
const PATIENT: Plugin = {
  name: 'patient-call-time',
  setup({ onResolve }) {
    const path = join(__dirname, 'patient-call-time.ts');
    onResolve({ filter: CALL_TIME }, ({ importer }) => (importer === path ? undefined : { path }));
  },
};
