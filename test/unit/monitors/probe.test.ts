import { readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type ProbeRequest, probe } from '../../../shared/monitors/probe';

// The path /public counts as an address of the public internet, which no test reaches.
jest.mock('../../../shared/platform/outside', () => {
  const actual = jest.requireActual<typeof import('../../../shared/platform/outside')>(
    '../../../shared/platform/outside',
  );
  const exchangeOutside: typeof actual.exchangeOutside = (exchange) =>
    actual.exchangeOutside(
      exchange.url.pathname === '/public' ? { ...exchange, allowsPrivate: true } : exchange,
    );
  return { ...actual, exchangeOutside };
});

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

let server: Server;
let tlsServer: Server;
let address: string;
let tlsAddress: string;
let seen: Seen[] = [];
let listener: RequestListener;

const listen: RequestListener = (request, response) => {
  let body = '';
  request.on('data', (chunk) => {
    body += chunk;
  });
  request.on('end', () => {
    seen.push({ method: request.method!, url: request.url!, headers: request.headers, body });
    listener(request, response);
  });
};
const pem = (name: string) => readFileSync(join(__dirname, '../../support/tls', name));

beforeAll(async () => {
  server = createServer(listen);
  // A self-signed certificate for localhost and 127.0.0.1, which expires on 2126-10-30.
  tlsServer = createTlsServer({ key: pem('key.pem'), cert: pem('cert.pem') }, listen);
  for (const each of [server, tlsServer])
    await new Promise<void>((resolve) => each.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  tlsAddress = `https://127.0.0.1:${(tlsServer.address() as AddressInfo).port}`;
});

beforeEach(() => {
  seen = [];
});

afterAll(() => {
  for (const each of [server, tlsServer]) {
    each.closeAllConnections();
    each.close();
  }
});

const send = (request: Partial<ProbeRequest> = {}) => probe({ url: `${address}/start`, ...request }, true);
const status =
  (code: number, headers = {}, body = 'all is well'): RequestListener =>
  (_, response) => {
    response.writeHead(code, headers).end(body);
  };
/** Redirects `/N` to location N, if there is one. A path without a number is `/0`. */
const redirects =
  (...locations: string[]): RequestListener =>
  (request, response) => {
    const location = locations[Number(/\d*$/.exec(request.url!)![0]) || 0];
    response.writeHead(location === undefined ? 200 : 302, location === undefined ? {} : { location }).end();
  };

test('a GET without a cache is sent unless the monitor says otherwise', async () => {
  listener = status(200);
  expect(await send()).toEqual({ status: 200, responseMs: expect.any(Number) });
  expect(seen).toMatchObject([
    { method: 'GET', url: '/start', headers: { 'cache-control': 'no-cache', 'user-agent': 'heterotsdb' } },
  ]);
});

test('a probe uses the method, headers, body and credentials of its monitor', async () => {
  listener = status(201);
  await send({
    url: `${address.replace('//', '//ann:secret@')}/hook`,
    method: 'PUT',
    headers: [
      { name: 'User-Agent', value: 'mine' },
      { name: 'X-Many', value: 'a' },
      { name: 'x-many', value: 'b' },
      { name: 'Content-Length', value: '999' },
    ],
    requestBody: 'päck',
  });
  const { method, headers, body } = seen[0]!;
  expect({ method, body }).toEqual({ method: 'PUT', body: 'päck' });
  expect(headers).toMatchObject({
    'user-agent': 'mine',
    'x-many': 'a, b',
    'content-length': '5',
    authorization: `Basic ${Buffer.from('ann:secret').toString('base64')}`,
  });
  expect(headers).not.toHaveProperty('cache-control');
});

test('the body is searched, also where it has several bytes a character', async () => {
  listener = status(200, {}, 'status: päck');
  expect(await send({ containsString: 'päck' })).not.toHaveProperty('error');
  expect(await send({ containsString: 'pack' })).toMatchObject({
    status: 200,
    error: 'the body does not contain "pack"',
  });
});

test('a body without end is searched in its first half megabyte', async () => {
  listener = (_, response) => {
    response.writeHead(200);
    response.write('needle');
    const write = () => {
      while (!response.destroyed && response.write(Buffer.alloc(16_384)));
      if (!response.destroyed) response.once('drain', write);
    };
    write();
  };
  expect(await send({ containsString: 'needle' })).toMatchObject({ status: 200 });
  expect(await send({ containsString: 'thread' })).toMatchObject({ error: expect.any(String) });
});

test('an answer that does not end in time, and one that breaks off, are errors', async () => {
  listener = (_, response) => {
    response.writeHead(200, { 'content-length': 100 });
    response.write('begun');
  };
  expect(await probe({ url: address }, true, 300)).toEqual({ error: 'no answer within 0.3 s' });
  listener = (request, response) => {
    response.writeHead(200, { 'content-length': 100 });
    response.write('begun', () => request.socket.destroy());
  };
  expect(await send()).toEqual({ error: 'the answer broke off' });
  listener = (request) => request.socket.destroy();
  expect(await send()).toEqual({ error: 'socket hang up' });
});

describe('redirects', () => {
  test('are not followed unless the monitor wants it', async () => {
    listener = redirects('/1');
    expect(await send()).toMatchObject({ status: 302 });
    expect(seen).toHaveLength(1);
    expect(await send({ followRedirect: true })).toMatchObject({ status: 200 });
  });

  test('are two at most', async () => {
    listener = redirects('/1', '/2');
    expect(await send({ followRedirect: true })).toMatchObject({ status: 200 });
    listener = redirects('/1', '/2', '/3');
    expect(await send({ followRedirect: true })).toEqual({ error: 'more than 2 redirects' });
  });

  test('carry cookies within an origin, and no secrets to another', async () => {
    const headers = [
      { name: 'Authorization', value: 'Bearer x' },
      { name: 'X-Mine', value: 'y' },
    ];
    listener = (request, response) => {
      if (request.url === '/end') response.end();
      else response.writeHead(302, { location: '/end', 'set-cookie': ['a=1; Path=/; Secure', 'b=2'] }).end();
    };
    await send({ followRedirect: true, headers });
    expect(seen.at(-1)!.headers).toMatchObject({ cookie: 'a=1; b=2', authorization: 'Bearer x' });
    const elsewhere = `${address.replace('127.0.0.1', 'localhost')}/end`;
    listener = (request, response) => {
      if (request.url === '/end') response.end();
      else response.writeHead(302, { location: elsewhere, 'set-cookie': 'a=1' }).end();
    };
    await send({ followRedirect: true, headers });
    expect(seen.at(-1)!.headers).toMatchObject({ 'x-mine': 'y' });
    for (const name of ['authorization', 'cookie']) expect(seen.at(-1)!.headers).not.toHaveProperty(name);
  });

  test('of a POST become a GET, unless they keep the method', async () => {
    const redirect =
      (code: number): RequestListener =>
      (request, response) => {
        if (request.url === '/end') response.end();
        else response.writeHead(code, { location: '/end' }).end();
      };
    listener = redirect(302);
    await send({ followRedirect: true, method: 'POST', requestBody: 'pack' });
    expect(seen.at(-1)).toMatchObject({ method: 'GET', body: '' });
    listener = redirect(307);
    await send({ followRedirect: true, method: 'POST', requestBody: 'pack' });
    expect(seen.at(-1)).toMatchObject({ method: 'POST', body: 'pack' });
  });

  test('to no URL, or to another protocol, are errors', async () => {
    listener = redirects('ftp://127.0.0.1/');
    expect(await send({ followRedirect: true })).toEqual({ error: 'a redirect to ftp: is not followed' });
    listener = redirects('http://[');
    expect(await send({ followRedirect: true })).toEqual({ error: 'the redirect names no URL' });
  });
});

describe('certificates', () => {
  test('without a trusted issuer are errors', async () => {
    listener = status(200);
    expect(await send({ url: tlsAddress })).toEqual({ error: expect.stringContaining('self-signed') });
    expect(seen).toEqual([]);
  });

  test('are accepted if the monitor skips verification, and their expiry is returned', async () => {
    listener = status(200);
    expect(await send({ url: tlsAddress, skipCertificateVerification: true })).toEqual({
      status: 200,
      responseMs: expect.any(Number),
      certificateEndsMs: Date.parse('2126-10-30T23:33:06Z'),
    });
  });
});

describe('private addresses', () => {
  test.each([
    ['http://127.0.0.1/', '127.0.0.1 is not an address of the public internet'],
    ['http://2130706433/', '127.0.0.1 is not an address of the public internet'],
    ['http://[::ffff:169.254.169.254]/latest/', 'is not an address of the public internet'],
    ['http://localhost/', 'localhost is not at an address of the public internet'],
  ])('%s is not reached', async (url, error) => {
    expect(await probe({ url }, false)).toEqual({ error: expect.stringContaining(error) });
  });

  test.each(['http://169.254.169.254/latest/meta-data/', 'http://localhost/', 'http://0x7f000001/'])(
    'are not reached by a redirect to %s',
    async (location) => {
      listener = status(302, { location });
      expect(await probe({ url: `${address}/public`, followRedirect: true }, false)).toEqual({
        error: expect.stringMatching(/of the public internet$/),
      });
      expect(seen).toHaveLength(1);
    },
  );
});
