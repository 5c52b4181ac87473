/** `npm run bench -- tenants`: what a flusher's round costs as idle tenants grow. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { Command } from 'commander';
import { Catalogue } from '../../shared/catalogue/catalogue';
import { Manifest } from '../../shared/cold/manifest';
import { FlushLane } from '../../shared/flush/lane';
import { connectHot } from '../../shared/hot/connection';
import { HotTier } from '../../shared/hot/hot-tier';
import { DAY_MS } from '../../shared/model/duration';
import { type PartitionRef, tenantIdOf } from '../../shared/model/placement';
import { mapLimited } from '../../shared/platform/concurrency';
import { metaKeys } from '../../shared/platform/keys';
import { ENV } from '../../shared/platform/names';
import { insertItems } from '../../shared/platform/table';
import { LossWatch } from '../../shared/recovery/loss-watch';
import { RecoveryTable } from '../../shared/recovery/recovery-table';
import { Tenants } from '../../shared/tenancy/tenants';
import { UsageTable } from '../../shared/tenancy/usage-table';
import { WarmTier } from '../../shared/warm/warm-tier';
import { type Stores, startStores } from './stores';

interface Options {
  readonly tenants: string;
  readonly partitions: string;
  readonly rounds: string;
  readonly json?: boolean;
}

interface Row {
  readonly tenants: number;
  readonly partitions: number;
  readonly round: number;
  readonly ms: number;
  /** CPU of this process. */
  readonly cpuMs: number;
  readonly dynamodbRequests: number;
  readonly cacheRequests: number;
  /** CPU of the cache. */
  readonly cacheCpuMs: number;
}

const HOUR_MS = 3_600_000;

/** @param args what follows `tenants` on the command line */
export async function benchTenants(args: string[]): Promise<void> {
  const command = new Command('bench tenants')
    .description(
      "What a round of the flusher's lane costs while tenants are idle: the first, which looks at all, and others.",
    )
    .option('--tenants <n,...>', 'tenants', '1000,10000')
    .option('--partitions <n>', 'partitions of each that have had samples', '1')
    .option('--rounds <n>', 'rounds', '6')
    .option('--json', 'one object on stdout, as the last line')
    .addHelpText(
      'after',
      '\nReal: the lane that the flusher function runs, Valkey, the SDK and its HTTP to the stand-in for DynamoDB (ministack).\n' +
        'Requests are those of the lane; the function adds some ten, whatever the number of tenants.',
    );
  command.parse(args, { from: 'user' });
  const options = command.opts<Options>();
  const dir = mkdtempSync(join(tmpdir(), 'bench-tenants-'));
  const rows: Row[] = [];
  try {
    const stores = await startStores(dir);
    try {
      for (const tenants of options.tenants.split(',').map(Number))
        rows.push(...(await measure(stores, tenants, Number(options.partitions), Number(options.rounds))));
    } finally {
      await stores.stop();
    }
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
  console.log(
    '| tenants | partitions | round | ms | its CPU, ms | DynamoDB requests | cache requests | cache CPU, ms |',
  );
  console.log('| --- | --- | --- | --- | --- | --- | --- | --- |');
  for (const row of rows)
    console.log(
      `| ${row.tenants} | ${row.partitions} | ${row.round} | ${row.ms} | ${row.cpuMs} | ${row.dynamodbRequests} | ${row.cacheRequests} | ${row.cacheCpuMs} |`,
    );
  if (options.json) process.stdout.write(`${JSON.stringify({ rows })}\n`);
}

async function measure(stores: Stores, tenantCount: number, each: number, rounds: number): Promise<Row[]> {
  const dynamodb = new DynamoDBClient(stores.address);
  let dynamodbRequests = 0;
  dynamodb.middlewareStack.add(
    (next) => (request) => {
      dynamodbRequests++;
      return next(request);
    },
    { step: 'initialize' },
  );
  const table = (name: string) => ({ client: dynamodb, name: stores.environment[name]! });
  const meta = table(ENV.metaTable);
  const client = connectHot(stores.redisUrl);
  let cacheRequests = 0;
  const send = client.sendCommand.bind(client);
  client.sendCommand = (command: Parameters<typeof send>[0]) => {
    cacheRequests++;
    return send(command);
  };
  const hot = new HotTier(client, 3 * DAY_MS);
  const recovery = new RecoveryTable(meta);
  const refs: PartitionRef[] = Array.from({ length: tenantCount }, (_, t) => tenantIdOf(`idle${t}`)).flatMap(
    (tenantId) => Array.from({ length: each }, (_, partition) => ({ tenantId, partition })),
  );
  await insertItems(meta, refs.map(metaKeys.knownPartition));
  await mapLimited(refs, 256, (ref) => hot.mark(ref, ''));
  const lane = new FlushLane(
    {
      hot,
      warm: new WarmTier(table(ENV.warmTable), 35 * DAY_MS),
      catalogue: new Catalogue(meta, 460 * DAY_MS),
      manifest: new Manifest(meta),
      losses: new LossWatch({ hot, table: recovery, lanes: 1, now: Date.now }),
      usage: new UsageTable(meta),
      tenants: new Tenants(meta),
      recovery,
      windowMs: HOUR_MS,
      now: Date.now,
    },
    0,
    1,
  );
  const rows: Row[] = [];
  for (let round = 1; round <= rounds; round++) {
    dynamodbRequests = 0;
    cacheRequests = 0;
    const [before, cpu, startedMs] = [await cacheCpuMs(stores), process.cpuUsage(), performance.now()];
    const nowMs = await hot.now();
    const { remaining, failed } = await lane.round({
      nowMs,
      dueBeforeMs: nowMs - HOUR_MS,
      spreadMs: 0,
      watermarkMs: nowMs,
      isAll: false,
      startAt: 0,
      hasTime: () => true,
      onFailure: (_, error) => {
        throw error;
      },
    });
    const ms = performance.now() - startedMs;
    const { user, system } = process.cpuUsage(cpu);
    const after = await cacheCpuMs(stores);
    if (remaining + failed > 0)
      throw new Error(`a round among idle tenants left ${remaining}, failed ${failed}`);
    rows.push({
      tenants: tenantCount,
      partitions: refs.length,
      round,
      ms: Math.round(ms),
      cpuMs: Math.round((user + system) / 1000),
      dynamodbRequests,
      cacheRequests,
      cacheCpuMs: Math.round(after - before),
    });
  }
  await hot.close();
  dynamodb.destroy();
  return rows;
}

async function cacheCpuMs({ redis }: Stores): Promise<number> {
  const cpu = await redis.info('cpu');
  const seconds = [...cpu.matchAll(/^used_cpu_(?:sys|user):([\d.]+)/gm)].map(([, text]) => Number(text));
  return 1000 * seconds.reduce((sum, each) => sum + each, 0);
}
