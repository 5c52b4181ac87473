import type { ChildProcess } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KinesisClient } from '@aws-sdk/client-kinesis';
import { S3Client } from '@aws-sdk/client-s3';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { Redis } from 'ioredis';
import { MINUTE_MS } from '../../shared/model/duration';
import { type Limiter, limiter } from '../../shared/platform/concurrency';
import type { Freedoms } from '../faults/freedoms';
import { EventSourceMapping, type MappingStart } from './event-source-mapping';
import { FunctionPool, type InvocationResult } from './function-pool';
import { Problem } from './problem';
import type { AwsAddress } from './provision';
import {
  ACCOUNT,
  type FunctionResource,
  type MappingResource,
  REGION,
  type ScheduleResource,
  type Stack,
} from './template';
import { type HostFaults, localVariables, type StoreAddresses, type Wiring } from './wiring';

export interface FunctionHostOptions {
  readonly stack: Stack;
  readonly aws: AwsAddress;
  readonly redisUrl: string;
  readonly dataDir: string;
  /** The host's own URL, where it implements Lambda's API. */
  readonly url: string;
  /** Secret required by the host's Lambda API. */
  readonly secret: string;
  readonly adopt: (child: ChildProcess) => void;
  readonly report: (line: string) => void;
  /**
   * Faults injected between functions and stores.
   *
   * @default none
   */
  readonly faults?: HostFaults;
  /**
   * Enables behaviour that AWS permits but rarely shows.
   *
   * @default none
   */
  readonly freedoms?: Freedoms;
}

/**
 * Maximum number of concurrent instances of a function. Lambda would run a thousand, but this machine has a few cores.
 */
const MAX_INSTANCES: Readonly<Record<string, number>> = { post: 2, query: 3, ingester: 4, flusher: 2 };
/** Maximum number of concurrent calls from other functions, so that instances remain for users' requests. */
const MAX_CALLS: Readonly<Record<string, number>> = { query: 1 };

/** A mapping as Lambda's API describes it. */
export interface MappingDescription {
  readonly UUID: string;
  readonly State: 'Enabled';
  readonly FunctionArn: string;
  readonly EventSourceArn: string;
  readonly StartingPosition: string;
  readonly BatchSize: number;
}

/** A minimal Lambda: runs the functions, mappings and schedules of a synthesized template. */
export class FunctionHost {
  private readonly pools = new Map<string, FunctionPool>();
  private readonly callLimiters = new Map<string, Limiter>();
  private readonly mappings = new Map<string, EventSourceMapping>();
  private readonly timers: NodeJS.Timeout[] = [];
  private samplesAppended = 0;
  private readonly clients: { destroy(): void }[] = [];

  constructor(private readonly options: FunctionHostOptions) {
    const { stack, aws, redisUrl, dataDir, url, secret, adopt, faults, freedoms } = options;
    const addresses: StoreAddresses = { redisUrl, awsUrl: aws.endpoint, lambdaUrl: url };
    const direct: Wiring = { addresses, clockSkewMs: 0, attach: () => {}, close: () => {} };
    for (const resource of stack.functions) {
      const kind = kindOf(resource.name);
      this.callLimiters.set(resource.name, limiter(MAX_CALLS[kind] ?? Infinity));
      this.pools.set(
        resource.name,
        new FunctionPool({
          resource,
          environmentOf: (deployed, to) => localVariables(deployed, to, aws, secret, url),
          wire: async () =>
            (await faults?.wire(kind, addresses)) ?? { ...direct, clockSkewMs: freedoms?.clockSkewMs() ?? 0 },
          maxInstances: MAX_INSTANCES[kind] ?? 1,
          logFile: join(dataDir, 'functions.log'),
          adopt,
          onLogLine: (line) => this.meter(line),
          freedoms,
        }),
      );
    }
  }

  /**
   * Starts mappings and schedules.
   *
   * @param isNew whether nothing is stored yet
   */
  start(isNew: boolean): void {
    const { stack, dataDir } = this.options;
    for (const mapping of stack.mappings) {
      const id = uuidOf(`${mapping.functionName} ${mapping.streamArn}`);
      const start: MappingStart = { position: mapping.startingPosition };
      const file = join(dataDir, `checkpoints-${id}.json`);
      this.run(new EventSourceMapping(id, mapping, start, this.mappingDependencies(mapping), file));
    }
    const { freedoms } = this.options;
    const tick = async ({ functionName, input }: ScheduleResource) => {
      const result = await this.invoke(functionName, input);
      if (!result.ok) this.options.report(`${functionName}: ${result.error.errorMessage}`);
    };
    const fire = (schedule: ScheduleResource) => {
      const times = freedoms?.takes('timer twice') ? 2 : 1;
      for (let n = 0; n < times; n++) void tick(schedule).catch(() => {});
    };
    for (const schedule of stack.schedules)
      this.timers.push(
        setInterval(
          () => setTimeout(() => fire(schedule), freedoms?.delayMs('timer late') ?? 0),
          schedule.periodMs,
        ),
      );
    if (freedoms !== undefined) {
      const redis = new Redis(this.options.redisUrl, { maxRetriesPerRequest: 0 });
      redis.on('error', () => {});
      const drop = () => void redis.call('CLIENT', 'KILL', 'TYPE', 'NORMAL', 'SKIPME', 'YES').catch(() => {});
      this.timers.push(setInterval(drop, freedoms.dropConnectionsMs));
      this.clients.push({ destroy: () => redis.disconnect() });
    }
    // Run the schedules once now, in the template's order: after a kill, the flushers detect the loss, and recovery can
    // then handle it. In a new stack, skip the hourly and quarter-hourly schedules, which have no work yet.
    const due = isNew ? stack.schedules.filter(({ periodMs }) => periodMs <= MINUTE_MS) : stack.schedules;
    void (async () => {
      for (const schedule of due) await tick(schedule);
      // Ignore errors: if the stack stops during these ticks, it refuses the remaining ones.
    })().catch(() => {});
  }

  has(functionName: string): boolean {
    return this.pools.has(functionName);
  }

  async invoke(functionName: string, event: unknown): Promise<InvocationResult> {
    const pool = this.pools.get(functionName);
    if (pool === undefined) throw new Error(`there is no function ${functionName}`);
    return pool.invoke(event);
  }

  /** Invokes a function for another function or an operator, as Lambda's API does. */
  call(functionName: string, event: unknown): Promise<InvocationResult> {
    return this.callLimiters.get(functionName)!(() => this.invoke(functionName, event));
  }

  /**
   * Replaces functions' code and environment while they run; see {@link FunctionPool.deploy}.
   *
   * @param kinds kinds of functions, such as `ingester`. @default all
   * @returns names of the deployed functions
   * @throws {Problem} if a kind is unknown; nothing has changed then
   */
  deploy(functions: readonly FunctionResource[], kinds?: readonly string[]): string[] {
    const known = functions.filter(({ name }) => this.pools.has(name));
    const byKind = new Map(known.map((resource) => [kindOf(resource.name), resource]));
    const chosen = (kinds ?? [...byKind.keys()]).map((kind) => {
      const resource = byKind.get(kind);
      if (resource === undefined)
        throw new Problem(`there is no function ${kind}; there are ${[...byKind.keys()].join(', ')}`);
      return resource;
    });
    for (const resource of chosen) this.pools.get(resource.name)!.deploy(resource);
    return chosen.map(({ name }) => name);
  }

  /** Process ids of the functions' instances. */
  get pids(): number[] {
    return [...this.pools.values()].flatMap(({ pids }) => pids);
  }

  /** Process ids by kind of function. */
  get processes(): Record<string, number[]> {
    return Object.fromEntries([...this.pools].map(([name, { pids }]) => [kindOf(name), pids]));
  }

  /**
   * Progress since the start: the number of samples appended to memory, the consumer lag of the template's slowest
   * mapping in ms, and the number of bytes that the template's mappings have read from the stream.
   */
  get progress(): { samples: number; lagMs: number; streamBytes: number } {
    const mappings = [...this.mappings.values()].filter(({ isTemporary }) => !isTemporary);
    return {
      samples: this.samplesAppended,
      lagMs: Math.max(0, ...mappings.map(({ lagMs }) => lagMs)),
      streamBytes: mappings.reduce((sum, { bytesRead }) => sum + bytesRead, 0),
    };
  }

  createMapping(mapping: MappingResource, start: MappingStart): MappingDescription {
    const id = randomUUID();
    this.run(new EventSourceMapping(id, mapping, start, this.mappingDependencies(mapping), undefined));
    return this.listMappings().find(({ UUID }) => UUID === id)!;
  }

  listMappings(): MappingDescription[] {
    return [...this.mappings.values()].map(({ id, resource }) => ({
      UUID: id,
      State: 'Enabled',
      FunctionArn: `arn:aws:lambda:${REGION}:${ACCOUNT}:function:${resource.functionName}`,
      EventSourceArn: resource.streamArn,
      StartingPosition: resource.startingPosition,
      BatchSize: resource.batchSize,
    }));
  }

  async deleteMapping(id: string): Promise<void> {
    const mapping = this.mappings.get(id);
    this.mappings.delete(id);
    await mapping?.stop();
  }

  async stop(): Promise<void> {
    for (const timer of this.timers) clearInterval(timer);
    await Promise.race([
      Promise.all([...this.mappings.values()].map((mapping) => mapping.stop())),
      sleep(5_000, undefined, { ref: false }),
    ]);
    for (const pool of this.pools.values()) pool.close();
    for (const client of this.clients) client.destroy();
  }

  /** Extracts a function's metrics from a line of its log, in CloudWatch's embedded metric format. */
  private meter(line: string): void {
    const appended = /"SamplesAppended":(\d+)/.exec(line)?.[1];
    if (appended !== undefined) this.samplesAppended += Number(appended);
  }

  private run(mapping: EventSourceMapping): void {
    this.mappings.set(mapping.id, mapping);
    void mapping.run();
  }

  private mappingDependencies({ functionName }: MappingResource) {
    const { report, faults, aws, freedoms } = this.options;
    const kind = kindOf(functionName);
    // Lambda reads the stream and writes dead letters with the permissions of the function's role.
    const asFunction = { ...aws, credentials: { ...aws.credentials, sessionToken: functionName } };
    // The stand-in does not support HTTP/2, the SDK's default for Kinesis.
    const kinesis = new KinesisClient({ ...asFunction, requestHandler: new NodeHttpHandler() });
    const s3 = new S3Client({ ...asFunction, forcePathStyle: true });
    this.clients.push(kinesis, s3);
    return {
      kinesis,
      s3,
      invoke: (event: unknown) => this.invoke(functionName, event),
      delivery: (shardId: string) => {
        const { times, delayMs } = faults?.delivery(kind, shardId) ?? { times: 1, delayMs: 0 };
        return {
          times: times + (freedoms?.takes('batch again') ? 1 : 0),
          delayMs,
          isTwiceAtOnce: freedoms?.takes('batch twice at once') ?? false,
        };
      },
      batchLength: (most: number) => freedoms?.batchLength(most) ?? most,
      report,
    };
  }
}

/** Returns the kind of a function: `ingester` for `heterotsdb-local-ingester`. */
export function kindOf(functionName: string): string {
  return functionName.split('-').at(-1)!;
}

/** Returns a mapping's id. It is the same at every start. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join(
    '-',
  );
}
