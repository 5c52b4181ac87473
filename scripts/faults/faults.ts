import type { ChildProcess } from 'node:child_process';
import type { Delivery, HostFaults, StoreAddresses, Wiring } from '../local/wiring';
import { AwsProxy } from './aws-proxy';
import type { Call, Fault, Phase } from './call';
import { RedisProxy } from './redis-proxy';

/** A fault that stays active until it is lifted. */
export interface Rule {
  /** Number of calls affected. */
  readonly hits: number;
  lift(): void;
}

export interface RuleOptions {
  readonly matches: (call: Call) => boolean;
  /** Returns a call's fault; undefined for none. */
  readonly fault: (call: Call) => Fault | undefined;
  /**
   * Maximum number of calls to affect.
   *
   * @default no limit
   */
  readonly times?: number;
}

/**
 * A kind of call by which a function changes data. Shows how many such calls were seen, and on which sides of a call
 * (before, after) the function was killed.
 */
export interface KillPoint {
  readonly point: string;
  readonly calls: number;
  readonly killed: readonly Phase[];
}

interface Interruption {
  readonly matches: (call: Call) => boolean;
  readonly phaseOf: (call: Call) => Phase;
  /** Returns true to forward the call or its response afterwards, or false to cut the connection. */
  readonly act: (process: ChildProcess, call: Call, phase: Phase) => Promise<boolean>;
}

interface Instance extends Wiring {
  readonly functionName: string;
  readonly redis: RedisProxy;
  readonly aws: AwsProxy;
  child: ChildProcess | undefined;
}

const PHASES: readonly Phase[] = ['before', 'after'];
const asUsual = (): Delivery => ({ times: 1, delayMs: 0 });

/**
 * Faults between functions and stores. Each function process has its own proxies, so a fault can also act on
 * exactly the process that made a call. The code under test is unaware of the proxies.
 */
export class Faults implements HostFaults {
  private readonly rules = new Set<{ options: RuleOptions; hits: number }>();
  private readonly instances = new Set<Instance>();
  private readonly points = new Map<string, { calls: number; killed: Set<Phase> }>();
  private readonly paused = new Map<ChildProcess, () => void>();
  private readonly refusals = new Set<{ hits: number }>();
  /** Decides how a shard's next batch is delivered. */
  onDeliver: (functionName: string, shardId: string) => Delivery = asUsual;
  /** Returns the clock error of a new process, in ms. */
  clockSkewMs: (functionName: string) => number = () => 0;

  /** Activates a rule. If several rules match a call, the first one decides. */
  rule(options: RuleOptions): Rule {
    const rule = { options, hits: 0 };
    this.rules.add(rule);
    return {
      get hits() {
        return rule.hits;
      },
      lift: () => void this.rules.delete(rule),
    };
  }

  /**
   * Kills a function before or after one of its next calls that change data, at a point where no earlier fault has
   * killed it.
   */
  killSomewhereNew(functionName: string): Rule {
    const phaseOf = (call: Call) =>
      PHASES.find((phase) => !this.points.get(pointOf(call))?.killed.has(phase));
    return this.interruptOnce({
      matches: (call) => call.functionName === functionName && call.isChange && phaseOf(call) !== undefined,
      phaseOf: (call) => phaseOf(call)!,
      act: async (process, call, phase) => {
        this.pointAt(call).killed.add(phase);
        process.kill('SIGKILL');
        return false;
      },
    });
  }

  /** Pauses the process that makes the next matching call, until `meanwhile` has ended. */
  pauseAt(phase: Phase, matches: (call: Call) => boolean, meanwhile: () => Promise<unknown>): Rule {
    return this.interruptOnce({
      matches,
      phaseOf: () => phase,
      act: async (process) => {
        process.kill('SIGSTOP');
        const released = new Promise<void>((release) => this.paused.set(process, release));
        await Promise.race([meanwhile().catch(() => {}), released]);
        this.paused.delete(process);
        process.kill('SIGCONT');
        return true;
      },
    });
  }

  /**
   * Kills every process of a function, whatever it is doing.
   *
   * @returns the number of processes
   */
  kill(functionName: string): number {
    const own = [...this.instances].filter((instance) => instance.functionName === functionName);
    for (const { child } of own) child?.kill('SIGKILL');
    return own.length;
  }

  /**
   * Cuts every connection to Redis.
   *
   * @returns the number of connections
   */
  cutRedis(): number {
    return [...this.instances].reduce((sum, { redis }) => sum + redis.cut(), 0);
  }

  /** Cuts every connection to Redis, and refuses new ones. Both count. */
  refuseRedis(): Rule {
    const refusal = { hits: this.cutRedis(), lift: () => void this.refusals.delete(refusal) };
    this.refusals.add(refusal);
    return refusal;
  }

  deliverAsUsual(): void {
    this.onDeliver = asUsual;
  }

  /** Lifts all faults, for new and existing processes. */
  off(): void {
    this.rules.clear();
    this.deliverAsUsual();
    this.refusals.clear();
    for (const release of this.paused.values()) release();
    this.clockSkewMs = () => 0;
  }

  /** The calls seen so far that change data, by function, store and operation. */
  get killPoints(): KillPoint[] {
    return [...this.points]
      .map(([point, { calls, killed }]) => ({ point, calls, killed: [...killed] }))
      .sort((a, b) => (a.point < b.point ? -1 : 1));
  }

  async wire(functionName: string, { redisUrl, awsUrl, lambdaUrl }: StoreAddresses): Promise<Wiring> {
    const decide = (call: Call) => this.decide(call);
    const process = () => instance.child!;
    const { hostname: host, port } = new URL(redisUrl);
    const targets = { aws: new URL(awsUrl), lambda: new URL(lambdaUrl) };
    const [redis, aws] = await Promise.all([
      RedisProxy.listen({ host, port: Number(port) }, functionName, decide, process, () => this.refuses()),
      AwsProxy.listen(targets, functionName, decide, process),
    ]);
    const instance: Instance = {
      functionName,
      redis,
      aws,
      child: undefined,
      addresses: { redisUrl: `redis://127.0.0.1:${redis.port}`, awsUrl: aws.url, lambdaUrl: aws.url },
      clockSkewMs: this.clockSkewMs(functionName),
      attach: (child) => {
        instance.child = child;
      },
      close: () => {
        this.instances.delete(instance);
        redis.close();
        aws.close();
      },
    };
    this.instances.add(instance);
    return instance;
  }

  delivery(functionName: string, shardId: string): Delivery {
    return this.onDeliver(functionName, shardId);
  }

  /** Whether a new connection to Redis is refused. If so, every active refusal counts it. */
  private refuses(): boolean {
    for (const refusal of this.refusals) refusal.hits++;
    return this.refusals.size > 0;
  }

  private decide(call: Call): Fault | undefined {
    if (call.isChange) this.pointAt(call).calls++;
    for (const rule of this.rules) {
      if (!rule.options.matches(call)) continue;
      const fault = rule.options.fault(call);
      if (fault === undefined) continue;
      rule.hits++;
      if (rule.hits === rule.options.times) this.rules.delete(rule);
      return fault;
    }
    return undefined;
  }

  /**
   * Interrupts one matching call: the first one that reaches its phase. A call may fail before that, for example
   * because the store's response is lost. The rule then waits for the next matching call.
   */
  private interruptOnce({ matches, phaseOf, act }: Interruption): Rule {
    let hits = 0;
    const rule = this.rule({
      matches,
      fault: (call) => {
        const phase = phaseOf(call);
        const actOnce = async (process: ChildProcess) => {
          // Several calls may match before the first of them reaches its phase.
          if (hits > 0) return true;
          hits++;
          rule.lift();
          return act(process, call, phase);
        };
        return { kind: 'interrupt', phase, act: actOnce };
      },
    });
    return {
      get hits() {
        return hits;
      },
      lift: () => rule.lift(),
    };
  }

  private pointAt(call: Call) {
    const point = pointOf(call);
    let seen = this.points.get(point);
    if (seen === undefined) {
      seen = { calls: 0, killed: new Set() };
      this.points.set(point, seen);
    }
    return seen;
  }
}

function pointOf({ functionName, store, operation }: Call): string {
  return `${functionName} ${store} ${operation}`;
}
