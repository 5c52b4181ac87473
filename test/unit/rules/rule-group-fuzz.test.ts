import fc from 'fast-check';
import { parse } from 'yaml';
import { ruleGroupOf, rulesYaml } from '../../../shared/rules/rule-document';
import { parseRuleGroup } from '../../../shared/rules/rule-file';
import { anyCharacter } from '../../support/any-text';

const RUNS = { numRuns: 300 };

const text = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.constantFrom(
    '__proto__',
    'constructor',
    '',
    '<<',
    '*a',
    '&a',
    'null',
    '~',
    '1e999',
    '|',
    '>',
    '{{',
    '{{ $value }}',
  ),
);
const labels = fc.dictionary(text, text, { maxKeys: 3 });
/** Field names, most of which exist. */
const record = fc.record(
  {
    record: text,
    alert: text,
    expr: fc.oneof(
      text,
      fc.constantFrom('up', 'up == 0', 'sum by (job) (rate(x[5m]))', 'up\n  > 1 # more\n'),
    ),
    for: fc.oneof(text, fc.constantFrom('1m', '0', '1h30m', '-1m')),
    keep_firing_for: fc.constantFrom('1m', '5', '0s'),
    labels: fc.oneof(labels, fc.constantFrom(null, [], 'x')),
    annotations: fc.oneof(labels, fc.constantFrom(null, 1)),
    source: text,
  },
  { requiredKeys: [] },
);
const valid = fc.record({
  alert: fc.string({ minLength: 1 }).filter((name) => name.isWellFormed()),
  expr: fc.constantFrom('up', 'up == 0', 'sum by (job) (rate(x[5m]))', 'up\n  > 1 # more\n', ' up', '1'),
});
const group = fc.record(
  {
    name: fc.oneof(fc.constant('g'), text),
    interval: fc.oneof(fc.constantFrom('1m', '90s', '0'), text),
    limit: fc.constantFrom(0, 1, 1e300, -1, 'x'),
    labels,
    rules: fc.oneof(
      fc.array(valid, { minLength: 1, maxLength: 3 }),
      fc.array(record, { maxLength: 3 }),
      text,
    ),
  },
  { requiredKeys: ['name', 'rules'] },
);

/**
 * Parses a group. If it is accepted, checks that its stored form yields the same document and the same rules.
 *
 * @returns whether it was accepted
 */
function check(yaml: string): boolean {
  const { document, faults } = parseRuleGroup(yaml);
  expect(document === undefined).toBe(faults.length > 0);
  if (document === undefined) return false;
  const stored = JSON.parse(JSON.stringify(document));
  expect(parse(rulesYaml(stored))).toEqual(stored);
  expect(parseRuleGroup(rulesYaml(stored)).document).toEqual(stored);
  expect(ruleGroupOf(stored)).toEqual(ruleGroupOf(document));
  return true;
}

test('a group of any fields is refused with a reason, or stored as it was written', () => {
  let accepted = 0;
  fc.assert(
    fc.property(group, (each) => {
      if (check(JSON.stringify(each))) accepted++;
    }),
    RUNS,
  );
  expect(accepted).toBeGreaterThan(10);
});

test('any text is refused with a reason, or stored as it was written', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 200 }), (each) => void check(each)),
    RUNS,
  );
});

test('a file that is bent out of shape is refused with a reason, or stored as it was written', () => {
  const file = `name: g\ninterval: 1m\nlabels: &l {team: web}\nrules:\n- record: a:b\n  expr: |\n    sum(up)\n  labels: *l\n- alert: A\n  expr: up == 0\n  for: 5m\n  annotations: {s: "{{ $labels.job }}"}\n`;
  expect(check(file)).toBe(true);
  const edit = fc.record({ at: fc.nat(file.length), cut: fc.nat(5), put: text });
  fc.assert(
    fc.property(fc.array(edit, { minLength: 1, maxLength: 3 }), (edits) => {
      const bent = edits.reduce(
        (all, { at, cut, put }) => all.slice(0, at) + put + all.slice(at + cut),
        file,
      );
      check(bent);
    }),
    RUNS,
  );
});

test('aliases that would expand without bound are refused before they expand', () => {
  const bomb = Array.from({ length: 30 }, (_, i) =>
    i === 0 ? 'a0: &a0 [x, x]' : `a${i}: &a${i} [*a${i - 1}, *a${i - 1}]`,
  ).join('\n');
  expect(check(`name: g\n${bomb}\nrules: *a29\n`)).toBe(false);
});
