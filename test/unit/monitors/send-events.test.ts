import { MAX_ATTEMPTS, waitMs } from '../../../shared/alerting/delivery/next-step';
import { DeliveryError } from '../../../shared/alerting/delivery/post-outside';
import { NO_RECEIVERS } from '../../../shared/alerting/delivery/receivers';
import { type SendDependencies, sendAll } from '../../../shared/alerting/delivery/send';
import type { OutboxItem } from '../../../shared/alerting/tasks/evaluator-store';
import type { AlertBatch, AlertEvent } from '../../../shared/monitors/alert-event';
import { type DestinationStores, destinationsOf } from '../../../shared/monitors/destinations';

const NOW_MS = Date.parse('2026-11-23T12:00:00Z');
const TENANT = { id: 'id', name: 'acme' };
const RECORDED = ['record'];

/** A batch with one event of the alert `a-MONITOR`. */
function batchOf(monitorId: string, kind: 'opened' | 'closed'): AlertBatch {
  const alert = { id: `a-${monitorId}`, status: 'CRITICAL', wasCritical: true } as const;
  const times = { openedAtMs: NOW_MS, changedAtMs: NOW_MS, notifiedAtMs: NOW_MS };
  const event: AlertEvent = {
    id: `${monitorId} ${kind}`,
    key: '',
    kind,
    trigger: 'monitoring',
    isTold: true,
    atMs: NOW_MS,
    status: kind === 'closed' ? 'OK' : 'CRITICAL',
    subject: { type: 'query', monitorId, monitorName: 'm', memo: '', services: [] },
    alert: { ...alert, ...times },
  };
  return { tenant: TENANT.name, tickMs: NOW_MS, monitorId, events: [event] };
}

/** A tenant with one webhook, the list of its alerts, and an outbox in memory. */
function sender(batches: readonly AlertBatch[], taken: readonly string[] = []) {
  const item = {
    tenantId: TENANT.id,
    attempts: 0,
    dueMs: 0,
    taken,
    refused: [],
    stored: {},
    expiresMs: NOW_MS + 86_400_000,
  };
  const outbox = new Map<string, OutboxItem<AlertBatch>>(
    batches.map((batch, i) => [String(i), { ...item, key: String(i), batch }]),
  );
  const got: string[] = [];
  const recorded: string[] = [];
  const gaveUp: string[] = [];
  let nowMs = NOW_MS;
  const stores: { -readonly [K in keyof DestinationStores]: DestinationStores[K] } = {
    alerts: { record: async (_, events) => void recorded.push(...events.map(({ id }) => id)) },
    channels: { list: async () => [{ id: 'w', type: 'webhook', name: 'w', url: 'https://w' }] },
    groups: {
      list: async () => [
        { id: 'g', type: 'group-default', name: 'g', notificationLevel: 'all', childChannelIds: ['w'] },
      ],
    },
    post: async ({ json }) => {
      const { alert } = JSON.parse(json);
      got.push(`${alert.id} ${alert.status}`);
    },
    externalUrl: '',
  };
  const sending: SendDependencies<AlertBatch> = {
    eventDestinations: (tenant, batch) => destinationsOf(stores, tenant, batch),
    gaveUp: async (_, ids) => void gaveUp.push(...ids),
    receivers: { get: async () => NO_RECEIVERS },
    ruleStates: { list: async () => new Map() },
    store: {
      outbox: async () => [...outbox.values()],
      sent: async (key) => void outbox.delete(key),
      putOff: async ({ key, batch: _, ...delivery }) =>
        void outbox.set(key, { ...outbox.get(key)!, ...delivery }),
      giveUp: async ({ key }) => void outbox.delete(key),
    },
    post: stores.post,
    publish: async () => {},
    externalUrl: '',
    now: () => nowMs,
    reported: new Map(),
  };
  const send = (hasTime = () => true) => sendAll(sending, [TENANT], hasTime);
  const later = (ms: number) => {
    nowMs += ms;
  };
  return { send, later, got, recorded, gaveUp, outbox, stores };
}

test.each([0, 60])(
  'a channel hears that an alert opened before it hears that the alert closed, although the channels could not be read for a while, after %d minutes',
  async (minutes) => {
    const batches = [batchOf('m', 'opened'), batchOf('m', 'closed'), batchOf('other', 'opened')];
    const { send, later, got, outbox, stores } = sender(batches, RECORDED);
    later(minutes * 60_000);
    const { list } = stores.channels;
    const failOnce = () => {
      stores.channels = {
        list: () => {
          stores.channels = { list };
          return Promise.reject(new Error('throttled'));
        },
      };
    };
    failOnce();
    expect(await send()).toMatchObject({ sent: 1, failed: 1 });
    // The first batch is not due yet, and its channels fail again.
    failOnce();
    await send();
    expect(got).toEqual(['a-other critical']);
    later(waitMs(1));
    await send();
    expect(got).toEqual(['a-other critical', 'a-m critical', 'a-m ok']);
    expect(outbox.size).toBe(0);
  },
);

test('channels hear of an alert once the list of alerts has it', async () => {
  const batches = [batchOf('m', 'opened'), batchOf('m', 'closed'), batchOf('other', 'opened')];
  const { send, later, got, recorded, outbox, stores } = sender(batches);
  const { record } = stores.alerts;
  stores.alerts = {
    record: async (id, events) => {
      if (events[0]!.subject.monitorId === 'm') throw new Error('throttled');
      await record(id, events);
    },
  };
  await send();
  expect([got, recorded]).toEqual([['a-other critical'], ['other opened']]);
  stores.alerts = { record };
  // The first batch is not due yet.
  await send();
  expect(got).toHaveLength(1);
  later(waitMs(1));
  await send();
  expect(got.slice(1)).toEqual(['a-m critical', 'a-m ok']);
  expect(recorded.slice(1)).toEqual(['m opened', 'm closed']);
  expect(outbox.size).toBe(0);
});

test('channels hear of an alert after ten minutes although the list of alerts cannot be written, and are not suspended', async () => {
  const { send, later, got, gaveUp, outbox, stores } = sender([
    batchOf('m', 'opened'),
    batchOf('m', 'closed'),
  ]);
  stores.alerts = { record: () => Promise.reject(new Error('too long')) };
  let saidMs = 0;
  for (let i = 1; i <= MAX_ATTEMPTS; i++) {
    await send();
    if (got.length === 0) saidMs += waitMs(i);
    later(waitMs(i));
  }
  expect(got).toEqual(['a-m critical', 'a-m ok']);
  expect(saidMs).toBeLessThan(1_000_000);
  expect(gaveUp).toEqual(['record']);
  // The list has been given up for the first batch. The second is only waiting for it now.
  expect([...outbox.values()]).toMatchObject([{ key: '1', taken: ['w'] }]);
});

/** A batch with an event of each of the alerts `a-0`, `a-1`, ... */
function batchOfMany(count: number): AlertBatch {
  const batch = batchOf('m', 'opened');
  const [event] = batch.events;
  return {
    ...batch,
    events: Array.from({ length: count }, (_, i) => ({
      ...event!,
      id: `e-${i}`,
      alert: { ...event!.alert, id: `a-${i}` },
    })),
  };
}

test('a slow webhook gets each event of a large batch once, although no run has time for all', async () => {
  const { send, got, outbox } = sender([batchOfMany(8)], RECORDED);
  const runs: number[] = [];
  while (outbox.size > 0) {
    // A run has time for three requests.
    const before = got.length;
    await send(() => got.length - before < 3);
    runs.push(got.length - before);
  }
  expect(runs).toEqual([3, 3, 2]);
  expect(got).toEqual(Array.from({ length: 8 }, (_, i) => `a-${i} critical`));
  expect(outbox.size).toBe(0);
});

test('a batch stops between two channels when time is up, and the next run continues with the second', async () => {
  const { send, got, outbox, stores } = sender([batchOfMany(1)], RECORDED);
  stores.channels.list = async () =>
    ['w', 'x'].map((id) => ({ id, type: 'webhook', name: id, url: `https://${id}` }));
  stores.groups.list = async () => [
    { id: 'g', type: 'group-default', name: 'g', notificationLevel: 'all', childChannelIds: ['w', 'x'] },
  ];
  const urls: string[] = [];
  stores.post = async ({ url }) => void urls.push(url);
  await send(() => urls.length < 1);
  expect([urls, [...outbox.values()]]).toMatchObject([
    ['https://w'],
    [{ taken: ['record', 'w'], attempts: 0 }],
  ]);
  await send();
  expect(urls).toEqual(['https://w', 'https://x']);
  expect([got, outbox.size]).toEqual([[], 0]);
});

test('after an outage of 23 hours, a batch for which a run has no time is continued by the next run', async () => {
  const { send, later, got, outbox } = sender([batchOfMany(8)], RECORDED);
  later(23.5 * 3_600_000);
  while (outbox.size > 0) {
    const before = got.length;
    await send(() => got.length - before < 3);
  }
  expect(got).toEqual(Array.from({ length: 8 }, (_, i) => `a-${i} critical`));
});

test('a webhook that refuses an event gets the others; after a failure it gets only the rest', async () => {
  const { send, later, got, outbox, stores } = sender([batchOfMany(4)], RECORDED);
  const { post } = stores;
  let failures = 1;
  stores.post = async (request) => {
    const { id } = JSON.parse(request.json).alert;
    if (id === 'a-0') throw new DeliveryError('refused', true);
    if (id === 'a-2' && failures-- > 0) throw new DeliveryError('failed', false);
    await post(request);
  };
  expect(await send()).toMatchObject({ sent: 1, failed: 2, dropped: 1 });
  expect([...outbox.values()]).toMatchObject([{ attempts: 1, refused: ['refused'], begun: [['w', 'e-1']] }]);
  later(waitMs(1));
  expect(await send()).toMatchObject({ sent: 2, failed: 0, dropped: 0 });
  expect(got).toEqual(['a-1 critical', 'a-2 critical', 'a-3 critical']);
  expect(outbox.size).toBe(0);
});
