import {
  DescribeStreamSummaryCommand,
  KinesisClient,
  ListShardsCommand,
  MergeShardsCommand,
  PutRecordsCommand,
  type Shard,
  SplitShardCommand,
} from '@aws-sdk/client-kinesis';
import { GetObjectCommand, PutObjectCommand, paginateListObjectsV2 } from '@aws-sdk/client-s3';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { kinesisEvent } from '../../scripts/local/batches';
import { Functions } from '../../scripts/ops/invoke';
import { SeriesDictionary } from '../../shared/dictionary/series-dictionary';
import { sourceOf } from '../../shared/model/labels';
import { tenantIdOf } from '../../shared/model/placement';
import type { StageDescription } from '../../shared/operations/stage-command';
import { rowsOf } from '../../shared/protocol/mackerel/json';
import { gapOf, TableGaps } from '../../shared/recovery/gaps';
import { rowRecords } from '../../shared/stream/row-records';
import { Client } from '../support/client';
import { type LocalStack, SHARED_SETTINGS, startLocalStack } from '../support/local-stack';
import { ops } from '../support/ops';
import { removeRedriven } from '../support/removed-redriven';
import { Stores } from '../support/stores';
import { until } from '../support/until';

const tenant = {
  id: tenantIdOf('default'),
  name: 'default',
  placement: { epochs: [{ fromDay: '1970-01-01', partitions: 8 }] },
};
const dictionary = new SeriesDictionary(tenant.id);
const METRIC = 'custom.stream.m';
const DAY_MS = 86_400_000;

describe('the stream', () => {
  let stack: LocalStack;
  let client: Client;
  let stores: Stores;
  let kinesis: KinesisClient;
  let functions: Functions;
  const start = Math.floor(Date.now() / 60_000) * 60 - 3600;

  beforeAll(async () => {
    stack = await startLocalStack({ hasFreedoms: true, settings: SHARED_SETTINGS.unlimited });
    client = new Client(stack.url, stack.apiKey, true);
    stores = new Stores(stack);
    functions = new Functions(stack.url);
    kinesis = new KinesisClient({
      endpoint: stack.awsEndpoint,
      region: 'us-east-1',
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
      requestHandler: new NodeHttpHandler(),
    });
  });

  afterAll(async () => {
    functions?.close();
    kinesis?.destroy();
    await stores?.close();
    await stack?.stop();
  });

  /** A record as `post` makes it, with a host's values keyed by second. */
  const recordOf = (host: string, values: Readonly<Record<number, number>>) => {
    const points = new Map(
      Object.entries(values).map(([second, value]) => [
        (start + Number(second)) * 1000,
        new Map([[METRIC, value]]),
      ]),
    );
    const [record, ...more] = rowRecords(tenant, [rowsOf(dictionary, sourceOf.host(host), points)]);
    expect(more).toEqual([]);
    return record!;
  };

  const series = async (host: string) => {
    const body = await client.metrics(host, METRIC, start, start + 3600).catch(() => '{"metrics":[]}');
    const { metrics } = JSON.parse(body) as { metrics: { time: number; value: number }[] };
    return Object.fromEntries(metrics.map(({ time, value }) => [time - start, value]));
  };

  const shows = (host: string, expected: Record<number, number>) =>
    until(
      `${JSON.stringify(expected).slice(0, 100)}`,
      () => series(host),
      (seen) => JSON.stringify(seen) === JSON.stringify(expected),
    );

  async function keys(prefix: string): Promise<string[]> {
    const found: string[] = [];
    for await (const page of paginateListObjectsV2(
      { client: stores.s3 },
      { Bucket: stack.bucket, Prefix: prefix },
    ))
      found.push(...(page.Contents ?? []).map(({ Key }) => Key!));
    return found;
  }

  const put = (Key: string, Body: Uint8Array | string, Metadata?: Record<string, string>) =>
    stores.s3.send(new PutObjectCommand({ Bucket: stack.bucket, Key, Body, Metadata }));

  const fails = (...args: string[]) =>
    ops(stack.url, ...args).then(
      () => 'it succeeded',
      ({ message }: Error) => message,
    );

  test('loses only poison records to quarantine, with their bytes: first, in the middle and last in a batch', async () => {
    const host = await client.createHost('poison');
    const poison = [Buffer.from('not a record'), Buffer.alloc(0), Buffer.from([0x48, 0x42, 9, 1])].map(
      // Kinesis takes no empty data.
      (bytes, i) => (bytes.length === 0 ? Buffer.alloc(70_000, i) : bytes),
    );
    // A good record, cut in the middle.
    poison.push(Buffer.from(recordOf(host, { 0: 1 }).data.subarray(0, -3)));
    const good = [0, 1, 2].map((second) => Buffer.from(recordOf(host, { [second]: second / 7 }).data));
    const sentMs = Date.now();
    const batch = [poison[0]!, good[0]!, poison[1]!, poison[2]!, good[1]!, good[2]!, poison[3]!];
    await kinesis.send(
      new PutRecordsCommand({
        StreamName: stack.stream,
        Records: batch.map((Data) => ({ PartitionKey: 'one', Data })),
      }),
    );
    await shows(host, { 0: 0, 1: 1 / 7, 2: 2 / 7 });
    const found = await until(
      'four objects',
      () => keys('quarantine/'),
      (seen) => seen.length >= 4,
    );
    const bodies = await Promise.all(
      found.map(async (Key) => {
        const { Body } = await stores.s3.send(new GetObjectCommand({ Bucket: stack.bucket, Key }));
        return Buffer.from(await Body!.transformToByteArray());
      }),
    );
    // Keys are in the order of the shard.
    expect(bodies).toEqual(poison);

    const { objects } = await ops<{ objects: { key: string; bytes: number }[] }>(
      stack.url,
      'quarantine',
      'list',
    );
    expect(objects.map(({ key, bytes }) => [key, bytes])).toEqual(
      found.map((key, i) => [key, poison[i]!.length]),
    );
    const shown = await ops<{ reason: string; data: string; arrivalMs: number }>(
      stack.url,
      'quarantine',
      'show',
      found[0]!,
    );
    expect(Buffer.from(shown.data, 'base64')).toEqual(poison[0]);
    expect(shown.reason).not.toBe('');
    expect(shown.arrivalMs).toBeGreaterThanOrEqual(sentMs - 1_000);
    expect(shown.arrivalMs).toBeLessThanOrEqual(Date.now());

    // Poison stays in quarantine, without duplicates.
    expect(await ops(stack.url, 'quarantine', 'redrive')).toMatchObject({
      records: 0,
      poison: 4,
      waiting: 0,
    });
    expect(await keys('quarantine/')).toEqual(found);
    expect(await fails('quarantine', 'show', 'quarantine/shard/1')).toContain(
      'quarantine has no record quarantine/shard/1',
    );
    expect(await fails('quarantine', 'show', 'archive/v1')).toContain('key: ');
  });

  test('keeps the versions of redriven records: an old value does not come back, missing samples appear', async () => {
    const host = await client.createHost('redriven');
    // Put a record into quarantine, as if an earlier release could not read it. It arrived two days ago.
    const [shardId, sequenceNumber] = ['shardId-000000000000', '14'];
    const arrivalMs = Date.now() - 2 * DAY_MS;
    await client.post([{ hostId: host, name: METRIC, time: start, value: 10 }]);
    await shows(host, { 0: 10 });
    const { data } = recordOf(host, { 0: 1, 1: 2 });
    await put(`quarantine/${shardId}/${sequenceNumber}`, data, {
      arrival: String(arrivalMs),
      reason: 'young',
    });
    expect(await ops(stack.url, 'quarantine', 'redrive')).toMatchObject({ records: 1 });
    await shows(host, { 0: 10, 1: 2 });
    // The stream no longer has the record, so the object stays until the samples have left memory.
    expect(await ops(stack.url, 'quarantine', 'redrive')).toMatchObject({ records: 0, removed: 0 });
    expect(await keys(`quarantine/${shardId}/14`)).toHaveLength(1);
    await removeRedriven(functions, stores, `quarantine/${shardId}/14`);
    expect(await keys(`quarantine/${shardId}/14`)).toEqual([]);
    await shows(host, { 0: 10, 1: 2 });

    // This dead letter is a day older than the first. One of its records is poison.
    const records = [
      recordOf(host, { 1: -1, 2: 3 }).data,
      Buffer.from('poison'),
      recordOf(host, { 3: 4 }).data,
    ];
    const event = kinesisEvent(
      records.map((bytes, i) => ({
        sequenceNumber: String(i + 1),
        partitionKey: 'k',
        arrivalMs: arrivalMs - DAY_MS,
        data: bytes,
      })),
      shardId,
      'arn:aws:kinesis:us-east-1:000000000000:stream/s',
    );
    const key = `aws/lambda/uuid/${shardId}/2026/11/18/time`;
    const body = { requestContext: {}, version: '1.0', payload: JSON.stringify(event) };
    await put(key, JSON.stringify(body));
    // Recovery records the gap as soon as it finds the dead letter. Reads of the range fail or name it.
    const { metaTable } = await functions.invoke<StageDescription>('operator', { command: 'stage' });
    const gaps = new TableGaps({ client: stores.dynamodb, name: metaTable });
    await gaps.put(key, gapOf(key, Buffer.from(JSON.stringify(body)), {}));
    const range = `/api/v0/hosts/${host}/metrics?name=${METRIC}&from=${start}&to=${start + 3600}`;
    await until(
      'the read fails',
      async () => (await fetch(new URL(range, stack.url), { headers: client.headers })).status,
      (status) => status === 503,
    );
    const arrivedSince = Math.floor((arrivalMs - DAY_MS) / 1000);
    // Each instance of the function learns of the gap within ten seconds, so another one may not know it yet.
    await until(
      'a partial read names the gap',
      () => client.json<{ missing?: { arrivedSince: number } }>('GET', `${range}&partial=true`),
      ({ missing }) => missing?.arrivedSince === arrivedSince,
    );
    expect(await ops(stack.url, 'quarantine', 'redrive', '--dead-letters')).toMatchObject({
      records: 2,
      poison: 1,
    });
    await shows(host, { 0: 10, 1: 2, 2: 3, 3: 4 });
    expect(await gaps.read()).toEqual(new Map());
    await removeRedriven(functions, stores, key);
    expect(await keys('aws/lambda/')).toEqual([]);
    expect(await keys(`quarantine/${shardId}/2`)).toHaveLength(1);

    await put(key, '{"payload":"not an event"}');
    expect(await fails('quarantine', 'redrive', '--dead-letters')).toContain(`${key} is not a dead letter`);
    expect(await keys('aws/lambda/')).toEqual([key]);
    await ops(stack.url, 'drain');
    await shows(host, { 0: 10, 1: 2, 2: 3, 3: 4 });
  });

  test('is split and merged under load, and every sample is stored once, as corrected last', async () => {
    /** Rounds between a sample and its correction; in some cases, shards are split or merged between the two. */
    const correctedAfter = 4;
    const hosts = await Promise.all(Array.from({ length: 8 }, (_, h) => client.createHost(`reshard${h}`)));
    let isEnding = false;
    let rounds = 0;
    let refused = 0;
    const posting = (async () => {
      for (; !isEnding; rounds++) {
        await Promise.all(
          hosts.map(async (hostId, h) => {
            const points = [{ hostId, name: METRIC, time: start + rounds, value: rounds * 10 + h }];
            const earlier = rounds - correctedAfter;
            if (earlier >= 0)
              points.push({ hostId, name: METRIC, time: start + earlier, value: earlier * 10 + h + 0.5 });
            // An agent posts rejected samples again.
            while ((await client.request('POST', '/api/v0/tsdb', points)).status !== 200) refused++;
          }),
        );
      }
    })();
    const open = async () => {
      const { Shards = [] } = await kinesis.send(new ListShardsCommand({ StreamName: stack.stream }));
      return Shards.filter(
        ({ SequenceNumberRange }) => SequenceNumberRange!.EndingSequenceNumber === undefined,
      );
    };
    const progress = async (more: number) => {
      const from = rounds;
      await until(
        `${more} rounds`,
        async () => rounds,
        (now) => now >= from + more,
      );
    };
    /** Waits until the stream takes the next change of its shards. */
    const active = () =>
      until(
        'the stream is active',
        async () => kinesis.send(new DescribeStreamSummaryCommand({ StreamName: stack.stream })),
        ({ StreamDescriptionSummary }) => StreamDescriptionSummary!.StreamStatus === 'ACTIVE',
      );
    const split = async ({ ShardId, HashKeyRange }: Shard) => {
      const [low, high] = [BigInt(HashKeyRange!.StartingHashKey!), BigInt(HashKeyRange!.EndingHashKey!)];
      await kinesis.send(
        new SplitShardCommand({
          StreamName: stack.stream,
          ShardToSplit: ShardId,
          NewStartingHashKey: String((low + high) / 2n),
        }),
      );
      await active();
    };
    await progress(5);
    for (const shard of await open()) await split(shard);
    await progress(5);
    for (const shard of await open()) await split(shard);
    await progress(5);
    const byRange = (await open()).sort((a, b) =>
      BigInt(a.HashKeyRange!.StartingHashKey!) < BigInt(b.HashKeyRange!.StartingHashKey!) ? -1 : 1,
    );
    expect(byRange.length).toBeGreaterThanOrEqual(4);
    for (let i = 0; i + 1 < byRange.length; i += 2) {
      await kinesis.send(
        new MergeShardsCommand({
          StreamName: stack.stream,
          ShardToMerge: byRange[i]!.ShardId,
          AdjacentShardToMerge: byRange[i + 1]!.ShardId,
        }),
      );
      await active();
    }
    await progress(5);
    isEnding = true;
    await posting;
    for (const [h, host] of hosts.entries()) {
      const sampleAt = (round: number) => round * 10 + h + (round + correctedAfter < rounds ? 0.5 : 0);
      const expected = Object.fromEntries(Array.from({ length: rounds }, (_, r) => [r, sampleAt(r)]));
      await shows(host, expected);
    }
    console.log(
      `${rounds} rounds of ${hosts.length} posts over two splits and a merge, ${refused} posts refused`,
    );
  });
});
