/**
 * Sends alerts to a real Alertmanager while evaluator, ingester and memory of the local stack are killed at random.
 * `ALERTMANAGER` is its binary (by default it is built from its module). The kills
 * go on for three minutes, in a long run for half an hour.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { snappyCompress } from 'hysnappy';
import { Random } from '../../scripts/faults/random';
import { freePort } from '../../scripts/local/server-process';
import { functionName } from '../../shared/platform/names';
import { type LocalStack, startLocalStack } from '../support/local-stack';
import { IS_LONG } from '../support/long';
import { alertmanagerBinary } from '../support/peers';
import { SEED } from '../support/seed';
import { temporaryDir } from '../support/temporary-dir';
import { until } from '../support/until';
import { encodeV1 } from '../unit/protocol/prometheus/messages';

const MINUTES = IS_LONG ? 30 : 3;
const MINUTE = 60_000;
const FEED_MS = 5_000;
const TICK_MS = 30_000;
/** The stage's ruleQueryOffset. */
const OFFSET_MS = 5_000;
const VICTIMS = ['evaluator', 'ingester', 'memory'] as const;
type Victim = (typeof VICTIMS)[number];
const JOBS = Array.from({ length: 8 }, (_, i) => `job${i}`);

const RULES = `name: chaos
interval: 30s
rules:
  - { record: "chaos:sum", expr: sum(chaos) }
  - alert: Bad
    expr: chaos > 0
    annotations: { summary: "{{ $labels.job }} is at {{ $value }}" }
  - alert: Steady
    expr: chaos:sum >= 0
    for: 30s
`;

const random = new Random(SEED);

/** Spans in which a job is bad, as Unix time in ms. Each is longer than any outage that the kills cause. */
function phasesOf(startMs: number, endMs: number): { fromMs: number; toMs: number }[] {
  const length = () => (3 + 3 * random.next()) * MINUTE;
  const phases: { fromMs: number; toMs: number }[] = [];
  for (let atMs = startMs + random.next() * MINUTE; atMs < endMs - 2 * MINUTE; ) {
    const fromMs = atMs;
    const toMs = Math.min(fromMs + length(), endMs);
    phases.push({ fromMs, toMs });
    atMs = toMs + length();
  }
  return phases;
}

/** An alert as a receiver was notified of it. */
interface Told {
  readonly id?: string;
  readonly status: 'firing' | 'resolved';
  readonly labels: Readonly<Record<string, string>>;
  readonly startsAt: string;
}

/** A webhook that an Alertmanager or our evaluator calls. */
class Receiver {
  readonly told: Told[] = [];
  private readonly server = createServer(async (request, response) => {
    this.told.push(...((await json(request)) as { alerts: Told[] }).alerts);
    response.end();
  });

  async listen(): Promise<string> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  /** The states of an alert of which the receiver was notified, in order, without immediate repetitions. */
  statesOf(alert: string): string[] {
    return this.told
      .filter(({ labels }) => nameOf(labels) === alert)
      .map(({ status }) => status)
      .filter((status, i, all) => status !== all[i - 1]);
  }

  messagesOf(alert: string, status: string): number {
    return this.told.filter((each) => nameOf(each.labels) === alert && each.status === status).length;
  }
}

function nameOf({ alertname, job = '' }: Readonly<Record<string, string>>): string {
  return `${alertname} ${job}`.trim();
}

describe(`an Alertmanager through ${MINUTES} minutes of kills, seed ${SEED}`, () => {
  const dir = temporaryDir();
  const [byAlertmanager, byWebhook] = [new Receiver(), new Receiver()];
  let stack: LocalStack;
  let alertmanager: ChildProcess;

  beforeAll(async () => {
    const binary = alertmanagerBinary();
    stack = await startLocalStack({});
    const port = await freePort();
    writeFileSync(
      join(dir, 'alertmanager.yml'),
      `route: { receiver: test, group_by: ['...'], group_wait: 1s, group_interval: 5s, repeat_interval: 1m }
receivers: [{ name: test, webhook_configs: [{ url: '${await byAlertmanager.listen()}' }] }]
`,
    );
    alertmanager = spawn(
      binary,
      [
        `--config.file=${join(dir, 'alertmanager.yml')}`,
        `--storage.path=${join(dir, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        '--cluster.listen-address=',
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    let errors = '';
    alertmanager.stderr!.on('data', (chunk) => {
      errors = (errors + chunk).slice(-5000);
    });
    const url = `http://127.0.0.1:${port}`;
    await until(
      'the Alertmanager',
      () => {
        if (alertmanager.exitCode !== null) throw new Error(`the Alertmanager ended: ${errors}`);
        return fetch(`${url}/-/ready`).then(
          ({ ok }) => ok,
          () => false,
        );
      },
      (isReady) => isReady,
    );
    const webhooks = [{ url: await byWebhook.listen() }];
    await call('PUT', '/api/v1/alert-receivers', JSON.stringify({ alertmanagers: [{ url }], webhooks }));
  });

  afterAll(async () => {
    if (alertmanager?.exitCode === null) {
      const gone = once(alertmanager, 'exit');
      alertmanager.kill('SIGTERM');
      await gone;
    }
    byAlertmanager.close();
    byWebhook.close();
    await stack?.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  const call = async (method: string, path: string, body?: string | Uint8Array): Promise<string> => {
    const headers = {
      authorization: `Bearer ${stack.apiKey}`,
      ...(body instanceof Uint8Array && {
        'content-type': 'application/x-protobuf',
        'content-encoding': 'snappy',
      }),
    };
    const response = await fetch(new URL(path, stack.url), {
      method,
      headers,
      body: typeof body === 'string' ? body : body === undefined ? null : Buffer.from(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text;
  };

  /** Kills the processes of one function. */
  const killFunction = (kind: Exclude<Victim, 'memory'>) => {
    const { functions } = JSON.parse(readFileSync(join(stack.dataDir, 'pids.json'), 'utf8')) as {
      functions: number[];
    };
    for (const pid of functions)
      try {
        const isIt = readFileSync(`/proc/${pid}/environ`, 'utf8')
          .split('\0')
          .includes(`AWS_LAMBDA_FUNCTION_NAME=${functionName('local', kind)}`);
        if (isIt) process.kill(pid, 'SIGKILL');
      } catch {
        // The process has ended.
      }
  };

  test('no alert is missed, none resolves before its time, and each transition is told', async () => {
    const startMs = Date.now();
    const endMs = startMs + MINUTES * MINUTE;
    const phases = new Map(JOBS.map((job) => [job, phasesOf(startMs, endMs)]));
    const valueAt = (job: string, atMs: number) =>
      phases.get(job)!.some(({ fromMs, toMs }) => fromMs <= atMs && atMs < toMs) ? 1 : 0;
    let isOver = false;
    // Each sample is sent again until it is accepted.
    const feed = (async () => {
      for (let atMs = startMs; !isOver; atMs += FEED_MS) {
        await sleep(Math.max(0, atMs - Date.now()));
        const series = JOBS.map((job) => ({
          labels: [
            ['__name__', 'chaos'],
            ['job', job],
          ] as [string, string][],
          samples: [{ timestamp: atMs, value: valueAt(job, atMs) }],
        }));
        const body = snappyCompress(encodeV1(series));
        await until(
          'a post is taken',
          () =>
            call('POST', '/prometheus/api/v1/write', body).then(
              () => true,
              () => false,
            ),
          (isTaken) => isTaken,
        );
      }
    })();
    await call('POST', '/prometheus/config/v1/rules/chaos', RULES);

    const kills: Record<Victim, number> = { evaluator: 0, ingester: 0, memory: 0 };
    let victims: Victim[] = [];
    let memoryMs = 0;
    for (;;) {
      await sleep(Math.min((10 + 20 * random.next()) * 1000, Math.max(0, endMs - Date.now())));
      if (Date.now() >= endMs) break;
      if (victims.length === 0) victims = random.shuffled(VICTIMS);
      const victim = victims.pop()!;
      // After a loss of memory, recovery takes a minute or two, in which nothing can be evaluated.
      if (victim === 'memory' && Date.now() - memoryMs < 2.5 * MINUTE) continue;
      if (victim === 'memory') {
        stack.killHot();
        memoryMs = Date.now();
      } else killFunction(victim);
      kills[victim]++;
    }

    const alerts = JOBS.map((job) => `Bad ${job}`);
    const expected = JOBS.map((job) => phases.get(job)!.flatMap(() => ['firing', 'resolved']));
    const seen = (receiver: Receiver) => alerts.map((alert) => receiver.statesOf(alert));
    await until(
      'all alerts have ended',
      async () => ({ alertmanager: seen(byAlertmanager), webhook: seen(byWebhook), expected }),
      (found) =>
        [found.alertmanager, found.webhook].every((each) =>
          each.every((states, i) => states.length >= expected[i]!.length),
        ),
    );
    // Wait for a whole repeat interval, so that any further notification would have come.
    const repeats = byAlertmanager.messagesOf('Steady', 'firing');
    await until(
      'the steady alert repeats',
      async () => byAlertmanager.messagesOf('Steady', 'firing'),
      (found) => found >= repeats + 2,
    );
    isOver = true;
    await feed;

    const ids = new Map<string, number>();
    for (const { id } of byWebhook.told) ids.set(id!, (ids.get(id!) ?? 0) + 1);
    const late = JOBS.flatMap((job) =>
      phases.get(job)!.map(({ fromMs }, i) => {
        const starts = byWebhook.told.filter(({ labels }) => nameOf(labels) === `Bad ${job}`);
        const firing = [...new Set(starts.map(({ startsAt }) => Date.parse(startsAt)))].sort((a, b) => a - b);
        return (firing[i]! - fromMs) / 1000;
      }),
    );
    console.log(
      `seed ${SEED}: kills ${JSON.stringify(kills)}; ${ids.size} transitions, ${byWebhook.told.length} messages of the webhook, ` +
        `${byAlertmanager.told.length} of the Alertmanager, the steady alert ${byAlertmanager.messagesOf('Steady', 'firing')} times; ` +
        `alerts fire ${Math.min(...late).toFixed(0)} to ${Math.max(...late).toFixed(0)} s after their sample`,
    );
    expect(seen(byAlertmanager)).toEqual(expected);
    expect(seen(byWebhook)).toEqual(expected);
    expect([byAlertmanager.statesOf('Steady'), byWebhook.statesOf('Steady')]).toEqual([
      ['firing'],
      ['firing'],
    ]);
    // The steady alert has one transition.
    expect(ids.size).toBe(expected.flat().length + 1);
    expect(Math.max(...late)).toBeLessThan((TICK_MS + OFFSET_MS + MINUTE) / 1000);
  });

  test('recording rules have no hole', async () => {
    const { data } = JSON.parse(
      await call('GET', `/prometheus/api/v1/query?query=${encodeURIComponent('chaos:sum[1h]')}`),
    ) as { data: { result: { values: [number, string][] }[] } };
    const times = data.result[0]!.values.map(([time]) => time);
    const gaps = times.slice(1).map((time, i) => time - times[i]!);
    expect(times.length).toBeGreaterThanOrEqual(2 * MINUTES);
    expect(new Set(gaps)).toEqual(new Set([TICK_MS / 1000]));
  });
});
