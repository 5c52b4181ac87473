import { parse } from 'yaml';
import { rulesYaml } from '../../../shared/rules/rule-document';
import { parseRuleGroup } from '../../../shared/rules/rule-file';

const WRITTEN = `name: g
interval: 2m
query_offset: 0s
labels: {}
rules:
  - alert: High
    expr: |
      sum by (job) (rate(http_requests_total{code=~"5.."}[5m]))
        > 0.5  # percent
    for: 10m
    labels: {}
    annotations:
      __proto__: kept
      summary: "{{ $value }}"
  - record: job:one
    expr: 1
  - alert: Bare
    expr: up == 0
`;

test('a group is returned as it was written: expressions byte for byte, absent fields absent and empty fields empty', () => {
  const { document, faults } = parseRuleGroup(WRITTEN);
  expect(faults).toEqual([]);
  const [high, one, bare] = document!.rules;
  expect(high!.expr).toBe('sum by (job) (rate(http_requests_total{code=~"5.."}[5m]))\n  > 0.5  # percent\n');
  expect(Object.keys(high!)).toEqual(['alert', 'expr', 'for', 'labels', 'annotations']);
  expect(Object.entries(high!.annotations!)).toEqual([
    ['__proto__', 'kept'],
    ['summary', '{{ $value }}'],
  ]);
  // A YAML number is kept as the string of an expression.
  expect(one).toEqual({ record: 'job:one', expr: '1' });
  expect(bare).toEqual({ alert: 'Bare', expr: 'up == 0' });
  const stored = JSON.parse(JSON.stringify(document));
  expect(parse(rulesYaml(stored))).toEqual(stored);
});

test.each([
  { name: 'an empty body', text: '', message: /the group is missing/ },
  { name: 'null', text: 'null', message: /the group is missing/ },
  { name: 'a group without rules', text: 'name: g', message: /group "g" has no rules/ },
  { name: 'a rule that is null', text: 'name: g\nrules: [null]', message: /rule 1: the rule is empty/ },
  { name: 'an unknown field', text: 'name: g\nsource: x\nrules: []', message: /2:1: field source not found/ },
  { name: 'a list', text: '- name: g', message: /cannot read a sequence as a group/ },
])('$name is refused', ({ text, message }) => {
  const { document, faults } = parseRuleGroup(text);
  expect(document).toBeUndefined();
  expect(faults.map(String).join('\n')).toMatch(message);
});
