/**
 * `npm run bench -- ingest`: samples a second through the real post and ingester handlers into a real Valkey, and the same
 * samples the paper's way.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { build } from 'esbuild';
import type { Redis } from 'ioredis';
import { BUNDLE_OPTIONS } from '../../infra/bundle-options';
import { POST_NODE_OPTIONS } from '../../infra/functions/node-options';
import { ENV } from '../../shared/platform/names';
import { parseSettings } from '../../shared/platform/settings';
import { type Protocol, SHAPES, type Shape } from './agent-bodies';
import { startHotNodes } from './hot-nodes';
import type { Round, Way, WorkerTask } from './ingest-worker';
import type { LabelledProtocol } from './labelled-bodies';
import { warmBytesOf } from './warm-bytes';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Series are known in a minute in which at most this part of the samples is of new ones. */
const MAX_NEW = 1e-4;
const WARM_UP_MINUTES = 3;

const PROTOCOLS: readonly string[] = ['mackerel', 'influx', 'remote-write', 'otlp'];

/** The load, and the number of processes that post it. */
export interface Load {
  readonly hosts: string;
  readonly metrics: string;
  readonly minutes: string;
  readonly workers: string;
  /** Other hosts that post before. @default none */
  readonly warmUp?: string;
  /** Primaries of the hot tier. @default 1 */
  readonly nodes?: number;
  readonly protocol: Protocol | LabelledProtocol;
  /** @default dense */
  readonly shape?: Shape;
  /** Formats to write. @default the release's choice */
  readonly cpuProf?: string;
  readonly json?: boolean;
}

interface Options extends Load {
  readonly paper: boolean;
}

interface Result {
  readonly protocol: Protocol | LabelledProtocol;
  readonly shape: Shape;
  readonly series: number;
  readonly coldPointsPerSecond: number;
  readonly warmPointsPerSecond: number;
  readonly seedPointsPerSecond: number;
  readonly ratioToSeed: number;
  readonly cpuSecondsPerMillion: { readonly post: number; readonly ingest: number };
  readonly hotBytesPerPoint: number;
  /** Of the chunks that a flush would make of it. */
  readonly warmBytesPerPoint: number;
  /** Of the minutes after the first in which some series are new; 0 where there are none. */
  readonly growingPointsPerSecond: number;
  readonly peakRssBytes: number;
}

/** @param args what follows `ingest` on the command line */
export async function benchIngest(args: string[]): Promise<void> {
  const command = new Command('bench ingest')
    .description(
      'Samples a second through the post handler (authentication, limits, validation, encoding), batches as the event ' +
        'source mapping cuts them, and the ingester handler with its catalogue writes, into a real Valkey on loopback. ' +
        'The handlers are bundled as they are deployed.',
    )
    .option('--hosts <n>', 'hosts', '10000')
    .option('--metrics <n>', 'metrics of each', '100')
    .option('--minutes <n>', 'minutes that each host posts; in the first every series is new', '30')
    .option(
      '--workers <n>',
      'processes, each a shard with the functions beside it',
      String(Math.min(2, cpus().length)),
    )
    .option(
      '--protocol <name>',
      'mackerel (JSON, one host a request), influx (20 lines a request), remote-write or otlp (2,000 samples of 10 labels a ' +
        'request, a host is a target)',
      'mackerel',
    )
    .option(
      '--warm-up <n>',
      'other hosts that post for three minutes before: the first minute then measures new series, not new processes ' +
        '(default: as many as have 100,000 series)',
    )
    .option(
      '--shape <name>',
      Object.entries(SHAPES)
        .map(([name, what]) => `${name}: ${what}`)
        .join('; '),
      'dense',
    )
    .option('--no-paper', "leave the paper's way out")
    .option('--cpu-prof <dir>', 'write a CPU profile of each process there')
    .option('--json', 'one object on stdout')
    .addHelpText(
      'after',
      '\nStubbed: the sockets of the AWS SDK, behind which Kinesis and DynamoDB are maps in the same process (their own\n' +
        'time is subtracted from CPU figures), API Gateway, and the JSON of the invocations.\n' +
        "The paper's way: the same post stage, then one script call a host, in it for each sample APPEND of 16 bytes,\n" +
        'a look at the time to live, and a timer or a stream entry.',
    );
  command.parse(args, { from: 'user' });
  const given = command.opts<Options>();
  const asked = { ...given, warmUp: given.warmUp ?? String(Math.ceil(100_000 / Number(given.metrics))) };
  const { shape = 'dense' } = asked;
  if (!(shape in SHAPES)) throw new Error(`--shape is ${Object.keys(SHAPES).join(', ')}, not ${shape}`);
  const isLabelled = asked.protocol === 'remote-write' || asked.protocol === 'otlp';
  const options: Options =
    shape === 'dense'
      ? { ...asked, paper: asked.paper && !isLabelled }
      : {
          ...asked,
          // Mackerel's posts are dense, and the paper's way knows no others.
          ...{ protocol: 'influx', paper: false },
          ...(shape === 'lone' && {
            hosts: String(Number(asked.hosts) * Number(asked.metrics)),
            metrics: '1',
          }),
        };
  if (!PROTOCOLS.includes(options.protocol))
    throw new Error(`--protocol is one of ${PROTOCOLS.join(', ')}, not ${options.protocol}`);
  const ours = await measureIngest(options);
  const paper = options.paper ? await measureIngest({ ...options, minutes: '3' }, 'paper') : undefined;
  const seedPointsPerSecond = paper?.warm.pointsPerSecond ?? 0;
  const result: Result = {
    protocol: options.protocol,
    shape,
    series: Number(options.hosts) * Number(options.metrics),
    coldPointsPerSecond: Math.round(ours.cold.pointsPerSecond),
    warmPointsPerSecond: Math.round(ours.warm.pointsPerSecond),
    seedPointsPerSecond: Math.round(seedPointsPerSecond),
    ratioToSeed: paper === undefined ? 0 : ours.warm.pointsPerSecond / seedPointsPerSecond,
    cpuSecondsPerMillion: ours.warm.cpu,
    hotBytesPerPoint: ours.hotBytesPerPoint,
    warmBytesPerPoint: ours.warmBytesPerPoint,
    growingPointsPerSecond: Math.round(ours.growing?.pointsPerSecond ?? 0),
    peakRssBytes: ours.peakRssBytes,
  };
  if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`);
  else {
    process.stdout.write(
      `${options.protocol}, ${shape}, ${result.series} series, ${options.minutes} minutes\n`,
    );
    for (const [name, phase] of Object.entries({
      cold: ours.cold,
      ...(ours.growing && { growing: ours.growing }),
      warm: ours.warm,
      ...(paper && { paper: paper.warm }),
    }))
      process.stdout.write(`${name.padEnd(7)} ${describe(phase)}\n`);
    process.stdout.write(
      `hot bytes a point ${result.hotBytesPerPoint.toFixed(2)}, warm ${result.warmBytesPerPoint.toFixed(2)}, peak memory of a process ${mib(result.peakRssBytes)}, of the store ${mib(ours.storePeakBytes)}` +
        `${paper === undefined ? '' : `; ${result.ratioToSeed.toFixed(1)} times the paper's way`}\n`,
    );
  }
}

export interface Phase {
  readonly pointsPerSecond: number;
  /** The part of the samples whose series were never posted before. */
  readonly newFraction: number;
  /** Seconds per million samples. */
  readonly cpu: {
    readonly post: number;
    readonly ingest: number;
    readonly store: number;
    readonly busiestNode: number;
  };
  readonly recordBytes: number;
  readonly redisCallsPerMillion: number;
  /** Units of 25 KB, at least one a record. */
  readonly putUnitsPerMillion: number;
  /** The ingester's, and those of post's counters; `bench flush` counts a flush's. */
  readonly writeUnitsPerMillion: number;
  readonly calls: Readonly<Record<string, number>>;
}

/** Bundles both handlers as they are deployed, except for the SDK's sockets. */
export async function bundleWorker(dir: string): Promise<string> {
  const outfile = join(dir, 'worker.js');
  await build({
    ...BUNDLE_OPTIONS,
    entryPoints: [join(__dirname, 'ingest-worker.ts')],
    outfile,
    minify: false,
    alias: { '@smithy/node-http-handler': join(__dirname, 'in-process-aws.ts') },
  });
  return outfile;
}

/**
 * Runs a load into an empty store. In its first minute every series is new, in the others all are known; where requests have
 * random parts of their hosts, some series are new in each of the first dozen minutes.
 */
export async function measureIngest(load: Load, way: Way = 'ours') {
  const dir = mkdtempSync(join(tmpdir(), 'bench-ingest-'));
  try {
    return await measure(dir, await bundleWorker(dir), load, way);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function measure(dir: string, bundle: string, options: Load, way: Way) {
  const nodes = await startHotNodes(join(dir, way), options.nodes ?? 1);
  try {
    const workers = await Promise.all(
      Array.from({ length: Number(options.workers) }, (_, worker) =>
        startWorker(bundle, options, worker, nodes.url),
      ),
    );
    const minutes = Number(options.minutes);
    // An hour begins with it, so that 60 minutes are one window.
    const fromMs = Math.floor((Date.now() - minutes * MINUTE_MS) / HOUR_MS) * HOUR_MS;
    for (let minute = -WARM_UP_MINUTES; minute < 0 && Number(options.warmUp ?? 0) > 0; minute++) {
      const make = [minute + WARM_UP_MINUTES, fromMs + minute * MINUTE_MS, true];
      await Promise.all(workers.map((worker) => ask(worker, { make })));
      await Promise.all(workers.map((worker) => ask<Round>(worker, { run: way })));
    }
    const emptyBytes = await nodes.usedMemory();
    const phases: Phase[] = [];
    let peakRssBytes = 0;
    let points = 0;
    for (let minute = 0; minute < minutes; minute++) {
      await Promise.all(
        workers.map((worker) => ask(worker, { make: [minute, fromMs + minute * MINUTE_MS] })),
      );
      const storeMs = nodes.cpuMs();
      const callsBefore = await scriptCalls(nodes.clients);
      const rounds = await Promise.all(workers.map((worker) => ask<Round>(worker, { run: way })));
      const spentMs = nodes.cpuMs().map((ms, node) => ms - storeMs[node]!);
      phases.push(phaseOf(rounds, spentMs, (await scriptCalls(nodes.clients)) - callsBefore));
      points += sum(rounds, (round) => round.points);
      peakRssBytes = Math.max(...rounds.map((round) => round.peakRssBytes));
      if (!options.json) process.stderr.write(`${way} minute ${minute}: ${describe(phases.at(-1)!)}\n`);
    }
    const gone = Promise.all(workers.map((worker) => once(worker, 'exit')));
    for (const worker of workers) worker.disconnect();
    await gone;
    const [cold, ...later] = phases;
    const known = later.filter(({ newFraction }) => newFraction <= MAX_NEW);
    if (known.length === 0)
      throw new Error(`some series are new in each of ${minutes} minutes: ask for more`);
    return {
      cold: cold!,
      /** Of the minutes after the first in which some series are new; undefined where there are none. */
      growing: median(later.filter(({ newFraction }) => newFraction > MAX_NEW)),
      warm: median(known)!,
      /** Of all minutes in which the series are known. */
      warmCpu: meanCpu(known),
      warmBytesPerPoint: way === 'ours' ? await warmBytesOf(nodes.clients[0]!) : 0,
      hotBytesPerPoint: ((await nodes.usedMemory()) - emptyBytes) / points,
      peakRssBytes,
      storePeakBytes: await peakMemory(nodes.clients),
    };
  } finally {
    await nodes.stop();
  }
}

export async function startWorker(
  bundle: string,
  options: Load,
  worker: number,
  redisUrl: string,
): Promise<ChildProcess> {
  const task: WorkerTask = {
    worker,
    workers: Number(options.workers),
    hosts: Number(options.hosts),
    warmUpHosts: Number(options.warmUp ?? 0),
    metrics: Number(options.metrics),
    protocol: options.protocol,
    shape: options.shape ?? 'dense',
    redisUrl,
  };
  const child = fork(bundle, {
    // The functions print their metrics.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    execArgv: [
      POST_NODE_OPTIONS,
      '--expose-gc',
      ...(options.cpuProf === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', options.cpuProf]),
    ],
    env: {
      ...process.env,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'test',
      AWS_SECRET_ACCESS_KEY: 'test',
      BENCH_TASK: JSON.stringify(task),
      // Limits that a tenant of this size needs.
      [ENV.settings]: JSON.stringify(parseSettings({ maxSamplesPerMinute: 1e12, maxSeries: 1e9 })),
      [ENV.stream]: 'stream',
      [ENV.metaTable]: 'meta',
      [ENV.bucket]: 'bucket',
      [ENV.redis]: redisUrl,
    },
  });
  await answer(child);
  return child;
}

export function ask<T>(worker: ChildProcess, message: object): Promise<T> {
  const answered = answer<T>(worker);
  worker.send(message);
  return answered;
}

export async function answer<T>(worker: ChildProcess): Promise<T> {
  const over = new AbortController();
  const { signal } = over;
  const exited = once(worker, 'exit', { signal }).then(() => {
    throw new Error('a worker ended');
  });
  try {
    const [message] = (await Promise.race([once(worker, 'message', { signal }), exited])) as [T];
    return message;
  } finally {
    exited.catch(() => {});
    over.abort();
  }
}

function phaseOf(rounds: readonly Round[], nodesCpuMs: readonly number[], redisCalls: number): Phase {
  const points = sum(rounds, (round) => round.points);
  const startMs = Math.min(...rounds.map((round) => round.startMs));
  const endMs = Math.max(...rounds.map((round) => round.endMs));
  const perMillion = (ms: number) => ms / 1000 / (points / 1e6);
  const names = new Set(rounds.flatMap(({ calls }) => Object.keys(calls)));
  return {
    pointsPerSecond: points / ((endMs - startMs) / 1000),
    newFraction: sum(rounds, (round) => round.newPoints) / points,
    cpu: {
      post: perMillion(sum(rounds, ({ postCpuMs }) => postCpuMs)),
      ingest: perMillion(sum(rounds, ({ ingestCpuMs }) => ingestCpuMs)),
      store: perMillion(sum(nodesCpuMs, (ms) => ms)),
      busiestNode: perMillion(Math.max(...nodesCpuMs)),
    },
    recordBytes: sum(rounds, ({ recordBytes }) => recordBytes) / points,
    redisCallsPerMillion: redisCalls / (points / 1e6),
    putUnitsPerMillion: sum(rounds, ({ putUnits }) => putUnits) / (points / 1e6),
    writeUnitsPerMillion: sum(rounds, ({ writeUnits }) => writeUnits) / (points / 1e6),
    calls: Object.fromEntries([...names].map((name) => [name, sum(rounds, ({ calls }) => calls[name] ?? 0)])),
  };
}

/** The phase of median speed; undefined of none. */
function median(phases: readonly Phase[]): Phase | undefined {
  const sorted = [...phases].sort((a, b) => a.pointsPerSecond - b.pointsPerSecond);
  return sorted[sorted.length >> 1];
}

function meanCpu(phases: readonly Phase[]): Phase['cpu'] {
  const mean = (name: keyof Phase['cpu']) => sum(phases, ({ cpu }) => cpu[name]) / phases.length;
  return {
    post: mean('post'),
    ingest: mean('ingest'),
    store: mean('store'),
    busiestNode: mean('busiestNode'),
  };
}

function describe({ pointsPerSecond, cpu, recordBytes, calls }: Phase): string {
  const operations = Object.entries(calls)
    .filter(([, n]) => n > 0)
    .map(([name, n]) => `${name} ${n}`);
  return (
    `${Math.round(pointsPerSecond / 1000)} k samples/s; CPU s per million: post ${cpu.post.toFixed(3)}, ingest ${cpu.ingest.toFixed(3)}, ` +
    `store ${cpu.store.toFixed(3)}; stream bytes a point ${recordBytes.toFixed(1)}; ${operations.join(', ')}`
  );
}

/** Scripts run so far. */
async function scriptCalls(clients: readonly Redis[]): Promise<number> {
  const infos = await Promise.all(clients.map((client) => client.info('commandstats')));
  return sum(infos, (info) => Number(/^cmdstat_evalsha:calls=(\d+)/m.exec(info)?.[1] ?? 0));
}

async function peakMemory(clients: readonly Redis[]): Promise<number> {
  const infos = await Promise.all(clients.map((client) => client.info('memory')));
  return sum(infos, (info) => Number(/^used_memory_peak:(\d+)/m.exec(info)![1]));
}

/** CPU a process has used, ms, at 100 ticks a second. @see proc_pid_stat(5) */
export function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

export function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}

export function mib(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MiB`;
}
