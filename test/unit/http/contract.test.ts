import { alertRoutes } from '../../../shared/http/contract/alerts';
import { annotationBody, graphDefinitions } from '../../../shared/http/contract/graphs';
import { hostBody, hostQuery } from '../../../shared/http/contract/hosts';
import { latestQuery, metricsQuery } from '../../../shared/http/contract/metrics';
import type { Route } from '../../../shared/http/contract/route';
import { HttpError } from '../../../shared/http/http';
import { parse, parseQuery } from '../../../shared/http/parse';
import { text } from '../../../shared/platform/fields';

const query = (schema: Parameters<typeof parseQuery>[0], search: string) =>
  parseQuery(schema, new URLSearchParams(search));

describe('a query string', () => {
  test.each(['60.0', '6e1', '', ' 1', '0x10', '9007199254740993', 'NaN', '1;2', '99999999999999999999'])(
    'refuses %j as an integer',
    (value) => {
      const search = new URLSearchParams({ name: 'a', from: value, to: '1' }).toString();
      expect(() => query(metricsQuery, search)).toThrow(
        `from: expected integer${value.startsWith('9007') ? ' below 2^53' : ''}, got ${JSON.stringify(value)}`,
      );
    },
  );

  test('accepts a negative integer, and uses the first of several', () => {
    expect(query(metricsQuery, 'name=a&from=-5&from=7&to=1&more=x')).toEqual({ name: 'a', from: -5, to: 1 });
  });

  test('accepts a step in seconds or as a duration', () => {
    expect(query(metricsQuery, 'name=a&from=0&to=1&step=300')).toMatchObject({ step: 300_000 });
    expect(query(metricsQuery, 'name=a&from=0&to=1&step=5m')).toMatchObject({ step: 300_000 });
    expect(() => query(metricsQuery, 'name=a&from=0&to=1&step=x')).toThrow(
      'step: expected a number of seconds',
    );
    expect(() => query(metricsQuery, 'name=a&from=0&to=1&step=10ms')).toThrow('got "10ms"');
  });

  test('keeps every value of a parameter that may repeat', () => {
    expect(query(latestQuery, 'hostId=a&hostId=b&name=c')).toEqual({ hostId: ['a', 'b'], name: ['c'] });
    expect(() => query(latestQuery, 'name=c')).toThrow('hostId is missing');
    expect(() => query(hostQuery, 'status=working&status=idle')).toThrow(/^status.1: .*got "idle"$/);
  });
});

describe('the body of a host', () => {
  test('as mkr sends it, with nulls, is completed', () => {
    const body = { name: 'web1', meta: {}, interfaces: null, checks: null, customIdentifier: '' };
    expect(parse(hostBody, body)).toEqual({
      spec: { name: 'web1', displayName: null, customIdentifier: null, memo: '', meta: {}, interfaces: [] },
      roles: [],
    });
  });

  test('gives each interface the address that mkr prints', () => {
    const { spec, roles } = parse(hostBody, {
      name: 'web1',
      interfaces: [{ name: 'eth0', ipv4Addresses: ['10.0.0.1', '10.0.0.2'] }, { name: 'lo' }],
      roleFullnames: ['shop:web', 'shop: app'],
    });
    expect(spec.interfaces).toEqual([
      { name: 'eth0', ipv4Addresses: ['10.0.0.1', '10.0.0.2'], ipAddress: '10.0.0.1' },
      { name: 'lo' },
    ]);
    expect(roles).toEqual([
      { service: 'shop', role: 'web' },
      { service: 'shop', role: 'app' },
    ]);
  });

  test('keeps what trips JavaScript in meta and interfaces', () => {
    const json =
      '{"name":"x","meta":{"__proto__":{"a":1},"constructor":2},"interfaces":[{"__proto__":3,"ipv4Addresses":["1"]}]}';
    const { spec } = parse(hostBody, JSON.parse(json));
    expect(JSON.stringify(spec.meta)).toBe('{"__proto__":{"a":1},"constructor":2}');
    expect(JSON.stringify(spec.interfaces)).toBe('[{"__proto__":3,"ipv4Addresses":["1"],"ipAddress":"1"}]');
  });

  test.each([
    { body: null, says: 'body: expected object, got null' },
    { body: [], says: 'body: expected object, got an array of 0' },
    { body: {}, says: 'name is missing' },
    { body: { name: '' }, says: 'name: 1 to 255 characters, got ""' },
    { body: { name: 'x'.repeat(300) }, says: 'name: 1 to 255 characters' },
    { body: { name: 'x', meta: [] }, says: 'meta: expected object, got an array of 0' },
    {
      body: { name: 'x', meta: JSON.parse(`${'{"a":'.repeat(200)}1${'}'.repeat(200)}`) },
      says: 'nested too deep',
    },
    {
      body: { name: 'x', roleFullnames: ['no-colon'] },
      says: 'roleFullnames.0: expected service:role, got "no-colon"',
    },
    { body: { name: 'x', interfaces: {} }, says: 'interfaces: expected array, got an object' },
  ])('is refused: $says', ({ body, says }) => {
    expect(() => parse(hostBody, body)).toThrow(new HttpError(400, says).message);
  });
});

test('text is counted in characters, as JSON Schema and Go count, not in UTF-16 units', () => {
  expect(text(0, 3).safeParse('👍👍👍').success).toBe(true);
  expect(text(0, 3).safeParse('👍👍👍👍').success).toBe(false);
  expect(text(0, 3).safeParse('abcd').success).toBe(false);
});

describe('a graph definition', () => {
  const definition = (name: string, metric: string) => [{ name, metrics: [{ name: metric }] }];

  test.each([
    ['custom.dice', 'custom.dice.d6'],
    ['custom.dice.#', 'custom.dice.#.*'],
    ['custom.*.x', 'custom.*.x.y'],
  ])('%s may have %s', (name, metric) => {
    expect(parse(graphDefinitions, definition(name, metric))).toEqual([
      {
        name,
        displayName: '',
        unit: 'float',
        metrics: [{ name: metric, displayName: '', isStacked: false }],
      },
    ]);
  });

  test.each([
    ['dice', 'dice.d6', '0.name'],
    ['custom.#.#', 'custom.#.#.a', '0.name: has # more than once'],
    ['custom.a*', 'custom.a*.b', '0.name'],
    ['custom.dice', 'custom.other.d6', '0.metrics.0.name'],
    ['custom.dice', 'custom.dice.*', '0.metrics.0.name'],
    ['custom.dice', 'custom.dice.a.b', '0.metrics.0.name'],
  ])('%s with %s is refused at %s', (name, metric, says) => {
    expect(() => parse(graphDefinitions, definition(name, metric))).toThrow(says);
  });
});

test('an annotation ends no earlier than it begins', () => {
  const body = { title: 'deploy', from: 2, to: 1, service: 'shop' };
  expect(() => parse(annotationBody, body)).toThrow('from: from is after to');
  expect(parse(annotationBody, { ...body, to: 2 })).toMatchObject({ description: '', roles: [] });
});

test('a request has at most a hundred check reports, and each report is validated separately', () => {
  const route: Route = alertRoutes.find(({ path }) => path.endsWith('/report'))!;
  const body = route.body!;
  expect(() => parse(body, { reports: [{ status: 'BAD' }] })).not.toThrow();
  expect(() => parse(body, { reports: Array(101).fill({}) })).toThrow('reports');
});
