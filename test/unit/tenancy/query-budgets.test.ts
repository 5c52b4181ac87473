import { tenantIdOf } from '../../../shared/model/placement';
import { parseSettings } from '../../../shared/platform/settings';
import { type Limits, limitsOf } from '../../../shared/tenancy/limits';
import { QueryBudgets, type RunningQuery } from '../../../shared/tenancy/query-budgets';
import type { Tenant } from '../../../shared/tenancy/tenants';
import type { UsageTable } from '../../../shared/tenancy/usage-table';

const NOON = Date.UTC(2026, 10, 21, 12);
const acme: Tenant = {
  id: tenantIdOf('acme'),
  name: 'acme',
  placement: { epochs: [{ fromDay: '1970-01-01', partitions: 1 }] },
};

/** The table's two calls, with DynamoDB's behaviour. */
class Minutes implements Pick<UsageTable, 'beginQuery' | 'endQueries'> {
  calls = 0;
  isDown = false;
  private readonly minutes = new Map<number, { running: number; usedMs: number }>();

  async beginQuery(_: string, minute: number, bounds: { atOnce: number; usedMs: number }) {
    const item = this.item(minute);
    const isAdmitted = item.running < bounds.atOnce && item.usedMs < bounds.usedMs;
    if (isAdmitted) item.running++;
    return { isAdmitted, usedMs: item.usedMs };
  }

  async endQueries(_: string, minute: number, ended: number, tookMs: number) {
    const item = this.item(minute);
    item.running -= ended;
    item.usedMs += tookMs;
    return item.usedMs;
  }

  private item(minute: number) {
    this.calls++;
    if (this.isDown) throw new Error('the table does not answer');
    const item = this.minutes.get(minute) ?? { running: 0, usedMs: 0 };
    this.minutes.set(minute, item);
    return item;
  }
}

function fleet(instances: number, own: Partial<Limits> = {}) {
  const clock = { nowMs: NOON };
  const table = new Minutes();
  const limits = { ...limitsOf(parseSettings({})), queriesAtOnce: 10, querySecondsPerMinute: 300, ...own };
  const counted = { queries: 0, queryMs: 0, exchanged: 0 };
  const meter = {
    limits: () => limits,
    count: (_: Tenant, { queries = 0, queryMs = 0 }: { queries?: number; queryMs?: number }) => {
      counted.queries += queries;
      counted.queryMs += queryMs;
    },
    exchange: async () => {
      counted.exchanged++;
    },
  };
  const budgets = Array.from({ length: instances }, () => new QueryBudgets(table, meter, () => clock.nowMs));
  return { clock, table, budgets, counted };
}

/** Sends queries of the same duration at a fixed rate, each to an idle instance, as Lambda does. */
async function attack({ clock, budgets }: ReturnType<typeof fleet>, minutes: number, tookMs: number) {
  const running: { query: RunningQuery; instance: QueryBudgets; endMs: number }[] = [];
  let [usedMs, atOnce, refused] = [0, 0, 0];
  for (const endMs = NOON + minutes * 60_000; clock.nowMs < endMs; clock.nowMs += 250) {
    for (const each of running.filter((each) => each.endMs <= clock.nowMs)) {
      running.splice(running.indexOf(each), 1);
      await each.instance.end(acme, each.query);
    }
    const instance = budgets.find((each) => !running.some((other) => other.instance === each));
    const query = await instance!.begin(acme);
    if ('refusedBy' in query) refused++;
    else {
      running.push({ query, instance: instance!, endMs: clock.nowMs + tookMs });
      usedMs += tookMs;
    }
    atOnce = Math.max(atOnce, running.length);
  }
  return { usedMs, atOnce, refused };
}

test('four queries of 25 s a second get their bounds, although each comes to an instance that is idle', async () => {
  const { usedMs, atOnce, refused } = await attack(fleet(110), 5, 25_000);
  // Queries that run on from the previous minute are not counted in the new one.
  expect(atOnce).toBeLessThanOrEqual(20);
  expect(usedMs).toBeLessThanOrEqual(5 * (300_000 + 10 * 25_000));
  expect(refused).toBeGreaterThan(1_000);
});

test('four queries of 2 s a second use up their seconds and no more than runs at that time', async () => {
  const { usedMs } = await attack(fleet(110, { querySecondsPerMinute: 60 }), 5, 2_000);
  expect(usedMs).toBeGreaterThanOrEqual(5 * 60_000);
  expect(usedMs).toBeLessThanOrEqual(5 * (60_000 + 10 * 2_000));
});

test('a tenant with few queries costs few calls to the table', async () => {
  const made = fleet(110);
  const { refused, usedMs } = await attack(made, 10, 20);
  expect([refused, usedMs]).toEqual([0, 10 * 240 * 20]);
  // For 2,400 queries, there are two calls for the first one, then a report every 15 s.
  expect(made.table.calls).toBeLessThanOrEqual(2 + 4 * 10);
  expect(made.counted).toMatchObject({ queryMs: expect.any(Number), exchanged: 0 });
  expect(made.counted.queries).toBeGreaterThan(2_390);
});

test('a refusal says which limit was met and for how long, and the instance then reads no store', async () => {
  const { clock, table, budgets } = fleet(3, { queriesAtOnce: 1, querySecondsPerMinute: 10 });
  const [a, b, c] = budgets as [QueryBudgets, QueryBudgets, QueryBudgets];
  clock.nowMs += 5_000;
  const first = (await a.begin(acme)) as RunningQuery;
  expect(await b.begin(acme)).toMatchObject({ refusedBy: 'queriesAtOnce', waitMs: 1_000 });
  const { calls } = table;
  clock.nowMs += 400;
  expect(await b.begin(acme)).toMatchObject({ refusedBy: 'queriesAtOnce', waitMs: 600 });
  expect(table.calls).toBe(calls);
  clock.nowMs += 20_000;
  await a.end(acme, first);
  for (const each of [b, c])
    expect(await each.begin(acme)).toMatchObject({ refusedBy: 'querySecondsPerMinute', waitMs: 34_600 });
  clock.nowMs = NOON + 60_000;
  expect(await c.begin(acme)).toMatchObject({ hasPermit: true });
});

test.each<Partial<Limits>>([{ queriesAtOnce: 0 }, { querySecondsPerMinute: 0 }])(
  '%j lets no query in',
  async (own) => {
    const { budgets, table } = fleet(1, own);
    expect(await budgets[0]!.begin(acme)).toMatchObject({ refusedBy: Object.keys(own)[0], waitMs: 60_000 });
    expect(table.calls).toBe(0);
  },
);

test('queries go on while the table does not answer', async () => {
  const { budgets, table } = fleet(1);
  table.isDown = true;
  const query = (await budgets[0]!.begin(acme)) as RunningQuery;
  expect(query.hasPermit).toBe(false);
  await budgets[0]!.end(acme, query);
});

test('rules take the time of queries, are reported by the second, and are not refused themselves', async () => {
  const { clock, table, budgets, counted } = fleet(2, { querySecondsPerMinute: 3 });
  const [a, b] = budgets as [QueryBudgets, QueryBudgets];
  await a.charge(acme, 900);
  expect([table.calls, counted.exchanged]).toEqual([0, 0]);
  await a.charge(acme, 2_000);
  expect([table.calls, counted.exchanged]).toEqual([1, 1]);
  await a.charge(acme, 1_000);
  expect(await b.begin(acme)).toMatchObject({ refusedBy: 'querySecondsPerMinute', waitMs: 60_000 });
  await a.charge(acme, 5_000);
  expect(counted).toEqual({ queries: 0, queryMs: 8_900, exchanged: 3 });
  clock.nowMs += 60_000;
  expect(await b.begin(acme)).toMatchObject({ hasPermit: true });
  table.isDown = true;
  await a.charge(acme, 5_000);
});
