import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { bounded, requestHandler } from '../../../shared/compose/bounded';
import { callDirectly } from '../../../shared/platform/direct-call';

const TIMES = { connectMs: 100, attemptMs: 100, totalMs: 350, commandMs: 0 };

describe('a service that never answers', () => {
  let server: Server;
  let seen: boolean[] = [];
  let client: DynamoDBClient;
  let sendsHeaders = false;

  beforeAll(async () => {
    server = createServer((request, response) => {
      seen.push(request.headers['x-amz-user-agent'] !== undefined);
      if (sendsHeaders) response.writeHead(200, { 'content-length': 100 }).write('{');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    process.env.AWS_ENDPOINT_URL_DYNAMODB = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const options = {
      region: 'us-east-1',
      credentials: { accessKeyId: 'id', secretAccessKey: 'secret' },
      maxAttempts: 5,
      requestHandler: requestHandler(TIMES),
    };
    client = callDirectly(
      bounded(new DynamoDBClient(options), TIMES),
      'dynamodb',
      { GetItem: GetItemCommand },
      () => {},
    );
  });

  afterAll(() => {
    delete process.env.AWS_ENDPOINT_URL_DYNAMODB;
    client.destroy();
    server.closeAllConnections();
    server.close();
  });

  const get = new GetItemCommand({ TableName: 't', Key: { pk: { S: 'x' } } });

  test.each([
    { name: 'not at all', headers: false },
    { name: 'beyond its headers', headers: true },
  ])('$name ends a direct call, then the SDK’s attempts, by their bounds', async ({ headers }) => {
    sendsHeaders = headers;
    seen = [];
    const startMs = performance.now();
    await expect(client.send(get)).rejects.toThrow();
    const ms = performance.now() - startMs;
    // The first attempt is direct; those after it are the SDK's.
    expect(seen[0]).toBe(false);
    expect(seen.slice(1)).toContain(true);
    expect(ms).toBeGreaterThan(TIMES.totalMs);
    expect(ms).toBeLessThan(3_000);
  });

  test('is bounded where a caller may bring a signal and brings none', async () => {
    sendsHeaders = false;
    const startMs = performance.now();
    await expect(client.send(get, { abortSignal: undefined })).rejects.toThrow();
    expect(performance.now() - startMs).toBeLessThan(2 * TIMES.totalMs);
  });

  test('does not bound a call that brings a signal of its own', async () => {
    sendsHeaders = false;
    const startMs = performance.now();
    await expect(client.send(get, { abortSignal: AbortSignal.timeout(50) })).rejects.toThrow();
    expect(performance.now() - startMs).toBeLessThan(TIMES.totalMs);
  });
});
