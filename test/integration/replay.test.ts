import { once } from 'node:events';
import { Functions } from '../../scripts/ops/invoke';
import type { RecoveryStatus } from '../../shared/recovery/replay';
import { Client } from '../support/client';
import { type LocalStack, SHARED_SETTINGS, startLocalStack } from '../support/local-stack';
import { ops } from '../support/ops';
import { spawnScript } from '../support/script';
import { Stores } from '../support/stores';
import { until } from '../support/until';

describe('wiped or full memory', () => {
  let stack: LocalStack;
  let client: Client;
  let stores: Stores;
  let functions: Functions;
  const start = Math.floor(Date.now() / 60_000) * 60 - 3600;

  beforeAll(async () => {
    stack = await startLocalStack({ hasFreedoms: true, settings: SHARED_SETTINGS.shortWindows });
    client = new Client(stack.url, stack.apiKey, true);
    stores = new Stores(stack);
    functions = new Functions(stack.url);
  });

  afterAll(async () => {
    functions?.close();
    await stores?.close();
    await stack?.stop();
  });

  /** Posts a sample for each of 10 metrics a round, beginning with round `first`, until it is told to end. */
  function poster(host: string, names: readonly string[], first: number) {
    let isEnding = false;
    let round = first;
    const run = (async () => {
      while (!isEnding) {
        const time = start + round;
        const points = names.map((name, m) => ({ hostId: host, name, time, value: round * 100 + m }));
        // An agent repeats a post that was rejected.
        while ((await client.request('POST', '/api/v0/tsdb', points)).status !== 200);
        round++;
      }
    })();
    return {
      rounds: () => round,
      end: async () => {
        isEnding = true;
        await run;
        return round;
      },
    };
  }

  const namesOf = (prefix: string) => Array.from({ length: 10 }, (_, m) => `custom.${prefix}.m${m}`);

  /** Expects every sample of the rounds once, with its value. */
  async function expectAll(host: string, names: readonly string[], rounds: number): Promise<void> {
    for (const [m, name] of names.entries()) {
      const body = await client.metrics(host, name, start, start + rounds);
      const expected = Array.from({ length: rounds }, (_, round) => ({
        time: start + round,
        value: round * 100 + m,
      }));
      expect(JSON.parse(body).metrics).toEqual(expected);
    }
  }

  const recovered = () =>
    until(
      'the end of the replay',
      // Run recovery now, instead of waiting for its schedule. AWS may refuse all attempts at one of its calls.
      () => functions.invoke<RecoveryStatus>('recovery', {}).catch(() => undefined),
      (status) => status?.loss?.isOpen === false && status.replay?.state === 'done',
    );

  /** Wipes memory, and runs a flusher, as the schedule does each minute, until an operator sees that it was noticed. */
  async function wiped(): Promise<RecoveryStatus> {
    const status = () => ops<RecoveryStatus>(stack.url, 'replay', '--status');
    const before = await status();
    await stores.redis.flushall();
    return until(
      'the loss',
      async () => {
        await functions.invoke('flusher', { lane: 0, lanes: 1, before: 0 });
        return status();
      },
      // While a loss is open, another one only adds a notice to it.
      ({ loss }) => (loss?.notices ?? 0) > (before.loss?.notices ?? 0),
    );
  }

  /** Runs `ops replay`, and sends it SIGINT once it has named its replay. Returns its exit code and its stderr. */
  async function interruptedReplay(): Promise<{ code: number | null; err: string }> {
    const command = spawnScript('ops', ['replay', '--url', stack.url], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const ended = once(command, 'close');
    const [line] = (await once(command.stderr!, 'data')) as [Buffer];
    expect(line.toString()).toMatch(/^replay [0-9a-f-]+ of the beginning of the stream to now: running, /);
    let err = '';
    command.stderr!.on('data', (bytes) => {
      err += bytes;
    });
    command.kill('SIGINT');
    const [code] = (await ended) as [number | null];
    return { code, err };
  }

  /** Waits until the last round can be read. */
  const ingested = async (
    host: string,
    name: string,
    rounds: number,
    makeRoom: () => Promise<unknown> = async () => {},
  ) =>
    until(
      'the last round',
      async () => {
        await makeRoom();
        const range = `from=${start}&to=${start + rounds}`;
        return (await client.request('GET', `/api/v0/hosts/${host}/metrics?name=${name}&${range}`)).text();
      },
      (text) => text.includes(`"time":${start + rounds - 1},`),
    );

  test('a wipe under load is noticed and replayed once, and every sample can be read once', async () => {
    const host = await client.createHost('wiped');
    const names = namesOf('wiped');
    const posts = poster(host, names, 0);
    await until(
      'samples in memory',
      () => stores.hot(),
      ({ frames }) => frames > 20,
    );
    const { loss } = await wiped();
    const done = await recovered();
    const rounds = await posts.end();
    expect(done!.loss!.id).toBe(loss!.id);
    await ingested(host, names[0]!, rounds);
    await expectAll(host, names, rounds);
    const again = await functions.invoke<RecoveryStatus>('recovery', {});
    expect(again.replay!.id).toBe(done!.replay!.id);
  });

  test('an operator’s replay that is interrupted, watched again and repeated during live posts changes nothing', async () => {
    const host = await client.createHost('by-hand');
    const names = namesOf('by-hand');
    const posts = poster(host, names, 0);
    await until(
      'samples in memory',
      () => stores.hot(),
      ({ frames }) => frames > 20,
    );
    // A replay may end before the signal reaches the command that watches it. The command then exits with 0.
    const { code, err } = await until(
      'a command that is interrupted before its replay ends',
      interruptedReplay,
      ({ code }) => code !== 0,
    );
    expect({ code, err }).toEqual({
      code: 130,
      err: expect.stringMatching(/^interrupted\. Last state: replay .* The replay goes on\./m),
    });
    await stack.killFunctions();
    const first = await ops<RecoveryStatus>(stack.url, 'replay');
    expect(first.replay!.state).toBe('done');
    const second = await ops<RecoveryStatus>(
      stack.url,
      'replay',
      '--from',
      new Date(start * 1000).toISOString(),
    );
    expect(second.replay!.state).toBe('done');
    expect(second.replay!.id).not.toBe(first.replay!.id);
    const rounds = await posts.end();
    await ingested(host, names[0]!, rounds);
    await expectAll(host, names, rounds);
    await ops(stack.url, 'drain');
    await expectAll(host, names, rounds);
  });

  test('small sources of a pool are replayed too', async () => {
    const sensors = Array.from({ length: 10 }, (_, i) => `pooled${i}`);
    const time = Math.floor(Date.now() / 1000);
    const lines = sensors.map((sensor, i) => `probe,sensor=${sensor} value=${i} ${time}`).join('\n');
    const type = { 'content-type': 'text/plain' };
    const written = await client.request('POST', '/api/v2/write?precision=s', lines, type);
    expect(written.status).toBe(204);
    const allRead = () =>
      until(
        'a value of each sensor',
        () =>
          Promise.all(
            sensors.map(async (sensor) => {
              const path = `/api/v1/series/metrics?name=probe_value&label=sensor=${sensor}&from=${time}&to=${time}`;
              const response = await client.request('GET', path);
              return response.ok
                ? ((await response.json()) as { metrics: unknown }).metrics
                : response.status;
            }),
          ),
        (seen) => JSON.stringify(seen) === JSON.stringify(sensors.map((_, value) => [{ time, value }])),
      );
    await allRead();
    await wiped();
    await recovered();
    await allRead();
  });

  test('full memory evicts nothing: the stream keeps posted samples until a drain makes room', async () => {
    const host = await client.createHost('full');
    const names = namesOf('full');
    const used = async () => Number(/used_memory:(\d+)/.exec(await stores.redis.info('memory'))![1]);
    const posts = poster(host, names, 0);
    const refusals = async () =>
      Number(/errorstat_OOM:count=(\d+)/.exec(await stores.redis.info('errorstats'))?.[1] ?? 0);
    await until(
      'samples in memory',
      () => stores.hot(),
      ({ frames }) => frames > 20,
    );
    await until(
      'a refused append',
      async () => {
        // Leave no room. Otherwise the schedule's flushes could free memory faster than the posts of a slow machine
        // fill it.
        await stores.redis.config('SET', 'maxmemory', String(await used()));
        return refusals();
      },
      (count) => count > 0,
    );
    const full = posts.rounds();
    await until(
      'posts are acknowledged all the same',
      async () => posts.rounds(),
      (rounds) => rounds > full + 5,
    );
    expect(await stores.redis.info('stats')).toMatch(/evicted_keys:0/);
    const rounds = await posts.end();
    // The schedule's own flush: memory is beyond its high mark, so windows are flushed early. The samples that wait in
    // the stream may fill memory again.
    await ingested(host, names[0]!, rounds, () => functions.invoke('flusher', { lane: 0, lanes: 1 }));
    await expectAll(host, names, rounds);
    expect(await stores.redis.info('stats')).toMatch(/evicted_keys:0/);
    await stores.redis.config('SET', 'maxmemory', '0');
  });
});
