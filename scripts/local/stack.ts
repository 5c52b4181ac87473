import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../../infra/config';
import { ENV, functionName } from '../../shared/platform/names';
import type { RuntimeSettings } from '../../shared/platform/settings';
import { Freedoms } from '../faults/freedoms';
import { Random } from '../faults/random';
import { bootstrap, KEY_FILE } from './bootstrap';
import { type Deployment, handleDeploy, LOCAL_API } from './deploy';
import { FunctionHost, kindOf } from './function-host';
import { serveFunctionUrls } from './function-urls';
import { handleRequest, sendJson } from './http-api';
import { awsError, handleLambdaApi, LAMBDA_API } from './lambda-api';
import { closeHttp, httpServer, listen } from './listen';
import { makeSecret, refusal } from './operator-secret';
import { Problem } from './problem';
import { localAws, provision } from './provision';
import { writeRights } from './rights';
import { type Server, startAws, startHotServer } from './servers';
import { synthesize } from './synth';
import { type FunctionResource, readAssembly } from './template';
import type { HostFaults } from './wiring';

const root = join(__dirname, '..', '..');

export interface StackOptions {
  /** Port of the HTTP API; 0 for a free one. */
  readonly port: number;
  /** Data directory; undefined for a temporary one. */
  readonly dataDir: string | undefined;
  readonly settings: Readonly<Record<string, string>>;
  readonly report: (line: string) => void;
  /**
   * Faults injected between functions and stores.
   *
   * @default none
   */
  readonly faults?: HostFaults;
  /**
   * Seed of every random choice in the stand-ins: the order of sequence numbers between shards, and when AWS's freedoms
   * are used.
   *
   * @default random
   */
  readonly seed?: number | undefined;
  /**
   * Whether the stand-ins do what AWS permits but rarely does (scripts/faults/freedoms.json).
   *
   * @default false
   */
  readonly hasFreedoms?: boolean;
  /**
   * Kinds of functions whose schedules are not run, so that a test can choose when they run.
   *
   * @default none
   */
  readonly unscheduled?: readonly string[];
}

/** Output of `npm start -- --json`. */
export interface StackAddresses {
  readonly url: string;
  /** URL of the post function; absent unless the setting `postEndpoint` is `url`. */
  readonly postUrl?: string;
  readonly apiKey: string;
  readonly redisUrl: string;
  readonly awsEndpoint: string;
  readonly stream: string;
  readonly table: string;
  readonly bucket: string;
}

export interface RunningStack {
  readonly addresses: StackAddresses;
  readonly dataDir: string;
  readonly host: FunctionHost;
  /** Functions as deployed at the start. */
  readonly functions: readonly FunctionResource[];
  /**
   * Returns process ids by kind: `hot`, `aws`, each function's, and `stack` for this process (API Gateway,
   * event source mapping, schedules).
   */
  processes(): Readonly<Record<string, readonly number[]>>;
  /** Kills the hot tier's server with SIGKILL; a new, empty one replaces it. */
  killHot(): void;
  stop(): Promise<void>;
}

/** Starts the whole pipeline on this machine from the synthesized template. */
export async function startStack(options: StackOptions): Promise<RunningStack> {
  const { report } = options;
  // Refuse invalid settings before anything starts.
  readConfig({ stage: 'local', settings: JSON.stringify(options.settings) });
  const local = join(root, '.local');
  mkdirSync(local, { recursive: true });
  const dataDir = options.dataDir ?? mkdtempSync(join(local, 'ephemeral-'));
  const release = claim(dataDir);

  let handle: RequestListener = respondUnavailable('starting');
  const http = httpServer((request, response) => handle(request, response));
  const cleanups: (() => Promise<unknown> | unknown)[] = [];
  const stop = async () => {
    handle = respondUnavailable('stopping');
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  };
  try {
    const watchdog = startWatchdog(options.dataDir === undefined ? dataDir : undefined);
    cleanups.push(() => watchdog.stdin.end());
    cleanups.push(() => {
      release();
      if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
    });
    await serversGone(dataDir);
    // Listen before the servers start, so that a taken port is reported immediately.
    const port = await listen(http, options.port);
    cleanups.push(() => closeHttp(http));
    const adopt = (child: ChildProcess) => {
      if (child.pid === undefined) return;
      watchdog.stdin.write(`+${child.pid}\n`);
      child.once('exit', () => watchdog.stdin.writable && watchdog.stdin.write(`-${child.pid}\n`));
    };

    const seed = options.seed ?? randomInt(2 ** 31);
    const synth = join(local, 'synth');
    const synthesized = readAssembly(await synthesize(synth, options.settings));
    const isScheduled = ({ functionName }: { readonly functionName: string }) =>
      !options.unscheduled?.includes(kindOf(functionName));
    const stack = { ...synthesized, schedules: synthesized.schedules.filter(isScheduled) };
    const rightsFile = join(dataDir, 'rights.json');
    writeRights(rightsFile, stack.functions);
    const settingsJson = stack.functions[0]?.environment[ENV.settings];
    const settings = JSON.parse(settingsJson!) as RuntimeSettings;

    const onHotLost = () =>
      report(
        'Valkey died; an empty one takes its place, and recovery reads the stream again within about a minute',
      );
    const onAwsLost = () => {
      report(`the stand-in for AWS ended unexpectedly, see ${join(dataDir, 'aws.log')}; stopping`);
      process.kill(process.pid, 'SIGTERM');
    };
    // Stop both servers even if only one of them has started.
    const stores: Server[] = [];
    cleanups.push(() => Promise.all(stores.map((store) => store.stop())));
    const kept = <S extends Server>(server: S): S => {
      stores.push(server);
      return server;
    };
    const [hot, aws] = await Promise.all([
      startHotServer(dataDir, adopt, onHotLost).then(kept),
      startAws(dataDir, adopt, onAwsLost, {
        seed,
        rightsFile,
        hasFreedoms: options.hasFreedoms,
      }).then(kept),
    ]);
    const address = localAws(aws.port);
    await provision(address, stack);
    const environment = Object.assign({}, ...stack.functions.map((f) => f.environment)) as Record<
      string,
      string
    >;
    const redisUrl = `redis://127.0.0.1:${hot.port}`;
    const isNew = !existsSync(join(dataDir, KEY_FILE));
    const { apiKey } = await bootstrap({
      aws: address,
      metaTable: environment[ENV.metaTable]!,
      dataDir,
      settings,
      redisUrl,
    });

    const url = `http://127.0.0.1:${port}`;
    const { secret, forget } = makeSecret(dataDir, port);
    cleanups.push(forget);
    const host = new FunctionHost({
      stack,
      aws: address,
      redisUrl,
      dataDir,
      url,
      secret,
      adopt,
      report,
      faults: options.faults,
      freedoms: options.hasFreedoms ? new Freedoms(new Random(seed)) : undefined,
    });
    cleanups.push(() => host.stop());
    const functionUrls = await serveFunctionUrls(
      stack.functionUrls,
      (name, event) => host.invoke(name, event),
      report,
    );
    cleanups.push(() => functionUrls.close());
    let { routes } = stack;
    const deploy = async ({ assembly, settings, functions }: Deployment) => {
      if (assembly !== undefined && !existsSync(join(assembly, 'manifest.json')))
        throw new Problem(
          `assembly: ${assembly} has no manifest.json; give the folder that cdk synth writes`,
        );
      const changed = { ...options.settings, ...settings };
      readConfig({ stage: 'local', settings: JSON.stringify(changed) });
      const next = readAssembly(assembly ?? (await synthesize(synth, changed)));
      writeRights(rightsFile, next.functions);
      const deployed = host.deploy(next.functions, functions);
      // Take over only the routes of running functions. New functions, stores, mappings and schedules need a restart.
      routes = next.routes.filter(({ functionName }) => host.has(functionName));
      return deployed;
    };
    const route = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const path = request.url ?? '/';
      const isLambdaApi = path.startsWith(LAMBDA_API);
      if (!isLambdaApi && !path.startsWith(LOCAL_API))
        return handleRequest(request, response, routes, (name, event) => host.invoke(name, event));
      const refused = refusal(request.headers, secret);
      if (isLambdaApi)
        return refused === undefined
          ? handleLambdaApi(request, response, host, address.endpoint)
          : awsError(response, 403, 'AccessDeniedException', refused);
      if (refused !== undefined) return sendJson(response, 403, { error: { message: refused } });
      return handleDeploy(request, response, deploy);
    };
    handle = (request, response) =>
      void route(request, response).catch((error: Error) => {
        report(`request: ${error.message}`);
        if (response.headersSent) response.destroy();
        else sendJson(response, 500, { message: 'Internal Server Error' });
      });
    host.start(isNew);
    const pidsFile = join(dataDir, 'pids.json');
    let written = '';
    const writePids = () => {
      const pids = JSON.stringify({
        stack: process.pid,
        hot: hot.pid(),
        aws: aws.pid(),
        functions: host.pids,
      });
      if (pids === written) return;
      written = pids;
      // Write under another name first: the next start parses the file, and this process may be killed at any time.
      writeFileSync(`${pidsFile}.new`, pids);
      renameSync(`${pidsFile}.new`, pidsFile);
    };
    writePids();
    const pidTimer = setInterval(writePids, 500);
    cleanups.push(() => {
      clearInterval(pidTimer);
      rmSync(pidsFile, { force: true });
    });
    return {
      addresses: {
        url,
        postUrl: functionUrls.urls.get(functionName('local', 'post')),
        apiKey,
        redisUrl,
        awsEndpoint: address.endpoint,
        stream: environment[ENV.stream]!,
        table: environment[ENV.warmTable]!,
        bucket: environment[ENV.bucket]!,
      },
      dataDir,
      host,
      functions: stack.functions,
      processes: () => ({ stack: [process.pid], hot: [hot.pid()], aws: [aws.pid()], ...host.processes }),
      killHot: () => process.kill(hot.pid(), 'SIGKILL'),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Answers every request with 503, so that clients retry later instead of waiting. */
function respondUnavailable(doing: 'starting' | 'stopping'): RequestListener {
  return (request, response) => {
    request.resume();
    const message = `the local stack is ${doing}; try again in a few seconds`;
    sendJson(response, 503, { error: { message } }, { 'retry-after': '1' });
  };
}

/**
 * Starts a process that ends the servers if this process ends without stopping them.
 *
 * @param dataDir removed once the stack has ended in any way
 */
function startWatchdog(dataDir: string | undefined) {
  const args = [join(__dirname, 'watchdog.mjs'), ...(dataDir === undefined ? [] : [dataDir])];
  const watchdog = spawn(process.execPath, args, { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  watchdog.unref();
  return watchdog;
}

/** Files of a data directory. Every start, however short, leaves at least one of them. */
const OWN_FILES = ['stack.pid', 'pids.json', KEY_FILE, 'functions.log', 'valkey.log', 'aws.log'];

/** Creates parent folders one at a time, because Node's recursive mkdir never returns below /proc. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  mkdirSync(path);
}

/**
 * Creates the data directory and locks it, because only one stack at a time may use it.
 *
 * @returns a function that unlocks it
 * @throws {Problem} when another stack has locked it, or it is not writable
 */
function claim(dataDir: string): () => void {
  const file = join(dataDir, 'stack.pid');
  try {
    makeFolder(dataDir);
    const entries = readdirSync(dataDir);
    const foreign = entries.some((name) => OWN_FILES.includes(name)) ? undefined : entries[0];
    if (foreign !== undefined)
      throw new Problem(
        `${dataDir} has files of others, such as ${foreign}: give an empty or a new folder, or a stack's, as --data-dir`,
      );
    const holder = Number(existsSync(file) ? readFileSync(file, 'utf8') : Number.NaN);
    if (holder !== process.pid && isAlive(holder))
      throw new Problem(
        `${dataDir} is used by a running stack (process ${holder}): stop it, or give another --data-dir`,
      );
    writeFileSync(file, String(process.pid));
  } catch (error) {
    if (error instanceof Problem) throw error;
    const { code } = error as NodeJS.ErrnoException;
    const isFile = code === 'EEXIST' || code === 'ENOTDIR';
    throw new Problem(
      `${dataDir} cannot be the data directory: ${isFile ? 'it is not a folder' : (error as Error).message}; give another --data-dir`,
    );
  }
  return () => rmSync(file, { force: true });
}

/**
 * Waits until the servers of a killed stack have saved their state and ended. Their files must not be loaded before
 * that.
 */
async function serversGone(dataDir: string): Promise<void> {
  const file = join(dataDir, 'pids.json');
  if (!existsSync(file)) return;
  const { hot, aws } = JSON.parse(readFileSync(file, 'utf8')) as { hot: number; aws: number };
  const deadline = Date.now() + 120_000;
  while ([hot, aws].some((pid) => isAlive(pid) && isServerOf(pid, dataDir))) {
    if (Date.now() > deadline)
      throw new Problem(
        `servers of an earlier stack (processes ${hot}, ${aws}) still use ${dataDir}: stop them`,
      );
    await sleep(100);
  }
  rmSync(file, { force: true });
}

/**
 * Whether a process is a server of this data directory. (Its pid may belong to another process by now.) Without /proc,
 * assumes that it is.
 */
function isServerOf(pid: number, dataDir: string): boolean {
  try {
    const text = readFileSync(`/proc/${pid}/cmdline`, 'utf8') + readFileSync(`/proc/${pid}/environ`, 'utf8');
    return text.includes(dataDir);
  } catch {
    return !existsSync('/proc/self');
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid)) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
