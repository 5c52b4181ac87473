import * as crypto from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { performance as realPerformance } from 'node:perf_hooks';
import { compileFunction } from 'node:vm';
import type { Random } from '../faults/random';
import type { Scheduler, Task } from './scheduler';

/** Names of the parameters of the function that contains a bundle. In the bundle, they replace Node's globals. */
const NAMES = [
  'exports',
  'require',
  'module',
  'process',
  'console',
  'Date',
  'Math',
  'performance',
  'setTimeout',
  'clearTimeout',
  'setInterval',
  'clearInterval',
  'setImmediate',
  'AbortSignal',
  'crypto',
  'fetch',
  'simulated',
] as const;

type Handler = (event: unknown, context: object) => Promise<unknown>;
export type Bundle = (...values: unknown[]) => void;

/** Compiles a bundle once. Each call of the compiled bundle creates a new instance, with its own module variables. */
export function compileBundle(file: string): Bundle {
  return compileFunction(readFileSync(file, 'utf8'), [...NAMES], { filename: file }) as unknown as Bundle;
}

export interface InstanceOptions {
  readonly bundle: Bundle;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly environment: Readonly<Record<string, string>>;
  /** Error of the instance's clock, in ms. */
  readonly clockSkewMs: number;
  /** Replacements of modules that reach the network, by the names in bundles.ts. */
  readonly network: (instance: Instance) => object;
  readonly onLog: (line: string) => void;
}

const requireReal = createRequire(__filename);

/** Modules of Node that read no clock, draw no random numbers, and reach nothing outside the process. */
const PURE_MODULES = new Set(['buffer', 'path', 'stream', 'util', 'zlib']);

/**
 * Functions of other modules that also read no clock, draw no random numbers, and reach nothing outside the process.
 */
const PURE_FUNCTIONS = new Set([
  'net.BlockList',
  'net.isIP',
  'net.isIPv4',
  'net.isIPv6',
  'os.homedir',
  'os.platform',
  'os.release',
]);

/**
 * An instance of a Lambda function: the bundle, with a virtual clock, seeded randomness, and the models in
 * place of the network. After an instance is killed, no promise that it awaits resolves, so none of its code
 * runs again.
 */
export class Instance {
  readonly handler: Handler;
  isAlive = true;
  private isFrozen = false;
  /** Actions held back until the frozen instance is used again. */
  private held: (() => unknown)[] = [];

  constructor(private readonly options: InstanceOptions) {
    const { bundle, network } = options;
    const module = { exports: {} as { handler: Handler } };
    const globals = { ...this.globals(), ...this.timers(), process: this.process() };
    const values: Record<(typeof NAMES)[number], unknown> = {
      ...globals,
      exports: module.exports,
      require: (name: string) => this.require(name, globals),
      module,
      simulated: network(this),
    };
    bundle(...NAMES.map((name) => values[name]));
    this.handler = module.exports.handler;
  }

  /** Runs a callback later, unless the instance has been killed by then. */
  after(ms: number, run: () => unknown): Task {
    return this.options.scheduler.after(ms, () => this.run(run));
  }

  /** Runs a callback now, unless the instance was killed. A frozen instance runs it once it is used again. */
  run(run: () => unknown): unknown {
    if (!this.isAlive) return undefined;
    if (!this.isFrozen) return run();
    this.held.push(run);
    return undefined;
  }

  /** Freezes the instance, including its timers and connections, as Lambda does between two invocations. */
  freeze(): void {
    this.isFrozen = true;
  }

  thaw(): void {
    this.isFrozen = false;
    const { held } = this;
    this.held = [];
    for (const run of held) this.after(0, run);
  }

  private get now(): number {
    return this.options.scheduler.nowMs + this.options.clockSkewMs;
  }

  private globals() {
    const { random, scheduler, onLog } = this.options;
    const now = () => this.now;
    const startedMs = scheduler.nowMs;
    const log = (...given: unknown[]) => onLog(given.map(String).join(' '));
    const silent = () => {};
    return {
      console: { log, info: log, warn: log, error: log, debug: silent, trace: silent },
      Date: new Proxy(Date, {
        apply: () => new Date(now()).toString(),
        construct: (target, given) =>
          given.length === 0 ? new target(now()) : new target(...(given as [number])),
        get: (target, key) => (key === 'now' ? now : target[key as keyof DateConstructor]),
      }),
      Math: Object.create(Math, { random: { value: random.next } }),
      performance: Object.create(realPerformance, { now: { value: () => scheduler.nowMs - startedMs } }),
      AbortSignal: new Proxy(AbortSignal, {
        get: (target, key) =>
          key === 'timeout'
            ? (ms: number) => new Deadline(this, scheduler, ms)
            : target[key as keyof typeof AbortSignal],
      }),
      crypto: { ...this.randomness(), subtle: crypto.webcrypto.subtle },
      fetch: () => Promise.reject(new Error('a simulated function reaches nothing outside')),
    };
  }

  private process(): object {
    const { scheduler, environment } = this.options;
    const startedMs = scheduler.nowMs;
    return Object.create(process, {
      env: { value: { ...environment } },
      hrtime: { value: withoutCalls(process.hrtime, 'process.hrtime') },
      uptime: { value: () => (scheduler.nowMs - startedMs) / 1000 },
    });
  }

  private randomness() {
    const { random } = this.options;
    const fill = <Bytes extends Uint8Array>(bytes: Bytes) =>
      bytes.fill(0).map(() => random.integer(0, 255)) as Bytes;
    const randomBytes = (size: number) => fill(Buffer.alloc(size));
    const getRandomValues = <Bytes extends Uint8Array>(bytes: Bytes) => {
      bytes.set(fill(bytes));
      return bytes;
    };
    return {
      randomBytes,
      getRandomValues,
      randomFillSync: getRandomValues,
      randomInt: (from: number, to?: number) =>
        to === undefined ? random.integer(0, from - 1) : random.integer(from, to - 1),
      randomUUID: () => uuidOf(randomBytes(16)),
    };
  }

  private timers() {
    const set = (run: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) =>
      new Timer(this.after(Math.max(1, ms), () => run(...given)));
    const clear = (timer: Timer | undefined) => timer?.cancel();
    const repeat = (run: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) => {
      const again = () => {
        run(...given);
        if (!timer.task.isCancelled) timer.task = this.after(Math.max(1, ms), again);
      };
      const timer = new Timer(this.after(Math.max(1, ms), again));
      return timer;
    };
    return {
      setTimeout: set,
      clearTimeout: clear,
      setInterval: repeat,
      clearInterval: clear,
      setImmediate: (run: (...given: unknown[]) => void, ...given: unknown[]) =>
        new Timer(this.after(0, () => run(...given))),
    };
  }

  private require(
    name: string,
    globals: Record<'console' | 'crypto' | 'performance' | 'process', object>,
  ): unknown {
    const module = name.replace(/^node:/, '');
    switch (module) {
      case 'timers/promises':
        return {
          setTimeout: (ms: number, value: unknown) =>
            new Promise((resolve) => this.after(Math.max(1, ms), () => resolve(value))),
        };
      case 'crypto':
        return { ...crypto, ...this.randomness(), webcrypto: globals.crypto };
      case 'fs/promises':
        // The SDK looks for configuration files. Reading real files would take real time.
        return { readFile: () => Promise.reject(Object.assign(new Error('no file'), { code: 'ENOENT' })) };
      case 'console':
        return {
          Console: function Console() {
            return globals.console;
          },
        };
      case 'perf_hooks':
        return { performance: globals.performance };
      case 'process':
        return globals.process;
      default:
        return PURE_MODULES.has(module) ? requireReal(module) : withoutCalls(requireReal(module), module);
    }
  }
}

/**
 * Wraps a Node module so that calling its functions, or those of its objects, throws. A bundle may load the module. But
 * calls could return different results each time, and then the same seed would not give the same run.
 */
function withoutCalls<T extends object>(value: T, name: string): T {
  const refuse = () => {
    throw new Error(`a simulated function calls ${name}, whose result no seed decides`);
  };
  return new Proxy(value, {
    apply: refuse,
    construct: refuse,
    get: (object, key) => {
      const member: unknown = Reflect.get(object, key);
      const path = `${name}.${String(key)}`;
      const { configurable, writable } = Reflect.getOwnPropertyDescriptor(object, key) ?? {};
      // A proxy must return such a property unchanged. These are constants and prototypes.
      const isFixed = configurable === false && writable === false;
      if (isFixed || key === 'prototype' || PURE_FUNCTIONS.has(path)) return member;
      const isWrapped = typeof member === 'function' || (typeof member === 'object' && member !== null);
      return isWrapped ? withoutCalls(member, path) : member;
    },
  });
}

/**
 * The signal of `AbortSignal.timeout`. It schedules a task only while it has a listener. Most calls are answered long
 * before their deadline, so otherwise a third of all tasks would be deadlines.
 */
class Deadline {
  private readonly atMs: number;
  private readonly tasks = new Map<() => void, Task>();

  constructor(
    private readonly instance: Instance,
    private readonly scheduler: Scheduler,
    ms: number,
  ) {
    this.atMs = scheduler.nowMs + ms;
  }

  get aborted(): boolean {
    return this.scheduler.nowMs >= this.atMs;
  }

  addEventListener(_: 'abort', listener: () => void): void {
    this.tasks.set(listener, this.instance.after(this.atMs - this.scheduler.nowMs, listener));
  }

  removeEventListener(_: 'abort', listener: () => void): void {
    const task = this.tasks.get(listener);
    if (task !== undefined) task.isCancelled = true;
  }
}

class Timer {
  constructor(public task: Task) {}

  cancel(): void {
    this.task.isCancelled = true;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

function uuidOf(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
