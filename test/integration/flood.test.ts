import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { functionName } from '../../shared/platform/names';
import { Client, type Point } from '../support/client';
import { type LocalStack, SHARED_SETTINGS, startLocalStack } from '../support/local-stack';
import { IS_LONG } from '../support/long';
import { ops } from '../support/ops';
import { Stores } from '../support/stores';
import { until } from '../support/until';

/** Number of samples of a flooded host, and of requests in the flood; `npm run test:long` sends 20,000. */
const SAMPLES = 1_000_000;
const REQUESTS = IS_LONG ? 20_000 : 25;
/** Number of requests of hosts that come and go. Each request has new names. */
const CHURN_REQUESTS = IS_LONG ? 300 : 60;
const CHURN_NAMES = 2_500;
const MAX_RSS_BYTES = 512 * 1024 * 1024;
const PARALLEL = 4;

describe('a flood', () => {
  let stack: LocalStack;
  let client: Client;
  let stores: Stores;
  const start = Math.floor(Date.now() / 60_000) * 60 - 3600;

  beforeAll(async () => {
    stack = await startLocalStack({ settings: SHARED_SETTINGS.unlimited });
    client = new Client(stack.url, stack.apiKey);
    stores = new Stores(stack);
  });

  afterAll(async () => {
    await stores?.close();
    await stack?.stop();
  });

  /** Does `work` `count` times, a few at once. */
  async function times(count: number, work: (n: number) => Promise<void>): Promise<void> {
    let next = 0;
    const worker = async () => {
      while (next < count) await work(next++);
    };
    await Promise.all(Array.from({ length: PARALLEL }, worker));
  }

  const valuesOf = async (host: string, name: string) => {
    const body = await client.metrics(host, name, start, start + 3600).catch(() => '{"metrics":[]}');
    return (JSON.parse(body) as { metrics: { time: number; value: number }[] }).metrics;
  };

  /** Peak memory of the function's processes, bytes. */
  function peakRss(name: 'post' | 'ingester'): number {
    const { functions } = JSON.parse(readFileSync(join(stack.dataDir, 'pids.json'), 'utf8')) as {
      functions: number[];
    };
    const peaks = functions.map((pid) => {
      try {
        const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
        if (!environment.includes(`AWS_LAMBDA_FUNCTION_NAME=${functionName('local', name)}`)) return 0;
        return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024;
      } catch {
        // The process has ended.
        return 0;
      }
    });
    return Math.max(...peaks);
  }

  const megabytes = (bytes: number) => Math.round(bytes / 1024 / 1024);

  test('of a million samples of one series and timestamp is stored as one sample, and other hosts are served at the same time', async () => {
    const [flooded, other] = [await client.createHost('flooded'), await client.createHost('other')];
    const each = SAMPLES / REQUESTS;
    const begin = Date.now();
    let posted = false;
    let slowestMs = 0;
    let meanwhile = 0;
    // Meanwhile, another host posts a sample, reads until it finds the sample, and repeats.
    const bystander = (async () => {
      let seconds = 0;
      for (; !posted || seconds < 3; seconds++) {
        const at = Date.now();
        await client.post([{ hostId: other, name: 'm', time: start + seconds, value: seconds }]);
        await until(
          `second ${seconds}`,
          () => valuesOf(other, 'm'),
          (seen) => seen.length === seconds + 1,
        );
        slowestMs = Math.max(slowestMs, Date.now() - at);
        if (!posted) meanwhile++;
      }
      return seconds;
    })();
    let requests = 0;
    const postFlood = async () => {
      const first = requests++ * each;
      const points: Point[] = Array.from({ length: each }, (_, i) => ({
        hostId: flooded,
        name: 'm',
        time: start,
        value: first + i,
      }));
      await client.post(points);
    };
    await times(REQUESTS, postFlood);
    // The flood lasts until the other host's sample can be read.
    while (meanwhile === 0) await times(PARALLEL, postFlood);
    const postedMs = Date.now() - begin;
    posted = true;
    const seconds = await bystander;
    // A partition is read in order: the flooded host's next sample comes after the whole flood.
    await client.post([{ hostId: flooded, name: 'after', time: start, value: 1 }]);
    await until(
      'what came after the flood',
      () => valuesOf(flooded, 'after'),
      (seen) => seen.length === 1,
    );
    // If a request has a sample several times, the last place wins. The stream decides which of the parallel requests
    // is last.
    const [stored, ...more] = await valuesOf(flooded, 'm');
    expect(more).toEqual([]);
    expect(stored!.value % each).toBe(each - 1);
    expect((await stores.hot()).frames).toBeLessThanOrEqual(requests + 1 + seconds);
    await ops(stack.url, 'drain');
    const where = await ops(stack.url, 'where', '--host', flooded, '--name', 'm');
    expect(where).toMatchObject({ hot: { samples: 0 }, warm: { samples: 1 }, cold: { samples: 0 } });
    expect(await valuesOf(flooded, 'm')).toEqual([stored]);
    console.log(
      `${requests * each} samples of one series and timestamp in ${requests} requests: acknowledged in ${postedMs} ms, stored as 1; ` +
        `of ${seconds} samples of another host ${meanwhile} were seen before that, the slowest after ${slowestMs} ms`,
    );
  });

  test('of names that come once leaves post and ingester below 512 MB', async () => {
    const hosts = await Promise.all(Array.from({ length: 10 }, (_, h) => client.createHost(`churn${h}`)));
    await times(CHURN_REQUESTS, async (n) => {
      const hostId = hosts[n % hosts.length]!;
      await client.post(
        Array.from({ length: CHURN_NAMES }, (_, m) => ({
          hostId,
          name: `custom.container-${n}.of.some.length.metric${m}`,
          time: start + 60 + n,
          value: m,
        })),
      );
    });
    const last = CHURN_REQUESTS - 1;
    await until(
      'the last names',
      () => valuesOf(hosts[last % hosts.length]!, `custom.container-${last}.of.some.length.metric0`),
      (seen) => seen.length === 1,
    );
    const [post, ingester] = [peakRss('post'), peakRss('ingester')];
    console.log(
      `${CHURN_REQUESTS * CHURN_NAMES} series that came once: at most ${megabytes(post)} MB in post, ${megabytes(ingester)} MB in the ingester`,
    );
    expect(post).toBeGreaterThan(0);
    expect(ingester).toBeGreaterThan(0);
    expect(Math.max(post, ingester)).toBeLessThan(MAX_RSS_BYTES);
  });
});
