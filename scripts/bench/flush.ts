import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { HOUR_MS, MINUTE_MS } from '../../shared/model/duration';
import { ENV } from '../../shared/platform/names';
import { parseSettings } from '../../shared/platform/settings';
import { RecoveryTable } from '../../shared/recovery/recovery-table';
import { Tenants } from '../../shared/tenancy/tenants';
import { bench } from './harness/bench';
import { cpuMs } from './harness/cpu';
import type { Harness } from './harness/harness';
import { count, text } from './harness/options';
import { peakMemory, usedMemory } from './harness/redis-info';
import { lineOf } from './harness/report';
import { type Stores, startStores } from './harness/stores';
import { Worker } from './harness/worker';
import { makeMinute, offer, postMinute, startIngest } from './ingest-load';
import type { Flushed, FlushRun } from './workers/flush';
import type { Way } from './workers/ingest';

/**
 * Time from the window of the first sample to now, in ms. Samples posted during the flush must not be in the future.
 */
const BEGIN_MS = 20 * HOUR_MS;

export const flush = bench({
  name: 'flush',
  summary: 'samples per second from memory to DynamoDB during ingest',
  description:
    'Fills a hot tier through the real post and ingester handlers, then lets the real flusher handler move it to DynamoDB while ' +
    'a process offers line protocol at a fixed rate to post and ingester.',
  notes:
    'Real: the handlers, bundled as they are deployed; Valkey; the SDK and its HTTP to the stand-in for DynamoDB (ministack).\n' +
    'Stubbed: for the process that posts, Kinesis and DynamoDB are maps in its memory (see `bench ingest`).\n' +
    'Write units follow from the size of each item: one for each KB, rounded up. Refused writes count too.',
  options: {
    hosts: count('hosts', 1000),
    metrics: count('metrics of each host', 100),
    minutes: count('minutes in memory when the flush begins, one sample of each metric in each', 60),
    rate: count('samples per second posted during the flush; 0 for none', 300_000, 0),
    cpuProf: text('<dir>', 'write a CPU profile of the flusher to this folder'),
  },
  run: (options, harness) => flushOurs(harness, options),
});

interface Filling {
  readonly hosts: number;
  readonly metrics: number;
  readonly minutes: number;
}

interface Flushing extends Filling {
  readonly rate: number;
  readonly cpuProf?: string | undefined;
}

/** Fills memory, then flushes it to DynamoDB with the deployed flusher. */
export function flushOurs(outer: Harness, options: Flushing) {
  return outer.part(async (harness) => {
    const { hosts, metrics, minutes, rate, cpuProf } = options;
    const stores = await startStores(harness);
    const flusher = await Worker.start(harness, 'flush', { env: stores.environment, cpuProf });
    const { ingest, fromMs, bytesByMinute } = await fillMemory(harness, stores, options);
    const [seconds, micros] = await stores.redis.time();
    const before = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
    const peakBytes = await peakMemory(stores.redis);

    const over = new AbortController();
    // During the flush, post samples of later windows, as live data would. These windows begin after `before`, so the
    // flusher leaves them in memory.
    const nextMs = fromMs + Math.ceil(minutes / 60) * HOUR_MS;
    const offered = offer(ingest, rate, hosts * metrics, nextMs, over.signal);
    const [storeMs, dynamodbMs] = [cpuMs(stores.hot.pid()), cpuMs(stores.aws.pid())];
    const run: FlushRun = { drain: true, before, lane: 0, lanes: 1 };
    const { samples, windows, bytes, calls, ...flushed } = await flusher.request<Flushed>(run);
    const perMillion = (total: number) => (total * 1e6) / samples;
    const cpu = {
      flusher: perMillion(flushed.cpuMs) / 1000,
      store: perMillion(cpuMs(stores.hot.pid()) - storeMs) / 1000,
    };
    const dynamodbCpu = perMillion(cpuMs(stores.aws.pid()) - dynamodbMs) / 1000;
    over.abort();
    const beside = await offered;

    // If samples are missing, the flusher met a window that was still growing, and moved only part of it.
    if (samples !== minutes * hosts * metrics)
      throw new Error(`${samples} of ${minutes * hosts * metrics} samples were moved`);
    const elapsedMs = flushed.endMs - flushed.startMs;
    for (const [operation, made] of Object.entries(calls))
      harness.log(
        lineOf({
          operation,
          callsPerMillion: Math.round(perMillion(made.calls)),
          writeUnitsPerMillion: Math.round(perMillion(made.writeUnits)),
        }),
      );
    harness.log(
      `${samples} samples of ${windows} group-windows moved in ${elapsedMs} ms, ${(bytes / samples).toFixed(3)} chunk bytes a ` +
        `point; CPU s per million: stand-in for DynamoDB ${dynamodbCpu.toFixed(3)}; beside it ${lineOf(beside.cpuPerMillion)}`,
    );
    const writeUnits = Object.values(calls).reduce((units, made) => units + made.writeUnits, 0);
    return {
      pointsPerSecond: Math.round((samples * 1000) / elapsedMs),
      ingestPointsPerSecond: beside.pointsPerSecond,
      writeUnitsPerMillionPoints: Math.round(perMillion(writeUnits)),
      redisBytesPeak: Math.max(peakBytes, await peakMemory(stores.redis)),
      /**
       * CPU seconds per million samples. The store's figure also includes appending the samples that are posted during
       * the flush.
       */
      cpu,
      /** Bytes of memory that the samples use after each minute. */
      bytesByMinute,
    };
  });
}

/** Posts some minutes of all hosts into memory. */
export async function fillMemory(
  harness: Harness,
  stores: Stores,
  { hosts, metrics, minutes }: Filling,
  way: Way = 'ours',
) {
  await makeTenant(stores);
  const load = { hosts, metrics, workers: 1, warmUpHosts: 0, protocol: 'influx', shape: 'dense' } as const;
  const ingest = await startIngest(harness, { ...load, redisUrl: stores.redisUrl });
  const fromMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - BEGIN_MS;
  const emptyBytes = await usedMemory(stores.redis);
  const bytesByMinute: number[] = [];
  const countMinute = harness.counter('minutes are posted', minutes);
  for (let minute = 0; minute < minutes; minute++) {
    await makeMinute(ingest, minute, fromMs + minute * MINUTE_MS);
    // In the last minute, register every series for the paper's flusher.
    await postMinute(ingest, way === 'paper' && minute === minutes - 1 ? 'paper expiring' : way);
    bytesByMinute.push((await usedMemory(stores.redis)) - emptyBytes);
    countMinute();
  }
  return { ingest, fromMs, bytesByMinute };
}

/**
 * Creates a tenant as `ops tenants create` does, and registers its partitions as the first appends do. The ingesting
 * process has its own cache of tenants.
 */
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
