import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type OpsRun, runOps } from '../../support/ops';
import { temporaryDir } from '../../support/temporary-dir';

const root = process.cwd();
const folder = temporaryDir();

const RULES = `groups:
- name: g
  rules:
  - record: job:up:sum
    expr: sum by (job) (up)
  - alert: Down
    expr: job:up:sum == 0
    for: 2m
    labels: { severity: page }
    annotations: { summary: "{{ $labels.job }} is down" }
`;

const TESTS = `rule_files: [rules*.yml]
tests:
- name: down
  input_series:
  - { series: 'up{job="api"}', values: '1 0x10' }
  alert_rule_test:
  - { eval_time: 2m, alertname: Down, exp_alerts: [] }
  - eval_time: 3m
    alertname: Down
    exp_alerts:
    - { exp_labels: { job: api, severity: page }, exp_annotations: { summary: api is down } }
  promql_expr_test:
  - { expr: 'job:up:sum', eval_time: 1m, exp_samples: [{ labels: 'job:up:sum{job="api"}', value: 0 }] }
- name: wrong
  input_series:
  - { series: 'm', values: '1' }
  - { series: 'h', values: '{{count:1}}' }
  promql_expr_test:
  - { expr: m, eval_time: 0, exp_samples: [{ labels: m, value: 2 }] }
  - { expr: h, eval_time: 0, exp_samples: [{ labels: h, histogram: '{{count:1}}' }] }
`;

beforeAll(() => {
  process.chdir(folder);
  writeFileSync(join(folder, 'rules.yml'), RULES);
  writeFileSync(join(folder, 'tests.yml'), TESTS);
  writeFileSync(join(folder, 'bad.yml'), 'groups:\n- name: g\n  rules:\n  - { record: a, expr: up + }\n');
  writeFileSync(
    join(folder, 'doubtful.yml'),
    'groups:\n- name: g\n  rules:\n  - { alert: A, expr: "rate(x[1m])", for: 15s, labels: { v: "{{ $value }}" } }\n',
  );
});

afterAll(() => {
  process.chdir(root);
  rmSync(folder, { recursive: true, force: true });
});

/** Runs `ops rules` in the folder of the files. */
async function rules(...args: string[]): Promise<OpsRun> {
  process.exitCode = 0;
  const run = await runOps('rules', ...args);
  const { exitCode } = process;
  process.exitCode = 0;
  return { ...run, code: run.code || Number(exitCode) };
}

test('rules check accepts good files, and names line and column of what is wrong', async () => {
  const good = await rules('check', 'rules.yml');
  expect(good).toMatchObject({ code: 0, out: 'Checking rules.yml\n  SUCCESS: 2 rules found\n\n' });
  const bad = await rules('check', 'rules.yml', 'bad.yml');
  expect(bad.code).toBe(1);
  expect(bad.out).toContain('bad.yml: 4:24: group "g", rule 1, "a": could not parse expression: 1:5');
});

test('rules check warns of rules that can hardly be meant, and fails for them when it is strict', async () => {
  const { code, out } = await rules('check', '--json', 'doubtful.yml');
  expect(code).toBe(0);
  expect(JSON.parse(out).files[0].warnings).toEqual([
    expect.stringContaining('the label "v" holds $value'),
    expect.stringContaining("for is 15 s, shorter than the group's interval of 60 s"),
    expect.stringContaining('a range of 60 s is shorter than two intervals of 60 s'),
  ]);
  expect((await rules('check', '--strict', 'doubtful.yml')).code).toBe(1);
});

test('rules test runs the tests of a file, as many as --run names', async () => {
  const all = await rules('test', 'tests.yml');
  expect(all.code).toBe(1);
  expect(all.out).toContain('name: wrong,\n    expr: "m", time: 0s,');
  expect(all.out).toContain('exp: {__name__="m"} 2E+00\n        got: {__name__="m"} 1E+00');
  expect(all.out).toContain('NOT SUPPORTED: name: wrong, expr: "h", time: 0s: native histograms');
  expect(await rules('test', '--run', '^down$', 'tests.yml')).toMatchObject({ code: 0 });
});

test('rules test writes JUnit XML and JSON', async () => {
  const { out } = await rules('test', '--json', '--junit', 'out.xml', 'tests.yml');
  const [file] = JSON.parse(out).files;
  expect(file.tests.map(({ failures }: { failures: unknown[] }) => failures.length)).toEqual([0, 1]);
  const xml = readFileSync(join(folder, 'out.xml'), 'utf8');
  expect(xml).toContain('<testsuite name="tests.yml" tests="2" failures="1">');
  expect(xml).toContain('<testcase name="down"/>');
});

test('rules commands say which file cannot be read', async () => {
  const { code, err } = await rules('test', 'none.yml');
  expect(code).toBe(1);
  expect(err).toMatch(/^ops: cannot read none\.yml: ENOENT/);
});
