import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { ACCOUNT, type FunctionResource, REGION } from '../../scripts/local/template';

/** AWS's own runtime interface client for Node, as installed by `setup.mjs --other-servers`. */
const CLIENT = join(
  ...[__dirname, '..', '..', '.local', 'other-servers', 'runtime', 'node_modules', 'aws-lambda-ric'],
  'index.mjs',
);
const API = '/2018-06-01/runtime';
/**
 * Shares of a function's memory that Node's heap gets: the old space, and a semi-space. They follow AWS's bootstrap,
 * but are written from memory, because no document states them.
 */
const [OLD_SPACE, SEMI_SPACE] = [0.9, 0.05];

/** A function's answer, or its error. */
export interface RuntimeAnswer {
  readonly payload: unknown;
  readonly isError: boolean;
}

/** One instance of a function under Lambda's own runtime. */
export interface RuntimeInstance {
  /** Duration of Lambda's init phase, in ms: from the start of the process until it asks for its first event. */
  readonly initMs: number;
  invoke(event: unknown): Promise<RuntimeAnswer>;
  /** Returns the peak memory of the process, in MB. */
  peakMb(): number;
  /** The lines that the function printed. */
  readonly lines: readonly string[];
  stop(): Promise<void>;
}

/**
 * Starts a function as Lambda does. The bundle is in its own folder, and Lambda's runtime interface client runs on the
 * runtime's version of Node. The process has the variables that Lambda defines, and gets its events from a Runtime API.
 * Node's heap is limited to shares of the function's memory.
 *
 * @param taskRoot an empty folder, outside this checkout, so that a bundle finds no modules near it
 * @param variables replace the template's
 * @throws with the runtime's report if the function does not initialise
 * @see https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
 */
export async function startUnderRuntime(
  resource: FunctionResource,
  taskRoot: string,
  variables: Readonly<Record<string, string>>,
): Promise<RuntimeInstance> {
  const { name, codeDir, handler, environment, memoryMb, timeoutMs } = resource;
  cpSync(codeDir, taskRoot, { recursive: true });
  const invocations = new Map<string, (answer: RuntimeAnswer) => void>();
  let next: (response: ServerResponse) => void;
  let asked = new Promise<ServerResponse>((resolve) => {
    next = resolve;
  });
  let refuseStart: (error: Error) => void;
  const failedStart = new Promise<never>((_, reject) => {
    refuseStart = reject;
  });
  const server = createServer(async (request, response) => {
    const path = request.url!;
    if (path === `${API}/invocation/next`) return next(response);
    const body = (await buffer(request)).toString();
    response.writeHead(202).end();
    if (path === `${API}/init/error`) return refuseStart(new Error(`${name} did not initialise: ${body}`));
    const [id, end] = path.slice(`${API}/invocation/`.length).split('/') as [string, string];
    invocations.get(id)?.({ payload: JSON.parse(body || 'null'), isError: end === 'error' });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');

  const began = performance.now();
  const child = spawn(
    process.execPath,
    [
      '--expose-gc',
      `--max-semi-space-size=${Math.floor(memoryMb * SEMI_SPACE)}`,
      `--max-old-space-size=${Math.floor(memoryMb * OLD_SPACE)}`,
      CLIENT,
    ],
    {
      cwd: taskRoot,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...environment,
        ...variables,
        PATH: process.env.PATH,
        LANG: 'en_US.UTF-8',
        TZ: ':UTC',
        _HANDLER: handler,
        LAMBDA_TASK_ROOT: taskRoot,
        AWS_LAMBDA_RUNTIME_API: `127.0.0.1:${(server.address() as AddressInfo).port}`,
        AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
        AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
        AWS_LAMBDA_FUNCTION_NAME: name,
        AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
        AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(memoryMb),
        AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${name}`,
        AWS_LAMBDA_LOG_STREAM_NAME: '2026/11/23/[$LATEST]0',
        AWS_LAMBDA_LOG_FORMAT: 'JSON',
        AWS_LAMBDA_LOG_LEVEL: 'INFO',
      },
    },
  );
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => lines.push(...String(chunk).split('\n').filter(Boolean)));
  const exited = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`${name} ended (${signal ?? code}): ${lines.join('\n')}`);
  });
  // Keep these promises from rejecting unhandled: nothing awaits them if a test ends the process itself.
  exited.catch(() => {});
  failedStart.catch(() => {});
  const stop = async () => {
    child.kill('SIGKILL');
    await exited.catch(() => {});
    server.closeAllConnections();
    server.close();
  };
  try {
    await Promise.race([asked, failedStart, exited]);
  } catch (error) {
    await stop();
    throw error;
  }
  const initMs = performance.now() - began;
  return {
    initMs,
    lines,
    invoke: async (event) => {
      const response = await Promise.race([asked, exited]);
      asked = new Promise((resolve) => {
        next = resolve;
      });
      const id = randomUUID();
      const answered = new Promise<RuntimeAnswer>((resolve) => {
        invocations.set(id, resolve);
      });
      response.writeHead(200, {
        'content-type': 'application/json',
        'lambda-runtime-aws-request-id': id,
        'lambda-runtime-deadline-ms': String(Date.now() + timeoutMs),
        'lambda-runtime-invoked-function-arn': `arn:aws:lambda:${REGION}:${ACCOUNT}:function:${name}`,
        'lambda-runtime-trace-id':
          'Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Parent=9a9197af755a6419;Sampled=0',
      });
      response.end(JSON.stringify(event));
      return Promise.race([answered, exited]);
    },
    peakMb: () =>
      Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))![1]) / 1024,
    stop,
  };
}
