import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { Client } from '../support/client';
import { evaluateAt } from '../support/evaluator';
import { type LocalStack, SHARED_SETTINGS, startLocalStack } from '../support/local-stack';
import { ops } from '../support/ops';
import { Pages, PHONE, REQUEST_FAILED, violations } from '../support/pages';
import { until } from '../support/until';

/** Folder of screenshots. They are kept there for people to look at. */
const SCREENSHOTS = join(__dirname, '..', '..', '.local', 'screenshots');
const WIDE = { width: 1440, height: 900 };

describe('the views of hosts, monitors, downtimes and their alerts', () => {
  let stack: LocalStack;
  let client: Client;
  let readKey: string;
  let hosts: readonly string[];
  let alertId: string;
  const pages = new Pages();
  const nowS = Math.floor(Date.now() / 60_000) * 60;

  beforeAll(async () => {
    mkdirSync(SCREENSHOTS, { recursive: true });
    await pages.start();
    stack = await startLocalStack({ settings: SHARED_SETTINGS.shop, unscheduled: ['evaluator'] });
    client = new Client(stack.url, stack.apiKey, true);
    const created = await ops<{ key: string }>(
      stack.url,
      ...['keys', 'create', '--tenant', 'default', '--rights', 'read'],
    );
    readKey = created.key;
    hosts = await Promise.all(
      ['web1', 'web2', 'db1'].map(async (name) => {
        const roleFullnames = [name === 'db1' ? 'shop:db' : 'shop:web'];
        const host = await client.json<{ id: string }>('POST', '/api/v0/hosts', {
          name,
          meta: {},
          roleFullnames,
        });
        return host.id;
      }),
    );
    // web1 was under load for an hour this morning, and is under load now.
    const isLoaded = (ago: number) => ago < 5 || (ago >= 300 && ago < 360);
    for (let from = 0; from < 900; from += 300)
      await client.post(
        hosts.flatMap((hostId, i) =>
          Array.from({ length: 300 }, (_, at) => {
            const ago = from + at;
            const load = i === 0 && isLoaded(ago) ? 8 : 1.5 + Math.sin(ago / 40 + i);
            return { hostId, name: 'loadavg5', time: nowS - ago * 60, value: load };
          }),
        ),
      );
    await until(
      'the load can be read',
      () =>
        client.json<{ metrics: unknown[] }>(
          'GET',
          `/api/v0/hosts/${hosts[2]}/metrics?name=loadavg5&from=${nowS - 3600}&to=${nowS}`,
        ),
      ({ metrics }) => metrics.length > 50,
    );
  });

  afterAll(async () => {
    await pages.stop();
    await stack?.stop();
  });

  afterEach(async () => {
    expect(await pages.close()).toEqual([]);
  });

  const opened = (state: string, options: BrowserContextOptions = { viewport: WIDE }, key = stack.apiKey) =>
    pages.open(`${stack.url}/#${state}&time=utc&key=${key}`, options);
  const field = (page: Page, name: string) => page.getByLabel(name, { exact: true });
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

  /** Holds the requests that retire hosts. Returns their addresses, and a function that lets them go on. */
  async function heldRetire(page: Page) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const urls: string[] = [];
    await page.route('**/retire', async (route) => {
      urls.push(route.request().url());
      await promise;
      await route.continue();
    });
    return { urls, goOn: resolve };
  }

  const evaluate = (atS: number) => evaluateAt(stack, atS * 1000);

  test('a monitor is created in a form that shows each refusal at its field', async () => {
    const page = await opened('view=monitors');
    await page.getByText('No monitors yet.').waitFor();
    await page.getByText('New monitor').click();
    await page.getByRole('link', { name: /^host / }).click();
    await button(page, 'Save').click();
    await until(
      'the fields are refused',
      () => page.locator('[aria-invalid=true]').count(),
      (count) => count >= 2,
    );
    expect(await field(page, 'metric').getAttribute('aria-invalid')).toBe('true');
    expect(pages.errors.splice(0)).toEqual([expect.stringMatching(REQUEST_FAILED)]);
    await field(page, 'name').fill('Load of the shop');
    await field(page, 'metric').fill('loadavg5');
    await field(page, 'warning').fill('three');
    await field(page, 'critical').fill('6');
    await field(page, 'duration').fill('1');
    await field(page, 'maxCheckAttempts').fill('2');
    await page.getByRole('checkbox', { name: 'shop: web' }).first().check();
    await button(page, 'Save').click();
    await page.getByText(/expected number, got "three"/).waitFor();
    expect(pages.errors.splice(0)).toEqual([expect.stringMatching(REQUEST_FAILED)]);
    await field(page, 'warning').fill('4');
    await button(page, 'Evaluate the last day').press('Enter');
    await page.getByText('2 alerts would have opened in the last day.').waitFor();
    // The button keeps the focus while the page waits for the answer.
    await page.locator('button:focus', { hasText: 'Evaluate the last day' }).waitFor();
    const fired = page.getByRole('list', { name: 'Alerts that would have opened' }).getByRole('listitem');
    expect(await fired.first().textContent()).toMatch(/^CRITICAL web1 .* for 59 min, 8$/);
    expect(await fired.nth(1).textContent()).toMatch(/, still open, 8$/);
    await page.getByRole('slider', { name: 'Judged values over time' }).waitFor();
    await button(page, 'Save').click();
    await page.getByText('loadavg5 > 4 WARNING, > 6 CRITICAL, 2 in a row').waitFor();
    expect((await client.json<{ monitors: object[] }>('GET', '/api/v0/monitors')).monitors).toEqual([
      {
        id: expect.any(String),
        type: 'host',
        name: 'Load of the shop',
        metric: 'loadavg5',
        operator: '>',
        warning: 4,
        critical: 6,
        duration: 1,
        maxCheckAttempts: 2,
        scopes: ['shop: web'],
      },
    ]);
  });

  test('a stored monitor is changed, and what the form does not touch stays as it was posted', async () => {
    const given = {
      type: 'external',
      name: 'Front page',
      url: 'https://example.com/',
      method: 'GET',
      headers: [{ name: 'X-Probe', value: '1' }],
      maxCheckAttempts: 1,
    };
    const { id } = await client.json<{ id: string }>('POST', '/api/v0/monitors', given);
    const page = await opened(`view=monitors&item=${id}`);
    await page.getByText('Monitors of type external cannot be previewed').waitFor();
    await field(page, 'memo').fill('Look at the load balancer.');
    await button(page, 'Save').click();
    await page.getByText('GET https://example.com/').waitFor();
    expect(await client.json('GET', `/api/v0/monitors/${id}`)).toEqual({
      monitor: { id, ...given, memo: 'Look at the load balancer.' },
    });

    await page.getByLabel('Find monitors').fill('front');
    await page.getByText('1 of 2 monitors').waitFor();
    await page.getByRole('link', { name: 'Front page' }).press('Enter');
    await page.locator('main:focus').waitFor();
    await button(page, 'Delete …').click();
    await page.getByText('Delete the monitor? Its open alerts close.').waitFor();
    await button(page, 'Delete').press('Enter');
    await page.locator('main:focus').waitFor();
    await page.getByText('There is no monitor').waitFor({ state: 'detached' });
    await page.getByText('0 of 1 monitor').waitFor();
  });

  test('a query monitor says in which evaluations it cannot be judged', async () => {
    const page = await opened('view=monitors&item=new:query');
    // These keys are shortcuts elsewhere.
    const typed = 'rate(all[5m]) / 2 - 1 + x';
    await field(page, 'query').pressSequentially(typed);
    expect(await field(page, 'query').inputValue()).toBe(typed);
    await field(page, 'name').fill('twice');
    await field(page, 'query').fill('loadavg5 + on (service) loadavg5');
    await field(page, 'critical').fill('100');
    await button(page, 'Evaluate the last day').click();
    await page.getByText(/^In .* evaluations, first at .* the monitor could not be evaluated/).waitFor();
    await field(page, 'query').fill('sum(');
    await button(page, 'Evaluate the last day').click();
    await page
      .getByRole('alert')
      .getByText(/^query: /)
      .waitFor();
    expect(pages.errors.splice(0)).toEqual([expect.stringMatching(REQUEST_FAILED)]);
  });

  test('a key that may only read previews, and is told when it saves', async () => {
    const page = await opened('view=monitors&item=new:connectivity', { viewport: WIDE }, readKey);
    await button(page, 'Evaluate the last day').click();
    await page.getByText('No alert would have opened in the last day.').waitFor();
    await button(page, 'Save').click();
    await page.getByText('This key lacks the write right').waitFor();
    expect(pages.errors.splice(0)).toEqual([expect.stringMatching(REQUEST_FAILED)]);
  });

  test('alerts of rules, monitors and checks are in one list, which the link of a webhook opens', async () => {
    const rules =
      'name: load\nrules:\n  - alert: High\n    expr: max_over_time(loadavg5{hostname="web1"}[30m]) > 5\n';
    const put = await client.request('POST', '/prometheus/config/v1/rules/web', rules, {
      'content-type': 'application/yaml',
    });
    expect(put.status).toBe(202);
    await client.json('POST', '/api/v0/monitoring/checks/report', {
      reports: [
        {
          source: { type: 'host', hostId: hosts[2] },
          name: 'replication',
          status: 'CRITICAL',
          message: 'the replica is 300 s behind',
          occurredAt: nowS,
        },
      ],
    });
    // Two abnormal points in a row open the alert.
    let tickS = Math.ceil(Date.now() / 60_000) * 60 + 120;
    const { alerts: open } = await until(
      'both alerts are open',
      async () => {
        tickS += 60;
        await client.post([{ hostId: hosts[0]!, name: 'loadavg5', time: tickS, value: 9 }]);
        await evaluate(tickS + 1);
        return client.json<{ alerts: { id: string; type: string }[] }>('GET', '/api/v0/alerts');
      },
      ({ alerts }) =>
        alerts
          .map(({ type }) => type)
          .sort()
          .join() === 'check,host',
    );
    alertId = open.find(({ type }) => type === 'host')!.id;

    const page = await opened('view=alerts&alert=');
    await page.getByRole('link', { name: 'Alerts 3 firing', exact: true }).waitFor();
    const firing = page.getByRole('region', { name: 'Firing 3' }).getByRole('article');
    await firing.getByText('the replica is 300 s behind').waitFor();
    // The page reads the name of a check after its alert.
    await firing.getByRole('heading', { name: 'replication', exact: true }).waitFor();
    expect((await firing.getByRole('heading').allTextContents()).sort()).toEqual([
      'High',
      'Load of the shop',
      'replication',
    ]);
    expect(await page.getByRole('button', { expanded: true }).count()).toBe(0);

    await page.goto(`${stack.url}/alerts?alert=${alertId}`);
    const card = page.getByRole('article').filter({ has: button(page, 'Load of the shop') });
    await card.getByRole('slider').waitFor();
    await card.getByRole('list', { name: 'Log' }).getByText('CRITICAL').waitFor();
    expect(page.url()).toContain(`#view=alerts&alert=${alertId}`);
    expect(await page.getByRole('article').getByRole('button', { expanded: true }).count()).toBe(1);

    await page.goto(`${stack.url}/hosts?host=${hosts[0]}`);
    await page.getByRole('heading', { name: 'web1', level: 1 }).waitFor();
  });

  test('hosts are filtered, change their status, and are retired after a question', async () => {
    const page = await opened('view=hosts');
    const host = (name: string) => page.getByRole('article', { name, exact: true });
    await host('web1')
      .getByText(/^posted /)
      .waitFor();
    await host('web1').getByText('1 open alert').waitFor();
    await page.getByLabel('Service', { exact: true }).selectOption('shop');
    await page.getByLabel('Role', { exact: true }).selectOption('db');
    await page.getByText('1 of 3 hosts').waitFor();
    await host('db1').getByLabel('Status').selectOption('maintenance');
    await until(
      'the status is stored',
      () => client.json<{ host: { status: string } }>('GET', `/api/v0/hosts/${hosts[2]}`),
      (found) => found.host.status === 'maintenance',
    );
    await page.reload();
    await page.getByText('1 of 3 hosts').waitFor();
    await page.getByLabel('Role', { exact: true }).selectOption('web');
    await page.getByLabel('Find hosts').fill('web2');
    await page.getByText('1 of 3 hosts').waitFor();
    const retire = host('web2').getByRole('button', { name: 'Retire …' });
    await retire.press('Enter');
    await host('web2').locator('button:focus', { hasText: 'Cancel' }).press('Escape');
    await host('web2').locator('button:focus', { hasText: 'Retire …' }).press('Enter');
    await host('web2').getByRole('button', { name: 'Cancel' }).click();
    await host('web2').getByRole('button', { name: 'Retire …' }).click();
    // While the answer is sent, nothing cancels it or sends it again.
    const held = await heldRetire(page);
    await host('web2').getByRole('button', { name: 'Retire', exact: true }).press('Enter');
    const sent = host('web2').locator('button[aria-disabled=true]:focus', { hasText: 'Retire' });
    await sent.waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Enter');
    await sent.waitFor();
    expect(await host('web2').getByRole('button', { name: 'Cancel' }).isDisabled()).toBe(true);
    held.goOn();
    await page.getByText('0 of 2 hosts').waitFor();
    await page.locator('main:focus').waitFor();
    expect(held.urls.length).toBe(1);

    const reader = await opened('view=hosts', { viewport: WIDE }, readKey);
    await reader.getByRole('article', { name: 'db1' }).getByLabel('Status').selectOption('working');
    await reader.getByText('This key lacks the write right').waitFor();
    // If the user moves the focus while the page waits, the focus stays there.
    const web1 = reader.getByRole('article', { name: 'web1' });
    const refused = await heldRetire(reader);
    await web1.getByRole('button', { name: 'Retire …' }).press('Enter');
    await web1.getByRole('button', { name: 'Retire', exact: true }).press('Enter');
    await reader.getByLabel('Find hosts').focus();
    refused.goOn();
    await web1.getByText('This key lacks the write right').waitFor();
    await web1.getByRole('button', { name: 'Retire …' }).waitFor();
    expect(await reader.locator('input:focus').count()).toBe(1);
    expect(pages.errors.splice(0)).toEqual(Array(2).fill(expect.stringMatching(REQUEST_FAILED)));
  });

  test('downtimes are created with recurrence and scopes, changed and deleted', async () => {
    const page = await opened('view=downtimes');
    await page.getByText('No downtimes yet.').waitFor();
    await page.getByRole('link', { name: 'New downtime' }).click();
    await field(page, 'name').fill('Backups');
    await field(page, 'duration').fill('0');
    await field(page, 'recurrence.type').selectOption('weekly');
    await field(page, 'recurrence.interval').fill('1');
    await page.getByRole('group', { name: 'recurrence.weekdays' }).getByLabel('Monday').check();
    await page.getByRole('group', { name: 'recurrence.weekdays' }).getByLabel('Friday').check();
    await page.getByRole('group', { name: 'roleScopes' }).getByLabel('shop: db').check();
    await button(page, 'Save').click();
    await page.getByText(/expected number to be >=1, got 0|Too small/).waitFor();
    expect(await field(page, 'duration').getAttribute('aria-invalid')).toBe('true');
    expect(pages.errors.splice(0)).toEqual([expect.stringMatching(REQUEST_FAILED)]);
    await field(page, 'duration').fill('90');
    await button(page, 'Save').click();
    await page.getByText(/^every week on Monday, Friday from .* for 1 h 30 min$/).waitFor();
    await page.getByText('shop: db', { exact: true }).waitFor();

    await client.json('POST', '/api/v0/downtimes', { name: 'Move', start: nowS - 600, duration: 60 });
    await page.reload();
    await page.getByRole('region', { name: 'Now' }).getByRole('link', { name: 'Move' }).click();
    await button(page, 'Delete …').click();
    await button(page, 'Delete').click();
    await page.getByRole('link', { name: 'Backups' }).waitFor();
    expect(await page.getByRole('link', { name: 'Move' }).count()).toBe(0);
    const { downtimes } = await client.json<{ downtimes: object[] }>('GET', '/api/v0/downtimes');
    expect(downtimes).toEqual([
      expect.objectContaining({
        name: 'Backups',
        duration: 90,
        recurrence: { type: 'weekly', interval: 1, weekdays: ['Monday', 'Friday'] },
        roleScopes: ['shop: db'],
      }),
    ]);
  });

  test('settings of alert groups are kept', async () => {
    const page = await opened('view=monitors');
    await page.getByRole('link', { name: 'New alert group' }).click();
    await field(page, 'name').fill('Shop');
    await page.getByRole('group', { name: 'serviceScopes' }).getByLabel('shop').check();
    await page.getByRole('group', { name: 'monitorScopes' }).getByLabel('Load of the shop').check();
    await field(page, 'notificationInterval').fill('60');
    await button(page, 'Save').click();
    await page.getByText('Load of the shop, shop, every 60 minutes').waitFor();
    await page.getByRole('link', { name: 'Shop', exact: true }).click();
    await button(page, 'Save').click();
    await page.getByText('Load of the shop, shop, every 60 minutes').waitFor();
  });

  test.each([
    ['wide', WIDE, 'light'],
    ['wide', WIDE, 'dark'],
    ['phone', PHONE, 'light'],
    ['phone', PHONE, 'dark'],
  ] as const)(
    'on a %s screen, %o, %s, nothing is cut off, and axe finds nothing',
    async (name, viewport, colorScheme) => {
      const { monitors } = await client.json<{ monitors: { id: string }[] }>('GET', '/api/v0/monitors');
      const page = await opened('view=hosts', { viewport, colorScheme });
      const look = async (picture: string) => {
        await until(
          'nothing is read',
          () => page.locator('[aria-busy=true]').count(),
          (count) => count === 0,
        );
        expect([picture, ...(await violations(page))]).toEqual([picture]);
        expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(
          0,
        );
        await page.screenshot({
          path: join(SCREENSHOTS, `${picture}-${name}-${colorScheme}.png`),
          fullPage: true,
        });
      };
      const go = (state: string) => page.goto(`${stack.url}/#${state}&time=utc`);
      await page
        .getByText(/^posted /)
        .first()
        .waitFor();
      await look('hosts');
      await go('view=monitors');
      await page.getByText('2 in a row').waitFor();
      await look('monitors');
      await go(`view=monitors&item=${monitors[0]!.id}`);
      await button(page, 'Evaluate the last day').click();
      await page.getByText(/would have opened in the last day/).waitFor();
      await look('monitor');
      await go('view=downtimes');
      await page.getByText(/^every week/).waitFor();
      await look('downtimes');
      await go('view=downtimes&item=new');
      await button(page, 'Save').waitFor();
      await look('downtime');
      await go(`view=alerts&alert=${alertId}`);
      await page.getByRole('slider').waitFor();
      await page.getByRole('list', { name: 'Log' }).waitFor();
      await look('alerts-both');
    },
  );

  test('an alert is closed with a reason, and its link still opens it', async () => {
    const page = await opened(`view=alerts&alert=${alertId}`);
    const card = page.getByRole('article').filter({ has: button(page, 'Load of the shop') });
    await card.getByLabel('Reason').fill('known');
    await card.getByRole('button', { name: 'Close the alert' }).click();
    await page
      .getByRole('region', { name: /^Resolved/ })
      .getByText('Closed by hand: known')
      .waitFor();
    expect(await client.json('GET', `/api/v0/alerts/${alertId}`)).toMatchObject({
      status: 'OK',
      reason: 'known',
    });

    const later = await pages.open('about:blank', { viewport: WIDE });
    await later.clock.setSystemTime(Date.now() + 3_600_000);
    await later.goto(`${stack.url}/#view=alerts&alert=${alertId}&alert=2cSZzK3XfmG&key=${stack.apiKey}`);
    await later
      .getByRole('region', { name: /^Closed/ })
      .getByText('Closed by hand: known')
      .waitFor();
    await later.getByText('There is no alert 2cSZzK3XfmG.').waitFor();
    expect(pages.errors.splice(0)).toEqual([expect.stringMatching(REQUEST_FAILED)]);
  });
});
