import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { BrowserContextOptions, Locator, Page } from 'playwright-core';
import type { Status } from '../../functions/page/browser/api/status';
import { localAws } from '../../scripts/local/provision';
import { physicalName } from '../../scripts/local/template';
import { tenantIdOf } from '../../shared/model/placement';
import { mapLimited } from '../../shared/platform/concurrency';
import { Hosts } from '../../shared/registry/hosts';
import { Client, type Point } from '../support/client';
import { type LocalStack, SHARED_SETTINGS, startLocalStack } from '../support/local-stack';
import { ops } from '../support/ops';
import { DESKTOP, Pages, PHONE, REQUEST_FAILED, violations } from '../support/pages';
import { until } from '../support/until';

const DAY_S = 86_400;
/** A host name of nearly the maximum length. */
const LONG_NAME = `edge-${'long.'.repeat(39)}host`;
/** Folder of screenshots. They are kept there for people to look at. */
const SCREENSHOTS = join(__dirname, '..', '..', '.local', 'screenshots');

/** Replaces the time-outs of the page's requests: they pass only when the test calls `passTimeOuts`. */
const TIME_OUTS_BY_HAND = `{
  const running = new Set();
  AbortSignal.timeout = () => {
    const request = new AbortController();
    running.add(request);
    return request.signal;
  };
  globalThis.passTimeOuts = () => {
    for (const request of running) request.abort(new DOMException('', 'TimeoutError'));
    running.clear();
  };
}`;

describe('the page', () => {
  let stack: LocalStack;
  let client: Client;
  let host: string;
  let busyHost: string;
  let longHost: string;
  let retiredHost: string;
  let readKey: string;
  const now = Math.floor(Date.now() / 60_000) * 60;
  const pages = new Pages();
  const { contexts, errors, open, openIn } = pages;

  beforeAll(async () => {
    mkdirSync(SCREENSHOTS, { recursive: true });
    await pages.start();
    stack = await startLocalStack({ settings: SHARED_SETTINGS.shop });
    client = new Client(stack.url, stack.apiKey, true);
    // Post the counters before anything requests metadata: an instance reads the list of metadata once a
    // minute.
    await postCounters();
    host = await client.createHost('web1');
    busyHost = await client.createHost('busy');
    longHost = await client.createHost(LONG_NAME);
    retiredHost = await client.createHost('old1');
    ({ key: readKey } = await ops<{ key: string }>(
      stack.url,
      'keys',
      'create',
      '--tenant',
      'default',
      '--rights',
      'read',
    ));
    // Yesterday's samples go to the archive, those of some hours ago to the warm tier, and the latest stay in memory.
    const yesterday = Math.floor(now / DAY_S) * DAY_S - 600;
    if (now - yesterday < 23 * 3600) {
      await post(host, yesterday - 1800, yesterday);
      await ops(stack.url, 'drain');
      await ops(stack.url, 'archive', '--purge');
    }
    await post(host, now - 7200, now - 3600);
    await ops(stack.url, 'drain');
    await post(host, now - 1800, now);
    await client.json('POST', '/api/v0/graph-defs/create', [
      {
        name: 'custom.orders.#',
        displayName: 'Orders by state',
        unit: 'integer',
        metrics: [{ name: 'custom.orders.#.count', displayName: '%1', isStacked: true }],
      },
    ]);
    await client.json('POST', '/api/v0/services/shop/tsdb', [{ name: 'latency.p99', time: now, value: 12 }]);
    await client.json('POST', '/api/v0/services/shop/roles', { name: 'web' });
    for (const id of [host, longHost])
      await client.json('PUT', `/api/v0/hosts/${id}/role-fullnames`, { roleFullnames: ['shop:web'] });
    for (const [annotation, role] of [
      ['Deploy 1.2', 'web'],
      ['Database moved', 'db'],
    ])
      await client.json('POST', '/api/v0/graph-annotations', {
        title: annotation,
        from: now - 1500,
        to: now - 1200,
        service: 'shop',
        roles: [role],
      });
    await client.post(
      [longHost, retiredHost].flatMap((hostId) =>
        [1800, 1200, 600].map((ago) => ({ hostId, name: 'loadavg1', time: now - ago, value: 40 })),
      ),
    );
    await client.json('POST', `/api/v0/hosts/${retiredHost}/retire`, {});
    await postBusy();
    await until(
      'every metric has a name',
      () =>
        client
          .json<{ names: string[] }>('GET', `/api/v0/hosts/${busyHost}/metric-names`)
          .then(({ names }) => names),
      (names) => names.length === 40,
    );
  });

  afterAll(async () => {
    await pages.stop();
    await stack?.stop();
  });

  afterEach(async () => {
    expect(await pages.close()).toEqual([]);
  });

  /** Posts the samples of a machine for each minute of `[fromS, toS)`, and waits until they are in memory. */
  async function post(hostId: string, fromS: number, toS: number): Promise<void> {
    const points: Point[] = [];
    for (let time = fromS; time < toS; time += 60) {
      const wave = Math.sin(time / 900);
      const add = (name: string, value: number) => points.push({ hostId, name, time, value });
      add('loadavg1', 2 + wave);
      add('loadavg5', 1.8 + wave / 2);
      add('loadavg15', 1.5 + wave / 4);
      add('cpu.user.percentage', 30 + 10 * wave);
      add('cpu.system.percentage', 10 + 3 * wave);
      add('cpu.idle.percentage', 60 - 13 * wave);
      add('custom.orders.paid.count', Math.round(20 + 10 * wave));
      add('custom.orders.open.count', 5);
      // The metric has no samples in the middle of each half hour.
      if (time % 1800 < 600 || time % 1800 > 1200) add('custom.queue.length', 100 + 50 * wave);
    }
    await client.post(points);
    // A drain moves what is in memory.
    const { time } = points.at(-1)!;
    await until(
      'the samples in memory',
      () => client.metrics(hostId, 'loadavg1', time, time).catch(() => ''),
      (text) => text.includes('"value"'),
    );
  }

  /** Posts twenty minutes of a service's counters, a gauge and a histogram, with metadata. */
  async function postCounters(): Promise<void> {
    const attributes = [
      { key: 'service.name', value: { stringValue: 'checkout' } },
      { key: 'service.instance.id', value: { stringValue: 'a:1' } },
    ];
    const minutes = Array.from({ length: 20 }, (_, i) => i);
    const points = (of: (minute: number) => object) =>
      minutes.map((minute) => ({ timeUnixNano: `${now - (19 - minute) * 60}000000000`, ...of(minute) }));
    const sum = (of: (minute: number) => object) => ({
      sum: { aggregationTemporality: 2, isMonotonic: true, dataPoints: points(of) },
    });
    await client.json('POST', '/v1/metrics', {
      resourceMetrics: [
        {
          resource: { attributes },
          scopeMetrics: [
            {
              metrics: [
                {
                  name: 'page.hits',
                  description: 'Hits of the page.',
                  ...sum((n) => ({ asDouble: n * 120 })),
                },
                { name: 'page.sent', unit: 'By', ...sum((n) => ({ asDouble: n * 60 * 2048 })) },
                {
                  name: 'page.heap',
                  unit: 'By',
                  gauge: { dataPoints: points(() => ({ asDouble: 3 * 2 ** 20 })) },
                },
                {
                  name: 'page.wait',
                  unit: 's',
                  histogram: {
                    aggregationTemporality: 2,
                    dataPoints: points((n) => ({
                      count: String(n * 100),
                      sum: n * 10,
                      bucketCounts: [String(n * 100), '0'],
                      explicitBounds: [0.2],
                    })),
                  },
                },
              ],
            },
          ],
        },
      ],
    });
  }

  /** Posts 24 h of samples for 20 graphs with two series each. */
  async function postBusy(): Promise<void> {
    for (let graph = 1; graph <= 20; graph++) {
      const points: Point[] = [];
      for (let time = now - DAY_S + 1200; time <= now; time += 120)
        for (const series of ['in', 'out'])
          points.push({
            hostId: busyHost,
            name: `custom.flow${graph}.${series}`,
            time,
            value: Math.sin(time / (600 * graph)) * graph,
          });
      await client.post(points);
    }
  }

  async function signIn(page: Page, key = stack.apiKey): Promise<void> {
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
  }

  /** Signs in by the address, as `npm start` prints it. */
  const opened = (state: string, options?: BrowserContextOptions, url = stack.url) =>
    open(`${url}/#${state}&key=${stack.apiKey}`, options);

  const card = (page: Page, title: string) => page.getByRole('article', { name: title, exact: true });
  const plot = (page: Page, title: string) => card(page, title).getByRole('slider');
  const state = (page: Page) => new URLSearchParams(new URL(page.url()).hash.slice(1));

  /** Polls from outside: the page's Content-Security-Policy forbids a predicate that the browser polls. */
  const titled = (page: Page, title: string) =>
    until(
      'the title',
      () => page.title(),
      (seen) => seen === title,
    );

  test('comes compressed, with a policy that admits no other origin, and as 304 the second time', async () => {
    const response = await fetch(stack.url, { headers: { 'accept-encoding': 'gzip, br' } });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-encoding')).toBe('br');
    expect(response.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self';/,
    );
    const page = await response.text();
    for (const [file] of page.matchAll(/\/assets\/[\w.-]+/g)) {
      const asset = await fetch(stack.url + file);
      expect([asset.status, asset.headers.get('cache-control')]).toEqual([
        200,
        'public, max-age=31536000, immutable',
      ]);
      expect(
        (await fetch(stack.url + file, { headers: { 'accept-encoding': 'identity' } })).headers.get(
          'content-encoding',
        ),
      ).toBeNull();
    }
    const again = await fetch(stack.url, { headers: { 'if-none-match': response.headers.get('etag')! } });
    expect(again.status).toBe(304);
    const nothing = await fetch(`${stack.url}/assets/nothing.js`);
    expect([nothing.status, await nothing.json()]).toEqual([404, { error: { message: expect.any(String) } }]);
  });

  test('leads from a key to a graph that follows the present, and calls only its own server', async () => {
    const page = await open(`${stack.url}/#last=30m`);
    const asked = new Set<string>();
    page.on('request', (request) => asked.add(new URL(request.url()).origin));
    await signIn(page);
    await page.getByRole('link', { name: 'busy' }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('sho');
    await page.getByRole('link', { name: 'busy' }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: /^shop/ }).click();
    await plot(page, 'latency').waitFor();
    await page.getByLabel('Search hosts').fill('web');
    await page.getByRole('link', { name: /^web1/ }).click();
    const load = card(page, 'Load average');
    await plot(page, 'Load average').waitFor();
    await load.getByRole('button', { name: /^1 min ?[\d.]+$/ }).waitFor();
    const time = Math.floor(Date.now() / 1000);
    await client.post([{ hostId: host, name: 'loadavg1', time, value: 77.7 }]);
    await load.getByText('77.7', { exact: true }).waitFor();
    expect([...asked]).toEqual([stack.url]);
    await titled(page, 'web1 · HeteroTSDB');
  });

  test('draws graphs as they are defined, and gaps as gaps', async () => {
    const page = await opened(`host=${host}&last=3h`);
    await plot(page, 'Orders by state').waitFor();
    expect(await card(page, 'Orders by state').getByRole('listitem').allTextContents()).toEqual(
      expect.arrayContaining([expect.stringMatching(/^open/), expect.stringMatching(/^paid/)]),
    );
    await page.getByRole('button', { name: 'Show only queue' }).click();
    expect(state(page).getAll('graph')).toEqual(['custom.queue']);
    await plot(page, 'queue').waitFor();
    await page.screenshot({ path: join(SCREENSHOTS, 'gaps.png') });
    await page.getByRole('button', { name: /^Show all/ }).click();
    expect(state(page).has('graph')).toBe(false);
  });

  test('zooms by dragging, and the link shows the same in a new tab', async () => {
    const page = await opened(`host=${host}&last=6h&time=utc&graph=cpu`);
    const over = card(page, 'CPU').locator('.u-over');
    await over.waitFor();
    const box = await boxOf(over);
    await page.mouse.move(box.x + box.width * 0.7, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.9, box.y + 60, { steps: 5 });
    await page.mouse.up();
    await until(
      'a fixed range',
      async () => state(page).get('from'),
      (from) => from !== null,
    );
    expect(await page.getByRole('button', { name: 'Follow now' }).isEnabled()).toBe(true);
    const [from, to] = ['from', 'to'].map((name) => Number(state(page).get(name)));
    // On a busy machine, the page may be laid out after its graph was measured, which makes the graph narrower.
    const share = (0.2 * box.width) / (await boxOf(over)).width;
    expect((to! - from!) / (6 * 3600)).toBeGreaterThan(0.95 * share);
    expect((to! - from!) / (6 * 3600)).toBeLessThan(1.05 * share);
    const range = await page.locator('.range').textContent();

    // Another tab gets the link but not the key.
    const other = await openIn(contexts.at(-1)!, page.url());
    await signIn(other);
    await plot(other, 'CPU').waitFor();
    expect(await other.locator('.range').textContent()).toBe(range);
    expect(other.url()).toBe(page.url());

    await page.goBack();
    await plot(page, 'CPU').waitFor();
    expect(state(page).get('last')).toBe('6h');
    await over.dblclick();
    await until(
      'zoomed out',
      async () => state(page).get('last'),
      (last) => last === '12h',
    );
  });

  test('shares the crosshair among graphs, and shows the values there', async () => {
    const page = await opened(`host=${host}&last=1h&time=utc`);
    await plot(page, 'CPU').waitFor();
    await plot(page, 'Load average').waitFor();
    const over = card(page, 'Load average').locator('.u-over');
    const box = await boxOf(over);
    await page.mouse.move(box.x + box.width * 0.8, box.y + 40);
    const at = card(page, 'Load average').locator('.at');
    await until(
      'the time at the crosshair',
      () => at.textContent(),
      (text) => /^\d\d-\d\d \d\d:\d\d:00$/.test(text!),
    );
    await until(
      'the same time in the other graph',
      async () => [await card(page, 'CPU').locator('.at').textContent(), await at.textContent()],
      ([there, here]) => there === here,
    );

    await plot(page, 'Load average').focus();
    await page.keyboard.press('Home');
    expect(await plot(page, 'Load average').getAttribute('aria-valuetext')).toMatch(
      /^\d{4}-\d\d-\d\d \d\d:\d\d:00: 1 min [\d.]+, 5 min [\d.]+, 15 min [\d.]+$/,
    );
    const first = await plot(page, 'Load average').getAttribute('aria-valuetext');
    await page.keyboard.press('ArrowRight');
    expect(await plot(page, 'Load average').getAttribute('aria-valuetext')).not.toBe(first);
  });

  test('shows where the data is: which tiers, where along the time axis, how many samples', async () => {
    const page = await opened(`host=${host}&last=1d&graph=loadavg`);
    await plot(page, 'Load average').waitFor();
    const shares = card(page, 'Load average').getByRole('list', { name: 'Where the data is' });
    const text = (await shares.textContent())!;
    const samples = (tier: string) =>
      Number(new RegExp(`${tier} ([\\d,]+) sample`).exec(text)![1]!.replace(',', ''));
    expect(samples('hot')).toBeGreaterThanOrEqual(90);
    expect(samples('warm')).toBe(180);
    if (now % DAY_S < 22 * 3600) expect(samples('cold')).toBe(90);
    // The times of the tiers overlap and do not add up to the request's time, so the page shows only the latter.
    expect(text).not.toMatch(/ ms/);
    const spans = await card(page, 'Load average')
      .locator('.band')
      .evaluateAll((bands) =>
        bands.map((band) =>
          Array.from(
            (band as unknown as { children: Iterable<{ style: { left: string } }> }).children,
            ({ style }) => Number.parseFloat(style.left),
          ),
        ),
      );
    const [hot, warm, cold] = spans;
    expect(hot![0]).toBeGreaterThan(95);
    expect(warm![0]).toBeGreaterThan(85);
    expect(warm![0]).toBeLessThan(95);
    // The warm samples are later than yesterday's archived samples. (Early in a day, the warm tier may have
    // none.)
    if (now % DAY_S > 3 * 3600 && now % DAY_S < 22 * 3600) expect(cold![0]).toBeLessThan(warm![0]!);

    await page.getByRole('button', { name: 'Where the data is' }).click();
    await shares.waitFor({ state: 'detached' });
    expect(state(page).get('tiers')).toBe('off');
  });

  test('saves a graph as CSV and as PNG', async () => {
    const page = await opened(`host=${host}&graph=loadavg`);
    // Until the page knows the host's name, files have its id.
    await page.getByRole('heading', { level: 1, name: 'web1', exact: true }).waitFor();
    await plot(page, 'Load average').waitFor();
    const saved = async (kind: string) => {
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: `Save Load average as ${kind}` }).click(),
      ]);
      return { name: file.suggestedFilename(), bytes: readFileSync((await file.path())!) };
    };
    const csv = await saved('CSV');
    expect(csv.name).toBe('web1-loadavg.csv');
    expect(csv.bytes.toString().split('\r\n').slice(0, 2)).toEqual([
      'time,loadavg1,loadavg5,loadavg15',
      expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:00\.000Z,[\d.]+,[\d.]+,[\d.]+$/),
    ]);
    const png = await saved('PNG');
    expect(png.name).toBe('web1-loadavg.png');
    expect(png.bytes.subarray(1, 4).toString()).toBe('PNG');
    expect(png.bytes.length).toBeGreaterThan(5_000);
  });

  test('says what is wrong with a key, and takes another', async () => {
    const page = await open(stack.url);
    const { promise: answered, resolve: goOn } = Promise.withResolvers<void>();
    await page.route('**/api/**', async (route) => {
      await answered;
      await route.continue();
    });
    await page.getByLabel('API key').fill('ht_nobody');
    await page.getByRole('button', { name: 'Sign in' }).press('Enter');
    // The button keeps the focus while the page waits for the answer.
    await page.locator('button[aria-disabled=true]:focus', { hasText: 'Signing in' }).waitFor();
    goOn();
    await page.getByRole('alert').getByText('does not know this key').waitFor();
    await signIn(page);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    await page.reload();
    await page.getByLabel('API key').waitFor();
    expect(errors.splice(0)).toEqual([expect.stringMatching(REQUEST_FAILED)]);
  });

  test('keeps its graphs when the server is gone, says so, and goes on when it is back', async () => {
    const door = new Door(Number(new URL(stack.url).port));
    const port = await door.open(0);
    const page = await opened(`host=${host}&graph=loadavg&last=30m`, {}, `http://127.0.0.1:${port}`);
    await plot(page, 'Load average').waitFor();
    await door.close();
    await page.getByRole('alert').getByText('has not answered').waitFor();
    expect(await plot(page, 'Load average').isVisible()).toBe(true);
    await door.open(port);
    await page.getByRole('alert').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: /^6h/ }).click();
    const shares = card(page, 'Load average').getByRole('listitem');
    await shares.filter({ hasText: /^warm 1\d\d samples/ }).waitFor();
    await page.close();
    await door.close();
    const failed = errors.splice(0);
    expect(failed.filter((text) => !REQUEST_FAILED.test(text))).toEqual([]);
  });

  describe('says why it shows nothing', () => {
    test('in a browser whose language is no valid tag, it shows everything', async () => {
      const context = await pages.browser.newContext({ viewport: DESKTOP });
      contexts.push(context);
      await context.addInitScript(
        "Object.defineProperty(Navigator.prototype, 'language', { get: () => 'en-US@posix' })",
      );
      const page = await openIn(context, `${stack.url}/#host=${host}&key=${stack.apiKey}`);
      await plot(page, 'Load average').waitFor();
    });

    test('when its script does not arrive', async () => {
      const context = await pages.browser.newContext({ viewport: DESKTOP });
      contexts.push(context);
      await context.route('**/assets/*.js', (route) => route.abort());
      const page = await openIn(context, stack.url);
      await page.getByText('The page did not start.').waitFor();
      const seen = errors.splice(0);
      expect(seen.length).toBeGreaterThan(0);
      // One failed request for each file: the page's own script, and those that it imports.
      expect(seen.filter((text) => !REQUEST_FAILED.test(text))).toEqual([]);
    });

    test('when it fails while it starts', async () => {
      const context = await pages.browser.newContext({ viewport: DESKTOP });
      contexts.push(context);
      await context.addInitScript(
        "Object.defineProperty(window, 'sessionStorage', { get() { throw new Error('no storage'); } })",
      );
      const page = await openIn(context, stack.url);
      await page.getByText('no storage').waitFor();
      await page.getByRole('button', { name: 'Reload' }).waitFor();
    });

    test('in a link to something that does not exist', async () => {
      const page = await opened('host=nobody');
      for (const [link, says] of [
        ['host=nobody', 'There is no host “nobody”'],
        ['service=nothing', 'There is no service “nothing”'],
        ['role=shop:nothing', 'There is no role “shop:nothing”'],
        [`host=${retiredHost}`, 'This host was retired at'],
        [`host=${retiredHost}`, 'Its posts are rejected, at the latest an hour later.'],
      ] as const) {
        await page.goto(`${stack.url}/#${link}`);
        await page.getByText(says).waitFor();
      }
      await page.close();
      expect(errors.splice(0).filter((text) => !REQUEST_FAILED.test(text))).toEqual([]);
    });

    test('in a link to an impossible time range', async () => {
      const page = await opened(`host=${host}&last=9999d`);
      await page.getByText('The link asks for an impossible time range: last=9999d').waitFor();
    });

    test('and shows the samples of a retired host all the same', async () => {
      const page = await opened(`host=${retiredHost}`);
      await plot(page, 'Load average').waitFor();
      await titled(page, 'old1 · HeteroTSDB');
    });
  });

  test('recovers from a server that lets requests in and never answers', async () => {
    const door = new Door(Number(new URL(stack.url).port));
    const port = await door.open(0);
    const page = await open('about:blank');
    await page.addInitScript(TIME_OUTS_BY_HAND);
    await page.goto(`http://127.0.0.1:${port}/#host=${host}&graph=loadavg&last=30m&key=${stack.apiKey}`);
    await plot(page, 'Load average').waitFor();
    door.hang(true);
    await until(
      'the page says that the server does not answer',
      async () => {
        await page.evaluate('passTimeOuts()');
        return page.getByRole('alert').getByText('has not answered').count();
      },
      (count) => count > 0,
    );
    await page.evaluate('passTimeOuts()');
    door.hang(false);
    await page.getByRole('alert').waitFor({ state: 'detached' });
    const time = Math.floor(Date.now() / 1000);
    await client.post([{ hostId: host, name: 'loadavg5', time, value: 66.6 }]);
    await card(page, 'Load average').getByText('66.6', { exact: true }).waitFor();
    await page.close();
    await door.close();
    expect(errors.splice(0).filter((text) => !REQUEST_FAILED.test(text))).toEqual([]);
  });

  test('keeps hidden lines in the address', async () => {
    const page = await opened(`host=${host}&graph=loadavg`);
    const line = card(page, 'Load average').getByRole('button', { name: /^5 min/ });
    await line.click();
    expect(state(page).getAll('hide')).toEqual(['loadavg5']);
    await page.reload();
    await plot(page, 'Load average').waitFor();
    expect(await line.getAttribute('aria-pressed')).toBe('false');
    await line.click();
    expect(state(page).has('hide')).toBe(false);
  });

  test('shows no value where no sample is near the crosshair', async () => {
    // Apart from yesterday's samples, the last are half an hour before the middle of this range.
    const page = await opened(`host=${retiredHost}&time=utc&from=${now - 2400}&to=${now + 6000}`);
    const load = card(page, 'Load average');
    await plot(page, 'Load average').waitFor();
    const value = load.getByRole('button', { name: /^1 min/ });
    const utc = (timeS: number) => new Date(timeS * 1000).toISOString().slice(5, 19).replace('T', ' ');
    await until(
      'the last sample',
      async () => [await value.textContent(), await load.locator('.at').textContent()],
      ([text, at]) => text === '1 min40' && at === utc(now - 600),
    );
    const over = load.locator('.u-over');
    const { width } = await boxOf(over);
    await over.hover({ position: { x: width * 0.9, y: 50 } });
    await until(
      'no value',
      () => value.textContent(),
      (text) => text === '1 min–',
    );
    expect(await load.locator('.at').textContent()).not.toBe(utc(now - 600));
  });

  test('moves nothing but the graphs when the user zooms', async () => {
    const page = await opened(`host=${host}&last=3h&graph=loadavg`);
    for (const width of [DESKTOP.width, 900]) {
      await page.setViewportSize({ ...DESKTOP, width });
      await plot(page, 'Load average').waitFor();
      const over = card(page, 'Load average').locator('.u-over');
      await page.getByText('1 annotation, the last: Deploy 1.2').waitFor();
      const before = await boxOf(over);
      await page.mouse.move(before.x + before.width * 0.3, before.y + 50);
      await page.mouse.down();
      await page.mouse.move(before.x + before.width * 0.4, before.y + 60, { steps: 5 });
      await page.mouse.up();
      await page.getByText('No annotations').waitFor();
      expect(await boxOf(over)).toEqual(before);
      await page.goBack();
    }
  });

  test('closes the form of dates when the user clicks elsewhere or leaves it', async () => {
    const page = await opened(`host=${host}&graph=loadavg`);
    await plot(page, 'Load average').waitFor();
    const form = page.locator('.dates form');
    for (const leave of [
      () => page.getByRole('heading', { level: 1 }).click(),
      () => page.getByLabel('Search metrics').focus(),
      () => page.keyboard.press('Escape'),
    ]) {
      await page.locator('.dates summary').click();
      await form.waitFor();
      await leave();
      await form.waitFor({ state: 'hidden' });
    }
  });

  test('tells hosts of one name apart, and shows all sources or a scroll bar', async () => {
    const twins = [await client.createHost('twin'), await client.createHost('twin')];
    const page = await opened(`host=${twins[0]}`);
    await page.getByRole('heading', { level: 1, name: `twin (${twins[0]})` }).waitFor();
    for (const id of twins) await page.getByRole('link', { name: `twin ${id}` }).waitFor();
    // No graphs and few sources: the list needs no scroll bar.
    const list = page.getByRole('navigation', { name: 'Hosts and services' });
    const isCut = (element: unknown) => {
      const { scrollHeight, clientHeight } = element as { scrollHeight: number; clientHeight: number };
      return scrollHeight > clientHeight;
    };
    expect(await list.evaluate(isCut)).toBe(false);
    for (const id of twins) await client.json('POST', `/api/v0/hosts/${id}/retire`, {});
  });

  test('takes a drag of three pixels for a click, and leaves no band', async () => {
    const page = await opened(`host=${host}&graph=loadavg`);
    await plot(page, 'Load average').waitFor();
    const over = card(page, 'Load average').locator('.u-over');
    // Wait until the graph is drawn and no longer moves.
    await over.hover({ position: { x: 100, y: 50 } });
    const box = await boxOf(over);
    await page.mouse.down();
    await page.mouse.move(box.x + 103, box.y + 50, { steps: 3 });
    await page.mouse.up();
    await page.mouse.move(box.x + 200, box.y + 60);
    await until(
      'no range is selected',
      () => card(page, 'Load average').locator('.u-select').boundingBox(),
      (selected) => selected === null || selected.width === 0,
    );
    expect(state(page).has('from')).toBe(false);
  });

  test('says how long a range is in words', async () => {
    const page = await opened(`host=${host}&last=16384m`);
    expect(await page.locator('.range').textContent()).toContain('last 11 d 9 h');
  });

  test('takes a range by date and time', async () => {
    const page = await opened(`host=${host}&graph=loadavg&time=utc`);
    await page.locator('.dates summary').click();
    await page.getByLabel('From').fill('2026-11-20T10:00');
    await page.getByLabel('To', { exact: true }).fill('2026-11-20T09:00');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.getByRole('alert').getByText('The end must be after the beginning.').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByLabel('To', { exact: true }).fill('2026-11-20T12:30');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.getByText('2026-11-20 10:00:00 to 2026-11-20 12:30:00').waitFor();
    const [from, to] = ['2026-11-20T10:00Z', '2026-11-20T12:30Z'].map((text) =>
      String(Date.parse(text) / 1000),
    );
    expect([state(page).get('from'), state(page).get('to')]).toEqual([from, to]);
  });

  test('keeps a date that is entered as soon as the form opens', async () => {
    const page = await opened(`host=${host}&graph=loadavg&time=utc`);
    await page.locator('.dates summary').waitFor();
    // Do all of this in one task, because the form's toggle event comes after it.
    const entered = await page.evaluate(`new Promise((resolve) => {
      const details = document.querySelector('details.dates');
      const [from] = details.querySelectorAll('input');
      details.addEventListener('toggle', () => setTimeout(() => resolve(from.value)));
      details.querySelector('summary').click();
      from.value = '2026-11-20T10:00';
    })`);
    expect(entered).toBe('2026-11-20T10:00');
  });

  test('reads as often as the user chooses', async () => {
    const page = await open('about:blank');
    await page.clock.install();
    await page.goto(`${stack.url}/#host=${host}&graph=loadavg&last=30m&key=${stack.apiKey}`);
    await page.getByLabel('Refresh').selectOption('off');
    expect(state(page).get('refresh')).toBe('off');
    await plot(page, 'Load average').waitFor();
    await page.getByRole('heading', { level: 1, name: 'web1', exact: true }).waitFor();
    let reads = 0;
    page.on('request', (request) => {
      if (request.url().includes('/metrics?')) reads++;
    });
    const answered = (path: string) => page.waitForResponse((response) => response.url().includes(path));
    // By default, a range of half an hour is read every five seconds, and the lists every fifteen.
    const lists = answered('/api/v0/hosts?');
    await page.clock.fastForward(60_000);
    await lists;
    expect(reads).toBe(0);
    await page.getByLabel('Refresh').selectOption('every 5 s');
    const read = answered('/metrics?');
    await page.clock.fastForward(5_000);
    await read;
  });

  test('compares with a day before', async () => {
    const page = await opened(`host=${host}&graph=loadavg&last=3h`);
    await plot(page, 'Load average').waitFor();
    const read = page.waitForRequest((request) => {
      const from = new URL(request.url()).searchParams.get('from');
      return from !== null && Number(from) < Date.now() / 1000 - DAY_S;
    });
    await page.getByLabel('Compare').selectOption('a day before');
    await read;
    expect(state(page).get('compare')).toBe('1d');
    await card(page, 'Load average').locator('.earlier').first().waitFor();
  });

  test("draws the annotations of a host's services and roles", async () => {
    const page = await opened(`host=${host}&graph=loadavg`);
    await plot(page, 'Load average').waitFor();
    await page.getByText('1 annotation, the last: Deploy 1.2').click();
    const list = page.getByRole('list', { name: 'Annotations' });
    await list.waitFor();
    expect(await list.getByRole('listitem').allTextContents()).toEqual([
      expect.stringMatching(/Deploy 1\.2$/),
    ]);
    const isDrawn = `document.querySelector('canvas').getContext('2d', { willReadFrequently: true })
      .getImageData(0, 0, 2000, 60).data.some((red, i, all) => i % 4 === 0 && all[i + 3] > 200 && red > 0x6a && red < 0x8a && all[i + 1] > 0x3f && all[i + 1] < 0x5f && all[i + 2] > 0xa0)`;
    await until(
      'an annotation is drawn',
      () => page.evaluate<boolean>(isDrawn),
      (drawn) => drawn,
    );
  });

  test('draws the hosts of a role in one graph, a line each or one for all', async () => {
    const page = await opened('role=shop:web&find=1 min');
    await plot(page, 'Load average: 1 min').waitFor();
    const lines = card(page, 'Load average: 1 min')
      .getByRole('list', { name: /^Lines/ })
      .getByRole('listitem');
    expect((await lines.allTextContents()).map((text) => text.slice(0, 4))).toEqual(['edge', 'web1']);
    await page.getByLabel('Hosts', { exact: true }).selectOption('maximum');
    await card(page, 'Load average: 1 min').getByText('maximum of 2 hosts').waitFor();
    expect(state(page).get('over')).toBe('max');
    await card(page, 'Load average: 1 min')
      .getByRole('button', { name: /^maximum.*[\d.]+$/ })
      .waitFor();
    await page.goto(`${stack.url}/#service=shop`);
    await plot(page, 'latency').waitFor();
    await page.getByRole('checkbox', { name: 'hosts' }).waitFor();
  });

  test('shows what the registry knows of a host, and changes its status', async () => {
    const page = await opened(`host=${host}&graph=loadavg`);
    await page.getByText('Details').click();
    await page.locator('.host').getByRole('link', { name: 'shop:web' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByLabel('Status', { exact: true }).selectOption('maintenance');
    await page.locator('.host summary').getByText('maintenance').waitFor();
    const known = await client.json<{ host: { status: string } }>('GET', `/api/v0/hosts/${host}`);
    expect(known.host.status).toBe('maintenance');
    await client.json('POST', `/api/v0/hosts/${host}/status`, { status: 'working' });

    const reader = await open(`${stack.url}/#host=${host}&key=${readKey}`);
    await reader.getByText('Details').click();
    await reader.getByLabel('Status', { exact: true }).selectOption('standby');
    await reader.getByRole('alert').getByText('This key lacks the write right').waitFor();
    expect(errors.splice(0)).toEqual([expect.stringMatching(REQUEST_FAILED)]);
  });

  test('draws series that no Mackerel host posted, by their labels', async () => {
    const lines = ['cpu0', 'cpu1'].map(
      (cpu, i) => `cpu,host=tele1,cpu=${cpu} usage_user=${30 + i},usage_idle=${70 - i} ${now - 60}`,
    );
    const written = await client.request('POST', '/write?precision=s', lines.join('\n'), {
      'content-type': 'text/plain',
    });
    expect(written.status).toBe(204);
    const page = await opened(`host=${host}`);
    await page.getByRole('link', { name: 'host=tele1' }).waitFor();
    await page.getByLabel('Search hosts').fill('host=tele1');
    await page.getByRole('link', { name: 'host=tele1' }).waitFor();
    await page.keyboard.press('Enter');
    await plot(page, 'cpu_usage_user').waitFor();
    await card(page, 'cpu_usage_user')
      .getByRole('button', { name: /^cpu=cpu1/ })
      .getByText('31')
      .waitFor();
    await page.getByRole('checkbox', { name: 'cpu.usage' }).waitFor();
    await page.goto(`${stack.url}/#labels=host=tele2`);
    await page.getByText('No series has the labels host=tele2').waitFor();
  });

  test('finds metrics within a host', async () => {
    const page = await opened(`host=${busyHost}`);
    await page.getByLabel('Search metrics').fill('flow2');
    await page.getByText('2 of 20 graphs').waitFor();
    expect(await page.getByRole('article').getByRole('heading').allTextContents()).toEqual([
      'flow2',
      'flow20',
    ]);
    expect(state(page).get('find')).toBe('flow2');
    await page.getByLabel('Search metrics').fill('nothing of that');
    await page.getByText('No graph has “nothing of that”').waitFor();
    await page.getByRole('button', { name: 'Show all 20' }).click();
    const titles = await page.getByRole('article').getByRole('heading').allTextContents();
    expect(titles).toEqual(Array.from({ length: 20 }, (_, i) => `flow${i + 1}`));
  });

  test('keeps the key for other tabs only if the user chooses so, until sign-out', async () => {
    const page = await open(`${stack.url}/#host=${host}&graph=loadavg`);
    expect(await page.getByLabel('Remember on this device').isChecked()).toBe(false);
    await page.getByText('This tab keeps the key until it is closed.').waitFor();
    await page.getByLabel('Remember on this device').check();
    await page.getByText('This browser keeps the key until you sign out.').waitFor();
    await signIn(page);
    await plot(page, 'Load average').waitFor();
    const other = await openIn(contexts.at(-1)!, page.url());
    await plot(other, 'Load average').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    await other.getByLabel('API key').waitFor();
  });

  test('stays usable with hundreds of hosts', async () => {
    // Write the hosts to the table. Requests would take ten times as long.
    const dynamodb = new DynamoDBClient(localAws(Number(new URL(stack.awsEndpoint).port)));
    const hosts = new Hosts({ client: dynamodb, name: physicalName('MetaTable') });
    const spec = { displayName: null, customIdentifier: null, memo: '', meta: {}, interfaces: [] };
    const names = Array.from({ length: 400 }, (_, i) => `node${i + 1}`);
    await mapLimited(names, 8, (name) => hosts.create(tenantIdOf('default'), { name, ...spec }, []));
    dynamodb.destroy();
    const page = await opened(`host=${busyHost}`);
    await page.getByText('Hosts 403').waitFor();
    const links = page.getByRole('navigation', { name: 'Hosts and services' }).getByRole('link');
    expect(await links.count()).toBeLessThan(80);
    expect((await links.allTextContents()).filter((text) => /^node/.test(text)).slice(0, 3)).toEqual([
      'node1',
      'node2',
      'node3',
    ]);
    // The graphs are in view beside the list.
    const tree = (await page.getByRole('group', { name: 'Graphs' }).boundingBox())!;
    expect(tree.y + 200).toBeLessThan(DESKTOP.height);
    await page.evaluate("document.querySelector('.sources').scrollTo(0, 1e6)");
    await page.getByRole('link', { name: /^web1/ }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('node77');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'node77', exact: true }).waitFor();
    await page.getByText('This host has no metrics yet').waitFor();
    expect(await violations(page)).toEqual([]);
  });

  test('fits a phone with a host name of 200 characters', async () => {
    const page = await opened(`host=${longHost}`, { viewport: PHONE, hasTouch: true, isMobile: true });
    await plot(page, 'Load average').waitFor();
    // On a phone, content that is too wide also makes `innerWidth` larger. So compare with the screen's
    // width.
    for (const view of ['Explore', 'Alerts', 'Status', 'Graphs']) {
      await page.getByRole('link', { name: view, exact: true }).click();
      await page.getByRole('heading', { level: 1 }).waitFor();
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.width);
      const signOut = page.getByRole('button', { name: 'Sign out' });
      expect((await signOut.boundingBox())!.height).toBeLessThan(40);
    }
    await plot(page, 'Load average').waitFor();
    const first = (await card(page, 'Load average').boundingBox())!;
    expect(first.y).toBeLessThan(PHONE.height / 3);
    await page.getByRole('button', { name: 'Options', exact: true }).click();
    for (const name of ['Sign out', '1h: the last 1 hour', 'UTC']) {
      const button = page.getByRole('button', { name, exact: true });
      await button.scrollIntoViewIfNeeded();
      const { x, y, width, height } = (await button.boundingBox())!;
      const hit = `document.elementFromPoint(${x + width / 2}, ${y + height / 2})`;
      expect(await page.evaluate(`${hit}.getAttribute('aria-label') ?? ${hit}.textContent`)).toBe(name);
    }
    expect((await page.locator('.heading').boundingBox())!.width).toBeLessThan(2);
    expect((await page.locator('.menu').boundingBox())!.height).toBeLessThan(60);
  });

  test('says that a query matches nothing, and keeps the time axis for later samples', async () => {
    const page = await opened('view=explore&query=nothing_here');
    await card(page, 'nothing_here').getByText('The query matches nothing in this range.').waitFor();
  });

  test('explores all series with PromQL, as graphs and tables', async () => {
    // The range is fixed, so values are at its end however long the tests before this one took.
    const page = await opened(`view=explore&from=${now - 3 * 3600}&to=${now}`);
    const editor = page.getByRole('textbox', { name: 'Query 1' });
    await editor.click();
    await page.keyboard.type('loadavg1');
    await page.getByRole('option', { name: 'loadavg15' }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Enter');
    // web1 and the host with the long name have a line each. The retired one has samples, too.
    await plot(page, 'loadavg1').waitFor();
    await card(page, 'loadavg1').getByRole('button', { name: host }).waitFor();
    await card(page, 'loadavg1').getByRole('list', { name: 'Where the data is' }).waitFor();

    await page.getByRole('button', { name: 'Add a query' }).click();
    await page.getByRole('textbox', { name: 'Query 2' }).click();
    // None of these keys moves or zooms the range.
    await page.keyboard.type(`sum by (host) ({__name__=~"cpu.*", host="${host}"}) - 0`);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Run Query 2' }).click();
    const sum = `sum by (host) ({__name__=~"cpu.*", host="${host}"}) - 0`;
    await card(page, sum).getByText('100', { exact: true }).first().waitFor();
    expect([...state(page)]).toEqual([
      ['view', 'explore'],
      ['from', String(now - 3 * 3600)],
      ['to', String(now)],
      ['query', 'loadavg1'],
      ['query', sum],
    ]);

    // Each graph has the whole width, and half of the screen's height.
    const box = (await plot(page, sum).boundingBox())!;
    expect(box.width).toBeGreaterThan(DESKTOP.width - 80);
    expect(box.height).toBeGreaterThan(DESKTOP.height * 0.4);
    for (const kind of ['CSV', 'PNG']) {
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: `Save loadavg1 as ${kind}`, exact: true }).click(),
      ]);
      expect(file.suggestedFilename()).toBe(`explore-loadavg1.${kind.toLowerCase()}`);
    }

    await page.getByRole('button', { name: 'Table' }).click();
    await card(page, sum)
      .getByRole('cell', { name: `{host="${host}"}` })
      .waitFor();
    await page.getByRole('button', { name: 'Most series' }).click();
    await page.getByRole('table', { name: 'Metric names' }).getByRole('button').first().waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Remove query 2' }).click();
    await card(page, sum).waitFor({ state: 'detached' });
    await titled(page, 'Explore · HeteroTSDB');
  });

  test('draws counters as rates, histograms as quantiles and bytes as bytes, says so, and lets the user choose', async () => {
    const range = `from=${now - 1800}&to=${now}`;
    const page = await opened(`labels=instance=a:1,job=checkout&${range}`);
    const line = (title: string, value: RegExp) =>
      card(page, title)
        .getByRole('list', { name: /^Lines/ })
        .getByRole('button', { name: value })
        .waitFor();
    // Ask the API first, since a reload of the page takes much more time.
    await until(
      'the metadata, which an instance lists once a minute',
      () => client.json<{ data: object }>('GET', '/prometheus/api/v1/metadata'),
      ({ data }) => 'page_hits_total' in data,
    );
    await until(
      'the samples in memory, and the metadata in the instance that the page asks',
      async () => {
        await page.reload();
        const lines = card(page, 'page_hits_total').getByRole('list', { name: /^Lines/ });
        await lines.waitFor();
        return (await lines.allTextContents()).join();
      },
      (text) => text.includes('2 /s'),
    );
    await line('page_hits_total', /2 \/s$/);
    await line('page_sent_bytes_total', /2 KiB\/s$/);
    await line('page_heap_bytes', /3 MiB$/);
    await line('page_wait_seconds', /^90 % ?180 ms$/);
    await card(page, 'page_hits_total')
      .getByText(
        'A counter, drawn as its rate per second: rate(page_hits_total{instance="a:1", job="checkout"}[5m])',
      )
      .waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByLabel('Show page_hits_total as').selectOption('total as stored');
    await line('page_hits_total', /2\.28k$/);
    expect(state(page).get('way')).toBe('stored:page_hits_total');

    // The same in Explore, reached through its browser of metrics.
    await page.goto(`${stack.url}/#view=explore&${range}`);
    await page.getByRole('button', { name: 'Metrics', exact: true }).click();
    await page.getByLabel('Search names and help').fill('hits of');
    const row = page.getByRole('table', { name: 'Metrics' }).getByRole('row', { name: /^page_hits_total/ });
    await row.waitFor();
    expect(await row.getByRole('cell').allTextContents()).toEqual([
      'page_hits_total',
      'counter',
      '1',
      'Hits of the page.',
    ]);
    expect(await violations(page)).toEqual([]);
    await row.getByRole('button').click();
    await line('page_hits_total', /2 \/s$/);
    await page.getByLabel('Show page_hits_total as').selectOption('increase');
    await line('page_hits_total', /600$/);

    await page.getByRole('button', { name: 'History', exact: true }).click();
    const past = page.getByRole('list', { name: 'Queries that ran, latest first' });
    expect(await past.getByRole('listitem').allTextContents()).toEqual(['page_hits_total']);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    expect(await page.evaluate("sessionStorage.getItem('queries')")).toBeNull();
  });

  test('says what is wrong with a query, without the answer of the one before', async () => {
    const page = await opened(`view=explore&from=${now - 600}&to=${now}&show=table&query=loadavg5`);
    await card(page, 'loadavg5').getByRole('cell').first().waitFor();
    const [table] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save loadavg5 as CSV' }).click(),
    ]);
    await page.getByRole('button', { name: 'Explain loadavg5' }).click();
    const explained = page.getByRole('list', { name: 'What loadavg5 reads' });
    await explained.getByText(/samples \(the range is shorter than 3 days\)/).waitFor();
    expect(await explained.textContent()).toMatch(
      /calls? of memory, \d+ calls? of DynamoDB with [\d.]+ read units?, \d+ requests? of S3: \$[\d.e-]+$/,
    );
    const [labels, row] = readFileSync((await table.path())!, 'utf8').split('\r\n');
    expect(labels).toBe('__name__,host,hostname,role,service,value');
    expect(row).toMatch(new RegExp(`^loadavg5,${host},web1,web,shop,[\\d.]+$`));
    await page.getByRole('textbox', { name: 'Query 1' }).fill('sum(');
    // The list of completions may cover the buttons.
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Run Query 1' }).click();
    const failed = card(page, 'sum(');
    await failed.getByRole('alert').getByText('parse error').waitFor();
    expect(await failed.getByRole('row').count()).toBe(0);
    await page.getByRole('button', { name: 'Graph', exact: true }).click();
    await failed.getByRole('alert').getByText('parse error').waitFor();
    expect(await failed.locator('canvas').count()).toBe(0);
    expect(errors.splice(0).filter((text) => !REQUEST_FAILED.test(text))).toEqual([]);
  });

  test('explores on a phone in the dark', async () => {
    const page = await opened('view=explore&query=loadavg5', {
      viewport: PHONE,
      hasTouch: true,
      isMobile: true,
      colorScheme: 'dark',
    });
    await plot(page, 'loadavg5').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.screenshot({ path: join(SCREENSHOTS, 'explore-phone.png'), fullPage: true });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.width);
  });

  test('shows the status of the pipeline', async () => {
    // Posts a sample that is stored, a thousand times: an instance adds up what it counted once in half a minute, with
    // the next request.
    const again = { hostId: longHost, name: 'loadavg1', time: now - 600, value: 40 };
    await until(
      "today's samples and reads are counted",
      async () => {
        await client.post(Array<Point>(1000).fill(again));
        await client.metrics(longHost, 'loadavg1', now - 600, now - 600);
        const { usage } = await client.json<Pick<Status, 'usage'>>('GET', '/api/v1/status');
        return usage.days.at(-1);
      },
      (day) => day !== undefined && day.samples >= 1000 && day.reads > 0,
    );
    const page = await open('about:blank');
    // A rate takes two reads of the status, half a minute apart. The first one is made that much older.
    await page.route(
      '**/api/v1/status',
      async (route) => {
        const response = await route.fetch();
        const status = (await response.json()) as { atMs: number };
        await route.fulfill({ response, json: { ...status, atMs: status.atMs - 31_000 } });
      },
      { times: 1 },
    );
    await page.goto(`${stack.url}/#view=status&key=${stack.apiKey}`);
    for (const name of ['Stream Kinesis', 'Hot memory', 'Warm DynamoDB', 'Cold S3'])
      await page.getByRole('heading', { name }).waitFor();
    expect(await page.locator('.stage.hot .figure').textContent()).toMatch(/\d+ (s|min)/);
    expect(await page.getByText('group-windows').textContent()).toMatch(/[1-9]\d* group-windows/);
    const total = (name: string) =>
      page.locator('.totals div', { hasText: name }).locator('dd').textContent();
    expect(await total('Samples a second')).toMatch(/^known in \d+ s$|^[\d.]+k?$/);
    await until(
      'a rate',
      () => total('Samples a second'),
      (text) => /^[\d.]+k?$/.test(text!),
    );
    expect(await total('Series')).toMatch(/^[1-9]\d* of [1-9]\d*$/);
    expect(await total('Samples this month')).toMatch(/[1-9]/);
    expect(await total('Cost')).toMatch(/^(under 1 ¢|\$\d+\.\d\d)$/);
    expect(await page.locator('.stage.hot').textContent()).toMatch(/[\d.]+ [KM]iB in/);
    await card(page, 'Samples in, by day')
      .getByRole('button', { name: /^Samples in, by day ?[\d.]+[kM]$/ })
      .waitFor();
    await card(page, 'Reads, by day')
      .getByRole('button', { name: /^Reads, by day ?[1-9]/ })
      .waitFor();
    await card(page, 'Stream lag').getByRole('button', { name: /s$/ }).waitFor();
    await card(page, 'Reads').getByRole('button', { name: /\/s$/ }).waitFor();
    await page.getByText('What makes up the cost').click();
    expect(await page.getByRole('row').count()).toBeGreaterThan(5);
    expect(await violations(page)).toEqual([]);
    await page.screenshot({ path: join(SCREENSHOTS, 'status.png') });
  });

  test('draws the first graph after three requests, whatever else is still on its way', async () => {
    const page = await open(`${stack.url}/#host=${host}`);
    const wayToFirstGraph = [
      '/api/v1/graph-definitions',
      `/api/v0/hosts/${host}/metric-names`,
      `/api/v1/hosts/${host}/metrics`,
    ];
    const answered = new Set<string>();
    const held = new Set<string>();
    // The lists, the annotations and the data of other graphs never get an answer.
    await page.route('**/api/**', (route) => {
      const { pathname, search } = new URL(route.request().url());
      const isOther = pathname.endsWith('/metrics') && !search.includes('name=loadavg1');
      if (isOther || !wayToFirstGraph.includes(pathname)) return void held.add(pathname);
      answered.add(pathname);
      return route.continue();
    });
    await signIn(page);
    await plot(page, 'Load average').waitFor();
    expect([...answered].sort()).toEqual([...wayToFirstGraph].sort());
    expect([...held]).toEqual(expect.arrayContaining(['/api/v0/hosts', `/api/v1/hosts/${host}/metrics`]));
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    // Requests that were held have failed, because they timed out.
    expect(errors.splice(0).filter((text) => !REQUEST_FAILED.test(text))).toEqual([]);
  });

  test('draws each answer of 20 graphs of 24 h once, although the lists come last', async () => {
    const page = await open('about:blank', { viewport: { width: 1400, height: 5200 } });
    await page.addInitScript(COUNT_DRAWINGS);
    const drawings = () => page.evaluate<number>('drawings');
    const sampleCounts: number[] = [];
    page.on('response', async (response) => {
      // A busy server refuses a read, and the page reads again.
      if (!response.url().includes('/metrics?') || !response.ok()) return;
      // The page may have abandoned the read. Then nothing is drawn.
      const body = await response.json().catch(() => ({ series: [] }));
      const { series } = body as { series: { values: unknown[] }[] };
      sampleCounts.push(...series.map(({ values }) => values.length));
    });
    let release = () => {};
    const isReleased = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/api/v0/services', async (route) => {
      await isReleased;
      await route.continue();
    });
    // A range that does not follow the present. The page reads it again only after a time-out.
    const range = `from=${now - DAY_S}&to=${now}`;
    await page.goto(`${stack.url}/#host=${busyHost}&${range}&key=${stack.apiKey}`);
    await until(
      '20 graphs',
      () => page.locator('.card canvas').count(),
      (count) => count === 20,
    );
    release();
    await page.getByRole('heading', { level: 1, name: 'busy', exact: true }).waitFor();

    const over = page.locator('.u-over').first();
    const at = page.locator('.card .at');
    const times = new Set(await at.allTextContents());
    for (const x of [50, 250]) {
      await over.hover({ position: { x, y: 50 } });
      const [time] = await until(
        'the crosshair in all graphs',
        () => at.allTextContents(),
        (texts) => texts.length === 20 && new Set(texts).size === 1 && !times.has(texts[0]!),
      );
      times.add(time!);
    }
    // Neither the lists nor the crosshair caused a graph to be drawn again. A graph's answer has two series.
    await until(
      'no more drawings than answers',
      async () => ({ drawn: await drawings(), answered: sampleCounts.length / 2 }),
      ({ drawn, answered }) => drawn >= 20 && drawn <= answered,
    );
    expect(Math.max(...sampleCounts)).toBeLessThanOrEqual(800);
    await page.screenshot({ path: join(SCREENSHOTS, 'twenty.png') });
    expect(errors.splice(0).filter((text) => !REQUEST_FAILED.test(text))).toEqual([]);
  });

  test.each([
    { name: 'desktop', options: { viewport: DESKTOP } },
    { name: 'dark', options: { viewport: DESKTOP, colorScheme: 'dark' as const } },
    { name: 'phone', options: { viewport: PHONE, hasTouch: true, isMobile: true, deviceScaleFactor: 2 } },
  ])('is accessible: $name', async ({ name, options }) => {
    const page = await open(stack.url, options);
    await page.getByLabel('API key').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.screenshot({ path: join(SCREENSHOTS, `sign-in-${name}.png`) });
    await page.goto(`${stack.url}/#host=${host}&last=3h`);
    await signIn(page);
    await plot(page, 'Load average').waitFor();
    await plot(page, 'CPU').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.screenshot({ path: join(SCREENSHOTS, `graphs-${name}.png`), fullPage: true });
    // Nothing is wider than the screen.
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(options.viewport.width);
  });
});

/** Counts how often a graph's canvas is cleared, which is the first step of each drawing. */
const COUNT_DRAWINGS = `
  globalThis.drawings = 0;
  const { clearRect } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.clearRect = function (...area) {
    globalThis.drawings++;
    clearRect.apply(this, area);
  };
`;

/**
 * A proxy in front of a server. It can be closed, or accept requests and never answer them, while the server continues
 * to run.
 */
class Door {
  private server: Server | undefined;
  private readonly sockets = new Set<Socket>();
  private isHanging = false;

  constructor(private readonly behind: number) {}

  /** @returns the port; `port` unless that is 0 */
  async open(port: number): Promise<number> {
    this.server = createServer((socket) => {
      if (this.isHanging) {
        this.sockets.add(socket);
        socket.on('error', () => socket.destroy());
        return;
      }
      const inner = connect(this.behind, '127.0.0.1');
      for (const each of [socket, inner]) {
        this.sockets.add(each);
        each.on('close', () => this.sockets.delete(each)).on('error', () => each.destroy());
      }
      socket.pipe(inner).pipe(socket);
    }).listen(port, '127.0.0.1');
    await once(this.server, 'listening');
    return (this.server.address() as { port: number }).port;
  }

  /** From now on, leaves requests without an answer. With false, answers new requests on new connections. */
  hang(isHanging: boolean): void {
    this.isHanging = isHanging;
    // Requests in progress never get an answer, either.
    for (const socket of this.sockets)
      if (isHanging) socket.unpipe().removeAllListeners('data');
      else socket.destroy();
  }

  async close(): Promise<void> {
    const closed = once(this.server!, 'close');
    this.server!.close();
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }
}

/**
 * Returns where an element is, once it was found in the same place twice in a row. A graph moves while its page is laid
 * out.
 */
async function boxOf(element: Locator) {
  let before = '';
  const box = await until(
    'an element that stays where it is',
    () => element.boundingBox(),
    (seen) => {
      const isSame = seen !== null && JSON.stringify(seen) === before;
      before = JSON.stringify(seen);
      return isSame;
    },
  );
  return box!;
}
