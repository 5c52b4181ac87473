/**
 * Mackerel's agent reports checks and metrics to a local stack. mkr lists, explains and closes the alerts
 * that follow.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { Client } from '../support/client';
import { type LocalStack, startLocalStack } from '../support/local-stack';
import { mackerelAgentBinary, mkrBinary } from '../support/peers';
import { temporaryDir } from '../support/temporary-dir';
import { until } from '../support/until';

interface Alert {
  readonly id: string;
  readonly status: string;
  readonly type: string;
  readonly message?: string;
  readonly value?: number;
  readonly reason?: string;
  readonly monitorId: string;
}

describe("Mackerel's agent", () => {
  const folder = temporaryDir();
  const exitCode = join(folder, 'exit-code');
  const face = join(folder, 'face');
  let stack: LocalStack;
  let client: Client;
  let agent: ChildProcess | undefined;
  let agentLog = '';

  const told: string[] = [];
  const webhook = createServer(async (request, response) => {
    const { alert } = (await json(request)) as { alert: { monitorName: string; status: string } };
    told.push(`${alert.monitorName} ${alert.status}`);
    response.end();
  });

  beforeAll(async () => {
    const program = mackerelAgentBinary();
    await new Promise<void>((resolve) => webhook.listen(0, '127.0.0.1', resolve));
    stack = await startLocalStack({ settings: { services: 'shop' } });
    client = new Client(stack.url, stack.apiKey);
    const { port } = webhook.address() as AddressInfo;
    const channel = { type: 'webhook', name: 'hook', url: `http://127.0.0.1:${port}/`, events: ['alert'] };
    const { id } = await client.json<{ id: string }>('POST', '/api/v0/channels', {
      ...channel,
      addToDefaultNotificationGroup: true,
    });
    expect(id).toBeDefined();
    writeFileSync(exitCode, '0');
    writeFileSync(face, '1');
    mkdirSync(join(folder, 'root'));
    writeFileSync(
      join(folder, 'agent.conf'),
      [
        `apibase = ${JSON.stringify(stack.url)}`,
        `apikey = ${JSON.stringify(stack.apiKey)}`,
        `root = ${JSON.stringify(join(folder, 'root'))}`,
        `pidfile = ${JSON.stringify(join(folder, 'agent.pid'))}`,
        'cloud_platform = "none"',
        'roles = ["shop:web"]',
        '[plugin.checks.flapping]',
        `command = ["sh", "-c", "echo exits with $(cat ${exitCode}); exit $(cat ${exitCode})"]`,
        'notification_interval = 10',
        '[plugin.checks.dead]',
        'command = ["/no/such/program"]',
        'max_check_attempts = 2',
        '[plugin.metrics.dice]',
        `command = ["sh", "-c", "printf 'dice.face\\\\t%s\\\\t%s\\\\n' $(cat ${face}) $(date +%s)"]`,
        '',
      ].join('\n'),
    );
    agent = spawn(program, ['--conf', join(folder, 'agent.conf'), '--verbose'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    agent.stderr!.on('data', (chunk) => {
      agentLog += chunk;
    });
  });

  afterAll(async () => {
    const isRunning = agent?.exitCode === null;
    const ended = isRunning && new Promise((resolve) => agent!.once('exit', resolve));
    agent?.kill('SIGTERM');
    await ended;
    webhook.closeAllConnections();
    webhook.close();
    await stack?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const mkr = (...args: string[]): string => {
    const options = ['--apibase', stack.url, '--conf', join(folder, 'none'), ...args];
    const env = { PATH: process.env.PATH, MACKEREL_APIKEY: stack.apiKey };
    const { status, stdout, stderr } = spawnSync(mkrBinary(), options, { env, encoding: 'utf8' });
    expect({ args, status, err: status === 0 ? '' : stderr }).toEqual({ args, status: 0, err: '' });
    return stdout;
  };
  const alerts = () => JSON.parse(mkr('alerts')) as Alert[] | null;
  const openChecks = async () =>
    (await client.json<{ alerts: Alert[] }>('GET', '/api/v0/alerts')).alerts.filter(
      ({ type }) => type === 'check',
    );

  const become = (what: string, messages: readonly string[]) =>
    until(
      `${what}; the agent's log: ${agentLog.slice(-2000)}`,
      async () =>
        (await openChecks()).map(({ status, message }) => `${status} ${message!.split('\n')[0]}`).sort(),
      (found) => found.length === messages.length && found.every((text, i) => text.startsWith(messages[i]!)),
    );

  test('a dead plugin is UNKNOWN from its second report on; one that flaps opens and closes an alert each time', async () => {
    await become('the dead plugin is noticed', ['UNKNOWN']);
    writeFileSync(exitCode, '1');
    await become('the plugin warns', ['UNKNOWN', 'WARNING exits with 1']);
    writeFileSync(exitCode, '2');
    await become('the plugin is critical', ['CRITICAL exits with 2', 'UNKNOWN']);
    writeFileSync(exitCode, '0');
    await become('the plugin is well', ['UNKNOWN']);
    writeFileSync(exitCode, '3');
    await become('the plugin is unknown', ['UNKNOWN', 'UNKNOWN exits with 3']);
    await until(
      'the webhook hears of each',
      async () => told.filter((text) => text.startsWith('flapping')),
      (texts) => texts.length >= 4,
    );
    expect(told.filter((text) => text.startsWith('flapping'))).toEqual(
      ['warning', 'critical', 'ok', 'unknown'].map((status) => `flapping ${status}`),
    );
    expect(told.filter((text) => text.startsWith('dead'))).toEqual(['dead unknown']);
  });

  test('a metric of a plugin opens an alert, and its next value closes it', async () => {
    const monitor = {
      type: 'host',
      name: 'dice',
      metric: 'custom.dice.face',
      operator: '>',
      warning: 3,
      critical: null,
      duration: 1,
      scopes: ['shop'],
    };
    await client.json('POST', '/api/v0/monitors', monitor);
    const found = async () =>
      (await client.json<{ alerts: Alert[] }>('GET', '/api/v0/alerts')).alerts
        .filter(({ type }) => type === 'host')
        .map(({ status, value }) => `${status} ${value}`);
    writeFileSync(face, '6');
    await until('the alert opens', found, (texts) => texts.join() === 'WARNING 6');
    writeFileSync(face, '2');
    await until('the alert closes', found, (texts) => texts.length === 0);
  });

  test('mkr lists alerts, reads their logs and closes them', async () => {
    const [flapping] = (await openChecks()).filter(({ message }) => message!.startsWith('exits'));
    expect(alerts()!.map(({ id }) => id)).toContain(flapping!.id);
    expect(mkr('alerts', 'list')).toContain('exits with 3');
    expect(mkr('alerts', 'list', '-w')).toContain('dice');
    const logs = JSON.parse(mkr('alerts', 'logs', flapping!.id)) as { status: string; trigger: string }[];
    expect(logs.map(({ status, trigger }) => `${status} ${trigger}`)).toEqual(['UNKNOWN monitoring']);
    mkr('alerts', 'close', '-r', 'known', flapping!.id);
    expect(await client.json('GET', `/api/v0/alerts/${flapping!.id}`)).toMatchObject({
      status: 'OK',
      reason: 'known',
    });
    expect(JSON.parse(mkr('alerts', 'logs', flapping!.id))[0]).toMatchObject({
      status: 'OK',
      trigger: 'manual',
    });
    // The plugin still fails, so its next report opens another alert.
    await until(
      'another alert opens',
      async () => (await openChecks()).map(({ id, message }) => `${id} ${message}`),
      (texts) => texts.some((text) => text.includes('exits') && !text.startsWith(flapping!.id)),
    );
  });
});
