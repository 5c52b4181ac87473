/** Starts instances of the query function and measures them, for `bench query`, `history` and `promql`. */
import { Agent, get, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { QUERY_NODE_OPTIONS } from '../../infra/functions/node-options';
import { COST_HEADER } from './harness/aws-meter';
import type { Harness } from './harness/harness';
import { quantile } from './harness/quantile';
import type { Stores } from './harness/stores';
import { Worker } from './harness/worker';
import type { Order, QueryCost, Spent } from './workers/query';
import type { Keeping, Passed } from './workers/response-cache';

/**
 * Length of an instance's warm-up, in queries and in ms. During the warm-up, the instance opens connections and
 * compiles code.
 */
const WARM_UP = 1800;
const WARM_UP_MS = 20_000;
/**
 * Maximum number of queries to measure while a cache answers repeated reads of stores (response-cache.ts). If they take
 * longer than {@link MOST_MEASURED_MS}, fewer are measured.
 */
const KEPT_MEASURED = 200;
const MAX_TRIES = 100;
/** Minimum number of queries to measure, over all instances, and the time in ms after which fewer suffice. */
const LEAST_MEASURED = 200;
const MOST_MEASURED_MS = 15_000;
/** Delay of responses while rounds are counted, in ms. It is far longer than any other step. */
export const HOLD_MS = 100;

export interface Timing {
  readonly durationMs: number;
  /** Mean time between two queries of a client, in ms. */
  readonly pauseMs: number;
  /**
   * Delay of each store's response during the measurement, in ms.
   *
   * @default 0
   */
  readonly holdMs?: number;
  /** Path, without extension, for CPU profiles of the measured queries; undefined for none. */
  readonly profile?: string | undefined;
}

/** Returns the path of a query, given the client's index and the number of queries it has sent. */
export type PathOf = (client: number, turn: number) => string;

type Instance = Worker<{ readonly port: number }>;

interface MeasuredQuery extends QueryCost {
  /** Duration of the query, excluding the emulator's time. */
  readonly ms: number;
}

/** Instances of the query function. Each client has one, since an instance in Lambda handles one request at a time. */
export class QueryInstances {
  private readonly agent = new Agent({ keepAlive: true });

  private constructor(
    private readonly instances: readonly Instance[],
    private readonly keeper: Worker,
  ) {}

  /** Starts the instances. They end with the run. */
  static async start(harness: Harness, { environment }: Stores, clients: number): Promise<QueryInstances> {
    const args = [environment.AWS_ENDPOINT_URL!];
    const keeper = await Worker.start<{ port: number }>(harness, 'response-cache', {
      env: process.env,
      args,
    });
    const env = {
      ...environment,
      AWS_ENDPOINT_URL: `http://127.0.0.1:${keeper.ready.port}`,
      NODE_OPTIONS: QUERY_NODE_OPTIONS,
    };
    const instances = await Promise.all(
      Array.from({ length: clients }, () => Worker.start<{ port: number }>(harness, 'query', { env })),
    );
    const made = new QueryInstances(instances, keeper);
    harness.atEnd(() => made.agent.destroy());
    return made;
  }

  private async cacheResponses(isKeeping: boolean): Promise<void> {
    await this.keeper.request({ isKeeping } satisfies Keeping);
  }

  /**
   * Retries a query until it succeeds. A wide query sends a thousand requests the first time, and the stand-in for
   * AWS cannot answer all of them within a query's time limit. Each attempt completes some requests, so the next
   * attempt has fewer requests to send.
   *
   * @returns why the query was refused, if it exceeds a limit; undefined if it succeeded
   */
  async settle(path: string, apiKey: string): Promise<string | undefined> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const { response, body } = await this.fetch(0, path, apiKey);
      if (response.statusCode === 422) return (JSON.parse(body.toString()) as { error: string }).error;
      if (response.statusCode !== 503) return undefined;
    }
    throw new Error(`${path.slice(0, 200)}: 503 after ${MAX_TRIES} tries`);
  }

  /** Measures an instance's first query. */
  async first(path: string, apiKey: string, holdMs: number, profile?: string) {
    await this.order(() => ({ holdMs, ...(profile !== undefined && { profile: 'begin' }) }));
    await this.passed();
    const { queries, cpuMs } = await this.spent(async () => [await this.request(0, path, apiKey)]);
    if (profile !== undefined) await this.order(() => ({ profile: { file: `${profile}.cpuprofile` } }));
    return { ...queries[0]!, cpuMs, ...(await this.passed()) };
  }

  /** Returns the requests that the instances made to AWS since the last call. */
  private passed(): Promise<Passed> {
    return this.keeper.request<Passed>({ isKeeping: false } satisfies Keeping);
  }

  /** Measures one kind of query. Times exclude the emulator's time; counts are means. */
  async measure(pathOf: PathOf, apiKey: string, timing: Timing) {
    const { durationMs, pauseMs, holdMs = 0, profile } = timing;
    const { instances } = this;
    const repeat = (restMs: number, goesOn: (done: number) => boolean) =>
      this.spent(async () =>
        (await Promise.all(instances.map((_, i) => this.repeat(i, pathOf, apiKey, restMs, goesOn)))).flat(),
      );
    const warmMs = performance.now() + WARM_UP_MS;
    await this.cacheResponses(true);
    await repeat(0, (done) => done < WARM_UP && performance.now() < warmMs);
    const keptMs = performance.now() + MOST_MEASURED_MS;
    const kept = await repeat(
      0,
      (done) => done === 0 || (done < KEPT_MEASURED && performance.now() < keptMs),
    );
    await this.cacheResponses(false);
    const rounds = await this.rounds(pathOf, apiKey);
    await this.order(() => ({ holdMs, ...(profile !== undefined && { profile: 'begin' }) }));
    const beganMs = performance.now();
    const { queries, cpuMs } = await repeat(pauseMs, (done) => {
      const elapsedMs = performance.now() - beganMs;
      return (
        elapsedMs < durationMs || (done * instances.length < LEAST_MEASURED && elapsedMs < MOST_MEASURED_MS)
      );
    });
    await this.order((i) => ({
      holdMs: 0,
      ...(profile !== undefined && { profile: { file: `${profile}-${i}.cpuprofile` } }),
    }));
    const times = queries.map(({ ms }) => ms);
    const mean = (of: keyof QueryCost) => queries.reduce((sum, each) => sum + each[of], 0) / queries.length;
    return {
      p50Ms: rounded(quantile(times, 0.5)),
      p99Ms: rounded(quantile(times, 0.99)),
      /** CPU of the instance: all threads, including time in the kernel and the HTTP server around the handler. */
      cpuMs: rounded(cpuMs),
      /**
       * CPU time while a cache answers repeated reads of DynamoDB and S3 (response-cache.ts). Without the cache, an
       * instance waits at least 20 ms for a read while the stand-in for AWS uses the same cores, so the same work takes
       * more CPU time.
       */
      keptCpuMs: rounded(kept.cpuMs),
      /** Number of sequential round trips to stores in a query. */
      rounds,
      requests: rounded(mean('requests')),
      /** Total size of the requests to stores and of their responses, in bytes. */
      bytes: Math.round(mean('bytes')),
      emulatorMs: rounded(mean('emulatorMs')),
    };
  }

  /** Returns the CPU that the instances use for each query of some work. */
  private async spent(
    work: () => Promise<readonly MeasuredQuery[]>,
  ): Promise<{ readonly cpuMs: number; readonly queries: readonly MeasuredQuery[] }> {
    const beforeMs = await this.cpuMs();
    const queries = await work();
    return { queries, cpuMs: ((await this.cpuMs()) - beforeMs) / queries.length };
  }

  private async repeat(
    i: number,
    pathOf: PathOf,
    apiKey: string,
    pauseMs: number,
    goesOn: (done: number) => boolean,
  ): Promise<MeasuredQuery[]> {
    const queries: MeasuredQuery[] = [];
    while (goesOn(queries.length)) {
      queries.push(await this.request(i, pathOf(i, queries.length), apiKey));
      if (pauseMs > 0) await sleep(2 * pauseMs * Math.random());
    }
    return queries;
  }

  /** Returns the number of rounds of a query: its duration as a multiple of the delay of responses. */
  private async rounds(pathOf: PathOf, apiKey: string): Promise<number> {
    const [instance] = this.instances as [Instance];
    const least = async () => {
      const times: number[] = [];
      for (let i = 0; i < 3; i++) {
        const { ms, emulatorMs } = await this.request(0, pathOf(0, 0), apiKey);
        times.push(ms + emulatorMs);
      }
      return Math.min(...times);
    };
    const unheldMs = await least();
    await instance.request({ holdMs: HOLD_MS } satisfies Order);
    const heldMs = await least();
    await instance.request({ holdMs: 0 } satisfies Order);
    return Math.round((heldMs - unheldMs) / HOLD_MS);
  }

  private async request(i: number, path: string, apiKey: string): Promise<MeasuredQuery> {
    const beganMs = performance.now();
    const { response, body } = await this.fetch(i, path, apiKey);
    const totalMs = performance.now() - beganMs;
    // Refuse an empty response, which would look fast.
    if (response.statusCode !== 200 || body.length < 200)
      throw new Error(`${path.slice(0, 200)}: ${response.statusCode} ${body.toString().slice(0, 500)}`);
    const cost = JSON.parse(response.headers[COST_HEADER] as string) as QueryCost;
    return { ...cost, ms: totalMs - cost.emulatorMs };
  }

  private async fetch(i: number, path: string, apiKey: string) {
    const { port } = this.instances[i]!.ready;
    const headers = { 'x-api-key': apiKey };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      get({ host: '127.0.0.1', port, path, headers, agent: this.agent }, resolve).on('error', reject);
    });
    return { response, body: await buffer(response) };
  }

  private order(orderOf: (instance: number) => Order): Promise<Spent[]> {
    return Promise.all(this.instances.map((instance, i) => instance.request<Spent>(orderOf(i))));
  }

  /** CPU of all instances so far. */
  private async cpuMs(): Promise<number> {
    return (await this.order(() => ({}))).reduce((sum, spent) => sum + spent.cpuMs, 0);
  }
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
