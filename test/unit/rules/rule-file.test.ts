import fc from 'fast-check';
import { parseRuleFile } from '../../../shared/rules/rule-file';
import { IS_LONG } from '../../support/long';

/** A file of one group with one rule, whose fields are given as YAML lines. */
const ruleOf = (...lines: string[]) =>
  [
    'groups:',
    '- name: g',
    '  rules:',
    `  - ${lines[0]}`,
    ...lines.slice(1).map((line) => `    ${line}`),
  ].join('\n');

const faultsOf = (text: string) => parseRuleFile(text).faults.map(String);

describe('a rule file', () => {
  test('has groups, rules, and everything they may set', () => {
    const { ruleGroups, faults } = parseRuleFile(`
groups:
- name: g
  interval: 30s
  limit: 10
  query_offset: 0s
  labels: { team: a }
  rules:
  - record: job:up:sum
    expr: sum by (job) (up)
    labels: { level: 1, on: true }
  - alert: Down
    expr: |
      up == 0
    for: 10m
    keep_firing_for: 5m
    labels: { severity: page }
    annotations: { summary: "{{ $labels.job }} is down" }
- name: empty
`);
    expect(faults).toEqual([]);
    expect(ruleGroups).toMatchObject([
      {
        name: 'g',
        intervalMs: 30_000,
        queryOffsetMs: 0,
        limit: 10,
        labels: [['team', 'a']],
        rules: [
          {
            kind: 'recording',
            record: 'job:up:sum',
            expr: 'sum by (job) (up)',
            labels: [
              ['level', '1'],
              ['on', 'true'],
            ],
          },
          {
            kind: 'alerting',
            alert: 'Down',
            expr: 'up == 0\n',
            forMs: 600_000,
            keepFiringForMs: 300_000,
            labels: [['severity', 'page']],
            annotations: [['summary', '{{ $labels.job }} is down']],
          },
        ],
      },
      { name: 'empty', intervalMs: 60_000, queryOffsetMs: undefined, limit: 0, labels: [], rules: [] },
    ]);
  });

  test('takes a number as an expression, and an empty file', () => {
    expect(parseRuleFile(ruleOf('alert: Always', 'expr: 1')).ruleGroups[0]!.rules[0]!.expr).toBe('1');
    expect(parseRuleFile('')).toEqual({ documents: [], ruleGroups: [], faults: [] });
    expect(parseRuleFile('groups:\n')).toEqual({ documents: [], ruleGroups: [], faults: [] });
  });

  test('may repeat a rule by an alias or a merge key', () => {
    const { ruleGroups, faults } = parseRuleFile(`
groups:
- name: a
  rules:
  - &down
    alert: Down
    expr: up == 0
    labels: &labels { severity: page }
  - *down
  - <<: *down
    alert: Down2
    labels: { <<: *labels, team: b }
`);
    expect(faults).toEqual([]);
    expect(ruleGroups[0]!.rules).toMatchObject([
      { alert: 'Down', expr: 'up == 0' },
      { alert: 'Down', expr: 'up == 0', labels: [['severity', 'page']] },
      {
        alert: 'Down2',
        expr: 'up == 0',
        labels: [
          ['severity', 'page'],
          ['team', 'b'],
        ],
      },
    ]);
  });

  test.each([
    {
      name: 'a group without a name',
      text: 'groups:\n- rules: []',
      faults: ['2:3: Groupname must not be empty'],
    },
    {
      name: 'two groups of one name',
      text: 'groups:\n- name: a\n- name: a',
      faults: ['3:3: groupname: "a" is repeated in the same file'],
    },
    {
      name: 'record and alert together',
      text: ruleOf('record: a', 'alert: b', 'expr: up'),
      faults: [`4:13: group "g", rule 1, "b": only one of 'record' and 'alert' must be set`],
    },
    {
      name: 'neither record nor alert',
      text: ruleOf('expr: up'),
      faults: [`4:5: group "g", rule 1, "": one of 'record' or 'alert' must be set`],
    },
    {
      name: 'no expression',
      text: ruleOf('record: a'),
      faults: [`4:5: group "g", rule 1, "a": field 'expr' must be set in rule`],
    },
    {
      name: 'an expression that does not parse',
      text: ruleOf('record: a', 'expr: up +'),
      faults: [
        '5:11: group "g", rule 1, "a": could not parse expression: 1:5: parse error: unexpected end of input',
      ],
    },
    {
      name: 'a recording rule with the fields of an alert',
      text: ruleOf('record: a', 'expr: up', 'for: 1m', 'keep_firing_for: 1m', 'annotations: { x: y }'),
      faults: [
        `4:13: group "g", rule 1, "a": invalid field 'annotations' in recording rule`,
        `4:13: group "g", rule 1, "a": invalid field 'for' in recording rule`,
        `4:13: group "g", rule 1, "a": invalid field 'keep_firing_for' in recording rule`,
      ],
    },
    {
      name: 'a recorded name with braces',
      text: ruleOf(`record: 'a{b="c"}'`, 'expr: up'),
      faults: [
        '4:13: group "g", rule 1, "a{b="c"}": braces present in the recording rule name; should it be in expr?: a{b="c"}'.replace(
          '"a{b="c"}":',
          '"a{b=\\"c\\"}":',
        ),
      ],
    },
    {
      name: 'a label that is the name',
      text: ruleOf('record: a', 'expr: up', 'labels: { __name__: x }'),
      faults: ['6:13: group "g", rule 1, "a": invalid label name: __name__'],
    },
    {
      name: 'a template that does not parse',
      text: ruleOf('alert: a', 'expr: up', 'annotations: { summary: "{{ $label.job }}" }'),
      faults: ['6:18: group "g", rule 1, "a": annotation "summary": 1: undefined variable "$label"'],
    },
    {
      name: 'an unknown field',
      text: ruleOf('alert: a', 'expr: up', 'annotation: { x: y }'),
      faults: [
        '6:5: field annotation not found in a rule; its fields are record, alert, expr, for, keep_firing_for, labels, annotations',
      ],
    },
    {
      name: 'a duration of a float',
      text: ruleOf('alert: a', 'expr: up', 'for: 1.5m'),
      faults: ['6:10: for: not a valid duration string: "1.5m"'],
    },
    {
      name: 'a value of another type',
      text: 'groups:\n- name: a\n  limit: x\n  rules: 5',
      faults: ['3:10: limit: "x" is not an integer', '4:10: cannot read "5" as rules, a sequence'],
    },
  ])('is refused for $name, by line and column', ({ text, faults }) => {
    expect(faultsOf(text)).toEqual(faults);
  });

  test('has a fault for each wrong rule', () => {
    const text = 'groups:\n- name: g\n  rules:\n  - {record: a, expr: up ++}\n  - {record: b, expr: (up}';
    expect(faultsOf(text)).toHaveLength(2);
  });

  test('names line and column of a syntax error', () => {
    expect(faultsOf('groups:\n- name: "a\n')[0]).toMatch(/^\d+:\d+: /);
    expect(faultsOf('a: [')[0]).toMatch(/^1:\d+: /);
  });

  test('ignores unknown fields where they are allowed', () => {
    const { ruleGroups, faults } = parseRuleFile(ruleOf('record: a', 'expr: up', 'owner: me'), true);
    expect(faults).toEqual([]);
    expect(ruleGroups[0]!.rules).toMatchObject([{ record: 'a' }]);
  });

  test('cannot grow by its aliases', () => {
    const many = Array.from({ length: 200 }, () => '*r').join(', ');
    const text = `groups:\n- name: a\n  rules: &r\n  - {record: a, expr: up}\n${Array.from(
      { length: 200 },
      (_, i) => `- { name: b${i}, rules: [${many}] }`,
    ).join('\n')}`;
    expect(parseRuleFile(text).faults.length).toBeGreaterThan(0);
  });

  test('has aliases of one long rule read only a few times', () => {
    const text = `groups:\n- name: a\n  rules:\n  - &r {record: a, expr: "up #${'x'.repeat(50_000)}"}\n${'  - *r\n'.repeat(50)}`;
    expect(faultsOf(text)).toEqual(['4:26: its aliases expand to too much']);
  });

  test('names a key that is repeated, and takes as many keys as it has', () => {
    expect(faultsOf(ruleOf('alert: a', 'expr: up', 'expr: down'))).toEqual([
      expect.stringMatching(/^\d+:\d+: Map keys must be unique$/),
    ]);
    const labels = Array.from({ length: 20_000 }, (_, i) => `l${i}: a`).join(', ');
    const { faults, ruleGroups } = parseRuleFile(ruleOf('alert: a', 'expr: up', `labels: {${labels}}`));
    expect(faults).toEqual([]);
    expect(ruleGroups[0]!.rules[0]!.labels).toHaveLength(20_000);
  });

  test('that nests deeper than the stack allows is refused in a sentence', () => {
    expect(faultsOf('['.repeat(5_000))).toEqual(['1:1: nested too deep']);
    expect(faultsOf('{a: '.repeat(5_000))).toEqual(['1:1: nested too deep']);
  });

  test('of any content is parsed or refused', () => {
    const line = fc.constantFrom(
      ...[
        'groups:',
        '- name: g',
        '  rules:',
        '  - record: a',
        '    expr: up',
        '    for: 1m',
        '&a',
        '*a',
        '<<: *a',
      ],
      ...[
        '  - alert: b',
        '    labels: {',
        '}',
        '    annotations:',
        '? x',
        '!!binary aa',
        '- - -',
        '\t',
        '"',
        '|',
        '---',
      ],
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 12 }), (lines) => {
        expect(parseRuleFile(lines.join('\n')).ruleGroups).toBeInstanceOf(Array);
      }),
      { numRuns: IS_LONG ? 100_000 : 2_000 },
    );
  });
});
