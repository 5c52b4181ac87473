import type { Id } from '../../model/id';
import { metaKeys } from '../../platform/keys';
import { deleteItemIf, type Item, putItem, queryItems, type Table } from '../../platform/table';
import type { Tenant } from '../../tenancy/tenants';
import type { TaskKind } from './evaluation';

/** Entry in the index of all tenants' tasks. */
export interface IndexedTask {
  readonly tenantId: Id;
  /** The tenant's name. */
  readonly tenant: string;
  readonly kind: TaskKind;
  /** Id of the rule group or of the monitor. */
  readonly task: Id;
  /** Number of rules; 0 when the task was removed but its series and alerts have not ended yet. */
  readonly rules: number;
  readonly intervalMs: number;
  /** When the task was stored or removed, as Unix time in ms. */
  readonly changedMs: number;
}

/**
 * The index of the rule groups and monitors of all tenants. The evaluator reads all of it in each run.
 *
 *     pk group-index   sk tenant#task   tenant: name   rules   interval: ms   changed: ms   kind
 *
 * A task enters the index before it is stored. It leaves the index after the evaluator has ended its series and alerts.
 */
export class TaskIndex {
  constructor(
    private readonly table: Table,
    private readonly now: () => number = Date.now,
  ) {}

  /** Returns the tasks of all tenants, including removed ones until {@link forget}. */
  async all(): Promise<IndexedTask[]> {
    return (await queryItems(this.table, { pk: metaKeys.taskIndex })).map(indexedOf);
  }

  /** Removes an entry from the index, unless its task has changed since the entry was read. */
  async forget({ tenantId, task, changedMs }: IndexedTask): Promise<void> {
    await deleteItemIf(this.table, {
      Key: metaKeys.indexedTask(tenantId, task),
      ConditionExpression: 'changed = :changed',
      ExpressionAttributeValues: { ':changed': { N: String(changedMs) } },
    });
  }

  /** Returns the tasks of a tenant. */
  async of(tenantId: Id): Promise<IndexedTask[]> {
    const range = { pk: metaKeys.taskIndex, prefix: metaKeys.taskIndexOf(tenantId) };
    return (await queryItems(this.table, range)).map(indexedOf);
  }

  /**
   * Enters a task into the index. Call it before the task is stored; after a removal, call it with 0 rules.
   *
   * @param intervalMs how often the task is evaluated
   */
  async put(
    { id, name }: Pick<Tenant, 'id' | 'name'>,
    kind: TaskKind,
    task: Id,
    rules: number,
    intervalMs: number,
  ): Promise<void> {
    await putItem(this.table, {
      ...metaKeys.indexedTask(id, task),
      tenant: { S: name },
      rules: { N: String(rules) },
      interval: { N: String(intervalMs) },
      changed: { N: String(this.now()) },
      kind: { S: kind },
    });
  }
}

function indexedOf(item: Item): IndexedTask {
  return {
    ...metaKeys.parseIndexedTask(item.sk!.S!),
    tenant: item.tenant!.S!,
    kind: item.kind!.S as TaskKind,
    rules: Number(item.rules!.N),
    intervalMs: Number(item.interval!.N),
    changedMs: Number(item.changed!.N),
  };
}
