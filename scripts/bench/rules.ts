import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunReport } from '../../shared/alerting/evaluator';
import type { Units } from '../../shared/cost/measured-units';
import { HttpClient } from '../local/http-client';
import { createTenant } from '../ops/create-tenant';
import { bench } from './frame/bench';
import { cpuByKind } from './frame/cpu';
import type { Frame } from './frame/frame';
import { MeterLog } from './frame/meter-log';
import { count } from './frame/options';
import { quantile } from './frame/quantile';
import { type BenchStack, startBenchStack, UNLIMITED } from './frame/stack';

const MINUTE_MS = 60_000;
/**
 * Time between the starts of two ticks in ms, so that what query caches for ten seconds is read again, as
 * with ticks a minute apart.
 */
const APART_MS = 10_000;
/** Interval between samples of a series, in s. A rule uses a sample of the last five minutes. */
const INTERVAL_S = 120;
/** How far samples reach before and after the start of the run, in s. */
const [BEFORE_S, AFTER_S] = [600, 7200];
/** Samples per request. */
const BATCH = 5000;
/** Hosts of a small tenant, and metrics of every host. */
const HOSTS = 3;
const METRICS = 5;
/** Rules per group of the large tenant. Its hosts are spread over this many roles. */
const GROUP_RULES = 100;
const ROLES = 20;
const RULER = '/prometheus/config/v1/rules/bench';

interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly for?: string;
}

export const rules = bench({
  name: 'rules',
  summary: 'time, CPU and billed units of evaluating the rules of many tenants',
  description:
    'Evaluates the rules of many small tenants and of a large one, one tick (a minute) at a time. Half of the rules are alerting ' +
    'rules, half recording rules. Measures ticks alone, then ticks during requests of another tenant, and those requests alone.',
  notes:
    'The whole local stack runs, with two instances of post, and three of query, one of which evaluates rules; Lambda would give each request its own. ' +
    'Write `measured` of the JSON to scripts/ops/measured-rules.json.',
  options: {
    tenants: count('small tenants', 1000),
    rules: count('rules of each small tenant', 10),
    large: count(`rules of the large tenant, in groups of ${GROUP_RULES}`, 2000),
    sources: count('hosts of the large tenant', 1000),
    ticks: count('ticks evaluated without other requests', 3),
    rounds: count('ticks evaluated during other requests', 3),
  },
  run: async (options, frame) => {
    const run = await Run.start(frame);
    await run.addTenants(options.tenants, options.rules);
    await run.addLargeTenant(options.large, options.sources);
    const quiet = await run.addTenant('quiet');
    await run.write(quiet, HOSTS);
    const total = options.tenants * options.rules + options.large;
    await run.catchUp();
    await run.evaluate();
    run.takeUnits();
    const cpu = cpuByKind(run.bench.stack.processes);
    const seconds: number[] = [];
    for (let tick = 0; tick < options.ticks; tick++) {
      await run.untilApart();
      seconds.push(await run.evaluate());
      frame.log(`tick ${tick + 1} of ${options.ticks}: ${total} rules in ${seconds.at(-1)!.toFixed(1)} s`);
    }
    const cpuSeconds = cpu();
    const units = run.takeUnits();
    const beside = await run.besideRequests(quiet, options.rounds);
    const perRule = (amount: number) => amount / (total * options.ticks);
    return {
      rules: total,
      secondsATick: { median: quantile(seconds, 0.5), most: Math.max(...seconds) },
      cpuMsARule: Object.fromEntries(
        Object.entries(cpuSeconds).map(([kind, s]) => [kind, perRule(s * 1000)]),
      ),
      ...beside,
      measured: { rules: total, ticks: options.ticks, units },
    };
  },
});

class Run {
  private tickMs = 0;
  private beganMs = -Infinity;
  private readonly startS = Math.ceil(Date.now() / MINUTE_MS) * 60;

  private constructor(
    private readonly frame: Frame,
    readonly bench: BenchStack,
    private readonly log: MeterLog,
  ) {}

  static async start(frame: Frame): Promise<Run> {
    const stack = await startBenchStack(frame, UNLIMITED, frame.log);
    const log = new MeterLog(join(stack.stack.dataDir, 'functions.log'));
    frame.atEnd(() => log.close());
    return new Run(frame, stack, log);
  }

  async addTenants(tenants: number, perTenant: number): Promise<void> {
    for (let i = 0; i < tenants; i++) {
      const tenant = await this.addTenant(`tenant-${i}`);
      await this.write(tenant, HOSTS);
      const smallRules = Array.from({ length: perTenant }, (_, r) => smallRule(r));
      await tenant.mustSend(RULER, groupOf('g', smallRules), 'application/yaml');
      if ((i + 1) % 100 === 0) this.frame.log(`${i + 1} of ${tenants} tenants have rules`);
    }
  }

  async addLargeTenant(perTenant: number, sources: number): Promise<void> {
    const tenant = await this.addTenant('large');
    await this.write(tenant, sources);
    for (let from = 0; from < perTenant; from += GROUP_RULES) {
      const length = Math.min(GROUP_RULES, perTenant - from);
      const largeRules = Array.from({ length }, (_, r) => largeRule(from + r, sources));
      await tenant.mustSend(RULER, groupOf(`g${from}`, largeRules), 'application/yaml');
    }
  }

  async addTenant(name: string): Promise<HttpClient> {
    const { functions, stack } = this.bench;
    const { key } = await createTenant(functions, name);
    return new HttpClient(stack.addresses.url, key);
  }

  /** Posts all samples of a tenant's hosts. */
  async write(tenant: HttpClient, hosts: number): Promise<void> {
    const times: number[] = [];
    for (let at = -BEFORE_S; at <= AFTER_S; at += INTERVAL_S) times.push(this.startS + at);
    const together = Math.max(1, Math.floor(BATCH / (hosts * METRICS)));
    for (let i = 0; i < times.length; i += together) {
      const lines = times.slice(i, i + together).map((timeS) => samplesOf(hosts, timeS));
      await tenant.mustSend('/write?precision=s', lines.join('\n'), 'text/plain');
    }
  }

  /** Waits until the next tick may start. */
  async untilApart(): Promise<void> {
    await sleep(Math.max(0, this.beganMs + APART_MS - performance.now()));
  }

  /**
   * Evaluates the tick after the last one.
   *
   * @returns its duration in s
   */
  async evaluate(): Promise<number> {
    this.beganMs = performance.now();
    const report = await this.invoke();
    if (report.failedGroups + report.failingRules > 0 || report.ticks !== report.groups)
      throw new Error(`the tick was not evaluated in full: ${JSON.stringify(report)}`);
    return (performance.now() - this.beganMs) / 1000;
  }

  /** Evaluates the ticks since the stack's schedule first saw the groups, which may take several runs. */
  async catchUp(): Promise<void> {
    for (let isBehind = true; isBehind; ) {
      const report = await this.invoke().catch(() => undefined);
      isBehind = report === undefined || report.failedGroups > 0 || report.ticks !== report.groups;
      this.frame.log(`catching up: ${report?.ticks ?? 'a run out of time'}`);
    }
  }

  /**
   * Runs the evaluator for the next tick, which lies in the future, so that the stack's own schedule finds it
   * done.
   */
  async invoke(): Promise<RunReport> {
    this.tickMs = Math.max(this.tickMs, Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS) + MINUTE_MS;
    for (;;) {
      const report = await this.bench.functions.invoke<RunReport>('evaluator', { atMs: this.tickMs });
      if (report.began) return report;
      // Wait for the scheduled run to end.
      await sleep(100);
    }
  }

  /** Returns the units used by evaluator and query since the last call. */
  takeUnits(): Units {
    const sum: Record<string, number> = {};
    for (const name of ['evaluator', 'query'] as const)
      for (const [unit, amount] of Object.entries(this.log.take(name).units))
        sum[unit] = (sum[unit] ?? 0) + amount;
    return sum;
  }

  /** Times a tenant's posts and reads, alternately alone and during evaluations. */
  async besideRequests(tenant: HttpClient, rounds: number) {
    const body = samplesOf(HOSTS, Math.floor(Date.now() / 1000));
    const query = encodeURIComponent('avg_over_time(cpu_m0[5m])');
    const read = `/prometheus/api/v1/query?query=${query}&time=${this.startS}`;
    const kinds = {
      posts: () => tenant.mustSend('/write?precision=s', body, 'text/plain'),
      reads: () => tenant.mustSend(read),
    };
    const timesOf = () => ({ posts: [] as number[], reads: [] as number[] });
    const [alone, beside] = [timesOf(), timesOf()];
    const send = async (times: ReturnType<typeof timesOf>) => {
      for (const kind of ['posts', 'reads'] as const) {
        const startedMs = performance.now();
        await kinds[kind]();
        times[kind].push(performance.now() - startedMs);
      }
      // Wait, because a real tenant pauses between two requests.
      await sleep(20);
    };
    const sendBeside = async (times: ReturnType<typeof timesOf>) => {
      await this.untilApart();
      let isRunning = true;
      const evaluated = this.evaluate().finally(() => {
        isRunning = false;
      });
      while (isRunning) await send(times);
      await evaluated;
    };
    // Warm up the extra query instance that starts only for requests during an evaluation.
    await sendBeside(timesOf());
    for (let round = 0; round < rounds; round++) {
      const before = beside.posts.length;
      await sendBeside(beside);
      for (let i = before; i < beside.posts.length; i++) await send(alone);
    }
    const of = (kind: keyof typeof kinds) => ({
      aloneP99Ms: quantile(alone[kind], 0.99),
      besideP99Ms: quantile(beside[kind], 0.99),
      p99Ratio: quantile(beside[kind], 0.99) / quantile(alone[kind], 0.99),
    });
    return { requests: beside.posts.length, posts: of('posts'), reads: of('reads') };
  }
}

/** Returns line protocol of some hosts at a time. */
function samplesOf(hosts: number, timeS: number): string {
  return Array.from({ length: hosts }, (_, host) => {
    const fields = Array.from(
      { length: METRICS },
      (_, m) => `m${m}=${(host * 7 + m * 3 + timeS / 60) % 100}`,
    );
    return `cpu,host=h${host},role=r${host % ROLES} ${fields.join(',')} ${timeS}`;
  }).join('\n');
}

/** Returns alternately a recording rule of an average, and an alert that some hosts almost meet. */
function smallRule(i: number): Rule {
  const metric = `cpu_m${i % METRICS}`;
  return i % 2 === 0
    ? { record: `cpu:m${i}:avg`, expr: `avg(avg_over_time(${metric}[5m]))` }
    : { alert: `High${i}`, expr: `${metric} > ${80 + (i % 15)}`, for: '2m' };
}

/** Returns rules of which half concern one host, a quarter a role, and a quarter all hosts. */
function largeRule(i: number, hosts: number): Rule {
  const metric = `cpu_m${i % METRICS}`;
  switch (i % 4) {
    case 0:
      return { record: `role:m${i}:sum`, expr: `sum(${metric}{role="r${i % ROLES}"})` };
    case 1:
      return { alert: `Roles${i}`, expr: `avg by (role) (${metric}) > ${90 + (i % 10)}`, for: '2m' };
    default:
      return { alert: `Host${i}`, expr: `${metric}{host="h${i % hosts}"} > 95`, for: '2m' };
  }
}

/** Formats a group as YAML; JSON is valid YAML. */
function groupOf(name: string, groupRules: readonly Rule[]): string {
  return JSON.stringify({ name, interval: '1m', rules: groupRules });
}
