import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContextOptions, Locator, Page } from 'playwright-core';
import { Client } from '../support/client';
import { type LocalStack, SHARED_SETTINGS, startLocalStack } from '../support/local-stack';
import { ops } from '../support/ops';
import { Pages, PHONE, REQUEST_FAILED, violations } from '../support/pages';
import { temporaryDir } from '../support/temporary-dir';
import { until } from '../support/until';

/** Folder of screenshots. They are kept there for people to look at. */
const SCREENSHOTS = join(__dirname, '..', '..', '.local', 'screenshots');
const WIDE = { width: 1440, height: 1200 };

interface Stored {
  readonly id: string;
  readonly title: string;
  readonly updatedAt: number;
  readonly widgets: readonly Record<string, unknown>[];
  readonly variables?: readonly object[];
}

describe('editing of dashboards', () => {
  let stack: LocalStack;
  let client: Client;
  let host: string;
  const pages = new Pages();
  const nowS = Math.floor(Date.now() / 1000);

  beforeAll(async () => {
    mkdirSync(SCREENSHOTS, { recursive: true });
    await pages.start();
    stack = await startLocalStack({ settings: SHARED_SETTINGS.shop });
    client = new Client(stack.url, stack.apiKey, true);
    const made = { name: 'web1', meta: {}, roleFullnames: ['shop:web'] };
    host = (await client.json<{ id: string }>('POST', '/api/v0/hosts', made)).id;
    // Samples reach an hour ahead, so that there is a current one however long the tests take.
    const minutes = Array.from({ length: 110 }, (_, i) => nowS - 60 * (50 - i));
    await client.post(
      minutes.map((time, i) => ({ hostId: host, name: 'loadavg5', time, value: 2 + Math.sin(i / 5) })),
    );
    const lines = minutes.flatMap((time, i) =>
      ['api', 'db', 'a.b"c'].map((job, at) => `up,job=${job} value=${at + (i % 3)} ${time}`),
    );
    await client.request('POST', '/write?precision=s', lines.join('\n'));
    await until(
      'the samples',
      () =>
        client.json<{ data: { result: { value: [number, string] }[] } }>(
          'GET',
          `/prometheus/api/v1/query?query=${encodeURIComponent('count({__name__=~"loadavg5|up_value"})')}&time=${nowS}`,
        ),
      ({ data }) => data.result[0]?.value[1] === '4',
    );
  });

  afterAll(async () => {
    await pages.stop();
    await stack?.stop();
  });

  afterEach(async () => {
    expect(await pages.close()).toEqual([]);
  });

  const opened = (state = '', options: BrowserContextOptions = { viewport: WIDE }, key = stack.apiKey) =>
    pages.open(`${stack.url}/#view=dashboards${state}&time=utc&key=${key}`, options);
  const card = (page: Page, title: string) => page.getByRole('article', { name: title, exact: true });
  const button = (page: Page | Locator, name: string) => page.getByRole('button', { name, exact: true });
  const stored = (id: string) => client.json<Stored>('GET', `/api/v0/dashboards/${id}`);
  const made = (body: object) => client.json<Stored>('POST', '/api/v0/dashboards', body);
  const edited = async (id: string, options?: BrowserContextOptions, key?: string) => {
    const page = await opened(`&dashboard=${id}`, options, key);
    await button(page, 'Edit').click();
    return page;
  };
  const saved = async (page: Page) => {
    await button(page, 'Save').click();
    await button(page, 'Edit').waitFor();
  };
  const text = (title: string, x: number, y: number, width = 8, height = 4) => ({
    type: 'markdown',
    title,
    markdown: title,
    layout: { x, y, width, height },
  });
  const placesOf = ({ widgets }: Stored) =>
    widgets.map(({ title, layout }) => {
      const { x, y, width, height } = layout as Record<string, number>;
      return [title, x, y, width, height];
    });

  /** Holds requests to an address until the returned function is called. */
  async function held(page: Page, url: string): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    await page.route(url, async (route) => {
      await promise;
      await route.continue();
    });
    return resolve;
  }

  test('a dashboard is made, filled with widgets of each kind, saved, and drawn', async () => {
    const page = await opened();
    await button(page, 'New dashboard').click();
    const asked = page.getByRole('dialog', { name: 'New dashboard' });
    await asked.getByLabel('Title').fill('Made here');
    expect(await violations(page)).toEqual([]);
    const goOn = await held(page, '**/api/v0/dashboards');
    await button(asked, 'Create').press('Enter');
    // While the page waits for the answer, the button keeps the focus, and a second press sends nothing.
    await asked.locator('button[aria-disabled=true]:focus', { hasText: 'Create' }).waitFor();
    await page.keyboard.press('Enter');
    goOn();
    await page.getByRole('heading', { name: 'Edit Made here' }).waitFor();
    await page.getByText('This dashboard has no widgets yet.').waitFor();

    const add = async (fill: (form: Locator) => Promise<void>) => {
      await button(page, 'Add a widget').click();
      const form = page.getByRole('dialog', { name: 'Add a widget' });
      await fill(form);
      await button(form, 'Apply').click();
      await form.waitFor({ state: 'detached' });
    };
    await add(async (form) => {
      await form.getByLabel('Title').fill('Load');
      await form.getByLabel('Host', { exact: true }).selectOption({ label: 'web1' });
      await until(
        'names are suggested',
        () =>
          form
            .locator('datalist option')
            .evaluateAll((options) => options.map((each) => each.getAttribute('value'))),
        (names) => names.includes('loadavg5'),
      );
      await form.getByLabel('Metric or graph').fill('loadavg5');
    });
    await add(async (form) => {
      await form.getByLabel('Title').fill('Load of the role');
      await form.getByLabel('Data of').selectOption('role');
      await form.getByLabel('Role').fill('shop:web');
      await form.getByLabel('Metric or graph').fill('loadavg5');
      await form.getByLabel('Line at').fill('3');
    });
    await add(async (form) => {
      await form.getByLabel('Title').fill('Average');
      await form.getByLabel('Data of').selectOption('expression');
      await form.getByLabel('Expression').fill('avg(role(shop:web, loadavg5))');
    });
    await add(async (form) => {
      await form.getByLabel('Title').fill('By job');
      await form.getByLabel('Data of').selectOption('query');
      // A bracket moves the range when no field has the focus.
      await form.getByLabel('PromQL').pressSequentially('max_over_time(up_value[5m])');
      await form.getByLabel('Legend').fill('job {{job}}');
    });
    await add(async (form) => {
      await form.getByLabel('Widget').selectOption('value');
      await form.getByLabel('Title').fill('Sum');
      await form.getByLabel('Data of').selectOption('query');
      await form.getByLabel('PromQL').fill('sum(up_value)');
      await form.getByLabel('Unit').fill('jobs');
      await form.getByLabel('Limit').fill('1');
    });
    await add(async (form) => {
      await form.getByLabel('Widget').selectOption('markdown');
      await form.getByLabel('Title').fill('Notes');
      await form.getByLabel('Text').fill('**bold** <img src=x onerror=alert(1)>');
    });
    await add(async (form) => {
      await form.getByLabel('Widget').selectOption('alertStatus');
      await form.getByLabel('Title').fill('Alerts');
      await form.getByLabel('Role').fill('shop:web');
    });
    await saved(page);
    expect(page.url()).not.toContain('last=');
    await card(page, 'Alerts').getByText('OK').waitFor();
    await card(page, 'Notes').getByText('<img src=x onerror=alert(1)>').waitFor();
    expect(await card(page, 'Notes').locator('img').count()).toBe(0);
    await card(page, 'Sum').getByText('jobs').waitFor();
    for (const title of ['Load', 'Load of the role', 'Average', 'By job'])
      await page.getByRole('slider', { name: `${title} over time` }).waitFor();
    await card(page, 'By job').getByText('job api', { exact: true }).waitFor();

    const [{ id }] = (await client.json<{ dashboards: [Stored] }>('GET', '/api/v0/dashboards')).dashboards;
    const { widgets } = await stored(id);
    expect(widgets).toMatchObject([
      { type: 'graph', title: 'Load', graph: { type: 'host', hostId: host, name: 'loadavg5' } },
      {
        type: 'graph',
        graph: { type: 'role', roleFullname: 'shop:web', name: 'loadavg5', isStacked: false },
        referenceLines: [{ label: 'limit', value: 3 }],
      },
      { type: 'graph', graph: { type: 'expression', expression: 'avg(role(shop:web, loadavg5))' } },
      {
        type: 'graph',
        graph: { type: 'query', query: 'max_over_time(up_value[5m])', legend: 'job {{job}}' },
      },
      {
        type: 'value',
        metric: { type: 'query', query: 'sum(up_value)', legend: '' },
        suffix: 'jobs',
        formatRules: [{ name: '', threshold: 1, operator: '>' }],
      },
      { type: 'markdown', markdown: '**bold** <img src=x onerror=alert(1)>' },
      { type: 'alertStatus', roleFullname: 'shop:web' },
    ]);
    // Each widget was put below the ones before it.
    const tops = widgets.map(({ layout }) => (layout as { y: number }).y);
    expect(tops).toEqual([...tops].sort((a, b) => a - b));
    expect(new Set(tops).size).toBe(tops.length);
  });

  test('a widget is moved and resized by pointer; those in its way move down, and Undo brings them back', async () => {
    const { id } = await made({
      title: 'Pointer',
      widgets: [text('A', 0, 0), text('B', 8, 0), text('C', 0, 4)],
    });
    const page = await edited(id);
    const drag = async (name: string, columns: number, rows: number) => {
      const pitch = await page.locator('.widgets').evaluate((list) => (list.clientWidth + 8) / 24);
      const box = (await button(page, name).boundingBox())!;
      const [x, y] = [box.x + 10, box.y + 10];
      await page.mouse.move(x, y);
      await page.mouse.down();
      await page.mouse.move(x + (columns * pitch) / 2, y + (rows * 34) / 2);
      await page.mouse.move(x + columns * pitch, y + rows * 34);
      await page.mouse.up();
    };
    await drag('Move A', 6, 1);
    await drag('Resize C', 4, 2);
    await saved(page);
    expect(placesOf(await stored(id))).toEqual([
      ['A', 6, 1, 8, 4],
      ['B', 8, 11, 8, 4],
      ['C', 0, 5, 12, 6],
    ]);
    await button(page, 'Edit').click();
    await drag('Move B', -8, -5);
    await button(page, 'Undo').click();
    await expect(button(page, 'Undo').isDisabled()).resolves.toBe(true);
    await button(page, 'Cancel').click();
    await button(page, 'Edit').waitFor();
    expect(placesOf(await stored(id))[1]).toEqual(['B', 8, 11, 8, 4]);
  });

  test('a widget is moved, resized, changed and removed by keyboard alone', async () => {
    const { id } = await made({
      title: 'Keyboard',
      widgets: [text('A', 0, 0), text('B', 0, 4), text('C', 8, 0)],
    });
    const page = await edited(id);
    await button(page, 'Move A').focus();
    for (const key of ['ArrowRight', 'ArrowDown', 'ArrowLeft', 'ArrowLeft']) await page.keyboard.press(key);
    await page
      .getByRole('status')
      .getByText('Column 0, row 1, 8 wide, 4 high')
      .waitFor({ state: 'attached' });
    expect(await page.evaluate('document.activeElement.getAttribute("aria-label")')).toBe('Move A');
    await button(page, 'Resize A').focus();
    for (const key of ['ArrowRight', 'ArrowDown']) await page.keyboard.press(key);
    await button(page, 'Remove C').focus();
    await page.keyboard.press('Enter');
    await button(page, 'Change B').focus();
    await page.keyboard.press('Enter');
    const form = page.getByRole('dialog', { name: 'Change a widget' });
    await form.getByLabel('Title').focus();
    await page.keyboard.type('B [2]');
    await page.keyboard.press('Escape');
    await form.waitFor({ state: 'detached' });
    await page.waitForFunction('document.activeElement.getAttribute("aria-label") === "Change B"');
    await page.keyboard.press('Enter');
    await form.getByLabel('Title').fill('B2');
    await form.getByLabel('Width').fill('20');
    await page.keyboard.press('Enter');
    await button(page, 'Move B2').waitFor();
    await saved(page);
    expect(placesOf(await stored(id))).toEqual([
      ['A', 0, 1, 9, 5],
      ['B2', 0, 6, 20, 4],
    ]);
  });

  test('a dashboard that mkr pushed is saved as it was, except for changed fields', async () => {
    const pushed = {
      title: 'From mkr',
      memo: 'm',
      urlPath: 'from/mkr',
      widgets: [
        {
          type: 'graph',
          title: null,
          layout: { x: 0, y: 0, width: 8, height: 8, later: 1 },
          metric: null,
          graph: { type: 'host', hostId: host, name: 'loadavg5', unknown: { a: [null] } },
          range: { type: 'relative', period: 3600, offset: 0 },
          valueRange: { min: 0, max: null },
          referenceLines: [{ label: 'l', value: 1, color: 'red' }],
          legendList: null,
          fractionSize: null,
          ours: [],
        },
        { ...text('Text', 8, 0), later: 'x' },
        {
          type: 'value',
          title: '',
          layout: { x: 16, y: 0, width: 8, height: 4 },
          suffix: null,
          fractionSize: null,
          metric: { type: 'query', query: 'sum(up_value)', legend: null, later: true },
          formatRules: [{ name: 'many', threshold: 5, operator: '>', later: 1 }],
        },
      ],
      variables: [{ name: 'job', query: 'label_values(up_value, job)', later: 1 }],
    };
    const { id, updatedAt } = await made(pushed);
    const page = await edited(id);
    await page.getByLabel('Title').fill('From mkr 2');
    await button(page, 'Change Text').click();
    const form = page.getByRole('dialog', { name: 'Change a widget' });
    await form.getByLabel('Text').fill('changed');
    await button(form, 'Apply').click();
    await button(page, 'Change value 3').click();
    await form.getByLabel('Limit').fill('6');
    await button(form, 'Apply').click();
    await saved(page);
    const now = await stored(id);
    const [graph, markdown, value] = pushed.widgets;
    expect(now).toEqual({
      ...pushed,
      id,
      createdAt: expect.any(Number),
      updatedAt: now.updatedAt,
      title: 'From mkr 2',
      widgets: [
        graph,
        { ...markdown, markdown: 'changed' },
        { ...value, formatRules: [{ name: 'many', threshold: 6, operator: '>', later: 1 }] },
      ],
    });
    expect(now.updatedAt).toBeGreaterThan(updatedAt);
  });

  test('a user who saves second is told so, and decides which version stays', async () => {
    const { id } = await made({ title: 'Shared', widgets: [text('A', 0, 0)] });
    const page = await edited(id);
    await page.getByLabel('Title').fill('Mine');
    await client.json('PUT', `/api/v0/dashboards/${id}`, { title: 'Theirs', widgets: [] });
    await button(page, 'Save').click();
    const notice = page.getByRole('alert');
    await notice.getByText('Somebody else saved this dashboard, titled Theirs,').waitFor();
    expect(await violations(page)).toEqual([]);
    expect(await button(page, 'Save').isDisabled()).toBe(true);
    expect((await stored(id)).title).toBe('Theirs');
    await button(page, 'Save mine over theirs').click();
    await button(page, 'Edit').waitFor();
    expect(await stored(id)).toMatchObject({ title: 'Mine', widgets: [{ title: 'A' }] });

    await button(page, 'Edit').click();
    await page.getByLabel('Title').fill('Mine again');
    await client.json('DELETE', `/api/v0/dashboards/${id}`);
    await button(page, 'Save').click();
    await notice.getByText('Somebody deleted this dashboard while you edited it.').waitFor();
    await button(page, 'Save mine as a new dashboard').click();
    await page.getByRole('heading', { name: 'Mine again', exact: true, level: 1 }).waitFor();
    expect(page.url()).not.toContain(id);
    await page.close();
    for (const error of pages.errors.splice(0)) expect(error).toMatch(REQUEST_FAILED);
  });

  test('a draft stays when another view is opened, and Cancel asks before it discards the draft', async () => {
    const { id } = await made({ title: 'Left', widgets: [] });
    const page = await edited(id);
    await page.getByLabel('Title').fill('Left and found');
    await page.getByRole('link', { name: 'Graphs' }).click();
    await page.getByRole('link', { name: 'Dashboards' }).click();
    await page.getByRole('heading', { name: 'Edit Left and found' }).waitFor();
    const asked: string[] = [];
    page.once('dialog', (dialog) => {
      asked.push(dialog.message());
      void dialog.dismiss();
    });
    await button(page, 'Cancel').click();
    await page.getByRole('heading', { name: 'Edit Left and found' }).waitFor();
    page.once('dialog', (dialog) => void dialog.accept());
    await button(page, 'Cancel').click();
    await page.getByRole('heading', { name: 'Left', exact: true, level: 1 }).waitFor();
    expect(asked).toEqual(['Discard your changes to this dashboard?']);
    expect((await stored(id)).title).toBe('Left');
  });

  test('a key that may only read is told so when it saves, makes, imports or deletes', async () => {
    const { id } = await made({ title: 'Read only', widgets: [] });
    const { key } = await ops<{ key: string }>(
      stack.url,
      ...['keys', 'create', '--tenant', 'default', '--rights', 'read'],
    );
    const page = await edited(id, { viewport: WIDE }, key);
    await page.getByLabel('Title').fill('Written');
    await button(page, 'Save').click();
    await page.getByRole('alert').getByText('This key lacks the write right.').waitFor();
    await button(page, 'Undo').click();
    await button(page, 'Cancel').click();
    await button(page, 'Delete').click();
    const asked = page.getByRole('dialog', { name: 'Delete dashboard' });
    await button(asked, 'Delete').click();
    await asked.getByRole('alert').getByText('This key lacks the write right.').waitFor();
    expect((await stored(id)).title).toBe('Read only');
    await page.close();
    expect(new Set(pages.errors.splice(0))).toEqual(new Set([expect.stringMatching(REQUEST_FAILED)]));
  });

  test('a dashboard is deleted once that is confirmed', async () => {
    const { id } = await made({ title: 'To delete', widgets: [] });
    const page = await opened(`&dashboard=${id}`);
    const asked = page.getByRole('dialog', { name: 'Delete dashboard' });
    await button(page, 'Delete').click();
    await button(asked, 'Cancel').click();
    await button(page, 'Delete').click();
    await asked.getByText('To delete has 0 widgets. Deleting it cannot be undone.').waitFor();
    expect(await violations(page)).toEqual([]);
    await button(asked, 'Delete').click();
    await page.getByRole('heading', { name: 'Dashboards' }).waitFor();
    expect(await page.getByRole('link', { name: 'To delete' }).count()).toBe(0);
    expect((await client.request('GET', `/api/v0/dashboards/${id}`)).status).toBe(404);
  });

  const GRAFANA = {
    __inputs: [{ name: 'DS_PROMETHEUS', type: 'datasource', pluginId: 'prometheus' }],
    title: 'From Grafana',
    uid: 'abcDEF1',
    description: 'Imported.',
    schemaVersion: 39,
    templating: {
      list: [
        {
          type: 'query',
          name: 'job',
          query: { query: 'label_values(up_value, job)' },
          multi: true,
          includeAll: true,
        },
        { type: 'custom', name: 'span', label: 'Span', query: '5m,10m' },
        { type: 'adhoc', name: 'filters' },
      ],
    },
    panels: [
      {
        type: 'row',
        title: 'All of it',
        collapsed: true,
        gridPos: { x: 0, y: 0, w: 24, h: 1 },
        panels: [
          {
            type: 'timeseries',
            title: 'Jobs $job',
            datasource: { uid: '$' + '{DS_PROMETHEUS}' },
            gridPos: { x: 0, y: 1, w: 12, h: 8 },
            targets: [
              { expr: 'max_over_time(up_value{job=~"$job"}[$span])', legendFormat: '{{job}}' },
              { expr: 'vector(4)', legendFormat: 'limit of {{job}}' },
            ],
          },
          {
            type: 'table',
            title: 'Now',
            gridPos: { x: 12, y: 1, w: 12, h: 8 },
            targets: [{ expr: 'up_value{job=~"$job"}', legendFormat: '__auto', instant: true }],
          },
        ],
      },
      {
        type: 'stat',
        title: 'Count',
        gridPos: { x: 0, y: 2, w: 6, h: 4 },
        targets: [{ expr: 'count(up_value{job=~"$job"})' }],
        fieldConfig: { defaults: { decimals: 0 } },
      },
      { type: 'heatmap', title: 'Heat', gridPos: { x: 6, y: 2, w: 6, h: 4 }, targets: [{ expr: 'up' }] },
    ],
  };

  test('a dashboard of Grafana is imported from a file, and what is left out is said before', async () => {
    const file = join(temporaryDir(), 'grafana.json');
    writeFileSync(file, JSON.stringify(GRAFANA));
    const page = await opened();
    await button(page, 'Import from Grafana').click();
    const dialog = page.getByRole('dialog', { name: 'Import from Grafana' });
    expect(await button(dialog, 'Import').isDisabled()).toBe(true);
    await dialog.getByLabel('Or its JSON').fill('{"panels": 1}');
    await dialog.getByRole('alert').getByText('The file has no panels').waitFor();
    await dialog.getByLabel('Or its JSON').fill('');
    await dialog.getByLabel('File of a dashboard').setInputFiles(file);
    await dialog.getByText('From Grafana: 4 widgets and 2 variables will be imported.').waitFor();
    await dialog.getByText('Heat: no widget shows panels of type heatmap').waitFor();
    await dialog.getByText('variable filters: variables of type adhoc are not supported').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.screenshot({ path: join(SCREENSHOTS, 'dashboard-import.png') });
    await button(dialog, 'Import').click();
    await page.getByRole('heading', { name: 'From Grafana', level: 1 }).waitFor();

    await page.getByRole('slider', { name: 'Jobs all over time' }).waitFor();
    await card(page, 'Count').getByText('3', { exact: true }).waitFor();
    for (const line of ['api', 'db', 'limit of'])
      await card(page, 'Jobs all').getByText(line, { exact: true }).first().waitFor();
    const rows = card(page, 'Now').getByRole('row');
    await until(
      'the table',
      () => rows.count(),
      (count) => count === 4,
    );
    // A value with characters that are special in PromQL and in patterns.
    await page.getByText('job all').click();
    await page.getByRole('checkbox', { name: 'a.b"c' }).check();
    await card(page, 'Count').getByText('1', { exact: true }).waitFor();
    await until(
      'the table',
      () => rows.count(),
      (count) => count === 2,
    );
    await page.getByRole('checkbox', { name: 'api' }).check();
    await card(page, 'Count').getByText('2', { exact: true }).waitFor();
    await page.getByLabel('Span').selectOption('10m');
    expect(decodeURIComponent(new URL(page.url()).hash)).toContain('var=job:a.b"c&var=job:api&var=span:10m');
    expect(await violations(page)).toEqual([]);
    await page.reload();
    await card(page, 'Count').getByText('2', { exact: true }).waitFor();
    await page.screenshot({ path: join(SCREENSHOTS, 'dashboard-variables.png') });

    // Import a dashboard with the same path again.
    await page.getByRole('link', { name: 'All dashboards' }).click();
    await button(page, 'Import from Grafana').click();
    await dialog.getByLabel('Or its JSON').fill(JSON.stringify(GRAFANA));
    await button(dialog, 'Import').click();
    await dialog.getByRole('alert').getByText('another dashboard has the path "abcDEF1"').waitFor();
    await page.close();
    expect(new Set(pages.errors.splice(0))).toEqual(new Set([expect.stringMatching(REQUEST_FAILED)]));
  });

  test('ops imports a file, replaces it when told to, and exits with 1 for a file that is none', async () => {
    const file = join(temporaryDir(), 'grafana.json');
    writeFileSync(file, JSON.stringify({ ...GRAFANA, uid: 'byOps', title: 'By ops' }));
    const run = (...args: string[]) =>
      ops<{ dryRun: boolean; imported: { id?: string; action: string; leftOut: object[] }[] }>(
        stack.url,
        ...['dashboards', 'import', file, '--key', stack.apiKey, ...args],
      );
    const tried = await run('--dry-run');
    expect(tried).toMatchObject({
      dryRun: true,
      imported: [{ action: 'create', leftOut: [{ title: 'variable filters' }, { title: 'Heat' }] }],
    });
    const { imported } = await run();
    const id = imported[0]!.id!;
    expect((await stored(id)).title).toBe('By ops');
    await expect(run()).rejects.toThrow('another dashboard has the path "byOps"');
    writeFileSync(file, JSON.stringify({ ...GRAFANA, uid: 'byOps', title: 'By ops again' }));
    expect(await run('--replace')).toMatchObject({ imported: [{ action: 'replace', id }] });
    expect((await stored(id)).title).toBe('By ops again');
    writeFileSync(file, '[]');
    await expect(run('--dry-run')).rejects.toThrow(
      'the file has no panels, so it is not a Grafana dashboard',
    );
  });

  test('variables are edited, and one without a list is free text', async () => {
    const query = { type: 'query', query: 'count(up_value{job="$job"})', legend: '' };
    const { id } = await made({
      title: 'Variables',
      widgets: [
        {
          type: 'value',
          title: 'Of $job',
          layout: { x: 0, y: 0, width: 8, height: 4 },
          metric: query,
          fractionSize: 0,
        },
      ],
    });
    const page = await edited(id);
    await button(page, 'Variables').click();
    const form = page.getByRole('dialog', { name: 'Variables' });
    await button(form, 'Add a variable').click();
    await form.getByLabel('Name').fill('job');
    await form.getByLabel('Label').fill('Job');
    await form.getByLabel('Values', { exact: true }).fill('label_valu');
    await button(form, 'Apply').click();
    await form.getByRole('alert').getByText('job: expected label_values(label)').waitFor();
    expect(await violations(page)).toEqual([]);
    await form.getByLabel('Values', { exact: true }).fill('');
    await button(form, 'Apply').click();
    await saved(page);
    expect((await stored(id)).variables).toEqual([{ name: 'job', label: 'Job', query: null, values: null }]);
    await page.getByLabel('Job').fill('db');
    await page.getByLabel('Job').press('Enter');
    await card(page, 'Of db').getByText('1', { exact: true }).waitFor();
  });

  test('a dashboard fills the screen, until Escape', async () => {
    const { id } = await made({ title: 'Full', widgets: [text('A', 0, 0)] });
    const page = await opened(`&dashboard=${id}`);
    await button(page, 'Full screen').click();
    await page.waitForFunction('document.fullscreenElement?.className === "screen"');
    await card(page, 'A').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.evaluate('document.exitFullscreen()');
    await page.waitForFunction('document.fullscreenElement === null');
  });

  test.each([
    ['wide', WIDE, 'light'],
    ['wide', WIDE, 'dark'],
    ['phone', PHONE, 'light'],
    ['phone', PHONE, 'dark'],
  ] as const)(
    'an edit on a %s screen, %o, %s, cuts nothing off, and axe finds nothing',
    async (name, viewport, colorScheme) => {
      const { dashboards } = await client.json<{ dashboards: Stored[] }>('GET', '/api/v0/dashboards');
      const { id } = dashboards.find(({ title }) => title === 'From Grafana')!;
      const page = await edited(id, { viewport, colorScheme });
      await page.getByRole('slider', { name: 'Jobs all over time' }).waitFor();
      await until(
        'nothing is read',
        () => page.locator('.widgets [aria-busy=true]').count(),
        (count) => count === 0,
      );
      expect(await violations(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
      await page.screenshot({
        path: join(SCREENSHOTS, `dashboard-edit-${name}-${colorScheme}.png`),
        fullPage: true,
      });
      await button(page, 'Change Jobs $job').click();
      await page.getByRole('dialog').waitFor();
      expect(await violations(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
      await page.screenshot({ path: join(SCREENSHOTS, `dashboard-form-${name}-${colorScheme}.png`) });
    },
  );

  test('dashboards are not public: a request without a key is refused', async () => {
    const [{ id }] = (await client.json<{ dashboards: Stored[] }>('GET', '/api/v0/dashboards'))
      .dashboards as [Stored];
    for (const path of ['/api/v0/dashboards', `/api/v0/dashboards/${id}`])
      expect((await fetch(new URL(path, stack.url))).status).toBe(401);
    const page = await pages.open(`${stack.url}/#view=dashboards&dashboard=${id}`, { viewport: WIDE });
    await page.getByLabel('API key with the read right').waitFor();
    expect(await page.getByRole('article').count()).toBe(0);
  });
});
