import { rulesLine } from '../../shared/cost/rule-cost';
import { bench } from './frame/bench';
import { count } from './frame/options';
import { startBenchStack, UNLIMITED } from './frame/stack';
import { measureTicks } from './frame/ticks';

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
    const stack = await startBenchStack(frame, UNLIMITED, frame.log);
    const mustJson = (path: string, body: unknown) =>
      stack.client.mustSend(path, JSON.stringify(body), 'application/json');

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

    const { secondsATick, cpuMs, units } = await measureTicks(frame, stack, ticks, 0);
    const line = rulesLine({ rules: wanted, ticks, units }, wanted);
    return {
      hosts,
      monitors: wanted,
      secondsATick,
      cpuMsATick: Object.fromEntries(Object.entries(cpuMs).map(([kind, ms]) => [kind, ms / ticks])),
      units,
      dollarsAMonth: line.dollars,
      costBecause: line.because,
    };
  },
});
