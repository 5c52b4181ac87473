import type { RouteKey } from './routes';

/** Time of the samples in examples, as Unix time in seconds: 2026-11-21T02:01:00Z. */
export const EXAMPLE_TIME = 1_795_226_460;
const HOUR_AGO = EXAMPLE_TIME - 3600;

/**
 * An example of a call. The OpenAPI document contains it and the reference page shows it. A test sends every
 * example to a stage (integration/api-reference).
 */
export interface CallExample {
  /** Query parameters by name; an array for a parameter that is repeated. */
  readonly query?: Readonly<Record<string, string | readonly string[]>>;
  /** The JSON body as a value, the parameters of a form, or text. */
  readonly body?: unknown;
}

/** Example values of path parameters, by name. Readers replace the ids with ids that the API has returned to them. */
export const PATH_EXAMPLES: Readonly<Record<string, string>> = {
  hostId: '2u4PP3TJqbu',
  customIdentifier: 'web1.example.com',
  serviceName: 'shop',
  roleName: 'web',
  namespace: 'team-a',
  group: 'load',
  name: 'host',
  graphName: 'custom.queue',
  annotationId: '2u4PP3TJqbv',
  alertId: '2u4PP3TJqbw',
  checkId: '2u4PP3TJqbx',
  dashboardId: '2u4PP3TJqby',
  monitorId: '2u4PP3TJqbz',
  downtimeId: '2u4PP3TJqc1',
  channelId: '2u4PP3TJqc2',
  notificationGroupId: '2u4PP3TJqc3',
  alertGroupSettingId: '2u4PP3TJqc4',
  silenceId: '3c6d0a8e-5f52-4a36-9a3f-5d6b0f1f2a77',
};

const HOST = PATH_EXAMPLES.hostId!;
const range = { from: String(HOUR_AGO), to: String(EXAMPLE_TIME) };
const line = `cpu,host=db1,cpu=cpu0 usage_user=1.5 ${EXAMPLE_TIME}`;
const promql = { query: 'avg by (host) (cpu_usage_user)' };
const host = {
  name: 'web1',
  customIdentifier: PATH_EXAMPLES.customIdentifier,
  meta: {},
  roleFullnames: ['shop:web'],
};
const annotation = {
  title: 'Release 42',
  description: 'New checkout',
  from: HOUR_AGO,
  to: EXAMPLE_TIME,
  service: 'shop',
  roles: ['web'],
};
const dashboard = {
  title: 'Shop',
  memo: 'Orders and load',
  urlPath: 'shop',
  widgets: [
    {
      type: 'markdown',
      title: 'Read me',
      markdown: '# Shop',
      layout: { x: 0, y: 0, width: 12, height: 4 },
    },
  ],
};
const monitor = {
  type: 'host',
  name: 'High load',
  metric: 'loadavg5',
  operator: '>',
  warning: 4,
  critical: 8,
  duration: 1,
};
const downtime = { name: 'Release', start: EXAMPLE_TIME, duration: 60, serviceScopes: ['shop'] };
const channel = {
  type: 'webhook',
  name: 'On call',
  url: 'https://alerts.example.com/hook',
  events: ['alert'],
};
const notificationGroup = { name: 'Night', notificationLevel: 'critical', services: [{ name: 'shop' }] };
const alertGroupSetting = { name: 'Shop', serviceScopes: ['shop'], notificationInterval: 60 };

/**
 * Examples by route. A route without an entry needs only its path. Routes with a protobuf body have no
 * example.
 */
export const EXAMPLES: Readonly<Partial<Record<RouteKey, CallExample>>> = {
  'POST /api/v0/tsdb': { body: [{ hostId: HOST, name: 'loadavg5', time: EXAMPLE_TIME, value: 0.42 }] },
  'POST /api/v0/services/{serviceName}/tsdb': { body: [{ name: 'orders', time: EXAMPLE_TIME, value: 12 }] },
  'GET /api/v0/hosts/{hostId}/metrics': { query: { name: 'loadavg5', ...range } },
  'GET /api/v0/services/{serviceName}/metrics': { query: { name: 'orders', ...range } },
  'GET /api/v0/tsdb/latest': { query: { hostId: HOST, name: 'loadavg5' } },
  'GET /api/v1/hosts/{hostId}/metrics': { query: { name: ['loadavg5'], ...range, step: '5m' } },
  'GET /api/v1/services/{serviceName}/metrics': { query: { name: ['orders'], ...range } },
  'POST /write': { query: { precision: 's' }, body: line },
  'POST /api/v2/write': { query: { precision: 's' }, body: line },
  'POST /api/v3/write_lp': { query: { precision: 'second' }, body: line },
  'GET /query': { query: { q: 'CREATE DATABASE telegraf' } },
  'POST /query': { body: 'q=CREATE+DATABASE+telegraf' },
  'GET /prometheus/api/v1/query': { query: { ...promql, time: String(EXAMPLE_TIME) } },
  'POST /prometheus/api/v1/query': { body: { ...promql, time: String(EXAMPLE_TIME) } },
  'GET /prometheus/api/v1/query_range': {
    query: { ...promql, start: range.from, end: range.to, step: '60' },
  },
  'POST /prometheus/api/v1/query_range': {
    body: { ...promql, start: range.from, end: range.to, step: '60' },
  },
  'GET /prometheus/api/v1/series': { query: { 'match[]': ['cpu_usage_user'] } },
  'POST /prometheus/api/v1/series': { body: { 'match[]': 'cpu_usage_user' } },
  'POST /prometheus/api/v1/labels': { body: { 'match[]': 'cpu_usage_user' } },
  'GET /prometheus/api/v1/query_exemplars': {
    query: { ...promql, start: range.from, end: range.to },
  },
  'POST /prometheus/api/v1/query_exemplars': {
    body: { ...promql, start: range.from, end: range.to },
  },
  'GET /prometheus/api/v1/format_query': { query: promql },
  'POST /prometheus/api/v1/format_query': { body: promql },
  'GET /prometheus/api/v1/parse_query': { query: promql },
  'POST /prometheus/api/v1/parse_query': { body: promql },
  'GET /prometheus/federate': { query: { 'match[]': ['cpu_usage_user'] } },
  'POST /prometheus/config/v1/rules/{namespace}': {
    body: 'name: load\nrules:\n  - alert: HighLoad\n    expr: loadavg5 > 8\n    for: 5m\n',
  },
  'PUT /api/v1/alert-receivers': {
    body: {
      webhooks: [
        { url: 'https://alerts.example.com/hook', match: ['severity="page"'], repeatInterval: '4h' },
      ],
    },
  },
  'POST /alertmanager/api/v2/silences': {
    body: {
      matchers: [{ name: 'alertname', value: 'HighLoad', isRegex: false }],
      startsAt: '2026-11-21T08:00:00Z',
      endsAt: '2036-11-21T10:00:00Z',
      createdBy: 'ann',
      comment: 'Planned work',
    },
  },
  'GET /api/v1/series': { query: { label: ['host=db1'], prefix: 'cpu' } },
  'GET /api/v1/series/metrics': {
    query: { name: 'cpu_usage_user', label: ['host=db1', 'cpu=cpu0'], ...range },
  },
  'POST /api/v0/hosts': { body: host },
  'PUT /api/v0/hosts/{hostId}': { body: host },
  'POST /api/v0/hosts/bulk-update-statuses': { body: { ids: [HOST], status: 'maintenance' } },
  'POST /api/v0/hosts/bulk-retire': { body: { ids: [HOST] } },
  'POST /api/v0/hosts/{hostId}/status': { body: { status: 'working' } },
  'PUT /api/v0/hosts/{hostId}/role-fullnames': { body: { roleFullnames: ['shop:web'] } },
  'POST /api/v0/hosts/{hostId}/retire': { body: {} },
  'POST /api/v0/services': { body: { name: 'shop', memo: 'The web shop' } },
  'POST /api/v0/services/{serviceName}/roles': { body: { name: 'web', memo: 'Web servers' } },
  'PUT /api/v0/hosts/{hostId}/metadata/{namespace}': { body: { rack: 'b3' } },
  'PUT /api/v0/services/{serviceName}/metadata/{namespace}': { body: { owner: 'ann' } },
  'PUT /api/v0/services/{serviceName}/roles/{roleName}/metadata/{namespace}': { body: { image: 'v42' } },
  'POST /api/v0/graph-defs/create': {
    body: [
      {
        name: 'custom.queue',
        displayName: 'Queue',
        unit: 'integer',
        metrics: [{ name: 'custom.queue.length', displayName: 'Length' }],
      },
    ],
  },
  'DELETE /api/v0/graph-defs': { body: { name: 'custom.queue' } },
  'POST /api/v0/graph-annotations': { body: annotation },
  'GET /api/v0/graph-annotations': { query: { service: 'shop', ...range } },
  'PUT /api/v0/graph-annotations/{annotationId}': { body: annotation },
  'PUT /api/v0/alerts/{alertId}': { body: { memo: 'Ann looks at it.' } },
  'POST /api/v0/alerts/{alertId}/close': { body: { reason: 'The disk was cleaned.' } },
  'POST /api/v0/monitoring/checks/report': {
    body: {
      reports: [
        {
          source: { type: 'host', hostId: HOST },
          name: 'disk',
          status: 'CRITICAL',
          message: '98 % used',
          occurredAt: EXAMPLE_TIME,
        },
      ],
    },
  },
  'POST /api/v0/dashboards': { body: dashboard },
  'PUT /api/v0/dashboards/{dashboardId}': { body: dashboard },
  'POST /api/v0/monitors': { body: monitor },
  'PUT /api/v0/monitors/{monitorId}': { body: monitor },
  'POST /api/v1/monitors/preview': { body: { monitor, from: HOUR_AGO, to: EXAMPLE_TIME } },
  'POST /api/v0/downtimes': { body: downtime },
  'PUT /api/v0/downtimes/{downtimeId}': { body: downtime },
  'POST /api/v0/channels': { body: channel },
  'PUT /api/v0/channels/{channelId}': { body: channel },
  'POST /api/v0/notification-groups': { body: notificationGroup },
  'PUT /api/v0/notification-groups/{notificationGroupId}': { body: notificationGroup },
  'POST /api/v0/alert-group-settings': { body: alertGroupSetting },
  'PUT /api/v0/alert-group-settings/{alertGroupSettingId}': { body: alertGroupSetting },
};
