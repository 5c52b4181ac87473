import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  ConfirmSubscriptionCommand,
  CreateTopicCommand,
  SNSClient,
  SubscribeCommand,
} from '@aws-sdk/client-sns';
import { snappyCompress } from 'hysnappy';
import { parse } from 'yaml';
import { localAws } from '../../scripts/local/provision';
import { physicalName } from '../../scripts/local/template';
import { NO_RECEIVERS } from '../../shared/alerting/delivery/receivers';
import { tenantIdOf } from '../../shared/model/placement';
import { CANARY_TENANT } from '../../shared/operations/canary-key';
import type { Table } from '../../shared/platform/table';
import { UsageTable } from '../../shared/tenancy/usage-table';
import { evaluateAt, killEvaluation } from '../support/evaluator';
import { type LocalStack, SHARED_SETTINGS, startLocalStack } from '../support/local-stack';
import { OpenApiChecker } from '../support/openapi-checker';
import { patientFetch } from '../support/patient-fetch';
import { until } from '../support/until';
import { encodeV1 } from '../unit/protocol/prometheus/messages';

const TOPIC = SHARED_SETTINGS.notifying.alertTopics;
const RULER = '/prometheus/config/v1/rules';

const GROUP = `name: load
interval: 1m
labels:
  team: web
rules:
  - record: job:load:sum
    expr: sum by (job) (load)
  - alert: High
    expr: job:load:sum   >   10
    for: 1m
    labels: {}
    annotations:
      summary: "{{ $labels.job }} is at {{ $value }}"
  - alert: SeesPending
    expr: ALERTS{alertname="High",alertstate="pending"}
    labels:
      severity: info
`;

const HEARTBEAT = `name: heartbeat
rules:
  - alert: Heartbeat
    expr: vector(1)
`;

const ABSENCE = `name: absence
rules:
  - alert: Loaded
    expr: load > 10
  - alert: Gone
    expr: absent(load)
`;

describe('rules', () => {
  let stack: LocalStack;
  let checker: OpenApiChecker;
  /** Start of the ticks. They are in the future; the stack's schedule does not run the evaluator. */
  const startMs = Math.ceil(Date.now() / 60_000) * 60_000 + 2 * 3_600_000;
  /** The stage's ruleQueryOffset. */
  const offsetMs = 5_000;

  /** What the webhook received: state, alert and id of each. */
  const told: { status: string; id: string; startsAt: string; labels: Record<string, string> }[] = [];
  const slackTexts: string[] = [];
  const topicMessages: string[] = [];
  /** Tokens with which the subscriber of a topic confirms its subscription. */
  const tokens: string[] = [];
  const webhook = createServer(async (request, response) => {
    const { alerts, text, Type, Message, Token } = (await json(request)) as {
      alerts?: typeof told;
      text?: string;
      Type: string;
      Message: string;
      Token: string;
    };
    if (alerts !== undefined) told.push(...alerts);
    else if (text !== undefined) slackTexts.push(text);
    else if (Type === 'Notification') topicMessages.push(Message);
    else tokens.push(Token);
    if (request.url === '/gone') response.statusCode = 410;
    response.end();
  });
  const toldOf = (alertname: string) =>
    told.filter(({ labels }) => labels.alertname === alertname).map(({ status }) => status);

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

  const request = async (method: string, path: string, body?: string) => {
    const headers = { authorization: `Bearer ${stack.apiKey}`, 'x-scope-orgid': 'ignored' };
    const response = await patientFetch(new URL(path, stack.url), { method, headers, body: body ?? null });
    const { status } = response;
    const [type, text] = [response.headers.get('content-type'), await response.text()];
    const [, silence] = /^(\/alertmanager\/api\/v2\/silence\/).+/.exec(path) ?? [];
    const [, namespace, group] = /^\/prometheus\/config\/v1\/rules(\/[^/]+)?(\/[^/]+)?$/.exec(path) ?? [];
    const template = path.startsWith(RULER)
      ? RULER + (namespace === undefined ? '' : '/{namespace}') + (group === undefined ? '' : '/{group}')
      : silence === undefined
        ? path.split('?')[0]!
        : `${silence}{silenceId}`;
    expect(checker.flawOf(method, template, status, type, text)).toBeUndefined();
    return { status, type, text };
  };

  const get = async (path: string) => {
    const { status, text } = await request('GET', path);
    expect({ status, text }).toMatchObject({ status: 200 });
    return JSON.parse(text).data;
  };

  const post = async (atMs: number, values: Readonly<Record<string, number>>) => {
    const series = Object.entries(values).map(([job, value]) => ({
      labels: [
        ['__name__', 'load'],
        ['instance', 'a:1'],
        ['job', job],
      ] as [string, string][],
      samples: [{ timestamp: atMs, value }],
    }));
    const response = await patientFetch(new URL('/prometheus/api/v1/write', stack.url), {
      method: 'POST',
      headers: {
        authorization: `Bearer ${stack.apiKey}`,
        'content-type': 'application/x-protobuf',
        'content-encoding': 'snappy',
      },
      body: snappyCompress(encodeV1(series)),
    });
    expect(response.status).toBe(204);
    await until(
      'the samples can be read',
      () => instant(`count(timestamp(load) == ${atMs / 1000})`, atMs),
      (found) => found[0]?.[1] === String(series.length),
    );
  };

  const invoke = async (name: string, event: unknown): Promise<unknown> => {
    const response = await patientFetch(
      new URL(`/2015-03-31/functions/heterotsdb-local-${name}/invocations`, stack.url),
      { method: 'POST', headers: stack.operatorHeaders, body: JSON.stringify(event) },
    );
    return response.json();
  };

  /**
   * Runs the evaluator until it has evaluated every tick up to a time. Ticks wait while a consumer of the stream lags, as
   * on a busy machine.
   *
   * @returns the report of the last run, with the ticks of all runs
   */
  const evaluate = async (atMs: number) => {
    let ticks = 0;
    const report = await until(
      'no consumer of the stream lags',
      async () => {
        const run = await evaluateAt(stack, atMs);
        ticks += run.ticks;
        return run;
      },
      ({ lagMs }) => lagMs <= offsetMs,
    );
    return { ...report, ticks };
  };

  /** Labels and value of each element. */
  const instant = async (query: string, atMs: number): Promise<[Record<string, string>, string][]> => {
    const data = await get(`/prometheus/api/v1/query?query=${encodeURIComponent(query)}&time=${atMs / 1000}`);
    return data.result.map(
      ({ metric, value }: { metric: Record<string, string>; value: [number, string] }) => [metric, value[1]],
    );
  };

  const timeText = (ms: number) => new Date(ms).toISOString().replace('.000', '');

  const alertsAt = async (atMs: number) =>
    (await instant('ALERTS', atMs))
      .map(([{ alertname, alertstate, job }]) => `${alertname} ${alertstate} ${job}`)
      .sort();

  test('a group is stored as it was written, once it is valid as a whole', async () => {
    expect((await request('GET', RULER)).text).toBe('{}\n');
    expect(await request('POST', `${RULER}/web%2Fapi`, GROUP)).toMatchObject({
      status: 202,
      text: '{"status":"success"}',
    });
    const all = await request('GET', RULER);
    expect([all.status, all.type]).toEqual([200, 'application/yaml']);
    expect(parse(all.text)).toEqual({ 'web/api': [parse(GROUP)] });
    const one = await request('GET', `${RULER}/web%2Fapi/load`);
    expect(parse(one.text)).toEqual(parse(GROUP));
    expect(one.text).toContain('job:load:sum   >   10');
    expect(await request('POST', `${RULER}/web%2Fapi`, GROUP.replace('sum by', 'sum buy'))).toMatchObject({
      status: 400,
      text: expect.stringContaining('could not parse expression'),
    });
    expect(parse((await request('GET', `${RULER}/web%2Fapi/load`)).text)).toEqual(parse(GROUP));
    const many = `name: many\nrules:\n${'  - {record: x, expr: y}\n'.repeat(5)}`;
    expect(await request('POST', `${RULER}/n`, many)).toMatchObject({
      status: 400,
      text: expect.stringContaining('per-user rules per rule group limit (limit: 4 actual: 5) exceeded'),
    });
    expect((await request('GET', `${RULER}/n`)).status).toBe(404);
    expect((await request('GET', `${RULER}/web%2Fapi/other`)).status).toBe(404);
  });

  test('receivers are set, and their secrets are not shown', async () => {
    const { port } = webhook.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/`;
    const body = { webhooks: [{ url, authorization: 'Bearer secret' }] };
    const { text } = await request('PUT', '/api/v1/alert-receivers', JSON.stringify(body));
    const shown = { ...NO_RECEIVERS, webhooks: [{ url, authorization: '***' }] };
    expect(JSON.parse(text)).toEqual(shown);
    // The shown document masks secrets. Putting it back keeps the stored ones.
    await request('PUT', '/api/v1/alert-receivers', JSON.stringify(shown));
    expect(JSON.parse((await request('GET', '/api/v1/alert-receivers')).text)).toEqual(shown);
    const bad = { webhooks: [{ url: 'https://user:x@host/' }] };
    expect((await request('PUT', '/api/v1/alert-receivers', JSON.stringify(bad))).status).toBe(400);
    for (const webhooks of [
      [{ url, match: ['x'] }],
      [{ url, repeatInterval: '1s' }],
      [{ url, match: ['a=~"("'] }],
    ])
      expect((await request('PUT', '/api/v1/alert-receivers', JSON.stringify({ webhooks }))).status).toBe(
        400,
      );
  });

  test('a new rule is listed at once', async () => {
    const { groups } = await get('/prometheus/api/v1/rules');
    expect(groups).toMatchObject([
      {
        name: 'load',
        file: 'web/api',
        interval: 60,
        queryOffset: 5,
        rules: [
          { name: 'job:load:sum', type: 'recording', health: expect.stringMatching(/^(unknown|ok)$/) },
          { name: 'High', type: 'alerting', duration: 60, query: 'job:load:sum   >   10' },
          { name: 'SeesPending', type: 'alerting', labels: { severity: 'info', team: 'web' } },
        ],
      },
    ]);
  });

  test('ticks are evaluated in order: results are stored, alerts become pending, fire and end', async () => {
    expect(await evaluate(startMs)).toMatchObject({ failedTasks: 0, failingRules: 0 });
    const tick = (n: number) => startMs + n * 60_000;
    const at = (n: number) => tick(n) - offsetMs;
    await post(at(1), { shop: 20, blog: 1 });
    expect(await evaluate(tick(1) + 1_000)).toMatchObject({ ticks: 1, failingRules: 0 });
    // A second run of the same tick does nothing.
    expect(await evaluate(tick(1) + 2_000)).toMatchObject({ ticks: 0 });
    await until(
      'the results can be read',
      () => alertsAt(at(1)),
      (found) => found.length === 2,
    );
    expect(await alertsAt(at(1))).toEqual(['High pending shop', 'SeesPending firing shop'].sort());
    expect(await instant('job:load:sum', at(1))).toEqual([
      [{ __name__: 'job:load:sum', job: 'blog', team: 'web' }, '1'],
      [{ __name__: 'job:load:sum', job: 'shop', team: 'web' }, '20'],
    ]);

    await post(at(2), { shop: 30, blog: 1 });
    expect(await evaluate(tick(2))).toMatchObject({ ticks: 1 });
    const { alerts } = await get('/prometheus/api/v1/alerts');
    expect(alerts).toContainEqual({
      labels: { alertname: 'High', job: 'shop', team: 'web' },
      annotations: { summary: 'shop is at 30' },
      state: 'firing',
      activeAt: timeText(tick(1)),
      firedAt: timeText(tick(2)),
      value: '3e+01',
    });
    const { groups } = await get('/prometheus/api/v1/rules?type=alert&rule_name[]=High');
    expect(groups[0].rules).toMatchObject([{ state: 'firing', health: 'ok', alerts: [{ state: 'firing' }] }]);

    expect(toldOf('High')).toEqual(['firing']);

    // Two ticks are evaluated together, as after an outage.
    await post(at(3), { shop: 40, blog: 1 });
    await post(at(4), { shop: 5, blog: 1 });
    expect(await evaluate(tick(4))).toMatchObject({ ticks: 2 });
    expect((await get('/prometheus/api/v1/alerts')).alerts).toEqual([]);
    const ended = await get('/prometheus/api/v1/rules?type=alert&rule_name[]=High');
    expect(ended.groups[0].rules).toMatchObject([
      {
        state: 'inactive',
        condition: { kind: 'threshold', query: 'job:load:sum', op: '>', threshold: 10 },
        alerts: [],
        resolvedAlerts: [{ state: 'resolved', firedAt: timeText(tick(2)), resolvedAt: timeText(tick(4)) }],
      },
    ]);
    expect(toldOf('High')).toEqual(['firing', 'resolved']);
    await until(
      'the results of both ticks can be read',
      async () => [
        (await instant('job:load:sum{job="shop"}', at(3)))[0]?.[1],
        (await instant('job:load:sum{job="shop"}', at(4)))[0]?.[1],
        await alertsAt(at(3)),
        await alertsAt(at(4)),
      ],
      (found) => isDeepStrictEqual(found, ['40', '5', ['High firing shop'], []]),
    );
  });

  test('kills of functions lose no tick, and lost memory resolves nothing', async () => {
    const tick = (n: number) => startMs + n * 60_000;
    const at = (n: number) => tick(n) - offsetMs;
    await post(at(10), { shop: 50 });
    await evaluate(tick(10));
    await post(at(11), { shop: 50 });
    // The next run completes the work of the killed run, at whatever point that one stopped.
    await killEvaluation(stack, tick(11));
    await evaluate(tick(11));
    const firing = async () =>
      (await get('/prometheus/api/v1/alerts')).alerts.map(
        ({ labels, state }: { labels: Record<string, string>; state: string }) =>
          `${labels.alertname} ${state}`,
      );
    expect(await firing()).toEqual(['High firing']);
    await until(
      'the killed tick is there',
      () => instant('job:load:sum{job="shop"}', at(11)),
      (found) => found[0]?.[1] === '50',
    );

    await post(at(12), { shop: 50 });
    stack.killHot();
    // Until the stream has been read again, reads fail, and the alert stays.
    const report = await evaluateAt(stack, tick(12));
    expect(await firing()).toEqual(['High firing']);
    if (report.failingRules > 0) {
      const { groups } = await get('/prometheus/api/v1/rules?health=err');
      expect(groups).toMatchObject([{ name: 'load' }]);
    }
    await until(
      'the lost samples are there again',
      async () => {
        // Run both functions now, before their schedules do. The flusher finds the loss, and recovery repairs
        // it.
        await invoke('flusher', {});
        await invoke('recovery', {});
        const { text } = await request('GET', `/prometheus/api/v1/query?query=load&time=${at(12) / 1000}`);
        return JSON.parse(text) as { warnings?: string[] };
      },
      ({ warnings }) => warnings === undefined,
    );
    await post(at(13), { shop: 50 });
    expect(await evaluate(tick(13))).toMatchObject({ failingRules: 0 });
    // The tick that could not be read was postponed, so there is no hole.
    await until(
      'both ticks are there',
      () => instant('count_over_time(job:load:sum{job="shop"}[2m])', at(13)),
      (found) => found[0]?.[1] === '2',
    );
    expect(await firing()).toEqual(['High firing']);
  });

  test('a silence keeps alerts from the webhook until it ends, in the way of an Alertmanager', async () => {
    const API = '/alertmanager/api/v2';
    const tick = (n: number) => startMs + n * 60_000;
    const at = (n: number) => tick(n) - offsetMs;
    const json = async (method: string, path: string, body?: unknown) => {
      const { status, text } = await request(
        method,
        API + path,
        body === undefined ? undefined : JSON.stringify(body),
      );
      return { status, body: JSON.parse(text) };
    };
    const timeText = (ms: number) => new Date(ms).toISOString();
    // The alert of the previous test ends.
    await post(at(20), { shop: 5 });
    await evaluate(tick(20));
    told.length = 0;

    const matchers = [
      { name: 'alertname', value: 'High|Low', isRegex: true, isEqual: true },
      { name: 'job', value: 'shop', isRegex: false },
    ];
    const asked = {
      matchers,
      createdBy: 'ann',
      comment: 'upgrade',
      startsAt: timeText(Date.now()),
      endsAt: timeText(tick(23) + 1_000),
    };
    const id = (await json('POST', '/silences', asked)).body.silenceID;
    // The clocks of two instances may differ by seconds.
    const inState = (state: string) =>
      until(
        `the silence is ${state}`,
        async () => (await json('GET', `/silence/${id}`)).body,
        ({ status }) => status.state === state,
      );
    const silence = await inState('active');
    expect(silence).toMatchObject({
      id,
      comment: 'upgrade',
      status: { state: 'active' },
      endsAt: asked.endsAt,
      matchers: [matchers[0], { ...matchers[1], isEqual: true }],
    });
    const filtered = async (filter: string) =>
      (await json('GET', `/silences?filter=${encodeURIComponent(filter)}`)).body.length;
    expect([await filtered('job="shop"'), await filtered('job="blog"'), await filtered('job')]).toEqual([
      1,
      0,
      'filter: bad matcher format: job'.length,
    ]);

    await post(at(21), { shop: 20 });
    await evaluate(tick(21));
    await post(at(22), { shop: 20 });
    await evaluate(tick(22));
    expect((await get('/prometheus/api/v1/alerts')).alerts).toMatchObject([
      { labels: { alertname: 'High' } },
    ]);
    expect(toldOf('High')).toEqual([]);
    const suppressed = { state: 'suppressed', silencedBy: [id] };
    expect((await json('GET', '/alerts')).body).toMatchObject([
      { labels: { alertname: 'High', job: 'shop' }, status: suppressed },
    ]);
    expect((await json('GET', '/alerts?silenced=false')).body).toEqual([]);

    expect((await json('POST', '/silences', { ...silence, comment: 'still' })).body).toEqual({
      silenceID: id,
    });
    expect((await json('POST', '/silences', { ...asked, matchers: [] })).status).toBe(400);
    expect(await json('GET', '/silence/unknown')).toEqual({
      status: 404,
      body: 'there is no silence "unknown"',
    });
    // The silence has expired at this tick.
    await post(at(24), { shop: 20 });
    await evaluate(tick(24));
    expect(toldOf('High')).toEqual(['firing']);
    expect((await json('DELETE', `/silence/${id}`)).status).toBe(200);
    await inState('expired');
    expect((await json('GET', '/silences')).body).toMatchObject([{ id, status: { state: 'expired' } }]);
    expect((await json('GET', '/status')).body.cluster.status).toBe('disabled');
  });

  test('an outage of the evaluator for 25 minutes leaves no hole, and receivers are told the state after it', async () => {
    const tick = (n: number) => startMs + n * 60_000;
    const at = (n: number) => tick(n) - offsetMs;
    told.length = 0;
    for (let n = 25; n < 50; n++)
      await post(at(n), { shop: n < 46 ? 20 : 5, blog: n >= 30 && n < 36 ? 20 : 1, api: n < 47 ? 1 : 20 });
    expect(await evaluate(tick(49))).toMatchObject({ ticks: 25, skipped: 0, failingRules: 0 });
    expect(
      told.map(({ status, labels, startsAt }) => `${labels.alertname} ${labels.job} ${status} ${startsAt}`),
    ).toEqual(
      expect.arrayContaining([
        `High shop resolved ${new Date(tick(22)).toISOString()}`,
        `High api firing ${new Date(tick(48)).toISOString()}`,
      ]),
    );
    expect(told).toHaveLength(2);
    await until(
      'all ticks are there',
      () => instant('count_over_time(job:load:sum[25m])', at(49)),
      (found) =>
        isDeepStrictEqual(
          found.map(([, count]) => count),
          ['25', '25', '25'],
        ),
    );
    // An alert that fired and ended in the meantime is in the history, but nobody was notified of it.
    const firing = 'count_over_time(ALERTS{alertname="High",alertstate="firing",job="blog"}[25m])';
    expect((await instant(firing, at(49)))[0]?.[1]).toBe('5');
  });

  test('a removed group leaves nothing behind', async () => {
    expect((await request('DELETE', `${RULER}/web%2Fapi/load`)).status).toBe(202);
    expect((await request('DELETE', `${RULER}/web%2Fapi/load`)).status).toBe(404);
    expect((await get('/prometheus/api/v1/rules')).groups).toEqual([]);
    const atMs = startMs + 60 * 60_000;
    told.length = 0;
    expect(await evaluate(atMs)).toMatchObject({ failedTasks: 0 });
    expect(toldOf('High')).toEqual(['resolved']);
    expect(new Set(told.map(({ id }) => id)).size).toBe(told.length);
    await until(
      'its series have ended',
      () => instant('job:load:sum', atMs),
      (found) => found.length === 0,
    );
  });

  test('a heartbeat comes each minute by a webhook of its own; Slack and a topic are told once', async () => {
    const { port } = webhook.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/`;
    const sns = new SNSClient(localAws(Number(new URL(stack.awsEndpoint).port)));
    await sns.send(new CreateTopicCommand({ Name: 'alerts' }));
    await sns.send(new SubscribeCommand({ TopicArn: TOPIC, Protocol: 'http', Endpoint: url }));
    await until(
      'the topic asks its subscriber',
      async () => tokens,
      ({ length }) => length > 0,
    );
    await sns.send(new ConfirmSubscriptionCommand({ TopicArn: TOPIC, Token: tokens[0]! }));
    const slack = [{ url: `${url}services/T0/secret1234` }];
    const receivers = {
      webhooks: [{ url, match: ['alertname="Heartbeat"'], repeatInterval: '1m' }],
      slack,
      topics: [{ topicArn: TOPIC }],
    };
    const put = async (body: unknown) => request('PUT', '/api/v1/alert-receivers', JSON.stringify(body));
    const shown = { ...NO_RECEIVERS, ...receivers, slack: [{ url: `${url}***1234` }] };
    expect(JSON.parse((await put(receivers)).text)).toEqual(shown);
    expect(JSON.parse((await put(shown)).text)).toEqual(shown);
    expect(await put({ topics: [{ topicArn: `${TOPIC}2` }] })).toMatchObject({ status: 400 });
    expect(await put({ slack: [{ url: `${url}***9999` }] })).toMatchObject({ status: 400 });

    expect((await request('POST', `${RULER}/own`, HEARTBEAT)).status).toBe(202);
    const tick = (n: number) => startMs + (120 + n) * 60_000;
    // A new rule group begins with the newest tick that does not wait for the stream.
    await evaluate(tick(-1));
    told.length = 0;
    for (const n of [0, 1, 2, 3]) await evaluate(tick(n));
    expect(told.map(({ status, labels }) => `${labels.alertname} ${status}`)).toEqual(
      Array(4).fill('Heartbeat firing'),
    );
    expect(new Set(told.map(({ id }) => id)).size).toBe(4);
    expect(slackTexts).toEqual([expect.stringContaining('*[FIRING:1] own/heartbeat*')]);
    await until(
      'the topic has told its subscriber',
      async () => topicMessages,
      (found) => found.length > 0,
    );
    expect(JSON.parse(topicMessages[0]!)).toMatchObject({ version: '4', alerts: [{ status: 'firing' }] });
    const undelivered = async () =>
      JSON.parse((await request('GET', '/api/v1/alert-receivers/undelivered')).text).batches;
    expect(await undelivered()).toEqual([]);

    await put({ webhooks: [{ url: `${url}gone` }] });
    await request('POST', `${RULER}/own`, 'name: other\nrules: [{ alert: Other, expr: vector(1) }]');
    await evaluate(tick(4));
    expect(await undelivered()).toMatchObject([
      {
        namespace: 'own',
        group: 'other',
        attempts: 1,
        reasons: [`127.0.0.1:${port} answered 410`],
        alerts: [{ status: 'firing', labels: { alertname: 'Other' } }],
      },
    ]);
    expect((await request('DELETE', `${RULER}/own/other`)).status).toBe(202);
  });

  test('an outage of ingest gives no absence alert, and a report to the operator; rules go on after it', async () => {
    const table: Table = {
      client: new DynamoDBClient(localAws(Number(new URL(stack.awsEndpoint).port))),
      name: physicalName('MetaTable'),
    };
    const usage = new UsageTable(table);
    const tenantId = tenantIdOf('default');
    const tick = (n: number) => startMs + (240 + n) * 60_000;
    const at = (n: number) => tick(n) - offsetMs;
    /** Records that a tenant and the canary posted in a minute. */
    const use = (n: number) =>
      Promise.all(
        [tenantId, tenantIdOf(CANARY_TENANT)].map((id) =>
          usage.use(id, 'samplesPerMinute', tick(n) / 60_000, 500, AbortSignal.timeout(5_000)),
        ),
      );
    expect((await request('POST', `${RULER}/own`, ABSENCE)).status).toBe(202);
    for (let n = -25; n < 0; n++) await use(n);
    await post(at(0), { shop: 20 });
    await evaluate(tick(0));
    told.length = 0;
    slackTexts.length = 0;
    const firing = async () =>
      (await get('/prometheus/api/v1/alerts')).alerts
        .filter(({ state }: { state: string }) => state === 'firing')
        .map(({ labels }: { labels: Record<string, string> }) => labels.alertname)
        .sort();
    expect(await firing()).toEqual(['Heartbeat', 'Loaded']);

    // Nobody posts for ten minutes: `load` is absent, and its alert's series has vanished.
    for (const n of [2, 6, 10])
      expect(await evaluate(tick(n))).toMatchObject({ ticks: 0, quietMs: (n - 0) * 60_000 });
    expect(await firing()).toEqual(['Heartbeat', 'Loaded']);
    expect(slackTexts).toEqual([]);
    const status = JSON.parse((await request('GET', '/api/v1/status')).text);
    expect(status.rules.behindMs).toBeGreaterThanOrEqual(600_000);

    await use(10);
    await use(11);
    await post(at(12), { shop: 20 });
    expect(await evaluate(tick(12))).toMatchObject({ quietMs: 0, failedTasks: 0 });
    expect(await firing()).toEqual(['Heartbeat', 'Loaded']);
    expect(slackTexts).toEqual([]);
  });
});
