import { rmSync } from 'node:fs';
import { type Batch, ScriptedAgent } from '../support/agent';
import { Client } from '../support/client';
import { type LocalStack, startLocalStack } from '../support/local-stack';
import { Relay } from '../support/relay';
import { temporaryDir } from '../support/temporary-dir';
import { until } from '../support/until';

const SYSTEM_METRICS = [
  'loadavg1',
  'loadavg5',
  'loadavg15',
  ...['user', 'nice', 'system', 'idle', 'iowait', 'irq', 'softirq', 'steal', 'guest'].map(
    (part) => `cpu.${part}.percentage`,
  ),
  ...['total', 'used', 'mem_available', 'swap_total', 'swap_free', 'swap_cached'].map(
    (part) => `memory.${part}`,
  ),
  'disk.sda.reads.delta',
  'disk.sda.writes.delta',
  'interface.eth0.rxBytes.delta',
  'interface.eth0.txBytes.delta',
  'filesystem.sda1.size',
  'filesystem.sda1.used',
  'custom.dice.d6.face',
];

/** The life of an agent (protocol/mackerel/README.md), with minutes that pass as fast as they can. */
describe('an agent', () => {
  const dataDir = temporaryDir();
  // Mackerel's own resolution, as it is when deployed.
  const settings = { resolution: '60s' };
  let stack: LocalStack;
  let relay: Relay;

  beforeAll(async () => {
    stack = await startLocalStack({ hasFreedoms: true, settings, dataDir });
    relay = await Relay.start(stack.url);
  });

  afterAll(async () => {
    await relay?.cut();
    await stack?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  test('registers and posts through outages and restarts of both sides, and every sample is stored once', async () => {
    const first = Math.floor(Date.now() / 60_000) * 60 - 3600;
    const posted: Batch[] = [];
    /** The n-th minute's samples; the first is taken an arbitrary number of seconds after the start. */
    const sample = (n: number): Batch => {
      const time = n === 0 ? first + 37 : first + n * 60;
      const batch = { time, values: new Map(SYSTEM_METRICS.map((name, m) => [name, (n * 31 + m) / 8])) };
      posted.push(batch);
      return batch;
    };
    const agent = new ScriptedAgent({
      apiBase: relay.url,
      apiKey: stack.apiKey,
      name: 'web1',
      customIdentifier: 'i-0123456789abcdef0.ec2.amazonaws.com',
      roleFullnames: ['shop:web'],
      onStart: 'standby',
      onStop: 'poweroff',
    });
    const read = async <T>(path: string) =>
      new Client(stack.url, stack.apiKey, true).json<T>('GET', `/api/v0/${path}`);
    const host = async () => (await read<{ host: Record<string, unknown> }>(`hosts/${agent.hostId}`)).host;

    await agent.start();
    expect(await host()).toMatchObject({
      status: 'standby',
      roles: { shop: ['web'] },
      meta: { 'agent-version': '0.87.0' },
      interfaces: [{ ipAddress: '10.0.0.5' }],
    });
    for (let n = 0; n < 5; n++) await agent.minute(sample(n));
    await agent.report('WARNING', first + 240);
    await agent.putMetadata('deploy', { version: 7 });

    // Three minutes without a network, after which the first answer is lost.
    await relay.cut();
    for (let n = 5; n < 8; n++) await agent.minute(sample(n));
    expect(agent.queued).toBe(3);
    await relay.connect();
    relay.loseNextAnswer();
    const before = agent.posts.length;
    await agent.minute(sample(8));
    const t0 = first + 5 * 60;
    // The agent resends out of order, and the first batch twice.
    expect(agent.posts.slice(before)).toEqual([[t0], [t0], [t0 + 120, t0 + 60], [t0 + 180]]);
    expect(relay.lostAnswers).toBe(1);
    expect(agent.queued).toBe(0);

    // The server restarts. The agent notices only that its requests fail.
    await stack.stop();
    for (let n = 9; n < 11; n++) await agent.minute(sample(n));
    stack = await startLocalStack({ hasFreedoms: true, settings, dataDir });
    await relay.cut();
    await relay.connect(stack.url);
    await agent.minute(sample(11));
    expect(agent.queued).toBe(0);

    // The agent restarts twice: with its stored id, and without it. Both times, it finds the same host.
    const { hostId } = agent;
    await agent.start();
    agent.hostId = undefined;
    await agent.start();
    expect(agent.hostId).toBe(hostId);
    await agent.updateSpecification();
    await agent.minute(sample(12));
    await agent.stop();
    expect(await host()).toMatchObject({ status: 'poweroff', roles: { shop: ['web'] } });
    expect(await read(`hosts/${hostId}/metadata/deploy`)).toEqual({ version: 7 });

    const last = first + 12 * 60;
    await until(
      'the last sample',
      () =>
        read<{ tsdbLatest: Record<string, Record<string, { time: number }>> }>(
          `tsdb/latest?hostId=${hostId}&name=${SYSTEM_METRICS.at(-1)}`,
        ),
      ({ tsdbLatest }) => Object.values(tsdbLatest[hostId!] ?? {})[0]?.time === last,
    );
    expect(await read(`hosts/${hostId}/metric-names`)).toEqual({ names: [...SYSTEM_METRICS].sort() });
    for (const name of SYSTEM_METRICS) {
      expect(await read(`hosts/${hostId}/metrics?name=${name}&from=${first}&to=${last}`)).toEqual({
        metrics: posted.map(({ time, values }) => ({ time: time - (time % 60), value: values.get(name) })),
      });
    }
  });
});
