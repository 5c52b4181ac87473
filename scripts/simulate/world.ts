import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { HOUR_MS, MINUTE_MS } from '../../shared/model/duration';
import { ENV, FUNCTIONS, type FunctionName } from '../../shared/platform/names';
import { matchRoute, proxyEvent } from '../local/http-api';
import { Problem } from '../local/problem';
import { startHotServer } from '../local/servers';
import { synthesize } from '../local/synth';
import { physicalName, readAssembly, type ScheduleResource } from '../local/template';
import { bundleFunctions } from './bundles';
import { DynamoDbModel } from './dynamodb';
import { Faults, type Stall } from './faults';
import { Functions, Mapping } from './functions';
import { compileBundle } from './instance';
import { KinesisModel } from './kinesis';
import { callLambda, type Mappings } from './lambda-api';
import { Memory } from './memory';
import { Meter } from './meter';
import { PLANTED } from './planted';
import { S3Model } from './s3';
import { Scheduler } from './scheduler';
import { Seam } from './seam';

const root = join(__dirname, '..', '..');
/** Maximum time until DynamoDB deletes an expired item, in ms. */
const TTL_LATE_MS = 48 * HOUR_MS;

/**
 * Settings with which a day's data reaches every tier within a few days, and the end of its retention within two weeks.
 */
export const SETTINGS = {
  archiveAfter: '6h',
  streamRetention: '24h',
  warmTtl: '9d',
  retention: '14d',
  partitions: '2',
  streamShards: '3',
  batchWindow: '60s',
};

/** Functions that the simulation omits: it has no rules, and nobody looks at pages. */
const ABSENT = new Set<FunctionName>(['canary', 'evaluator', 'page', 'prober']);

export type World = Awaited<ReturnType<typeof startWorld>>;

export interface WorldOptions {
  readonly seed: number;
  /** Minutes between two runs of the functions that run each minute. */
  readonly tick: number;
  /** Name of the bug to plant (planted.ts). */
  readonly plant?: string;
  /** @default {@link SETTINGS} */
  readonly settings?: Readonly<Record<string, string>>;
  /**
   * The simulated share of a load whose bill is counted.
   *
   * @default no bill is counted
   */
  readonly sample?: number;
  readonly report: (line: string) => void;
}

/** Starts the pipeline as it would be deployed, in one process, with models of its stores. */
export async function startWorld(
  { seed, tick, plant, settings = SETTINGS, sample, report }: WorldOptions,
  startMs: number,
  onTrace?: (line: string) => void,
) {
  const bug = plant === undefined ? undefined : PLANTED[plant];
  if (plant !== undefined && bug === undefined) throw new Problem(`there is no bug ${plant}`);
  report('synthesizing the stage and bundling the functions');
  const stack = readAssembly(await synthesize(join(root, '.local', 'synth'), settings));
  const present = FUNCTIONS.filter((name) => !ABSENT.has(name));
  const files = await bundleFunctions(present, bug);
  // Do not put the socket into the checkout, whose path may be too long for a socket.
  const dataDir = mkdtempSync(join(tmpdir(), 'simulate-'));
  const socket = join(dataDir, 'socket');
  const children: ChildProcess[] = [];
  const adopt = (child: ChildProcess) => void children.push(child);
  // Valkey has its own process group, so it does not end by itself when the simulation fails.
  const killChildren = () => {
    for (const child of children) child.kill();
  };
  process.once('exit', killChildren);
  const hot = await startHotServer(dataDir, adopt, () => report('Valkey died'), socket);

  const scheduler = new Scheduler(seed, startMs, onTrace);
  const { random } = scheduler;
  const faults = new Faults(random.fork());
  const now = () => scheduler.nowMs;
  const memory = new Memory(socket, scheduler, () =>
    Array.from({ length: 40 }, () => random.integer(0, 9)).join(''),
  );
  const mappings = new Map<string, Mapping>();
  const resourceOf = (name: FunctionName) => stack.functions.find((each) => each.name.endsWith(`-${name}`))!;
  const periodOf = (schedule: ScheduleResource) => Math.max(schedule.periodMs, tick * MINUTE_MS);
  const stretchOf = (name: FunctionName) => {
    const schedules = stack.schedules.filter(({ functionName }) => functionName === resourceOf(name).name);
    // If a function has several schedules, the one with the shortest period invokes it most often.
    const [first] = schedules.sort((a, b) => a.periodMs - b.periodMs);
    return first === undefined ? 1 : periodOf(first) / first.periodMs;
  };
  const meter = sample === undefined ? undefined : new Meter(now, { sample, stretchOf });
  const kinesis = new KinesisModel(
    now,
    random.shuffled(Array.from({ length: stack.streams[0]!.shards }, (_, i) => i)),
    (shardId) => {
      for (const mapping of mappings.values()) mapping.wake(shardId);
    },
    faults.stream,
    meter,
  );
  const models = {
    dynamodb: new DynamoDbModel(now, faults.table, meter),
    kinesis,
    s3: new S3Model(now, faults.bucket, meter),
  };
  for (const { logicalId } of stack.tables) models.dynamodb.createTable(physicalName(logicalId));

  const { promise: failed, reject: fail } = Promise.withResolvers<never>();
  failed.catch(() => {});
  const errors: string[] = [];
  const bundles = dirname(files.values().next().value!);
  const onLog = (name: string, line: string) => {
    if (!line.includes('"ERROR"')) return;
    // The bundles' folder has a different name in each run. Without the name, equal errors have equal messages.
    const sameLine = line.replaceAll(bundles, 'bundles').replaceAll(root, '.');
    errors.push(`${new Date(now()).toISOString()} ${name}: ${sameLine}`);
    if (errors.length > 20) errors.shift();
  };
  const api: Mappings = {
    all: mappings,
    create: (resource, fromMs) => {
      const id = `00000000-0000-4000-8000-${String(scheduler.tasks).padStart(12, '0')}`;
      const mapping = new Mapping(functions, kinesis, resource, (shard) => kinesis.positionAt(shard, fromMs));
      mappings.set(id, mapping);
      for (const { id: shard } of kinesis.shards) mapping.wake(shard);
      return id;
    },
    delete: (id) => {
      mappings.get(id)!.isDeleted = true;
      mappings.delete(id);
    },
  };
  const seam = new Seam(scheduler, faults, models, memory, (call) => callLambda(call, functions, api), meter);
  const functions = new Functions(
    scheduler,
    faults,
    seam,
    ({ name, environment, memoryMb }) => ({
      ...environment,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'simulated',
      AWS_SECRET_ACCESS_KEY: 'simulated',
      AWS_LAMBDA_FUNCTION_NAME: name,
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(memoryMb),
      POWERTOOLS_LOG_LEVEL: 'ERROR',
      ...(ENV.redis in environment && { [ENV.redis]: 'redis://memory' }),
      ...(ENV.apiUrl in environment && { [ENV.apiUrl]: 'https://api' }),
    }),
    onLog,
    fail,
    meter,
  );
  for (const name of present) functions.add(name, resourceOf(name), compileBundle(files.get(name)!));
  for (const mapping of stack.mappings) api.create(mapping, 0);
  for (const schedule of stack.schedules)
    if (functions.has(schedule.functionName))
      functions.schedule(
        { ...schedule, periodMs: periodOf(schedule) },
        periodOf(schedule) / schedule.periodMs,
      );
  const retentionMs = stack.streams[0]!.retentionHours * HOUR_MS;
  const hourly = () => {
    scheduler.after(HOUR_MS, hourly);
    kinesis.forget(now() - retentionMs);
    models.dynamodb.expire((expiredForMs) => expiredForMs > random.next() * TTL_LATE_MS);
    return memory.expire();
  };
  scheduler.after(HOUR_MS, hourly);

  return {
    scheduler,
    faults,
    memory,
    models,
    seam,
    /** Counts the billed units, if a bill was requested. */
    meter,
    /** The last log lines of functions at level ERROR. */
    errors,
    /** Rejects when the simulation itself fails. */
    failed,
    /** Makes `failed` reject. */
    fail,
    /** Makes a request to the API. A string as the body is line protocol; any other body is sent as JSON. */
    request: async (method: string, path: string, key: string, body?: object | string) => {
      const match = matchRoute(stack.routes, method, path.split('?')[0]!);
      if (match === undefined) throw new Error(`no route ${method} ${path}`);
      const type = typeof body === 'string' ? 'text/plain' : 'application/json';
      if (
        match.route.functionName === resourceOf('post').name ||
        match.route.functionName === resourceOf('query').name
      )
        meter?.request();
      const headers = { host: 'api', 'x-api-key': key, 'content-type': type };
      const given = { url: path, method, headers, httpVersion: '1.1', socket: {} };
      const bytes = Buffer.from(typeof body === 'object' ? JSON.stringify(body) : (body ?? ''));
      const { requestContext, ...event } = proxyEvent(given as never, bytes, match);
      // A real time or a random id in a log line would make two runs with the same seed differ.
      const ours = {
        requestId: `request-${scheduler.tasks}`,
        time: new Date(now()).toUTCString(),
        timeEpoch: now(),
      };
      const result = await functions.invoke(match.route.functionName, {
        ...event,
        requestContext: { ...requestContext, ...ours },
      });
      if (!result.ok) return { status: 502, body: result as unknown };
      const {
        statusCode,
        body: text = '',
        isBase64Encoded,
      } = result.payload as {
        statusCode: number;
        body?: string;
        isBase64Encoded?: boolean;
      };
      const plain = isBase64Encoded ? Buffer.from(text, 'base64').toString() : text;
      return { status: statusCode, body: (plain === '' ? undefined : JSON.parse(plain)) as unknown };
    },
    /**
     * Invokes a function as an operator does.
     *
     * @param stall makes the invocation pause. @default the faults decide
     */
    invoke: (name: FunctionName, event: object, stall?: Stall) =>
      functions.invoke(resourceOf(name).name, structuredClone(event), stall),
    /** Returns the number of records in the stream that no mapping has delivered yet. */
    backlog: () => [...mappings.values()].reduce((sum, mapping) => sum + mapping.behind, 0),
    /** Ends the faults. */
    calm: () => {
      faults.isCalm = true;
    },
    stop: async () => {
      memory.close();
      await hot.stop();
      // The listener would keep this world in memory, which the next seeds need.
      process.removeListener('exit', killChildren);
      rmSync(dataDir, { recursive: true, force: true });
      rmSync(dirname(files.get('post')!), { recursive: true, force: true });
    },
  };
}
