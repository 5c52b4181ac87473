import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { isDeepStrictEqual } from 'node:util';
import type { Freedoms } from '../faults/freedoms';
import type { FunctionResource } from './template';
import type { StoreAddresses, Wiring } from './wiring';

/** A function's response, or its error in the format that Lambda's Invoke returns. */
export type InvocationResult =
  | { readonly ok: true; readonly payload: unknown }
  | { readonly ok: false; readonly error: { readonly errorType: string; readonly errorMessage: string } };

interface Instance {
  readonly process: ChildProcess;
  isBusy: boolean;
  /** Set when the instance's code has been replaced. The instance then ends after its current invocation. */
  isOld: boolean;
  settle: ((result: InvocationResult) => void) | undefined;
}

export interface FunctionPoolOptions {
  readonly resource: FunctionResource;
  /** Environment variables of an instance that are not in the template. */
  readonly environmentOf: (
    resource: FunctionResource,
    addresses: StoreAddresses,
  ) => Readonly<Record<string, string>>;
  /** Called for each new instance. */
  readonly wire: () => Promise<Wiring>;
  readonly maxInstances: number;
  readonly logFile: string;
  readonly adopt: (child: ChildProcess) => void;
  readonly onLogLine: (line: string) => void;
  /**
   * Behaviour that AWS permits but rarely shows.
   *
   * @default instances never end, and wait between invocations
   */
  readonly freedoms: Freedoms | undefined;
}

/**
 * The instances of one function: processes that each handle one invocation at a time. They are started on demand, up to
 * a limit; further invocations wait.
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
        // End the instance if an invocation exceeds its timeout, as Lambda does.
        this.instances.delete(instance);
        instance.process.kill('SIGKILL');
        instance.settle?.(failure('Sandbox.Timedout', `Task timed out after ${timeoutMs / 1000} seconds`));
      }, timeoutMs);
      instance.settle = (result) => {
        clearTimeout(timer);
        instance.settle = undefined;
        if (instance.isOld) instance.process.kill('SIGTERM');
        else this.rest(instance);
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

  /** Kills all instances, busy or not. New ones start on demand. */
  kill(): void {
    for (const { process } of this.instances) process.kill('SIGKILL');
  }

  /**
   * Replaces the code, as a deployment does: new invocations run in new instances, while running ones finish with the
   * old code. Does nothing if the function is unchanged.
   */
  deploy(resource: FunctionResource): void {
    if (isDeepStrictEqual(resource, this.resource)) return;
    this.resource = resource;
    for (const instance of this.instances) {
      instance.isOld = true;
      // Give the instance no further invocations. Its place becomes free once it has ended.
      if (!instance.isBusy) instance.process.kill('SIGTERM');
      instance.isBusy = true;
    }
  }

  close(): void {
    this.isClosed = true;
    for (const { process } of this.instances) process.kill('SIGTERM');
  }

  /**
   * Makes an instance available for the next invocation. Depending on `freedoms`, it pauses or ends first.
   */
  private rest(instance: Instance): void {
    const { freedoms } = this.options;
    const free = () => {
      // Its code may have been replaced during the pause.
      if (instance.isOld) return void instance.process.kill('SIGTERM');
      instance.isBusy = false;
      this.waiting.shift()?.();
    };
    // Disconnecting lets the process flush its output before it ends.
    if (freedoms?.takes('instance reclaimed')) return void instance.process.disconnect();
    const frozenMs = freedoms?.delayMs('instance frozen') ?? 0;
    if (frozenMs === 0) {
      free();
      return;
    }
    instance.process.kill('SIGSTOP');
    setTimeout(() => {
      instance.process.kill('SIGCONT');
      free();
    }, frozenMs);
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

  /**
   * Starts a process for a new instance.
   *
   * @returns the instance, already marked as busy
   */
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
        NODE_OPTIONS: `--max-old-space-size=${memoryMb} ${environment.NODE_OPTIONS ?? ''}`,
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
