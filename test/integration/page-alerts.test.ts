import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { Client } from '../support/client';
import { evaluateAt } from '../support/evaluator';
import { type LocalStack, SHARED_SETTINGS, startLocalStack } from '../support/local-stack';
import { ops } from '../support/ops';
import { DESKTOP, Pages, PHONE, REQUEST_FAILED, violations } from '../support/pages';
import { until } from '../support/until';

/** Folder of screenshots. They are kept there for people to look at. */
const SCREENSHOTS = join(__dirname, '..', '..', '.local', 'screenshots');

const RULES = `name: load
interval: 1m
rules:
  - record: job:load:max
    expr: max by (job) (shop_load)
  - alert: High
    expr: shop_load > 10
    labels: { severity: page }
    annotations:
      summary: "{{ $labels.job }} has a load of {{ $value }}"
      runbook: "https://example.com/high"
  - alert: Slow
    expr: shop_load > 10 and on (job) job:load:max > 0
    for: 1h
  - alert: Gone
    expr: absent(shop_orders{job="shop"})
  - alert: Broken
    expr: shop_load / on () shop_load > 1
`;

describe('the alerts view', () => {
  let stack: LocalStack;
  let client: Client;
  const pages = new Pages();
  /** A tick in the future and the tick after it, as Unix time in seconds. Only this test runs the evaluator. */
  let tickS: number;
  const nextS = () => tickS + 60;

  beforeAll(async () => {
    mkdirSync(SCREENSHOTS, { recursive: true });
    await pages.start();
    stack = await startLocalStack({ settings: SHARED_SETTINGS.shop, unscheduled: ['evaluator'] });
    client = new Client(stack.url, stack.apiKey, true);
  });

  afterAll(async () => {
    await pages.stop();
    await stack?.stop();
  });

  afterEach(async () => {
    expect(await pages.close()).toEqual([]);
  });

  const opened = (state: string, options?: BrowserContextOptions, key = stack.apiKey) =>
    pages.open(`${stack.url}/#${state}&key=${key}`, options);

  const alert = (page: Page, name: string) =>
    page.getByRole('article').filter({ has: page.getByRole('button', { name, exact: true }) });
  const timeText = (timeS: number) => new Date(timeS * 1000).toISOString().slice(0, 19).replace('T', ' ');
  const spoken = (page: Page, text: string) =>
    page.getByRole('status', { name: 'Firing alerts' }).getByText(text, { exact: true });
  const header = (page: Page, name: string) => page.getByRole('link', { name, exact: true });

  /** Posts the load of both jobs at times in seconds. */
  async function post(samples: readonly (readonly [timeS: number, shop: number])[]): Promise<void> {
    const lines = samples.flatMap(([timeS, shop]) => [
      `shop,job=shop load=${shop} ${timeS}`,
      `shop,job=blog load=${3 + Math.sin(timeS / 300)} ${timeS}`,
    ]);
    const answer = await client.request('POST', '/write?precision=s', lines.join('\n'), {
      'content-type': 'text/plain',
    });
    expect(answer.status).toBe(204);
    const [lastS] = samples.at(-1)!;
    await found(`count(timestamp(shop_load) == ${lastS})`, lastS);
  }

  /** Waits until a query has one result at a time in seconds. */
  const found = (query: string, timeS: number) =>
    until(
      query,
      () =>
        client.json<{ data: { result: unknown[] } }>(
          'GET',
          `/prometheus/api/v1/query?query=${encodeURIComponent(query)}&time=${timeS}`,
        ),
      ({ data }) => data.result.length === 1,
    );

  /**
   * Evaluates the rules up to a tick. A run leaves out the tick while readers of the stream are behind. Its
   * report then has no tick, or a lag of a minute.
   */
  const evaluate = (atS: number) =>
    until(
      `the tick of ${timeText(atS)} is evaluated`,
      () => evaluateAt(stack, (atS + 1) * 1000),
      ({ ticks, lagMs }) => ticks > 0 && lagMs < 60_000,
    );

  pages.test('tells a newcomer how to add the first rule', async () => {
    const page = await opened('view=alerts');
    await page.getByRole('heading', { name: 'No rules yet' }).waitFor();
    await page.getByText(`npm run ops -- rules sync rules.yaml --url ${stack.url}`).waitFor();
    await spoken(page, 'No alerts firing').waitFor({ state: 'attached' });
    expect(await violations(page)).toEqual([]);
    await page.screenshot({ path: join(SCREENSHOTS, 'alerts-none.png') });
  });

  pages.test('shows firing alerts, since when and why, with a graph; and which rules fail', async () => {
    tickS = Math.ceil(Date.now() / 60_000) * 60 + 1800;
    const minutes = Array.from({ length: 40 }, (_, i) => tickS - 10 - (39 - i) * 60);
    await post(minutes.map((timeS, i) => [timeS, i < 39 ? 6 + 2 * Math.sin(i / 3) : 32]));
    const answer = await client.request('POST', '/prometheus/config/v1/rules/web', RULES, {
      'content-type': 'application/yaml',
    });
    expect(answer.status).toBe(202);
    await evaluate(tickS);

    const page = await pages.open('about:blank');
    // The page's clock is later than the tick.
    await page.clock.setSystemTime((tickS + 300) * 1000);
    await page.goto(`${stack.url}/#view=alerts&time=utc&key=${stack.apiKey}`);
    await header(page, 'Alerts 2 firing').waitFor();
    await spoken(page, '2 alerts firing').waitFor({ state: 'attached' });
    const high = alert(page, 'High');
    await high.getByText(`since ${timeText(tickS)}`).waitFor();
    await high.getByText('32 is more than 10.').waitFor();
    await high.getByText('shop has a load of 32').waitFor();
    await alert(page, 'Gone')
      .getByText(/^Missing since .*: shop_orders{job="shop"}$/)
      .waitFor();
    await alert(page, 'Slow').getByText('It fires once this has been true for 1 h.').waitFor();

    // Two alerts fired at the same time, and the page has opened the card of one of them. Open this card if
    // it is closed.
    if (
      (await high.getByRole('button', { name: 'High', exact: true }).getAttribute('aria-expanded')) ===
      'false'
    )
      await high.getByRole('button', { name: 'High', exact: true }).press('Enter');
    // Only the alert's own series is shown.
    const lines = high.getByRole('list', { name: /^Lines/ }).getByRole('listitem');
    await lines.first().waitFor();
    expect(await lines.count()).toBe(1);
    await high.getByText('Dashed: 10, which the rule compares with.').waitFor();
    expect(await high.getByRole('link', { name: 'https://example.com/high' }).count()).toBe(1);
    // The threshold is a row of pixels of its colour, and the start of the alert is a column.
    const strokes = `(() => {
      const drawn = document.querySelector('canvas');
      const { width, height } = drawn;
      const copy = Object.assign(document.createElement('canvas'), { width, height });
      const context = copy.getContext('2d', { willReadFrequently: true });
      context.drawImage(drawn, 0, 0);
      const { data } = context.getImageData(0, 0, width, height);
      const rows = new Array(height).fill(0), columns = new Array(width).fill(0);
      for (let i = 0; i < data.length; i += 4)
        if (data[i + 3] > 150 && Math.abs(data[i] - 0xa8) < 8 && Math.abs(data[i + 1] - 0x32) < 8) {
          rows[Math.floor(i / 4 / width)]++;
          columns[(i / 4) % width]++;
        }
      return [Math.max(...rows), Math.max(...columns)];
    })()`;
    await until(
      'the threshold and the active span are drawn',
      () => page.evaluate<[number, number]>(strokes),
      ([row, column]) => row > 300 && column > 100,
    );

    const broken = page.getByRole('table', { name: 'web / load' }).getByRole('row', { name: /^Broken/ });
    await broken.getByText('fails').waitFor();
    await broken.getByText(/duplicate series|many-to-many/).waitFor();
    await page.getByRole('heading', { name: 'Rules 5 in 1 group, 1 failing' }).waitFor();
  });

  pages.test('keeps open details in the address', async () => {
    const page = await opened('view=alerts&alert=');
    const toggle = alert(page, 'High').getByRole('button', { name: 'High', exact: true });
    await toggle.waitFor();
    expect(await page.getByRole('button', { expanded: true }).count()).toBe(0);
    await toggle.focus();
    await page.keyboard.press('Space');
    await alert(page, 'High').getByRole('slider').waitFor();
    expect(new URLSearchParams(new URL(page.url()).hash.slice(1)).getAll('alert')).toEqual([
      'alertname=High,job=shop,severity=page',
    ]);
    await page.reload();
    await alert(page, 'High').getByRole('slider').waitFor();
  });

  pages.test('silences an alert with a reason, shows the silence, and ends it', async () => {
    const page = await opened('view=alerts&alert=alertname=High,job=shop,severity=page');
    const high = alert(page, 'High');
    await high.getByRole('button', { name: 'Silence', exact: true }).click();
    await high.getByRole('alert').getByText('Give a reason').waitFor();
    await high.getByLabel('Reason').fill('The sale is on');
    await high.getByLabel('For', { exact: true }).selectOption('4 hours');
    await high.getByLabel('Reason').press('Enter');
    await high.getByText(/^Silenced until .* by the page: The sale is on$/).waitFor();
    // The form and the note are removed. The keyboard's focus then moves to the title.
    const focusedTitle = high.locator('h3 button:focus');
    await focusedTitle.waitFor();
    await header(page, 'Alerts 1 firing').waitFor();
    const [silence] = await client.json<{ startsAt: string; endsAt: string; status: { state: string } }[]>(
      'GET',
      '/alertmanager/api/v2/silences',
    );
    expect(silence!.status.state).toBe('active');
    expect(Date.parse(silence!.endsAt) - Date.parse(silence!.startsAt)).toBeGreaterThan(3.9 * 3_600_000);
    await page.screenshot({ path: join(SCREENSHOTS, 'alerts-silenced.png'), fullPage: true });

    const { key } = await ops<{ key: string }>(
      stack.url,
      ...['keys', 'create', '--tenant', 'default', '--rights', 'read'],
    );
    const reader = await opened('view=alerts', {}, key);
    await alert(reader, 'High').getByRole('button', { name: 'End the silence' }).click();
    await alert(reader, 'High').getByText('This key lacks the write right').waitFor();
    expect(pages.errors.splice(0)).toEqual([expect.stringMatching(REQUEST_FAILED)]);

    await high.getByRole('button', { name: 'End the silence' }).press('Enter');
    await high.getByText('Silenced').waitFor({ state: 'detached' });
    await focusedTitle.waitFor();
    await header(page, 'Alerts 2 firing').waitFor();
  });

  pages.test('shades in Explore when alerts about the drawn series fired', async () => {
    await found('ALERTS{alertname="High"}', tickS);
    const page = await opened(
      `view=explore&from=${tickS - 1800}&to=${tickS}&query=shop_load&query=sum(shop_load)`,
    );
    const card = (title: string) => page.getByRole('article', { name: title, exact: true });
    // Another alert is about the same job.
    await card('shop_load').getByText('2 spans in which alerts fired').click();
    const spans = card('shop_load').getByRole('list', { name: 'Alerts that fired' }).getByRole('listitem');
    expect((await spans.allTextContents()).map((text) => text.replace(/^.*:\d\d /, '')).sort()).toEqual([
      'Gone{job="shop"}',
      'High{job="shop", severity="page"}',
    ]);
    await card('sum(shop_load)').getByRole('slider').waitFor();
    expect(await card('sum(shop_load)').getByText('alerts fired').count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    await page.screenshot({ path: join(SCREENSHOTS, 'alerts-explore.png'), fullPage: true });
  });

  for (const { name, options } of [
    { name: 'desktop', options: { viewport: DESKTOP } },
    { name: 'desktop-dark', options: { viewport: DESKTOP, colorScheme: 'dark' as const } },
    { name: 'phone', options: { viewport: PHONE, hasTouch: true, isMobile: true } },
    {
      name: 'phone-dark',
      options: { viewport: PHONE, hasTouch: true, isMobile: true, colorScheme: 'dark' as const },
    },
  ])
    pages.test(`is accessible: ${name}`, async () => {
      const page = await opened('view=alerts&alert=alertname=High,job=shop,severity=page', options);
      await alert(page, 'High').getByRole('slider').waitFor();
      await alert(page, 'High')
        .getByRole('list', { name: /^Lines/ })
        .getByRole('listitem')
        .waitFor();
      expect(await violations(page)).toEqual([]);
      await page.screenshot({ path: join(SCREENSHOTS, `alerts-${name}.png`), fullPage: true });
      // Nothing is wider than the screen.
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(options.viewport.width);
    });

  pages.test('shows alerts that ended', async () => {
    const page = await pages.open('about:blank');
    await page.clock.install();
    await page.goto(`${stack.url}/#view=alerts&time=utc&key=${stack.apiKey}`);
    await header(page, 'Alerts 2 firing').waitFor();
    await post([[nextS() - 10, 4]]);
    await evaluate(nextS());
    // The page looks every 15 s.
    await page.clock.fastForward(15_000);
    await page.getByRole('heading', { name: /^Resolved in the last 15 minutes/ }).waitFor();
    await alert(page, 'High').getByText('32 was more than 10.').waitFor();
    await alert(page, 'High')
      .getByText(`No longer true since ${timeText(nextS())}.`)
      .waitFor();
    await header(page, 'Alerts 1 firing').waitFor();
    await alert(page, 'Slow').waitFor({ state: 'detached' });
  });
});
