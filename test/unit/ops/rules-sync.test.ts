import { planSync } from '../../../scripts/ops/rules/sync-plan';
import type { RuleGroupDocument } from '../../../shared/rules/rule-document';

/** `ns/group:expr` for each group with one rule. */
function namespacesOf(texts: readonly string[]): Map<string, RuleGroupDocument[]> {
  const namespaces = new Map<string, RuleGroupDocument[]>();
  for (const text of texts) {
    const [, namespace, name, expr] = /^(\w+)\/(\w+):(\w+)$/.exec(text)!;
    const group = { name: name!, rules: [{ record: 'r', expr: expr! }] };
    namespaces.set(namespace!, [...(namespaces.get(namespace!) ?? []), group]);
  }
  return namespaces;
}

test.each([
  { name: 'what is stored needs no change', stored: ['a/g:x'], files: ['a/g:x'], plan: [] },
  { name: 'a group that is not stored is created', stored: [], files: ['a/g:x'], plan: ['create a/g'] },
  { name: 'a group that differs is put again', stored: ['a/g:x'], files: ['a/g:y'], plan: ['change a/g'] },
  {
    name: 'a group that its file no longer has is removed, last',
    stored: ['a/g:x', 'a/h:x'],
    files: ['a/g:x', 'a/i:x'],
    plan: ['create a/i', 'remove a/h'],
  },
  { name: 'other namespaces stay', stored: ['a/g:x', 'b/g:x'], files: ['a/g:x'], plan: [] },
  {
    name: 'other namespaces are removed when asked to prune',
    stored: ['a/g:x', 'b/g:x'],
    files: ['a/g:x'],
    prunes: true,
    plan: ['remove b/g'],
  },
])('$name', ({ stored, files, prunes = false, plan }) => {
  const changes = planSync(namespacesOf(stored), namespacesOf(files), prunes);
  expect(changes.map(({ action, namespace, name }) => `${action} ${namespace}/${name}`)).toEqual(plan);
});

test('labels that are absent differ from empty ones', () => {
  const group = { name: 'g', rules: [{ record: 'r', expr: 'x' }] };
  const empty = { name: 'g', rules: [{ record: 'r', expr: 'x', labels: {} }] };
  expect(planSync(new Map([['a', [group]]]), new Map([['a', [empty]]]), false)).toHaveLength(1);
});
