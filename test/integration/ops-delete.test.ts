import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { archive } from '../../scripts/ops/archive';
import { type DeleteOptions, type DryRun, deleteSamples } from '../../scripts/ops/delete';
import { drain } from '../../scripts/ops/drain';
import { Functions } from '../../scripts/ops/invoke';
import { replay } from '../../scripts/ops/replay';
import { Client } from '../support/client';
import { type LocalStack, startLocalStack } from '../support/local-stack';
import { ops } from '../support/ops';
import { until } from '../support/until';

const root = join(__dirname, '..', '..');

describe('ops delete', () => {
  let stack: LocalStack;
  let client: Client;
  let functions: Functions;
  const start = Math.floor(Date.now() / 60_000) * 60 - 3600;

  beforeAll(async () => {
    stack = await startLocalStack({ settings: { window: '1h', services: 'shop' } });
    client = new Client(stack.url, stack.apiKey);
    functions = new Functions(stack.url);
  }, 180_000);

  afterAll(async () => {
    functions?.close();
    await stack?.stop();
  }, 60_000);

  const points = (host: string, name: string, ...values: number[]) =>
    values.map((value, i) => ({ hostId: host, name, time: start + i * 60, value }));
  const values = async (host: string, name: string): Promise<number[]> => {
    const { metrics } = JSON.parse(await client.metrics(host, name, start, start + 3600)) as {
      metrics: { value: number }[];
    };
    return metrics.map(({ value }) => value);
  };
  const shows = (host: string, name: string, expected: number[]) =>
    until(
      `${name} to show ${expected}`,
      () => values(host, name).catch(() => []),
      (seen) => JSON.stringify(seen) === JSON.stringify(expected),
      30_000,
    );
  const remove = (options: Omit<DeleteOptions, 'tenant'>) =>
    deleteSamples(functions, { tenant: 'default', ...options });
  const toWarm = () => drain(functions, () => {});
  const toCold = () => archive(functions, { before: 8.64e15, purge: true }, () => {});

  test.each([
    { tier: 'hot', moves: [] as (() => Promise<unknown>)[] },
    { tier: 'warm', moves: [toWarm] },
    { tier: 'cold', moves: [toWarm, toCold] },
  ])(
    'of what is $tier shows at once, and stays through flush, archive and replay',
    async ({ tier, moves }) => {
      const host = await client.createHost(tier);
      await client.post([...points(host, 'a', 1, 2, 3), ...points(host, 'b', 4, 5, 6)]);
      await shows(host, 'b', [4, 5, 6]);
      for (const move of moves) await move();
      expect(await remove({ host, name: 'a' })).toEqual({
        series: 1,
        names: ['a'],
        isDeleted: true,
        isVisible: true,
      });
      const check = async () => {
        expect([await values(host, 'a'), await values(host, 'b')]).toEqual([[], [4, 5, 6]]);
      };
      await check();
      for (const move of [toWarm, toCold]) {
        await move();
        await check();
      }
      await replay(functions, { from: 0, to: undefined }, () => {});
      await check();
      for (const move of [toWarm, toCold]) {
        await move();
        await check();
      }
      // What is posted later is not deleted: a correction.
      await client.post(points(host, 'a', 7, 8));
      await shows(host, 'a', [7, 8]);
      await toWarm();
      expect(await values(host, 'a')).toEqual([7, 8]);
    },
    120_000,
  );

  test('takes a range, a prefix or all names, of a service too; more than one only with --yes', async () => {
    const metrics = ['custom.foo.x', 'custom.foo.y', 'custom.fool'];
    await client.json(
      'POST',
      '/api/v0/services/shop/tsdb',
      metrics.flatMap((name) => [1, 2, 3].map((value, i) => ({ name, time: start + i * 60, value }))),
    );
    const service = 'shop';
    const left = async (): Promise<number[]> => {
      const found = (await remove({ service, allNames: true, dryRun: true })) as DryRun;
      return found.series.map(({ samples }) => samples);
    };
    await until(
      'the samples',
      () => left().catch(() => []),
      (seen) => `${seen}` === '3,3,3',
      30_000,
    );

    await remove({ service, name: 'custom.fool', from: start * 1000, to: (start + 60) * 1000 });
    expect(await left()).toEqual([3, 3, 2]);
    await expect(remove({ service, name: 'custom.foo.*' })).rejects.toThrow(
      'this would delete 2 metrics: custom.foo.x, custom.foo.y; --yes does',
    );
    expect(await left()).toEqual([3, 3, 2]);
    expect(await remove({ service, name: 'custom.foo.*', yes: true })).toMatchObject({ series: 2 });
    expect(await left()).toEqual([0, 0, 2]);
    await remove({ service, allNames: true, yes: true });
    expect(await left()).toEqual([0, 0, 0]);
  }, 60_000);

  test('is what happens to the metrics of a service that is deleted; one made again begins without', async () => {
    const path = '/api/v0/services/shop';
    const orders = async (): Promise<unknown[]> => {
      const range = `from=${start}&to=${start + 3600}`;
      return (await client.json<{ metrics: unknown[] }>('GET', `${path}/metrics?name=orders&${range}`))
        .metrics;
    };
    await client.json('POST', `${path}/tsdb`, [{ name: 'orders', time: start, value: 1 }]);
    await until(
      'the sample',
      () => orders().catch(() => []),
      ({ length }) => length === 1,
      30_000,
    );
    await client.json('DELETE', path);
    await client.json('POST', '/api/v0/services', { name: 'shop', memo: '' });
    await until('no sample', orders, ({ length }) => length === 0, 30_000);
    await client.json('POST', `${path}/tsdb`, [{ name: 'orders', time: start + 60, value: 2 }]);
    const again = [{ time: start + 60, value: 2 }];
    await until(
      'the new one alone',
      orders,
      (seen) => JSON.stringify(seen) === JSON.stringify(again),
      30_000,
    );
  }, 90_000);

  test.each([
    { args: ['delete', '--host', 'h'], says: 'ops: give either --name or --all-names' },
    { args: ['delete', '--name', 'm'], says: 'ops: give either --host or --service' },
    {
      args: ['delete', '--host', 'h', '--name', 'a*b'],
      says: 'name: * is allowed only at the end, not in "a*b"',
    },
    { args: ['delete', '--host', 'nobody', '--name', 'm'], says: 'host nobody has no metric m' },
    {
      args: ['delete', '--host', 'h', '--name', 'm', '--from', '2026-01-02', '--to', '2026-01-01'],
      says: 'ops: --from 2026-01-02T00:00:00.000Z is not before --to 2026-01-01T00:00:00.000Z',
    },
    {
      args: ['where', '--host', 'h', '--name', 'm', '--from', '99999999999999'],
      says: "option '--from <time>' argument '99999999999999' is invalid. It is beyond the calendar",
    },
  ])(
    '$args fails with one sentence',
    async ({ args, says }) => {
      const tsx = join(root, 'node_modules', '.bin', 'tsx');
      const run = promisify(execFile)(tsx, [join(root, 'scripts', 'ops.ts'), ...args, '--url', stack.url]);
      const error = (await run.catch((error: unknown) => error)) as { code: number; stderr: string };
      expect(error.code).toBe(1);
      expect(error.stderr).toContain(says);
      expect(error.stderr.trim().split('\n')).toHaveLength(1);
    },
    30_000,
  );

  test('what a function is asked that cannot be names field and value', async () => {
    await expect(
      functions.invoke('operator', { command: 'where', name: 'm', from: 1e300, to: 1 }),
    ).rejects.toThrow(/^heterotsdb-local-operator failed: from: .* \(1e\+300\)$/);
  });

  test('prints one JSON object with --json', async () => {
    const host = await client.createHost('json');
    await client.post(points(host, 'a', 1));
    await shows(host, 'a', [1]);
    expect(await ops(stack.url, 'delete', '--host', host, '--name', 'a')).toMatchObject({ isDeleted: true });
  }, 60_000);
});
