import type { FunctionName } from '../../shared/platform/names';
import { batchLength, doneCount, kinesisEvent, type ShardRecord } from '../local/batches';
import type { FunctionResource, MappingResource, ScheduleResource } from '../local/template';
import type { Faults, Stall } from './faults';
import { type Bundle, Instance } from './instance';
import type { KinesisModel } from './kinesis';
import type { Meter } from './meter';
import type { Scheduler } from './scheduler';
import type { Seam } from './seam';

/** A function's response, or the name and message of its error. */
export type Invocation =
  | { readonly ok: true; readonly payload: unknown }
  | { readonly ok: false; readonly errorType: string; readonly errorMessage: string };

/** The instances of one function. */
class Pool {
  /** Idle instances, the most recently used last. */
  private readonly idle: Instance[] = [];
  private started = 0;

  constructor(
    private readonly name: FunctionName,
    private readonly resource: FunctionResource,
    private readonly bundle: Bundle,
    private readonly world: Functions,
  ) {}

  invoke(event: unknown, stall = this.world.faults.stalls(this.name)): Promise<Invocation> {
    const { scheduler } = this.world;
    const { timeoutMs } = this.resource;
    const instance = this.idle.pop() ?? this.start();
    const endMs = scheduler.nowMs + timeoutMs;
    const context = {
      functionName: this.resource.name,
      awsRequestId: `request-${scheduler.tasks}`,
      memoryLimitInMB: String(this.resource.memoryMb),
      getRemainingTimeInMillis: () => Math.max(0, endMs - scheduler.nowMs),
    };
    return new Promise((resolve) => {
      instance.thaw();
      const settle = (result: Invocation) => {
        limit.isCancelled = true;
        scheduler.trace(`${this.name} ${result.ok ? 'answers' : `fails: ${result.errorType}`}`);
        if (instance.isAlive && !this.world.faults.takes('instance reclaimed')) {
          if (this.world.faults.freezes()) instance.freeze();
          this.idle.push(instance);
        } else instance.isAlive = false;
        resolve(result);
      };
      // Lambda kills an invocation that reaches its time-out. None of its code runs afterwards.
      const limit = scheduler.after(timeoutMs, () => {
        instance.isAlive = false;
        settle({ ok: false, errorType: 'Sandbox.Timedout', errorMessage: `${this.name} timed out` });
      });
      const kill = this.world.faults.killAfterMs(this.name);
      if (kill !== undefined)
        scheduler.after(kill, () => {
          if (limit.isCancelled) return;
          instance.isAlive = false;
          settle({ ok: false, errorType: 'Runtime.ExitError', errorMessage: `${this.name} was killed` });
        });
      if (stall !== undefined)
        scheduler.after(stall.afterMs, () => {
          if (limit.isCancelled) return;
          instance.freeze();
          scheduler.after(stall.forMs, () => instance.thaw());
        });
      instance
        .handler(event, context)
        .then(
          (payload): Invocation => ({ ok: true, payload: payload ?? null }),
          (error: Error): Invocation => ({ ok: false, errorType: error.name, errorMessage: error.message }),
        )
        .then((result) => {
          if (instance.isAlive && !limit.isCancelled) settle(result);
        }, this.world.fail);
    });
  }

  private start(): Instance {
    const { scheduler, faults, seam } = this.world;
    scheduler.trace(`${this.name} starts instance ${this.started++}`);
    return new Instance({
      bundle: this.bundle,
      scheduler,
      random: scheduler.random.fork(),
      environment: this.world.environmentOf(this.resource),
      clockSkewMs: faults.clockSkewMs(),
      network: (instance) => seam.network(this.name, instance),
      onLog: (line) => this.world.onLog(this.name, line),
    });
  }
}

/** A minimal Lambda in virtual time: functions, event source mappings and schedules. */
export class Functions {
  private readonly pools = new Map<string, Pool>();

  constructor(
    readonly scheduler: Scheduler,
    readonly faults: Faults,
    readonly seam: Seam,
    readonly environmentOf: (resource: FunctionResource) => Readonly<Record<string, string>>,
    readonly onLog: (name: string, line: string) => void,
    /** Called with errors of the simulation itself. */
    readonly fail: (error: unknown) => void,
    private readonly meter?: Meter,
  ) {}

  add(name: FunctionName, resource: FunctionResource, bundle: Bundle): void {
    this.pools.set(resource.name, new Pool(name, resource, bundle, this));
  }

  has(name: string): boolean {
    return this.pools.has(name);
  }

  /**
   * Invokes a function by its name.
   *
   * @param event is not copied, so the caller must not use it again
   * @param stall makes the invocation pause. @default the faults decide
   */
  async invoke(name: string, event: unknown, stall?: Stall): Promise<Invocation> {
    const pool = this.pools.get(name);
    if (pool === undefined) throw new Error(`the simulation has no function ${name}`);
    return pool.invoke(event, stall);
  }

  /**
   * Invokes a function once in each period, sometimes late or twice.
   *
   * @param stretch ratio of this period to the period in a deployed stage
   */
  schedule({ functionName, periodMs, input }: ScheduleResource, stretch: number): void {
    const { scheduler, faults } = this;
    const tick = () => {
      scheduler.after(periodMs, tick);
      const times = faults.takes('timer twice') ? 2 : 1;
      this.meter?.tick(stretch);
      for (let i = 0; i < times; i++)
        scheduler.after(
          faults.delayMs('timer late'),
          () => void this.invoke(functionName, structuredClone(input)).catch(this.fail),
        );
    };
    scheduler.after(scheduler.random.integer(1, periodMs), tick);
  }
}

/**
 * An event source mapping: delivers a stream's records to a function, in order within a shard. A batch that
 * fails is delivered again, without limit.
 */
export class Mapping {
  private readonly positions = new Map<string, number>();
  private readonly busy = new Set<string>();
  isDeleted = false;

  constructor(
    private readonly functions: Functions,
    private readonly stream: KinesisModel,
    readonly resource: MappingResource,
    positionOf: (shardId: string) => number,
  ) {
    for (const { id } of stream.shards) this.positions.set(id, positionOf(id));
  }

  /** Starts delivering a shard's records, unless a delivery of this shard is in progress. */
  wake(shardId: string): void {
    if (this.busy.has(shardId) || this.isDeleted) return;
    this.busy.add(shardId);
    const { scheduler, fail } = this.functions;
    scheduler.after(this.resource.batchWindowMs, () => {
      this.deliver(shardId)
        .catch(fail)
        .finally(() => this.busy.delete(shardId));
    });
  }

  /** Number of records that have not been delivered. */
  get behind(): number {
    let records = 0;
    for (const [shardId, position] of this.positions) records += this.stream.from(shardId, position).length;
    return records;
  }

  private async deliver(shardId: string): Promise<void> {
    const { scheduler } = this.functions;
    let [most, backoffMs] = [Infinity, 100];
    for (;;) {
      const records = this.next(shardId, most);
      if (records.length === 0 || this.isDeleted) return;
      const result = await this.invoke(shardId, records);
      const done = result.ok ? doneCount(records, result.payload, this.resource.reportsItemFailures) : 0;
      this.positions.set(shardId, this.positions.get(shardId)! + done);
      if (done === records.length) {
        [most, backoffMs] = [Infinity, 100];
        continue;
      }
      // If the function fails without naming a record, Lambda splits the batch in half.
      if (!result.ok && this.resource.bisectOnError) most = Math.max(1, records.length >> 1);
      await scheduler.sleep(backoffMs);
      backoffMs = Math.min(5_000, backoffMs * 2);
    }
  }

  private next(shardId: string, most: number): readonly ShardRecord[] {
    const records = this.stream.from(shardId, this.positions.get(shardId)!);
    const length = Math.min(most, batchLength(records, this.resource.batchSize));
    return records.slice(0, this.functions.faults.batchLength(length));
  }

  private async invoke(shardId: string, records: readonly ShardRecord[]): Promise<Invocation> {
    const { faults } = this.functions;
    const { functionName, streamArn } = this.resource;
    const deliver = () => this.functions.invoke(functionName, kinesisEvent(records, shardId, streamArn));
    const twin = faults.takes('batch twice at once') ? deliver() : undefined;
    const result = await deliver();
    await twin;
    return faults.takes('batch again') ? deliver() : result;
  }
}
