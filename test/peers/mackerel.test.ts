/**
 * Mackerel's own clients work with the objects of a local stack: mkr, and the acceptance tests of Terraform's
 * provider.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '../support/client';
import { type LocalStack, startLocalStack } from '../support/local-stack';
import { mackerelProviderTests, mkrBinary, tofuBinary } from '../support/peers';
import { temporaryDir } from '../support/temporary-dir';

type Json = Record<string, unknown>;

const thresholds = { operator: '>', warning: 1.5, critical: null };
const common = { memo: 'why', isMute: true, notificationInterval: 60 };

/**
 * Files of monitors. Each type is there once with only its required fields and once with every field that mkr knows.
 */
const MONITORS: Readonly<Record<string, Json>> = {
  'connectivity, minimal': { type: 'connectivity', name: 'connectivity' },
  'connectivity, full': {
    type: 'connectivity',
    name: 'gone',
    ...common,
    alertStatusOnGone: 'WARNING',
    scopes: ['shop'],
    excludeScopes: ['shop: web'],
  },
  'host, minimal': { type: 'host', name: 'load', metric: 'loadavg5', duration: 1, ...thresholds },
  'host, full': {
    type: 'host',
    name: 'cpu',
    ...common,
    metric: 'cpu%',
    duration: 10,
    ...thresholds,
    critical: 99,
    maxCheckAttempts: 1,
    scopes: ['shop: web'],
    excludeScopes: ['shop'],
  },
  'service, minimal': {
    type: 'service',
    name: 'orders',
    service: 'shop',
    metric: 'orders',
    duration: 1,
    ...thresholds,
  },
  'service, full': {
    type: 'service',
    name: 'late',
    ...common,
    service: 'shop',
    metric: 'orders',
    duration: 3,
    ...thresholds,
    critical: 2,
    maxCheckAttempts: 10,
    missingDurationWarning: 10,
    missingDurationCritical: 10080,
  },
  'external, minimal': { type: 'external', name: 'site', url: 'https://example.com/' },
  'external, full': {
    type: 'external',
    name: 'api',
    ...common,
    url: 'https://example.com/api',
    method: 'POST',
    maxCheckAttempts: 3,
    service: 'shop',
    responseTimeWarning: 500,
    responseTimeCritical: 1000.5,
    responseTimeDuration: 5,
    requestBody: '{}',
    containsString: 'ok',
    expectedStatusCode: 200,
    certificationExpirationWarning: 30,
    certificationExpirationCritical: 0,
    skipCertificateVerification: true,
    followRedirect: true,
    headers: [{ name: 'Cache-Control', value: 'no-cache' }],
  },
  'external, without headers': { type: 'external', name: 'bare', url: 'https://example.com/', headers: [] },
  'expression, minimal': {
    type: 'expression',
    name: 'sum',
    expression: 'sum(role(shop:web, loadavg5))',
    ...thresholds,
  },
  'expression, full': {
    type: 'expression',
    name: 'days',
    ...common,
    ...thresholds,
    evaluateBackwardMinutes: 10,
    expression: 'scale(timeLeftForecast(max(role(shop:web, filesystem.*.used)), 1d, 1e9), 1/86400)',
  },
  'anomalyDetection, minimal': {
    type: 'anomalyDetection',
    name: 'odd',
    scopes: ['shop: web'],
    warningSensitivity: 'normal',
  },
  'anomalyDetection, full': {
    type: 'anomalyDetection',
    name: 'very odd',
    ...common,
    scopes: ['shop: web'],
    warningSensitivity: 'sensitive',
    criticalSensitivity: 'insensitive',
    maxCheckAttempts: 5,
    trainingPeriodFrom: 1561429260,
  },
  'query, minimal': { type: 'query', name: 'up', query: 'up', ...thresholds, legend: '' },
  'query, full': {
    type: 'query',
    name: 'up of {{job}}',
    ...common,
    query: 'sum by (job) (up)',
    legend: '{{job}}',
    ...thresholds,
    critical: 0,
    evaluateBackwardMinutes: 0,
  },
};

const DASHBOARD = {
  title: 'shop',
  memo: 'of the shop',
  urlPath: 'teams/shop',
  widgets: [
    {
      type: 'graph',
      title: 'load',
      layout: { x: 0, y: 0, width: 8, height: 10 },
      graph: { type: 'role', roleFullname: 'shop:web', name: 'loadavg5', isStacked: true },
      range: { type: 'relative', period: 3600, offset: 0 },
      referenceLines: [{ label: 'limit', value: 4 }],
    },
    {
      type: 'value',
      title: 'up',
      layout: { x: 8, y: 0, width: 8, height: 5 },
      fractionSize: 0,
      metric: { type: 'query', query: 'count(up)', legend: '' },
    },
    {
      type: 'markdown',
      title: 'notes',
      markdown: '# Shop',
      layout: { x: 0, y: 10, width: 24, height: 3 },
    },
    {
      type: 'alertStatus',
      title: 'alerts',
      roleFullname: 'shop:web',
      layout: { x: 16, y: 0, width: 8, height: 5 },
    },
  ],
};

/** Acceptance tests for objects that this project does not have. */
const NOT_HERE = /AWSIntegration/;

describe("Mackerel's clients", () => {
  const folder = temporaryDir();
  let stack: LocalStack;
  let client: Client;

  beforeAll(async () => {
    stack = await startLocalStack({ settings: { services: 'shop' } });
    client = new Client(stack.url, stack.apiKey);
    await client.json('POST', '/api/v0/services/shop/roles', { name: 'web' });
  });

  afterAll(async () => {
    await stack?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  describe('mkr', () => {
    let program: string;

    beforeAll(() => {
      program = mkrBinary();
    });

    const mkr = (...args: string[]) => {
      const options = ['--apibase', stack.url, '--conf', join(folder, 'none'), ...args];
      const env = { PATH: process.env.PATH, MACKEREL_APIKEY: stack.apiKey };
      const { status, stdout, stderr } = spawnSync(program, options, { cwd: folder, env, encoding: 'utf8' });
      return { status, out: stdout, err: stderr };
    };

    /** @throws with the output of mkr if it fails */
    const succeed = (...args: string[]): string => {
      const { status, out, err } = mkr(...args);
      expect({ args, status, err: status === 0 ? '' : err + out }).toEqual({ args, status: 0, err: '' });
      return out;
    };

    const read = (file: string) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Json;
    const write = (file: string, json: unknown) => writeFileSync(join(folder, file), JSON.stringify(json));
    const withoutId = ({ id: _, ...rest }: Json) => rest;

    test.each(Object.entries(MONITORS))('monitors push, diff and pull: %s', (_, monitor) => {
      write('one.json', { monitors: [monitor] });
      succeed('monitors', 'push', '-F', 'one.json');
      succeed('monitors', 'diff', '--exit-code', '-F', 'one.json');
      succeed('monitors', 'pull', '-F', 'pulled.json');
      // mkr leaves out fields that are empty in Go, and writes null for an absent list.
      const [pulled] = read('pulled.json').monitors as [Json];
      expect(withoutId(pulled)).toMatchObject(
        Object.fromEntries(
          Object.entries(monitor).filter(
            ([, value]) => value !== '' && !(Array.isArray(value) && value.length === 0),
          ),
        ),
      );
      succeed('monitors', 'diff', '--exit-code', '-F', 'pulled.json');
    });

    test('monitors push makes, changes and deletes what differs, and nothing else', () => {
      const monitors = Object.values(MONITORS);
      write('all.json', { monitors });
      expect(mkr('monitors', 'diff', '--exit-code', '-F', 'all.json').status).toBe(1);
      succeed('monitors', 'push', '-F', 'all.json');
      succeed('monitors', 'diff', '--exit-code', '-F', 'all.json');
      succeed('monitors', 'pull', '-F', 'pulled.json');
      const pulled = read('pulled.json').monitors as Json[];
      expect(pulled).toHaveLength(monitors.length);
      const changed = pulled
        .filter(({ type }) => type !== 'query')
        .map((each) => (each.name === 'load' ? { ...each, warning: 3 } : each));
      write('changed.json', { monitors: changed });
      succeed('monitors', 'push', '-F', 'changed.json');
      succeed('monitors', 'diff', '--exit-code', '-F', 'changed.json');
      const after = JSON.parse(succeed('monitors')) as Json[];
      expect(after).toEqual(changed);
    });

    test('monitors push says why a monitor is refused', () => {
      write('bad.json', { monitors: [{ ...MONITORS['host, minimal'], scopes: ['none'] }] });
      const { status, err } = mkr('monitors', 'push', '-F', 'bad.json');
      expect(status).not.toBe(0);
      expect(err).toContain('scopes.0: there is no service "none"');
    });

    test('channels and channels pull', async () => {
      const posted = [
        { type: 'email', name: 'mail', emails: ['a@example.com'], userIds: [], events: ['alert'] },
        {
          type: 'slack',
          name: 'chat',
          url: 'https://hooks.slack.com/services/T/B/X',
          events: ['alert'],
          mentions: { critical: '@here' },
          enabledGraphImage: true,
        },
        { type: 'webhook', name: 'hook', url: 'https://example.com/', events: [], enabledGraphImage: false },
        { type: 'line', name: 'phone' },
      ];
      for (const channel of posted) await client.json('POST', '/api/v0/channels', channel);
      succeed('channels', 'pull', '-F', 'channels.json');
      const pulled = read('channels.json').channels as Json[];
      expect(pulled).toHaveLength(posted.length);
      for (const channel of posted)
        expect(pulled.find(({ name }) => name === channel.name)).toMatchObject(channel);
      expect((JSON.parse(succeed('channels')) as Json[]).map(({ name }) => name).sort()).toEqual(
        posted.map(({ name }) => name).sort(),
      );
    });

    test('dashboards push, pull, and push of what was pulled', () => {
      write('dashboard.json', DASHBOARD);
      succeed('dashboards', 'push', '-F', 'dashboard.json');
      const [listed] = JSON.parse(succeed('dashboards')) as [{ id: string }];
      succeed('dashboards', 'pull');
      const file = `dashboard-${listed.id}.json`;
      const pulled = read(file);
      expect(pulled).toMatchObject(DASHBOARD);
      rmSync(join(folder, file));
      write('again.json', { ...pulled, title: 'shop 2' });
      succeed('dashboards', 'push', '-F', 'again.json');
      succeed('dashboards', 'pull', '--id', listed.id);
      expect(read(file)).toEqual({ ...pulled, title: 'shop 2', updatedAt: expect.any(Number) });
      expect(readdirSync(folder).filter((name) => name.startsWith('dashboard-'))).toEqual([file]);
      const { status, err } = mkr('dashboards', 'push', '-F', 'dashboard.json');
      expect(status).not.toBe(0);
      expect(err).toContain('another dashboard has the path "teams/shop"');
    });

    test('dashboards generate is obsolete in mkr itself', () => {
      const { status, err } = mkr('dashboards', 'generate');
      expect({ status, err }).toEqual({ status: 1, err: expect.stringContaining('obsolete') });
    });
  });

  test("the acceptance tests of Terraform's provider pass with OpenTofu", () => {
    const [program, tofu] = [mackerelProviderTests(), tofuBinary()];
    const home = join(folder, 'tofu');
    mkdirSync(home);
    const { status, stdout, stderr } = spawnSync(
      program,
      ['-test.v', '-test.run', '^TestAcc', '-test.skip', NOT_HERE.source, '-test.parallel', '2'],
      {
        cwd: home,
        encoding: 'utf8',
        maxBuffer: 64 * 1024 * 1024,
        env: {
          PATH: process.env.PATH,
          HOME: home,
          API_BASE: stack.url,
          MACKEREL_API_KEY: stack.apiKey,
          TF_ACC: '1',
          TF_ACC_TERRAFORM_PATH: tofu,
          TF_ACC_PROVIDER_HOST: providerHost(tofu, home),
          TF_ACC_PROVIDER_NAMESPACE: 'hashicorp',
          CHECKPOINT_DISABLE: '1',
        },
      },
    );
    expect(existsSync(program)).toBe(true);
    const results = [...stdout.matchAll(/^--- (PASS|FAIL|SKIP): (\w+)/gm)].map(([, result, name]) => [
      name,
      result,
    ]);
    const failed = results.filter(([, result]) => result !== 'PASS');
    expect({ status, failed, errors: status === 0 ? '' : (stdout + stderr).slice(-20_000) }).toEqual({
      status: 0,
      failed: [],
      errors: '',
    });
    expect(results.length).toBeGreaterThan(40);
  });
});

/** The host that OpenTofu adds to a provider's address. */
function providerHost(tofu: string, folder: string): string {
  const config =
    'terraform {\n  required_providers {\n    mackerel = {\n      source = "hashicorp/mackerel"\n    }\n  }\n}\n';
  writeFileSync(join(folder, 'main.tf'), config);
  const { stdout } = spawnSync(tofu, ['providers'], { cwd: folder, encoding: 'utf8' });
  rmSync(join(folder, 'main.tf'));
  return /provider\[([^/]+)\//.exec(stdout)![1]!;
}
