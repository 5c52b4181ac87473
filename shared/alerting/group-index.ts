import type { Id } from '../model/id';
import { metaKeys } from '../platform/keys';
import { deleteItemIf, type Item, putItem, queryItems, type Table } from '../platform/table';
import type { Tenant } from '../tenancy/tenants';
import type { GroupKind } from './evaluation';

/** Entry in the index of all tenants' groups. */
export interface IndexedGroup {
  readonly tenantId: Id;
  /** The tenant's name. */
  readonly tenant: string;
  readonly kind: GroupKind;
  /** Id of the rule group or of the monitor. */
  readonly group: Id;
  /** Number of rules; 0 when the group was removed but its series and alerts have not ended yet. */
  readonly rules: number;
  readonly intervalMs: number;
  /** When the group was stored or removed, in ms since epoch. */
  readonly changedMs: number;
}

/**
 * The index has the rule groups and monitors of all tenants, which the evaluator evaluates.
 *
 *     pk group-index   sk tenant#group   tenant: name   rules   interval: ms   changed: ms   kind
 *
 * A group enters the index before it is stored. It leaves the index after the evaluator has ended its series
 * and alerts.
 */
export class GroupIndex {
  constructor(
    private readonly table: Table,
    private readonly now: () => number = Date.now,
  ) {}

  /** Returns the groups of all tenants, including removed ones until {@link forget}. */
  async all(): Promise<IndexedGroup[]> {
    return (await queryItems(this.table, { pk: metaKeys.groupIndex })).map(indexedOf);
  }

  /** Removes an entry from the index, unless its group has changed since the entry was read. */
  async forget({ tenantId, group, changedMs }: IndexedGroup): Promise<boolean> {
    return deleteItemIf(this.table, {
      Key: metaKeys.indexedGroup(tenantId, group),
      ConditionExpression: 'changed = :changed',
      ExpressionAttributeValues: { ':changed': { N: String(changedMs) } },
    });
  }

  /** Returns the groups of a tenant. */
  async of(tenantId: Id): Promise<IndexedGroup[]> {
    const range = { pk: metaKeys.groupIndex, prefix: metaKeys.groupIndexOf(tenantId) };
    return (await queryItems(this.table, range)).map(indexedOf);
  }

  /**
   * Enters a group into the index. Call it before the group is stored; after a removal, call it with 0 rules.
   *
   * @param intervalMs how often the group is evaluated
   */
  async put(
    { id, name }: Pick<Tenant, 'id' | 'name'>,
    kind: GroupKind,
    group: Id,
    rules: number,
    intervalMs: number,
  ): Promise<void> {
    await putItem(this.table, {
      ...metaKeys.indexedGroup(id, group),
      tenant: { S: name },
      rules: { N: String(rules) },
      interval: { N: String(intervalMs) },
      changed: { N: String(this.now()) },
      kind: { S: kind },
    });
  }
}

function indexedOf(item: Item): IndexedGroup {
  return {
    ...metaKeys.parseIndexedGroup(item.sk!.S!),
    tenant: item.tenant!.S!,
    kind: item.kind!.S as GroupKind,
    rules: Number(item.rules!.N),
    intervalMs: Number(item.interval!.N),
    changedMs: Number(item.changed!.N),
  };
}
