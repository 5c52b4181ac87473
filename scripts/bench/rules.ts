import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunReport } from '../../shared/alerting/tasks/evaluation';
import type { Units } from '../../shared/cost/measured-units';
import { MINUTE_MS } from '../../shared/model/duration';
import { createTenant } from '../ops/create-tenant';
import { TenantApi } from '../ops/tenant-api';
import { bench } from './harness/bench';
import { cpuByKind } from './harness/cpu';
import type { Harness } from './harness/harness';
import { MeterLog } from './harness/meter-log';
import { count } from './harness/options';
import { quantile } from './harness/quantile';
import { type BenchStack, startBenchStack, UNLIMITED } from './harness/stack';

/**
 * Time between the starts of two ticks, in ms. It is long enough for the query function's ten-second caches to expire,
 * as they do between ticks a minute apart.
 */
const APART_MS = 10_000;
/** Interval between samples of a series, in seconds. A rule uses a sample if it is at most five minutes old. */
const INTERVAL_S = 120;
/** How long before and after the start of the run there are samples, in seconds. */
const [BEFORE_S, AFTER_S] = [600, 7200];
/** Samples per request. */
const BATCH = 5000;
/** Number of hosts that a small tenant has, and number of metrics of each host. */
const HOSTS = 3;
const METRICS = 5;
/** Number of rules in each group of the large tenant, and number of roles among which its hosts are spread. */
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
    'rules, half recording rules.',
  notes: 'The whole local stack runs. Write `measured` of the JSON to scripts/ops/measured-rules.json.',
  options: {
    tenants: count('small tenants', 1000),
    rules: count('rules of each small tenant', 10),
    large: count(`rules of the large tenant, in groups of ${GROUP_RULES}`, 2000),
    sources: count('hosts of the large tenant', 1000),
    ticks: count('ticks that are measured', 3),
  },
  run: async ({ tenants, rules: perTenant, large, sources, ticks }, harness) => {
    const stack = await startBenchStack(harness, UNLIMITED, harness.log, ['evaluator']);
    const run = new Run(harness, stack);
    await run.addTenants(tenants, perTenant);
    await run.addLargeTenant(large, sources);
    const total = tenants * perTenant + large;
    const { secondsATick, cpuMs, units } = await run.measure(ticks);
    return {
      rules: total,
      secondsATick,
      cpuMsARule: Object.fromEntries(Object.entries(cpuMs).map(([kind, ms]) => [kind, ms / (total * ticks)])),
      measured: { rules: total, ticks, units },
    };
  },
});

class Run {
  private readonly startS = Math.ceil(Date.now() / MINUTE_MS) * 60;

  constructor(
    private readonly harness: Harness,
    private readonly bench: BenchStack,
  ) {}

  async addTenants(tenants: number, perTenant: number): Promise<void> {
    for (let i = 0; i < tenants; i++) {
      const tenant = await this.addTenant(`tenant-${i}`);
      await this.write(tenant, HOSTS);
      const smallRules = Array.from({ length: perTenant }, (_, r) => smallRule(r));
      await tenant.text('POST', RULER, groupOf('g', smallRules), 'application/yaml');
      if ((i + 1) % 100 === 0) this.harness.log(`${i + 1} of ${tenants} tenants have rules`);
    }
  }

  async addLargeTenant(perTenant: number, sources: number): Promise<void> {
    const tenant = await this.addTenant('large');
    await this.write(tenant, sources);
    for (let from = 0; from < perTenant; from += GROUP_RULES) {
      const length = Math.min(GROUP_RULES, perTenant - from);
      const largeRules = Array.from({ length }, (_, r) => largeRule(from + r, sources));
      await tenant.text('POST', RULER, groupOf(`g${from}`, largeRules), 'application/yaml');
    }
  }

  private async addTenant(name: string): Promise<TenantApi> {
    const { functions, stack } = this.bench;
    const { key } = await createTenant(functions, name);
    return new TenantApi(stack.addresses.url, key);
  }

  /**
   * Evaluates all groups, tick by tick, after some ticks that catch up with the present.
   *
   * @returns the time per tick, the CPU in ms by kind of process, and the units that evaluator and query used in all
   *   ticks
   */
  async measure(count: number) {
    const { functions, stack } = this.bench;
    const log = new MeterLog(join(stack.dataDir, 'functions.log'));
    this.harness.atEnd(() => log.close());
    let tickMs = 0;
    /** Evaluates the next tick, which may be in the future. */
    const run = async (): Promise<RunReport> => {
      tickMs = Math.max(tickMs, Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS) + MINUTE_MS;
      for (;;) {
        const report = await functions.invoke<RunReport>('evaluator', { atMs: tickMs });
        if (report.began) return report;
        // An earlier run, whose caller gave up, is still in progress. Wait until it ends.
        await sleep(100);
      }
    };
    const takeUnits = (): Units => {
      const sum: Record<string, number> = {};
      for (const name of ['evaluator', 'query'] as const)
        for (const [unit, amount] of Object.entries(log.take(name).units))
          sum[unit] = (sum[unit] ?? 0) + amount;
      return sum;
    };
    for (let isBehind = true; isBehind; ) {
      const report = await run().catch(() => undefined);
      isBehind = report === undefined || report.failedTasks > 0 || report.ticks !== report.tasks;
      this.harness.log(
        `catching up: ${report === undefined ? 'a run out of time' : `${report.ticks} evaluations`}`,
      );
    }
    await sleep(APART_MS);
    takeUnits();
    const cpu = cpuByKind(stack.processes);
    const seconds: number[] = [];
    for (let tick = 0; tick < count; tick++) {
      const beganMs = performance.now();
      const report = await run();
      seconds.push((performance.now() - beganMs) / 1000);
      if (report.failedTasks + report.failingRules > 0 || report.ticks !== report.tasks)
        throw new Error(`the tick was not evaluated in full: ${JSON.stringify(report)}`);
      this.harness.log(
        `tick ${tick + 1} of ${count}: ${report.tasks} groups in ${seconds.at(-1)!.toFixed(2)} s`,
      );
      await sleep(Math.max(0, beganMs + APART_MS - performance.now()));
    }
    return {
      secondsATick: { median: quantile(seconds, 0.5), most: Math.max(...seconds) },
      cpuMs: Object.fromEntries(Object.entries(cpu()).map(([kind, s]) => [kind, s * 1000])),
      units: takeUnits(),
    };
  }

  /** Posts all samples of a tenant's hosts. */
  private async write(tenant: TenantApi, hosts: number): Promise<void> {
    const times: number[] = [];
    for (let at = -BEFORE_S; at <= AFTER_S; at += INTERVAL_S) times.push(this.startS + at);
    const together = Math.max(1, Math.floor(BATCH / (hosts * METRICS)));
    for (let i = 0; i < times.length; i += together) {
      const lines = times.slice(i, i + together).map((timeS) => samplesOf(hosts, timeS));
      await tenant.text('POST', '/write?precision=s', lines.join('\n'), 'text/plain');
    }
  }
}

/** Returns the hosts' samples at one time, as line protocol. */
function samplesOf(hosts: number, timeS: number): string {
  return Array.from({ length: hosts }, (_, host) => {
    const fields = Array.from(
      { length: METRICS },
      (_, m) => `m${m}=${(host * 7 + m * 3 + timeS / 60) % 100}`,
    );
    return `cpu,host=h${host},role=r${host % ROLES} ${fields.join(',')} ${timeS}`;
  }).join('\n');
}

/**
 * Returns a recording rule for an average, or (for odd `i`) an alert whose condition some hosts nearly meet.
 */
function smallRule(i: number): Rule {
  const metric = `cpu_m${i % METRICS}`;
  return i % 2 === 0
    ? { record: `cpu:m${i}:avg`, expr: `avg(avg_over_time(${metric}[5m]))` }
    : { alert: `High${i}`, expr: `${metric} > ${80 + (i % 15)}`, for: '2m' };
}

/** Returns rules: half of them concern one host, a quarter a role, and a quarter all hosts. */
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
