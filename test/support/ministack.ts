import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../scripts/local/server-process';
import { COMPILED, runScript } from './script';
import { until } from './until';

const root = join(__dirname, '..', '..');
const run = promisify(execFile);

/**
 * ministack with all of its services and with IAM enforced. It uses TLS, because the bucket policies deny
 * plain HTTP.
 */
export interface Ministack {
  /** Environment of the CDK CLI, the SDK and operator commands. */
  readonly environment: NodeJS.ProcessEnv;
  stop(): Promise<void>;
}

export async function startMinistack(dir: string): Promise<Ministack> {
  mkdirSync(dir, { recursive: true });
  const port = await freePort();
  const certificate = join(dir, 'ministack-tls', 'server.crt');
  const environment = {
    PATH: `${join(process.execPath, '..')}:${process.env.PATH}`,
    // The CLI keeps accounts and its log in the home folder.
    HOME: dir,
    TMPDIR: dir,
    CI: '1',
    CDK_DISABLE_VERSION_CHECK: '1',
    // With an address instead of a name, S3 clients put the bucket into the path. Not every resolver knows
    // bucket.localhost.
    AWS_ENDPOINT_URL: `https://127.0.0.1:${port}`,
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    AWS_REGION: 'us-east-1',
    AWS_CA_BUNDLE: certificate,
    NODE_EXTRA_CA_CERTS: certificate,
    NODE_COMPILE_CACHE: COMPILED,
  };
  const log = openSync(join(dir, 'ministack.log'), 'a');
  const child: ChildProcess = spawn(join(root, '.local', 'venv', 'bin', 'ministack'), {
    env: { ...environment, AUTH: 'true', USE_SSL: '1', BIND_HOST: '127.0.0.1', GATEWAY_PORT: String(port) },
    stdio: ['ignore', log, log],
    // A separate process group, so that the processes of its functions end with it.
    detached: true,
  });
  const gone = once(child, 'exit');
  const stop = async () => {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    await gone;
  };
  try {
    await until(
      'ministack answers',
      async () => {
        if (child.exitCode !== null) throw new Error(readFileSync(join(dir, 'ministack.log'), 'utf8'));
        return statusOf(port).catch(() => undefined);
      },
      (status) => status === 200,
    );
  } catch (error) {
    await stop();
    throw error;
  }
  return { environment, stop };
}

function statusOf(port: number): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    httpsRequest(
      { host: 'localhost', port, path: '/_ministack/health', rejectUnauthorized: false },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      },
    )
      .on('error', reject)
      .end();
  });
}

/**
 * Serves a deployed HTTP API at its own address. ministack distinguishes APIs by a name in the Host header. Not every
 * resolver knows that name, and fetch cannot set the header.
 */
export async function serveApi(
  environment: NodeJS.ProcessEnv,
  apiId: string,
): Promise<{ readonly url: string; close(): void }> {
  const target = new URL(environment.AWS_ENDPOINT_URL!);
  const ca = readFileSync(environment.AWS_CA_BUNDLE!);
  const server = createServer((request, response) => {
    const headers = { ...request.headers, host: `${apiId}.execute-api.localhost` };
    const { method, url: path } = request;
    const onward = httpsRequest(
      { host: 'localhost', servername: 'localhost', port: target.port, method, path, headers, ca },
      (answer) => {
        response.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(response);
      },
    );
    onward.on('error', (error) => response.writeHead(502).end(error.message));
    request.pipe(onward);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A command ended with an exit code other than 0. */
interface Failure extends Error {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the real CDK CLI. */
export async function cdk(environment: NodeJS.ProcessEnv, cwd: string, ...args: string[]): Promise<string> {
  const { stdout, stderr } = await run(
    process.execPath,
    [join(root, 'node_modules', '.bin', 'cdk'), ...args],
    { cwd, env: environment, maxBuffer: 64 * 1024 * 1024 },
  ).catch((error: Failure) => {
    throw Object.assign(error, { message: `${error.message}\n${error.stdout.slice(-4000)}` });
  });
  return stdout + stderr;
}

/** Runs an operator command against a deployed stack, and parses its `--json` output. */
export async function opsOnStack<T>(
  environment: NodeJS.ProcessEnv,
  stack: string,
  ...args: string[]
): Promise<T> {
  const { code, out, err } = await runScript('ops', [...args, '--stack', stack, '--json'], {
    env: environment,
  });
  if (code !== 0) throw new Error(err);
  return JSON.parse(out) as T;
}
