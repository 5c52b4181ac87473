import { parse } from '../../../shared/http/parse';
import { parseScope } from '../../../shared/monitors/fields';
import {
  MONITOR_TYPES,
  type MonitorSpec,
  monitorNameOf,
  monitorSpec,
  sortedMonitors,
  updatedMonitor,
} from '../../../shared/monitors/monitor';

const check = (value: unknown) => parse(monitorSpec, value);

/** The fields that each type requires. */
const MINIMAL = {
  connectivity: { type: 'connectivity' },
  host: { type: 'host', name: 'load', metric: 'loadavg5', operator: '>', warning: 3, duration: 3 },
  service: { type: 'service', name: '5xx', service: 'shop', metric: 'http.5xx', missingDurationWarning: 10 },
  external: { type: 'external', name: 'site', url: 'https://example.com/' },
  expression: {
    type: 'expression',
    name: 'sum',
    expression: 'max(role(a:b, loadavg5))',
    operator: '<',
    critical: 1,
  },
  anomalyDetection: {
    type: 'anomalyDetection',
    name: 'odd',
    scopes: ['shop: web'],
    warningSensitivity: 'normal',
  },
  query: { type: 'query', name: 'up of {{job}}', query: 'up', operator: '<', warning: 1 },
} as const;

const COMMON = { memo: 'why', isMute: true, notificationInterval: 10 };
const SCOPES = { scopes: ['shop', 'shop: web'], excludeScopes: ['shop:db'] };
const THRESHOLDS = { warning: -1.5, critical: 0 };

/** Each type, with every field. */
const FULL = {
  connectivity: { ...MINIMAL.connectivity, ...COMMON, ...SCOPES, name: 'gone', alertStatusOnGone: 'WARNING' },
  host: { ...MINIMAL.host, ...COMMON, ...SCOPES, ...THRESHOLDS, maxCheckAttempts: 10 },
  service: {
    ...MINIMAL.service,
    ...COMMON,
    ...THRESHOLDS,
    operator: '<',
    duration: 10,
    maxCheckAttempts: 2,
    missingDurationCritical: 10080,
  },
  external: {
    ...MINIMAL.external,
    ...COMMON,
    method: 'POST',
    service: 'shop',
    maxCheckAttempts: 3,
    responseTimeWarning: 500.5,
    responseTimeCritical: 1000,
    responseTimeDuration: 5,
    containsString: 'ok',
    certificationExpirationWarning: 30,
    certificationExpirationCritical: 0,
    skipCertificateVerification: true,
    expectedStatusCode: 204,
    headers: [{ name: 'Cache-Control', value: 'no-cache' }],
    requestBody: '{}',
    followRedirect: true,
    dualstack: 'auto',
  },
  expression: { ...MINIMAL.expression, ...COMMON, ...THRESHOLDS, evaluateBackwardMinutes: 10 },
  anomalyDetection: {
    ...MINIMAL.anomalyDetection,
    ...COMMON,
    criticalSensitivity: 'insensitive',
    maxCheckAttempts: 5,
    trainingPeriodFrom: 1561429260,
  },
  query: { ...MINIMAL.query, ...COMMON, ...THRESHOLDS, legend: '{{job}}', evaluateBackwardMinutes: 0 },
} as const;

describe.each(MONITOR_TYPES)('a monitor of type %s', (type) => {
  test.each([
    ['minimal', MINIMAL],
    ['full', FULL],
  ])('is kept as posted: %s', (_, monitors) => {
    expect(check(monitors[type])).toEqual(monitors[type]);
    expect(Object.keys(check(monitors[type])).sort()).toEqual(Object.keys(monitors[type]).sort());
  });

  test('keeps nulls, as Go posts nil', () => {
    const nulls = { ...MINIMAL[type], memo: null, isMute: null, notificationInterval: null };
    expect(check(nulls)).toEqual(nulls);
  });

  test('loses an id that a client sends, and fields that its type does not have', () => {
    expect(check({ ...MINIMAL[type], id: '2cSZzK3XfmG', color: 'red' })).toEqual(MINIMAL[type]);
  });

  test.each([
    [{ name: '' }, 'name: 1 to 1000 characters, got ""'],
    [{ memo: 'm'.repeat(2049) }, 'memo: at most 2048 characters'],
    [{ isMute: 1 }, 'isMute: expected boolean, got 1'],
    [{ notificationInterval: 9 }, 'notificationInterval: Too small: expected number to be >=10, got 9'],
    [{ notificationInterval: 10.5 }, 'notificationInterval: expected int, got 10.5'],
  ])('refuses %j', (change, message) => {
    expect(() => check({ ...MINIMAL[type], ...change })).toThrow(message);
  });
});

test('a memo of 2048 characters is counted in code points', () => {
  const memo = '👍'.repeat(2048);
  expect(check({ ...MINIMAL.host, memo })).toMatchObject({ memo });
});

describe('a monitor is refused', () => {
  test.each([
    [{}, 'type is missing'],
    [{ type: 'ping' }, `type: expected one of ${MONITOR_TYPES.join(', ')}, got "ping"`],
    [{ type: null }, `type: expected one of ${MONITOR_TYPES.join(', ')}, got null`],
    [null, 'body: expected object'],
    [[], 'body: expected object'],
    [{ ...MINIMAL.connectivity, alertStatusOnGone: 'UNKNOWN' }, 'alertStatusOnGone: '],
    [{ ...MINIMAL.connectivity, scopes: 'shop' }, 'scopes: expected array, got "shop"'],
    [{ ...MINIMAL.host, name: undefined }, 'name is missing'],
    [{ ...MINIMAL.host, metric: '' }, 'metric: 1 to 255 characters'],
    [{ ...MINIMAL.host, operator: '>=' }, 'operator: '],
    [{ ...MINIMAL.host, duration: 0 }, 'duration: Too small: expected number to be >=1, got 0'],
    [{ ...MINIMAL.host, duration: 11 }, 'duration: Too big: expected number to be <=10, got 11'],
    [{ ...MINIMAL.host, maxCheckAttempts: 0 }, 'maxCheckAttempts: '],
    [{ ...MINIMAL.host, maxCheckAttempts: 11 }, 'maxCheckAttempts: '],
    [{ ...MINIMAL.host, warning: null }, 'warning: expected a number here or in critical, got null'],
    [{ ...MINIMAL.host, warning: Number.POSITIVE_INFINITY }, 'warning: '],
    [
      { ...MINIMAL.host, metric: 'memory%', warning: 101 },
      'warning: expected 0 to 100, the percentages that memory% takes, got 101',
    ],
    [{ ...MINIMAL.host, metric: 'swap%', critical: -1 }, 'critical: expected 0 to 100'],
    [
      { ...MINIMAL.host, metric: 'gpu%' },
      'metric: expected one of cpu%, memory%, swap%, disk%, container-cpu%, container-memory%, got "gpu%"',
    ],
    [{ ...MINIMAL.service, missingDurationWarning: 15 }, 'missingDurationWarning: '],
    [{ ...MINIMAL.service, missingDurationCritical: 10090 }, 'missingDurationCritical: '],
    [{ ...MINIMAL.service, missingDurationWarning: 0 }, 'missingDurationWarning: '],
    [{ ...MINIMAL.service, missingDurationWarning: null }, 'warning: expected a number here or in critical'],
    [
      { ...MINIMAL.service, warning: 1, duration: 1 },
      'operator: expected a value, because a threshold is set',
    ],
    [
      { ...MINIMAL.service, warning: 1, operator: '>' },
      'duration: expected a value, because a threshold is set',
    ],
    [{ ...MINIMAL.service, duration: 11 }, 'duration: '],
    [{ ...MINIMAL.service, maxCheckAttempts: 11 }, 'maxCheckAttempts: '],
    [{ ...MINIMAL.external, url: 'ftp://example.com' }, 'url: expected a URL with http or https'],
    [{ ...MINIMAL.external, url: 'https://' }, 'url: expected a URL with http or https'],
    [{ ...MINIMAL.external, method: 'HEAD' }, 'method: '],
    [{ ...MINIMAL.external, maxCheckAttempts: 11 }, 'maxCheckAttempts: '],
    [
      { ...MINIMAL.external, responseTimeWarning: 1, responseTimeDuration: 1 },
      'service: expected a service; response times are stored as a metric of it',
    ],
    [
      { ...MINIMAL.external, responseTimeCritical: 1, service: 'shop' },
      'responseTimeDuration: expected a value',
    ],
    [
      { ...MINIMAL.external, responseTimeDuration: 1, service: 'shop' },
      'responseTimeDuration: expected responseTimeWarning or responseTimeCritical to be set too, got 1',
    ],
    [{ ...FULL.external, responseTimeDuration: 11 }, 'responseTimeDuration: '],
    [{ ...MINIMAL.external, headers: [{ name: 'a b', value: '' }] }, 'headers.0.name: '],
    [{ ...MINIMAL.external, headers: [{ name: 'a', value: 'b\r\nc: d' }] }, 'headers.0.value: '],
    [{ ...MINIMAL.external, expectedStatusCode: 99 }, 'expectedStatusCode: '],
    [{ ...MINIMAL.external, certificationExpirationWarning: -1 }, 'certificationExpirationWarning: '],
    [{ ...MINIMAL.external, dualstack: 'ipv5' }, 'dualstack: '],
    [{ ...MINIMAL.expression, expression: '' }, 'expression: 1 to 10000 characters'],
    [{ ...MINIMAL.expression, critical: null }, 'warning: expected a number here or in critical'],
    [{ ...MINIMAL.expression, evaluateBackwardMinutes: 1 }, 'evaluateBackwardMinutes: '],
    [{ ...MINIMAL.expression, evaluateBackwardMinutes: 11 }, 'evaluateBackwardMinutes: '],
    [{ ...MINIMAL.anomalyDetection, scopes: [] }, 'scopes: expected at least one role'],
    [{ ...MINIMAL.anomalyDetection, warningSensitivity: 'high' }, 'warningSensitivity: '],
    [
      { ...MINIMAL.anomalyDetection, warningSensitivity: undefined },
      'warningSensitivity: expected warningSensitivity or criticalSensitivity',
    ],
    [{ ...MINIMAL.query, query: '' }, 'query: 1 to 10000 characters'],
    [{ ...MINIMAL.query, warning: undefined }, 'warning: expected a number here or in critical'],
    [{ ...MINIMAL.query, evaluateBackwardMinutes: 11 }, 'evaluateBackwardMinutes: '],
  ])('%j: %s', (monitor, message) => {
    expect(() => check(monitor)).toThrow(message);
  });
});

describe('an update', () => {
  test('replaces everything but an omitted alertStatusOnGone and omitted headers', () => {
    expect(updatedMonitor(FULL.connectivity as never, MINIMAL.connectivity)).toEqual({
      ...MINIMAL.connectivity,
      alertStatusOnGone: 'WARNING',
    });
    expect(updatedMonitor(FULL.external as never, MINIMAL.external)).toEqual({
      ...MINIMAL.external,
      headers: FULL.external.headers,
    });
    expect(updatedMonitor(FULL.host as never, MINIMAL.host)).toEqual(MINIMAL.host);
  });

  test('replaces headers by null, as mkr posts a file without them', () => {
    const spec: MonitorSpec = { ...MINIMAL.external, headers: null };
    expect(updatedMonitor(FULL.external as never, spec)).toEqual(spec);
  });
});

test('monitors are listed by type, then by name', () => {
  const monitors = [MINIMAL.query, { ...MINIMAL.host, name: 'b' }, MINIMAL.host, MINIMAL.connectivity];
  const sorted = sortedMonitors([...monitors, { ...MINIMAL.host, name: 'B' }] as MonitorSpec[]);
  expect(sorted.map((each) => [each.type, monitorNameOf(each)])).toEqual([
    ['connectivity', 'connectivity'],
    ['host', 'B'],
    ['host', 'b'],
    ['host', 'load'],
    ['query', 'up of {{job}}'],
  ]);
});

test.each([
  ['shop', { service: 'shop' }],
  ['shop:web', { service: 'shop', role: 'web' }],
  ['shop: web', { service: 'shop', role: 'web' }],
])('the scope %j is a service, or a role of one', (text, scope) => {
  expect(parseScope(text)).toEqual(scope);
});
