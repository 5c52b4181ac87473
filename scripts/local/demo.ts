import { readFileSync } from 'node:fs';
import { cpus, freemem, loadavg, totalmem } from 'node:os';
import { TenantApi } from '../ops/tenant-api';

/** This machine's metrics, with mackerel-agent's names (protocol/mackerel/README.md). */
export type Metrics = Map<string, number>;

interface Counters {
  /** Ticks of all processors, by mode. */
  readonly cpu: Map<string, number>;
  /** Bytes and operations since boot, by metric name without `.delta`. */
  readonly totals: Map<string, number>;
}

const POST_MS = 10_000;

/** Reads this machine's metrics. The first reading has no rates, because a rate needs two readings. */
class MachineMetrics {
  private before: { readonly counters: Counters; readonly atMs: number } | undefined;

  read(nowMs: number): Metrics {
    const metrics: Metrics = new Map();
    const [one, five, fifteen] = loadavg();
    metrics.set('loadavg1', one!).set('loadavg5', five!).set('loadavg15', fifteen!);
    for (const [name, value] of memory()) metrics.set(name, value);
    const counters = readCounters();
    if (this.before !== undefined) {
      const { counters: old, atMs } = this.before;
      const ticks = sum(counters.cpu) - sum(old.cpu);
      for (const [mode, count] of counters.cpu)
        if (ticks > 0)
          metrics.set(`cpu.${mode}.percentage`, (100 * (count - (old.cpu.get(mode) ?? 0))) / ticks);
      // As mackerel-agent does, use a rate per second, with a name that ends in `delta`.
      const seconds = (nowMs - atMs) / 1000;
      for (const [name, total] of counters.totals) {
        const previous = old.totals.get(name);
        if (previous !== undefined && total >= previous)
          metrics.set(`${name}.delta`, (total - previous) / seconds);
      }
    }
    this.before = { counters, atMs: nowMs };
    return metrics;
  }
}

function sum(counts: ReadonlyMap<string, number>): number {
  let total = 0;
  for (const count of counts.values()) total += count;
  return total;
}

function memory(): Metrics {
  const info = new Map(
    readProc('/proc/meminfo').flatMap((line) => {
      const match = /^(\w+):\s+(\d+) kB/.exec(line);
      return match === null ? [] : [[match[1]!, Number(match[2]) * 1024] as const];
    }),
  );
  const total = info.get('MemTotal') ?? totalmem();
  const available = info.get('MemAvailable') ?? freemem();
  const metrics: Metrics = new Map([
    ['memory.total', total],
    ['memory.used', total - available],
    ['memory.mem_available', available],
  ]);
  for (const [name, field] of [
    ['memory.cached', 'Cached'],
    ['memory.swap_total', 'SwapTotal'],
    ['memory.swap_free', 'SwapFree'],
  ] as const)
    if (info.has(field)) metrics.set(name, info.get(field)!);
  return metrics;
}

const CPU_MODES = ['user', 'nice', 'system', 'idle', 'iowait', 'irq', 'softirq', 'steal', 'guest'];

function readCounters(): Counters {
  const cpu = new Map<string, number>();
  const totals = new Map<string, number>();
  const line = readProc('/proc/stat').find((text) => text.startsWith('cpu '));
  if (line !== undefined) {
    const ticks = line.split(/\s+/).slice(1).map(Number);
    CPU_MODES.forEach((mode, i) => {
      cpu.set(mode, ticks[i] ?? 0);
    });
  } else {
    for (const { times } of cpus())
      for (const [mode, ticks] of Object.entries(times)) {
        const name = mode === 'sys' ? 'system' : mode;
        cpu.set(name, (cpu.get(name) ?? 0) + ticks);
      }
  }
  for (const text of readProc('/proc/net/dev').slice(2)) {
    const [device, rest = ''] = text.split(':');
    const name = sanitize(device!);
    if (name === '' || name === 'lo') continue;
    const fields = rest.trim().split(/\s+/).map(Number);
    totals.set(`interface.${name}.rxBytes`, fields[0] ?? 0).set(`interface.${name}.txBytes`, fields[8] ?? 0);
  }
  for (const text of readProc('/proc/diskstats')) {
    const fields = text.trim().split(/\s+/);
    const device = fields[2] ?? '';
    if (!/^(sd[a-z]+|vd[a-z]+|xvd[a-z]+|nvme\d+n\d+)$/.test(device)) continue;
    totals
      .set(`disk.${sanitize(device)}.reads`, Number(fields[3]))
      .set(`disk.${sanitize(device)}.writes`, Number(fields[7]));
  }
  return { cpu, totals };
}

function sanitize(device: string): string {
  return device.trim().replace(/[^A-Za-z0-9_-]/g, '_');
}

/** Reads the lines of a file that exists only on Linux; returns no lines elsewhere. */
function readProc(path: string): string[] {
  try {
    return readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
  } catch {
    return [];
  }
}

/** Posts this machine's metrics through the public API, as host `localhost`, until stopped. */
export async function startDemo(url: string, apiKey: string, report: (line: string) => void) {
  const api = new TenantApi(url, apiKey);
  const { hosts } = await api.json<{ hosts: { id: string }[] }>('GET', '/api/v0/hosts?name=localhost');
  const hostId = hosts[0]?.id ?? (await api.createHost('localhost'));

  const machine = new MachineMetrics();
  const post = async () => {
    const nowMs = Date.now();
    const time = Math.floor(nowMs / 1000);
    const points = [...machine.read(nowMs)].map(([name, value]) => ({ hostId, name, time, value }));
    await api.json('POST', '/api/v0/tsdb', points).catch((error: Error) => report(`demo: ${error.message}`));
  };
  await post();
  const timer = setInterval(() => void post(), POST_MS);
  return { hostId, stop: () => clearInterval(timer) };
}
