import { Functions } from '../../scripts/ops/invoke';
import type { RecoveryStatus } from '../../shared/recovery/replay';
import { Client } from '../support/client';
import { type LocalStack, SHARED_SETTINGS, startLocalStack } from '../support/local-stack';
import { ops } from '../support/ops';
import { Stores } from '../support/stores';
import { until } from '../support/until';

const HOSTS = 10;
const METRICS = 20;
const ROUNDS = 40;

describe('SIGKILL of all functions and of the hot tier in the middle of posting', () => {
  let stack: LocalStack;
  let client: Client;
  let stores: Stores;
  const start = Math.floor(Date.now() / 60_000) * 60 - ROUNDS * 60;
  const path = (host: string, name: string, partial = false) =>
    `/api/v0/hosts/${host}/metrics?name=${name}&from=${start}&to=${start + ROUNDS * 60}${partial ? '&partial=true' : ''}`;

  beforeAll(async () => {
    // Recovery runs only when a test runs it: a run by the schedule would replay what a test wants to find missing.
    stack = await startLocalStack({
      hasFreedoms: true,
      settings: SHARED_SETTINGS.shortWindows,
      unscheduled: ['recovery'],
    });
    client = new Client(stack.url, stack.apiKey, true);
    stores = new Stores(stack);
  });

  afterAll(async () => {
    await stores?.close();
    await stack?.stop();
  });

  const killHot = async () => {
    const runId = async () => /run_id:(\w+)/.exec(await stores.redis.info('server').catch(() => ''))?.[1];
    const was = await runId();
    stack.killHot();
    await until('a new hot tier', runId, (id) => id !== undefined && id !== was);
  };

  test('loses no acknowledged sample: recovery notices the loss and replays the stream by itself', async () => {
    const hosts = await Promise.all(Array.from({ length: HOSTS }, (_, h) => client.createHost(`host${h}`)));
    const names = Array.from({ length: METRICS }, (_, m) => `custom.kill.m${m}`);
    /** The value of the first metric of each acknowledged post, keyed by host and round. */
    const acknowledged = new Map(hosts.map((host) => [host, new Map<number, number>()]));
    for (let round = 0; round < ROUNDS; round++) {
      const time = start + round * 60;
      if (round === 10 || round === 25) await killHot();
      const posts = hosts.map(async (host, h) => {
        const value = (h * 31 + round * 17) / 7.3;
        const points = names.map((name, m) => ({ hostId: host, name, time, value: value + m }));
        const isAcknowledged = async () =>
          (await client.request('POST', '/api/v0/tsdb', points).catch(() => undefined))?.status === 200;
        // Post until the answer is an acknowledgement, as an agent does.
        while (!(await isAcknowledged()));
        acknowledged.get(host)!.set(round, value);
      });
      // Kill functions while the posts of the round are in progress.
      if (round % 10 === 5) await stack.killFunctions();
      await Promise.all(posts);
    }
    const total = [...acknowledged.values()].reduce((sum, rounds) => sum + rounds.size, 0);
    expect(total).toBe(HOSTS * ROUNDS);

    // Appends notice the loss.
    const functions = new Functions(stack.url);
    const recovered = await until(
      'the end of the replay',
      () => functions.invoke<RecoveryStatus>('recovery', {}),
      ({ loss, replay }) => loss?.isOpen === false && replay?.state === 'done',
    );
    functions.close();
    expect(recovered.loss!.reason).toMatch(/gone from memory/);
    expect(recovered.replay!.loss!.id).toBe(recovered.loss!.id);

    for (const [host, rounds] of acknowledged)
      for (const [m, name] of names.entries()) {
        const { metrics } = await client.json<{ metrics: { time: number; value: number }[] }>(
          'GET',
          path(host, name),
        );
        const found = new Map(metrics.map((sample) => [sample.time, sample.value]));
        expect(found.size).toBe(metrics.length);
        for (const [round, value] of rounds) expect(found.get(start + round * 60)).toBe(value + m);
      }
  });

  test('answers 503 from the kill to the end of the replay, and partial results on demand', async () => {
    const host = await client.createHost('later');
    const time = start + 60;
    await client.post([{ hostId: host, name: 'custom.kill.later', time, value: 1 }]);
    // A post may be answered with 200 before its sample is in memory. Wait for the sample, because otherwise there
    // would be nothing to lose.
    const answer = async () => (await client.request('GET', path(host, 'custom.kill.later'))).text();
    await until('the sample', answer, (text) => text.includes(`"time":${time}`));
    await killHot();
    // Under the freedoms of AWS, another 503 may come first, with a shorter Retry-After.
    const impatient = new Client(stack.url, stack.apiKey);
    const response = await until(
      'an answer that names the loss',
      () => impatient.request('GET', path(host, 'custom.kill.later')),
      ({ headers }) => headers.get('retry-after') === '10',
    );
    expect(response.status).toBe(503);
    const partial = await client.json<{ metrics: unknown[]; missing: { arrivedSince: number } }>(
      'GET',
      path(host, 'custom.kill.later', true),
    );
    // The stream may deliver the record again, into the new memory.
    expect([[], [{ time, value: 1 }]]).toContainEqual(partial.metrics);
    expect(partial.missing.arrivedSince).toBeLessThan(Date.now() / 1000);
    // The next append notices the loss.
    await client.post([{ hostId: host, name: 'custom.kill.later', time: time + 60, value: 2 }]);
    await until(
      'the loss',
      () => ops<RecoveryStatus>(stack.url, 'replay', '--status'),
      ({ loss }) => loss?.isOpen === true,
    );
    const { replay, loss } = await ops<RecoveryStatus>(stack.url, 'replay');
    expect(replay!.state).toBe('done');
    expect(loss!.isOpen).toBe(false);
    const { metrics } = await client.json<{ metrics: unknown[] }>('GET', path(host, 'custom.kill.later'));
    expect(metrics).toEqual([
      { time, value: 1 },
      { time: time + 60, value: 2 },
    ]);
  });
});
