import { createHash } from 'node:crypto';
import type { Alert } from '../../../shared/alerting/alert-state';
import type { GroupState } from '../../../shared/alerting/group-state';
import type { NotificationBatch } from '../../../shared/alerting/notification';
import { DeliveryError, type OutsideRequest } from '../../../shared/alerting/post-outside';
import { alertmanagerBodies, webhookBody } from '../../../shared/alerting/receiver-bodies';
import type { Receivers } from '../../../shared/alerting/receivers';
import type { OutboxItem } from '../../../shared/alerting/rule-states';
import { MAX_ATTEMPTS, type SendDependencies, sendAll, waitMs } from '../../../shared/alerting/send';

const NOW_MS = Date.parse('2026-11-23T12:00:00Z');
const alert = (state: Alert['state'], fields: Partial<Alert> = {}): Alert => ({
  labels: [
    ['alertname', 'High'],
    ['host.name', 'a'],
  ],
  annotations: [['summary', 'x']],
  value: 20,
  activeAtMs: NOW_MS - 120_000,
  state,
  ...(state !== 'pending' && { firedAtMs: NOW_MS - 60_000 }),
  ...fields,
});
const stateOf = (...alerts: Alert[]): GroupState => ({
  ...{ slotMs: NOW_MS, evaluatedMs: NOW_MS, durationMs: 1, queryOffsetMs: 0 },
  rules: [{ identity: 'r', expr: 'x > 10', alerts, series: [], told: [] }],
});

test('an Alertmanager hears of what fires and of what ended in the last 15 minutes', () => {
  const bodies = alertmanagerBodies(
    [
      stateOf(
        alert('firing'),
        alert('pending'),
        alert('resolved', { resolvedAtMs: NOW_MS - 60_000 }),
        alert('resolved', { resolvedAtMs: NOW_MS - 16 * 60_000 }),
      ),
    ],
    NOW_MS,
    'https://api',
  );
  const labels = { alertname: 'High', host_name: 'a' };
  const common = {
    labels,
    annotations: { summary: 'x' },
    startsAt: '2026-11-23T11:59:00.000Z',
    generatorURL: 'https://api/graph?g0.expr=x%20%3E%2010&g0.tab=1',
  };
  expect(bodies.map((each) => JSON.parse(each))).toEqual([
    [
      { ...common, endsAt: '2026-11-23T12:04:00.000Z' },
      { ...common, endsAt: '2026-11-23T11:59:00.000Z' },
    ],
  ]);
});

test('an Alertmanager gets at most 256 alerts a request', () => {
  const many = Array.from({ length: 600 }, () => alert('firing'));
  const bodies = alertmanagerBodies([stateOf(...many)], NOW_MS, '');
  expect(bodies.map((each) => JSON.parse(each).length)).toEqual([256, 256, 88]);
  expect(alertmanagerBodies([stateOf()], NOW_MS, '')).toEqual([]);
});

const batchOf = (group: string, slotMs = NOW_MS): NotificationBatch => ({
  ...{ tenant: 't', namespace: 'n', group, slotMs, queryOffsetMs: 30_000, isLate: false },
  notifications: [
    {
      ...{ id: createHash('sha256').update(`${group}${slotMs}`).digest('hex'), state: 'firing', expr: 'x' },
      labels: [
        ['alertname', 'High'],
        ['job', group],
      ],
      ...{ annotations: [], value: 1, firedAtMs: slotMs },
    },
  ],
});

test("a webhook gets an Alertmanager's body, with the transition's id", () => {
  const batch = batchOf('g');
  expect(JSON.parse(webhookBody(batch, 'https://api'))).toMatchObject({
    version: '4',
    status: 'firing',
    groupLabels: { namespace: 'n', group: 'g' },
    commonLabels: { alertname: 'High', job: 'g' },
    isLate: false,
    alerts: [
      {
        id: batch.notifications[0]!.id,
        status: 'firing',
        endsAt: '0001-01-01T00:00:00Z',
        startsAt: '2026-11-23T12:00:00.000Z',
      },
    ],
  });
});

/** Receivers of one tenant, and an outbox in memory. */
function sender(webhooks: readonly string[], batches: readonly NotificationBatch[]) {
  const receivers: Receivers = { alertmanagers: [], webhooks: webhooks.map((url) => ({ url })) };
  const outbox = new Map<string, OutboxItem>(
    batches.map((batch, i) => [
      String(i),
      { key: String(i), tenantId: 'id', batch, attempts: 0, dueMs: 0, taken: [], stored: {} },
    ]),
  );
  const got: string[] = [];
  const failing = new Map<string, boolean>();
  let nowMs = NOW_MS;
  const dependencies: SendDependencies = {
    receivers: { get: async () => receivers },
    states: {
      list: async () => new Map(),
      outbox: async () => [...outbox.values()],
      sent: async (key) => void outbox.delete(key),
      putOff: async (item) => void outbox.set(item.key, item),
    },
    post: async ({ url, json }: OutsideRequest) => {
      const isFinal = failing.get(url);
      if (isFinal !== undefined) throw new DeliveryError(`${url} fails`, isFinal);
      const { groupLabels, evaluatedAt } = JSON.parse(json);
      got.push(`${url} ${groupLabels.group} ${evaluatedAt.slice(14, 16)}`);
    },
    externalUrl: '',
    now: () => nowMs,
  };
  const send = (tenants = [{ id: 'id', name: 't' }]) => sendAll(dependencies, tenants, () => true);
  return { send, got, failing, outbox, later: (ms: number) => (nowMs += ms) };
}

test('each webhook gets each batch once', async () => {
  const { send, got, outbox } = sender(['a', 'b'], [batchOf('g'), batchOf('h')]);
  expect(await send()).toEqual({ sent: 4, failed: 0 });
  expect(got.sort()).toEqual(['a g 00', 'a h 00', 'b g 00', 'b h 00']);
  expect(outbox.size).toBe(0);
  expect(await send()).toEqual({ sent: 0, failed: 0 });
});

test('a webhook that fails is tried again, later and alone; its group waits, others do not', async () => {
  const batches = [batchOf('g'), batchOf('g', NOW_MS + 60_000), batchOf('h')];
  const { send, got, failing, outbox, later } = sender(['a', 'b'], batches);
  failing.set('b', false);
  await send();
  expect(got).toEqual(['a g 00', 'a h 00']);
  failing.clear();
  expect(await send()).toEqual({ sent: 0, failed: 0 });
  later(waitMs(1));
  await send();
  expect(got.slice(2)).toEqual(['b g 00', 'a g 01', 'b g 01', 'b h 00']);
  expect(outbox.size).toBe(0);
});

test('a webhook that refuses for good holds up nothing', async () => {
  const { send, got, failing, outbox } = sender(['a', 'b'], [batchOf('g')]);
  failing.set('a', true);
  expect(await send()).toEqual({ sent: 1, failed: 1 });
  expect(got).toEqual(['b g 00']);
  expect(outbox.size).toBe(0);
});

test('a batch is given up after so many attempts, with growing waits, and stays as a dead letter', async () => {
  const { send, failing, outbox, later } = sender(['a'], [batchOf('g')]);
  failing.set('a', false);
  const waits: number[] = [];
  for (let i = 1; i <= MAX_ATTEMPTS; i++) {
    expect((await send()).failed).toBe(1);
    waits.push(waitMs(i));
    later(waitMs(i));
  }
  expect(waits.every((ms, i) => i === 0 || ms >= waits[i - 1]!)).toBe(true);
  expect(await send()).toEqual({ sent: 0, failed: 0 });
  expect([...outbox.values()].map(({ attempts }) => attempts)).toEqual([MAX_ATTEMPTS]);
});

test('without a webhook, a batch goes', async () => {
  const { send, outbox } = sender([], [batchOf('g')]);
  await send();
  expect(outbox.size).toBe(0);
});

test('a batch is sent although its tenant has no rules any more', async () => {
  const { send, got } = sender(['a'], [batchOf('g')]);
  await send([]);
  expect(got).toEqual(['a g 00']);
});
