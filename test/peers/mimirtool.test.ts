/** mimirtool, built from its module or named by `MIMIRTOOL`, keeps rule groups in the local stack. */
import { execFile } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type LocalStack, startLocalStack } from '../support/local-stack';
import { mimirtoolBinary } from '../support/peers';
import { temporaryDir } from '../support/temporary-dir';

const run = promisify(execFile);

/** No rule has an empty label. mimirtool does not send those, and would then report a difference. */
const RULES = `namespace: web/api
groups:
  - name: load
    interval: 1m
    query_offset: 10s
    rules:
      - record: job:load:sum
        expr: |
          sum by (job) (
            load
          )
      - alert: High
        expr: job:load:sum   >   10
        for: 5m
        keep_firing_for: 1m
        labels: { severity: page }
        annotations:
          summary: "{{ $labels.job }} is at {{ $value }}"
  - name: one rule
    rules:
      - record: one
        expr: vector(1)
`;
const OTHER = `namespace: other
groups:
  - name: g
    rules: [{ record: two, expr: vector(2) }]
`;

describe('mimirtool', () => {
  const folder = temporaryDir();
  let stack: LocalStack;

  beforeAll(async () => {
    stack = await startLocalStack({});
    writeFileSync(join(folder, 'rules.yaml'), RULES);
    writeFileSync(join(folder, 'changed.yaml'), RULES.replace('> 10', '> 20').replace('>   10', '>   20'));
    writeFileSync(join(folder, 'other.yaml'), OTHER);
  });

  afterAll(async () => {
    await stack?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Runs `mimirtool rules`. @returns its output, and its exit code */
  const rules = async (...args: readonly string[]): Promise<{ code: number; text: string }> => {
    const address = ['--address', stack.url, '--id', 'any', '--key', stack.apiKey];
    try {
      const { stdout, stderr } = await run(mimirtoolBinary(), ['rules', ...args, ...address], {
        cwd: folder,
        env: { PATH: process.env.PATH, HOME: folder },
      });
      return { code: 0, text: stdout + stderr };
    } catch (error) {
      const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
      return { code, text: stdout + stderr };
    }
  };
  const summary = (text: string) => expect.stringContaining(text);

  test('loads, and then finds no difference', async () => {
    expect(await rules('diff', 'rules.yaml', '--disable-color')).toMatchObject({
      text: summary('2 Groups Created, 0 Groups Updated, 0 Groups Deleted'),
    });
    expect(await rules('load', 'rules.yaml')).toMatchObject({ code: 0 });
    expect(await rules('diff', 'rules.yaml', '--disable-color')).toMatchObject({
      code: 0,
      text: summary('no changes detected'),
    });
  });

  test('lists, prints and gets what was loaded', async () => {
    const listed = await rules('list', '--format', 'json');
    expect(JSON.parse(listed.text)).toEqual([
      { namespace: 'web/api', rulegroup: 'load' },
      { namespace: 'web/api', rulegroup: 'one rule' },
    ]);
    const printed = await rules('print', '--disable-color');
    expect(printed).toMatchObject({ code: 0, text: summary('job:load:sum   >   10') });
    expect((await rules('get', 'web/api', 'load', '--disable-color')).text).toContain('keep_firing_for: 1m');
  });

  test('syncs: what changed is put, and what the files lack is deleted', async () => {
    expect(await rules('load', 'other.yaml')).toMatchObject({ code: 0 });
    expect(await rules('diff', 'changed.yaml', '--disable-color')).toMatchObject({
      text: summary('0 Groups Created, 1 Groups Updated, 1 Groups Deleted'),
    });
    expect(await rules('sync', 'changed.yaml')).toMatchObject({
      code: 0,
      text: summary('0 Groups Created, 1 Groups Updated, 1 Groups Deleted'),
    });
    expect(await rules('diff', 'changed.yaml', '--disable-color')).toMatchObject({
      code: 0,
      text: summary('no changes detected'),
    });
  });

  test('deletes a group, and says what is not there', async () => {
    expect(await rules('delete', 'web/api', 'load')).toMatchObject({ code: 0 });
    expect((await rules('print', '--disable-color')).text).not.toContain('job:load:sum');
    expect(await rules('get', 'web/api', 'load')).toMatchObject({ text: summary('does not') });
  });

  test('rules that are wrong are refused, with the reason', async () => {
    writeFileSync(join(folder, 'wrong.yaml'), OTHER.replace('vector(2)', 'vektor(2)'));
    const { code, text } = await rules('load', 'wrong.yaml');
    expect({ code, text }).toMatchObject({ code: 1, text: summary('vektor') });
  });
});
