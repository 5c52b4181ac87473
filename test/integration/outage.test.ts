import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DrainResult } from '../../scripts/ops/drain';
import { Client, type Point } from '../support/client';
import { type LocalStack, startLocalStack } from '../support/local-stack';
import { ops } from '../support/ops';
import { Stores } from '../support/stores';
import { until } from '../support/until';

const METRICS = 100;
const MINUTE = 60;

describe('after an outage', () => {
  let stack: LocalStack;
  let client: Client;
  let stores: Stores;
  const hour = Math.floor(Date.now() / 3_600_000) * 3600;
  const names = Array.from({ length: METRICS }, (_, m) => `custom.outage.m${m}`);

  beforeAll(async () => {
    stack = await startLocalStack({});
    client = new Client(stack.url, stack.apiKey, true);
    stores = new Stores(stack);
  });

  afterAll(async () => {
    await stores?.close();
    await stack?.stop();
  });

  /** Values shaped like a host's: gauges that move a little, counters, and near constants. */
  const valueAt = (m: number, minute: number) =>
    m % 3 === 0 ? m * 1000 + minute : m % 3 === 1 ? Math.round(50 * Math.sin(minute / 9 + m)) / 4 : m;
  const batch = (hostId: string, at: number): Point[] =>
    names.map((name, m) => ({ hostId, name, time: at, value: valueAt(m, (at - hour) / MINUTE) }));
  const timesOf = async (host: string, name: string, from: number, to: number) =>
    (JSON.parse(await client.metrics(host, name, from, to)).metrics as { time: number; value: number }[]).map(
      ({ time, value }) => [time, value],
    );
  const expectAll = async (host: string, from: number, to: number) => {
    const times = Array.from({ length: (to - from) / MINUTE }, (_, i) => from + i * MINUTE);
    for (const m of [0, 1, 2, METRICS - 1])
      expect(await timesOf(host, names[m]!, from, to - 1)).toEqual(
        times.map((time) => [time, valueAt(m, (time - hour) / MINUTE)]),
      );
  };

  test('of three minutes, samples that an agent resends out of order and twice are stored once, in every tier', async () => {
    const host = await client.createHost('agent');
    const from = hour - 7200;
    const t0 = from + 30 * MINUTE;
    for (let at = from; at < from + 3600; at += MINUTE)
      if (at < t0 || at >= t0 + 4 * MINUTE) await client.post(batch(host, at));
    const ingested = (last: number) =>
      until(
        'the last batch',
        () => timesOf(host, names[METRICS - 1]!, last, last).catch(() => []),
        (seen) => seen.length === 1,
      );
    await ingested(from + 3600 - MINUTE);
    const window = await ops<DrainResult>(stack.url, 'drain');
    await ops(stack.url, 'archive', '--purge');
    const archived = await stores.cold();

    // Each request has two batches, of a minute each. The first request is sent twice
    // (protocol/mackerel/README.md).
    const resent = [
      [t0, t0 + 2 * MINUTE],
      [t0, t0 + 2 * MINUTE],
      [t0 + MINUTE, t0 + 3 * MINUTE],
    ];
    for (const times of resent) await client.post(times.flatMap((at) => batch(host, at)));
    await ingested(t0 + 3 * MINUTE);
    await expectAll(host, from, from + 3600);
    const late = await ops<DrainResult>(stack.url, 'drain');
    await expectAll(host, from, from + 3600);
    await ops(stack.url, 'archive', '--purge');
    await expectAll(host, from, from + 3600);
    expect((await stores.warm()).items).toBe(0);
    const samples = 4 * METRICS;
    const again = await stores.cold();
    expect(again.objects).toBe(archived.objects);
    console.log(
      `late samples: ${samples} into an archived window of ${window.samples} in ${window.bytes} bytes:`,
      `${(late.bytes / samples).toFixed(1)} bytes written to the warm tier a late sample,`,
      `${(again.bytes / samples).toFixed(1)} to the archive`,
    );
  });

  test('of the hot tier for an hour, the whole backlog is caught up', async () => {
    const hosts = await Promise.all(Array.from({ length: 50 }, (_, h) => client.createHost(`backlog${h}`)));
    const from = hour - 3600;
    const { hot } = JSON.parse(readFileSync(join(stack.dataDir, 'pids.json'), 'utf8')) as { hot: number };
    // Memory answers no one, as if it were cut off from the network.
    process.kill(hot, 'SIGSTOP');
    try {
      for (let at = from; at < from + 3600; at += MINUTE)
        await Promise.all(
          Array.from({ length: 10 }, (_, i) =>
            client.post(hosts.slice(i * 5, i * 5 + 5).flatMap((host) => batch(host, at))),
          ),
        );
    } finally {
      process.kill(hot, 'SIGCONT');
    }
    const begin = performance.now();
    const last = from + 3600 - MINUTE;
    await until(
      'the end of the backlog',
      async () => {
        const found = await Promise.all(
          hosts.map((host) => timesOf(host, names[METRICS - 1]!, last, last).catch(() => [])),
        );
        return found.filter((times) => times.length === 1).length;
      },
      (done) => done === hosts.length,
    );
    const seconds = (performance.now() - begin) / 1000;
    const samples = hosts.length * METRICS * 60;
    const times = 3600 / seconds;
    console.log(
      `backlog of an hour: ${samples} samples caught up in ${seconds.toFixed(1)} s,`,
      `${Math.round(samples / seconds)} samples/s, ${times.toFixed(0)} times the live rate`,
    );
    for (const host of [hosts[0]!, hosts.at(-1)!]) await expectAll(host, from, from + 3600);
  });
});
