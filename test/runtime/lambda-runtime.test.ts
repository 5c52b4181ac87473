import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  GetRecordsCommand,
  GetShardIteratorCommand,
  KinesisClient,
  ListShardsCommand,
} from '@aws-sdk/client-kinesis';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { readSecret } from '../../scripts/local/operator-secret';
import { localAws } from '../../scripts/local/provision';
import { synthesize } from '../../scripts/local/synth';
import {
  ACCOUNT,
  type FunctionResource,
  REGION,
  readAssembly,
  type Stack,
} from '../../scripts/local/template';
import { localVariables } from '../../scripts/local/wiring';
import { FUNCTIONS, type FunctionName } from '../../shared/platform/names';
import { type RuntimeAnswer, type RuntimeInstance, startUnderRuntime } from '../support/lambda-runtime';
import { type LocalStack, startLocalStack } from '../support/local-stack';
import { until } from '../support/until';
import { apiEvent, kinesisEvent } from './events';

const root = join(__dirname, '..', '..');

describe('each bundle under the runtime interface client of AWS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'heterotsdb-runtime-'));
  const timeMs = Math.floor(Date.now() / 60_000) * 60_000 - 60_000;
  const measured: string[] = [];
  let assembly: Stack;
  let stack: LocalStack;
  let instance: RuntimeInstance | undefined;

  beforeAll(async () => {
    assembly = readAssembly(await synthesize(join(root, '.local', 'synth'), {}));
    stack = await startLocalStack({});
  });
  afterEach(() => instance?.stop());
  afterAll(async () => {
    console.log(`function: bundle's files, start, peak memory of its limit\n${measured.join('\n')}`);
    await stack?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const resourceOf = (name: FunctionName): FunctionResource =>
    assembly.functions.find((resource) => resource.name.endsWith(`-${name}`))!;
  const start = (name: FunctionName): Promise<RuntimeInstance> => {
    const to = { redisUrl: stack.redisUrl, awsUrl: stack.awsEndpoint, lambdaUrl: stack.url };
    const aws = localAws(Number(new URL(stack.awsEndpoint).port));
    const resource = resourceOf(name);
    const variables = localVariables(resource, to, aws, readSecret(stack.url)!, stack.url);
    return startUnderRuntime(resource, join(folder, name), variables);
  };
  const api = (routeKey: string, request: Omit<Parameters<typeof apiEvent>[1], 'apiKey'> = {}) =>
    apiEvent(routeKey, { apiKey: stack.apiKey, ...request });
  const body = ({ payload }: RuntimeAnswer) => {
    const { body: text, isBase64Encoded } = payload as { body: string; isBase64Encoded?: boolean };
    return isBase64Encoded ? Buffer.from(text, 'base64').toString() : text;
  };

  /** The records in the stream, as Lambda would deliver them. */
  const batch = async () => {
    const aws = localAws(Number(new URL(stack.awsEndpoint).port));
    const kinesis = new KinesisClient({ ...aws, requestHandler: new NodeHttpHandler() });
    const StreamName = stack.stream;
    const { Shards } = await kinesis.send(new ListShardsCommand({ StreamName }));
    const found = await Promise.all(
      Shards!.map(async ({ ShardId }) => {
        const from = { StreamName, ShardId, ShardIteratorType: 'TRIM_HORIZON' as const };
        const { ShardIterator } = await kinesis.send(new GetShardIteratorCommand(from));
        const { Records } = await kinesis.send(new GetRecordsCommand({ ShardIterator }));
        return Records!.map((record) => ({
          shardId: ShardId!,
          sequenceNumber: record.SequenceNumber!,
          partitionKey: record.PartitionKey!,
          data: record.Data!,
          arrivalMs: record.ApproximateArrivalTimestamp!.getTime(),
        }));
      }),
    );
    kinesis.destroy();
    const records = found.find((one) => one.length > 0)!;
    return kinesisEvent(`arn:aws:kinesis:${REGION}:${ACCOUNT}:stream/${StreamName}`, records);
  };
  const scheduled = (name: FunctionName) =>
    assembly.schedules
      .filter(({ functionName }) => functionName.endsWith(`-${name}`))
      .map(({ input }) => input);

  interface Case {
    readonly name: FunctionName;
    readonly source: 'API Gateway' | 'Kinesis' | 'EventBridge' | 'direct';
    readonly events: () => Promise<unknown[]> | unknown[];
    readonly answers: (answer: RuntimeAnswer) => void;
  }
  const isStatus =
    (status: number, text = '') =>
    (answer: RuntimeAnswer) => {
      expect(answer.payload).toMatchObject({ statusCode: status });
      expect(body(answer) ?? '').toContain(text);
    };
  const isPayload = (payload: object) => (answer: RuntimeAnswer) =>
    expect(answer.payload).toMatchObject(payload);
  const isDone = () => {};

  // The order matters: post writes the samples that later functions read.
  const cases: Case[] = [
    {
      name: 'post',
      source: 'API Gateway',
      events: () => [
        api('POST /write', { body: `cpu,host=runtime usage=42 ${timeMs}`, query: { precision: 'ms' } }),
      ],
      answers: isStatus(204),
    },
    { name: 'page', source: 'API Gateway', events: () => [api('GET /')], answers: isStatus(200, '<html') },
    {
      name: 'registry',
      source: 'API Gateway',
      events: () => [api('GET /api/v0/hosts')],
      answers: isStatus(200, '"hosts"'),
    },
    {
      name: 'query',
      source: 'API Gateway',
      events: () => [
        api('GET /prometheus/api/v1/query', { query: { query: 'cpu_usage', time: String(timeMs / 1000) } }),
      ],
      answers: isStatus(200, '"42"'),
    },
    {
      name: 'ingester',
      source: 'Kinesis',
      events: async () => [await batch()],
      answers: isPayload({ batchItemFailures: [] }),
    },
    {
      name: 'replayer',
      source: 'Kinesis',
      events: async () => [await batch()],
      answers: isPayload({ batchItemFailures: [] }),
    },
    { name: 'flusher', source: 'EventBridge', events: () => scheduled('flusher'), answers: isDone },
    {
      name: 'archiver',
      source: 'EventBridge',
      events: () => scheduled('archiver'),
      answers: isPayload({ failed: 0 }),
    },
    { name: 'recovery', source: 'EventBridge', events: () => scheduled('recovery'), answers: isDone },
    { name: 'evaluator', source: 'EventBridge', events: () => scheduled('evaluator'), answers: isDone },
    { name: 'canary', source: 'EventBridge', events: () => [{}], answers: isDone },
    {
      name: 'prober',
      source: 'direct',
      events: () => [{ requests: [{ url: new URL('/health', stack.url).href, method: 'GET', headers: [] }] }],
      answers: isPayload([{ status: 200 }]),
    },
    {
      name: 'operator',
      source: 'direct',
      events: () => [...scheduled('operator'), { command: 'tenants list' }],
      answers: isDone,
    },
    {
      name: 'importer',
      source: 'direct',
      events: () => [{ tenant: 'default' }],
      answers: isPayload({ samples: 0 }),
    },
    {
      name: 'deleter',
      source: 'direct',
      events: () => [{ tenant: 'default', host: 'runtime', name: 'nothing', mostSeries: 0 }],
      answers: ({ payload, isError }) => {
        // Lambda's own runtime formats an error in this way.
        expect(isError).toBe(true);
        expect(payload).toMatchObject({ errorType: 'InvalidEventError', errorMessage: expect.any(String) });
      },
    },
  ];

  test('are all here', () => {
    expect(cases.map(({ name }) => name).sort()).toEqual([...FUNCTIONS].sort());
    expect(assembly.functions).toHaveLength(FUNCTIONS.length);
    // The template names the runtime NODEJS_24_X.
    expect(process.versions.node).toMatch(/^24\./);
  });

  test.each(cases)('$name starts, and answers an event of $source', async ({ name, events, answers }) => {
    instance = await start(name);
    const { memoryMb } = resourceOf(name);
    const all = await until(
      'the sample is readable',
      async () => {
        const found: RuntimeAnswer[] = [];
        for (const event of await events()) found.push(await instance!.invoke(event));
        return found;
      },
      // The ingester of the local stack moves the samples of `post` to memory.
      ([first]) => name !== 'query' || !body(first!).includes('"result":[]'),
    );
    for (const answer of all) {
      if (name !== 'deleter') expect(answer).toMatchObject({ isError: false });
      answers(answer);
    }
    expect(instance.lines.filter((line) => /Cannot find module|ENOENT/.test(line))).toEqual([]);
    const peakMb = instance.peakMb();
    expect(peakMb).toBeLessThan(memoryMb);
    const files = readdirSync(join(folder, name)).join(', ');
    measured.push(
      `${name}: ${files}, ${Math.round(instance.initMs)} ms, ${Math.round(peakMb)} of ${memoryMb} MB`,
    );
  });

  test('a bundle that lacks a module does not start, and the runtime says which', async () => {
    const resource = { ...resourceOf('page'), handler: 'missing.handler' };
    await expect(startUnderRuntime(resource, join(folder, 'missing'), {})).rejects.toThrow(/missing/);
  });
});
