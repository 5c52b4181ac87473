import { randomBytes } from 'node:crypto';
import { deflateSync, gunzipSync, gzipSync } from 'node:zlib';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { fitResponse, HttpError, jsonBody, reply } from '../../../shared/http/http';
import { pathMatches } from '../../../shared/http/unrouted';
import { MAX_REQUEST_BYTES } from '../../../shared/platform/names';

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

/** A megabyte that does not compress. */
const NOISE = randomBytes(500_000).toString('hex');

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
    { name: 'nothing', event: eventOf(undefined), expected: undefined },
    { name: 'base64, as API Gateway sends binary types', event: eventOf(Buffer.from('{}')), expected: {} },
    {
      name: 'gzip',
      event: eventOf(gzipSync('[true]'), { 'content-encoding': 'gzip' }),
      expected: [true],
    },
    {
      name: 'two members of gzip',
      event: eventOf(Buffer.concat([gzipSync('[1,'), gzipSync('2]')]), { 'content-encoding': 'gzip' }),
      expected: [1, 2],
    },
    {
      name: 'deflate of a megabyte',
      event: eventOf(deflateSync(JSON.stringify([NOISE])), { 'content-encoding': 'deflate' }),
      expected: [NOISE],
    },
  ])('is read from $name', ({ event, expected }) => {
    expect(jsonBody(event)).toEqual(expected);
  });

  test.each([
    { name: 'text', event: eventOf('hello'), status: 400 },
    { name: 'JSON that is cut off', event: eventOf('[{"a":'), status: 400 },
    { name: '100,000 brackets', event: eventOf('['.repeat(100_000)), status: 400 },
    { name: 'a million empty objects', event: eventOf(`[${'{},'.repeat(1_000_000)}1]`), status: 413 },
    { name: 'a million brackets that close', event: eventOf('['.repeat(1e6) + ']'.repeat(1e6)), status: 413 },
    { name: 'more than 4 MB', event: eventOf(' '.repeat(MAX_REQUEST_BYTES + 1)), status: 413 },
    {
      name: 'a gzip bomb',
      event: eventOf(gzipSync(Buffer.alloc(MAX_REQUEST_BYTES * 20)), { 'content-encoding': 'gzip' }),
      status: 413,
    },
    {
      name: 'an encoding other than gzip',
      event: eventOf('[]', { 'content-encoding': 'br' }),
      status: 415,
    },
    { name: 'what is not UTF-8', event: eventOf(Buffer.from([0x22, 0xff, 0x22])), status: 400 },
    {
      name: 'gzip with bytes after its end',
      event: eventOf(Buffer.concat([gzipSync('[]'), Buffer.from('[]')]), { 'content-encoding': 'gzip' }),
      status: 400,
    },
    {
      name: 'deflate with another stream after its end',
      event: eventOf(Buffer.concat([deflateSync('[]'), deflateSync('\n')]), {
        'content-encoding': 'deflate',
      }),
      status: 400,
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

describe('an answer', () => {
  const responseOf = (length: number) => reply(200, { text: 'x'.repeat(length) });

  test('that is small leaves as it is', () => {
    expect(fitResponse(responseOf(1000), 'gzip')).toEqual(responseOf(1000));
  });

  test.each(['gzip', 'deflate, gzip;q=0.5', '*', 'br, GZIP', 'gzip ; q=0.01', '*;q=0, gzip'])(
    'that is large is gzip for %j',
    (accepted) => {
      const response = fitResponse(responseOf(10_000_000), accepted);
      expect(response.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
      expect(response.isBase64Encoded).toBe(true);
      expect(gunzipSync(Buffer.from(response.body!, 'base64')).toString()).toBe(responseOf(10_000_000).body);
    },
  );

  test.each([undefined, '', 'br', 'gzipped', 'gzip;q=0', 'identity, gzip; q=0.000, *', '*;q=0'])(
    'that is large is plain for %j, and 413 beyond 4 MB',
    (accepted) => {
      expect(fitResponse(responseOf(3_900_000), accepted)).toEqual(responseOf(3_900_000));
      expect(statusOf(() => fitResponse(responseOf(4_100_000), accepted))).toBe(413);
    },
  );

  test('that Lambda could not send even as gzip is 413', () => {
    const noise = reply(200, { text: randomBytes(6_000_000).toString('hex') });
    expect(statusOf(() => fitResponse(noise, 'gzip'))).toBe(413);
    expect(statusOf(() => fitResponse(responseOf(33_000_000), 'gzip'))).toBe(413);
  });
});
