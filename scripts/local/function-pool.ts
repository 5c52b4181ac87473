import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { FunctionResource } from './template';

/** What a function answered, or how it failed, as Lambda's Invoke tells it. */
export type InvocationResult =
  | { readonly ok: true; readonly payload: unknown }
  | { readonly ok: false; readonly error: { readonly errorType: string; readonly errorMessage: string } };

interface Instance {
  readonly process: ChildProcess;
  isBusy: boolean;
  settle: ((result: InvocationResult) => void) | undefined;
}

/**
 * The instances of one function: processes that handle one invocation each at a time, made when they are needed, up
 * to a limit; beyond it invocations wait.
 */
export class FunctionPool {
  private readonly instances = new Set<Instance>();
  private readonly waiting: (() => void)[] = [];
  private isClosed = false;

  constructor(
    private readonly resource: FunctionResource,
    private readonly environment: Readonly<Record<string, string>>,
    private readonly maxInstances: number,
    private readonly logFile: string,
    private readonly adopt: (child: ChildProcess) => void,
    private readonly onLogLine: (line: string) => void,
  ) {}

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
        instance.isBusy = false;
        this.waiting.shift()?.();
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

  close(): void {
    this.isClosed = true;
    for (const { process } of this.instances) process.kill('SIGTERM');
  }

  private async acquire(): Promise<Instance> {
    for (;;) {
      if (this.isClosed) throw new Error('the stack is stopping');
      const idle = [...this.instances].find(({ isBusy, process }) => !isBusy && process.connected);
      const instance = idle ?? (this.instances.size < this.maxInstances ? this.launch() : undefined);
      if (instance !== undefined) {
        instance.isBusy = true;
        return instance;
      }
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
  }

  private launch(): Instance {
    const log = openSync(this.logFile, 'a');
    const { codeDir, handler, environment, name, memoryMb } = this.resource;
    const child = fork(join(__dirname, 'function-process.mjs'), [codeDir, handler], {
      env: {
        PATH: process.env.PATH,
        ...environment,
        ...this.environment,
        AWS_LAMBDA_FUNCTION_NAME: name,
        AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(memoryMb),
        NODE_OPTIONS: `--max-old-space-size=${memoryMb}`,
      },
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'pipe', log, 'ipc'],
    });
    createInterface({ input: child.stdout! })
      .on('line', (line) => {
        writeSync(log, `${line}\n`);
        this.onLogLine(line);
      })
      .on('close', () => closeSync(log));
    this.adopt(child);
    const instance: Instance = { process: child, isBusy: false, settle: undefined };
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
