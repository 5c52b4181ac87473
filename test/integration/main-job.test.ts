import { Client, type Point } from '../support/client';
import { type LocalStack, SHARED_SETTINGS, startLocalStack } from '../support/local-stack';
import { ops } from '../support/ops';
import { Stores } from '../support/stores';
import { until } from '../support/until';

const HOSTS = 40;
const METRICS = 100;
const MINUTES = 30;
const names = Array.from({ length: METRICS }, (_, m) => `custom.load.metric${m}`);

/** Values that are not round, because they are quotients. */
const sampleValue = (host: number, metric: number, minute: number) =>
  (host * 7 + metric * 13 + minute * 17) / 9.7;

interface Where {
  readonly hot: { samples: number };
  readonly warm: { samples: number };
  readonly cold: { samples: number };
}

describe('120,000 samples of 40 hosts through every tier', () => {
  let stack: LocalStack;
  let client: Client;
  let stores: Stores;
  let hosts: string[];
  /**
   * The first minute of the samples. The last minute, `end`, is the one before now. They may be in two UTC
   * days.
   */
  const start = Math.floor(Date.now() / 60_000) * 60 - MINUTES * 60;
  const end = start + (MINUTES - 1) * 60;
  let fromHot: Awaited<ReturnType<typeof readAll>>;

  beforeAll(async () => {
    stack = await startLocalStack({ settings: SHARED_SETTINGS.shortWindows });
    client = new Client(stack.url, stack.apiKey, true);
    stores = new Stores(stack);
    hosts = await Promise.all(Array.from({ length: HOSTS }, (_, h) => client.createHost(`host${h}`)));
  });

  afterAll(async () => {
    await stores?.close();
    await stack?.stop();
  });

  /**
   * All samples: every host's metrics side by side, and those of the first host one by one, as Mackerel's clients
   * request them.
   */
  const readAll = async () => {
    const query = [...names.map((name) => `name=${name}`), `from=${start}`, `to=${end}`].join('&');
    const sideBySide: unknown[] = [];
    for (const host of hosts)
      sideBySide.push(await client.json('GET', `/api/v1/hosts/${host}/metrics?${query}`));
    return {
      sideBySide,
      oneByOne: await Promise.all(names.map((name) => client.metrics(hosts[0]!, name, start, end))),
    };
  };

  const where = (host: number, metric: number) =>
    ops<Where>(stack.url, 'where', '--host', hosts[host]!, '--name', names[metric]!);

  test('come back complete and exact from the hot tier', async () => {
    for (let minute = 0; minute < MINUTES; minute++) {
      await Promise.all(
        Array.from({ length: HOSTS / 10 }, (_, batch) => {
          const points: Point[] = [];
          for (let h = batch * 10; h < batch * 10 + 10; h++)
            for (let m = 0; m < METRICS; m++)
              points.push({
                hostId: hosts[h]!,
                name: names[m]!,
                time: start + minute * 60,
                value: sampleValue(h, m, minute),
              });
          return client.post(points);
        }),
      );
    }
    const minutes = Array.from({ length: MINUTES }, (_, minute) => minute);
    const times = minutes.map((minute) => start + minute * 60);
    const valuesOf = (h: number, m: number) => minutes.map((minute) => sampleValue(h, m, minute));
    const expected = {
      sideBySide: hosts.map((_, h) => ({
        times: times.map((time) => time * 1000),
        series: names.map((name, m) => ({ name, values: valuesOf(h, m) })),
      })),
      oneByOne: names.map((_, m) =>
        JSON.stringify({ metrics: valuesOf(0, m).map((value, i) => ({ time: times[i]!, value })) }),
      ),
    };
    // Look at one metric of each host. Its other metrics are in the same frames.
    for (const host of hosts)
      await until(
        `all samples of ${host} in memory`,
        () => client.metrics(host, names[0]!, start, end),
        (answer) => (JSON.parse(answer) as { metrics: unknown[] }).metrics.length === MINUTES,
      );
    fromHot = await readAll();
    expect(fromHot).toEqual(expected);
    expect(await stores.warm()).toEqual({ items: 0, bytes: 0 });
    expect(await where(HOSTS - 1, 99)).toMatchObject({
      hot: { samples: MINUTES },
      warm: { samples: 0 },
      cold: { samples: 0 },
    });
  });

  test('come back complete and exact from the warm tier, after a drain', async () => {
    let drained = 0;
    // After a drain, a batch may be delivered again, and appended again.
    await until(
      'memory is empty',
      async () => {
        const { samples } = await ops<{ samples: number }>(stack.url, 'drain');
        drained += samples;
        return stores.hot();
      },
      ({ lists }) => lists === 0,
    );
    expect(drained).toBeGreaterThanOrEqual(HOSTS * METRICS * MINUTES);
    expect((await stores.warm()).items).toBeGreaterThanOrEqual(HOSTS * 3);
    expect(await readAll()).toEqual(fromHot);
    expect(await where(0, 0)).toMatchObject({
      hot: { samples: 0 },
      warm: { samples: MINUTES },
      cold: { samples: 0 },
    });
  });

  test('come back complete and exact from the cold tier, after archive and purge', async () => {
    await ops(stack.url, 'archive', '--purge');
    expect(await stores.warm()).toEqual({ items: 0, bytes: 0 });
    expect((await stores.cold()).objects).toBeGreaterThanOrEqual(1);
    expect(await readAll()).toEqual(fromHot);
    expect(await where(22, 7)).toMatchObject({
      hot: { samples: 0 },
      warm: { samples: 0 },
      cold: { samples: MINUTES },
    });
  });

  test('do not change when the commands are run again', async () => {
    expect(await ops(stack.url, 'drain')).toEqual({ windows: 0, samples: 0, bytes: 0 });
    expect(await ops(stack.url, 'archive', '--purge')).toEqual({
      archived: 0,
      purged: 0,
      unpurged: 0,
      expired: 0,
    });
  });
});
