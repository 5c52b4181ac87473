import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { type OutgoingHttpHeaders, request } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from '../../scripts/local/server-process';
import { type LocalStack, startLocalStack } from '../support/local-stack';
import { ops } from '../support/ops';
import { spawnScript } from '../support/script';
import { temporaryDir } from '../support/temporary-dir';
import { until } from '../support/until';

const root = join(__dirname, '..', '..');
const startArgs = ['--json', '--no-demo', '--port', '0'];

let stack: LocalStack;
/** Answers to requests that were sent before the stack was ready, one after another. */
const early: { status: number; retryAfter: string | null; text: string }[] = [];

beforeAll(async () => {
  const port = await freePort();
  const starting = startLocalStack({ port });
  let isReady = false;
  const ready = starting.finally(() => {
    isReady = true;
  });
  while (!isReady) {
    // Connections are refused until the stack listens.
    const response = await fetch(`http://127.0.0.1:${port}/api/v0/hosts`).catch(() => undefined);
    if (response !== undefined)
      early.push({
        status: response.status,
        retryAfter: response.headers.get('retry-after'),
        text: await response.text(),
      });
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  stack = await ready;
});

afterAll(async () => {
  await stack?.stop();
});

test('requests during the start are answered: 503, a sentence, and when to try again', () => {
  const unavailable = early.filter(({ status }) => status === 503);
  expect(unavailable.length).toBeGreaterThan(0);
  expect(unavailable[0]).toEqual({
    status: 503,
    retryAfter: '1',
    text: '{"error":{"message":"the local stack is starting; try again in a few seconds"}}',
  });
  // Once the stack is ready, it answers 401, because the requests have no key.
  expect(early.filter(({ status }) => status !== 503 && status !== 401)).toEqual([]);
});

test("README's bodies are stored as they stand", async () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const bodies = [...readme.matchAll(/^\| `POST (\/\S+)`[^|\n]*\| [^`\n]*`([^`\n]*\$NOW[^`\n]*)`/gm)].map(
    ([, path, body]) => ({
      path: path!.replace('{service}', 'readme'),
      body: body!,
    }),
  );
  expect(bodies).toHaveLength(3);
  await fetch(new URL('/api/v0/services', stack.url), {
    method: 'POST',
    headers: { 'x-api-key': stack.apiKey, 'content-type': 'application/json' },
    body: '{"name":"readme"}',
  });
  const posts = bodies.map(
    ({ path, body }) =>
      `curl -s -w '\\n%{http_code}\\n' ${stack.url}${path} -H "X-Api-Key: $KEY" -d '${body}'`,
  );
  const { stdout } = spawnSync(
    'bash',
    [
      '-c',
      `KEY=${stack.apiKey}; NOW=$(date +%s)
       ID=$(curl -s ${stack.url}/api/v0/hosts -H "X-Api-Key: $KEY" -d '{"name":"readme"}' | sed 's/.*"id":"\\([^"]*\\)".*/\\1/')
       ${posts.join('\n')}`,
    ],
    { encoding: 'utf8' },
  );
  expect(stdout.split('\n').filter((line) => line !== '')).toEqual([
    '{"success":true}',
    '200',
    '{"success":true}',
    '200',
    '204',
  ]);
});

test("README's first minute works when it is pasted as one block", async () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const block = /### The first minute\n.*?```sh\n(.*?)```/s.exec(readme)![1]!;
  // Only the address and the data directory differ from those of `npm start`.
  expect(block).toContain('http://127.0.0.1:8080');
  const checkout = temporaryDir();
  mkdirSync(join(checkout, '.local'));
  symlinkSync(stack.dataDir, join(checkout, '.local', 'data'));
  const shell = spawnSync('sh', {
    cwd: checkout,
    input: block.replace('http://127.0.0.1:8080', stack.url),
    encoding: 'utf8',
  });
  rmSync(checkout, { recursive: true });
  expect(shell).toMatchObject({ status: 0, stderr: '' });
  expect(shell.stdout).toMatch(/\{"metrics":\[\{"time":\d+,"value":0\.42\}\]\}\s*$/);
});

describe('ops connect', () => {
  test('finds the address and the key of a stack with a data directory of its own', async () => {
    const file = readFileSync(join(stack.dataDir, 'api-key'), 'utf8').trim();
    expect(await ops(stack.url, 'connect', 'telegraf')).toMatchObject({ url: stack.url, key: file });
    expect(file).toBe(stack.apiKey);
  });

  test('curl: its first line posts a sample, its second reads it back', async () => {
    const { text } = await ops<{ text: string }>(stack.url, 'connect', 'curl');
    const [, post, read] = text.split('\n') as [string, string, string];
    const shell = (line: string) => spawnSync('sh', ['-c', line], { encoding: 'utf8' });
    expect(shell(post)).toMatchObject({ status: 0, stderr: '' });
    const found = await until(
      'the posted sample',
      async () => {
        const { status, stdout } = shell(read);
        return status === 0 ? JSON.parse(stdout).data.result[0] : undefined;
      },
      (seen) => seen !== undefined,
    );
    expect(found).toMatchObject({
      metric: { __name__: 'connect_value', host: 'curl' },
      value: [expect.any(Number), '1'],
    });
  });

  test('otel: the server takes a post to the address and with the header of its environment', async () => {
    const { text } = await ops<{ text: string }>(stack.url, 'connect', 'otel');
    const printed = spawnSync('sh', ['-c', `${text}\nenv`], { encoding: 'utf8' }).stdout;
    const variable = (name: string) =>
      new RegExp(`^OTEL_EXPORTER_OTLP_METRICS_${name}=(.*)$`, 'm').exec(printed)![1]!;
    const [header, key] = variable('HEADERS').split('=') as [string, string];
    const answer = await fetch(variable('ENDPOINT'), {
      method: 'POST',
      headers: { [header]: key, 'content-type': 'application/x-protobuf' },
      body: new Uint8Array(),
    });
    expect(answer.status).toBe(200);
  });
});

describe('npm start', () => {
  test('prints where its key is, and how a client is connected', async () => {
    const child = spawnScript('start', ['--no-demo', '--port', '0', '--ephemeral'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const lines: string[] = [];
    createInterface({ input: child.stdout! }).on('line', (line) => lines.push(line));
    try {
      await until(
        'the last line of the start',
        async () => lines,
        (seen) => seen.some((line) => line.startsWith('open the page: ')),
      );
      const [, url, key] = /: (http:\S+) {2}API key (\S+)$/.exec(lines[0]!)!;
      const [, file] = /^the key is in (\S+)$/.exec(lines[1]!)!;
      expect(readFileSync(file!, 'utf8').trim()).toBe(key);
      expect(lines[2]).toBe(
        `connect a client: npm run ops -- connect telegraf|agent|prometheus|otel|curl --url ${url}`,
      );
    } finally {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
  });

  test.each([
    {
      name: 'a data directory that is a file',
      args: ['--data-dir', '/etc/passwd'],
      says: /^start: \/etc\/passwd .*not a folder/,
    },
    {
      name: 'a data directory that nobody can make',
      args: ['--data-dir', '/proc/foo'],
      says: /^start: \/proc\/foo cannot be the data directory/,
    },
    {
      name: 'a data directory with files of others',
      args: ['--data-dir', join(root, 'shared')],
      says: /^start: .*shared has files of others, such as/,
    },
    { name: 'a misspelt setting', args: ['--set', 'windw=20s'], says: /^start: .*did you mean window\?/ },
    {
      name: '--ephemeral beside --data-dir',
      args: ['--ephemeral', '--data-dir', 'x'],
      says: /'--ephemeral' cannot be used with/,
    },
    { name: 'a setting without a unit', args: ['--set', 'window=20'], says: /^start: .*window/ },
    {
      name: 'a port that is taken',
      args: () => ['--ephemeral', '--port', new URL(stack.url).port],
      says: /^start: port \d+ is in use/,
    },
  ])('refuses $name in one sentence', async ({ args, says }) => {
    const child = spawnScript('start', [...startArgs, ...(typeof args === 'function' ? args() : args)]);
    let stdout = '';
    let stderr = '';
    child.stdout!.on('data', (chunk) => {
      stdout += chunk;
      // The stack started, although it must not. Stop it. The test fails.
      child.kill('SIGTERM');
    });
    child.stderr!.on('data', (chunk) => {
      stderr += chunk;
    });
    const [status] = await once(child, 'close');
    expect({ status, stdout, stderr }).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(says),
    });
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });

  test('--ephemeral leaves no folder behind when it is killed', async () => {
    const folders = () => readdirSync(join(root, '.local')).filter((name) => name.startsWith('ephemeral-'));
    const child = spawnScript('start', [...startArgs, '--ephemeral'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await once(createInterface({ input: child.stdout! }), 'line');
    // Other test files start such stacks at the same time.
    const isOwn = (name: string) => {
      const file = join(root, '.local', name, 'stack.pid');
      return existsSync(file) && readFileSync(file, 'utf8') === String(child.pid);
    };
    const own = folders().find(isOwn)!;
    expect(own).toBeDefined();
    child.kill('SIGKILL');
    await until(
      'the folder gone',
      async () => folders().includes(own),
      (isThere) => !isThere,
    );
  });
});

const INVOKE = '/2015-03-31/functions/heterotsdb-local-operator/invocations';

/** Sends headers as they are given, which fetch does not allow. */
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
