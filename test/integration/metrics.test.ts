import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DryRun } from '../../scripts/ops/delete';
import { Functions } from '../../scripts/ops/invoke';
import type { SmokeResult } from '../../scripts/ops/smoke';
import { SMOKE_TENANT } from '../../scripts/ops/smoke-sample';
import {
  METRIC_DIMENSION,
  METRIC_NAMESPACE,
  METRIC_SERVICE,
  METRICS,
  UNITS,
} from '../../shared/platform/names';
import { synthesize } from '../infra/synthesize';
import { Client } from '../support/client';
import { type LocalStack, startLocalStack } from '../support/local-stack';
import { ops } from '../support/ops';
import { until } from '../support/until';
import { metricText, watchedMetrics } from '../support/watched-metrics';

let stack: LocalStack;

beforeAll(async () => {
  stack = await startLocalStack({ hasFreedoms: true, settings: { window: '20s', flushDelay: '1s' } });
});

afterAll(() => stack?.stop());

/** The last line of the log that has the metric. */
function lastOf(metric: string): Record<string, unknown> | undefined {
  const lines = readFileSync(join(stack.dataDir, 'functions.log'), 'utf8').split('\n');
  const line = lines.findLast((each) => each.includes(`"${metric}":`));
  return line === undefined ? undefined : JSON.parse(line);
}

/** Metrics that the functions have emitted so far, in the embedded metric format. */
function emitted(): Set<string> {
  const lines = readFileSync(join(stack.dataDir, 'functions.log'), 'utf8').split('\n');
  return new Set(
    lines
      .filter((line) => line.includes('"CloudWatchMetrics"'))
      .map((line) => JSON.parse(line))
      .flatMap((line) =>
        line._aws.CloudWatchMetrics.flatMap(({ Namespace, Dimensions, Metrics }: EmbeddedMetrics[number]) =>
          Dimensions.flatMap((names) =>
            Metrics.filter(({ Name }) => [line[Name]].flat().every((value) => typeof value === 'number')).map(
              ({ Name }) =>
                metricText(Namespace, Name, Object.fromEntries(names.map((name) => [name, line[name]]))),
            ),
          ),
        ),
      ),
  );
}

type EmbeddedMetrics = { Namespace: string; Dimensions: string[][]; Metrics: { Name: string }[] }[];

test("the smoke test reads its sample from memory and from the warm tier, and leaves nothing in a user's lists", async () => {
  const client = new Client(stack.url, stack.apiKey, true);
  const lists = () =>
    Promise.all(
      ['/api/v0/hosts', '/api/v0/services', '/prometheus/api/v1/label/__name__/values'].map(async (path) => {
        const answer = await until(
          `${path} answers`,
          () => client.request('GET', path),
          ({ status }) => status === 200,
        );
        return answer.json();
      }),
    );
  const before = await lists();
  // After the drain, the stream may deliver the sample's batch again, which puts the sample back into memory. In this
  // case, run the smoke test again.
  const { drained, tiers, concurrency } = await until(
    'a sample that has left memory',
    () => ops<SmokeResult>(stack.url, 'smoke'),
    (result) => result.tiers.after.hot === 0,
  );
  expect(drained).toBeGreaterThan(0);
  expect(tiers.before.hot).toBe(1);
  expect(tiers.after).toEqual({ hot: 0, warm: 1, cold: 0 });
  // A local stack has no account.
  expect(concurrency).toBeUndefined();
  expect(await lists()).toEqual(before);
  expect(await ops(stack.url, 'keys', 'list', '--tenant', SMOKE_TENANT)).toEqual({ keys: [] });
});

test('the deep smoke test passes each step that a local stack has, says why it skips the others, and may be repeated', async () => {
  let hostId = '';
  for (const time of ['first', 'second']) {
    const { steps, ...result } = await ops<SmokeResult>(stack.url, 'smoke', '--deep', '--patience', '10m');
    expect({ time, steps: steps!.map(({ name, state }) => `${name} ${state}`), saw: steps }).toMatchObject({
      steps: [
        'functions passed',
        'archive passed',
        'replay passed',
        'failover skipped',
        'restore skipped',
        'removal passed',
        'alarms skipped',
      ],
    });
    hostId = result.hostId;
  }
  // Neither samples nor keys remain.
  const of = ['--tenant', SMOKE_TENANT, '--host', hostId];
  const { series } = await ops<DryRun>(stack.url, 'delete', ...of, '--name', 'custom.smoke*', '--dry-run');
  expect(series.reduce((sum, { samples }) => sum + samples, 0)).toBe(0);
  expect(await ops(stack.url, 'keys', 'list', '--tenant', SMOKE_TENANT)).toEqual({ keys: [] });
});

test('the canary reads back the samples that it posted, with its own API key', async () => {
  const functions = new Functions(stack.url);
  try {
    const line = await until(
      'the canary reads a sample',
      async () => {
        await functions.invoke('canary', {});
        return lastOf('CanaryAgeSeconds');
      },
      // The bound covers two alignments of 10 s and the time that this machine takes.
      (seen) => seen !== undefined && Number(seen.CanaryAgeSeconds) < 60 && seen.CanaryWrong === 0,
    );
    expect(line).toMatchObject({ CanaryGaps: 0, Function: 'heterotsdb-local-canary' });
    const { keys } = await ops<{ keys: unknown[] }>(stack.url, 'keys', 'list', '--tenant', 'canary');
    expect(keys).toHaveLength(1);
  } finally {
    functions.close();
  }
});

test('a new instance of the canary revokes the API key of the one before', async () => {
  const listed = async () => {
    type Keys = { keys: { publicId: string }[] };
    return (await ops<Keys>(stack.url, 'keys', 'list', '--tenant', 'canary')).keys;
  };
  const [before] = await listed();
  await stack.killFunctions();
  const functions = new Functions(stack.url);
  try {
    await functions.invoke('canary', {});
  } finally {
    functions.close();
  }
  const after = await listed();
  expect(after).toHaveLength(1);
  expect(after).not.toContainEqual(expect.objectContaining({ publicId: before!.publicId }));
});

test('the running code emits every metric of ours that an alarm or graph watches', async () => {
  const client = new Client(stack.url, stack.apiKey, true);
  const hostId = await client.createHost('metered');
  const time = Math.floor(Date.now() / 1000);
  await client.post([{ hostId, name: 'loadavg5', time, value: 1 }]);
  await until(
    'the sample can be read',
    () => client.metrics(hostId, 'loadavg5', time - 60, time).catch(() => ''),
    (text) => text.includes('"value":1'),
  );
  const functions = new Functions(stack.url);
  try {
    await functions.invoke('flusher', {});
    await functions.invoke('archiver', {});
    await functions.invoke('recovery', {});
    await functions.invoke('recovery', { action: 'redrive', kind: 'onFailure' });
    await functions.invoke('canary', {});
  } finally {
    functions.close();
  }
  const watched = watchedMetrics(synthesize({ stage: 'local' }).stateless);
  expect(watched.length).toBeGreaterThan(10);
  await until(
    'all is emitted',
    async () => {
      const seen = emitted();
      return watched.filter((metric) => !seen.has(metric));
    },
    (missing) => missing.length === 0,
  );
  expect([...emitted()].every((metric) => metric.startsWith(`${METRIC_NAMESPACE} `))).toBe(true);
});

test('each function on a sample’s way counts the units that AWS bills', async () => {
  const client = new Client(stack.url, stack.apiKey, true);
  const hostId = await client.createHost('billed');
  const time = Math.floor(Date.now() / 1000) - 3600;
  await client.post([{ hostId, name: 'loadavg5', time, value: 1 }]);
  const read = () => client.metrics(hostId, 'loadavg5', time - 60, time).catch(() => '');
  await until('the sample can be read', read, (text) => text.includes('"value":1'));
  await ops(stack.url, 'drain');
  await ops(stack.url, 'archive', '--purge');
  expect(await read()).toContain('"value":1');
  const billed = (['post', 'ingester', 'flusher', 'archiver', 'query'] as const).flatMap((name) =>
    UNITS.filter((unit) => (METRICS[name] as readonly string[]).includes(unit))
      // The ingester puts an object only for a record that cannot be decoded.
      .filter((unit) => name !== 'ingester' || unit !== 'ObjectPuts')
      .map((unit) =>
        metricText(METRIC_NAMESPACE, unit, {
          service: METRIC_SERVICE,
          [METRIC_DIMENSION]: `heterotsdb-local-${name}`,
        }),
      ),
  );
  await until(
    'all is emitted',
    async () => {
      const seen = emitted();
      return billed.filter((metric) => !seen.has(metric));
    },
    (missing) => missing.length === 0,
  );
});
