import { createHash } from 'node:crypto';
import type { Alert } from '../../../../shared/alerting/delivery/alert';
import type { TopicMessage } from '../../../../shared/alerting/delivery/message-text';
import { MAX_ATTEMPTS, waitMs } from '../../../../shared/alerting/delivery/next-step';
import { DeliveryError, type OutsideRequest } from '../../../../shared/alerting/delivery/post-outside';
import {
  alertmanagerBodies,
  receiverWebhookBody,
  topicMessages,
} from '../../../../shared/alerting/delivery/receiver-bodies';
import { NO_RECEIVERS, type Receivers } from '../../../../shared/alerting/delivery/receivers';
import { type SendDependencies, type SendReport, sendAll } from '../../../../shared/alerting/delivery/send';
import type { OutboxItem } from '../../../../shared/alerting/tasks/evaluator-store';
import type { NotificationBatch } from '../../../../shared/alerting/tasks/notification';
import type { RuleGroupState } from '../../../../shared/rules/rule-group-state';

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
const stateOf = (...alerts: Alert[]): RuleGroupState => ({
  tickMs: NOW_MS,
  evaluatedMs: NOW_MS,
  durationMs: 1,
  queryOffsetMs: 0,
  rules: [{ identity: 'r', expr: 'x > 10', alerts, series: [], told: [] }],
});

test('an Alertmanager is sent all firing alerts and those that ended in the last 15 minutes', () => {
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
    () => true,
  );
  const labels = { alertname: 'High', host_name: 'a' };
  const common = {
    labels,
    annotations: { summary: 'x' },
    startsAt: '2026-11-23T11:59:00.000Z',
    generatorURL: 'https://api/graph?g0.expr=x%20%3E%2010&g0.tab=1',
  };
  expect(bodies.map(({ json }) => JSON.parse(json))).toEqual([
    [
      { ...common, endsAt: '2026-11-23T12:04:00.000Z' },
      { ...common, endsAt: '2026-11-23T11:59:00.000Z' },
    ],
  ]);
});

test('an Alertmanager gets at most 256 alerts a request', () => {
  const many = Array.from({ length: 600 }, () => alert('firing'));
  const bodies = alertmanagerBodies([stateOf(...many)], NOW_MS, '', () => true);
  expect(bodies.map(({ json }) => JSON.parse(json).length)).toEqual([256, 256, 88]);
  expect(alertmanagerBodies([stateOf()], NOW_MS, '', () => true)).toEqual([]);
});

const batchOf = (group: string, tickMs = NOW_MS, repeatsMs?: readonly number[]): NotificationBatch => ({
  tenant: 't',
  namespace: 'n',
  group,
  tickMs,
  queryOffsetMs: 30_000,
  isLate: false,
  notifications: [
    {
      id: createHash('sha256').update(`${group}${tickMs}`).digest('hex'),
      state: 'firing',
      expr: 'x',
      labels: [
        ['alertname', 'High'],
        ['job', group],
      ],
      annotations: [],
      value: 1,
      firedAtMs: tickMs,
      ...(repeatsMs !== undefined && { repeatsMs }),
    },
  ],
});

test("a webhook gets an Alertmanager's body, with the transition's id", () => {
  const batch = batchOf('g');
  expect(JSON.parse(receiverWebhookBody(batch, 'https://api'))).toMatchObject({
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

const NOTHING: SendReport = { sent: 0, failed: 0, dropped: 0, outboxAgeMs: 0 };
const ITEM = {
  tenantId: 'id',
  attempts: 0,
  dueMs: 0,
  taken: [],
  refused: [],
  stored: {},
  expiresMs: NOW_MS + 86_400_000,
};

/** Receivers of one tenant, and an outbox in memory. */
function sender(
  webhooks: readonly string[],
  batches: readonly OutboxItem['batch'][],
  others: Partial<Receivers> = {},
) {
  const receivers: Receivers = { ...NO_RECEIVERS, webhooks: webhooks.map((url) => ({ url })), ...others };
  const undelivered: OutboxItem[] = [];
  const published: [string, TopicMessage][] = [];
  const outbox = new Map<string, OutboxItem>(
    batches.map((batch, i) => [String(i), { ...ITEM, key: String(i), batch }]),
  );
  const got: string[] = [];
  const failing = new Map<string, boolean>();
  let nowMs = NOW_MS;
  let state = stateOf();
  const dependencies: { -readonly [K in keyof SendDependencies]: SendDependencies[K] } = {
    eventDestinations: async () => [],
    gaveUp: async () => {},
    receivers: { get: async () => receivers },
    ruleStates: { list: async () => new Map([['g', state]]) },
    store: {
      outbox: async () => [...outbox.values()],
      sent: async (key) => void outbox.delete(key),
      putOff: async (item) => void outbox.set(item.key, item),
      giveUp: async (item) => {
        outbox.delete(item.key);
        undelivered.push(item);
      },
    },
    post: async ({ url, json }: OutsideRequest) => {
      const isFinal = failing.get(url);
      if (isFinal !== undefined) throw new DeliveryError(`${url} fails`, isFinal);
      if (url.endsWith('/api/v2/alerts')) {
        const alerts = JSON.parse(json) as { labels: { alertname: string }; endsAt: string }[];
        const state = (endsAt: string) => (Date.parse(endsAt) > nowMs ? 'firing' : 'resolved');
        got.push(...alerts.map(({ labels, endsAt }) => `${url[0]} ${labels.alertname} ${state(endsAt)}`));
        return;
      }
      const { groupLabels, evaluatedAt, text } = JSON.parse(json);
      if (text !== undefined) return void got.push(`${url} ${text}`);
      got.push(`${url} ${groupLabels.group} ${evaluatedAt.slice(14, 16)}`);
    },
    publish: async (arn, message) => void published.push([arn, message]),
    externalUrl: '',
    now: () => nowMs,
    reported: new Map(),
  };
  const send = (tenants = [{ id: 'id', name: 't' }]) => sendAll(dependencies, tenants, () => true);
  const later = (ms: number) => {
    nowMs += ms;
  };
  const become = (...alerts: Alert[]) => {
    state = stateOf(...alerts);
  };
  return { send, got, failing, outbox, undelivered, published, later, become, dependencies };
}

const WAITED = 'it waited for a day behind earlier notifications, or while none were sent';

test('each webhook is sent each batch exactly once', async () => {
  const { send, got, outbox } = sender(['a', 'b'], [batchOf('g'), batchOf('h')]);
  expect(await send()).toEqual({ ...NOTHING, sent: 4 });
  expect(got.sort()).toEqual(['a g 00', 'a h 00', 'b g 00', 'b h 00']);
  expect(outbox.size).toBe(0);
  expect(await send()).toEqual(NOTHING);
});

test('a webhook that fails is tried again, later and alone; its group waits for it, nothing else does', async () => {
  const batches = [batchOf('g'), batchOf('g', NOW_MS + 60_000), batchOf('h')];
  const { send, got, failing, outbox, later } = sender(['a', 'b'], batches);
  failing.set('b', false);
  later(120_000);
  expect(await send()).toEqual({ ...NOTHING, sent: 3, failed: 2, outboxAgeMs: 120_000 });
  expect(got).toEqual(['a g 00', 'a g 01', 'a h 00']);
  failing.clear();
  expect(await send()).toMatchObject({ sent: 0, failed: 0 });
  later(waitMs(1));
  await send();
  expect(got.slice(3)).toEqual(['b g 00', 'b g 01', 'b h 00']);
  expect(outbox.size).toBe(0);
});

test('a batch that a webhook finally refuses is given up with the reason, once all others took it', async () => {
  const { send, got, failing, outbox, undelivered, later } = sender(['a', 'b', 'c'], [batchOf('g')]);
  failing.set('a', true);
  failing.set('c', false);
  expect(await send()).toMatchObject({ sent: 1, failed: 2, dropped: 1 });
  expect(got).toEqual(['b g 00']);
  expect([outbox.size, undelivered.length]).toEqual([1, 0]);
  failing.delete('c');
  later(waitMs(1));
  expect(await send()).toEqual({ ...NOTHING, sent: 1 });
  expect(got).toEqual(['b g 00', 'c g 00']);
  expect(outbox.size).toBe(0);
  expect(undelivered).toMatchObject([{ key: '0', attempts: 2, refused: ['a fails'] }]);
});

test('a batch that cannot be sent for an unexpected reason holds back no other, and is reported by its age', async () => {
  const events = { tenant: 't', tickMs: NOW_MS, monitorId: 'm', events: [] };
  const { send, got, outbox, undelivered, later, dependencies } = sender(['a'], [events, batchOf('g')]);
  const broken = { id: 'record', queue: 'record', count: 1 };
  const deliver = () => Promise.reject(new TypeError('of another format'));
  dependencies.eventDestinations = async () => [{ ...broken, requests: [{ id: '', send: deliver }] }];
  expect(await send()).toEqual({ ...NOTHING, sent: 1, failed: 1 });
  expect(got).toEqual(['a g 00']);
  dependencies.eventDestinations = deliver;
  let waitedMs = 0;
  for (let i = 1; i < MAX_ATTEMPTS; i++) {
    waitedMs += waitMs(i);
    later(waitMs(i));
    const { outboxAgeMs } = await send();
    expect(outboxAgeMs).toBe(outbox.has('0') ? waitedMs : 0);
  }
  expect([outbox.size, undelivered.length]).toEqual([0, 1]);
});

test('channels are sent their batches although the states of rules cannot be read', async () => {
  const { send, got, dependencies } = sender(['a'], [batchOf('g')], { alertmanagers: [{ url: 'm' }] });
  dependencies.ruleStates.list = () => Promise.reject(new Error('of another format'));
  expect(await send()).toEqual({ ...NOTHING, sent: 1, failed: 1 });
  expect(got).toEqual(['a g 00']);
});

test('a batch for which no time was left counts as waiting', async () => {
  const { later, dependencies } = sender(['a'], [batchOf('g')]);
  later(60_000);
  expect(await sendAll(dependencies, [], () => false)).toEqual({ ...NOTHING, outboxAgeMs: 60_000 });
});

test('a repeat that a webhook finally refuses is dropped', async () => {
  const { send, failing, outbox, undelivered } = sender([], [batchOf('g', NOW_MS, [60_000])], {
    webhooks: [{ url: 'a', repeatInterval: '1m' }],
  });
  failing.set('a', true);
  expect(await send()).toEqual({ ...NOTHING, failed: 1, dropped: 1 });
  expect([outbox.size, undelivered.length]).toEqual([0, 0]);
});

test('a batch is given up after the last attempt, with growing waits between attempts', async () => {
  const { send, failing, outbox, undelivered, later } = sender(['a'], [batchOf('g')]);
  failing.set('a', false);
  const waits: number[] = [];
  for (let i = 1; i <= MAX_ATTEMPTS; i++) {
    expect(await send()).toMatchObject({ failed: 1, dropped: i === MAX_ATTEMPTS ? 1 : 0 });
    waits.push(waitMs(i));
    later(waitMs(i));
  }
  expect(waits.every((ms, i) => i === 0 || ms >= waits[i - 1]!)).toBe(true);
  // New alerts wait behind a batch that failed, also after the receiver works again.
  expect(waits.at(-1)).toBe(600_000);
  expect(waits.reduce((sum, ms) => sum + ms, 0)).toBeGreaterThan(5 * 3_600_000);
  expect(await send()).toEqual(NOTHING);
  expect(outbox.size).toBe(0);
  expect(undelivered).toMatchObject([{ key: '0', attempts: MAX_ATTEMPTS, refused: ['a fails'] }]);
});

test('a batch that was attempted more often than the maximum, as another release does, is given up', async () => {
  const { send, failing, outbox, undelivered } = sender(['a'], []);
  outbox.set('0', { ...ITEM, key: '0', batch: batchOf('g'), attempts: MAX_ATTEMPTS });
  failing.set('a', false);
  expect(await send()).toMatchObject({ failed: 1, dropped: 1 });
  expect([outbox.size, undelivered.length]).toEqual([0, 1]);
});

test('batches that wait for a day behind a failing one are given up, each with the reason', async () => {
  const { send, failing, later, outbox, undelivered } = sender(
    ['a'],
    [0, 1, 2, 3, 4, 5].map((n) => batchOf('g', NOW_MS + n)),
  );
  failing.set('a', false);
  let dropped = 0;
  for (let minutes = 0; minutes < 24 * 60; minutes += 10) {
    dropped += (await send()).dropped;
    later(600_000);
  }
  expect(outbox.size).toBe(0);
  expect([dropped, undelivered.length]).toEqual([6, 6]);
  expect(undelivered.map(({ refused }) => refused.at(-1))).toEqual([
    ...Array(3).fill('a fails'),
    // The fourth has had attempts, the fifth has its first, and the sixth waits behind the fifth.
    WAITED,
    'a fails',
    WAITED,
  ]);
});

test('after an outage of a day, the batches of a receiver that works are sent', async () => {
  const batches = [batchOf('g'), batchOf('g', NOW_MS + 60_000), batchOf('h')];
  const { send, got, later, outbox, undelivered } = sender(['a'], batches);
  later(23.5 * 3_600_000);
  expect(await send()).toEqual({ ...NOTHING, sent: 3 });
  expect(got).toEqual(['a g 00', 'a g 01', 'a h 00']);
  expect([outbox.size, undelivered.length]).toEqual([0, 0]);
});

test('after an outage of a day, the oldest batch of each rule group is attempted once, and no channel is suspended', async () => {
  const batches = [batchOf('g'), batchOf('g', NOW_MS + 60_000), batchOf('h')];
  const { send, failing, later, outbox, undelivered, dependencies } = sender(['a'], batches);
  dependencies.gaveUp = () => Promise.reject(new Error('suspended'));
  failing.set('a', false);
  later(23.5 * 3_600_000);
  expect(await send()).toEqual({ ...NOTHING, failed: 2, dropped: 3 });
  expect(outbox.size).toBe(0);
  expect(undelivered).toMatchObject([
    { key: '0', attempts: 1, refused: ['a fails'] },
    { key: '1', attempts: 0, refused: [WAITED] },
    { key: '2', attempts: 1, refused: ['a fails'] },
  ]);
});

test('an expired batch is not sent, since the table may have removed the batches behind it', async () => {
  const { send, got, later, undelivered } = sender(['a'], [batchOf('g')]);
  later(24.5 * 3_600_000);
  expect(await send()).toEqual({ ...NOTHING, dropped: 1 });
  expect(got).toEqual([]);
  expect(undelivered).toMatchObject([{ key: '0', attempts: 0, refused: [WAITED] }]);
});

test('batches are given up only while there is time', async () => {
  const batches = Array.from({ length: 1_010 }, (_, i) => batchOf('g', NOW_MS + i * 60_000));
  const { undelivered, dependencies } = sender(['a'], batches);
  let checks = 0;
  await sendAll(dependencies, [], () => ++checks <= 5);
  expect(undelivered.length).toBe(4);
});

test('an attempt that was put off by a clock four minutes ahead waits', async () => {
  const { send, got, outbox } = sender(['a'], []);
  outbox.set('0', { ...ITEM, key: '0', batch: batchOf('g'), attempts: 9, dueMs: NOW_MS + 14 * 60_000 });
  await send();
  expect(got).toEqual([]);
});

test('an attempt that a wrong clock put off for a day is made now', async () => {
  const { send, got, outbox } = sender(['a'], []);
  outbox.set('0', { ...ITEM, key: '0', batch: batchOf('g'), attempts: 1, dueMs: NOW_MS + 12 * 3_600_000 });
  await send();
  expect(got).toEqual(['a g 00']);
});

test('the oldest batches of a tenant are given up when too many wait', async () => {
  const batches = Array.from({ length: 1_002 }, (_, i) => batchOf('g', NOW_MS + i * 60_000));
  const { send, undelivered } = sender(['a'], batches);
  expect(await send()).toMatchObject({ sent: 1_000, dropped: 2 });
  const reason = 'more than 1000 batches of notifications waited';
  expect(undelivered.map(({ key, refused }) => [key, refused])).toEqual([
    ['0', [reason]],
    ['1', [reason]],
  ]);
});

test('a channel is sent the alerts that it matches, and repeats at its own interval exactly once', async () => {
  const repeat = batchOf('g', NOW_MS, [60_000]);
  const { send, got, failing, outbox } = sender([], [batchOf('g'), repeat, batchOf('h')], {
    webhooks: [
      { url: 'minutely', match: ['job="g"'], repeatInterval: '1m' },
      { url: 'none', match: ['alertname="Other"'] },
      { url: 'hourly', match: ['job=~"g|h"'], repeatInterval: '1h' },
    ],
  });
  await send();
  expect(got).toEqual(['minutely g 00', 'hourly g 00', 'minutely g 00', 'hourly h 00']);
  failing.set('minutely', false);
  outbox.set('r', { ...ITEM, key: 'r', batch: repeat });
  expect(await send()).toEqual({ ...NOTHING, failed: 1 });
  expect(outbox.size).toBe(0);
});

test('channels that share an address each get the alerts that they match', async () => {
  const { send, got, failing, outbox, later } = sender([], [batchOf('g'), batchOf('h')], {
    webhooks: [
      { url: 'a', match: ['job="none"'] },
      { url: 'a', match: ['job="g"'] },
      { url: 'a', match: ['job="h"'], authorization: 'Bearer b' },
      { url: 'a', match: ['job="h"'], authorization: 'Bearer c' },
    ],
  });
  failing.set('a', false);
  expect(await send()).toMatchObject({ sent: 0, failed: 3 });
  expect(outbox.size).toBe(2);
  failing.clear();
  later(waitMs(1));
  await send();
  expect(got).toEqual(['a g 00', 'a h 00', 'a h 00']);
  expect(outbox.size).toBe(0);
});

test('Slack and a topic get texts; the topic a message for each protocol', async () => {
  const { send, got, published } = sender([], [batchOf('<g>')], {
    slack: [{ url: 'slack' }],
    topics: [{ topicArn: 'arn' }],
  });
  expect(await send()).toEqual({ ...NOTHING, sent: 2 });
  const since = '(firing since 2026-11-23T12:00:00Z)';
  expect(got).toEqual([
    `slack *[FIRING:1] n/&lt;g&gt;*\n• *High* job=&lt;g&gt; ${since} </graph?g0.expr=x&g0.tab=1|graph>`,
  ]);
  const [[arn, { subject, message }]] = published as [[string, TopicMessage]];
  expect([arn, subject]).toEqual(['arn', '[FIRING:1] High (n/<g>)']);
  const { default: json, email, sms } = JSON.parse(message);
  expect(JSON.parse(json)).toMatchObject({ version: '4', alerts: [{ status: 'firing' }] });
  expect(email).toBe(`[FIRING:1] High (n/<g>)\n\nHigh job=<g> ${since}\n/graph?g0.expr=x&g0.tab=1`);
  expect(sms).toBe(subject);
});

test('a batch longer than an SNS message is split, with each alert once; a single alert that is too long loses its annotations', () => {
  const [one] = batchOf('g').notifications;
  const many = Array.from({ length: 50 }, (_, i) => ({
    ...one!,
    id: `id-${i}`,
    annotations: [['summary', 'é'.repeat(i === 7 ? 200_000 : 5_000)] as const],
  }));
  const messages = topicMessages({ ...batchOf('g'), notifications: many }, '');
  const ids = messages.flatMap(({ message }) =>
    JSON.parse(JSON.parse(message).default).alerts.map(({ id }: { id: string }) => id),
  );
  expect(ids).toEqual(many.map(({ id }) => id));
  expect(messages.length).toBeGreaterThan(1);
  for (const { subject, message } of messages) {
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(256 * 1024);
    expect(subject).toMatch(/^[\x20-\x7e]{1,100}$/);
  }
});

test('a batch is removed from the outbox if the tenant has no webhook', async () => {
  const { send, outbox } = sender([], [batchOf('g')]);
  await send();
  expect(outbox.size).toBe(0);
});

test('a batch is sent although its tenant no longer has rules', async () => {
  const { send, got } = sender(['a'], [batchOf('g')]);
  await send([]);
  expect(got).toEqual(['a g 00']);
});

test('an Alertmanager is sent a firing alert once a minute, and a changed one at once', async () => {
  const { send, got, failing, later, become } = sender([], [], {
    alertmanagers: [{ url: 'a' }, { url: 'b' }],
  });
  become(alert('firing'));
  await send();
  expect(got.splice(0)).toEqual(['a High firing', 'b High firing']);
  later(30_000);
  await send();
  expect(got).toEqual([]);
  later(29_000);
  await send();
  expect(got.splice(0)).toEqual(['a High firing', 'b High firing']);
  later(1_000);
  become(alert('resolved', { resolvedAtMs: NOW_MS + 60_000 }));
  await send();
  expect(got.splice(0)).toEqual(['a High resolved', 'b High resolved']);
  // If one Alertmanager fails, both get the alert again.
  become(alert('firing', { firedAtMs: NOW_MS + 60_000 }));
  failing.set('b/api/v2/alerts', false);
  await send();
  failing.clear();
  await send();
  expect(got).toEqual(['a High firing', 'a High firing', 'b High firing']);
});

test('an Alertmanager that hangs takes no time from the other receivers, however many alerts fire', async () => {
  const { got, later, become, dependencies } = sender(['w'], [batchOf('g')], {
    alertmanagers: [{ url: 'hangs' }, { url: 'b' }],
  });
  const { post, now } = dependencies;
  const requests: string[] = [];
  dependencies.post = async (request) => {
    requests.push(request.url);
    if (!request.url.startsWith('hangs')) return post(request);
    later(5_000);
    throw new DeliveryError('no answer', false);
  };
  become(
    ...Array.from({ length: 11 * 256 }, (_, i) => alert('firing', { labels: [['alertname', `a${i}`]] })),
  );
  const startedMs = now();
  await sendAll(dependencies, [{ id: 'id', name: 't' }], () => now() - startedMs < 50_000);
  expect(got).toContain('w g 00');
  expect(requests.filter((url) => url.startsWith('hangs'))).toHaveLength(1);
  expect(requests.filter((url) => url.startsWith('b/'))).toHaveLength(11);
});

test('an Alertmanager that refuses some alerts is sent the others', async () => {
  const { become, dependencies } = sender([], [], { alertmanagers: [{ url: 'a' }] });
  let requests = 0;
  dependencies.post = async () => {
    requests++;
    throw new DeliveryError('refused', true);
  };
  become(...Array.from({ length: 3 * 256 }, (_, i) => alert('firing', { labels: [['alertname', `a${i}`]] })));
  await sendAll(dependencies, [{ id: 'id', name: 't' }], () => true);
  expect(requests).toBe(3);
});
