import { Client } from '../support/client';
import { type LocalStack, startLocalStack } from '../support/local-stack';
import { ops } from '../support/ops';
import { until } from '../support/until';

type Series = Record<string, string>;
interface Page {
  readonly series: Series[];
  readonly next?: string;
}

const HOSTS = 8;
const TAGGED = 20;

describe('what a tenant has posted', () => {
  let stack: LocalStack;
  let client: Client;
  let hosts: string[];
  const now = Math.floor(Date.now() / 1000);

  beforeAll(async () => {
    stack = await startLocalStack({});
    client = new Client(stack.url, stack.apiKey, true);
    hosts = [];
    for (let i = 0; i < HOSTS; i++) hosts.push(await client.createHost(`h${i}`));
    const names = ['loadavg5', 'cpu.user.percentage', 'cpu.idle.percentage'];
    await client.post(
      hosts.flatMap((hostId) => names.map((name) => ({ hostId, name, time: now, value: 1 }))),
    );
    const lines = Array.from(
      { length: TAGGED },
      (_, i) => `cpu,rack=r${i % 4},unit=u${i} user=1,idle=2 ${now}`,
    );
    const written = await client.request(
      'POST',
      '/write?precision=s',
      [...lines, `cpu,host=tele1,rack=r1,core=0 user=1 ${now}`, `cpu,host=tele1,core=1 user=1 ${now}`].join(
        '\n',
      ),
    );
    expect(written.status).toBe(204);
    await until(
      'every series to be listed',
      () => list(''),
      (all) => all.length === 3 * HOSTS + 2 * TAGGED + 2,
    );
  });

  afterAll(async () => {
    await stack?.stop();
  });

  /** Reads every page of a listing. */
  async function list(query = '', limit?: number, as = client): Promise<Series[]> {
    const all: Series[] = [];
    for (let next: string | undefined; ; ) {
      const parameters = [query, limit && `limit=${limit}`, next && `next=${next}`].filter(Boolean).join('&');
      const page: Page = await as.json<Page>('GET', `/api/v1/series?${parameters}`);
      expect(page.series.length).toBeLessThanOrEqual(limit ?? 10_000);
      all.push(...page.series);
      next = page.next;
      if (next === undefined) return all;
    }
  }
  const texts = (all: readonly Series[]) =>
    all.map((labels) => JSON.stringify(Object.entries(labels).sort()));

  test.each([1, 7, 100])('is listed in pages of %i, each series once, together by source', async (limit) => {
    const whole = await list();
    const paged = await list('', limit);
    expect(texts(paged)).toEqual(texts(whole));
    expect(new Set(texts(whole)).size).toBe(whole.length);
    const sources = whole.map(({ host, unit }) => host ?? unit);
    expect(sources.filter((source, i) => source !== sources[i - 1])).toHaveLength(HOSTS + TAGGED + 1);
  });

  test.each([
    { name: 'by the beginning of names', query: 'prefix=cpu.', count: 2 * HOSTS },
    { name: 'by a label of many sources', query: 'label=rack=r1', count: 2 * (TAGGED / 4) + 1 },
    {
      name: 'by labels and the beginning of names',
      query: 'label=rack=r1&prefix=cpu_u',
      count: TAGGED / 4 + 1,
    },
    { name: 'by all labels of a source', query: 'label=rack=r1&label=unit=u1', count: 2 },
    { name: 'of a host', query: 'label=host=tele1', count: 2 },
    { name: 'of a host, by another label', query: 'label=host=tele1&label=core=1', count: 1 },
    { name: 'by what nothing has', query: 'label=rack=none', count: 0 },
    { name: 'one of each source', query: 'perSource=1', count: HOSTS + TAGGED + 1 },
  ])('is listed $name', async ({ query, count }) => {
    expect(await list(query)).toHaveLength(count);
    expect(texts(await list(query, 3))).toEqual(texts(await list(query)));
  });

  test.each(['limit=0', 'limit=10001', 'perSource=x', 'next=x', 'next=../../etc', 'label=host'])(
    '%s is a 400',
    async (query) => {
      expect((await client.request('GET', `/api/v1/series?${query}`)).status).toBe(400);
    },
  );

  test('is not listed to another tenant, whichever page of this tenant it asks for', async () => {
    await ops(stack.url, 'tenants', 'create', 'other');
    const { key } = await ops<{ key: string }>(
      stack.url,
      'keys',
      'create',
      '--tenant',
      'other',
      '--rights',
      'read',
    );
    const other = new Client(stack.url, key, true);
    const { next } = await client.json<Page>('GET', '/api/v1/series?limit=1');
    expect(await list('', undefined, other)).toEqual([]);
    expect(await list(`next=${next}`, undefined, other)).toEqual([]);
  });

  test.each([
    {
      name: 'a host',
      path: () => `/api/v0/hosts/${hosts[0]}/metrics?name=none`,
      error: /^host ".+" has no metric "none"; /,
    },
    {
      name: 'labels',
      path: () => '/api/v1/series/metrics?label=host=tele1&name=none',
      error: /^there is no series "none" of exactly these labels; /,
    },
  ])('a metric that $name lacks is a 404 which says so, and when samples appear', async ({ path, error }) => {
    const response = await client.request('GET', `${path()}&from=${now}&to=${now}`);
    expect(response.status).toBe(404);
    const { message } = ((await response.json()) as { error: { message: string } }).error;
    expect(message).toMatch(error);
    expect(message).toMatch(/samples appear within a second or two after a post$/);
  });
});
