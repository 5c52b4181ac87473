/** `npm run bench -- query`: time and cost of reads from each tier. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command, InvalidArgumentError, Option } from 'commander';
import { build } from 'esbuild';
import { BUNDLE_OPTIONS } from '../../infra/bundle-options';
import { parseDuration } from '../../shared/model/duration';
import { ASKED_HEADER } from './asked';
import { answer, ask, bundleWorker, startWorker, sum } from './ingest';
import { offer } from './offer';
import { quantile } from './quantile';
import { type QueryData, writeQueryData } from './query-data';
import type { Asked } from './query-worker';
import { type Stores, startStores } from './stores';

interface Options {
  readonly hosts: string;
  readonly clients: string;
  readonly seconds: string;
  /** ms */
  readonly pause: number;
  readonly ingest: string;
  readonly only?: string;
  readonly cpuProf?: string;
  readonly json?: boolean;
}

interface Result {
  readonly query: 'series' | 'host';
  readonly tier: 'hot' | 'warm' | 'cold';
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuMs: number;
  readonly rounds: number;
  readonly requests: number;
  readonly bytes: number;
  readonly underIngest: boolean;
  readonly emulatorMs: number;
}

const HOUR_MS = 3_600_000;
/** Warm-up queries of each instance, and their longest time: connections are then open, code is compiled. */
const WARM_UP = 200;
const WARM_UP_MS = 4_000;
/** Delay of answers when rounds are counted: far longer than anything else takes. */
const HOLD_MS = 100;
/** Hosts of the ingest beside the reads: a fifth of a second of it at 100,000 samples/s. */
const INGEST_HOSTS = 200;
const INGEST_METRICS = 100;

function parsePause(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('give a duration such as 100ms.');
  return ms;
}

/** @param args what follows `query` on the command line */
export async function benchQuery(args: string[]): Promise<void> {
  const command = new Command('bench query')
    .description(
      "Reads one series (`GET /api/v0/hosts/{id}/metrics`) and a host's 100 series (`GET /api/v1/hosts/{id}/metrics`): " +
        '1 h from memory, 24 h from DynamoDB, 30 days from S3 (of the 100 series in steps of an hour); at rest, and beside ingest.',
    )
    .option('--hosts <n>', 'hosts to read, 100 metrics each', '8')
    .option(
      '--clients <n>',
      'clients, each of which sends its next query when it has an answer; and as many instances of query',
      '8',
    )
    .addOption(
      new Option('--pause <duration>', 'mean time between two queries of a client; 0s keeps every core busy')
        .argParser(parsePause)
        .default(0, '0s'),
    )
    .option('--seconds <n>', 'how long each kind of query is measured', '5')
    .option(
      '--ingest <n>',
      'samples a second of line protocol beside the reads; 0 leaves that half out',
      '100000',
    )
    .option('--only <query-tier>', 'one kind of query, such as series-hot')
    .option('--cpu-prof <dir>', 'write a CPU profile of each instance there')
    .option('--json', 'an array on stdout, as the last line')
    .addHelpText(
      'after',
      '\nReal: the query handler, bundled as it is deployed, Valkey, the SDK and its HTTP to the stand-in for DynamoDB and S3 (ministack).\n' +
        'Stubbed: API Gateway and Lambda are a plain HTTP server in each instance; an instance answers one request at a time, as\n' +
        'in Lambda. Times are from request to answer over loopback, less the time in which an answer of the stand-in for AWS was\n' +
        'waited for (emulator). Rounds are how many times a query waits for stores one after the other: by how much it slows\n' +
        `when each of their answers is held back for ${HOLD_MS} ms. Bytes are those of the stores' requests and answers.`,
    );
  command.parse(args, { from: 'user' });
  const options = command.opts<Options>();
  const dir = mkdtempSync(join(tmpdir(), 'bench-query-'));
  const stores = await startStores(dir);
  const children: ChildProcess[] = [];
  try {
    const data = await writeQueryData(stores, Number(options.hosts), Date.now());
    const instances = await startInstances(dir, stores, options);
    children.push(...instances.map(({ child }) => child));
    const bench = new QueryBench(data, instances, Number(options.seconds) * 1000, options.pause);
    const results: Result[] = [];
    const run = async (underIngest: boolean) => {
      for (const tier of ['hot', 'warm', 'cold'] as const)
        for (const query of ['series', 'host'] as const)
          if (options.only === undefined || options.only === `${query}-${tier}`) {
            results.push(await bench.measure(query, tier, underIngest));
            process.stderr.write(`${describe(results.at(-1)!)}\n`);
          }
    };
    await run(false);
    if (Number(options.ingest) > 0) {
      const load = {
        hosts: String(INGEST_HOSTS),
        metrics: String(INGEST_METRICS),
        minutes: '0',
        workers: '1',
        protocol: 'influx',
      } as const;
      const ingest = await startWorker(await bundleWorker(dir), load, 0, stores.hot);
      children.push(ingest);
      const over = new AbortController();
      const fromMs = Date.now() - 20 * HOUR_MS;
      const points = INGEST_HOSTS * INGEST_METRICS;
      const offered = offer(ingest, Number(options.ingest), points, fromMs, over.signal);
      await run(true);
      over.abort();
      const beside = await offered;
      process.stderr.write(
        `beside ingest of ${Math.round(beside.points / (beside.elapsedMs / 1000))} samples/s of ${options.ingest} offered\n`,
      );
    }
    if (options.json) process.stdout.write(`${JSON.stringify(results)}\n`);
  } finally {
    const gone = Promise.all(children.map((child) => once(child, 'exit')));
    for (const child of children) child.disconnect();
    await gone;
    await stores.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

interface Instance {
  readonly child: ChildProcess;
  readonly port: number;
}

interface Answer extends Asked {
  /** Without the emulator's time. */
  readonly ms: number;
}

class QueryBench {
  private readonly agent = new Agent({ keepAlive: true });

  constructor(
    private readonly data: QueryData,
    private readonly instances: readonly Instance[],
    private readonly durationMs: number,
    private readonly pauseMs: number,
  ) {}

  async measure(query: Result['query'], tier: Result['tier'], underIngest: boolean): Promise<Result> {
    const { instances } = this;
    const warmMs = performance.now() + WARM_UP_MS;
    const isCold = (done: number) => done === 0 || (done < WARM_UP && performance.now() < warmMs);
    await Promise.all(instances.map((_, i) => this.repeat(i, query, tier, 0, isCold)));
    const rounds = await this.rounds(query, tier);
    const cpuBefore = await this.cpuMs();
    const endMs = performance.now() + this.durationMs;
    const answers = (
      await Promise.all(
        instances.map((_, i) => this.repeat(i, query, tier, this.pauseMs, () => performance.now() < endMs)),
      )
    ).flat();
    const cpuMs = (await this.cpuMs()) - cpuBefore;
    const times = answers.map(({ ms }) => ms);
    const mean = (of: (each: Answer) => number) => sum(answers, of) / answers.length;
    return {
      query,
      tier,
      p50Ms: rounded(quantile(times, 0.5)),
      p99Ms: rounded(quantile(times, 0.99)),
      cpuMs: rounded(cpuMs / answers.length),
      rounds,
      requests: rounded(mean(({ requests }) => requests)),
      bytes: Math.round(mean(({ bytes }) => bytes)),
      underIngest,
      emulatorMs: rounded(mean(({ emulatorMs }) => emulatorMs)),
    };
  }

  private async repeat(
    i: number,
    query: Result['query'],
    tier: Result['tier'],
    pauseMs: number,
    goesOn: (done: number) => boolean,
  ): Promise<Answer[]> {
    const answers: Answer[] = [];
    while (goesOn(answers.length)) {
      answers.push(await this.ask(i, answers.length, query, tier));
      if (pauseMs > 0) await sleep(2 * pauseMs * Math.random());
    }
    return answers;
  }

  /** A query's delay, in multiples of an answer's delay. */
  private async rounds(query: Result['query'], tier: Result['tier']): Promise<number> {
    const [{ child }] = this.instances as [Instance];
    const least = async () => {
      const times: number[] = [];
      for (let i = 0; i < 3; i++) {
        const { ms, emulatorMs } = await this.ask(0, 0, query, tier);
        times.push(ms + emulatorMs);
      }
      return Math.min(...times);
    };
    const unheldMs = await least();
    await ask(child, { holdMs: HOLD_MS });
    const heldMs = await least();
    await ask(child, { holdMs: 0 });
    return Math.round((heldMs - unheldMs) / HOLD_MS);
  }

  private async ask(i: number, turn: number, query: Result['query'], tier: Result['tier']): Promise<Answer> {
    const { hostIds, names, ranges, apiKey } = this.data;
    const { fromMs, toMs } = ranges[tier];
    // Both ends are included.
    const range = `from=${fromMs / 1000}&to=${toMs / 1000 - 60}`;
    const host = hostIds[(i + turn) % hostIds.length]!;
    const path =
      query === 'series'
        ? `/api/v0/hosts/${host}/metrics?name=${names[(i + turn * 7) % names.length]}&${range}`
        : `/api/v1/hosts/${host}/metrics?${names.map((name) => `name=${name}`).join('&')}&${range}${tier === 'cold' ? '&step=3600' : ''}`;
    const beganMs = performance.now();
    const { response, body } = await this.fetch(this.instances[i]!.port, path, apiKey);
    const totalMs = performance.now() - beganMs;
    // An empty answer is fast.
    if (response.statusCode !== 200 || body.length < 500)
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

  private async cpuMs(): Promise<number> {
    const answers = await Promise.all(
      this.instances.map(({ child }) => ask<{ cpuMs: number }>(child, { holdMs: 0 })),
    );
    return sum(answers, ({ cpuMs }) => cpuMs);
  }
}

async function startInstances(
  dir: string,
  { environment }: Stores,
  { clients, cpuProf }: Options,
): Promise<Instance[]> {
  const outfile = join(dir, 'query.js');
  await build({
    ...BUNDLE_OPTIONS,
    entryPoints: [join(__dirname, 'query-worker.ts')],
    outfile,
    minify: false,
  });
  return Promise.all(
    Array.from({ length: Number(clients) }, async () => {
      const child = fork(outfile, {
        // The functions print their metrics.
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
        execArgv: cpuProf === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', cpuProf],
        env: environment,
      });
      const { port } = await answer<{ port: number }>(child);
      return { child, port };
    }),
  );
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}

function describe({
  query,
  tier,
  p50Ms,
  p99Ms,
  cpuMs,
  rounds,
  requests,
  bytes,
  underIngest,
  emulatorMs,
}: Result) {
  return (
    `${query.padEnd(6)} ${tier.padEnd(4)} ${underIngest ? 'beside ingest' : 'at rest      '} p50 ${p50Ms} ms, p99 ${p99Ms} ms, CPU ${cpuMs} ms, ` +
    `${rounds} rounds, ${requests} requests, ${bytes} bytes; emulator ${emulatorMs} ms`
  );
}
