import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DeliveryError, postOutside } from '../../../../shared/alerting/delivery/post-outside';

describe('a receiver', () => {
  let server: Server;
  let answer: RequestListener;
  let url: string;
  let requests: { url: string; authorization: string | undefined; body: string }[] = [];

  beforeAll(async () => {
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => {
        requests.push({ url: request.url!, authorization: request.headers.authorization, body });
        answer(request, response);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  });

  beforeEach(() => {
    requests = [];
  });

  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const status =
    (code: number, headers = {}): RequestListener =>
    (_, response) => {
      response.writeHead(code, headers).end('thanks');
    };
  const failureOf = (allowsPrivate = true): Promise<unknown> =>
    postOutside({ url, json: '{"a":1}', authorization: 'Bearer x' }, allowsPrivate).then(
      () => undefined,
      (error: unknown) => error,
    );

  test('gets the JSON with its credentials', async () => {
    answer = status(200);
    expect(await failureOf()).toBeUndefined();
    expect(requests).toEqual([{ url: '/hook', authorization: 'Bearer x', body: '{"a":1}' }]);
  });

  test.each([
    { code: 500, isFinal: false },
    { code: 503, isFinal: false },
    { code: 429, isFinal: false },
    { code: 408, isFinal: false },
    { code: 400, isFinal: true },
    { code: 404, isFinal: true },
  ])('that answers $code fails; for good: $isFinal', async ({ code, isFinal }) => {
    answer = status(code);
    const failure = await failureOf();
    expect(failure).toBeInstanceOf(DeliveryError);
    expect(failure).toMatchObject({ isFinal, message: expect.stringContaining(`answered ${code}`) });
  });

  test('that redirects is not followed', async () => {
    answer = status(302, { location: `${url}/elsewhere` });
    expect(await failureOf()).toMatchObject({ isFinal: true });
    expect(requests).toHaveLength(1);
  });

  test('that closes the connection fails, and may be tried again', async () => {
    answer = (request) => request.socket.destroy();
    expect(await failureOf()).toMatchObject({ isFinal: false });
  });

  test('at a private address is not reached', async () => {
    answer = status(200);
    expect(await failureOf(false)).toMatchObject({
      isFinal: false,
      message: expect.stringContaining('not an address of the public internet'),
    });
    expect(requests).toEqual([]);
  });

  test('whose name resolves to a private address is not reached', async () => {
    answer = status(200);
    const { port } = new URL(url);
    const failing = postOutside({ url: `https://localhost:${port}/`, json: '{}' }, false);
    await expect(failing).rejects.toThrow('not at an address of the public internet');
    await expect(postOutside({ url: 'http://example.com/', json: '{}' }, false)).rejects.toThrow(
      'the URL must begin with https://',
    );
    expect(requests).toEqual([]);
  });
});
