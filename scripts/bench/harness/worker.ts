import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { BUNDLE_OPTIONS } from '../../../infra/bundle-options';
import type { Harness } from './harness';

const WORKERS = join(__dirname, '..', 'workers');
const CALL_TIME = /platform\/call-time$/;

interface WorkerOptions {
  readonly env: NodeJS.ProcessEnv;
  /** Command-line options of Node.js. */
  readonly execArgv?: readonly string[];
  /** Arguments of the program. */
  readonly args?: readonly string[];
  /** Folder for the worker's CPU profile; undefined for none. */
  readonly cpuProf?: string | undefined;
  /** Packages that the bundle replaces, each with a file in this folder. */
  readonly replaced?: Readonly<Record<string, string>>;
}

/** A benchmark process that handles messages one at a time (serve.ts). */
export class Worker<Ready = object> {
  private constructor(
    private readonly child: ChildProcess,
    /** The worker's first report after its start. */
    readonly ready: Ready,
  ) {}

  /**
   * Bundles a file in workers/ as a function is bundled, and starts it. It ends with the run.
   *
   * @param file name without extension
   */
  static async start<Ready = object>(
    harness: Harness,
    file: string,
    options: WorkerOptions,
  ): Promise<Worker<Ready>> {
    const { env, execArgv = [], args = [], cpuProf, replaced } = options;
    const child = fork(await bundle(harness.dir, file, replaced), args, {
      // Ignore stdout, where functions print their metrics.
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      execArgv: [...execArgv, ...(cpuProf === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', cpuProf])],
      env,
    });
    harness.atEnd(() => ended(child));
    return new Worker(child, await nextMessage<Ready>(child));
  }

  /** @throws if the worker ends before it answers */
  request<T>(message: object): Promise<T> {
    const response = nextMessage<T>(this.child);
    this.child.send(message);
    return response;
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

/**
 * Bundles a worker, once for each folder.
 *
 * @returns the bundle's path
 */
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
      // A worker with replaced modules calls maps that answer immediately, so it needs no longer timeouts.
      plugins: replaced === undefined ? [PATIENT] : [],
    }).then(() => outfile);
  bundles.set(outfile, made);
  return made;
}

/** Replaces the functions' timeouts with longer ones. */
const PATIENT: Plugin = {
  name: 'patient-call-time',
  setup({ onResolve }) {
    const path = join(__dirname, 'patient-call-time.ts');
    onResolve({ filter: CALL_TIME }, ({ importer }) => (importer === path ? undefined : { path }));
  },
};
