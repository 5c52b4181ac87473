import { archive } from '../../scripts/ops/archive';
import { drain } from '../../scripts/ops/drain';
import { Functions } from '../../scripts/ops/invoke';
import { Client } from '../support/client';
import { type LocalStack, SHARED_SETTINGS, startLocalStack } from '../support/local-stack';
import { IS_LONG } from '../support/long';
import { until } from '../support/until';

/** Number of rounds of drain, archive and purge. */
const ROUNDS = 40;
/** Minimum number of reads, however many rounds they take. */
const READS = IS_LONG ? 10_000 : 20;
const SERIES = 5;
/** Number of posted seconds after which only corrections are posted. */
const MAX_SECONDS = 3_000;

describe('reads while data is flushed, archived and purged', () => {
  let stack: LocalStack;
  let client: Client;
  let functions: Functions;

  beforeAll(async () => {
    stack = await startLocalStack({ settings: SHARED_SETTINGS.shortWindows });
    client = new Client(stack.url, stack.apiKey, true);
    functions = new Functions(stack.url);
  });

  afterAll(async () => {
    functions?.close();
    await stack?.stop();
  });

  test('see every sample that was seen before, once, with its last value', async () => {
    const host = await client.createHost('moving');
    const start = Math.floor(Date.now() / 1000) - 3600;
    const names = Array.from({ length: SERIES }, (_, i) => `custom.moving.m${i}`);
    /** Acknowledged value of each second. Some of the values are corrected. */
    const posted = new Map<number, number>();
    let isMoving = true;
    let reads = 0;
    const flaws: string[] = [];

    const poster = async () => {
      for (let i = 0; isMoving; i++) {
        // Post the samples of a new second. Every fifth time, post new values for an earlier second.
        const isAgain = i % 5 === 4 || posted.size === MAX_SECONDS;
        const second = isAgain ? (i * 7) % Math.max(1, posted.size) : posted.size;
        const value = i + 0.125;
        await client.post(
          names.map((name, s) => ({ hostId: host, name, time: start + second, value: value + s * 1e6 })),
        );
        posted.set(second, value);
      }
    };
    // A patient client would repeat a read that is refused because memory seems to have lost samples.
    const impatient = new Client(stack.url, stack.apiKey);
    const reader = async () => {
      /** The highest value seen of each second. The values of a second only grow. */
      const seen = new Map<number, number>();
      for (let i = 0; isMoving; i++) {
        const s = i % SERIES;
        const response = await impatient.request(
          'GET',
          `/api/v0/hosts/${host}/metrics?name=${names[s]}&from=${start}&to=${start + 36_000}`,
        );
        if (response.status === 404 && seen.size === 0) continue;
        if (response.status === 503) {
          // Other 503s come from a store that is slow on a busy machine.
          if (response.headers.get('retry-after') === '10') flaws.push(`read ${i}: ${await response.text()}`);
          continue;
        }
        const { metrics } = (await response.json()) as { metrics: { time: number; value: number }[] };
        reads++;
        const found = new Map(metrics.map(({ time, value }) => [time - start, value - s * 1e6]));
        if (found.size !== metrics.length) flaws.push(`read ${i}: a second stands twice`);
        for (const [second, value] of seen) {
          const now = found.get(second);
          if (now === undefined) flaws.push(`read ${i}: second ${second} is gone`);
          else if (now < value) flaws.push(`read ${i}: second ${second} went back from ${value} to ${now}`);
        }
        for (const [second, value] of found) seen.set(second, value);
      }
      return seen;
    };
    const mover = async () => {
      for (let round = 0; round < ROUNDS || reads < READS; round++) {
        await drain(functions, () => {});
        if (round % 2 === 1) await archive(functions, { before: 8.64e15, purge: true }, () => {});
      }
      isMoving = false;
    };
    await Promise.all([poster(), reader(), reader(), mover()]);
    expect(flaws.slice(0, 5)).toEqual([]);
    expect(reads).toBeGreaterThanOrEqual(READS);

    const expected = [...posted]
      .sort(([x], [y]) => x - y)
      .map(([second, value]) => ({ time: start + second, value }));
    await until(
      'the last of what was acknowledged',
      async () =>
        JSON.parse(await client.metrics(host, names[0]!, start, start + 36_000)) as { metrics: object[] },
      ({ metrics }) => JSON.stringify(metrics) === JSON.stringify(expected),
    );
  });
});
