import { zstdDecompressSync } from 'node:zlib';
import { decodeJson } from '../../../shared/alerting/tasks/task-states';
import type { AlertBatch } from '../../../shared/monitors/alert-event';
import type { Downtime } from '../../../shared/monitors/downtime';
import { evaluateExternal } from '../../../shared/monitors/evaluate-external';
import type { MonitorOf } from '../../../shared/monitors/monitor';
import type { MonitorState } from '../../../shared/monitors/monitor-state';
import type { Probe, ProbeRequest } from '../../../shared/monitors/probe';
import { decodeWriteRequest } from '../../../shared/protocol/prometheus/write-request';
import type { Tenant } from '../../../shared/tenancy/tenants';

const MINUTE_MS = 60_000;
const START_MS = 29_000_000 * MINUTE_MS;
const DAY_MS = 86_400_000;

/** A tenant whose external monitors are evaluated minute by minute. */
class World {
  monitors: MonitorOf<'external'>[] = [];
  downtimes: Downtime[] = [];
  readonly states = new Map<string, MonitorState>();
  /** The requests in each invocation of the prober. */
  readonly invocations: (readonly ProbeRequest[])[] = [];
  readonly samples: string[] = [];
  probe: Probe = { status: 200, responseMs: 10 };
  fails = false;
  minute = 0;

  get nowMs(): number {
    return START_MS + this.minute * MINUTE_MS;
  }

  /** Evaluates the current minute. @returns the events, as `status kind value message` */
  async evaluate(ids = this.monitors.map(({ id }) => id)): Promise<string[]> {
    const outcomes = await evaluateExternal(
      {
        tenants: { get: async (name) => ({ id: 't', name }) as Tenant },
        monitors: { get: async (_, id) => this.monitors.find((each) => each.id === id) },
        states: { get: async (_, id) => this.states.get(id) },
        downtimes: { list: async () => this.downtimes },
        probe: async (requests) => {
          if (this.fails) throw new Error('throttled');
          this.invocations.push(requests);
          return requests.map(() => this.probe);
        },
      },
      {
        nowMs: this.nowMs,
        lagMs: 3_600_000,
        kind: 'external',
        tasks: ids.map((task) => ({ tenant: 'acme', task })),
      },
    );
    return outcomes.flatMap((outcome) => {
      if (!('samples' in outcome)) return [outcome.outcome];
      const { task, state, samples, batches } = outcome;
      if (state === undefined) this.states.delete(task);
      else this.states.set(task, decodeJson(Buffer.from(state, 'base64')) as MonitorState);
      for (const body of samples) {
        const bytes = zstdDecompressSync(Buffer.from(body, 'base64'));
        this.samples.push(Buffer.from(bytes).toString('latin1'));
        expect(decodeWriteRequest(bytes, 1).labels.length).toBe(1);
      }
      return batches
        .flatMap((batch) => (decodeJson(Buffer.from(batch, 'base64')) as AlertBatch).events)
        .map(({ kind, status, value = '-', message }) => `${status} ${kind} ${value} ${message}`);
    });
  }

  async next(probe: Probe): Promise<string[]> {
    this.minute++;
    this.probe = probe;
    return this.evaluate();
  }
}

const monitorOf = (changes: Partial<MonitorOf<'external'>> = {}): MonitorOf<'external'> => ({
  id: 'm1',
  type: 'external',
  name: 'shop',
  url: 'https://shop.example/',
  ...changes,
});

const ok = { status: 200, responseMs: 10 };
const down = { status: 503, responseMs: 10 };

let world: World;
beforeEach(() => {
  world = new World();
  world.monitors = [monitorOf()];
});

test('statuses of 2xx and 3xx are normal, others and errors critical', async () => {
  expect(await world.evaluate()).toEqual([]);
  expect(await world.next({ ...ok, status: 302 })).toEqual([]);
  expect(await world.next(down)).toEqual(['CRITICAL opened - 503']);
  // A new message is shown, but nobody is notified.
  expect(await world.next({ error: 'no answer within 15 s' })).toEqual([
    'CRITICAL updated - no answer within 15 s',
  ]);
  expect(await world.next(ok)).toEqual(['OK closed - 200']);
});

test('an alert that a wrong clock opened in the future is told again and closes now', async () => {
  world.monitors = [monitorOf({ notificationInterval: 10 })];
  world.minute = 600;
  expect(await world.next(down)).toEqual(['CRITICAL opened - 503']);
  world.minute = 0;
  expect(await world.next(down)).toEqual([]);
  world.minute = 10;
  expect(await world.next(down)).toEqual(['CRITICAL repeated - 503']);
  expect(await world.next(ok)).toEqual(['OK closed - 200']);
});

test('a status that the monitor expects is the only one that is normal', async () => {
  world.monitors = [monitorOf({ expectedStatusCode: 503 })];
  expect(await world.next(down)).toEqual([]);
  expect(await world.next(ok)).toEqual(['CRITICAL opened - 200']);
});

test('a text that the body lacks is critical', async () => {
  expect(await world.next({ ...ok, error: 'the body does not contain "x"' })).toEqual([
    'CRITICAL opened - the body does not contain "x"',
  ]);
});

test('each tick requests a URL once, and each request counts once for maxCheckAttempts', async () => {
  world.monitors = [monitorOf({ maxCheckAttempts: 3 })];
  expect(await world.next(down)).toEqual([]);
  expect(await world.evaluate()).toEqual(['idle']);
  expect(await world.next(down)).toEqual([]);
  expect(await world.next(ok)).toEqual([]);
  for (const events of [[], [], ['CRITICAL opened - 503']]) expect(await world.next(down)).toEqual(events);
});

test('response times are judged by their average, and posted to the service', async () => {
  world.monitors = [
    monitorOf({
      service: 'shop',
      responseTimeWarning: 100,
      responseTimeCritical: 1000,
      responseTimeDuration: 2,
    }),
  ];
  expect(await world.next({ ...ok, responseMs: 900 })).toEqual([]);
  expect(await world.next({ ...ok, responseMs: 300 })).toEqual(['WARNING opened 600 200']);
  expect(await world.next({ ...ok, responseMs: 2000 })).toEqual(['CRITICAL changed 1150 200']);
  // A request without an answer has no response time, so the average of the others is not judged again.
  expect(await world.next({ error: 'socket hang up' })).toEqual(['CRITICAL updated - socket hang up']);
  expect(await world.next({ ...ok, responseMs: 1 })).toEqual(['CRITICAL updated 1000.5 200']);
  expect(await world.next({ ...ok, responseMs: 1 })).toEqual(['OK closed 1 200']);
  expect(world.samples).toHaveLength(5);
  expect(world.samples[0]).toMatch(/__externalhttp\.responsetime\.m1.*service.*shop/s);
});

test('a monitor without a service posts nothing', async () => {
  await world.next(ok);
  expect(world.samples).toEqual([]);
});

test('a certificate is judged by the days until its end', async () => {
  world.monitors = [monitorOf({ certificationExpirationWarning: 30, certificationExpirationCritical: 7 })];
  const until = (days: number) => ({ ...ok, certificateEndsMs: world.nowMs + MINUTE_MS + days * DAY_MS });
  const message = (days: number) =>
    `the certificate expires at ${new Date(world.nowMs + days * DAY_MS).toISOString()}`;
  expect(await world.next(until(30))).toEqual([]);
  expect(await world.next(until(29))).toEqual([`WARNING opened - ${message(29)}`]);
  expect(await world.next(until(6))).toEqual([`CRITICAL changed - ${message(6)}`]);
  expect(await world.next({ ...down, ...until(6), status: 503 })).toEqual(['CRITICAL updated - 503']);
  expect(await world.next(until(90))).toEqual(['OK closed - 200']);
});

test('a downtime of the service opens nothing', async () => {
  world.monitors = [monitorOf({ service: 'shop' })];
  const downtime = { id: 'd', name: 'work', start: START_MS / 1000, duration: 10 };
  world.downtimes = [{ ...downtime, serviceScopes: ['other'] } as Downtime];
  expect(await world.next(down)).toEqual(['CRITICAL opened - 503']);
  expect(await world.next(ok)).toEqual(['OK closed - 200']);
  world.downtimes = [{ ...downtime, serviceScopes: ['shop'] } as Downtime];
  expect(await world.next(down)).toEqual([]);
});

test('a failing prober changes no alert', async () => {
  await world.next(down);
  world.fails = true;
  expect(await world.next(ok)).toEqual([]);
  expect(world.states.get('m1')).toMatchObject({ lastError: 'the prober did not answer' });
  world.fails = false;
  expect(await world.next(ok)).toEqual(['OK closed - 200']);
});

test('a removed monitor ends its alert', async () => {
  await world.next(down);
  world.monitors = [];
  expect(await world.evaluate(['m1'])).toEqual(['OK closed - undefined']);
  expect(await world.evaluate(['m1'])).toEqual(['gone']);
});

test('the prober is invoked only if a URL is due, for a few URLs at a time, with only the fields of requests', async () => {
  world.monitors = Array.from({ length: 60 }, (_, i) =>
    monitorOf({ id: `m${i}`, memo: 'secret', containsString: String(i), followRedirect: true }),
  );
  await world.evaluate();
  expect(world.invocations.map(({ length }) => length)).toEqual([25, 25, 10]);
  expect(world.invocations[1]![0]).toEqual({
    url: 'https://shop.example/',
    containsString: '25',
    followRedirect: true,
  });
  expect(await world.evaluate()).toEqual(Array(60).fill('idle'));
  expect(world.invocations).toHaveLength(3);
});
