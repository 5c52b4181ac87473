import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { Client } from '../support/client';
import { type LocalStack, SHARED_SETTINGS, startLocalStack } from '../support/local-stack';
import { ops } from '../support/ops';
import { Pages, PHONE, REQUEST_FAILED, violations } from '../support/pages';
import { until } from '../support/until';

/** Folder of screenshots. They are kept there for people to look at. */
const SCREENSHOTS = join(__dirname, '..', '..', '.local', 'screenshots');
const WIDE = { width: 1440, height: 900 };

describe('the dashboards view', () => {
  let stack: LocalStack;
  let client: Client;
  let dashboard: { readonly id: string };
  let hosts: readonly string[];
  const pages = new Pages();
  const nowS = Math.floor(Date.now() / 1000);

  beforeAll(async () => {
    mkdirSync(SCREENSHOTS, { recursive: true });
    await pages.start();
    stack = await startLocalStack({ settings: SHARED_SETTINGS.shop });
    client = new Client(stack.url, stack.apiKey, true);
  });

  afterAll(async () => {
    await pages.stop();
    await stack?.stop();
  });

  afterEach(async () => {
    expect(await pages.close()).toEqual([]);
  });

  const opened = (state: string, options: BrowserContextOptions = { viewport: WIDE }, key = stack.apiKey) =>
    pages.open(`${stack.url}/#view=dashboards${state}&time=utc&key=${key}`, options);
  const card = (page: Page, title: string) => page.getByRole('article', { name: title, exact: true });

  test('tells a newcomer how to push the first dashboard', async () => {
    const page = await opened('');
    await page.getByRole('heading', { name: 'No dashboards yet' }).waitFor();
    await page.getByText(`mkr --apibase ${stack.url} dashboards push`).waitFor();
    expect(await violations(page)).toEqual([]);
  });

  test('lists dashboards, and draws the widgets of one', async () => {
    hosts = await Promise.all(
      ['web1', 'web2'].map(
        async (name) =>
          (
            await client.json<{ id: string }>('POST', '/api/v0/hosts', {
              name,
              meta: {},
              roleFullnames: ['shop:web'],
            })
          ).id,
      ),
    );
    const minutes = Array.from({ length: 55 }, (_, i) => nowS - 60 * (55 - i));
    await client.post(
      hosts.flatMap((hostId, at) =>
        minutes.flatMap((time, i) => [
          { hostId, name: 'loadavg1', time, value: 2 + at + Math.sin(i / 4) },
          { hostId, name: 'loadavg5', time, value: 2 + at + Math.sin(i / 9) },
          { hostId, name: 'custom.queue.size', time, value: 40 + 10 * Math.cos(i / 5 + at) },
        ]),
      ),
    );
    await client.json(
      'POST',
      '/api/v0/services/shop/tsdb',
      minutes.map((time, i) => ({ name: 'orders.count', time, value: 100 + i })),
    );
    await until(
      'the samples',
      () =>
        client.json<{ data: { result: { value: [number, string] }[] } }>(
          'GET',
          `/prometheus/api/v1/query?query=${encodeURIComponent('count({__name__=~"loadavg1|orders.count"})')}&time=${nowS}`,
        ),
      ({ data }) => data.result[0]?.value[1] === '3',
    );
    const [first] = hosts;
    const at = (x: number, y: number, width: number, height: number) => ({ layout: { x, y, width, height } });
    dashboard = await client.json<{ id: string }>('POST', '/api/v0/dashboards', {
      title: 'The shop',
      memo: 'What the shop does.',
      urlPath: 'shop',
      widgets: [
        {
          type: 'markdown',
          title: 'Notes',
          ...at(0, 0, 8, 8),
          markdown:
            '## Runbook\n\n1. Look at **orders**\n2. Read <b>this</b>: [runbook](https://example.com/)\n\n| team | phone |\n|---|---|\n| shop | 123 |',
        },
        {
          type: 'value',
          title: 'Orders',
          ...at(8, 0, 4, 4),
          metric: { type: 'service', serviceName: 'shop', name: 'orders.count' },
          fractionSize: 0,
          suffix: '/min',
        },
        {
          type: 'value',
          title: 'Queue',
          ...at(8, 4, 4, 4),
          metric: { type: 'expression', expression: 'sum(role(shop:web, custom.queue.size))' },
          formatRules: [{ name: 'too long', threshold: 1, operator: '>' }],
        },
        { type: 'alertStatus', title: 'Alerts', ...at(12, 0, 4, 8), roleFullname: 'shop:web' },
        {
          type: 'value',
          title: 'Gone',
          ...at(16, 0, 8, 4),
          metric: { type: 'query', query: 'none', legend: '' },
        },
        {
          type: 'value',
          title: 'Wrong',
          ...at(16, 4, 8, 4),
          metric: { type: 'expression', expression: 'sum(' },
        },
        {
          type: 'graph',
          title: 'Load of web1',
          ...at(0, 8, 12, 10),
          graph: { type: 'host', hostId: first, name: 'loadavg' },
        },
        {
          type: 'graph',
          title: 'Load of the role',
          ...at(12, 8, 12, 10),
          graph: { type: 'role', roleFullname: 'shop: web', name: 'loadavg5', isStacked: true },
          referenceLines: [{ label: 'limit', value: 6 }],
        },
        {
          type: 'graph',
          title: 'Orders over time',
          ...at(0, 18, 8, 10),
          graph: { type: 'service', serviceName: 'shop', name: 'orders' },
        },
        {
          type: 'graph',
          title: 'Average queue',
          ...at(8, 18, 8, 10),
          graph: {
            type: 'expression',
            expression:
              "group(alias(avg(role(shop:web, custom.queue.size)), 'average'), alias(max(role(shop:web, custom.queue.size)), 'longest'))",
          },
          range: { type: 'relative', period: 1800, offset: 0 },
        },
        {
          type: 'graph',
          title: 'Load by host',
          ...at(16, 18, 8, 10),
          graph: {
            type: 'query',
            query: 'avg_over_time(loadavg1[$__rate_interval])',
            legend: 'host {{host}}',
          },
        },
        { type: 'graph', title: 'Deleted', ...at(0, 28, 12, 6), graph: { type: 'unknown' } },
      ],
    });
    const page = await opened('');
    await page.getByText('What the shop does.').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('link', { name: 'The shop' }).click();
    await page.getByRole('heading', { name: 'The shop', level: 1 }).waitFor();
    const titled = (title: string) =>
      until(
        'the title',
        () => page.title(),
        (seen) => seen === `${title} · HeteroTSDB`,
      );
    await titled('The shop');
    await page.getByRole('link', { name: 'All dashboards' }).click();
    await titled('Dashboards');
  });

  const drawn = async (page: Page) => {
    await page.getByRole('slider', { name: 'Load of web1 over time' }).waitFor();
    await page.getByRole('slider', { name: 'Load by host over time' }).waitFor();
    await page.getByRole('slider', { name: 'Average queue over time' }).waitFor();
    await until(
      'nothing is read',
      () => page.locator('.widgets [aria-busy=true]').count(),
      (count) => count === 0,
    );
  };

  test('widgets say what they show, and why they show nothing', async () => {
    const page = await opened(`&dashboard=${dashboard.id}`);
    await page.setViewportSize({ width: 1440, height: 2000 });
    await drawn(page);
    await card(page, 'Orders').getByText('154 /min').waitFor();
    await card(page, 'Queue').getByText('too long').waitFor();
    await card(page, 'Alerts').getByText('OK').waitFor();
    await card(page, 'Alerts').getByText('2 hosts').waitFor();
    await card(page, 'Gone').getByText('No sample of the last 5 minutes.').waitFor();
    await card(page, 'Wrong').getByRole('alert').waitFor();
    await card(page, 'Deleted').getByText('The graph was deleted.').waitFor();
    await card(page, 'Notes').getByText('Read <b>this</b>').waitFor();
    expect(await card(page, 'Notes').getByRole('link').getAttribute('rel')).toBe('noopener noreferrer');
    for (const [title, lines] of [
      ['Load of web1', ['1 min', '5 min']],
      ['Load of the role', ['web1', 'web2']],
      ['Orders over time', ['count']],
      ['Average queue', ['average', 'longest']],
      ['Load by host', hosts.map((id) => `host ${id}`)],
    ] as const)
      for (const line of lines) await card(page, title).getByText(line, { exact: true }).first().waitFor();
  });

  test('the range of the toolbar is that of all widgets without their own', async () => {
    const page = await opened(`&dashboard=${dashboard.id}&last=3h`);
    await page.setViewportSize({ width: 1440, height: 2000 });
    await drawn(page);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.getByRole('button', { name: '6h: the last 6 hours' }).click();
    await until(
      'the graphs are read anew',
      async () => asked.filter((url) => url.includes('query_range')).map((url) => new URL(url).searchParams),
      (queries) => queries.some((query) => Number(query.get('end')) - Number(query.get('start')) > 20_000),
    );
    expect(page.url()).toContain('last=6h');
  });

  /** Opens the dashboard once `prepare` has set the routes of its page. */
  const openedAfter = async (prepare: (page: Page) => Promise<void>, state?: string) => {
    const page = await pages.open('about:blank', { viewport: { ...WIDE, height: 2_000 } });
    await prepare(page);
    const shown = state ?? `&dashboard=${dashboard.id}`;
    await page.goto(`${stack.url}/#view=dashboards${shown}&key=${stack.apiKey}`);
    return page;
  };

  test('values are read once the hosts of roles are known', async () => {
    const asked: string[] = [];
    let answerHosts = () => {};
    const hostsWanted = new Promise<void>((resolve) => {
      answerHosts = resolve;
    });
    const page = await openedAfter(async (each) => {
      each.on('request', (request) => asked.push(new URL(request.url()).pathname));
      await each.route('**/api/v0/hosts?*', async (route) => {
        await hostsWanted;
        await route.continue();
      });
    });
    // Its graph needs no list of hosts.
    await page.getByRole('slider', { name: 'Orders over time over time' }).waitFor();
    expect(asked.filter((path) => path.endsWith('/query'))).toEqual([]);
    await card(page, 'Queue').getByText('reading …').waitFor();
    answerHosts();
    await card(page, 'Queue').getByText('too long').waitFor();
  });

  test('an alert of a role is found on a later page of the open alerts', async () => {
    const page = await openedAfter(async (each) => {
      await each.route('**/api/v0/alerts*', (route) =>
        route.fulfill({
          json: route.request().url().includes('nextId=later')
            ? { alerts: [{ id: 'old', status: 'CRITICAL', hostId: hosts[0] }] }
            : { alerts: [{ id: 'new', status: 'WARNING', hostId: 'another' }], nextId: 'later' },
        }),
      );
    });
    await card(page, 'Alerts').getByText('1 CRITICAL').waitFor();
  });

  test('the page says that a read of the open alerts was refused', async () => {
    const page = await openedAfter(async (each) => {
      await each.route('**/api/v0/alerts*', (route) =>
        route.fulfill({ status: 400, json: { error: { message: 'Alerts are out of order.' } } }),
      );
    });
    await card(page, 'Alerts').getByRole('alert').getByText('Alerts are out of order.').waitFor();
    await page.close();
    expect(new Set(pages.errors.splice(0))).toEqual(new Set([expect.stringMatching(REQUEST_FAILED)]));
  });

  test('a graph with an absolute range is read once, however often the others are', async () => {
    const [first] = hosts;
    const graph = { type: 'host', hostId: first, name: 'loadavg' };
    const [start, end] = [nowS - 3_000, nowS - 600];
    const fixed = await client.json<{ id: string }>('POST', '/api/v0/dashboards', {
      title: 'Then and now',
      urlPath: 'then',
      widgets: [
        {
          type: 'graph',
          title: 'Then',
          layout: { x: 0, y: 0, width: 12, height: 10 },
          graph,
          range: { type: 'absolute', start, end },
        },
        { type: 'graph', title: 'Now', layout: { x: 12, y: 0, width: 12, height: 10 }, graph },
      ],
    });
    // Starts of the ranges that were read. On a busy machine, a store may not answer in time, and the page reads again.
    const read: string[] = [];
    const running = new Set<object>();
    const page = await openedAfter(async (each) => {
      await each.clock.install();
      each.on('request', (request) => {
        if (new URL(request.url()).pathname.endsWith('/metrics')) running.add(request);
      });
      each.on('response', (response) => {
        const from = new URL(response.url()).searchParams.get('from');
        if (running.has(response.request()) && response.ok()) read.push(from!);
      });
      each.on('requestfinished', (request) => running.delete(request));
      each.on('requestfailed', (request) => running.delete(request));
    }, `&dashboard=${fixed.id}&last=1h&refresh=5`);
    const isFixed = (from: string) => from === String(start);
    // After some seconds of its clock, the page abandons a read and reads again. So its clock is stopped until both
    // graphs are read for the first time.
    await until(
      'both graphs are read',
      async () => read.some(isFixed) && !read.every(isFixed) && running.size === 0,
      Boolean,
    );
    await until(
      'the other graph is read a third time',
      async () => {
        if (running.size === 0) await page.clock.fastForward(5_000);
        return read.filter((from) => !isFixed(from)).length;
      },
      (count) => count >= 3,
    );
    expect(read.filter(isFixed)).toHaveLength(1);
  });

  test.each([
    ['wide', WIDE, 'light'],
    ['wide', WIDE, 'dark'],
    ['phone', PHONE, 'light'],
    ['phone', PHONE, 'dark'],
  ] as const)(
    'on a %s screen, %o, %s, nothing is cut off, and axe finds nothing',
    async (name, viewport, colorScheme) => {
      const page = await opened(`&dashboard=${dashboard.id}`, { viewport, colorScheme });
      // All graphs are in view, so all are read.
      await page.setViewportSize({ ...viewport, height: name === 'phone' ? 4_500 : 2_000 });
      await drawn(page);
      expect(await violations(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
      await page.screenshot({
        path: join(SCREENSHOTS, `dashboard-${name}-${colorScheme}.png`),
        fullPage: true,
      });
    },
  );

  test('a link to a dashboard that is gone says so', async () => {
    const page = await opened('&dashboard=2cSZzK3XfmG');
    await page.getByRole('alert').getByText('There is no dashboard 2cSZzK3XfmG.').waitFor();
    await page.getByRole('link', { name: 'The shop' }).waitFor();
  });

  test('a key that may only read shows dashboards', async () => {
    const { key } = await ops<{ key: string }>(
      stack.url,
      ...['keys', 'create', '--tenant', 'default', '--rights', 'read'],
    );
    const page = await opened(`&dashboard=${dashboard.id}`, { viewport: WIDE }, key);
    await page.getByRole('heading', { name: 'The shop', level: 1 }).waitFor();
  });
});
