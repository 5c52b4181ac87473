import { Client } from '../support/client';
import { type LocalStack, startLocalStack } from '../support/local-stack';
import { ops } from '../support/ops';
import { Stores } from '../support/stores';
import { until } from '../support/until';

describe('a sample posted late, or again with another value', () => {
  let stack: LocalStack;
  let client: Client;
  let stores: Stores;
  let host: string;
  const now = Math.floor(Date.now() / 60_000) * 60 - 1800;

  beforeAll(async () => {
    stack = await startLocalStack({});
    client = new Client(stack.url, stack.apiKey);
    stores = new Stores(stack);
    host = await client.createHost('late');
  });

  afterAll(async () => {
    await stores?.close();
    await stack?.stop();
  });

  const series = async (name: string) => {
    const { metrics } = JSON.parse(await client.metrics(host, name, now - 3600, now + 3600)) as {
      metrics: { time: number; value: number }[];
    };
    return Object.fromEntries(metrics.map(({ time, value }) => [(time - now) / 60, value]));
  };
  const post = (name: string, values: Record<number, number>) =>
    client.post(
      Object.entries(values).map(([minute, value]) => ({
        hostId: host,
        name,
        time: now + Number(minute) * 60,
        value,
      })),
    );
  const shows = (name: string, expected: Record<number, number>) =>
    until(
      `${name} to show ${JSON.stringify(expected)}`,
      () => series(name).catch(() => ({})),
      (seen) => JSON.stringify(seen) === JSON.stringify(expected),
    );
  const drain = () => ops(stack.url, 'drain');
  const archive = () => ops(stack.url, 'archive', '--purge');

  test.each([
    { name: 'while the window is hot', before: [] as (() => Promise<unknown>)[] },
    { name: 'when the window is warm', before: [drain] },
    { name: 'when the window is cold', before: [drain, archive] },
  ])(
    '$name, shows at once, wins over what it corrects, and stays through every tier',
    async ({ name, before }) => {
      const metric = `custom.${name.replaceAll(' ', '-')}`;
      await post(metric, { 0: 1.1, 1: 2.2, 2: 3.3 });
      await shows(metric, { 0: 1.1, 1: 2.2, 2: 3.3 });
      for (const move of before) await move();

      const corrected = { 0: 1.1, 1: -2.25, 2: 3.3, 5: 6.6 };
      await post(metric, { 5: 6.6, 1: -2.25 });
      await shows(metric, corrected);
      for (const move of [drain, archive]) {
        await move();
        expect(await series(metric)).toEqual(corrected);
      }
      expect(await stores.hot()).toEqual({ lists: 0, frames: 0 });
      expect((await stores.warm()).items).toBe(0);
    },
  );

  test('a second correction of a corrected and archived value wins again', async () => {
    await post('custom.twice', { 0: 1 });
    await shows('custom.twice', { 0: 1 });
    for (const value of [2, 3]) {
      await drain();
      await archive();
      await post('custom.twice', { 0: value });
      await shows('custom.twice', { 0: value });
    }
    await drain();
    expect(await series('custom.twice')).toEqual({ 0: 3 });
  });
});
