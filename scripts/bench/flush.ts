/** `npm run bench -- flush`: samples a second from a full memory tier to DynamoDB, beside ingest. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { Command } from 'commander';
import { build } from 'esbuild';
import { Redis } from 'ioredis';
import { BUNDLE_OPTIONS } from '../../infra/bundle-options';
import { ENV } from '../../shared/platform/names';
import { parseSettings } from '../../shared/platform/settings';
import { RecoveryTable } from '../../shared/recovery/recovery-table';
import { Tenants } from '../../shared/tenancy/tenants';
import type { Flushed, FlushTask } from './flush-worker';
import { answer, ask, bundleWorker, cpuMs, mib, startWorker, sum } from './ingest';
import type { Round, Way } from './ingest-worker';
import { offer } from './offer';
import { flushPaperWay } from './paper-flush';
import { type Stores, startStores } from './stores';

export interface FlushLoad {
  readonly hosts: string;
  readonly metrics: string;
  readonly minutes: string;
  readonly rate: string;
  readonly lanes: string;
  readonly cpuProf?: string;
  readonly json?: boolean;
}

export interface Result {
  readonly pointsPerSecond: number;
  /** CPU seconds per million samples. */
  readonly cpu: { readonly flusher: number; readonly store: number };
  readonly ingestPointsPerSecond: number;
  readonly writeUnitsPerMillionPoints: number;
  readonly redisBytesPeak: number;
  /** Bytes of memory that samples took after each minute. */
  readonly bytesByMinute: readonly number[];
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** From the first sample's window to now: samples offered beside the flush must not lie ahead of now. */
const BEGIN_MS = 20 * HOUR_MS;

/** @param args what follows `flush` on the command line */
export async function benchFlush(args: string[]): Promise<void> {
  const command = new Command('bench flush')
    .description(
      'Fills a hot tier through the real post and ingester handlers, then lets the real flusher handler move it to DynamoDB ' +
        'while a process offers line protocol at a fixed rate to post and ingester.',
    )
    .option('--hosts <n>', 'hosts', '1000')
    .option('--metrics <n>', 'metrics of each', '100')
    .option(
      '--minutes <n>',
      'minutes in memory when the flush begins, one sample of each metric in each',
      '60',
    )
    .option('--rate <n>', 'samples a second offered beside the flush; 0 for none', '300000')
    .option('--lanes <n>', 'flushers side by side, each a process with its share of the partitions', '1')
    .option('--cpu-prof <dir>', 'write a CPU profile of each flusher there')
    .option('--json', 'one object on stdout, as the last line')
    .addHelpText(
      'after',
      '\nReal: the handlers, bundled as they are deployed; Valkey; the SDK and its HTTP to the stand-in for DynamoDB (ministack).\n' +
        'Stubbed: on the side of ingest Kinesis and DynamoDB are maps in its process (see `bench ingest`).\n' +
        'Write units are counted by the size of what is sent, one for each KB begun of an item, refused writes included.',
    );
  command.parse(args, { from: 'user' });
  const options = command.opts<FlushLoad>();
  const result = await measureFlush(options);
  if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`);
}

/** Fills memory, empties it into DynamoDB, and reports that on stderr. */
export async function measureFlush(
  options: FlushLoad,
  way: Exclude<Way, 'paper expiring'> = 'ours',
): Promise<Result> {
  const dir = mkdtempSync(join(tmpdir(), 'bench-flush-'));
  try {
    return await measure(dir, options, way);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function measure(dir: string, options: FlushLoad, way: Way): Promise<Result> {
  const stores = await startStores(dir);
  const children: ChildProcess[] = [];
  try {
    await makeTenant(stores);
    const load = { ...options, workers: '1', protocol: 'influx', cpuProf: undefined } as const;
    const ingest = await startWorker(await bundleWorker(dir), load, 0, stores.redisUrl);
    children.push(ingest);
    const flushers = way === 'ours' ? await startFlushers(dir, stores, options) : [];
    children.push(...flushers);

    const minutes = Number(options.minutes);
    const pointsPerMinute = Number(options.hosts) * Number(options.metrics);
    const fromMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - BEGIN_MS;
    const emptyBytes = await usedMemory(stores.redis);
    const bytesByMinute: number[] = [];
    for (let minute = 0; minute < minutes; minute++) {
      await ask(ingest, { make: [minute, fromMs + minute * MINUTE_MS] });
      const run = way === 'paper' && minute === minutes - 1 ? 'paper expiring' : way;
      await ask<Round>(ingest, { run });
      bytesByMinute.push((await usedMemory(stores.redis)) - emptyBytes);
    }
    if (way !== 'ours') return await emptyPaperWay(stores, bytesByMinute, minutes * pointsPerMinute);
    const [seconds, micros] = await stores.redis.time();
    const before = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
    const peakBytes = await peakMemory(stores);

    const over = new AbortController();
    // In later windows, as live data is; those are not due by `before`.
    const nextMs = fromMs + Math.ceil(minutes / 60) * HOUR_MS;
    const offered = offer(ingest, Number(options.rate), pointsPerMinute, nextMs, over.signal);
    const [hotMs, awsMs] = [cpuMs(stores.hot.pid()), cpuMs(stores.aws.pid())];
    const flushed = await Promise.all(
      flushers.map((flusher, lane) =>
        ask<Flushed>(flusher, {
          drain: true,
          before,
          lane,
          lanes: flushers.length,
        } satisfies FlushTask),
      ),
    );
    const [hotCpuMs, awsCpuMs] = [cpuMs(stores.hot.pid()) - hotMs, cpuMs(stores.aws.pid()) - awsMs];
    over.abort();
    const beside = await offered;

    const samples = sum(flushed, (each) => each.samples);
    // A flusher would move only a part of a window that is still growing.
    if (samples !== minutes * pointsPerMinute)
      throw new Error(`${samples} samples moved of ${minutes * pointsPerMinute}`);
    const elapsedMs =
      Math.max(...flushed.map(({ endMs }) => endMs)) - Math.min(...flushed.map(({ startMs }) => startMs));
    const millions = samples / 1e6;
    const flusherCpuMs = sum(flushed, (each) => each.cpuMs);
    const writeUnits = sum(flushed, ({ calls }) => sum(Object.values(calls), (of) => of.writeUnits));
    const result: Result = {
      pointsPerSecond: Math.round(samples / (elapsedMs / 1000)),
      ingestPointsPerSecond: Math.round(beside.points / (beside.elapsedMs / 1000)),
      writeUnitsPerMillionPoints: Math.round(writeUnits / millions),
      redisBytesPeak: Math.max(peakBytes, await peakMemory(stores)),
      cpu: { flusher: flusherCpuMs / 1000 / millions, store: hotCpuMs / 1000 / millions },
      bytesByMinute,
    };
    const seconds1 = (ms: number) => (ms / 1000 / millions).toFixed(3);
    process.stderr.write(
      `${samples} samples of ${sum(flushed, ({ windows }) => windows)} group-windows moved in ${elapsedMs} ms: ${result.pointsPerSecond} samples/s, ` +
        `${(sum(flushed, ({ bytes }) => bytes) / samples).toFixed(3)} chunk bytes a point\n` +
        `beside it line protocol, ${result.ingestPointsPerSecond} samples/s of ${options.rate} offered\n` +
        `CPU s per million samples: flusher ${seconds1(flusherCpuMs)} (${Math.round(samples / (flusherCpuMs / 1000))} samples per CPU s), ` +
        `store ${seconds1(hotCpuMs)} and stand-in for DynamoDB ${seconds1(awsCpuMs)}, the store's with what was offered; post ` +
        `${(beside.postCpuMs / 1000 / (beside.points / 1e6)).toFixed(3)}, ingest ${(beside.ingestCpuMs / 1000 / (beside.points / 1e6)).toFixed(3)}\n` +
        `write units per million samples ${result.writeUnitsPerMillionPoints}: ${describeCalls(flushed, millions)}\n` +
        `peak memory of the store ${mib(result.redisBytesPeak)}\n`,
    );
    return result;
  } finally {
    const gone = Promise.all(children.map((child) => once(child, 'exit')));
    for (const child of children) child.disconnect();
    await gone;
    await stores.stop();
  }
}

async function emptyPaperWay(
  stores: Stores,
  bytesByMinute: readonly number[],
  expected: number,
): Promise<Result> {
  const redis = new Redis(stores.redisUrl, { enableAutoPipelining: true });
  const client = new DynamoDBClient(stores.address);
  try {
    const peakBytes = await peakMemory(stores);
    const startMs = performance.now();
    const hotMs = cpuMs(stores.hot.pid());
    const cpu = process.cpuUsage();
    const { samples, writeUnits } = await flushPaperWay(redis, client, stores.environment[ENV.warmTable]!);
    const { user, system } = process.cpuUsage(cpu);
    if (samples !== expected) throw new Error(`${samples} samples moved of ${expected}`);
    const millions = samples / 1e6;
    return {
      pointsPerSecond: Math.round(samples / ((performance.now() - startMs) / 1000)),
      ingestPointsPerSecond: 0,
      writeUnitsPerMillionPoints: Math.round(writeUnits / millions),
      redisBytesPeak: peakBytes,
      cpu: {
        flusher: (user + system) / 1e6 / millions,
        store: (cpuMs(stores.hot.pid()) - hotMs) / 1000 / millions,
      },
      bytesByMinute,
    };
  } finally {
    redis.disconnect();
    client.destroy();
  }
}

/** As `ops tenants create` and the first appends do; the ingesting process has a copy of its own. */
async function makeTenant({ address, environment }: Stores): Promise<void> {
  const client = new DynamoDBClient(address);
  const table = { client, name: environment[ENV.metaTable]! };
  const { partitions } = parseSettings({});
  const { id: tenantId } = await new Tenants(table).create('bench', partitions);
  const recovery = new RecoveryTable(table);
  for (let partition = 0; partition < partitions; partition++)
    await recovery.register({ tenantId, partition });
  client.destroy();
}

async function startFlushers(
  dir: string,
  { environment }: Stores,
  { lanes, cpuProf }: FlushLoad,
): Promise<ChildProcess[]> {
  const outfile = join(dir, 'flusher.js');
  await build({
    ...BUNDLE_OPTIONS,
    entryPoints: [join(__dirname, 'flush-worker.ts')],
    outfile,
    minify: false,
  });
  return Promise.all(
    Array.from({ length: Number(lanes) }, async () => {
      const child = fork(outfile, {
        // The functions print their metrics.
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
        execArgv: cpuProf === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', cpuProf],
        env: environment,
      });
      await answer(child);
      return child;
    }),
  );
}

async function usedMemory(redis: Redis): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))![1]);
}

async function peakMemory({ redis }: Stores): Promise<number> {
  return Number(/^used_memory_peak:(\d+)/m.exec(await redis.info('memory'))![1]);
}

function describeCalls(flushed: readonly Flushed[], millions: number): string {
  const names = new Set(flushed.flatMap(({ calls }) => Object.keys(calls)));
  return [...names]
    .map((name) => {
      const of = flushed.flatMap(({ calls }) => calls[name] ?? []);
      const per = (count: number) => Math.round(count / millions);
      return `${name} ${per(sum(of, ({ writeUnits }) => writeUnits))} (${per(sum(of, ({ calls }) => calls))} calls)`;
    })
    .join(', ');
}
