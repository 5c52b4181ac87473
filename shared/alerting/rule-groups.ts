import { DeleteItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { type Id, idOf } from '../model/id';
import { metaKeys } from '../platform/keys';
import { type Item, queryAll, queryItems, succeeds, type Table } from '../platform/table';
import { Documents } from '../registry/documents';
import { RefusedError } from '../registry/refused';
import type { Limits } from '../tenancy/limits';
import type { Tenant } from '../tenancy/tenants';
import type { GroupKind } from './evaluation';
import { type GroupDocument, intervalOf } from './rule-document';

/** A tenant's rule group. Namespaces correspond to Prometheus' rule files. */
export interface StoredGroup {
  readonly namespace: string;
  readonly document: GroupDocument;
}

/** Entry in the index of all tenants' rule groups. */
export interface IndexedGroup {
  readonly tenantId: Id;
  /** The tenant's name. */
  readonly tenant: string;
  readonly kind: GroupKind;
  /** The group's id; for a monitor, the monitor's id. */
  readonly group: Id;
  /** Number of rules; 0 when the group was removed but its series and alerts have not ended yet. */
  readonly rules: number;
  readonly intervalMs: number;
  /** When the group was stored or removed, in ms since epoch. */
  readonly changedMs: number;
}

export type RuleLimits = Pick<Limits, 'rules' | 'ruleGroups' | 'rulesPerGroup'>;

/** Most characters of the name of a namespace or group. */
const MAX_NAME = 1_024;
/** Most bytes of a group as JSON. A DynamoDB item holds 400 KB. */
const MAX_GROUP_BYTES = 350_000;

/** Returns a rule group's id within its tenant. */
export function ruleGroupId(namespace: string, name: string): Id {
  return idOf('rule-group', namespace, name);
}

/**
 * Stores tenants' rule groups, and an index of all of them that the evaluator reads.
 *
 *     pk rule-groups#tenant   sk group          json: {namespace, document}   revision
 *     pk rule-index           sk tenant#group   tenant: name   rules   interval: ms   changed: ms   kind
 *
 * A group enters the index before it is stored. It leaves the index after the evaluator has ended its series
 * and alerts. Two concurrent requests may each exceed a limit by one group.
 */
export class RuleGroups {
  private readonly groups: Documents<StoredGroup>;

  constructor(
    private readonly table: Table,
    private readonly now: () => number = Date.now,
  ) {
    this.groups = new Documents(table, 'rule-groups');
  }

  /**
   * Creates or replaces a group.
   *
   * @throws {RefusedError} naming the limit that the tenant's groups would exceed
   */
  async put(tenant: Tenant, limits: RuleLimits, namespace: string, document: GroupDocument): Promise<void> {
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
    const group = ruleGroupId(namespace, document.name);
    const rules = document.rules.length;
    requireWithin('rulesPerGroup', limits.rulesPerGroup, rules);
    const others = (await this.indexOf(tenant.id)).filter(
      (each) => each.kind === 'rule' && each.group !== group && each.rules > 0,
    );
    requireWithin('ruleGroups', limits.ruleGroups, others.length + 1);
    requireWithin(
      'rules',
      limits.rules,
      others.reduce((sum, each) => sum + each.rules, rules),
    );
    await this.index(tenant, 'rule', group, rules, intervalOf(document.interval));
    await this.groups.createOrChange(tenant.id, group, () => ({ namespace, document }));
  }

  get(tenantId: Id, group: Id): Promise<StoredGroup | undefined> {
    return this.groups.get(tenantId, group);
  }

  /** Returns the tenant's groups, sorted by namespace and name. */
  async list(tenantId: Id): Promise<StoredGroup[]> {
    const groups: StoredGroup[] = [];
    for await (const { value } of this.groups.list(tenantId)) groups.push(value);
    return groups.sort(
      (a, b) => compareTexts(a.namespace, b.namespace) || compareTexts(a.document.name, b.document.name),
    );
  }

  /** @returns whether the group existed */
  async remove(tenant: Tenant, namespace: string, name: string): Promise<boolean> {
    const group = ruleGroupId(namespace, name);
    const removed = await this.groups.remove(tenant.id, group);
    if (removed === undefined) return false;
    await this.index(tenant, 'rule', group, 0, intervalOf(undefined));
    return true;
  }

  /** Returns the groups of all tenants, including removed ones until {@link forget}. */
  async all(): Promise<IndexedGroup[]> {
    return (await queryItems(this.table, indexQuery())).map(indexedOf);
  }

  /** Removes an entry from the index, unless its group has changed since the entry was read. */
  async forget({ tenantId, group, changedMs }: IndexedGroup): Promise<boolean> {
    return succeeds(
      this.table.client.send(
        new DeleteItemCommand({
          TableName: this.table.name,
          Key: metaKeys.indexedRules(tenantId, group),
          ConditionExpression: 'changed = :changed',
          ExpressionAttributeValues: { ':changed': { N: String(changedMs) } },
        }),
      ),
    );
  }

  private async indexOf(tenantId: Id): Promise<IndexedGroup[]> {
    const entries: IndexedGroup[] = [];
    for await (const item of queryAll(this.table, indexQuery(metaKeys.ruleIndexOf(tenantId))))
      entries.push(indexedOf(item));
    return entries;
  }

  /**
   * Enters a group into the index. Call it before the group is stored; after a removal, call it with 0 rules.
   *
   * @param intervalMs how often the group is evaluated
   */
  async index(
    { id, name }: Pick<Tenant, 'id' | 'name'>,
    kind: GroupKind,
    group: Id,
    rules: number,
    intervalMs: number,
  ): Promise<void> {
    await this.table.client.send(
      new PutItemCommand({
        TableName: this.table.name,
        Item: {
          ...metaKeys.indexedRules(id, group),
          tenant: { S: name },
          rules: { N: String(rules) },
          interval: { N: String(intervalMs) },
          changed: { N: String(this.now()) },
          kind: { S: kind },
        },
      }),
    );
  }
}

function indexQuery(prefix = '') {
  return {
    KeyConditionExpression: prefix === '' ? 'pk = :pk' : 'pk = :pk AND begins_with(sk, :prefix)',
    ExpressionAttributeValues: {
      ':pk': { S: metaKeys.ruleIndex },
      ...(prefix !== '' && { ':prefix': { S: prefix } }),
    },
  };
}

function indexedOf(item: Item): IndexedGroup {
  return {
    ...metaKeys.parseIndexedRules(item.sk!.S!),
    tenant: item.tenant!.S!,
    kind: item.kind!.S as GroupKind,
    rules: Number(item.rules!.N),
    intervalMs: Number(item.interval!.N),
    changedMs: Number(item.changed!.N),
  };
}

function requireWithin(limit: keyof RuleLimits, most: number, count: number): void {
  if (count > most)
    throw new RefusedError(
      `per-user ${LIMITED[limit]} limit (limit: ${most} actual: ${count}) exceeded: the tenant's limit ${limit}`,
    );
}

/** Names of the limits in messages, as Mimir's ruler has them. */
const LIMITED: Readonly<Record<keyof RuleLimits, string>> = {
  rules: 'rules',
  ruleGroups: 'rule groups',
  rulesPerGroup: 'rules per rule group',
};

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
