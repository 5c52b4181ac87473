import { readdirSync, readFileSync, statSync } from 'node:fs';
import { type OutgoingHttpHeaders, request } from 'node:http';
import { join } from 'node:path';
import { type LocalStack, startLocalStack } from '../support/local-stack';
import { ops } from '../support/ops';

jest.setTimeout(120_000);

let stack: LocalStack;

beforeAll(async () => {
  stack = await startLocalStack({});
});

afterAll(async () => {
  await stack?.stop();
});

const INVOKE = '/2015-03-31/functions/heterotsdb-local-operator/invocations';

/** Sends headers as they are given, which fetch would not let a test do. */
function send(
  url: string,
  path: string,
  headers: OutgoingHttpHeaders,
  body: string,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, url), { method: 'POST', headers }, (response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode!, text }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

const secret = () => readFileSync(join(stack.dataDir, 'operator-secret'), 'utf8').trim();

describe('endpoints that are not the public API', () => {
  const page = { origin: 'http://evil.example', 'content-type': 'text/plain;charset=UTF-8' };
  const port = () => new URL(stack.url).port;

  test.each([
    { name: "a page's fetch without CORS", headers: () => page },
    {
      name: 'a page whose own name resolves to this machine',
      headers: () => ({ host: `evil.example:${port()}` }),
    },
    {
      name: 'a page that knows the secret',
      headers: () => ({ ...page, authorization: `Bearer ${secret()}` }),
    },
    { name: 'a client without the secret', headers: () => ({ 'content-type': 'application/json' }) },
    { name: 'a client with another secret', headers: () => ({ authorization: 'Bearer x' }) },
  ])('refuse $name', async ({ headers }) => {
    const calls = [
      { path: INVOKE, body: { command: 'tenants create', name: 'evil' } },
      { path: '/2015-03-31/event-source-mappings', body: {} },
      { path: '/local/deploy', body: {} },
      { path: '/local/anything', body: {} },
    ];
    for (const { path, body } of calls) {
      const answer = await send(stack.url, path, headers(), JSON.stringify(body));
      expect({ path, ...answer }).toMatchObject({ path, status: 403 });
    }
    const { tenants } = await ops<{ tenants: { name: string }[] }>(stack.url, 'tenants', 'list');
    expect(tenants.map(({ name }) => name)).not.toContain('evil');
  });

  test('refuse web pages at the stand-in for AWS too, whose answers any page could read', async () => {
    const list = {
      'x-amz-target': 'DynamoDB_20120810.ListTables',
      'content-type': 'application/x-amz-json-1.0',
    };
    const ask = (headers: OutgoingHttpHeaders) => send(stack.awsEndpoint, '/', { ...list, ...headers }, '{}');
    expect(await ask({ origin: 'http://evil.example' })).toMatchObject({ status: 403 });
    expect(await ask({ host: 'evil.example' })).toMatchObject({ status: 403 });
    expect(await ask({})).toMatchObject({ status: 200 });
  });

  test('take the secret, which its owner alone can read and no log has', async () => {
    const answer = await send(
      stack.url,
      INVOKE,
      stack.operatorHeaders,
      JSON.stringify({ command: 'tenants list' }),
    );
    expect(answer).toMatchObject({ status: 200, text: expect.stringContaining('"default"') });
    expect(statSync(join(stack.dataDir, 'operator-secret')).mode & 0o777).toBe(0o600);
    for (const log of readdirSync(stack.dataDir).filter((name) => name.endsWith('.log')))
      expect(readFileSync(join(stack.dataDir, log), 'utf8')).not.toContain(secret());
  });
});
