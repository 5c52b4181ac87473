import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { boundCalls, requestHandler } from '../../../shared/compose/aws-clients';
import { type CallTimes, REQUEST_CALL_TIMES } from '../../../shared/platform/call-time';
import { callDirectly } from '../../../shared/platform/direct-call';

const HOUR_MS = 3_600_000;
/** Limits too long to end a call. Each test sets the one limit that it is about. */
const UNBOUNDED: CallTimes = { connectMs: HOUR_MS, attemptMs: HOUR_MS, totalMs: HOUR_MS, commandMs: HOUR_MS };
const MAX_ATTEMPTS = 3;

describe('a service that never answers', () => {
  let server: Server;
  let sendsHeaders = false;

  beforeAll(async () => {
    server = createServer((_, response) => {
      if (sendsHeaders) response.writeHead(200, { 'content-length': 100 }).write('{');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    process.env.AWS_ENDPOINT_URL_DYNAMODB = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  afterAll(() => {
    delete process.env.AWS_ENDPOINT_URL_DYNAMODB;
    server.closeAllConnections();
    server.close();
  });

  const get = new GetItemCommand({ TableName: 't', Key: { pk: { S: 'x' } } });

  /** Makes a call that never succeeds. @returns for each attempt, whether it was `direct` or of the `SDK` */
  async function attempts(times: Partial<CallTimes>, ...options: [object?]): Promise<string[]> {
    const all = { ...UNBOUNDED, ...times };
    const handler = requestHandler(all);
    const seen: string[] = [];
    const handle = handler.handle.bind(handler);
    handler.handle = (request, ...rest) => {
      seen.push(request.headers['x-amz-user-agent'] === undefined ? 'direct' : 'SDK');
      return handle(request, ...rest);
    };
    const client = callDirectly(
      boundCalls(
        new DynamoDBClient({
          region: 'us-east-1',
          credentials: { accessKeyId: 'id', secretAccessKey: 'secret' },
          maxAttempts: MAX_ATTEMPTS,
          requestHandler: handler,
        }),
        all,
      ),
      'dynamodb',
      { GetItem: GetItemCommand },
      () => {},
    );
    await expect(client.send(get, ...(options as []))).rejects.toThrow();
    client.destroy();
    return seen;
  }

  test('is asked once directly and a few times by the SDK: each attempt has a bound', async () => {
    sendsHeaders = false;
    expect(await attempts({ attemptMs: 100 })).toEqual(['direct', ...Array(MAX_ATTEMPTS).fill('SDK')]);
  });

  test.each([
    { name: 'not at all', headers: false },
    { name: 'beyond its headers', headers: true },
  ])('$name ends a direct call, and then the SDK’s, by the bound of all attempts', async ({ headers }) => {
    sendsHeaders = headers;
    const [first, second] = await attempts({ totalMs: 200 });
    expect([first, second]).toEqual(['direct', 'SDK']);
  });

  test('is bounded if a caller may pass a signal and passes none', async () => {
    sendsHeaders = false;
    expect(await attempts({ totalMs: 200 }, { abortSignal: undefined })).toContain('SDK');
  });

  test('a call ends by the signal that its caller passes', async () => {
    sendsHeaders = false;
    expect(await attempts({}, { abortSignal: AbortSignal.timeout(50) })).toEqual(['direct', 'SDK']);
  });
});

test('a request that waits for a store which hangs is answered within five seconds', () => {
  expect(REQUEST_CALL_TIMES.attemptMs + REQUEST_CALL_TIMES.totalMs).toBeLessThan(5_000);
  expect(REQUEST_CALL_TIMES.commandMs).toBeLessThan(5_000);
});
