import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunReport } from '../../shared/alerting/evaluator';
import type { Units } from '../../shared/cost/measured-units';
import { rulesLine } from '../../shared/cost/rule-cost';
import { bench } from './frame/bench';
import { cpuByKind } from './frame/cpu';
import { MeterLog } from './frame/meter-log';
import { count } from './frame/options';
import { quantile } from './frame/quantile';
import { startBenchStack, UNLIMITED } from './frame/stack';

const MINUTE_MS = 60_000;
/** How far samples reach before and after the start of the run, in minutes. */
const [BEFORE, AFTER] = [10, 30];
/** Samples per request. */
const BATCH = 5_000;
const METRICS = ['loadavg5', 'cpu.user.percentage', 'memory.used', 'memory.total', 'custom.queue.length'];
const ROLE_HOSTS = 50;

export const monitors = bench({
  name: 'monitors',
  summary: "time, CPU and billed units of evaluating Mackerel's monitors of many hosts",
  description:
    'Posts metrics of hosts in roles, as agents do, and evaluates monitors of them, a tick of a minute at a time. ' +
    'A half of the monitors watch all hosts, the others a role.',
  notes:
    'The whole local stack runs. The dollars are those of these monitors for a month, by the same prices as npm run ops -- cost --rules.',
  options: {
    hosts: count('hosts', 1000),
    monitors: count('monitors of type host', 20),
    ticks: count('ticks that are evaluated', 3),
  },
  run: async ({ hosts, monitors: wanted, ticks }, frame) => {
    const { stack, functions, client } = await startBenchStack(frame, UNLIMITED, frame.log);
    const log = new MeterLog(join(stack.dataDir, 'functions.log'));
    frame.atEnd(() => log.close());
    const mustJson = (path: string, body: unknown) =>
      client.mustSend(path, JSON.stringify(body), 'application/json');

    const startS = Math.ceil(Date.now() / MINUTE_MS) * 60;
    await mustJson('/api/v0/services', { name: 'bench', memo: '' });
    const roles = Math.ceil(hosts / ROLE_HOSTS);
    for (let role = 0; role < roles; role++)
      await mustJson('/api/v0/services/bench/roles', { name: `r${role}`, memo: '' });
    const ids: string[] = [];
    for (let host = 0; host < hosts; host++) {
      const roleFullnames = [`bench:r${host % roles}`];
      const answer = await mustJson('/api/v0/hosts', { name: `h${host}`, meta: {}, roleFullnames });
      ids.push((JSON.parse(answer) as { id: string }).id);
    }
    frame.log(`${hosts} hosts in ${roles} roles`);
    for (let minute = -BEFORE; minute <= AFTER; minute++) {
      const time = startS + minute * 60;
      const samples = ids.flatMap((hostId, host) =>
        METRICS.map((name, m) => ({ hostId, name, time, value: (host * 7 + m * 3 + minute) % 100 })),
      );
      for (let from = 0; from < samples.length; from += BATCH)
        await mustJson('/api/v0/tsdb', samples.slice(from, from + BATCH));
    }
    for (let i = 0; i < wanted; i++)
      await mustJson('/api/v0/monitors', {
        ...{ type: 'host', name: `monitor ${i}`, metric: METRICS[i % METRICS.length], operator: '>' },
        ...{ warning: 200 + i, critical: 300 + i, duration: 1 + (i % 3), maxCheckAttempts: 1 },
        scopes: i % 2 === 0 ? [] : [`bench: r${i % roles}`],
      });

    let tickMs = 0;
    /** Runs the evaluator for the next tick, which lies in the future. @returns its report and seconds */
    const evaluate = async () => {
      tickMs = Math.max(tickMs, Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS) + MINUTE_MS;
      for (;;) {
        const beganMs = performance.now();
        const report = await functions.invoke<RunReport>('evaluator', { atMs: tickMs });
        if (report.began) return { report, seconds: (performance.now() - beganMs) / 1000 };
        // Wait for the scheduled run to end.
        await sleep(100);
      }
    };
    for (let isBehind = true; isBehind; ) {
      const { report } = await evaluate();
      isBehind = report.failedGroups > 0 || report.groups === 0 || report.ticks !== report.groups;
      frame.log(`catching up: ${report.ticks} of ${report.groups} monitors`);
    }
    const takeUnits = (): Units => {
      const sum: Record<string, number> = {};
      for (const name of ['evaluator', 'query'] as const)
        for (const [unit, amount] of Object.entries(log.take(name).units))
          sum[unit] = (sum[unit] ?? 0) + amount;
      return sum;
    };
    takeUnits();
    const cpu = cpuByKind(stack.processes);
    const seconds: number[] = [];
    for (let tick = 0; tick < ticks; tick++) {
      const found = await evaluate();
      const { failedGroups, failingRules, ticks: evaluated, groups } = found.report;
      if (failedGroups + failingRules > 0 || evaluated !== groups)
        throw new Error(`the tick was not evaluated in full: ${JSON.stringify(found.report)}`);
      seconds.push(found.seconds);
      frame.log(`tick ${tick + 1} of ${ticks}: ${groups} monitors in ${found.seconds.toFixed(2)} s`);
    }
    const cpuSeconds = cpu();
    const measured = { rules: wanted, ticks, units: takeUnits() };
    const line = rulesLine(measured, wanted);
    return {
      hosts,
      monitors: wanted,
      secondsATick: { median: quantile(seconds, 0.5), most: Math.max(...seconds) },
      cpuMsATick: Object.fromEntries(
        Object.entries(cpuSeconds).map(([kind, s]) => [kind, (s * 1000) / ticks]),
      ),
      units: measured.units,
      dollarsAMonth: line.dollars,
      costBecause: line.because,
    };
  },
});
