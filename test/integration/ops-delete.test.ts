import { archive } from '../../scripts/ops/archive';
import { type DeleteOptions, type DryRun, deleteSamples } from '../../scripts/ops/delete';
import { drain } from '../../scripts/ops/drain';
import { Functions, OperatorError } from '../../scripts/ops/invoke';
import { replay } from '../../scripts/ops/replay';
import type { UsageReport } from '../../scripts/ops/usage';
import type { TenantStatus } from '../../shared/operations/status';
import { Client } from '../support/client';
import { type LocalStack, SHARED_SETTINGS, startLocalStack } from '../support/local-stack';
import { ops, runOps } from '../support/ops';
import { until } from '../support/until';

describe('ops delete', () => {
  let stack: LocalStack;
  let client: Client;
  let functions: Functions;
  const start = Math.floor(Date.now() / 60_000) * 60 - 3600;

  beforeAll(async () => {
    stack = await startLocalStack({ hasFreedoms: true, settings: SHARED_SETTINGS.shop });
    client = new Client(stack.url, stack.apiKey, true);
    functions = new Functions(stack.url);
    for (const name of ['twins', 'twins']) await client.createHost(name);
    const here = await client.createHost('here');
    await client.post([{ hostId: here, name: 'm', time: start, value: 1 }]);
    await until(
      'the sample',
      () => client.metrics(here, 'm', start, start + 60).catch(() => ''),
      (text) => text.includes('"value":1'),
    );
  });

  afterAll(async () => {
    functions?.close();
    await stack?.stop();
  });

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
    );
  const agree = async (what: string) => {
    questions.push(what);
  };
  const refuse = async (what: string) => {
    questions.push(what);
    throw new OperatorError('nothing was done');
  };
  const questions: string[] = [];
  const remove = (options: Omit<DeleteOptions, 'tenant'>) =>
    deleteSamples(functions, { tenant: 'default', ...options }, agree);
  const toWarm = () => drain(functions, () => {});
  const toCold = () => archive(functions, { before: 8.64e15, purge: true }, () => {});

  test.each([
    { tier: 'hot', moves: [] as (() => Promise<unknown>)[] },
    { tier: 'warm', moves: [toWarm] },
    { tier: 'cold', moves: [toWarm, toCold] },
  ])(
    'hides $tier samples at once, and still does after flush, archive and replay',
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
      // Samples that are posted after the deletion stay.
      await client.post(points(host, 'a', 7, 8));
      await shows(host, 'a', [7, 8]);
      await toWarm();
      expect(await values(host, 'a')).toEqual([7, 8]);
    },
  );

  test('takes a range, a prefix or all names, of a service too; and says how many samples before it asks', async () => {
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
    );

    await remove({ service, name: 'custom.fool', from: start * 1000, to: (start + 60) * 1000 });
    expect(await left()).toEqual([3, 3, 2]);
    questions.length = 0;
    await expect(
      deleteSamples(functions, { tenant: 'default', service, name: 'custom.foo.*' }, refuse),
    ).rejects.toThrow('nothing was done');
    expect(questions).toEqual(['deletes 6 samples of service shop: custom.foo.x, custom.foo.y']);
    expect(await left()).toEqual([3, 3, 2]);
    expect(await remove({ service, name: 'custom.foo.*', yes: true })).toMatchObject({ series: 2 });
    expect(await left()).toEqual([0, 0, 2]);
    await remove({ service, allNames: true, yes: true });
    expect(await left()).toEqual([0, 0, 0]);
  });

  test('deleting a service deletes its metrics; a new service of the name has none', async () => {
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
    );
    await client.json('DELETE', path);
    await client.json('POST', '/api/v0/services', { name: 'shop', memo: '' });
    await until('no sample', orders, ({ length }) => length === 0);
    await client.json('POST', `${path}/tsdb`, [{ name: 'orders', time: start + 60, value: 2 }]);
    const again = [{ time: start + 60, value: 2 }];
    await until('the new one alone', orders, (seen) => JSON.stringify(seen) === JSON.stringify(again));
  });

  const refusals: { args: string[]; says: string | RegExp }[] = [
    { args: ['delete', '--host', 'h'], says: 'ops: give either --name or --all-names' },
    { args: ['delete', '--name', 'm'], says: 'ops: give either --host or --service' },
    {
      args: ['delete', '--host', 'here', '--name', 'a*b'],
      says: 'ops: name: * is allowed only at the end, not in "a*b"',
    },
    {
      args: ['delete', '--host', 'nobody', '--name', 'm'],
      says: 'ops: tenant default has no host with the id or name "nobody"',
    },
    {
      args: ['delete', '--host', 'here', '--name', 'n'],
      says: /^ops: host here \(\w+\) has no metric n; it has m$/,
    },
    {
      args: ['delete', '--host', 'here', '--name', 'm'],
      says: /^ops: this deletes 1 sample of host here \(\w+\): m; stdin is not a terminal, so give --yes/,
    },
    { args: ['drain', '--host', 'nobody'], says: 'has no host with the id or name "nobody"' },
    { args: ['drain', '--tenant', 'default'], says: 'ops: --tenant needs --host' },
    { args: ['where', '--host', 'nobody', '--name', 'm'], says: 'has no host with the id or name "nobody"' },
    { args: ['where', '--service', 'nowhere', '--name', 'm'], says: 'has no service "nowhere"' },
    {
      args: ['where', '--host', 'twins', '--name', 'm'],
      says: /^ops: 2 hosts are named "twins"; give one's id: \w+, \w+$/,
    },
    { args: ['where', '--host', 'h', '--name', 'm', '--tenant', 'x'], says: 'ops: there is no tenant "x"' },
    { args: ['tenants', 'create', 'a\nb'], says: "cannot be a tenant's name: use 1 to 64 letters" },
    {
      args: ['drain', '--stack', 'heterotsdb-dev'],
      says: "option '--stack <name>' cannot be used with option '--url <url>'",
    },
    { args: ['smoke', '--patience', '60'], says: '60 has no unit: 60s or 60m?' },
    {
      args: ['keys', 'create', '--tenant', 'default', '--rights', 'read', '--expires', '30'],
      says: '30 has no unit',
    },
    { args: ['archive', 'verify', '--from', '2026-13-01'], says: 'Give a day such as 2026-11-21.' },
    {
      args: ['archive', 'verify', '--from', '2026-11-22', '--to', '2026-11-21'],
      says: 'ops: --from 2026-11-22 is after --to 2026-11-21',
    },
    {
      args: ['delete', '--host', 'h', '--name', 'm', '--from', '2026-01-02', '--to', '2026-01-01'],
      says: 'ops: --from 2026-01-02T00:00:00.000Z is not before --to 2026-01-01T00:00:00.000Z',
    },
    {
      args: ['where', '--host', 'h', '--name', 'm', '--from', '99999999999999'],
      says: 'Unix times are in seconds, and 99999999999999 s is out of range',
    },
  ];
  test.each(refusals)('$args fails with one sentence', async ({ args, says }) => {
    const { code, err } = await runOps(...args, '--url', stack.url);
    expect(code).toBe(1);
    if (typeof says === 'string') expect(err).toContain(says);
    else expect(err.trim()).toMatch(says);
    expect(err.trim().split('\n')).toHaveLength(1);
  });

  test('a function names the field and the value of an invalid event', async () => {
    await expect(
      functions.invoke('operator', { command: 'where', name: 'm', from: 1e300, to: 1 }),
    ).rejects.toThrow(/^from: .* \(1e\+300\)$/);
  });

  test('a host can be given by name wherever its id is accepted, and usage shows its name', async () => {
    const { hot, warm, cold } = await ops<Record<'hot' | 'warm' | 'cold', { samples: number }>>(
      stack.url,
      ...['where', '--host', 'here', '--name', 'm'],
    );
    expect(hot.samples + warm.samples + cold.samples).toBe(1);
    expect(await ops(stack.url, 'drain', '--host', 'here')).toHaveProperty('windows');
    const { series } = await ops<UsageReport>(stack.url, 'usage', '--tenant', 'default');
    expect(series.topSources.map(({ name }) => name)).toContainEqual(
      expect.stringMatching(/^here \(host=\w+\)$/),
    );
  });

  test('status answers an operator as it answers the API', async () => {
    const { flush, archive } = await ops<TenantStatus>(stack.url, 'status');
    expect(flush.residencyMs).toBeGreaterThan(0);
    expect(archive).not.toBeNull();
    await expect(ops(stack.url, 'status', '--tenant', 'nobody')).rejects.toThrow('nobody');
  });

  test('a month without samples is not charged for what is in memory now', async () => {
    const { counts, cost } = await ops<UsageReport>(
      stack.url,
      ...['usage', '--tenant', 'default', '--month', '2026-01'],
    );
    expect(counts.samples).toBe(0);
    expect(cost.find(({ what }) => what === 'memory')!.dollars).toBe(0);
  });

  test('prints one JSON object with --json', async () => {
    const host = await client.createHost('json');
    await client.post(points(host, 'a', 1));
    await shows(host, 'a', [1]);
    expect(await ops(stack.url, 'delete', '--host', 'json', '--name', 'a', '--yes')).toMatchObject({
      isDeleted: true,
    });
  });
});
