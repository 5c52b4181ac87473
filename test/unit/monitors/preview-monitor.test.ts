import { Random } from '../../../scripts/faults/random';
import type { Id } from '../../../shared/model/id';
import type { Monitor } from '../../../shared/monitors/monitor';
import type { MonitorPreview } from '../../../shared/monitors/monitor-preview';
import { type PreviewOptions, previewMonitor } from '../../../shared/monitors/preview-monitor';
import { MINUTE_MS, MonitorWorld, START_MS } from '../../support/monitor-world';
import { SEED } from '../../support/seed';

const common = { id: 'm1', name: 'load', operator: '>', warning: 3, critical: 5 };
const host = { ...common, type: 'host', metric: 'loadavg5', duration: 1 } as Monitor;

/** Previews the world's monitor over its minutes from 0 to the current one. */
function preview(world: MonitorWorld, monitor: Monitor, changes: Partial<PreviewOptions> = {}) {
  const { stores } = world;
  const { store, options: query } = stores.queriesOf({} as never).begin(1_000);
  return previewMonitor(monitor, {
    tenantId: 't' as Id,
    store,
    hosts: world.hosts,
    hasPosted: (id) => stores.hasPosted({} as never, id),
    query,
    view: { hosts: new Map(world.hosts.map((each) => [each.id, each])), services: [] },
    downtimes: world.downtimes,
    range: { fromMs: START_MS, toMs: world.nowMs + 1 },
    check: () => {},
    ...changes,
  });
}

/** Lists the events that open and close a preview's alerts, in the form of the evaluator's events. */
function eventsOf({ alerts }: MonitorPreview): string[] {
  return alerts
    .flatMap(({ hostId, series, openedAt, closedAt }) => {
      const subject = hostId ?? series?.labels.job ?? '-';
      const minute = (timeS: number) => (timeS * 1000 - START_MS) / MINUTE_MS;
      return [
        `${minute(openedAt)} ${subject} opened`,
        ...(closedAt === undefined ? [] : [`${minute(closedAt)} ${subject} closed`]),
      ];
    })
    .sort();
}

describe(`a preview (SEED=${SEED})`, () => {
  const daily = { type: 'daily' as const, interval: 1 };

  test.each<{ name: string; monitor: Monitor }>([
    { name: 'a host monitor', monitor: host },
    { name: 'a host monitor of averages', monitor: { ...host, duration: 3, maxCheckAttempts: 2 } as Monitor },
    { name: 'a connectivity monitor', monitor: { id: 'm1', type: 'connectivity', name: 'gone' } as Monitor },
    {
      name: 'a service monitor',
      monitor: {
        ...common,
        type: 'service',
        service: 'shop',
        metric: 'orders',
        duration: 2,
        missingDurationCritical: 10,
      } as Monitor,
    },
    {
      name: 'a query monitor',
      monitor: { ...common, type: 'query', query: 'max_over_time(load[3m])', maxCheckAttempts: 2 } as Monitor,
    },
    {
      name: 'an expression monitor',
      monitor: { ...common, type: 'expression', expression: 'avg(role(shop:db, loadavg5))' } as Monitor,
    },
  ])('of $name opens and closes what the evaluator did', async ({ name, monitor }) => {
    const random = new Random(SEED);
    const world = new MonitorWorld();
    world.monitor = monitor;
    world.downtimes = [
      { id: 'd', name: 'd', start: START_MS / 1000 + 3600, duration: 20, recurrence: daily },
    ];
    const events: string[] = [];
    for (world.minute = 0; world.minute < 180; world.minute++) {
      // Posts stop for 15 minutes in each hour.
      if (world.minute % 60 < 45) {
        const value = () => (random.chance(0.3) ? random.integer(4, 6) : 1);
        for (const id of ['h1', 'h2']) if (random.chance(0.9)) world.load(id, value());
        world.post({ __name__: 'orders', service: 'shop' }, value());
        for (const job of ['a', 'b']) world.post({ __name__: 'load', job }, value());
      }
      const { minute } = world;
      for (const each of await world.evaluate())
        if (/ (opened|closed) /.test(each)) events.push(`${minute} ${each.split(' ').slice(0, 2).join(' ')}`);
    }
    world.minute--;
    expect([name, ...eventsOf(await preview(world, monitor))]).toEqual([name, ...events.sort()]);
    expect(events.length).toBeGreaterThan(2);
  });

  test('has the judged values of each tick, and the worst of each alert', async () => {
    const world = new MonitorWorld();
    for (const value of [1, 4, 6, 4, 1]) {
      world.load('h1', value);
      world.load('h2', 2);
      world.minute++;
    }
    world.minute--;
    const { lines, alerts, subjects, ...rest } = await preview(world, host);
    expect(lines).toEqual([
      { hostId: 'h1', values: [1, 4, 6, 4, 1] },
      { hostId: 'h2', values: [2, 2, 2, 2, 2] },
    ]);
    const startS = START_MS / 1000;
    expect(alerts).toEqual([
      { hostId: 'h1', status: 'CRITICAL', value: 6, openedAt: startS + 60, closedAt: startS + 240 },
    ]);
    expect({ subjects, ...rest }).toEqual({ subjects: 2, from: startS, step: 60, ticks: 5, alertCount: 1 });
  });

  test('tells in how many ticks the monitor could not be evaluated, and why', async () => {
    const world = new MonitorWorld();
    world.minute = 9;
    const monitor = { ...common, type: 'query', query: 'sum(' } as Monitor;
    const { failed } = await preview(world, monitor);
    expect(failed).toMatchObject({ ticks: 10, firstAt: START_MS / 1000 });
    expect(failed!.error).toContain('1:5');
  });

  test('reads each selection once', async () => {
    const world = new MonitorWorld();
    for (; world.minute < 60; world.minute++) world.load('h1', 1);
    const { store } = world.stores.queriesOf({} as never).begin(1_000);
    let reads = 0;
    await preview(world, host, {
      store: {
        select: (...selected) => {
          reads++;
          return store.select(...selected);
        },
      },
    });
    expect(reads).toBe(1);
  });

  test.each<{ name: string; monitor: Monitor; changes?: Partial<PreviewOptions>; says: string }>([
    {
      name: 'anomaly detection',
      monitor: { id: 'm1', type: 'anomalyDetection', name: 'a', scopes: ['shop: db'] } as Monitor,
      says: 'monitors of type anomalyDetection cannot be previewed: they do not use stored samples',
    },
    {
      name: 'an external monitor',
      monitor: { id: 'm1', type: 'external', name: 'a', url: 'https://example.com' } as Monitor,
      says: 'monitors of type external cannot be previewed: they do not use stored samples',
    },
    {
      name: 'more than a day of minutes',
      monitor: host,
      changes: { range: { fromMs: START_MS, toMs: START_MS + 1_441 * MINUTE_MS } },
      says: 'the range has 1441 ticks of 1 min; at most 1440 are evaluated',
    },
    {
      name: 'more than 2,000 series',
      monitor: { ...common, type: 'query', query: 'load' } as Monitor,
      says: 'it covers more than 2000 hosts or series',
    },
  ])('refuses $name', async ({ monitor, changes, says }) => {
    const world = new MonitorWorld();
    for (let i = 0; i <= 2_000; i++) world.post({ __name__: 'load', job: String(i) }, 1);
    const query = {
      limits: { maxSeries: 5_000, maxSamples: 10_000, maxValues: 10_000 },
      isLate: () => false,
    };
    await expect(preview(world, monitor, { query, ...changes })).rejects.toThrow(says);
  });

  test('ends when the budget of its reads is used up', async () => {
    const world = new MonitorWorld();
    world.minute = 100;
    let checks = 0;
    const check = () => {
      if (++checks > 10) throw new Error('used up');
    };
    await expect(preview(world, host, { check })).rejects.toThrow('used up');
  });
});
