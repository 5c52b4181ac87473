import { hourlyLook, partitionsToRollUp } from '../../shared/archive/look';
import { archivePartitions } from '../../shared/archive/partitions';
import { rollUpPartitions } from '../../shared/archive/rollup';
import { FlushLane } from '../../shared/flush/lane';
import { DAY_MS } from '../../shared/model/duration';
import { type PartitionRef, tenantIdOf } from '../../shared/model/placement';
import { mapLimited } from '../../shared/platform/concurrency';
import { metaKeys } from '../../shared/platform/keys';
import { parseSettings } from '../../shared/platform/settings';
import { insertItems } from '../../shared/platform/table';
import { UsageTable } from '../../shared/tenancy/usage-table';
import { connectTiers, type Tiers } from './data/tenant-data';
import { bench } from './frame/bench';
import { ownCpu } from './frame/cpu';
import type { Frame } from './frame/frame';
import { count, numbers } from './frame/options';
import { nodeCpuMs } from './frame/redis-info';
import { type Stores, startStores } from './frame/stores';

const HOUR_MS = 3_600_000;
const BORN_WITH = parseSettings({}).partitions;

export const tenants = bench({
  name: 'tenants',
  summary: 'a round of the flusher as the number of idle tenants grows',
  description:
    "Measures the cost of a round of a flusher's lane while tenants are idle: of the first round, which surveys every tenant, and of " +
    "later rounds. Also measures the archiver's hourly check.",
  notes:
    'Real: the lane that the flusher function runs, Valkey, the SDK and its HTTP to the stand-in for DynamoDB (ministack).\n' +
    'Requests are those of the lane; the function adds some ten, whatever the number of tenants.',
  options: {
    tenants: numbers('tenants', [1000, 10_000]),
    partitions: count('partitions of each tenant that have had samples', 1),
    rounds: count('rounds', 6),
  },
  run: async ({ tenants, partitions, rounds }, frame) => {
    const rows: object[] = [];
    const stores = await startStores(frame);
    for (const count of tenants)
      await frame.part((part) => measure(part, stores, count, partitions, rounds, frame.adder(rows)));
    return { rows };
  },
});

async function measure(
  frame: Frame,
  stores: Stores,
  tenantCount: number,
  each: number,
  rounds: number,
  add: (row: object) => void,
): Promise<void> {
  const tiers = connectTiers(frame, stores);
  const { dynamodb, client, hot, meta } = tiers;
  const requests = { dynamodb: 0, cache: 0 };
  dynamodb.middlewareStack.add(
    (next) => (request) => {
      requests.dynamodb++;
      return next(request);
    },
    { step: 'initialize' },
  );
  const send = client.sendCommand.bind(client);
  client.sendCommand = (command: Parameters<typeof send>[0]) => {
    requests.cache++;
    return send(command);
  };
  const refs: PartitionRef[] = Array.from({ length: tenantCount }, (_, t) => tenantIdOf(`idle${t}`)).flatMap(
    (tenantId) => Array.from({ length: each }, (_, partition) => ({ tenantId, partition })),
  );
  await insertItems(meta, refs.map(metaKeys.knownPartition));
  await mapLimited(refs, 256, async (ref) => {
    await hot.marks.takeOver(ref, await hot.marks.inspect(ref));
  });
  /**
   * @param round number of the flusher's round, or `archiver` for its hourly check
   */
  const metered = async (round: number | 'archiver', work: () => Promise<void>) => {
    const [cacheMs, before, cpu, startedMs] = [
      await nodeCpuMs(stores.redis),
      { ...requests },
      ownCpu(),
      performance.now(),
    ];
    await work();
    add({
      tenants: tenantCount,
      partitions: refs.length,
      round,
      ms: Math.round(performance.now() - startedMs),
      cpuMs: Math.round(cpu()),
      dynamodbRequests: requests.dynamodb - before.dynamodb,
      cacheRequests: requests.cache - before.cache,
      cacheCpuMs: Math.round((await nodeCpuMs(stores.redis)) - cacheMs),
    });
  };
  const usage = new UsageTable(meta);
  const lane = new FlushLane({ ...tiers, usage, windowMs: HOUR_MS, now: Date.now }, 0, 1);
  for (let round = 1; round <= rounds; round++)
    await metered(round, async () => {
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
      if (remaining + failed > 0)
        throw new Error(`a round among idle tenants left ${remaining}, failed ${failed}`);
    });
  await metered('archiver', () => archiverLook(tiers, refs));
}

/**
 * Does the archiver's hourly check for tenants with {@link BORN_WITH} partitions, of which only `registered`
 * have had samples.
 */
async function archiverLook(tiers: Tiers, registered: readonly PartitionRef[]): Promise<void> {
  const dependencies = { ...tiers, now: Date.now };
  const ids = [...new Set(registered.map(({ tenantId }) => tenantId))];
  const all = ids.flatMap((tenantId) =>
    Array.from({ length: BORN_WITH }, (_, partition) => ({ tenantId, partition })),
  );
  const nowMs = Date.now();
  const look = hourlyLook(all, await tiers.recovery.registered(), nowMs, 5 * DAY_MS);
  const active = new Set<PartitionRef>();
  const hasTime = () => true;
  const onFailure = (_: unknown, __: unknown, error: Error) => {
    throw error;
  };
  await archivePartitions(dependencies, look.partitions, {
    beforeMs: nowMs - 2 * DAY_MS,
    archiveAfterMs: 2 * DAY_MS,
    retentionMs: () => 460 * DAY_MS,
    fromDay: look.fromDay,
    partBytes: 256e6,
    purgeAgeMs: undefined,
    hasTime,
    mustStop: () => false,
    onFailure,
    onActive: (ref) => active.add(ref),
  });
  await rollUpPartitions(dependencies, partitionsToRollUp(look, active), { hasTime, onFailure });
}
