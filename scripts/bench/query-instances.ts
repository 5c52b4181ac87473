/** Instances of the query function, and what they are measured by: `bench query` and `bench history`. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { build } from 'esbuild';
import { BUNDLE_OPTIONS } from '../../infra/bundle-options';
import { QUERY_NODE_OPTIONS } from '../../infra/functions/node-options';
import { ASKED_HEADER } from './asked';
import { answer, ask, sum } from './ingest';
import type { Keeping } from './kept-answers';
import { quantile } from './quantile';
import type { Asked, Order, Spent } from './query-worker';
import type { Stores } from './stores';

/** An instance is young for so many queries of a kind. */
const YOUNG = 10;
/** Then it warms up, for so many queries or so long: connections are then open, code is compiled. */
const WARM_UP = 1800;
const WARM_UP_MS = 20_000;
/** After that its CPU is measured for so many queries while answers are kept. */
const KEPT_MEASURED = 200;
const MAX_TRIES = 100;
/** Queries of all instances that are measured at least, unless that takes longer than this. */
const LEAST_MEASURED = 200;
const MOST_MEASURED_MS = 15_000;
/** Delay of answers when rounds are counted: far longer than anything else takes. */
export const HOLD_MS = 100;

/** One kind of query. Times are without the emulator's; the others are means. */
export interface Measured {
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** CPU of the instance: all of its threads, the kernel's time and the HTTP server around the handler included. */
  readonly cpuMs: number;
  /** Of `cpuMs`, the time in the kernel, which is HTTP's and the heap's. */
  readonly kernelCpuMs: number;
  /** Of `cpuMs`, the threads of the collector, the compiler and libuv. */
  readonly otherThreadsCpuMs: number;
  /**
   * CPU while a read of DynamoDB or S3 that was asked before is answered at once (kept-answers.ts). Otherwise an
   * instance waits for 20 ms and more, while the stand-in for AWS has the same cores: the same work then takes more CPU.
   */
  readonly keptCpuMs: number;
  /** CPU of an instance's first queries of the kind, before its code is compiled. */
  readonly youngCpuMs: number;
  /** How many times a query waits for stores one after the other. */
  readonly rounds: number;
  readonly requests: number;
  /** Of the stores' requests and answers. */
  readonly bytes: number;
  readonly emulatorMs: number;
}

export interface Timing {
  readonly durationMs: number;
  /** Mean time between two queries of a client. */
  readonly pauseMs: number;
  /** Delay of each store's answer while it is measured. @default 0 */
  readonly holdMs?: number;
  /** Path, without its extension, of CPU profiles of what is measured; undefined for none. */
  readonly profile?: string | undefined;
}

/** The path of a client's query, by the client's index and how many it has sent. */
export type PathOf = (client: number, turn: number) => string;

interface Instance {
  readonly child: ChildProcess;
  readonly port: number;
}

interface Answer extends Asked {
  /** Without the emulator's time. */
  readonly ms: number;
}

/** One process a client, since an instance of Lambda has one request at a time. */
export class QueryInstances {
  private readonly agent = new Agent({ keepAlive: true });

  private constructor(
    private readonly instances: readonly Instance[],
    private readonly keeper: ChildProcess,
  ) {}

  static async start(dir: string, { environment }: Stores, clients: number): Promise<QueryInstances> {
    const [workerFile, keeperFile] = ['query-worker', 'kept-answers'] as const;
    await build({
      ...BUNDLE_OPTIONS,
      entryPoints: [workerFile, keeperFile].map((name) => join(__dirname, `${name}.ts`)),
      outdir: dir,
      minify: false,
    });
    const keeper = fork(join(dir, `${keeperFile}.js`), [environment.AWS_ENDPOINT_URL!]);
    const { port: keeperPort } = await answer<{ port: number }>(keeper);
    const AWS_ENDPOINT_URL = `http://127.0.0.1:${keeperPort}`;
    const instances = await Promise.all(
      Array.from({ length: clients }, async () => {
        const child = fork(join(dir, `${workerFile}.js`), {
          // The functions print their metrics.
          stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
          env: { ...environment, AWS_ENDPOINT_URL, NODE_OPTIONS: QUERY_NODE_OPTIONS },
        });
        const { port } = await answer<{ port: number }>(child);
        return { child, port };
      }),
    );
    return new QueryInstances(instances, keeper);
  }

  /** Ends the instances, once they have written their profiles. */
  async stop(): Promise<void> {
    const all = [...this.instances.map(({ child }) => child), this.keeper];
    const gone = Promise.all(all.map((child) => once(child, 'exit')));
    for (const child of all) child.disconnect();
    await gone;
    this.agent.destroy();
  }

  private async keepAnswers(isKeeping: boolean): Promise<void> {
    await ask(this.keeper, { isKeeping } satisfies Keeping);
  }

  /**
   * Asks until no store is too slow: the stand-in for AWS takes longer for the first thousand requests of a wide query than a
   * query may take, and each try leaves fewer.
   */
  async settle(path: string, apiKey: string): Promise<void> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const { response } = await this.fetch(this.instances[0]!.port, path, apiKey);
      if (response.statusCode !== 503) return;
    }
    throw new Error(`${path.slice(0, 200)}: 503 after ${MAX_TRIES} tries`);
  }

  async measure(pathOf: PathOf, apiKey: string, timing: Timing): Promise<Measured> {
    const { durationMs, pauseMs, holdMs = 0, profile } = timing;
    const { instances } = this;
    const repeat = (restMs: number, goesOn: (done: number) => boolean) =>
      this.spent(async () =>
        (await Promise.all(instances.map((_, i) => this.repeat(i, pathOf, apiKey, restMs, goesOn)))).flat(),
      );
    const young = await repeat(0, (done) => done < YOUNG);
    const warmMs = performance.now() + WARM_UP_MS;
    await this.keepAnswers(true);
    await repeat(0, (done) => done < WARM_UP && performance.now() < warmMs);
    const kept = await repeat(0, (done) => done < KEPT_MEASURED);
    await this.keepAnswers(false);
    const rounds = await this.rounds(pathOf, apiKey);
    await this.order(() => ({ holdMs, ...(profile !== undefined && { profile: 'begin' }) }));
    const beganMs = performance.now();
    const { answers, ...spent } = await repeat(pauseMs, (done) => {
      const elapsedMs = performance.now() - beganMs;
      return (
        elapsedMs < durationMs || (done * instances.length < LEAST_MEASURED && elapsedMs < MOST_MEASURED_MS)
      );
    });
    await this.order((i) => ({
      holdMs: 0,
      ...(profile !== undefined && { profile: { file: `${profile}-${i}.cpuprofile` } }),
    }));
    const times = answers.map(({ ms }) => ms);
    const mean = (of: (each: Answer) => number) => sum(answers, of) / answers.length;
    return {
      p50Ms: rounded(quantile(times, 0.5)),
      p99Ms: rounded(quantile(times, 0.99)),
      cpuMs: rounded(spent.cpuMs),
      kernelCpuMs: rounded(spent.kernelCpuMs),
      otherThreadsCpuMs: rounded(spent.otherThreadsCpuMs),
      keptCpuMs: rounded(kept.cpuMs),
      youngCpuMs: rounded(young.cpuMs),
      rounds,
      requests: rounded(mean(({ requests }) => requests)),
      bytes: Math.round(mean(({ bytes }) => bytes)),
      emulatorMs: rounded(mean(({ emulatorMs }) => emulatorMs)),
    };
  }

  /** CPU of the instances for each answer of some work. */
  private async spent(
    work: () => Promise<readonly Answer[]>,
  ): Promise<Spent & { readonly answers: readonly Answer[] }> {
    const before = await this.spentSoFar();
    const answers = await work();
    const after = await this.spentSoFar();
    const each = (name: keyof Spent) => (after[name] - before[name]) / answers.length;
    return {
      answers,
      cpuMs: each('cpuMs'),
      kernelCpuMs: each('kernelCpuMs'),
      otherThreadsCpuMs: each('otherThreadsCpuMs'),
    };
  }

  private async repeat(
    i: number,
    pathOf: PathOf,
    apiKey: string,
    pauseMs: number,
    goesOn: (done: number) => boolean,
  ): Promise<Answer[]> {
    const answers: Answer[] = [];
    while (goesOn(answers.length)) {
      answers.push(await this.ask(i, pathOf(i, answers.length), apiKey));
      if (pauseMs > 0) await sleep(2 * pauseMs * Math.random());
    }
    return answers;
  }

  /** A query's delay, in multiples of an answer's delay. */
  private async rounds(pathOf: PathOf, apiKey: string): Promise<number> {
    const [{ child }] = this.instances as [Instance];
    const least = async () => {
      const times: number[] = [];
      for (let i = 0; i < 3; i++) {
        const { ms, emulatorMs } = await this.ask(0, pathOf(0, 0), apiKey);
        times.push(ms + emulatorMs);
      }
      return Math.min(...times);
    };
    const unheldMs = await least();
    await ask(child, { holdMs: HOLD_MS } satisfies Order);
    const heldMs = await least();
    await ask(child, { holdMs: 0 } satisfies Order);
    return Math.round((heldMs - unheldMs) / HOLD_MS);
  }

  private async ask(i: number, path: string, apiKey: string): Promise<Answer> {
    const beganMs = performance.now();
    const { response, body } = await this.fetch(this.instances[i]!.port, path, apiKey);
    const totalMs = performance.now() - beganMs;
    // An empty answer is fast.
    if (response.statusCode !== 200 || body.length < 200)
      throw new Error(`${path.slice(0, 200)}: ${response.statusCode} ${body.toString().slice(0, 500)}`);
    const asked = JSON.parse(response.headers[ASKED_HEADER] as string) as Asked;
    return { ...asked, ms: totalMs - asked.emulatorMs };
  }

  private fetch(port: number, path: string, apiKey: string) {
    return new Promise<{ response: IncomingMessage; body: Buffer }>((resolve, reject) => {
      const headers = { 'x-api-key': apiKey };
      const request = get({ host: '127.0.0.1', port, path, headers, agent: this.agent }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => resolve({ response, body: Buffer.concat(chunks) }));
        response.on('error', reject);
      });
      request.on('error', reject);
    });
  }

  private order(orderOf: (instance: number) => Order): Promise<Spent[]> {
    return Promise.all(this.instances.map(({ child }, i) => ask<Spent>(child, orderOf(i))));
  }

  private async spentSoFar(): Promise<Spent> {
    const all = await this.order(() => ({}));
    return {
      cpuMs: sum(all, ({ cpuMs }) => cpuMs),
      kernelCpuMs: sum(all, ({ kernelCpuMs }) => kernelCpuMs),
      otherThreadsCpuMs: sum(all, ({ otherThreadsCpuMs }) => otherThreadsCpuMs),
    };
  }
}

/** Times and CPU of a kind of query, for people. */
export function timesOf({
  p50Ms,
  p99Ms,
  cpuMs,
  kernelCpuMs,
  otherThreadsCpuMs,
  keptCpuMs,
  youngCpuMs,
}: Measured): string {
  return (
    `p50 ${p50Ms} ms, p99 ${p99Ms} ms, CPU ${cpuMs} ms (${kernelCpuMs} in the kernel, ${otherThreadsCpuMs} of other threads; ` +
    `${keptCpuMs} with kept answers; young ${youngCpuMs})`
  );
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
