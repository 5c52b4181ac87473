import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { prometheusBinaries } from '../support/peers';
import { temporaryDir } from '../support/temporary-dir';

const root = join(__dirname, '..', '..');

const RULES = `groups:
- name: g
  rules:
  - record: job:up:sum
    expr: sum by (job) (up)
  - alert: Down
    expr: job:up:sum == 0
    for: 2m
    keep_firing_for: 1m
    labels: { severity: page }
    annotations: { summary: "{{ $labels.job }} is down, {{ $value | humanize }} are up" }
`;

const series = `
  input_series:
  - { series: 'up{job="api"}', values: '1 0x10' }
  - { series: 'up{job="web"}', values: '1+1x5 _x3 stale' }`;
const annotations = 'exp_annotations: { summary: "api is down, 0 are up" }';

/** Files of rule tests, as promtool and `ops rules test` take them. */
const FILES = {
  'a right sample and a right alert': `rule_files: [rules.yml]
tests:
- name: down${series}
  promql_expr_test:
  - { expr: 'job:up:sum{job="web"}', eval_time: 2m, exp_samples: [{ labels: 'job:up:sum{job="web"}', value: 3 }] }
  alert_rule_test:
  - { eval_time: 2m, alertname: Down }
  - { eval_time: 3m, alertname: Down, exp_alerts: [{ exp_labels: { job: api, severity: page }, ${annotations} }] }
`,
  'a wrong value': `rule_files: [rules.yml]
tests:
- name: down${series}
  promql_expr_test:
  - { expr: 'job:up:sum{job="web"}', eval_time: 2m, exp_samples: [{ labels: 'job:up:sum{job="web"}', value: 4 }] }
`,
  'an alert that does not fire': `rule_files: [rules.yml]
tests:
- name: down${series}
  alert_rule_test:
  - { eval_time: 2m, alertname: Down, exp_alerts: [{ exp_labels: { job: api, severity: page }, ${annotations} }] }
`,
  'a wrong annotation': `rule_files: [rules.yml]
tests:
- name: down${series}
  alert_rule_test:
  - eval_time: 3m
    alertname: Down
    exp_alerts: [{ exp_labels: { job: api, severity: page }, exp_annotations: { summary: up } }]
`,
  'a field that does not exist': 'rule_files: [rules.yml]\ntests:\n- { name: down, input: [] }\n',
  'an expression that does not parse':
    'tests:\n- promql_expr_test:\n  - { expr: up +, eval_time: 1m, exp_samples: [] }\n',
  'rules that do not parse':
    'rule_files: [broken.yml]\ntests:\n- promql_expr_test:\n  - { expr: vector(1), eval_time: 1m, exp_samples: [{ value: 1 }] }\n',
  'no rule file of the pattern': 'rule_files: [none*.yml]\ntests: []\n',
  nothing: '',
} as const;

describe('ops rules test', () => {
  const folder = temporaryDir();
  let promtool: string;

  beforeAll(() => {
    promtool = join(prometheusBinaries(), 'promtool');
    writeFileSync(join(folder, 'rules.yml'), RULES);
    writeFileSync(join(folder, 'broken.yml'), 'groups: [{ name: g, rules: [{ record: a, expr: up + }] }]\n');
  });

  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  test.each(Object.entries(FILES))('exits as promtool does for a file with %s', (_, text) => {
    const file = join(folder, 'tests.yml');
    writeFileSync(file, text);
    const tsx = join(root, 'node_modules', '.bin', 'tsx');
    const theirs = spawnSync(promtool, ['test', 'rules', file], { encoding: 'utf8' });
    const ours = spawnSync(tsx, [join(root, 'scripts', 'ops.ts'), 'rules', 'test', file], {
      encoding: 'utf8',
    });
    expect([ours.status, ours.stdout + ours.stderr]).toEqual([theirs.status, expect.any(String)]);
  });
});
