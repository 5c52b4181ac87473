import { parse } from '../../../shared/http/parse';
import { channelSpec, KEPT_CHANNEL_TYPES } from '../../../shared/monitors/channel';
import { downtimeSpec } from '../../../shared/monitors/downtime';
import {
  alertGroupSettingSpec,
  defaultNotificationGroup,
  hasCycle,
  notificationGroupSpec,
} from '../../../shared/monitors/notification-group';

const DOWNTIME = { name: 'weekly', start: 1563700000, duration: 60 };

describe('a downtime', () => {
  test.each([
    DOWNTIME,
    { ...DOWNTIME, memo: '', recurrence: null, serviceScopes: [], roleScopes: null },
    {
      ...DOWNTIME,
      recurrence: { type: 'weekly', interval: 3, weekdays: ['Monday', 'Sunday'], until: 1573730000 },
      serviceScopes: ['shop'],
      serviceExcludeScopes: ['ads'],
      roleScopes: ['shop: web'],
      roleExcludeScopes: ['shop:db'],
      monitorScopes: ['2cSZzK3XfmG'],
      monitorExcludeScopes: ['2cSZzK3XfmH'],
    },
  ])('is kept as posted: %j', (downtime) => {
    expect(parse(downtimeSpec, downtime)).toEqual(downtime);
  });

  test.each([
    [{ name: '' }, 'name: 1 to 1000 characters'],
    [{ name: 'n'.repeat(1001) }, 'name: 1 to 1000 characters'],
    [{ memo: 'm'.repeat(2049) }, 'memo: at most 2048 characters'],
    [{ start: 1.5 }, 'start: '],
    [
      { start: 1_563_700_000_000 },
      'start: expected seconds since 1970, at most 253402300799, got 1563700000000',
    ],
    [{ duration: 0 }, 'duration: '],
    [{ duration: 1e9 }, 'duration: '],
    [{ recurrence: { type: 'sometimes', interval: 1 } }, 'recurrence.type: '],
    [{ recurrence: { type: 'daily', interval: 0 } }, 'recurrence.interval: '],
    [{ recurrence: { type: 'daily' } }, 'recurrence.interval is missing'],
    [
      { recurrence: { type: 'daily', interval: 1, weekdays: ['Monday'] } },
      'recurrence.weekdays: expected none, since the recurrence is daily',
    ],
    [{ recurrence: { type: 'weekly', interval: 1, weekdays: ['Mon'] } }, 'recurrence.weekdays.0: '],
    [
      { recurrence: { type: 'weekly', interval: 1, weekdays: ['Monday', 'Monday'] } },
      'recurrence.weekdays: expected each day once',
    ],
    [{ serviceScopes: ['a', 'a'] }, 'serviceScopes.1: expected each scope once, got "a"'],
    [
      { roleScopes: ['a:b'], roleExcludeScopes: ['a: b'] },
      'roleExcludeScopes.0: expected each scope once, got "a: b"',
    ],
    [{ monitorScopes: ['a/b'] }, 'monitorScopes.0: expected an id'],
  ])('is refused: %j', (change, message) => {
    expect(() => parse(downtimeSpec, { ...DOWNTIME, ...change })).toThrow(message);
  });
});

describe('a channel', () => {
  test.each([
    { type: 'email', name: 'mail', emails: ['a@example.com'], userIds: [], events: ['alert'] },
    { type: 'email', name: 'mail' },
    {
      type: 'slack',
      name: 'chat',
      url: 'https://hooks.slack.com/services/T/B/X',
      mentions: { ok: '', critical: '@here' },
      enabledGraphImage: true,
      events: ['alert', 'alertGroup', 'hostStatus', 'hostRegister', 'hostRetire', 'monitor'],
    },
    {
      type: 'webhook',
      name: 'hook',
      url: 'http://example.com/webhook',
      enabledGraphImage: false,
      events: null,
    },
    ...KEPT_CHANNEL_TYPES.map((type) => ({ type, name: type })),
  ])('is kept as posted: %j', (channel) => {
    expect(parse(channelSpec, channel)).toEqual(channel);
  });

  test.each([
    [{ type: 'pigeon', name: 'p' }, 'type: expected one of email, slack, webhook, email-broadcast'],
    [{ type: 'email', name: '' }, 'name: '],
    [{ type: 'email', name: 'e', emails: ['nobody'] }, 'emails.0: expected an email address, got "nobody"'],
    [{ type: 'email', name: 'e', userIds: ['u'] }, 'userIds: expected none'],
    [{ type: 'email', name: 'e', events: ['party'] }, 'events.0: '],
    [{ type: 'slack', name: 's' }, 'url is missing'],
    [{ type: 'slack', name: 's', url: 'hooks.slack.com' }, 'url: expected a URL with http or https'],
    [{ type: 'slack', name: 's', url: 'https://a/', mentions: { ok: 1 } }, 'mentions.ok: '],
    [{ type: 'webhook', name: 'w', url: 'ftp://a/' }, 'url: expected a URL with http or https'],
    [{ type: 'webhook', name: 'w', url: 'https://a/', events: ['alerts'] }, 'events.0: '],
  ])('is refused: %j', (channel, message) => {
    expect(() => parse(channelSpec, channel)).toThrow(message);
  });
});

describe('a notification group', () => {
  const group = { name: 'ops', notificationLevel: 'all' };

  test.each([
    group,
    { ...group, childNotificationGroupIds: null, childChannelIds: null },
    {
      ...group,
      notificationLevel: 'critical',
      childNotificationGroupIds: ['a'],
      childChannelIds: ['b'],
      monitors: [{ id: 'm', skipDefault: true }, { id: 'n' }],
      services: [{ name: 'shop' }],
    },
  ])('is kept as posted: %j', (posted) => {
    expect(parse(notificationGroupSpec, posted)).toEqual(posted);
  });

  test.each([
    [{ name: '' }, 'name: '],
    [{ notificationLevel: 'some' }, 'notificationLevel: '],
    [{ childChannelIds: ['a b'] }, 'childChannelIds.0: expected an id'],
    [{ monitors: ['m'] }, 'monitors.0: expected object'],
    [{ services: [{ name: '' }] }, 'services.0.name: '],
  ])('is refused: %j', (change, message) => {
    expect(() => parse(notificationGroupSpec, { ...group, ...change })).toThrow(message);
  });

  test('contains itself by way of its children', () => {
    const groups = [
      { id: 'a', childNotificationGroupIds: ['b', 'c'] },
      { id: 'b', childNotificationGroupIds: ['c'] },
      { id: 'c', childNotificationGroupIds: null },
    ];
    expect(hasCycle(groups, groups[0]!)).toBe(false);
    expect(hasCycle(groups, { id: 'c', childNotificationGroupIds: ['b'] })).toBe(true);
    expect(hasCycle(groups, { id: 'c', childNotificationGroupIds: ['a'] })).toBe(true);
    expect(hasCycle(groups, { id: 'c', childNotificationGroupIds: ['c'] })).toBe(true);
    expect(hasCycle(groups, { id: 'd', childNotificationGroupIds: ['a', 'unknown'] })).toBe(false);
  });

  test('stands for every tenant that has not changed its default group', () => {
    expect(defaultNotificationGroup('id')).toMatchObject({ id: 'id', type: 'group-default' });
  });
});

describe('alert group settings', () => {
  const setting = { name: 'shop' };

  test.each([
    setting,
    {
      ...setting,
      memo: '',
      serviceScopes: ['shop'],
      roleScopes: ['shop: web'],
      monitorScopes: ['m'],
      notificationInterval: 10,
    },
  ])('are kept as posted: %j', (posted) => {
    expect(parse(alertGroupSettingSpec, posted)).toEqual(posted);
  });

  test.each([
    [{ name: '' }, 'name: '],
    [{ serviceScopes: 'shop' }, 'serviceScopes: '],
    [{ monitorScopes: ['#'] }, 'monitorScopes.0: expected an id'],
    [{ notificationInterval: 5 }, 'notificationInterval: '],
  ])('are refused: %j', (change, message) => {
    expect(() => parse(alertGroupSettingSpec, { ...setting, ...change })).toThrow(message);
  });
});
