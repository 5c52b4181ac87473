import { TaskIndex } from '../alerting/tasks/task-index';
import { type Id, idOf } from '../model/id';
import type { Table } from '../platform/table';
import { compareBytes } from '../promql/vectors';
import { Documents } from '../registry/documents';
import { RefusedError } from '../registry/refused';
import type { Limits } from '../tenancy/limits';
import type { Tenant } from '../tenancy/tenants';
import { intervalOf, type RuleGroupDocument } from './rule-document';

/** A tenant's rule group. Namespaces correspond to Prometheus' rule files. */
export interface StoredRuleGroup {
  readonly namespace: string;
  readonly document: RuleGroupDocument;
}

export type RuleLimits = Pick<Limits, 'rules' | 'ruleGroups' | 'rulesPerGroup'>;

/** Maximum length of a namespace's or rule group's name, in characters. */
const MAX_NAME = 1_024;
/** Maximum size of a rule group as JSON, in bytes. A DynamoDB item holds at most 400 KB. */
export const MAX_GROUP_BYTES = 350_000;

/** Returns a rule group's id within its tenant. */
export function ruleGroupId(namespace: string, name: string): Id {
  return idOf('rule-group', namespace, name);
}

/**
 * Stores tenants' rule groups.
 *
 *     pk rule-groups#tenant   sk task           json: {namespace, document}   revision
 *
 * Two concurrent requests may together exceed a limit by one rule group, because neither counts the other's.
 */
export class RuleGroups {
  private readonly ruleGroups: Documents<StoredRuleGroup>;
  private readonly index: TaskIndex;

  constructor(table: Table) {
    this.ruleGroups = new Documents(table, 'rule-groups');
    this.index = new TaskIndex(table);
  }

  /**
   * Creates or replaces a rule group.
   *
   * @throws {RefusedError} naming the limit that the tenant's rule groups would exceed
   */
  async put(
    tenant: Tenant,
    limits: RuleLimits,
    namespace: string,
    document: RuleGroupDocument,
  ): Promise<void> {
    for (const [what, name] of [
      ['namespace', namespace],
      ['group', document.name],
    ] as const)
      if (name.length > MAX_NAME)
        throw new RefusedError(
          `${what}: the name has ${name.length} characters; at most ${MAX_NAME} are allowed`,
        );
    const bytes = Buffer.byteLength(JSON.stringify(document));
    if (bytes > MAX_GROUP_BYTES)
      throw new RefusedError(
        `group ${JSON.stringify(document.name)} has ${bytes} bytes as JSON; at most ${MAX_GROUP_BYTES} are allowed`,
        true,
      );
    const id = ruleGroupId(namespace, document.name);
    const rules = document.rules.length;
    requireWithin('rulesPerGroup', limits.rulesPerGroup, rules);
    const others = (await this.index.of(tenant.id)).filter(
      (each) => each.kind === 'rule' && each.task !== id && each.rules > 0,
    );
    requireWithin('ruleGroups', limits.ruleGroups, others.length + 1);
    requireWithin(
      'rules',
      limits.rules,
      others.reduce((sum, each) => sum + each.rules, rules),
    );
    await this.index.put(tenant, 'rule', id, rules, intervalOf(document.interval));
    await this.ruleGroups.createOrChange(tenant.id, id, () => ({ namespace, document }));
  }

  get(tenantId: Id, id: Id): Promise<StoredRuleGroup | undefined> {
    return this.ruleGroups.get(tenantId, id);
  }

  /** Returns the tenant's rule groups, sorted by namespace and name. */
  async list(tenantId: Id): Promise<StoredRuleGroup[]> {
    const ruleGroups = await this.ruleGroups.all(tenantId);
    return ruleGroups.sort(
      (a, b) => compareBytes(a.namespace, b.namespace) || compareBytes(a.document.name, b.document.name),
    );
  }

  /** Removes a rule group. Returns whether it existed. */
  async remove(tenant: Tenant, namespace: string, name: string): Promise<boolean> {
    const id = ruleGroupId(namespace, name);
    const removed = await this.ruleGroups.remove(tenant.id, id);
    if (removed === undefined) return false;
    await this.index.put(tenant, 'rule', id, 0, intervalOf(undefined));
    return true;
  }
}

function requireWithin(limit: keyof RuleLimits, most: number, count: number): void {
  if (count > most)
    throw new RefusedError(
      `per-user ${LIMITED[limit]} limit (limit: ${most} actual: ${count}) exceeded: the tenant's limit ${limit}`,
    );
}

/** Names of the limits in messages, the same as in Mimir's ruler. */
const LIMITED: Readonly<Record<keyof RuleLimits, string>> = {
  rules: 'rules',
  ruleGroups: 'rule groups',
  rulesPerGroup: 'rules per rule group',
};
