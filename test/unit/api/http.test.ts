import { gzipSync } from 'node:zlib';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { pathMatches } from '../../../shared/api/handler';
import { parseHostBody } from '../../../shared/api/host-body';
import { HttpError, integerParameter, jsonBody, MAX_BODY_BYTES } from '../../../shared/api/http';

function eventOf(
  body: string | Buffer | undefined,
  headers: Record<string, string> = {},
): APIGatewayProxyEventV2 {
  const isBase64Encoded = Buffer.isBuffer(body);
  return {
    headers,
    body: isBase64Encoded ? body.toString('base64') : body,
    isBase64Encoded,
  } as APIGatewayProxyEventV2;
}

function statusOf(act: () => unknown): number {
  try {
    act();
  } catch (error) {
    if (error instanceof HttpError) return error.status;
    throw error;
  }
  return 200;
}

describe('a JSON body', () => {
  test.each([
    { name: 'an array with a newline after it', event: eventOf('[1]\n'), expected: [1] },
    { name: 'null', event: eventOf('null'), expected: null },
    { name: 'nothing', event: eventOf(undefined), expected: null },
    { name: 'base64, as API Gateway sends binary types', event: eventOf(Buffer.from('{}')), expected: {} },
    {
      name: 'gzip',
      event: eventOf(gzipSync('[true]'), { 'content-encoding': 'gzip' }),
      expected: [true],
    },
  ])('is read from $name', ({ event, expected }) => {
    expect(jsonBody(event)).toEqual(expected);
  });

  test.each([
    { name: 'text', event: eventOf('hello'), status: 400 },
    { name: 'JSON that is cut off', event: eventOf('[{"a":'), status: 400 },
    { name: '100,000 brackets', event: eventOf('['.repeat(100_000)), status: 400 },
    { name: 'more than 4 MB', event: eventOf(' '.repeat(MAX_BODY_BYTES + 1)), status: 413 },
    {
      name: 'a gzip bomb',
      event: eventOf(gzipSync(Buffer.alloc(MAX_BODY_BYTES * 20)), { 'content-encoding': 'gzip' }),
      status: 413,
    },
    {
      name: 'what only claims to be gzip',
      event: eventOf('[]', { 'content-encoding': 'gzip' }),
      status: 400,
    },
  ])('$name is answered $status', ({ event, status }) => {
    expect(statusOf(() => jsonBody(event))).toBe(status);
  });

  test('is never quoted in an error', () => {
    expect(() => jsonBody(eventOf('{"password":hunter2}'))).toThrow(
      /^the body is not JSON(: at position \d+)?$/,
    );
  });
});

describe('an integer of the query string', () => {
  test.each(['60.0', '6e1', '', ' 1', '0x10', '9007199254740993', 'NaN', '1;2'])('cannot be %j', (text) => {
    const query = new URLSearchParams({ from: text });
    expect(() => integerParameter(query, 'from')).toThrow('from is not an integer');
  });

  test('may be negative, and is the first where several are given', () => {
    expect(integerParameter(new URLSearchParams('from=-5&from=7'), 'from')).toBe(-5);
  });
});

describe('a path', () => {
  test.each([
    { path: '/api/v0/hosts', matches: true },
    { path: '/api/v0/hosts/', matches: false },
    { path: '/api/v0/hosts/x', matches: false },
  ])('$path matches /api/v0/hosts: $matches', ({ path, matches }) => {
    expect(pathMatches('/api/v0/hosts', path)).toBe(matches);
  });

  test('parameter is one segment that is not empty', () => {
    expect(pathMatches('/hosts/{id}/metrics', '/hosts/a%2Fb/metrics')).toBe(true);
    expect(pathMatches('/hosts/{id}/metrics', '/hosts//metrics')).toBe(false);
    expect(pathMatches('/hosts/{id}/metrics', '/hosts/a/b/metrics')).toBe(false);
  });
});

describe('the body of a host', () => {
  test('as mkr sends it, with nulls, is completed', () => {
    const body = { name: 'web1', meta: {}, interfaces: null, checks: null, customIdentifier: '' };
    expect(parseHostBody(body)).toEqual({
      name: 'web1',
      displayName: null,
      customIdentifier: null,
      memo: '',
      meta: {},
      interfaces: [],
      roles: {},
    });
  });

  test('gives each interface the address that mkr prints, and groups roles by service', () => {
    const { interfaces, roles } = parseHostBody({
      name: 'web1',
      interfaces: [{ name: 'eth0', ipv4Addresses: ['10.0.0.1', '10.0.0.2'] }, { name: 'lo' }],
      roleFullnames: ['shop:web', 'shop: app', 'blog:web'],
    });
    expect(interfaces).toEqual([
      { name: 'eth0', ipv4Addresses: ['10.0.0.1', '10.0.0.2'], ipAddress: '10.0.0.1' },
      { name: 'lo' },
    ]);
    expect(roles).toEqual({ shop: ['app', 'web'], blog: ['web'] });
  });

  test.each([
    { body: null, field: 'body' },
    { body: [], field: 'body' },
    { body: {}, field: 'name' },
    { body: { name: '' }, field: 'name' },
    { body: { name: 'x', meta: [] }, field: 'meta' },
    { body: { name: 'x', roleFullnames: ['no-colon'] }, field: 'roleFullnames.0' },
    { body: { name: 'x', interfaces: {} }, field: 'interfaces' },
  ])('$body is refused, naming $field', ({ body, field }) => {
    expect(() => parseHostBody(body)).toThrow(field);
  });
});
