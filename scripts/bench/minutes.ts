/** `npm run bench -- minutes`: an archived day of a sample a second, read by the minute with and without stored minutes. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3';
import { Command } from 'commander';
import { mergeInTime } from '../../shared/archive/merge';
import { rollUpPartitions } from '../../shared/archive/rollup';
import { Catalogue } from '../../shared/catalogue/catalogue';
import type { Block, Column } from '../../shared/codec';
import { ColdTier } from '../../shared/cold/cold-tier';
import { Directory } from '../../shared/cold/directory';
import { Manifest } from '../../shared/cold/manifest';
import { rollupDirectory } from '../../shared/compose/rollup-directory';
import { connectHot } from '../../shared/hot/connection';
import { HotTier } from '../../shared/hot/hot-tier';
import { DAY_MS } from '../../shared/model/duration';
import { metricOf, sourceOf } from '../../shared/model/labels';
import { type Layout, layoutOf, packLayout } from '../../shared/model/layout';
import { dayOf, groupIdOf, partitionOf, sourceIdOf } from '../../shared/model/placement';
import { bucketKeys } from '../../shared/platform/keys';
import { ENV } from '../../shared/platform/names';
import { parseSettings } from '../../shared/platform/settings';
import { LossWatch } from '../../shared/recovery/loss-watch';
import { RecoveryTable } from '../../shared/recovery/recovery-table';
import { Hosts } from '../../shared/registry/hosts';
import { ApiKeys } from '../../shared/tenancy/api-keys';
import { Tenants } from '../../shared/tenancy/tenants';
import { Random } from '../faults/random';
import { makeHost, moveFrame } from './query-data';
import { type Measured, QueryInstances, timesOf } from './query-instances';
import { type Stores, startStores } from './stores';

interface Options {
  readonly series: string;
  readonly missing: string;
  readonly seconds: string;
  readonly json?: boolean;
}

/** The archiver's work on the day's rollups, once the day is archived. */
interface RolledUp {
  readonly rollups: 'on' | 'minutes';
  readonly cpuSeconds: number;
  /** Of the archive's object, and of the objects of rollups. */
  readonly archiveBytes: number;
  readonly rollupBytes: number;
}

interface Read extends Measured {
  readonly query: string;
  readonly rollups: RolledUp['rollups'];
}

const SECOND_MS = 1000;
const HOUR_MS = 3_600_000;
/** Days ago: archived, and asked of the manifest first. */
const AGE_DAYS = 4;

/** @param args what follows `minutes` on the command line */
export async function benchMinutes(args: string[]): Promise<void> {
  const command = new Command('bench minutes')
    .description(
      'Archives a day of a host with a sample a second of each series, rolls it up with rollups=on and rollups=minutes, and reads ' +
        'the day by the minute, and by 5 minutes.',
    )
    .option('--series <n>', 'series of the host, 256 at most', '100')
    .option('--missing <percent>', 'seconds that the host did not post, at random', '0')
    .option('--seconds <n>', 'how long each kind of query is measured', '3')
    .option('--json', 'one object on stdout, as the last line');
  command.parse(args, { from: 'user' });
  const options = command.opts<Options>();
  const dir = mkdtempSync(join(tmpdir(), 'bench-minutes-'));
  const stores = await startStores(dir);
  try {
    const day = await writeDay(stores, Number(options.series), Number(options.missing) / 100);
    const rolledUp: RolledUp[] = [];
    const reads: Read[] = [];
    for (const rollups of ['on', 'minutes'] as const) {
      rolledUp.push(await day.rollUp(rollups));
      process.stderr.write(`${JSON.stringify(rolledUp.at(-1))}\n`);
      const settings = JSON.stringify(parseSettings({ rollups }));
      const environment = { ...stores.environment, [ENV.settings]: settings };
      const instances = await QueryInstances.start(dir, { ...stores, environment }, 1);
      try {
        for (const [query, pathOf] of Object.entries(day.queries)) {
          const timing = { durationMs: Number(options.seconds) * 1000, pauseMs: 0 };
          const measured = await instances.measure((_, turn) => pathOf(turn), day.apiKey, timing);
          reads.push({ query, rollups, ...measured });
          const { rounds, requests, bytes } = measured;
          process.stderr.write(
            `${query}, rollups=${rollups}: ${timesOf(measured)}, ${rounds} rounds, ${requests} requests, ${bytes} bytes\n`,
          );
        }
      } finally {
        await instances.stop();
      }
    }
    await day.close();
    if (options.json) process.stdout.write(`${JSON.stringify({ rolledUp, reads })}\n`);
  } finally {
    await stores.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Archives the day, as the archiver does. */
async function writeDay({ address, environment, redisUrl }: Stores, series: number, missing: number) {
  const settings = parseSettings({});
  const dynamodb = new DynamoDBClient(address);
  const s3 = new S3Client({ ...address, forcePathStyle: true });
  const client = connectHot(redisUrl);
  const meta = { client: dynamodb, name: environment[ENV.metaTable]! };
  const bucket = environment[ENV.bucket]!;
  const cold = new ColdTier(s3, bucket);
  const catalogue = new Catalogue(meta, settings.retention);
  const manifest = new Manifest(meta);
  const tenant = await new Tenants(meta).create('dense', 1);
  const { key: apiKey } = await new ApiKeys(meta).create({ tenant: 'dense', rights: ['read'] });
  const hostId = await makeHost(new Hosts(meta), tenant, 0);
  const source = sourceOf.host(hostId);
  const sourceId = sourceIdOf(tenant.id, source);
  const names = Array.from({ length: series }, (_, i) => `metric.${i}`);
  const layout = layoutOf(names.map((name) => metricOf(source, name)));
  const group = groupIdOf(sourceId, 0, 0);
  const ref = { tenantId: tenant.id, partition: partitionOf(sourceId, 1) };
  const startMs = Math.floor(Date.now() / DAY_MS - AGE_DAYS) * DAY_MS;
  const day = dayOf(startMs);
  const { packed } = packLayout(layout.bytes);
  await catalogue.put(tenant.id, { group, id: layout.id, packed, firstMs: startMs }, settings.window);
  const hot = new HotTier(client, settings.streamRetention);
  await new LossWatch({ hot, table: new RecoveryTable(meta), lanes: 1, now: Date.now }).resolve(ref);
  const values = names.map((name) => ({ labels: { __name__: name }, timestamps: [], values: [0] }));
  await moveFrame(hot, { ref, group, layout, phase: 0 }, values, startMs);
  const upload = cold.begin(cold.newKey(ref, day, 1));
  const random = new Random(1);
  const hours = Array.from({ length: 24 }, (_, hour) => ({
    layout,
    block: hourOf(layout, startMs + hour * HOUR_MS, missing, random),
  }));
  await upload.writer.addGroup(group, mergeInTime(hours));
  const { key, etag, bytes, ...written } = await upload.finish(new Map());
  const samples = hours.reduce((sum, { block }) => sum + block.timestamps.length * series, 0);
  await new Directory(meta, settings.retention).put(tenant.id, day, { key, etag, ...written });
  await manifest.announce(ref, day);
  const parts = [{ key, etag, bytes, samples, firstGroup: '' }];
  await manifest.commit(ref, day, undefined, { changes: 1, parts, atMs: Date.now() });
  const asked = (stepS: number) => `from=${startMs / 1000}&to=${(startMs + DAY_MS) / 1000 - 1}&step=${stepS}`;
  const seriesPath = (turn: number, stepS: number) =>
    `/api/v0/hosts/${hostId}/metrics?name=${names[(turn * 7) % series]}&${asked(stepS)}`;
  const hostPath = `/api/v1/hosts/${hostId}/metrics?${names.map((name) => `name=${name}`).join('&')}&${asked(300)}`;
  return {
    apiKey,
    queries: {
      'a series by the minute': (turn: number) => seriesPath(turn, 60),
      'a series by 5 minutes': (turn: number) => seriesPath(turn, 300),
      'all series by 5 minutes': () => hostPath,
    },
    async rollUp(rollups: RolledUp['rollups']): Promise<RolledUp> {
      const { user, system } = process.cpuUsage();
      const directory = rollupDirectory(meta, { ...settings, rollups })!;
      await rollUpPartitions({ cold, catalogue, manifest, rollups: directory }, [ref], {
        hasTime: () => true,
        onFailure: (_, __, error) => {
          throw error;
        },
      });
      const spent = process.cpuUsage();
      const cpuSeconds = Math.round((spent.user + spent.system - user - system) / 1e4) / 100;
      let rollupBytes = 0;
      const listing = { Bucket: bucket, Prefix: bucketKeys.rollupsOf(tenant.id) };
      for await (const { Contents = [] } of paginateListObjectsV2({ client: s3 }, listing))
        for (const { Size = 0 } of Contents) rollupBytes += Size;
      return { rollups, cpuSeconds, archiveBytes: bytes, rollupBytes };
    },
    async close() {
      client.disconnect();
      dynamodb.destroy();
      s3.destroy();
    },
  };
}

/** Gauges that walk at random in steps of a quarter, a fifth of them at rest; each second that is not missing. */
function hourOf(layout: Layout, startMs: number, missing: number, random: Random): Block {
  const seconds = Array.from({ length: HOUR_MS / SECOND_MS }, (_, i) => startMs + i * SECOND_MS);
  const timestamps = Float64Array.from(seconds.filter(() => random.next() >= missing));
  const columns = layout.series.map((_, series): Column => {
    let value = random.integer(0, 4000);
    const values = timestamps.map(() => {
      if (series % 5 !== 0) value += random.integer(-4, 4);
      return value / 4;
    });
    return { values };
  });
  const versions = Array.from(timestamps, (ms) => ({ arrivalMs: ms + 500, sequence: BigInt(ms) }));
  const rowVersions = Uint32Array.from(timestamps, (_, row) => row);
  return { layout: layout.idBytes, timestamps, versions, rowVersions, columns };
}
