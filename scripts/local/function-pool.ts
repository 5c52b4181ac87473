import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { isDeepStrictEqual } from 'node:util';
import type { FunctionResource } from './template';
import type { StoreAddresses, Wiring } from './wiring';

/** What a function answered, or how it failed, as Lambda's Invoke tells it. */
export type InvocationResult =
  | { readonly ok: true; readonly payload: unknown }
  | { readonly ok: false; readonly error: { readonly errorType: string; readonly errorMessage: string } };

interface Instance {
  readonly process: ChildProcess;
  isBusy: boolean;
  /** Whether it runs code that has been replaced, and ends with what it does. */
  isOld: boolean;
  settle: ((result: InvocationResult) => void) | undefined;
}

export interface FunctionPoolOptions {
  readonly resource: FunctionResource;
  /** What an instance has beside the template's variables. */
  readonly environmentOf: (
    resource: FunctionResource,
    addresses: StoreAddresses,
  ) => Readonly<Record<string, string>>;
  /** Called for each instance. */
  readonly wire: () => Promise<Wiring>;
  readonly maxInstances: number;
  readonly logFile: string;
  readonly adopt: (child: ChildProcess) => void;
  readonly onLogLine: (line: string) => void;
}

/**
 * The instances of one function: processes that handle one invocation each at a time, made when they are needed, up
 * to a limit; beyond it invocations wait.
 */
export class FunctionPool {
  private readonly instances = new Set<Instance>();
  private launching = 0;
  private readonly waiting: (() => void)[] = [];
  private isClosed = false;
  private resource: FunctionResource;

  constructor(private readonly options: FunctionPoolOptions) {
    this.resource = options.resource;
  }

  get pids(): number[] {
    return [...this.instances].flatMap(({ process }) => (process.pid === undefined ? [] : [process.pid]));
  }

  async invoke(event: unknown): Promise<InvocationResult> {
    const instance = await this.acquire();
    const id = randomUUID();
    const { name, timeoutMs } = this.resource;
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        // As Lambda does: what runs beyond its time is ended.
        this.instances.delete(instance);
        instance.process.kill('SIGKILL');
        instance.settle?.(failure('Sandbox.Timedout', `Task timed out after ${timeoutMs / 1000} seconds`));
      }, timeoutMs);
      instance.settle = (result) => {
        clearTimeout(timer);
        instance.settle = undefined;
        if (instance.isOld) instance.process.kill('SIGTERM');
        else {
          instance.isBusy = false;
          this.waiting.shift()?.();
        }
        resolve(result);
      };
      instance.process.send(
        { id, event, deadlineMs: Date.now() + timeoutMs, functionName: name },
        (error) => {
          if (error)
            instance.settle?.(failure('Runtime.ExitError', 'the instance ended before it was invoked'));
        },
      );
    });
  }

  /** Ends every instance at once, in the middle of whatever it does. New ones take their place when needed. */
  kill(): void {
    for (const { process } of this.instances) process.kill('SIGKILL');
  }

  /**
   * As a deployment does: from now on invocations get instances of this code; one that is in hand ends as it began. Nothing
   * happens to a function that is as it was.
   */
  deploy(resource: FunctionResource): void {
    if (isDeepStrictEqual(resource, this.resource)) return;
    this.resource = resource;
    for (const instance of this.instances) {
      instance.isOld = true;
      // Nobody gets it any more, and its place is free when it has ended.
      if (!instance.isBusy) instance.process.kill('SIGTERM');
      instance.isBusy = true;
    }
  }

  close(): void {
    this.isClosed = true;
    for (const { process } of this.instances) process.kill('SIGTERM');
  }

  private async acquire(): Promise<Instance> {
    for (;;) {
      if (this.isClosed) throw new Error('the stack is stopping');
      const idle = [...this.instances].find(({ isBusy, process }) => !isBusy && process.connected);
      if (idle !== undefined) {
        idle.isBusy = true;
        return idle;
      }
      if (this.instances.size + this.launching < this.options.maxInstances) {
        this.launching++;
        return await this.launch().finally(() => this.launching--);
      }
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
  }

  /** @returns an instance that is busy from the start */
  private async launch(): Promise<Instance> {
    const { environmentOf, wire, logFile, adopt, onLogLine } = this.options;
    const wiring = await wire();
    if (this.isClosed) {
      wiring.close();
      throw new Error('the stack is stopping');
    }
    const log = openSync(logFile, 'a');
    const { codeDir, handler, environment, name, memoryMb } = this.resource;
    const child = fork(join(__dirname, 'function-process.mjs'), [codeDir, handler], {
      env: {
        PATH: process.env.PATH,
        ...environment,
        ...environmentOf(this.resource, wiring.addresses),
        AWS_LAMBDA_FUNCTION_NAME: name,
        AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(memoryMb),
        NODE_OPTIONS: `--max-old-space-size=${memoryMb}`,
        ...(wiring.clockSkewMs === 0 ? {} : { LOCAL_CLOCK_SKEW_MS: String(wiring.clockSkewMs) }),
      },
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'pipe', log, 'ipc'],
    });
    createInterface({ input: child.stdout! })
      .on('line', (line) => {
        writeSync(log, `${line}\n`);
        onLogLine(line);
      })
      .on('close', () => closeSync(log));
    adopt(child);
    wiring.attach(child);
    const instance: Instance = { process: child, isBusy: true, isOld: false, settle: undefined };
    this.instances.add(instance);
    child.on(
      'message',
      (message: { result?: unknown; error?: { errorType: string; errorMessage: string } }) => {
        instance.settle?.(
          message.error === undefined
            ? { ok: true, payload: message.result }
            : { ok: false, error: message.error },
        );
      },
    );
    child.on('error', () => {});
    child.once('exit', (code, signal) => {
      wiring.close();
      this.instances.delete(instance);
      instance.settle?.(
        failure('Runtime.ExitError', `the instance ended (${signal ?? `exit code ${code}`})`),
      );
      this.waiting.shift()?.();
    });
    return instance;
  }
}

function failure(errorType: string, errorMessage: string): InvocationResult {
  return { ok: false, error: { errorType, errorMessage } };
}
