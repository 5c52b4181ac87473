import { Client } from '../support/client';
import { type LocalStack, SHARED_SETTINGS, startLocalStack } from '../support/local-stack';
import { OpenApiChecker } from '../support/openapi-checker';
import { ops } from '../support/ops';

/**
 * Objects that Mackerel's clients define: monitoring and dashboards. They are stored as posted, and every error in
 * Mackerel's tables has a response.
 */
describe('the objects of the Mackerel API', () => {
  let stack: LocalStack;
  let keys: { readonly default: string; readonly reader: string; readonly other: string };
  let checker: OpenApiChecker;

  beforeAll(async () => {
    stack = await startLocalStack({
      hasFreedoms: true,
      settings: SHARED_SETTINGS.exposed,
    });
    const newKey = async (tenant: string, rights: string) =>
      (await ops<{ key: string }>(stack.url, 'keys', 'create', '--tenant', tenant, '--rights', rights)).key;
    await ops(stack.url, 'tenants', 'create', 'other');
    keys = {
      default: stack.apiKey,
      reader: await newKey('default', 'read'),
      other: await newKey('other', 'read,write'),
    };
    checker = new OpenApiChecker(
      (await (await fetch(new URL('/openapi.json', stack.url))).json()) as Record<string, unknown>,
    );
    await send('POST', '/api/v0/services', { name: 'shop' }, 'other');
    for (const key of ['default', 'other'] as const)
      await send('POST', '/api/v0/services/shop/roles', { name: 'web' }, key);
  });

  afterAll(async () => {
    await stack?.stop();
  });

  type Json = Record<string, unknown>;

  /** Sends a request, and checks its answer against the OpenAPI document. */
  const send = async (method: string, path: string, body?: unknown, key: keyof typeof keys = 'default') => {
    const answer = await new Client(stack.url, keys[key], true).request(method, path, body);
    const text = await answer.text();
    const [, kind, id] = /^(\/api\/v0\/[a-z-]+)(?:\/([^/]+))?$/.exec(path) ?? [];
    const parameter = Object.entries(KINDS).find(([, { path: known }]) => known === kind)?.[1].parameter;
    if (parameter !== undefined) {
      const template = id === undefined ? kind! : `${kind}/{${parameter}}`;
      const type = answer.headers.get('content-type');
      const flaw = checker.flawOf(method, template, answer.status, type, text);
      expect(flaw && `${flaw}: ${answer.status} ${text}`).toBeUndefined();
    }
    return { status: answer.status, body: JSON.parse(text) as Json };
  };

  const make = async (kind: keyof typeof KINDS, body: Json): Promise<Json & { id: string }> => {
    const { status, body: made } = await send('POST', KINDS[kind].path, body);
    expect({ status, made }).toMatchObject({ status: 200, made: { id: expect.stringMatching(/^\w{11}$/) } });
    return made as Json & { id: string };
  };

  const messageOf = ({ body }: { body: Json }) => (body.error as { message: string } | undefined)?.message;

  /** Each kind, with an object that has the fewest fields and one that has the most. */
  const KINDS = {
    monitors: {
      path: '/api/v0/monitors',
      parameter: 'monitorId',
      list: 'monitors',
      extra: {},
      objects: [
        { type: 'connectivity' },
        {
          type: 'connectivity',
          name: 'gone',
          alertStatusOnGone: 'WARNING',
          scopes: ['shop'],
          excludeScopes: ['shop: web'],
        },
        {
          type: 'host',
          name: 'load',
          metric: 'loadavg5',
          operator: '>',
          warning: 3,
          critical: null,
          duration: 3,
        },
        {
          type: 'host',
          name: 'cpu',
          memo: 'm',
          isMute: true,
          notificationInterval: 10,
          metric: 'cpu%',
          operator: '<',
          warning: 100,
          critical: 0,
          duration: 10,
          maxCheckAttempts: 10,
          scopes: ['shop:web'],
          excludeScopes: [],
        },
        {
          type: 'service',
          name: 'orders',
          service: 'shop',
          metric: 'orders',
          operator: '<',
          warning: 1,
          duration: 1,
        },
        { type: 'service', name: 'missing', service: 'shop', metric: 'orders', missingDurationCritical: 10 },
        { type: 'external', name: 'site', url: 'https://example.com/', headers: null },
        {
          type: 'external',
          name: 'site 2',
          url: 'http://example.com/',
          method: 'PUT',
          service: 'shop',
          responseTimeWarning: 0.5,
          responseTimeCritical: 1000,
          responseTimeDuration: 5,
          headers: [],
          certificationExpirationWarning: 30,
          certificationExpirationCritical: 0,
          requestBody: '{}',
          expectedStatusCode: 204,
          followRedirect: true,
          skipCertificateVerification: true,
          dualstack: 'auto',
        },
        {
          type: 'expression',
          name: 'sum',
          expression: 'sum(role(shop:web, loadavg5))',
          operator: '>',
          critical: 9,
        },
        { type: 'anomalyDetection', name: 'odd', scopes: ['shop: web'], warningSensitivity: 'sensitive' },
        {
          type: 'query',
          name: 'up {{job}}',
          query: 'up == 0',
          operator: '<',
          critical: 1,
          legend: '',
          evaluateBackwardMinutes: 0,
        },
      ],
    },
    downtimes: {
      path: '/api/v0/downtimes',
      parameter: 'downtimeId',
      list: 'downtimes',
      extra: {},
      objects: [
        { name: 'once', start: 1563700000, duration: 60 },
        {
          name: 'weekly',
          memo: '',
          start: 1563700000,
          duration: 60,
          serviceScopes: ['shop'],
          serviceExcludeScopes: [],
          roleScopes: ['shop: web'],
          roleExcludeScopes: [],
          monitorScopes: [],
          recurrence: { type: 'weekly', interval: 3, weekdays: ['Monday'], until: 1573730000 },
        },
      ],
    },
    channels: {
      path: '/api/v0/channels',
      parameter: 'channelId',
      list: 'channels',
      extra: { suspendedAt: null },
      objects: [
        { type: 'email', name: 'mail', emails: ['a@example.com'], userIds: [], events: ['alert', 'monitor'] },
        {
          type: 'slack',
          name: 'chat',
          url: 'https://hooks.slack.com/services/T/B/X',
          mentions: { ok: 'fine' },
        },
        {
          type: 'webhook',
          name: 'hook',
          url: 'http://example.com/hook',
          enabledGraphImage: false,
          events: [],
        },
        { type: 'pagerduty', name: 'pager' },
      ],
    },
    groups: {
      path: '/api/v0/notification-groups',
      parameter: 'notificationGroupId',
      list: 'notificationGroups',
      extra: { type: 'group' },
      objects: [
        { name: 'ops', notificationLevel: 'all', childNotificationGroupIds: [], childChannelIds: [] },
        { name: 'night', notificationLevel: 'critical', services: [{ name: 'shop' }], monitors: [] },
      ],
    },
    settings: {
      path: '/api/v0/alert-group-settings',
      parameter: 'alertGroupSettingId',
      list: 'alertGroupSettings',
      extra: {},
      objects: [
        { name: 'all' },
        {
          name: 'shop',
          memo: 'm',
          serviceScopes: ['shop'],
          roleScopes: ['shop: web'],
          notificationInterval: 60,
        },
      ],
    },
    dashboards: {
      path: '/api/v0/dashboards',
      parameter: 'dashboardId',
      list: 'dashboards',
      extra: { createdAt: expect.any(Number), updatedAt: expect.any(Number) },
      objects: [
        { title: 'empty', memo: '', urlPath: 'empty', widgets: [] },
        {
          title: 'full',
          memo: 'm',
          urlPath: 'a/b-c',
          widgets: [
            {
              type: 'graph',
              title: 'g',
              layout: { x: 0, y: 0, width: 8, height: 10 },
              metric: null,
              markdown: '',
              graph: { type: 'role', roleFullname: 'shop:web', name: 'loadavg5', isStacked: true },
              range: { type: 'relative', period: 3600, offset: -60 },
              valueRange: { min: 0 },
              referenceLines: [{ label: 'limit', value: 1 }],
            },
            {
              type: 'value',
              title: '',
              layout: { x: 8, y: 0, width: 8, height: 5 },
              graph: null,
              range: null,
              metric: { type: 'query', query: 'up', legend: '' },
              fractionSize: 0,
              suffix: '%',
              formatRules: [{ name: '', threshold: 1, operator: '>' }],
            },
            { type: 'markdown', title: 'm', markdown: '# hi', layout: { x: 0, y: 10, width: 24, height: 3 } },
            {
              type: 'alertStatus',
              title: 'a',
              roleFullname: null,
              layout: { x: 16, y: 0, width: 8, height: 5 },
            },
          ],
        },
      ],
    },
  } as const satisfies Record<string, unknown>;

  const kinds = Object.keys(KINDS) as (keyof typeof KINDS)[];
  const objects = kinds.flatMap((kind) =>
    (KINDS[kind].objects as readonly Json[]).map((object) => ({
      kind,
      object,
      name: String(object.name ?? object.title ?? object.type),
    })),
  );

  test.each(objects)(
    '$kind: $name is kept as posted, listed, replaced and deleted',
    async ({ kind, object }) => {
      const { path, list, extra: ofKind } = KINDS[kind];
      // The stage has no topic for mails, so channels of mails are shown as suspended.
      const extra = object.type === 'email' ? { ...ofKind, suspendedAt: 0 } : ofKind;
      const listed = async (key: keyof typeof keys = 'default') =>
        (await send('GET', path, undefined, key)).body[list] as (Json & { id: string })[];
      const { id, ...made } = await make(kind, object);
      expect(made).toEqual({ ...extra, ...object });
      expect(await listed('reader')).toContainEqual({ id, ...made });
      expect((await listed('other')).map((each) => each.id)).not.toContain(id);

      const one = `${path}/${id}`;
      const change = object.title === undefined ? { name: 'changed' } : { title: 'changed' };
      const replaced = await send('PUT', one, { ...object, ...change });
      expect(replaced).toEqual({ status: 200, body: { id, ...made, ...change, ...extra } });
      expect(await listed()).toContainEqual(replaced.body);

      for (const [method, body] of [
        ['PUT', object],
        ['DELETE', undefined],
      ] as const) {
        expect((await send(method, one, body, 'reader')).status).toBe(403);
        expect((await send(method, one, body, 'other')).status).toBe(404);
      }
      expect((await send('POST', path, object, 'reader')).status).toBe(403);
      expect(await send('DELETE', one)).toEqual(replaced);
      expect((await send('DELETE', one)).status).toBe(404);
      expect((await send('PUT', one, object)).status).toBe(404);
      expect((await listed()).map((each) => each.id)).not.toContain(id);
    },
  );

  test('a monitor is read wrapped, a dashboard and a setting bare; of others there is only the list', async () => {
    const monitor = await make('monitors', { type: 'connectivity' });
    expect(await send('GET', `/api/v0/monitors/${monitor.id}`)).toEqual({ status: 200, body: { monitor } });
    const dashboard = await make('dashboards', { title: 'read', urlPath: 'read', widgets: [] });
    expect(await send('GET', `/api/v0/dashboards/${dashboard.id}`)).toEqual({ status: 200, body: dashboard });
    const setting = await make('settings', { name: 'read' });
    const settingPath = `/api/v0/alert-group-settings/${setting.id}`;
    expect(await send('GET', settingPath)).toEqual({ status: 200, body: setting });
    for (const path of ['monitors', 'dashboards', 'alert-group-settings'])
      expect((await send('GET', `/api/v0/${path}/2cSZzK3XfmG`)).status).toBe(404);
  });

  test('monitors are listed by type and name, whatever their order was', async () => {
    const names = ['z', 'a', 'm'];
    for (const name of names)
      await make('monitors', { type: 'query', name, query: 'up', operator: '>', warning: 1 });
    const { body } = await send('GET', '/api/v0/monitors');
    const listed = (body.monitors as { type: string; name?: string }[]).map(({ type, name }) => [type, name]);
    expect(listed.filter(([type]) => type === 'query').map(([, name]) => name)).toEqual(['a', 'm', 'z']);
    expect(listed.map(([type]) => type)).toEqual(listed.map(([type]) => type!).sort());
  });

  const host = { type: 'host', name: 'h', metric: 'loadavg5', operator: '>', warning: 1, duration: 1 };
  const query = { type: 'query', name: 'q', query: 'up', operator: '>', warning: 1 };
  const widget = { type: 'markdown', title: '', markdown: '', layout: { x: 0, y: 0, width: 4, height: 2 } };

  /**
   * Refusals that depend on other objects or on settings, and refusals of dashboards. unit/monitors tests the
   * refusals of monitors for which the schema is enough.
   */
  const refused: readonly (readonly [keyof typeof KINDS, Json, string])[] = [
    ['monitors', { type: 'ping', name: 'p' }, 'type: expected one of connectivity, host'],
    ['monitors', { ...host, scopes: ['none'] }, 'scopes.0: there is no service "none"'],
    ['monitors', { ...host, scopes: ['shop', 'shop: none'] }, 'scopes.1: there is no role "shop: none"'],
    ['monitors', { ...host, excludeScopes: ['shop:none'] }, 'excludeScopes.0: there is no role "shop:none"'],
    ['monitors', { type: 'connectivity', scopes: ['none'] }, 'scopes.0: there is no service "none"'],
    [
      'monitors',
      { type: 'service', name: 's', service: 'none', metric: 'm', missingDurationWarning: 10 },
      'service: there is no service "none"',
    ],
    [
      'monitors',
      { type: 'external', name: 'e', url: 'https://example.com', service: 'none' },
      'service: there is no',
    ],
    ['monitors', { type: 'external', name: 'e', url: 'http://169.254.169.254/' }, 'url: '],
    [
      'monitors',
      { type: 'expression', name: 'x', expression: 'sum(', operator: '>', warning: 1 },
      'expression: ',
    ],
    [
      'monitors',
      { type: 'anomalyDetection', name: 'a', scopes: ['none:none'], warningSensitivity: 'normal' },
      'scopes.0: there is no role "none:none"',
    ],
    [
      'monitors',
      {
        type: 'anomalyDetection',
        name: 'a',
        scopes: ['shop:web'],
        warningSensitivity: 'normal',
        trainingPeriodFrom: 4_102_444_800,
      },
      'trainingPeriodFrom: 4102444800 is in the future',
    ],
    ['monitors', { ...query, query: 'sum(' }, 'query: '],
    [
      'monitors',
      { ...query, query: 'up[5m]' },
      'query: expected an instant vector or a scalar, got a matrix',
    ],
    [
      'downtimes',
      { name: 'd', start: 1, duration: 1, serviceScopes: ['none'] },
      'serviceScopes.0: there is no service',
    ],
    [
      'downtimes',
      { name: 'd', start: 1, duration: 1, roleExcludeScopes: ['shop:x'] },
      'roleExcludeScopes.0: there is no',
    ],
    [
      'downtimes',
      { name: 'd', start: 1, duration: 1, monitorScopes: ['none'] },
      'monitorScopes.0: there is no monitor',
    ],
    ['channels', { type: 'pigeon', name: 'p' }, 'type: expected one of email, slack, webhook'],
    ['channels', { type: 'webhook', name: 'w', url: 'https://127.0.0.1/' }, 'url: '],
    ['channels', { type: 'slack', name: 's', url: 'https://10.0.0.1/' }, 'url: '],
    [
      'groups',
      { name: 'g', notificationLevel: 'all', childChannelIds: ['none'] },
      'childChannelIds.0: there is no channel',
    ],
    [
      'groups',
      { name: 'g', notificationLevel: 'all', childNotificationGroupIds: ['none'] },
      'childNotificationGroupIds.0: there is no notification group "none"',
    ],
    [
      'groups',
      { name: 'g', notificationLevel: 'all', monitors: [{ id: 'none' }] },
      'monitors.0: there is no monitor',
    ],
    [
      'groups',
      { name: 'g', notificationLevel: 'all', services: [{ name: 'none' }] },
      'services.0: there is no service',
    ],
    ['settings', { name: 's', serviceScopes: ['none'] }, 'serviceScopes.0: there is no service'],
    ['settings', { name: 's', roleScopes: ['shop:none'] }, 'roleScopes.0: there is no role'],
    ['settings', { name: 's', monitorScopes: ['none'] }, 'monitorScopes.0: there is no monitor'],
    ['dashboards', { title: '', urlPath: 'x', widgets: [] }, 'title: '],
    [
      'dashboards',
      { title: 't', urlPath: '/x', widgets: [] },
      'urlPath: expected names with slashes between them',
    ],
    [
      'dashboards',
      { title: 't', widgets: [{ ...widget, type: 'clock' }] },
      'widgets.0.type: expected one of graph, value',
    ],
    ['dashboards', { title: 't', widgets: [{ ...widget, layout: { x: -1 } }] }, 'widgets.0.layout.x: '],
    [
      'dashboards',
      { title: 't', widgets: [{ ...widget, type: 'graph', graph: { type: 'host', name: 'cpu' } }] },
      'widgets.0.graph.hostId is missing',
    ],
    [
      'dashboards',
      { title: 't', widgets: [{ ...widget, type: 'value', metric: { type: 'role' } }] },
      'widgets.0.metric.type: expected one of host, service, expression, query',
    ],
    ['dashboards', { title: 't', variables: [{ name: '1a' }] }, 'variables.0.name: '],
    [
      'dashboards',
      { title: 't', variables: [{ name: 'a' }, { name: 'a' }] },
      'variables: expected different',
    ],
    ['dashboards', { title: 't', widgets: Array.from({ length: 501 }, () => widget) }, 'widgets: '],
  ];

  /** An object of each kind and type, which refused updates leave unchanged. */
  const bases = new Map<string, Promise<string>>();
  const baseOf = (kind: keyof typeof KINDS, type: unknown) => {
    const known = KINDS[kind].objects as readonly Json[];
    const base = known.find((each) => each.type === type) ?? known[0]!;
    const key = `${kind} ${base.type}`;
    const made = bases.get(key) ?? make(kind, { ...base, urlPath: undefined }).then(({ id }) => id);
    bases.set(key, made);
    return made;
  };

  test.each(refused)('%s: %j is refused when made and as an update', async (kind, body, message) => {
    const { path } = KINDS[kind];
    const id = await baseOf(kind, body.type);
    for (const answer of [await send('POST', path, body), await send('PUT', `${path}/${id}`, body)]) {
      expect(answer.status).toBe(400);
      expect(messageOf(answer)).toContain(message);
    }
  });

  test.each(kinds)('%s: a body that is not an object is refused', async (kind) => {
    for (const body of ['', 'null', '[]', '"x"', '{', '1e999'])
      expect((await send('POST', KINDS[kind].path, body)).status).toBe(400);
  });

  test('an update keeps the alertStatusOnGone and the headers that it leaves out', async () => {
    const connectivity = await make('monitors', {
      type: 'connectivity',
      alertStatusOnGone: 'WARNING',
      scopes: ['shop'],
    });
    expect(
      await send('PUT', `/api/v0/monitors/${connectivity.id}`, { type: 'connectivity', name: 'c' }),
    ).toEqual({
      status: 200,
      body: { id: connectivity.id, type: 'connectivity', name: 'c', alertStatusOnGone: 'WARNING' },
    });
    const headers = [{ name: 'a', value: 'b' }];
    const external = { type: 'external', name: 'e', url: 'https://example.com/' };
    const { id } = await make('monitors', { ...external, headers, memo: 'm' });
    const { body } = await send('PUT', `/api/v0/monitors/${id}`, external);
    expect(body).toEqual({ id, ...external, headers });
  });

  test('the type of a monitor or a channel cannot change', async () => {
    const { id } = await make('monitors', { type: 'connectivity' });
    expect(messageOf(await send('PUT', `/api/v0/monitors/${id}`, host))).toBe(
      'type: the monitor is of type connectivity, which cannot change',
    );
    const channel = await make('channels', { type: 'line', name: 'l' });
    const webhook = { type: 'webhook', name: 'w', url: 'https://example.com/' };
    expect(messageOf(await send('PUT', `/api/v0/channels/${channel.id}`, webhook))).toBe(
      'type: the channel is of type line, which cannot change',
    );
  });

  test('the default notification group is there, takes new channels, keeps its name and is not deleted', async () => {
    const groups = async () =>
      (await send('GET', '/api/v0/notification-groups')).body.notificationGroups as (Json & { id: string })[];
    const defaults = (await groups()).filter(({ type }) => type === 'group-default');
    expect(defaults).toMatchObject([{ notificationLevel: 'all', childChannelIds: [] }]);
    const [{ id, name }] = defaults as [Json & { id: string }];
    const path = `/api/v0/notification-groups/${id}`;
    const channel = await make('channels', { type: 'email', name: 'm', addToDefaultNotificationGroup: true });
    expect(channel).not.toHaveProperty('addToDefaultNotificationGroup');
    expect((await groups()).find((group) => group.id === id)).toMatchObject({
      childChannelIds: [channel.id],
    });

    const changed = { name, notificationLevel: 'critical', childChannelIds: [channel.id] };
    expect(await send('PUT', path, changed)).toEqual({
      status: 200,
      body: { id, type: 'group-default', ...changed },
    });
    expect(messageOf(await send('PUT', path, { ...changed, name: 'mine' }))).toBe(
      'name: the default notification group keeps its name "Default"',
    );
    expect(messageOf(await send('DELETE', path))).toBe('the default notification group cannot be deleted');
    await send('DELETE', `/api/v0/channels/${channel.id}`);
    expect((await groups()).filter(({ type }) => type === 'group-default')).toMatchObject([
      { id, childChannelIds: [] },
    ]);
  });

  test('a notification group cannot contain itself, and a deleted group is removed from its parents', async () => {
    const group = (name: string, children: string[]) => ({
      name,
      notificationLevel: 'all',
      childNotificationGroupIds: children,
    });
    const inner = await make('groups', group('inner', []));
    const outer = await make('groups', group('outer', [inner.id]));
    expect(
      messageOf(await send('PUT', `/api/v0/notification-groups/${inner.id}`, group('inner', [outer.id]))),
    ).toBe('childNotificationGroupIds: the group would contain itself');
    await send('DELETE', `/api/v0/notification-groups/${inner.id}`);
    const { body } = await send('GET', '/api/v0/notification-groups');
    expect(body.notificationGroups).toContainEqual({ ...outer, childNotificationGroupIds: [] });
  });

  test('a replacement keeps the names of deleted monitors, services and roles, but nothing new can name them', async () => {
    const monitor = await make('monitors', { type: 'connectivity', name: 'gone', memo: '', scopes: [] });
    await send('POST', '/api/v0/services', { name: 'gone', memo: '' });
    await send('POST', '/api/v0/services/shop/roles', { name: 'gone', memo: '' });
    const [service, role] = ['service "gone"', 'role "shop: gone"'];
    const named = { serviceScopes: ['gone'], roleScopes: ['shop: gone'], monitorScopes: [monitor.id] };
    const excluded = { serviceExcludeScopes: ['gone'], roleExcludeScopes: ['shop: gone'] };
    const cases: [keyof typeof KINDS, Json, Record<string, string>][] = [
      [
        'groups',
        {
          name: 'g',
          notificationLevel: 'all',
          childNotificationGroupIds: [],
          childChannelIds: [],
          monitors: [{ id: monitor.id }],
          services: [{ name: 'gone' }],
        },
        { monitors: `monitor "${monitor.id}"`, services: service },
      ],
      [
        'downtimes',
        { name: 'd', start: 1, duration: 1, ...named },
        { serviceScopes: service, roleScopes: role, monitorScopes: `monitor "${monitor.id}"` },
      ],
      [
        'downtimes',
        { name: 'd', start: 1, duration: 1, ...excluded, monitorExcludeScopes: [monitor.id] },
        {
          serviceExcludeScopes: service,
          roleExcludeScopes: role,
          monitorExcludeScopes: `monitor "${monitor.id}"`,
        },
      ],
      [
        'settings',
        { name: 'a', memo: '', ...named },
        { serviceScopes: service, roleScopes: role, monitorScopes: `monitor "${monitor.id}"` },
      ],
      [
        'monitors',
        { type: 'connectivity', name: 'c', memo: '', scopes: ['gone'], excludeScopes: ['shop: gone'] },
        { scopes: service, excludeScopes: role },
      ],
      [
        'monitors',
        {
          type: 'service',
          name: 's',
          service: 'gone',
          metric: 'm',
          operator: '>',
          warning: 1,
          duration: 1,
        },
        { service },
      ],
    ];
    const made = await Promise.all(
      cases.map(async ([kind, object, fields]) => ({
        kind,
        object,
        fields,
        id: (await make(kind, object)).id,
      })),
    );
    await send('DELETE', `/api/v0/monitors/${monitor.id}`);
    await send('DELETE', '/api/v0/services/gone');
    await send('DELETE', '/api/v0/services/shop/roles/gone');
    for (const { kind, object, fields, id } of made) {
      const { path } = KINDS[kind];
      expect(await send('PUT', `${path}/${id}`, object)).toMatchObject({ status: 200, body: object });
      if (kind === 'monitors')
        expect((await send('POST', '/api/v1/monitors/preview', { monitor: object, id })).status).toBe(200);
      for (const [field, what] of Object.entries(fields)) {
        const others = Object.keys(fields).filter((each) => each !== field);
        const only = Object.fromEntries(Object.entries(object).filter(([name]) => !others.includes(name)));
        const place = field === 'service' ? field : `${field}.0`;
        expect(messageOf(await send('POST', path, only))).toBe(`${place}: there is no ${what}`);
      }
    }
  });

  test('a URL path belongs to one dashboard: 409, also for those made at the same time', async () => {
    const first = await make('dashboards', { title: 'a', urlPath: 'same', widgets: [] });
    const second = await make('dashboards', { title: 'b', widgets: [] });
    expect(second.urlPath).toBe(second.id);
    const taken = { title: 'b', urlPath: 'same', widgets: [] };
    expect(await send('POST', '/api/v0/dashboards', taken)).toEqual({
      status: 409,
      body: { error: { message: 'urlPath: another dashboard has the path "same"' } },
    });
    expect((await send('PUT', `/api/v0/dashboards/${second.id}`, taken)).status).toBe(409);
    await send('DELETE', `/api/v0/dashboards/${first.id}`);
    expect((await send('PUT', `/api/v0/dashboards/${second.id}`, taken)).status).toBe(200);
    const race = await Promise.all(
      Array.from({ length: 8 }, () => send('POST', '/api/v0/dashboards', { ...taken, urlPath: 'race' })),
    );
    expect(race.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409, 409, 409, 409]);
  });

  test('a dashboard is replaced only as the version that If-Match names', async () => {
    const { id, updatedAt } = await make('dashboards', { title: 'a', widgets: [] });
    const put = (etag: string, title: string) =>
      new Client(stack.url, stack.apiKey, true).request(
        'PUT',
        `/api/v0/dashboards/${id}`,
        { title, widgets: [] },
        { 'if-match': etag },
      );
    const first = await put(`"${updatedAt}"`, 'b');
    expect(first.status).toBe(200);
    const etag = first.headers.get('etag')!;
    expect((await put(`"${updatedAt}"`, 'c')).status).toBe(412);
    expect((await put('"nonsense"', 'c')).status).toBe(400);
    expect((await put('*', 'd')).status).toBe(200);
    expect((await put(etag, 'e')).status).toBe(412);
    expect((await send('GET', `/api/v0/dashboards/${id}`)).body).toMatchObject({ title: 'd' });
    await send('DELETE', `/api/v0/dashboards/${id}`);
  });

  test('a dashboard keeps fields of its widgets that are not known here', async () => {
    const widgets = [
      {
        type: 'graph',
        title: null,
        later: { a: [1] },
        layout: { x: 0, y: 0, width: 8, height: 4, z: 1 },
        graph: { type: 'query', query: 'up', legend: '', unit: 'bytes' },
        referenceLines: [{ label: 'l', value: 1, color: 'red' }],
        range: { type: 'relative', period: 60, offset: 0, now: true },
      },
    ];
    const { id } = await make('dashboards', { title: 'unknown', widgets });
    expect((await send('GET', `/api/v0/dashboards/${id}`)).body.widgets).toEqual(widgets);
    await send('DELETE', `/api/v0/dashboards/${id}`);
  });

  test('the size of a dashboard, and of all dashboards of a tenant together, is limited', async () => {
    const markdown = (bytes: number) => 'x'.repeat(bytes);
    const of = (urlPath: string, parts: number) => ({
      title: 'big',
      urlPath,
      widgets: Array.from({ length: parts }, () => ({ ...widget, markdown: markdown(49_000) })),
    });
    expect(await send('POST', '/api/v0/dashboards', of('big', 7))).toMatchObject({
      status: 413,
      body: { error: { message: expect.stringContaining('at most 300000 are allowed') } },
    });
    const statuses: number[] = [];
    for (let i = 0; i < 13; i++)
      statuses.push((await send('POST', '/api/v0/dashboards', of(`big${i}`, 6), 'other')).status);
    expect(statuses).toEqual([...Array.from({ length: 11 }, () => 200), 413, 413]);
    const { body } = await send('GET', '/api/v0/dashboards', undefined, 'other');
    expect(body.dashboards).toHaveLength(11);
  });
});
