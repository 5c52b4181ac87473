import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { physicalName } from '../../scripts/local/template';
import { ENV } from '../../shared/platform/names';
import { parseSettings, runtimeSettings } from '../../shared/platform/settings';
import { Client } from '../support/client';
import { type LocalStack, startLocalStack } from '../support/local-stack';
import { ops } from '../support/ops';
import { Relay } from '../support/relay';
import { until } from '../support/until';

const now = Math.floor(Date.now() / 60_000) * 60;

/** The real query handler in this process, with a network that can hang between it and each store. */
describe('a store that takes connections and never answers', () => {
  let stack: LocalStack;
  let relays: Record<'redis' | 'dynamodb' | 's3', Relay>;
  const hosts = { hot: '', warm: '', cold: '' };
  let close: () => Promise<void>;
  let handler: (event: APIGatewayProxyEventV2) => Promise<APIGatewayProxyStructuredResultV2>;

  beforeAll(async () => {
    stack = await startLocalStack({});
    const client = new Client(stack.url, stack.apiKey);
    for (const tier of ['cold', 'warm', 'hot'] as const) {
      const host = await client.createHost(tier);
      hosts[tier] = host;
      await client.post([{ hostId: host, name: 'custom.a', time: now - 3600, value: 1 }]);
      await until(
        `a sample of ${tier}`,
        () => client.metrics(host, 'custom.a', now - 7200, now).catch(() => ''),
        (text) => text.includes('"value":1'),
      );
      if (tier !== 'hot') await ops(stack.url, 'drain');
      if (tier === 'cold') await ops(stack.url, 'archive', '--purge');
    }
    relays = {
      redis: await Relay.start(stack.redisUrl),
      dynamodb: await Relay.start(stack.awsEndpoint),
      s3: await Relay.start(stack.awsEndpoint),
    };
    Object.assign(process.env, {
      AWS_ENDPOINT_URL: stack.awsEndpoint,
      AWS_ENDPOINT_URL_DYNAMODB: relays.dynamodb.url,
      AWS_ENDPOINT_URL_S3: relays.s3.url,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'test',
      AWS_SECRET_ACCESS_KEY: 'test',
      POWERTOOLS_METRICS_DISABLED: 'true',
      POWERTOOLS_LOG_LEVEL: 'SILENT',
      [ENV.settings]: JSON.stringify(runtimeSettings(parseSettings({}))),
      [ENV.metaTable]: physicalName('MetaTable'),
      [ENV.warmTable]: stack.table,
      [ENV.bucket]: stack.bucket,
      [ENV.redis]: relays.redis.url.replace('http:', 'redis:'),
    });
    ({ handler } = await import('../../functions/query/handler'));
    const { dependencies } = await import('../../functions/query/stores');
    close = () => dependencies.hot.close();
  });

  afterAll(async () => {
    await close?.();
    for (const relay of Object.values(relays ?? {})) await relay.cut();
    await stack?.stop();
  });

  const read = (hostId: string, apiKey = stack.apiKey) =>
    handler({
      routeKey: 'GET /api/v0/hosts/{hostId}/metrics',
      headers: { 'x-api-key': apiKey },
      pathParameters: { hostId },
      rawPath: `/api/v0/hosts/${hostId}/metrics`,
      rawQueryString: `name=custom.a&from=${now - 7200}&to=${now}`,
      isBase64Encoded: false,
      requestContext: { requestId: 'r', http: { method: 'GET' } },
    } as never);
  const isRead = ({ statusCode, body }: APIGatewayProxyStructuredResultV2) =>
    statusCode === 200 && body!.includes('"value":1');
  const anotherKey = async () =>
    (await ops<{ key: string }>(stack.url, 'keys', 'create', '--tenant', 'default', '--rights', 'read')).key;

  test.each([
    {
      name: 'memory, of a recent sample, and of any other, as nobody knows what it holds',
      store: 'redis',
      reads: [{ tier: 'hot' }, { tier: 'cold' }],
    },
    {
      name: 'the tables, of a warm sample, and of the first request with a key',
      store: 'dynamodb',
      reads: [{ tier: 'warm' }, { tier: 'warm', isNewKey: true }],
    },
    { name: 'the archive, of an old sample', store: 's3', reads: [{ tier: 'cold' }] },
  ] as const)('is a 503 with a sentence while it hangs: $name', async ({ store, reads }) => {
    const requests = await Promise.all(
      reads.map(async ({ tier, ...of }) => {
        const key = 'isNewKey' in of ? await anotherKey() : stack.apiKey;
        if (!('isNewKey' in of)) expect(isRead(await read(hosts[tier]))).toBe(true);
        return () => read(hosts[tier], key);
      }),
    );
    relays[store].hang();
    for (const { statusCode, body } of await Promise.all(requests.map((request) => request())))
      expect({ statusCode, body: JSON.parse(body!) }).toEqual({
        statusCode: 503,
        body: { error: { message: 'a store did not answer; try again' } },
      });
    relays[store].resume();
    for (const request of requests) await until('the read to work again', request, isRead);
  });
});
