import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { startBrowser } from '../support/browser';
import { Client, type Point } from '../support/client';
import { type LocalStack, startLocalStack } from '../support/local-stack';
import { ops } from '../support/ops';
import { until } from '../support/until';

const DAY_S = 86_400;
const DESKTOP = { width: 1400, height: 1000 };
const PHONE = { width: 390, height: 844 };
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
/** Kept, for people to look at. */
const SCREENSHOTS = join(__dirname, '..', '..', '.local', 'screenshots');

/** What Chromium writes when a request is answered 4xx, or not at all; some tests bring that about. */
const REQUEST_FAILED = /^Failed to load resource/;

jest.setTimeout(120_000);

describe('the page', () => {
  let stack: LocalStack;
  let browser: Browser;
  let client: Client;
  let host: string;
  let busyHost: string;
  const now = Math.floor(Date.now() / 60_000) * 60;
  const contexts: BrowserContext[] = [];
  let errors: string[] = [];

  beforeAll(async () => {
    mkdirSync(SCREENSHOTS, { recursive: true });
    browser = await startBrowser();
    stack = await startLocalStack({ settings: { services: 'shop', archiveAfter: '0s' } });
    client = new Client(stack.url, stack.apiKey);
    host = await client.createHost('web1');
    busyHost = await client.createHost('busy');
    // Yesterday's samples go to the archive, those of hours ago to the warm tier, and the last stay in memory.
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
    await postBusy();
    await until(
      'every metric has a name',
      () =>
        client
          .json<{ names: string[] }>('GET', `/api/v0/hosts/${busyHost}/metric-names`)
          .then(({ names }) => names),
      (names) => names.length === 40,
      60_000,
    );
  }, 300_000);

  afterAll(async () => {
    await browser?.close();
    await stack?.stop();
  }, 60_000);

  afterEach(async () => {
    for (const context of contexts.splice(0)) await context.close();
    const seen = errors;
    errors = [];
    expect(seen).toEqual([]);
  });

  /** A minute's samples of a machine, for each minute of the range, the last excluded. */
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
      // Silent in the middle of each half hour.
      if (time % 1800 < 600 || time % 1800 > 1200) add('custom.queue.length', 100 + 50 * wave);
    }
    await client.post(points);
  }

  /** 24 h of 20 graphs with two series each. */
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

  async function open(address: string, options: BrowserContextOptions = {}): Promise<Page> {
    // The machine's own language may be one that browsers do not know.
    const context = await browser.newContext({ viewport: DESKTOP, locale: 'en-US', ...options });
    contexts.push(context);
    return openIn(context, address);
  }

  async function openIn(context: BrowserContext, address: string): Promise<Page> {
    const page = await context.newPage();
    page.setDefaultTimeout(30_000);
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') errors.push(message.text());
    });
    page.on('pageerror', (error) => errors.push(String(error)));
    await page.goto(address);
    return page;
  }

  async function signIn(page: Page, key = stack.apiKey): Promise<void> {
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
  }

  /** Signed in by the address, as `npm start` prints it. */
  const opened = (state: string, options?: BrowserContextOptions, url = stack.url) =>
    open(`${url}/#${state}&key=${stack.apiKey}`, options);

  const card = (page: Page, title: string) => page.getByRole('article', { name: title, exact: true });
  const plot = (page: Page, title: string) => card(page, title).getByRole('slider');
  const state = (page: Page) => new URLSearchParams(new URL(page.url()).hash.slice(1));

  async function violations(page: Page): Promise<string[]> {
    await page.evaluate(AXE);
    return page.evaluate(
      `axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => id + ' ' + target)))`,
    );
  }

  test('is answered compressed, with a policy that lets nothing else in, and again with 304', async () => {
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

  test('leads from a key to a moving graph, and asks only its own server', async () => {
    const page = await open(`${stack.url}/#last=30m`);
    const asked = new Set<string>();
    page.on('request', (request) => asked.add(new URL(request.url()).origin));
    await signIn(page);
    await page.keyboard.press('/');
    await page.keyboard.type('sho');
    await page.getByRole('link', { name: 'web1' }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'shop' }).click();
    await plot(page, 'latency').waitFor();
    await page.getByLabel('Search').fill('web');
    await page.getByRole('link', { name: 'web1' }).click();
    const load = card(page, 'Load average');
    await plot(page, 'Load average').waitFor();
    expect(await load.getByRole('button', { name: /^1 min/ }).textContent()).toMatch(/^1 min[\d.]+$/);
    const time = Math.floor(Date.now() / 1000);
    await client.post([{ hostId: host, name: 'loadavg1', time, value: 77.7 }]);
    await load.getByText('77.7', { exact: true }).waitFor();
    expect([...asked]).toEqual([stack.url]);
    expect(await page.title()).toBe('web1 · HeteroTSDB');
  });

  test('shows graphs as they are defined, and gaps as gaps', async () => {
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
    const box = (await over.boundingBox())!;
    await page.mouse.move(box.x + box.width * 0.7, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.9, box.y + 60, { steps: 5 });
    await page.mouse.up();
    await page.getByRole('button', { name: 'Follow now' }).waitFor();
    const [from, to] = ['from', 'to'].map((name) => Number(state(page).get(name)));
    expect(to! - from!).toBeGreaterThan(0.19 * 6 * 3600);
    expect(to! - from!).toBeLessThan(0.21 * 6 * 3600);
    const range = await page.locator('.range').textContent();

    // Another tab has the link and not the key.
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

  test('shares the crosshair, and says the values there', async () => {
    const page = await opened(`host=${host}&last=1h&time=utc`);
    await plot(page, 'CPU').waitFor();
    await plot(page, 'Load average').waitFor();
    const over = card(page, 'Load average').locator('.u-over');
    const box = (await over.boundingBox())!;
    await page.mouse.move(box.x + box.width * 0.8, box.y + 40);
    const at = card(page, 'Load average').locator('.at');
    await until(
      'the time at the crosshair',
      () => at.textContent(),
      (text) => /^\d\d-\d\d \d\d:\d\d:00$/.test(text!),
    );
    expect(await card(page, 'CPU').locator('.at').textContent()).toBe(await at.textContent());

    await plot(page, 'Load average').focus();
    await page.keyboard.press('Home');
    expect(await plot(page, 'Load average').getAttribute('aria-valuetext')).toMatch(
      /^\d{4}-\d\d-\d\d \d\d:\d\d:00: 1 min [\d.]+, 5 min [\d.]+, 15 min [\d.]+$/,
    );
    const first = await plot(page, 'Load average').getAttribute('aria-valuetext');
    await page.keyboard.press('ArrowRight');
    expect(await plot(page, 'Load average').getAttribute('aria-valuetext')).not.toBe(first);
  });

  test('shows where the data is: which tiers, where along the time axis, how many samples, how long', async () => {
    const page = await opened(`host=${host}&last=1d&graph=loadavg`);
    await plot(page, 'Load average').waitFor();
    const shares = card(page, 'Load average').getByRole('list', { name: 'Where the data is' });
    const text = (await shares.textContent())!;
    const samples = (tier: string) =>
      Number(new RegExp(`${tier} ([\\d,]+) sample`).exec(text)![1]!.replace(',', ''));
    expect(samples('hot')).toBeGreaterThanOrEqual(90);
    expect(samples('warm')).toBe(180);
    if (now % DAY_S < 22 * 3600) expect(samples('cold')).toBe(90);
    expect(text).toMatch(/hot [\d,]+ samples [\d.]+ ms/);
    const spans = await card(page, 'Load average')
      .locator('.lane')
      .evaluateAll((lanes) =>
        lanes.map((lane) =>
          Array.from(
            (lane as unknown as { children: Iterable<{ style: { left: string } }> }).children,
            ({ style }) => Number.parseFloat(style.left),
          ),
        ),
      );
    const [hot, warm, cold] = spans;
    expect(hot![0]).toBeGreaterThan(95);
    expect(warm![0]).toBeGreaterThan(85);
    expect(warm![0]).toBeLessThan(95);
    if (now % DAY_S < 22 * 3600) expect(cold![0]).toBeLessThan(warm![0]!);

    await page.getByRole('button', { name: 'Where the data is' }).click();
    await shares.waitFor({ state: 'detached' });
    expect(state(page).get('tiers')).toBe('off');
  });

  test('saves a graph as CSV and as PNG', async () => {
    const page = await opened(`host=${host}&graph=loadavg`);
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

  test('says what is wrong with a key, and lets another be tried', async () => {
    const page = await open(stack.url);
    await signIn(page, 'ht_nobody');
    await page.getByRole('alert').getByText('not known here').waitFor();
    await signIn(page);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    await page.reload();
    await page.getByLabel('API key').waitFor();
    expect(errors.splice(0)).toEqual([expect.stringMatching(REQUEST_FAILED)]);
  });

  test('keeps what it shows when the server is gone, says so, and goes on when it is back', async () => {
    const door = new Door(Number(new URL(stack.url).port));
    const port = await door.open(0);
    const page = await opened(`host=${host}&graph=loadavg&last=30m`, {}, `http://127.0.0.1:${port}`);
    await plot(page, 'Load average').waitFor();
    await door.close();
    await page.getByRole('alert').getByText('does not answer').waitFor();
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

  test('shows the status of the pipeline', async () => {
    const page = await opened('view=status');
    for (const title of ['Stream', 'Hot', 'Warm', 'Cold'])
      await page.getByRole('heading', { name: new RegExp(`^${title}`) }).waitFor();
    expect(await page.locator('.stage.hot .figure').textContent()).toMatch(/\d+ (s|min)/);
    expect(await page.getByText('group-windows').textContent()).toMatch(/[1-9]\d* group-windows/);
    const total = (name: string) =>
      page.locator('.totals div', { hasText: name }).locator('dd').textContent();
    expect(await total('Series')).toMatch(/^[1-9]\d* of [1-9]\d*$/);
    await until(
      'samples counted',
      () => total('Samples this month'),
      (text) => /[1-9]/.test(text!),
      90_000,
    );
    expect(await total('Cost')).toMatch(/^(under 1 ¢|\$\d+\.\d\d)$/);
    expect(await page.locator('.stage.hot').textContent()).toMatch(/[\d.]+ [KM]iB in/);
    await page.getByText('What the cost is made of').click();
    expect(await page.getByRole('row').count()).toBeGreaterThan(5);
    expect(await violations(page)).toEqual([]);
    await page.screenshot({ path: join(SCREENSHOTS, 'status.png') });
  });

  test('draws the first graph within a second of signing in', async () => {
    const durations: number[] = [];
    // The machine may be busy with other tests: the best of a few.
    for (let tries = 0; tries < 5 && !durations.some((ms) => ms <= 1000); tries++) {
      const page = await open(`${stack.url}/#host=${host}`);
      await signIn(page);
      await plot(page, 'Load average').waitFor();
      durations.push(
        await page.evaluate<number>("performance.measure('shown', 'sign-in', 'first-graph').duration"),
      );
    }
    expect(Math.min(...durations)).toBeLessThanOrEqual(1000);
  });

  test('draws 20 graphs of 24 h without a frame over 100 ms', async () => {
    const page = await open(stack.url, { viewport: { width: 1400, height: 5200 } });
    const session = await page.context().newCDPSession(page);
    await signIn(page);
    await page.getByRole('heading', { level: 1 }).waitFor();
    const events: TraceEvent[] = [];
    session.on('Tracing.dataCollected', ({ value }) => events.push(...(value as unknown as TraceEvent[])));
    const traced = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve));
    await session.send('Tracing.start', {
      transferMode: 'ReportEvents',
      traceConfig: { includedCategories: ['disabled-by-default-devtools.timeline', 'devtools.timeline'] },
    });
    await page.goto(`${stack.url}/#host=${busyHost}&last=1d`);
    await until(
      '20 graphs',
      () => page.locator('.card canvas').count(),
      (count) => count === 20,
      60_000,
    );
    const over = page.locator('.u-over').first();
    await over.hover({ position: { x: 50, y: 50 } });
    await over.hover({ position: { x: 250, y: 60 } });
    await session.send('Tracing.end');
    await traced;
    await page.screenshot({ path: join(SCREENSHOTS, 'twenty.png') });
    const main = events.filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain');
    // Time of the processor, in us: what the page takes, whatever else the machine does meanwhile.
    const durations = events
      .filter(
        ({ name, pid, tid }) =>
          name === 'RunTask' && main.some((each) => each.pid === pid && each.tid === tid),
      )
      .map(({ tdur = 0 }) => tdur);
    expect(durations.length).toBeGreaterThan(100);
    expect(Math.max(...durations) / 1000).toBeLessThan(100);
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
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  });
});

/** @see https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU, Chromium's trace format */
interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  readonly args: { readonly name?: string };
  /** us of the thread's own time. */
  readonly tdur?: number;
}

/** Stands before a server, and can be shut while that runs on. */
class Door {
  private server: Server | undefined;
  private readonly sockets = new Set<Socket>();

  constructor(private readonly behind: number) {}

  /** @returns the port; `port` unless that is 0 */
  async open(port: number): Promise<number> {
    this.server = createServer((socket) => {
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

  async close(): Promise<void> {
    const closed = once(this.server!, 'close');
    this.server!.close();
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }
}
