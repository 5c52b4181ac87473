import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import {
  ConfirmSubscriptionCommand,
  CreateTopicCommand,
  SNSClient,
  SubscribeCommand,
} from '@aws-sdk/client-sns';
import { localAws } from '../../scripts/local/provision';
import { evaluateAt, killEvaluation, retryNow } from '../support/evaluator';
import { type LocalStack, SHARED_SETTINGS, startLocalStack } from '../support/local-stack';
import { OpenApiChecker } from '../support/openapi-checker';
import { patientFetch } from '../support/patient-fetch';
import { until } from '../support/until';

const MAIL_TOPIC = SHARED_SETTINGS.notifying.mailTopic;

interface Told {
  readonly alert: {
    readonly id: string;
    readonly status: string;
    readonly isOpen: boolean;
    readonly statusChangedAt: number;
  };
  readonly type: string;
}

describe('monitors and checks', () => {
  let stack: LocalStack;
  let checker: OpenApiChecker;
  /** Start of the ticks. They are in the future; the stack's schedule does not run the evaluator. */
  const startMs = Math.ceil(Date.now() / 600_000) * 600_000 + 2 * 3_600_000;
  const tick = (n: number) => startMs + n * 60_000;

  const told: Told[] = [];
  let failing = false;
  const webhook = createServer(async (request, response) => {
    const body = (await json(request)) as Told;
    response.statusCode = failing ? 503 : 200;
    if (!failing) told.push(body);
    response.end();
  });
  const statesOf = (alertId: string) =>
    told.filter(({ alert }) => alert.id === alertId).map(({ alert }) => alert.status);

  beforeAll(async () => {
    await new Promise<void>((resolve) => webhook.listen(0, '127.0.0.1', resolve));
    stack = await startLocalStack({
      hasFreedoms: true,
      settings: SHARED_SETTINGS.notifying,
      unscheduled: ['evaluator'],
    });
    checker = new OpenApiChecker(
      (await (await patientFetch(new URL('/openapi.json', stack.url))).json()) as Record<string, unknown>,
    );
  });

  afterAll(async () => {
    webhook.closeAllConnections();
    webhook.close();
    await stack?.stop();
  });

  // biome-ignore lint/suspicious/noExplicitAny: answers are checked by the OpenAPI document
  const call = async (method: string, path: string, body?: unknown, status = 200): Promise<any> => {
    const response = await patientFetch(new URL(path, stack.url), {
      method,
      headers: {
        'x-api-key': stack.apiKey,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await response.text();
    expect({ path, status: response.status, text }).toMatchObject({ path, status });
    const template = path
      .split('?')[0]!
      .replace(/\/alerts\/[^/]+/, '/alerts/{alertId}')
      .replace(/\/monitors\/[^/]+/, '/monitors/{monitorId}')
      .replace(/\/checks\/(?!report)[^/]+/, '/checks/{checkId}')
      .replace(/\/channels\/[^/]+/, '/channels/{channelId}')
      .replace(/\/hosts\/[^/]+/, '/hosts/{hostId}');
    expect(
      checker.flawOf(method, template, response.status, response.headers.get('content-type'), text),
    ).toBeUndefined();
    return JSON.parse(text);
  };

  const evaluate = (atMs: number) => evaluateAt(stack, atMs);

  const postLoad = async (hostId: string, atMs: number, value: number) => {
    await call('POST', '/api/v0/tsdb', [{ hostId, name: 'loadavg5', time: atMs / 1000, value }]);
    await until(
      'the sample can be read',
      async () => {
        const range = `from=${atMs / 1000}&to=${atMs / 1000}`;
        const response = await patientFetch(
          new URL(`/api/v0/hosts/${hostId}/metrics?name=loadavg5&${range}`, stack.url),
          {
            headers: { 'x-api-key': stack.apiKey },
          },
        );
        return response.status === 200
          ? ((await response.json()) as { metrics: unknown[] }).metrics.length
          : 0;
      },
      (count) => count === 1,
    );
  };

  const openAlerts = async () => (await call('GET', '/api/v0/alerts')).alerts;
  /**
   * Waits until as many alerts are open. A request that is answered with 503 may have changed a check without recording
   * its alert. The evaluator then records the alert, which waits in the outbox.
   */
  const untilOpen = (count: number, atMs: number) =>
    until(
      `${count} alerts are open`,
      async () => {
        const open = await openAlerts();
        if (open.length !== count) await evaluate(atMs);
        return open;
      },
      ({ length }) => length === count,
    );
  const host = async (name: string): Promise<string> =>
    (await call('POST', '/api/v0/hosts', { name, meta: {}, roleFullnames: ['shop:db'] })).id;

  let hostId: string;
  let monitorId: string;
  let alertId: string;

  test('a monitor opens an alert, which is listed and sent to receivers', async () => {
    hostId = await host('app01');
    const { port } = webhook.address() as AddressInfo;
    const channel = await call('POST', '/api/v0/channels', {
      type: 'webhook',
      name: 'hook',
      url: `http://127.0.0.1:${port}/`,
    });
    const [standard] = (await call('GET', '/api/v0/notification-groups')).notificationGroups;
    const { id: __, type: ___, ...spec } = standard;
    await patientFetch(new URL(`/api/v0/notification-groups/${standard.id}`, stack.url), {
      method: 'PUT',
      headers: { 'x-api-key': stack.apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({ ...spec, childChannelIds: [channel.id] }),
    });
    const monitor = {
      type: 'host',
      name: 'load',
      metric: 'loadavg5',
      operator: '>',
      warning: 3,
      critical: 5,
      duration: 1,
      scopes: ['shop: db'],
    };
    monitorId = (await call('POST', '/api/v0/monitors', monitor)).id;

    await postLoad(hostId, tick(0), 4);
    expect(await evaluate(tick(0))).toMatchObject({ failedTasks: 0, failingRules: 0 });
    const [alert, ...others] = await openAlerts();
    expect(others).toEqual([]);
    expect(alert).toEqual({
      id: expect.stringMatching(/^[0-9A-Za-z]{16}$/),
      status: 'WARNING',
      monitorId,
      type: 'host',
      hostId,
      value: 4,
      openedAt: tick(0) / 1000,
    });
    alertId = alert.id;
    expect(statesOf(alertId)).toEqual(['warning']);
    expect((await call('GET', `/api/v0/hosts/${hostId}/monitored-statuses`)).monitoredStatuses).toEqual([
      { monitorId, status: 'WARNING' },
    ]);
    // Posting the same point again changes nothing.
    await evaluate(tick(1));
    expect(statesOf(alertId)).toEqual(['warning']);
  });

  test('each transition arrives in order, through a receiver that fails and functions that are killed', async () => {
    failing = true;
    await postLoad(hostId, tick(2), 9);
    await killEvaluation(stack, tick(2));
    await evaluate(tick(2));
    await postLoad(hostId, tick(3), 1);
    await evaluate(tick(3));
    expect(await openAlerts()).toEqual([]);
    expect(statesOf(alertId)).toEqual(['warning']);
    failing = false;
    await retryNow(stack);
    await until(
      'the receiver hears of both',
      async () => {
        await evaluate(tick(3));
        return [...new Set(statesOf(alertId))];
      },
      (states) => states.length === 3,
    );
    expect([...new Set(statesOf(alertId))]).toEqual(['warning', 'critical', 'ok']);
    const closed = await call('GET', `/api/v0/alerts/${alertId}`);
    expect(closed).toMatchObject({ status: 'OK', closedAt: tick(3) / 1000, value: 1 });
    const { logs } = await call('GET', `/api/v0/alerts/${alertId}/logs?limit=100&nextId=`);
    expect(
      logs.map(({ status, trigger, targetValue }: Record<string, unknown>) => [status, trigger, targetValue]),
    ).toEqual([
      ['OK', 'monitoring', 1],
      ['CRITICAL', 'monitoring', 9],
      ['WARNING', 'monitoring', 4],
    ]);
  });

  test('an alert that is closed by hand opens again while its cause lasts', async () => {
    await postLoad(hostId, tick(10), 9);
    await evaluate(tick(10));
    const [{ id }] = await openAlerts();
    await call('PUT', `/api/v0/alerts/${id}`, { memo: 'looking' });
    const closed = await call('POST', `/api/v0/alerts/${id}/close`, { reason: 'known' });
    expect(closed).toMatchObject({
      id,
      status: 'OK',
      reason: 'known',
      memo: 'looking',
      closedAt: expect.any(Number),
    });
    expect(await call('POST', `/api/v0/alerts/${id}/close`, { reason: 'again' })).toEqual(closed);
    expect(await openAlerts()).toEqual([]);
    await evaluate(tick(11));
    expect(await openAlerts()).toEqual([]);
    await postLoad(hostId, tick(12), 9);
    await evaluate(tick(12));
    const [anew] = await openAlerts();
    expect(anew.id).not.toBe(id);
    expect(statesOf(id)).toEqual(['critical', 'ok']);
    expect((await call('GET', `/api/v0/alerts/${id}/logs`)).logs[0]).toMatchObject({
      trigger: 'manual',
      status: 'OK',
    });
    await call('DELETE', `/api/v0/monitors/${monitorId}`);
    await evaluate(tick(13));
    expect(await openAlerts()).toEqual([]);
    expect((await call('GET', `/api/v0/alerts/${anew.id}/logs`)).logs[0]).toMatchObject({
      trigger: 'monitorDelete',
    });
  });

  test('alerts are paged, the newest first', async () => {
    const pages: string[] = [];
    let next = '';
    do {
      const page = await call('GET', `/api/v0/alerts?withClosed=true&limit=1&nextId=${next}`);
      pages.push(...page.alerts.map(({ id }: { id: string }) => id));
      next = page.nextId ?? '';
    } while (next !== '');
    expect(pages).toHaveLength(3);
    expect([...pages].sort().reverse()).toEqual(pages);
    expect(pages.at(-1)).toBe(alertId);
  });

  test('reports of checks open and close alerts, and a bad report does not affect the others', async () => {
    const nowS = Math.floor(Date.now() / 1000);
    const report = (status: string, agoS: number, changes: object = {}) => ({
      source: { type: 'host', hostId },
      name: 'procs',
      status,
      message: `procs ${status}`,
      occurredAt: nowS - agoS,
      ...changes,
    });
    await call('POST', '/api/v0/monitoring/checks/report', {
      reports: [
        { bad: true },
        report('CRITICAL', 60),
        report('CRITICAL', 60, { source: { type: 'host', hostId: 'unknown' } }),
        report('OK', 60, { name: 'disk' }),
        null,
      ],
    });
    const [alert] = await untilOpen(1, tick(13));
    expect(alert).toMatchObject({ type: 'check', hostId, status: 'CRITICAL', message: 'procs CRITICAL' });
    const { checks } = await call('GET', '/api/v0/monitoring/checks');
    expect(checks.map(({ name }: { name: string }) => name).sort()).toEqual(['disk', 'procs']);
    expect(await call('GET', `/api/v0/monitoring/checks/${alert.monitorId}`)).toEqual({
      check: { id: alert.monitorId, name: 'procs' },
    });
    const first = await call('GET', '/api/v0/monitoring/checks?limit=1');
    expect((await call('GET', `/api/v0/monitoring/checks?nextId=${first.nextId}`)).checks).toEqual(
      checks.slice(1),
    );
    // Send the report again, and an older one.
    await call('POST', '/api/v0/monitoring/checks/report', {
      reports: [report('CRITICAL', 60), report('OK', 120)],
    });
    await call('POST', '/api/v0/monitoring/checks/report', { reports: [report('OK', 0)] });
    await untilOpen(0, tick(14));
    await evaluate(tick(14));
    expect(statesOf(alert.id)).toEqual(['critical', 'ok']);
    expect(await call('POST', '/api/v0/monitoring/checks/report', { reports: null })).toEqual({
      success: true,
    });
    await call('POST', '/api/v0/monitoring/checks/report', { reports: Array(101).fill({}) }, 400);
  });

  test('the check of a retired host is removed, and its alert ends without a notification', async () => {
    const retiring = await host('app02');
    await call('POST', '/api/v0/monitoring/checks/report', {
      reports: [
        {
          source: { type: 'host', hostId: retiring },
          name: 'procs',
          status: 'WARNING',
          message: '',
          occurredAt: Math.floor(Date.now() / 1000),
        },
      ],
    });
    const [{ id }] = await untilOpen(1, tick(14));
    await call('PUT', `/api/v0/hosts/${retiring}`, {
      name: 'app02',
      meta: {},
      checks: [{ name: 'other', memo: 'm' }],
    });
    const names = async () =>
      (await call('GET', '/api/v0/monitoring/checks')).checks.map(({ name }: { name: string }) => name);
    expect((await names()).sort()).toEqual(['disk', 'other', 'procs', 'procs']);
    await call('POST', `/api/v0/hosts/${retiring}/retire`, {});
    await untilOpen(0, tick(15));
    expect((await call('GET', `/api/v0/alerts/${id}/logs`)).logs[0]).toMatchObject({ trigger: 'hostRetire' });
    await evaluate(tick(15));
    expect(statesOf(id)).toEqual(['warning']);
  });

  test('an external URL is requested, its response time is stored, and receivers are notified of its failure', async () => {
    let status = 200;
    const requested: string[] = [];
    const shop = createServer((request, response) => {
      requested.push(`${request.method} ${request.headers['x-mine']}`);
      response.writeHead(status).end('<h1>Open</h1>');
    });
    await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve));
    const { port } = shop.address() as AddressInfo;
    const spec = {
      type: 'external',
      name: 'shop front',
      url: `http://127.0.0.1:${port}/`,
      service: 'shop',
      responseTimeWarning: 15_000,
      responseTimeDuration: 1,
      containsString: 'Open',
      headers: [{ name: 'X-Mine', value: 'yes' }],
    };
    const { id } = await call('POST', '/api/v0/monitors', spec);
    // The stack's schedule requests the URL, too.
    const externalAlerts = async () =>
      (await openAlerts()).filter(({ monitorId: of }: { monitorId: string }) => of === id);
    await evaluate(tick(30));
    expect(new Set(requested)).toEqual(new Set(['GET yes']));
    expect(await externalAlerts()).toEqual([]);
    const name = `__externalhttp.responsetime.${id}`;
    const range = `from=${tick(30) / 1000}&to=${tick(30) / 1000}`;
    const [stored] = await until(
      'the response time can be read',
      async () => {
        const path = `/api/v0/services/shop/metrics?name=${name}&${range}`;
        const response = await patientFetch(new URL(path, stack.url), {
          headers: { 'x-api-key': stack.apiKey },
        });
        return response.status === 200
          ? ((await response.json()) as { metrics: { value: number }[] }).metrics
          : [];
      },
      ({ length }) => length === 1,
    );
    expect(stored!.value).toBeGreaterThanOrEqual(0);
    status = 503;
    await evaluate(tick(31));
    const [alert] = await externalAlerts();
    expect(alert).toMatchObject({ type: 'external', status: 'CRITICAL', message: '503' });
    status = 200;
    await evaluate(tick(32));
    expect(await externalAlerts()).toEqual([]);
    await until(
      'the webhook has heard of the end',
      async () => statesOf(alert.id),
      (states) => states.length === 2,
    );
    expect(statesOf(alert.id)).toEqual(['critical', 'ok']);
    const before = requested.length;
    await call('DELETE', `/api/v0/monitors/${id}`);
    await evaluate(tick(33));
    expect(requested).toHaveLength(before);
    shop.closeAllConnections();
    shop.close();
  });

  test('mails of a channel go to the subscribers of the topic whose address it names', async () => {
    const inboxes = new Map<string, string[]>();
    const tokens: string[] = [];
    // Subscribers by HTTP in place of mail. SNS filters messages for both in the same way.
    const subscribers = createServer(async (request, response) => {
      const { Type, Message, Token } = (await json(request)) as {
        Type: string;
        Message: string;
        Token: string;
      };
      const name = request.url!.slice(1);
      if (Type === 'Notification') inboxes.set(name, [...(inboxes.get(name) ?? []), Message]);
      else tokens.push(Token);
      response.end();
    });
    await new Promise<void>((resolve) => subscribers.listen(0, '127.0.0.1', resolve));
    const { port } = subscribers.address() as AddressInfo;
    const sns = new SNSClient(localAws(Number(new URL(stack.awsEndpoint).port)));
    await sns.send(new CreateTopicCommand({ Name: 'mails' }));
    for (const name of ['ann', 'bob'])
      await sns.send(
        new SubscribeCommand({
          TopicArn: MAIL_TOPIC,
          Protocol: 'http',
          Endpoint: `http://127.0.0.1:${port}/${name}`,
          Attributes: { FilterPolicy: JSON.stringify({ emails: [`${name}@example.com`] }) },
        }),
      );
    await until(
      'the topic asks its subscribers',
      async () => tokens,
      ({ length }) => length === 2,
    );
    for (const Token of tokens)
      await sns.send(new ConfirmSubscriptionCommand({ TopicArn: MAIL_TOPIC, Token }));
    const mail = (emails: string[]) => ({
      type: 'email',
      name: 'mail',
      emails,
      addToDefaultNotificationGroup: true,
    });
    for (const emails of [['bob@example.com', 'eve@example.com'], ['ann@example.com']])
      expect(await call('POST', '/api/v0/channels', mail(emails))).toMatchObject({ suspendedAt: null });
    const [, last] = (await call('GET', '/api/v0/channels')).channels.filter(
      ({ type }: { type: string }) => type === 'email',
    );
    await call('DELETE', `/api/v0/channels/${last.id}`);
    const kept = last.emails.includes('ann@example.com') ? 'bob' : 'ann';

    const { id } = await call('POST', '/api/v0/monitors', {
      type: 'host',
      name: 'mailed',
      metric: 'loadavg5',
      operator: '>',
      warning: 3,
      duration: 1,
    });
    await postLoad(hostId, tick(40), 9);
    await evaluate(tick(40));
    const found = await until(
      'the subscriber has the mail',
      async () => (inboxes.get(kept) ?? []).filter((text) => text.includes('mailed')),
      ({ length }) => length > 0,
    );
    expect(found).toEqual([expect.stringContaining('[WARNING] mailed app01\nloadavg5 9 > 3')]);
    expect([...inboxes.keys()]).toEqual([kept]);
    await call('DELETE', `/api/v0/monitors/${id}`);
    subscribers.closeAllConnections();
    subscribers.close();
  });

  test('unknown ids, a memo that is too long and bad pages are refused', async () => {
    for (const path of ['/api/v0/alerts/none', '/api/v0/alerts/none/logs', '/api/v0/monitoring/checks/none'])
      await call('GET', path, undefined, 404);
    await call('POST', '/api/v0/alerts/none/close', { reason: '' }, 404);
    await call('PUT', '/api/v0/alerts/none', { memo: 'x' }, 404);
    await call('PUT', `/api/v0/alerts/${alertId}`, { memo: 'x'.repeat(80 * 1024 + 1) }, 413);
    await call('POST', `/api/v0/alerts/${alertId}/close`, {}, 400);
    for (const path of ['/api/v0/alerts', `/api/v0/alerts/${alertId}/logs`, '/api/v0/monitoring/checks']) {
      await call('GET', `${path}?limit=101`, undefined, 400);
      await call('GET', `${path}?nextId=%23`, undefined, 400);
    }
  });
});
