import { createHash } from 'node:crypto';
import { KinesisClient, ListShardsCommand, type Shard } from '@aws-sdk/client-kinesis';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { Faults } from '../../scripts/faults/faults';
import { localAws } from '../../scripts/local/provision';
import { type RunningStack, startStack } from '../../scripts/local/stack';
import { sourceOf } from '../../shared/model/labels';
import {
  dayStartMs,
  type PlacementEpoch,
  partitionKeyOf,
  partitionOf,
  sourceIdOf,
  tenantIdOf,
} from '../../shared/model/placement';
import { Client } from '../support/client';
import { SHARED_SETTINGS } from '../support/local-stack';
import { ops } from '../support/ops';
import { until } from '../support/until';

const HOUR_MS = 3_600_000;
const BEFORE = Number(SHARED_SETTINGS.fourShards.partitions);
const AFTER = 64;
const METRIC = 'orders';

describe('a service that is deleted and created again before its tenant grows', () => {
  const faults = new Faults();
  let stack: RunningStack;
  let client: Client;

  beforeAll(async () => {
    const settings = SHARED_SETTINGS.fourShards;
    stack = await startStack({ port: 0, dataDir: undefined, settings, report: () => {}, faults });
    client = new Client(stack.addresses.url, stack.addresses.apiKey);
  });

  afterAll(async () => {
    faults.off();
    await stack?.stop();
  });

  /** The lowest sequence number of the shard that takes a partition's records. */
  const shardStart = (shards: readonly Shard[], partition: number): bigint => {
    const key = partitionKeyOf({ tenantId: tenantIdOf('default'), partition });
    const hash = BigInt(`0x${createHash('md5').update(key).digest('hex')}`);
    const shard = shards.find(({ HashKeyRange }) => hash <= BigInt(HashKeyRange!.EndingHashKey!))!;
    return BigInt(shard.SequenceNumberRange!.StartingSequenceNumber!);
  };

  /** A service whose later records have lower sequence numbers than its earlier ones. */
  const fallingService = async (): Promise<string> => {
    const kinesis = new KinesisClient({
      ...localAws(Number(new URL(stack.addresses.awsEndpoint).port)),
      requestHandler: new NodeHttpHandler(),
    });
    const { Shards } = await kinesis.send(new ListShardsCommand({ StreamName: stack.addresses.stream }));
    kinesis.destroy();
    const names = Array.from({ length: 1_000 }, (_, i) => `shop${i}`);
    return names.find((name) => {
      const sourceId = sourceIdOf(tenantIdOf('default'), sourceOf.service(name));
      const [earlier, later] = [BEFORE, AFTER].map((partitions) =>
        shardStart(Shards!, partitionOf(sourceId, partitions)),
      );
      return later! < earlier!;
    })!;
  };

  const post = async (service: string, points: ReadonlyMap<number, number>) => {
    const body = [...points].map(([time, value]) => ({ name: METRIC, time, value }));
    const path = `/api/v0/services/${service}/tsdb`;
    await until(
      'an acknowledged post',
      async () => (await client.request('POST', path, body)).status,
      (status) => status === 200,
    );
  };
  /** Waits until reads of an hour of the service return exactly these points. */
  const shows = (service: string, points: ReadonlyMap<number, number>, from: number) =>
    until(
      'the samples of the service',
      async () => {
        const path = `/api/v0/services/${service}/metrics?name=${METRIC}&from=${from}&to=${from + 3600}`;
        const response = await client.request('GET', path);
        if (!response.ok) return [];
        const { metrics } = (await response.json()) as { metrics: { time: number; value: number }[] };
        return metrics.map(({ time, value }) => `${time} ${value}`);
      },
      (seen) => seen.join() === [...points].map(([time, value]) => `${time} ${value}`).join(),
    );

  test('reads what it posts on days of its new partition', async () => {
    const service = await fallingService();
    const nowS = Math.floor(Date.now() / 1000);
    await client.json('POST', '/api/v0/services', { name: service, memo: '' });
    await post(service, new Map([[nowS, 1]]));
    await shows(service, new Map([[nowS, 1]]), nowS);
    await client.json('DELETE', `/api/v0/services/${service}`);
    await client.json('POST', '/api/v0/services', { name: service, memo: '' });
    await post(service, new Map([[nowS + 1, 2]]));
    await shows(service, new Map([[nowS + 1, 2]]), nowS);

    const { epochs } = await ops<{ epochs: PlacementEpoch[] }>(
      stack.addresses.url,
      'tenants',
      'set',
      'default',
      '--partitions',
      String(AFTER),
    );
    const grownS = dayStartMs(epochs.at(-1)!.fromDay) / 1000;
    // Move post's clock ahead, so that it takes samples of the new day, and query's, so that it reads them.
    faults.clockSkewMs = (name) => ({ post: 28 * HOUR_MS, query: 5 * HOUR_MS })[name] ?? 0;
    for (const name of ['post', 'query']) faults.kill(name);
    const points = new Map([
      [grownS, 3],
      [grownS + 60, 4],
    ]);
    await post(service, points);
    await shows(service, points, grownS);
    await shows(service, new Map([[nowS + 1, 2]]), nowS);
  });
});
