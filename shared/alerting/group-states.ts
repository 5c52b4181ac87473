import type { Id } from '../model/id';
import { metaKeys } from '../platform/keys';
import { getItem, queryItems, type Table } from '../platform/table';
import { decodeJson } from './group-state';

/**
 * Reads the states of rule groups, or of monitors, after their last evaluated ticks. The evaluator commits them
 * (evaluator-store.ts).
 */
export class GroupStates<State> {
  constructor(
    private readonly table: Table,
    private readonly of: 'rule' | 'monitor',
  ) {}

  async get(tenantId: Id, group: string): Promise<State | undefined> {
    const item = await getItem(this.table, metaKeys.groupState(this.of, tenantId, group));
    return item && (decodeJson(item.state!.B!) as State);
  }

  /** Returns the states of a tenant's rule groups or monitors, by id. */
  async list(tenantId: Id): Promise<Map<string, State>> {
    const items = await queryItems(this.table, { pk: metaKeys.groupStates(this.of, tenantId) });
    return new Map(items.map(({ sk, state }) => [sk!.S!, decodeJson(state!.B!) as State]));
  }
}
