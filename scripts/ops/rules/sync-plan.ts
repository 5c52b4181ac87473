import { isDeepStrictEqual } from 'node:util';
import type { RuleGroupDocument } from '../../../shared/rules/rule-document';

export interface GroupChange {
  readonly action: 'create' | 'change' | 'remove';
  readonly namespace: string;
  readonly name: string;
  /** Absent when the group is removed. */
  readonly group?: RuleGroupDocument;
}

type Namespaces = ReadonlyMap<string, readonly RuleGroupDocument[]>;

/**
 * Plans the changes that make the stored groups equal to those in the files. Namespaces without a file are kept unless
 * `prunes` is set. Removals come last, so that a rule that moves to another group is never missing in between.
 */
export function planSync(stored: Namespaces, wanted: Namespaces, prunes: boolean): GroupChange[] {
  const puts: GroupChange[] = [];
  const removals: GroupChange[] = [];
  for (const [namespace, groups] of wanted)
    for (const group of groups) {
      const { name } = group;
      const known = stored.get(namespace)?.find((each) => each.name === name);
      if (known === undefined) puts.push({ action: 'create', namespace, name, group });
      else if (!isDeepStrictEqual(known, group)) puts.push({ action: 'change', namespace, name, group });
    }
  for (const [namespace, groups] of stored) {
    const kept = wanted.get(namespace);
    if (kept === undefined && !prunes) continue;
    for (const { name } of groups)
      if (!kept?.some((each) => each.name === name)) removals.push({ action: 'remove', namespace, name });
  }
  return [...puts, ...removals];
}
