/** `npm run bench -- tenants`: what a flusher's round costs as idle tenants grow. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { Command } from 'commander';
import { hourlyLook, partitionsToRollUp } from '../../shared/archive/look';
import { archivePartitions } from '../../shared/archive/partitions';
import { rollUpPartitions } from '../../shared/archive/rollup';
import { Catalogue } from '../../shared/catalogue/catalogue';
import { ColdTier } from '../../shared/cold/cold-tier';
import { Directory } from '../../shared/cold/directory';
import { Manifest } from '../../shared/cold/manifest';
import { RollupDirectory } from '../../shared/cold/rollup-directory';
import { FlushLane } from '../../shared/flush/lane';
import { connectHot } from '../../shared/hot/connection';
import { HotTier } from '../../shared/hot/hot-tier';
import { DAY_MS } from '../../shared/model/duration';
import { type PartitionRef, tenantIdOf } from '../../shared/model/placement';
import { mapLimited } from '../../shared/platform/concurrency';
import { metaKeys } from '../../shared/platform/keys';
import { ENV } from '../../shared/platform/names';
import { parseSettings } from '../../shared/platform/settings';
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
  /** A round of the flusher's lane, or an hour's look of the archiver. */
  readonly round: number | 'archiver';
  readonly ms: number;
  /** CPU of this process. */
  readonly cpuMs: number;
  readonly dynamodbRequests: number;
  readonly cacheRequests: number;
  /** CPU of the cache. */
  readonly cacheCpuMs: number;
}

const HOUR_MS = 3_600_000;
const BORN_WITH = parseSettings({}).partitions;

/** @param args what follows `tenants` on the command line */
export async function benchTenants(args: string[]): Promise<void> {
  const command = new Command('bench tenants')
    .description(
      "What a round of the flusher's lane costs while tenants are idle: the first, which looks at all, and others; and the archiver's look of an hour.",
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
  await mapLimited(refs, 256, (ref) => hot.marks.mark(ref, ''));
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
    const nowMs = await hot.nodes.now();
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
  const requestsBefore = dynamodbRequests;
  const archiver = await archiverLook(dynamodb, stores, refs);
  rows.push({
    ...{ tenants: tenantCount, partitions: refs.length, round: 'archiver', ...archiver },
    dynamodbRequests: dynamodbRequests - requestsBefore,
    ...{ cacheRequests: 0, cacheCpuMs: 0 },
  });
  await hot.close();
  dynamodb.destroy();
  return rows;
}

/** Looks as the archiver does each hour, of tenants with {@link BORN_WITH} partitions of which only `registered` had samples. */
async function archiverLook(
  client: DynamoDBClient,
  { environment, address }: Stores,
  registered: readonly PartitionRef[],
): Promise<Pick<Row, 'ms' | 'cpuMs'>> {
  const table = (name: string) => ({ client, name: environment[name]! });
  const s3 = new S3Client({ ...address, forcePathStyle: true });
  const meta = table(ENV.metaTable);
  const dependencies = {
    warm: new WarmTier(table(ENV.warmTable), 35 * DAY_MS),
    cold: new ColdTier(s3, environment[ENV.bucket]!),
    catalogue: new Catalogue(meta, 460 * DAY_MS),
    manifest: new Manifest(meta),
    directory: new Directory(meta, 460 * DAY_MS),
    rollups: new RollupDirectory(meta, 460 * DAY_MS),
    now: Date.now,
  };
  const ids = [...new Set(registered.map(({ tenantId }) => tenantId))];
  const all = ids.flatMap((tenantId) =>
    Array.from({ length: BORN_WITH }, (_, partition) => ({ tenantId, partition })),
  );
  const [cpu, startedMs, nowMs] = [process.cpuUsage(), performance.now(), Date.now()];
  const look = hourlyLook(all, await new RecoveryTable(meta).registered(), nowMs, 5 * DAY_MS);
  const active = new Set<PartitionRef>();
  const hasTime = () => true;
  const onFailure = (_: unknown, __: unknown, error: Error) => {
    throw error;
  };
  await archivePartitions(dependencies, look.partitions, {
    ...{ beforeMs: nowMs - 2 * DAY_MS, archiveAfterMs: 2 * DAY_MS, retentionMs: () => 460 * DAY_MS },
    ...{
      fromDay: look.fromDay,
      partBytes: 256e6,
      purgeAgeMs: undefined,
      hasTime,
      mustStop: () => false,
      onFailure,
    },
    onActive: (ref) => active.add(ref),
  });
  await rollUpPartitions(dependencies, partitionsToRollUp(look, active), { hasTime, onFailure });
  const { user, system } = process.cpuUsage(cpu);
  s3.destroy();
  return { ms: Math.round(performance.now() - startedMs), cpuMs: Math.round((user + system) / 1000) };
}

async function cacheCpuMs({ redis }: Stores): Promise<number> {
  const cpu = await redis.info('cpu');
  const seconds = [...cpu.matchAll(/^used_cpu_(?:sys|user):([\d.]+)/gm)].map(([, text]) => Number(text));
  return 1000 * seconds.reduce((sum, each) => sum + each, 0);
}
