import {
  CreateEventSourceMappingCommand,
  DeleteEventSourceMappingCommand,
  LambdaClient,
  ListEventSourceMappingsCommand,
} from '@aws-sdk/client-lambda';
import { functionName } from '../../shared/names';
import { Client } from '../support/client';
import { type LocalStack, startLocalStack } from '../support/local-stack';
import { Stores } from '../support/stores';
import { until } from '../support/until';

const HOSTS = 10;
const METRICS = 20;
const ROUNDS = 40;

describe('SIGKILL of all functions and of the hot tier in the middle of posting', () => {
  let stack: LocalStack;
  let client: Client;
  let stores: Stores;
  let lambda: LambdaClient;
  const start = Math.floor(Date.now() / 60_000) * 60 - ROUNDS * 60;

  beforeAll(async () => {
    stack = await startLocalStack({ settings: { window: '10m' } });
    client = new Client(stack.url, stack.apiKey);
    stores = new Stores(stack);
    lambda = new LambdaClient({
      endpoint: stack.url,
      region: 'us-east-1',
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    });
  }, 180_000);

  afterAll(async () => {
    lambda?.destroy();
    await stores?.close();
    await stack?.stop();
  }, 60_000);

  test('loses no acknowledged sample once the stream is read again from before it', async () => {
    const hosts = await Promise.all(Array.from({ length: HOSTS }, (_, h) => client.createHost(`host${h}`)));
    const names = Array.from({ length: METRICS }, (_, m) => `custom.kill.m${m}`);
    const before = new Date(Date.now() - 1_000);
    /** What was acknowledged: host -> round -> value of its first metric. */
    const acknowledged = new Map(hosts.map((host) => [host, new Map<number, number>()]));
    let refused = 0;
    let runId: string | undefined;
    const emptied: string[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const time = start + round * 60;
      if (round === 10 || round === 25) {
        runId = /run_id:(\w+)/.exec(await stores.redis.info('server'))?.[1];
        stack.killHot();
      }
      const posts = hosts.map(async (host, h) => {
        const value = (h * 31 + round * 17) / 7.3;
        const points = names.map((name, m) => ({ hostId: host, name, time, value: value + m }));
        const response = await client.request('POST', '/api/v0/tsdb', points).catch(() => undefined);
        if (response?.status === 200) acknowledged.get(host)!.set(round, value);
        else refused++;
      });
      // While the posts of the round are under way.
      if (round % 10 === 5) stack.killFunctions();
      await Promise.all(posts);
      if (runId !== undefined) {
        const was = runId;
        const now = await until(
          'a new hot tier',
          async () => /run_id:(\w+)/.exec(await stores.redis.info('server').catch(() => ''))?.[1],
          (id) => id !== undefined && id !== was,
        );
        emptied.push(now!);
        runId = undefined;
      }
    }
    expect(emptied).toHaveLength(2);
    const total = [...acknowledged.values()].reduce((sum, rounds) => sum + rounds.size, 0);
    expect(total + refused).toBe(HOSTS * ROUNDS);
    expect(total).toBeGreaterThan(HOSTS * ROUNDS * 0.5);

    const FunctionName = functionName('local', 'ingester');
    const { EventSourceMappings: [live] = [] } = await lambda.send(
      new ListEventSourceMappingsCommand({ FunctionName }),
    );
    const replay = await lambda.send(
      new CreateEventSourceMappingCommand({
        FunctionName,
        EventSourceArn: live!.EventSourceArn,
        StartingPosition: 'AT_TIMESTAMP',
        StartingPositionTimestamp: before,
        BatchSize: live!.BatchSize,
        FunctionResponseTypes: ['ReportBatchItemFailures'],
      }),
    );
    const missing = async () => {
      const gone: string[] = [];
      for (const [host, rounds] of acknowledged) {
        for (const [m, name] of [names[0]!, names.at(-1)!].entries()) {
          const response = await client.request(
            'GET',
            `/api/v0/hosts/${host}/metrics?name=${name}&from=${start}&to=${start + ROUNDS * 60}`,
          );
          const { metrics = [] } = (await response.json()) as { metrics?: { time: number; value: number }[] };
          const found = new Map(metrics.map((sample) => [sample.time, sample.value]));
          for (const [round, value] of rounds)
            if (found.get(start + round * 60) !== value + (m === 0 ? 0 : METRICS - 1))
              gone.push(`${host} ${name} ${round}`);
        }
      }
      return gone;
    };
    await until('every acknowledged sample', missing, (gone) => gone.length === 0, 60_000);
    await lambda.send(new DeleteEventSourceMappingCommand({ UUID: replay.UUID }));
    const { EventSourceMappings: left } = await lambda.send(
      new ListEventSourceMappingsCommand({ FunctionName }),
    );
    expect(left).toHaveLength(1);
  }, 240_000);
});
