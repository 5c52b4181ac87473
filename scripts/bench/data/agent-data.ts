/**
 * Generates 100 series of a host with one value per minute, like those of mackerel-agent's plugins: percentages of
 * jiffies, gauges in KiB and pages, rates per second, counters, load averages and constants. The result is always the
 * same.
 */

import { MINUTE_MS } from '../../../shared/model/duration';
import { Random } from '../../faults/random';

export interface SeriesData {
  readonly labels: Readonly<Record<string, string>>;
  readonly timestamps: readonly number[];
  readonly values: readonly number[];
}

const SEED = 20260101;
const START_MS = Date.UTC(2026, 0, 5);

export function makeAgentData(minutes = 7 * 1440): SeriesData[] {
  const random = new Random(SEED).next;
  const normal = () => random() + random() + random() + random() - 2;
  const timestamps = Array.from({ length: minutes }, (_, i) => START_MS + i * MINUTE_MS);
  const series: SeriesData[] = [];
  const add = (name: string, next: (minute: number) => number) => {
    series.push({
      labels: { __name__: name, host: 'agent' },
      timestamps,
      values: timestamps.map((_, i) => next(i)),
    });
  };
  /** Load of the host from 0 to 1: higher by day, with bursts. */
  const busy = timestamps.map((_, i) => {
    const byDay = 0.35 - 0.25 * Math.cos((2 * Math.PI * i) / 1440);
    return Math.min(1, Math.max(0.01, byDay + 0.08 * normal() + (random() < 0.01 ? 0.4 : 0)));
  });
  const jiffies = 6000;
  for (let cpu = 0; cpu < 2; cpu++) {
    const shares = { user: 0.55, system: 0.2, iowait: 0.05, softirq: 0.02, steal: 0.01, nice: 0 };
    for (const [mode, share] of Object.entries(shares)) {
      add(`cpu${cpu}.${mode}.percentage`, (i) => {
        const used = Math.round(jiffies * busy[i]! * share * (1 + 0.2 * normal()));
        return (Math.max(0, used) * 100) / jiffies;
      });
    }
    add(`cpu${cpu}.idle.percentage`, (i) => (Math.round(jiffies * (1 - busy[i]! * 0.83)) * 100) / jiffies);
  }
  for (const minutes of [1, 5, 15]) {
    let load = 0.5;
    add(`loadavg${minutes}`, (i) => {
      load += (busy[i]! * 4 - load) / (1 + minutes / 2);
      return Math.round(load * 100) / 100;
    });
  }
  for (const gauge of ['used', 'cached', 'buffers', 'free', 'available', 'active', 'inactive', 'mapped']) {
    let pages = 200_000 + Math.floor(random() * 800_000);
    add(`memory.${gauge}`, (i) => {
      pages = Math.max(1000, pages + Math.round(400 * normal() * (0.5 + busy[i]!)));
      return pages * 4096;
    });
  }
  for (const constant of ['memory.total', 'memory.swap_total', 'memory.swap_cached', 'memory.swap_free']) {
    const bytes = constant === 'memory.swap_cached' ? 0 : Math.floor(random() * 4_000_000) * 4096;
    add(constant, () => bytes);
  }
  for (const device of ['nvme0n1', 'nvme1n1']) {
    for (const direction of ['reads', 'writes']) {
      add(`disk.${device}.${direction}.delta`, (i) => Math.round(900 * busy[i]! * random()) / 60);
      add(
        `disk.${device}.${direction}.bytes.delta`,
        (i) => (Math.round(5000 * busy[i]! * random()) * 512) / 60,
      );
    }
  }
  for (const device of ['eth0', 'docker0', 'lo']) {
    for (const direction of ['rxBytes', 'txBytes']) {
      const scale = device === 'eth0' ? 4e7 : device === 'lo' ? 2e5 : 0;
      add(
        `interface.${device}.${direction}.delta`,
        (i) => Math.round(scale * busy[i]! * (1 + 0.3 * normal())) / 60,
      );
    }
  }
  for (const mount of ['root', 'var', 'data', 'boot']) {
    let usedKiB = 4_000_000 + Math.floor(random() * 40_000_000);
    add(`filesystem.${mount}.used`, (i) => {
      if (mount !== 'boot') usedKiB += Math.round(busy[i]! * 40 * random()) - (i % 1440 === 0 ? 9000 : 0);
      return usedKiB * 1024;
    });
    add(`filesystem.${mount}.size`, () => 103_079_215_104);
  }
  for (const state of ['established', 'time_wait', 'listen', 'syn_recv', 'close_wait', 'fin_wait']) {
    add(`tcp.${state}`, (i) => {
      if (state === 'listen') return 23;
      return state === 'syn_recv' ? Number(random() < 0.02) : Math.round(180 * busy[i]! + 6 * normal());
    });
  }
  for (const counter of [
    'requests',
    'errors',
    'hits',
    'misses',
    'evictions',
    'connections',
    'commands',
    'forks',
  ]) {
    let total = Math.floor(random() * 1e9);
    const perMinute = counter === 'errors' || counter === 'evictions' ? 0.3 : 20_000;
    add(`custom.app.${counter}_total`, (i) => {
      total += Math.round(perMinute * busy[i]! * (1 + 0.3 * normal()));
      return total;
    });
  }
  for (const quantile of ['p50', 'p90', 'p95', 'p99', 'mean', 'max']) {
    add(`custom.latency.${quantile}`, (i) => Math.round(4000 * Math.exp(normal()) * (1 + busy[i]!)) / 1000);
  }
  let sample = 0;
  while (series.length < 90) {
    const base = 40 + random() * 20;
    // Each value is the average of a few readings in thousandths, so its decimals look like noise.
    add(`custom.sensor.t${sample++}`, () => {
      let sum = 0;
      for (let k = 0; k < 5; k++) sum += Math.round(1000 * base + 800 * normal()) * 0.001;
      return sum / 5;
    });
  }
  while (series.length < 100) add(`custom.flag.f${sample++}`, () => Number(sample % 2 === 0));
  return series;
}
