import type { Monitor } from '../../../shared/monitors/monitor';
import { closedByHand } from '../../../shared/monitors/tracks';
import { MonitorWorld, START_MS } from '../../support/monitor-world';

const common = { id: 'm1', name: 'load' };
const hostMonitor = (changes: object = {}): Monitor =>
  ({
    ...common,
    type: 'host',
    metric: 'loadavg5',
    operator: '>',
    warning: 3,
    critical: 5,
    duration: 1,
    ...changes,
  }) as Monitor;

let world: MonitorWorld;
beforeEach(() => {
  world = new MonitorWorld();
});

describe('a host monitor', () => {
  test('opens an alert for each host, and closes it', async () => {
    world.monitor = hostMonitor();
    world.load('h1', 4);
    world.load('h2', 1);
    expect(await world.evaluate()).toEqual(['h1 opened WARNING']);
    world.minute++;
    world.load('h1', 6);
    world.load('h2', 6);
    expect(await world.evaluate()).toEqual(['h1 changed CRITICAL', 'h2 opened CRITICAL']);
    expect(await world.evaluate()).toEqual(['idle']);
    world.minute++;
    world.load('h1', 1);
    expect(await world.evaluate()).toEqual(['h1 closed OK']);
    expect(world.state!.tracks.map(({ key }) => key)).toEqual(['h2']);
  });

  test('judges the newest point, and no late point', async () => {
    world.monitor = hostMonitor();
    world.load('h1', 6, 1);
    world.load('h1', 1);
    expect(await world.evaluate()).toEqual([]);
    world.load('h1', 9, 2);
    expect(await world.next()).toEqual([]);
    world.minute = 40;
    expect(await world.next()).toEqual([]);
  });

  test('reads older points when hosts post rarely', async () => {
    world.monitor = hostMonitor({ duration: 3 });
    for (const ago of [0, 60, 120]) world.load('h1', 9, ago);
    for (const ago of [0, 60, 1441]) world.load('h2', 9, ago);
    expect(await world.evaluate()).toEqual(['h1 opened CRITICAL']);
  });

  test('watches the hosts in its scope except in maintenance or powered off; nobody is notified of a standby host', async () => {
    world.monitor = hostMonitor({ scopes: ['shop'], excludeScopes: ['shop:web'] });
    const roles = { shop: ['db'] };
    world.hosts = [
      world.host('none'),
      world.host('works', roles),
      world.host('excluded', { shop: ['db', 'web'] }),
      world.host('maintained', roles, 'maintenance'),
      world.host('off', roles, 'poweroff'),
      world.host('standby', roles, 'standby'),
    ];
    for (const { id } of world.hosts) world.load(id, 9);
    expect(await world.evaluate()).toEqual(['works opened CRITICAL', 'standby opened CRITICAL unnotified']);
    world.hosts = world.hosts.map((host) => ({
      ...host,
      status: host.id === 'works' ? 'maintenance' : 'working',
    }));
    world.minute++;
    for (const { id } of world.hosts) world.load(id, id === 'maintained' || id === 'off' ? 1 : 0);
    expect(await world.evaluate()).toEqual(['standby closed OK']);
    expect(world.state!.tracks.map(({ key }) => key)).toEqual(['works']);
  });

  test('ignores series that are not metrics of hosts', async () => {
    world.monitor = hostMonitor();
    world.post({ __name__: 'loadavg5', host: 'h1', job: 'scraped' }, 9);
    expect(await world.evaluate()).toEqual([]);
  });

  test('of a percentage judges the worst disk', async () => {
    world.monitor = hostMonitor({ metric: 'disk%', warning: 80, critical: 90 });
    for (const [disk, used] of [
      ['vda', 95],
      ['vdb', 10],
    ] as const) {
      world.post({ __name__: `filesystem.${disk}.used`, host: 'h1' }, used);
      world.post({ __name__: `filesystem.${disk}.size`, host: 'h1' }, 100);
    }
    expect(await world.evaluate()).toEqual(['h1 opened CRITICAL']);
    expect(world.state!.tracks[0]!.alert!.value).toBe(95);
  });

  test.each(['cpu', 'memory'])('of %s judges each container by its limit', async (resource) => {
    world.monitor = hostMonitor({ metric: `container-${resource}%`, warning: 80, critical: 90 });
    for (const [container, usage, limit] of [
      ['web', 45, 50],
      ['sidecar', 95, 200],
    ] as const) {
      world.post({ __name__: `container.${resource}.${container}.usage`, host: 'h1' }, usage);
      world.post({ __name__: `container.${resource}.${container}.limit`, host: 'h1' }, limit);
    }
    expect(await world.evaluate()).toEqual(['h1 opened WARNING']);
    expect(world.state!.tracks[0]!.alert!.value).toBe(90);
  });

  test('that is muted opens alerts and notifies nobody', async () => {
    world.monitor = hostMonitor({ isMute: true });
    world.load('h1', 9);
    expect(await world.evaluate()).toEqual(['h1 opened CRITICAL unnotified']);
  });

  test('opens nothing in a downtime of its roles', async () => {
    world.monitor = hostMonitor();
    world.downtimes = [{ id: 'd', name: 'd', start: START_MS / 1000, duration: 2, roleScopes: ['shop: db'] }];
    const happened: string[][] = [];
    for (; world.minute < 4; world.minute++) {
      world.load('h1', 9);
      world.load('h2', world.minute === 2 ? 1 : 9);
      happened.push(await world.evaluate());
    }
    expect(happened).toEqual([['h1 opened CRITICAL'], [], [], ['h2 opened CRITICAL']]);
  });

  test('ends the alerts of a retired host without a notification', async () => {
    world.monitor = hostMonitor();
    world.load('h1', 9);
    await world.evaluate();
    world.hosts = [];
    // The evaluator's copy of the hosts may be too old to have a host. So a missing host is not treated as
    // retired.
    expect(await world.next()).toEqual([]);
    world.retired.add('h1');
    expect(await world.next()).toEqual(['h1 closed OK hostRetire unnotified']);
    expect(world.state!.tracks).toEqual([]);
  });

  test('that is deleted ends its alerts', async () => {
    world.monitor = hostMonitor();
    world.load('h1', 9);
    await world.evaluate();
    world.monitor = undefined;
    expect(await world.next()).toEqual(['h1 closed OK monitorDelete']);
    expect(await world.next()).toEqual(['gone']);
  });

  test('that is deleted notifies nobody of a standby host', async () => {
    world.monitor = hostMonitor();
    world.hosts = [world.host('h1', {}, 'standby')];
    world.load('h1', 9);
    expect(await world.evaluate()).toEqual(['h1 opened CRITICAL unnotified']);
    world.monitor = undefined;
    expect(await world.next()).toEqual(['h1 closed OK monitorDelete unnotified']);
  });

  test('keeps its alerts when samples cannot be read, or are missing', async () => {
    world.monitor = hostMonitor();
    world.load('h1', 9);
    await world.evaluate();
    world.fails = true;
    expect(await world.next()).toEqual([]);
    expect(world.state).toMatchObject({ lastError: 'a store did not answer' });
    world.fails = false;
    world.warning = 'samples since 12:00 are missing';
    expect(await world.next()).toEqual([]);
    expect(world.state).toMatchObject({ lastError: 'samples since 12:00 are missing' });
    world.warning = undefined;
    world.load('h1', 1);
    expect(await world.next()).toEqual(['h1 closed OK']);
    expect(world.state!.lastError).toBeUndefined();
  });

  test('is notified again at its interval', async () => {
    world.monitor = hostMonitor({ notificationInterval: 10 });
    world.load('h1', 9);
    await world.evaluate();
    world.minute = 8;
    expect(await world.next()).toEqual([]);
    expect(await world.next()).toEqual(['h1 repeated CRITICAL']);
  });
});

describe('a connectivity monitor', () => {
  const connectivity = { ...common, type: 'connectivity', alertStatusOnGone: 'WARNING' } as Monitor;

  test('finds a host that posts nothing for ten minutes, and its return', async () => {
    world.monitor = connectivity;
    world.load('h1', 1);
    world.load('h2', 1);
    expect(await world.evaluate()).toEqual([]);
    world.minute = 9;
    world.load('h2', 1);
    expect(await world.evaluate()).toEqual([]);
    expect(await world.next()).toEqual(['h1 opened WARNING']);
    world.load('h1', 1);
    expect(await world.next()).toEqual(['h1 closed OK']);
  });

  test('finds hosts by any of their metrics, and remembers which', async () => {
    world.monitor = connectivity;
    world.post({ __name__: 'custom.a', host: 'h1' }, 1);
    world.post({ __name__: 'custom.b', host: 'h2' }, 1);
    expect(await world.evaluate()).toEqual([]);
    expect(world.state!.memory.witnesses).toEqual(['custom.a', 'custom.b']);
  });

  test('ignores hosts that never posted or were just registered', async () => {
    world.monitor = connectivity;
    world.hosts = [world.host('never'), { ...world.host('young'), createdAt: START_MS / 1000 - 60 }];
    expect(await world.evaluate()).toEqual([]);
  });

  test('opens after a downtime', async () => {
    world.monitor = connectivity;
    world.hosts = [world.host('h1')];
    world.downtimes = [{ id: 'd', name: 'd', start: START_MS / 1000, duration: 2 }];
    expect(await world.evaluate()).toEqual([]);
    expect(await world.next()).toEqual([]);
    expect(await world.next()).toEqual(['h1 opened WARNING']);
  });
});

describe('a service monitor', () => {
  const service = (changes: object): Monitor =>
    ({ ...common, type: 'service', service: 'shop', metric: 'sold', ...changes }) as Monitor;

  test("judges the service's metric, and no metric of the service's hosts", async () => {
    world.monitor = service({ operator: '<', warning: 10, critical: null, duration: 2 });
    world.post({ __name__: 'sold', service: 'shop' }, 5);
    world.post({ __name__: 'sold', service: 'shop' }, 11, 1);
    world.post({ __name__: 'sold', service: 'shop', host: 'h1' }, 1000);
    expect(await world.evaluate()).toEqual(['- opened WARNING']);
  });

  test('finds missing points, even if the last point is older than the monitor', async () => {
    world.post({ __name__: 'sold', service: 'shop' }, 5);
    world.minute = 25;
    world.monitor = service({ missingDurationWarning: 10, missingDurationCritical: 30 });
    expect(await world.evaluate()).toEqual(['- opened WARNING']);
    world.minute = 29;
    expect(await world.next()).toEqual(['- changed CRITICAL']);
    world.minute++;
    world.post({ __name__: 'sold', service: 'shop' }, 5);
    expect(await world.evaluate()).toEqual(['- closed OK']);
  });

  test('finds missing points, even if a wrong clock judged a point of the future', async () => {
    world.monitor = service({ missingDurationCritical: 10 });
    world.minute = 600;
    world.post({ __name__: 'sold', service: 'shop' }, 5);
    expect(await world.evaluate()).toEqual([]);
    world.minute = 0;
    expect(await world.evaluate()).toEqual([]);
    world.minute = 10;
    expect(await world.evaluate()).toEqual(['- opened CRITICAL']);
  });

  test('that was never posted is not missing', async () => {
    world.monitor = service({ missingDurationCritical: 10 });
    expect(await world.evaluate()).toEqual([]);
  });
});

describe('an expression monitor', () => {
  const expression = (text: string): Monitor =>
    ({
      ...common,
      type: 'expression',
      expression: text,
      operator: '>',
      warning: 3,
      critical: null,
    }) as Monitor;

  test('judges the value of two minutes ago, every five minutes', async () => {
    world.monitor = expression('avg(role(shop:db, loadavg5))');
    world.load('h2', 4, 2);
    world.load('h2', 1);
    expect(await world.evaluate()).toEqual(['- opened WARNING']);
    expect(await world.next()).toEqual(['idle']);
    world.minute = 5;
    expect(await world.evaluate()).toEqual(['- closed OK']);
    world.minute = 15;
    expect(await world.evaluate()).toEqual(['- opened UNKNOWN']);
  });

  test('whose expression gives several lines is UNKNOWN', async () => {
    world.monitor = expression('group(host(h1, loadavg5), host(h2, loadavg5))');
    world.load('h1', 1, 2);
    world.load('h2', 1, 2);
    expect(await world.evaluate()).toEqual(['- opened UNKNOWN']);
  });
});

describe('a query monitor', () => {
  beforeEach(() => {
    world.monitor = {
      ...common,
      type: 'query',
      query: 'errors',
      legend: '',
      operator: '>',
      warning: null,
      critical: 3,
    } as Monitor;
  });

  test('opens an alert for each series', async () => {
    world.post({ __name__: 'errors', job: 'a' }, 9);
    world.post({ __name__: 'errors', job: 'b' }, 1);
    expect(await world.evaluate()).toEqual(['a opened CRITICAL']);
    world.minute++;
    world.post({ __name__: 'errors', job: 'b' }, 9);
    expect(await world.evaluate()).toEqual(['b opened CRITICAL']);
    world.minute = 5;
    // The first series has ended. The second one is there for another minute.
    expect(await world.evaluate()).toEqual(['a changed UNKNOWN']);
  });

  test('does not open the alert of an ended series again that somebody closed', async () => {
    for (const job of ['a', 'b']) world.post({ __name__: 'errors', job }, 9);
    expect(await world.evaluate()).toEqual(['a opened CRITICAL', 'b opened CRITICAL']);
    world.minute = 5;
    world.post({ __name__: 'errors', job: 'b' }, 9);
    expect(await world.evaluate()).toEqual(['a changed UNKNOWN']);
    const tracks = world.state!.tracks.map((each) =>
      each.key.includes('"a"') ? closedByHand(each, 'host a was retired').track! : each,
    );
    world.state = { ...world.state!, tracks };
    expect(await world.next()).toEqual([]);
    expect(world.state.tracks).toHaveLength(1);
    world.post({ __name__: 'errors', job: 'a' }, 9);
    expect(await world.next()).toEqual(['a opened CRITICAL']);
  });

  test('whose query has no result is UNKNOWN', async () => {
    expect(await world.evaluate()).toEqual(['- opened UNKNOWN']);
    world.post({ __name__: 'errors', job: 'a' }, 1);
    expect(await world.next()).toEqual(['- closed OK']);
  });
});

test('anomaly detection is not evaluated', async () => {
  world.monitor = {
    ...common,
    type: 'anomalyDetection',
    scopes: ['shop:db'],
    warningSensitivity: 'normal',
  } as Monitor;
  expect(await world.evaluate()).toEqual(['idle']);
});

describe('the time of an evaluation', () => {
  test('is charged to the tenants of the monitors, and no more than all of it', async () => {
    world.monitor = hostMonitor();
    const beganMs = performance.now();
    await world.evaluate(['acme', 'other']);
    const passedMs = performance.now() - beganMs;
    expect(world.charges.map(({ tenant }) => tenant).sort()).toEqual(['acme', 'other']);
    for (const { tookMs } of world.charges) expect(tookMs).toBeGreaterThan(0);
    expect(world.charges.reduce((sum, { tookMs }) => sum + tookMs, 0)).toBeLessThanOrEqual(passedMs);
  });

  test('is charged even if no store of samples answers', async () => {
    world.monitor = hostMonitor();
    world.fails = true;
    await world.evaluate();
    expect(world.charges).toHaveLength(1);
  });

  test('is charged to nobody if the tenant is gone', async () => {
    world.state = undefined;
    expect(await world.evaluate()).toEqual(['gone']);
    expect(world.charges).toEqual([]);
  });
});
