import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TopicMessage } from '../../../shared/alerting/delivery/message-text';
import type { OutsideRequest } from '../../../shared/alerting/delivery/post-outside';
import type { AlertEvent } from '../../../shared/monitors/alert-event';
import type { AlertSubject } from '../../../shared/monitors/alert-subject';
import type { Channel } from '../../../shared/monitors/channel';
import {
  channelSlackBody,
  channelWebhookBody,
  mailMessage,
  messageOf,
} from '../../../shared/monitors/channel-bodies';
import { channelsFor, type DestinationStores, destinationsOf } from '../../../shared/monitors/destinations';
import type { NotificationGroup } from '../../../shared/monitors/notification-group';
import { suspendChannels } from '../../../shared/monitors/suspend-channels';

const origin = { organization: 'Macker...', externalUrl: 'https://api' };
const OPENED_MS = 1_473_129_912_693;

const subject: AlertSubject = {
  type: 'host',
  monitorId: 'm1',
  monitorName: 'MonitorName',
  memo: 'memo....',
  metricLabel: 'MetricName',
  operator: '>',
  warning: 1.4665636369580741,
  critical: 1.9588528112516932,
  duration: 5,
  hostId: '22D4...',
  host: {
    id: '22D4...',
    name: 'app01',
    status: 'working',
    memo: '',
    roles: { Service: ['Role'] },
  },
  services: ['Service'],
};

const opened: AlertEvent['alert'] = {
  id: '2bj...',
  status: 'CRITICAL',
  wasCritical: true,
  openedAtMs: OPENED_MS,
  changedAtMs: OPENED_MS,
  notifiedAtMs: OPENED_MS,
};

const event = (changes: Partial<AlertEvent> = {}): AlertEvent => ({
  id: 'e1',
  key: '22D4...',
  kind: 'opened',
  trigger: 'monitoring',
  status: 'CRITICAL',
  value: 2.255356387321597,
  atMs: OPENED_MS,
  isTold: true,
  subject,
  alert: opened,
  ...changes,
});

const closed = {
  kind: 'closed',
  status: 'OK',
  value: 0.5,
  atMs: OPENED_MS + 180_000,
} as const;
const { host: _, hostId: __, ...unbound } = subject;

const EXAMPLES: Readonly<Record<string, AlertEvent>> = {
  'host-opened': event(),
  'host-closed': event(closed),
  'service-missing': event({
    value: undefined,
    message: 'no points for 30 minutes or longer',
    subject: {
      ...unbound,
      type: 'service',
      services: ['Service'],
      service: { id: 's1', name: 'Service', memo: 'sells', roles: ['Role'] },
    },
  }),
  'check-closed-by-hand': event({
    ...closed,
    value: undefined,
    trigger: 'manual',
    reason: 'fixed',
    subject: {
      type: 'check',
      monitorId: 'c1',
      monitorName: 'procs',
      memo: '',
      services: [],
      hostId: 'h',
      host: subject.host!,
    },
  }),
  'query-unknown': event({
    status: 'UNKNOWN',
    value: undefined,
    message: 'the query yields no value',
    subject: {
      ...unbound,
      type: 'query',
      series: { name: 'httpcheck.status', labels: { 'http.method': 'GET' } },
    },
  }),
};

describe('a webhook', () => {
  const folder = join(__dirname, '../../golden/webhook');
  test.each(Object.keys(EXAMPLES))('gets of %s what the golden file has', (name) => {
    const file = join(folder, `${name}.json`);
    const body = channelWebhookBody(EXAMPLES[name]!, origin);
    if (process.env.GOLDEN === 'write' && !existsSync(file)) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(file, `${body}\n`);
    }
    expect(`${body}\n`).toBe(readFileSync(file, 'utf8'));
  });

  test("has the keys of Mackerel's example in their order", () => {
    const { alert, host, ...rest } = JSON.parse(channelWebhookBody(event(closed), origin));
    expect(Object.keys(rest)).toEqual(['orgName', 'event', 'imageUrl', 'memo', 'type', 'message']);
    expect(Object.keys(host)).toEqual(['id', 'name', 'url', 'type', 'status', 'memo', 'isRetired', 'roles']);
    expect(Object.keys(host.roles[0])).toEqual([
      'fullname',
      'serviceName',
      'serviceUrl',
      'roleName',
      'roleUrl',
    ]);
    expect(Object.keys(alert)).toEqual(
      [
        'openedAt',
        'closedAt',
        'createdAt',
        'statusChangedAt',
        'criticalThreshold',
        'duration',
        'isOpen',
        'metricLabel',
        'metricValue',
      ].concat(['monitorName', 'monitorOperator', 'status', 'trigger', 'id', 'url', 'warningThreshold']),
    );
  });
});

test.each([
  [event(), 'MetricName 2.26 > 1.96'],
  [event({ status: 'WARNING', value: 1.5 }), 'MetricName 1.5 > 1.47'],
  [event(closed), 'MetricName 0.5'],
  [event({ message: 'Procs OK' }), 'Procs OK'],
  [event({ reason: 'fixed', message: 'x' }), 'fixed'],
  [event({ value: undefined }), ''],
])('the message of an event %#', (given, message) => {
  expect(messageOf(given)).toBe(message);
});

test('a message for Slack mentions people by the status, and escapes names', () => {
  const named = event({ subject: { ...subject, monitorName: '<a&b>' } });
  const { text } = JSON.parse(channelSlackBody([named], { critical: '<!here>', ok: '@nobody' }, origin));
  expect(text).toBe(
    '<!here>\n*[CRITICAL]* *&lt;a&amp;b&gt;* app01 MetricName 2.26 &gt; 1.96 <https://api/alerts?alert=2bj...|alert>',
  );
});

describe('notification groups', () => {
  const group = (id: string, changes: Partial<NotificationGroup> = {}): NotificationGroup => ({
    id,
    type: 'group',
    name: id,
    notificationLevel: 'all',
    childChannelIds: [`c-${id}`],
    ...changes,
  });
  const standard = group('default', { type: 'group-default' });
  const warning = event({ status: 'WARNING', alert: { ...opened, wasCritical: false } });
  const ok = event(closed);

  test.each([
    {
      name: 'the default group gets everything',
      groups: [standard, group('a')],
      of: event(),
      channels: ['c-default'],
    },
    {
      name: 'a group gets its monitors',
      groups: [standard, group('a', { monitors: [{ id: 'm1' }] })],
      of: event(),
      channels: ['c-default', 'c-a'],
    },
    {
      name: 'a group gets its services',
      groups: [group('a', { services: [{ name: 'Service' }] }), group('b', { services: [{ name: 'x' }] })],
      of: event(),
      channels: ['c-a'],
    },
    {
      name: 'a monitor that skips the default goes to no other group',
      groups: [
        standard,
        group('a', { monitors: [{ id: 'm1', skipDefault: true }] }),
        group('b', { services: [{ name: 'Service' }] }),
      ],
      of: event(),
      channels: ['c-a'],
    },
    {
      name: 'critical: no warning',
      groups: [{ ...standard, notificationLevel: 'critical' as const }],
      of: warning,
      channels: [],
    },
    {
      name: 'critical: UNKNOWN',
      groups: [{ ...standard, notificationLevel: 'critical' as const }],
      of: event({ status: 'UNKNOWN' }),
      channels: ['c-default'],
    },
    {
      name: 'critical: the end of what was critical',
      groups: [{ ...standard, notificationLevel: 'critical' as const }],
      of: ok,
      channels: ['c-default'],
    },
    {
      name: 'critical: not the end of a warning',
      groups: [{ ...standard, notificationLevel: 'critical' as const }],
      of: { ...ok, alert: { ...opened, wasCritical: false } },
      channels: [],
    },
    {
      name: 'a child has its own level',
      groups: [
        { ...standard, childNotificationGroupIds: ['a'] },
        group('a', { notificationLevel: 'critical' }),
      ],
      of: warning,
      channels: ['c-default'],
    },
    {
      name: 'a channel in two groups, and a circle of them, is told once',
      groups: [
        { ...standard, childNotificationGroupIds: ['a'] },
        group('a', { childChannelIds: ['c-default', 'c-a'], childNotificationGroupIds: ['default'] }),
      ],
      of: event(),
      channels: ['c-default', 'c-a'],
    },
    {
      name: 'a child that is gone',
      groups: [{ ...standard, childNotificationGroupIds: ['gone'] }],
      of: event(),
      channels: ['c-default'],
    },
  ])('$name', ({ groups, of, channels }) => {
    expect([...channelsFor(of, groups)]).toEqual(channels);
  });
});

describe('the destinations of a batch', () => {
  const channels: Channel[] = [
    { id: 'hook', type: 'webhook', name: 'hook', url: 'https://hook' },
    { id: 'slack', type: 'slack', name: 'slack', url: 'https://slack', events: ['alert', 'hostStatus'] },
    { id: 'other', type: 'webhook', name: 'other', url: 'https://other', events: ['hostStatus'] },
    { id: 'off', type: 'webhook', name: 'off', url: 'https://off', suspendedAt: 1 },
    { id: 'line', type: 'line', name: 'line' },
    { id: 'mail', type: 'email', name: 'mail', emails: ['a@example.com', 'b@example.com'] },
    { id: 'nobody', type: 'email', name: 'nobody' },
  ];
  const all: NotificationGroup = {
    id: 'd',
    type: 'group-default',
    name: 'd',
    notificationLevel: 'all',
    childChannelIds: channels.map(({ id }) => id),
  };
  const posted: string[] = [];
  const recorded: string[] = [];
  const post = async ({ url, json }: OutsideRequest) => {
    posted.push(`${url} ${JSON.parse(json).alert?.status ?? 'text'}`);
  };
  const of = (...events: AlertEvent[]) => destinationsWith({}, events);
  const destinationsWith = (stage: Pick<DestinationStores, 'mail'>, events: readonly AlertEvent[]) =>
    destinationsOf(
      {
        ...stage,
        alerts: { record: async (_, given) => void recorded.push(...given.map(({ id }) => id)) },
        channels: { list: async () => channels },
        groups: { list: async () => [all] },
        post,
        externalUrl: 'https://api',
      },
      { id: 't', name: 'acme' },
      { tenant: 'acme', tickMs: 0, monitorId: 'm1', events },
    );

  test('are the record first, then the channels that are for alerts and not suspended', async () => {
    const destinations = await of(event(), event({ id: 'e2', status: 'WARNING' }));
    expect(destinations.map(({ id, count }) => `${id} ${count}`)).toEqual(['record 2', 'hook 2', 'slack 2']);
    for (const { requests } of destinations) for (const { send } of requests) await send();
    expect(recorded).toEqual(['e1', 'e2']);
    expect(posted).toEqual(['https://hook critical', 'https://hook warning', 'https://slack text']);
  });

  test('include email channels if the stage has a topic for mails', async () => {
    const mails: TopicMessage[] = [];
    const mail = async (message: TopicMessage) => void mails.push(message);
    const destinations = await destinationsWith({ mail }, [
      event(),
      event({ alert: { ...opened, id: '3' }, status: 'WARNING' }),
    ]);
    expect(destinations.map(({ id }) => id)).toEqual(['record', 'hook', 'slack', 'mail']);
    await destinations.at(-1)!.requests[0]!.send();
    expect(mails).toEqual([
      {
        subject: '[CRITICAL] MonitorName app01 and 1 more',
        emails: ['a@example.com', 'b@example.com'],
        message: expect.any(String),
      },
    ]);
    expect((JSON.parse(mails[0]!.message) as { default: string }).default).toBe(
      [
        'acme',
        '[CRITICAL] MonitorName app01\nMetricName 2.26 > 1.96\nmemo....\nhttps://api/alerts?alert=2bj...',
        '[WARNING] MonitorName app01\nMetricName 2.26 > 1.47\nmemo....\nhttps://api/alerts?alert=3',
      ].join('\n\n'),
    );
  });

  test("for mails have a subject of printable ASCII, whatever the monitor's name", async () => {
    const subjectOf = (monitorName: string) =>
      mailMessage([event({ subject: { ...subject, monitorName } })], ['a@example.com'], origin).subject;
    expect(subjectOf('l\u00e4uft\nBcc: x')).toBe('[CRITICAL] l?uft?Bcc: x app01');
    expect(subjectOf('x'.repeat(200))).toHaveLength(100);
  });

  test('are only the record if nobody is to be notified', async () => {
    const destinations = await of(event({ isTold: false }), event({ kind: 'updated' }));
    expect(destinations.map(({ id }) => id)).toEqual(['record']);
  });
});

test('a channel is suspended from the time at which its messages were given up first', async () => {
  const stored = new Map<string, Channel>([
    ['w', { id: 'w', type: 'webhook', name: 'w', url: 'https://w' }],
    ['off', { id: 'off', type: 'webhook', name: 'off', url: 'https://off', suspendedAt: 1 }],
    ['other', { id: 'other', type: 'webhook', name: 'other', url: 'https://other' }],
  ]);
  const channels = {
    change: async (_: string, id: string, change: (channel: Channel) => Channel) => {
      const channel = stored.get(id);
      return channel && stored.set(id, change(channel)).get(id);
    },
  };
  await suspendChannels(channels, 'tenant', ['record', 'w', 'off'], 2_900);
  expect([...stored.values()].map(({ suspendedAt }) => suspendedAt)).toEqual([2, 1, undefined]);
});
