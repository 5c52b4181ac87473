import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { snappyCompress } from 'hysnappy';
import type { BackfillResult } from '../../scripts/ops/rules/backfill';
import type { BacktestResult } from '../../scripts/ops/rules/backtest';
import type { KeyDescription } from '../../shared/tenancy/api-keys';
import { type LocalStack, SHARED_SETTINGS, startLocalStack } from '../support/local-stack';
import { ops, runOps } from '../support/ops';
import { patientFetch } from '../support/patient-fetch';
import { spawnScript } from '../support/script';
import { temporaryDir } from '../support/temporary-dir';
import { until } from '../support/until';
import { encodeV1 } from '../unit/protocol/prometheus/messages';

const MINUTE = 60_000;

const RULES = `groups:
- name: history
  query_offset: 0s
  rules:
  - { record: "job:past:sum", expr: sum by (job) (past) }
  - alert: PastHigh
    expr: job:past:sum > 10
    for: 2m
    annotations: { summary: "{{ $labels.job }} was at {{ $value }}" }
`;

describe('rules over history', () => {
  const folder = temporaryDir();
  const file = join(folder, 'rules.yml');
  /** Start of the samples, ten hours ago, so that more than one part of the range is read. */
  const startMs = Math.floor(Date.now() / MINUTE) * MINUTE - 600 * MINUTE;
  const at = (minute: number) => startMs + minute * MINUTE;
  const iso = (minute: number) => new Date(at(minute)).toISOString().replace('.000', '');
  const values: number[] = Array.from({ length: 180 }, (_, i) =>
    i >= 118 && i < 125 ? 20 : i === 150 ? 30 : 1,
  );
  let stack: LocalStack;

  beforeAll(async () => {
    writeFileSync(file, RULES);
    stack = await startLocalStack({ hasFreedoms: true, settings: SHARED_SETTINGS.oldSamples });
    const labels = [
      ['__name__', 'past'],
      ['instance', 'a:1'],
      ['job', 'web'],
    ] as [string, string][];
    const samples = values.map((value, i) => ({ timestamp: at(i), value }));
    const response = await patientFetch(new URL('/prometheus/api/v1/write', stack.url), {
      method: 'POST',
      headers: {
        'x-api-key': stack.apiKey,
        'content-type': 'application/x-protobuf',
        'content-encoding': 'snappy',
      },
      body: snappyCompress(encodeV1([{ labels, samples }])),
    });
    expect(response.status).toBe(204);
    await until(
      'the samples can be read',
      () => query('count_over_time(past[3h])', 179),
      (found) => found === String(values.length),
    );
    // Samples of a past day may be missing for 15 s in an instance that read the day before they arrived.
    await stack.killFunctions();
  });

  afterAll(async () => {
    await stack?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const query = async (expr: string, minute: number): Promise<string | undefined> => {
    const path = `/prometheus/api/v1/query?query=${encodeURIComponent(expr)}&time=${at(minute) / 1000}`;
    const response = await patientFetch(new URL(path, stack.url), { headers: { 'x-api-key': stack.apiKey } });
    const { data } = (await response.json()) as { data: { result: { value: [number, string] }[] } };
    return data.result[0]?.value[1];
  };
  const history = <T>(name: string, ...more: string[]) =>
    ops<T>(stack.url, 'rules', name, file, '--from', iso(0), '--to', iso(180), ...more);

  test('check warns of selectors without a series in the last day', async () => {
    const doubtful = join(folder, 'doubtful.yml');
    writeFileSync(
      doubtful,
      `${RULES}  - { alert: Typo, expr: 'pasd > 1 or past{job!="web"} offset 1h > 1 or past{job="web"} > 40' }\n`,
    );
    const { files } = await ops<{ files: { warnings: string[] }[] }>(
      ...[stack.url, 'rules', 'check', '--stored', '--key', stack.apiKey, doubtful],
    );
    const warning = (selector: string) => `${doubtful}: no series of the last day matches ${selector}`;
    expect(files.map(({ warnings }) => warnings)).toEqual([[warning('pasd'), warning('past{job!="web"}')]]);
  });

  test('backtest shows the alerts that would have fired, and stores nothing', async () => {
    const key = ['--key', stack.apiKey];
    expect(await history<BacktestResult>('backtest', ...key)).toEqual({
      from: iso(0),
      to: iso(180),
      evaluations: 180,
      alerts: [
        {
          group: 'history',
          labels: { alertname: 'PastHigh', job: 'web' },
          annotations: { summary: 'web was at 20' },
          value: '20',
          activeAt: iso(118),
          firedAt: iso(120),
          resolvedAt: iso(125),
        },
      ],
      neverFired: 1,
      recorded: { 'job:past:sum': 180 },
      failures: [],
    });
    expect(await query('count_over_time(job:past:sum[3h])', 179)).toBeUndefined();
  });

  test('backfill stores what the recording rules yield, once, however often it runs', async () => {
    const stored = { dryRun: false, evaluations: 180, series: 1, samples: 180, refused: {}, failures: [] };
    expect(await history<BackfillResult>('backfill', '--dry-run')).toEqual({ ...stored, dryRun: true });
    expect(await query('count_over_time(job:past:sum[3h])', 179)).toBeUndefined();
    for (const _ of ['first', 'again']) {
      expect(await history<BackfillResult>('backfill')).toEqual(stored);
      await until(
        'the results can be read',
        () => query('count_over_time(job:past:sum[3h])', 179),
        (found) => found === '180',
      );
      await until(
        'the sum of the results can be read from every instance',
        () => query('sum_over_time(job:past:sum[3h])', 179),
        (found) => found === String(values.reduce((sum, value) => sum + value)),
      );
    }
    expect(await query('count_over_time(ALERTS[3h])', 179)).toBeUndefined();
  });

  test('backfill revokes its key when Ctrl-C ends it', async () => {
    const keys = async () => {
      const args = ['keys', 'list', '--tenant', 'default'];
      return (await ops<{ keys: KeyDescription[] }>(stack.url, ...args)).keys;
    };
    const isOwn = ({ rights }: KeyDescription) => rights.join() === 'read';
    const range = ['--from', iso(0), '--to', iso(180), '--rate', '1'];
    const child = spawnScript('ops', ['rules', 'backfill', file, ...range, '--url', stack.url]);
    const ended = once(child, 'exit');
    await until('the command has a key', keys, (listed) => listed.some(isOwn));
    child.kill('SIGINT');
    expect(await ended).toEqual([130, null]);
    expect((await keys()).filter(isOwn)).toEqual([]);
  });

  test('wrong files and times are refused in a sentence', async () => {
    const refused = async (...args: string[]) => {
      const { code, err } = await runOps('rules', ...args, '--url', stack.url);
      return [code, err.trim()];
    };
    expect(await refused('backtest', file, '--from', iso(9), '--to', iso(0))).toEqual([
      1,
      `ops: --from ${new Date(at(9)).toISOString()} is not before --to ${new Date(at(0)).toISOString()}, which is exclusive`,
    ]);
    expect(await refused('backtest', file, '--from', iso(0), '--to', iso(100_000))).toEqual([
      1,
      expect.stringContaining('is in the future'),
    ]);
    writeFileSync(file, RULES.replace('sum by', 'sum buy'));
    expect(await refused('backfill', file, '--from', iso(0), '--to', iso(9))).toEqual([
      1,
      expect.stringContaining('could not parse expression'),
    ]);
  });
});
