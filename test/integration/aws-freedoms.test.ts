import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../scripts/faults/random';
import { Client } from '../support/client';
import { type LocalStack, SHARED_SETTINGS, startLocalStack } from '../support/local-stack';
import { runOps } from '../support/ops';
import { SEED } from '../support/seed';
import { until } from '../support/until';

describe('a stack under all freedoms of AWS', () => {
  const random = new Random(SEED);
  let stack: LocalStack;
  let client: Client;

  beforeAll(async () => {
    stack = await startLocalStack({ hasFreedoms: true, settings: SHARED_SETTINGS.shortWindows });
    client = new Client(stack.url, stack.apiKey);
  });
  afterAll(async () => {
    await stack?.stop();
  });

  /** Repeats an action until it succeeds, as senders and operators do. */
  const persistently = <T>(what: string, act: () => Promise<T>) =>
    until(
      what,
      () => act().catch((error: Error) => error),
      (result) => !(result instanceof Error),
    ) as Promise<T>;
  const operate = (...args: string[]) =>
    persistently(args.join(' '), async () => {
      const { code, err } = await runOps(...args, '--url', stack.url, '--json');
      if (code !== 0) throw new Error(err);
    });

  test('loses, doubles and changes nothing, in memory, warm and archived', async () => {
    const startS = Math.floor(Date.now() / 1000) - 3600;
    const names = ['a', 'b', 'c'].map((name) => `custom.free.${name}`);
    const hosts = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        persistently('the host is made', () => client.createHost(`free-${i}`)),
      ),
    );
    const expected = new Map<string, Map<number, number>>();
    const isReadable = new Set<string>();
    const post = async (round: number) => {
      // The new samples are not readable yet.
      isReadable.clear();
      await Promise.all(
        hosts.map(async (hostId) => {
          const points = names.flatMap((name) =>
            Array.from({ length: 5 }, () => ({
              hostId,
              name,
              value: random.integer(0, 1e9),
              // A later post of the round corrects samples of an earlier one.
              time: startS + round * 60 + random.integer(0, 9),
            })),
          );
          // A request may have the same sample several times. Its last value counts.
          for (const { name, time, value } of points) {
            const series = expected.get(`${hostId} ${name}`) ?? new Map<number, number>();
            expected.set(`${hostId} ${name}`, series.set(time, value));
          }
          await persistently('the post is taken', () => client.post(points));
        }),
      );
    };
    let reads = 0;
    const gaps: string[] = [];
    let isOver = false;
    const samplesOf = async (key: string) => {
      const [hostId, name] = key.split(' ') as [string, string];
      const answer = await client.metrics(hostId, name, startS, startS + 7200);
      return (JSON.parse(answer) as { metrics: { time: number; value: number }[] }).metrics;
    };
    // A sample that was read once must be in every later answer, unless the read fails.
    const watch = async () => {
      while (!isOver) {
        for (const key of [...isReadable]) {
          const missing = new Set(expected.get(key)!.keys());
          const seen = await samplesOf(key).catch(() => undefined);
          if (seen === undefined || !isReadable.has(key)) continue;
          reads++;
          for (const { time } of seen) missing.delete(time);
          if (missing.size > 0) gaps.push(`${key} lacks ${[...missing].join(', ')}`);
        }
        await sleep(20);
      }
    };
    const readsAll = async () => {
      for (const [key, series] of expected) {
        await until(
          `${key} to be as it was posted`,
          () => samplesOf(key).catch(() => []),
          (samples) =>
            samples.length === series.size && samples.every(({ time, value }) => series.get(time) === value),
        );
        isReadable.add(key);
      }
    };
    const watching = watch();
    for (let round = 0; round < 12; round++) await post(round);
    await readsAll();
    await operate('drain');
    await readsAll();
    for (let round = 0; round < 12; round += 3) await post(round);
    await operate('drain');
    await operate('archive', '--purge');
    await readsAll();
    for (let round = 0; round < 3; round++) await post(round);
    await readsAll();
    await operate('drain');
    await operate('archive', '--purge');
    await readsAll();
    isOver = true;
    await watching;
    expect(gaps).toEqual([]);
    expect(reads).toBeGreaterThan(0);
  });
});
