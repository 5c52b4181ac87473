import { GetItemCommand } from '@aws-sdk/client-dynamodb';
import { decodeJson } from '../alerting/group-state';
import type { Id } from '../model/id';
import { isGivenId } from '../model/random-id';
import { metaKeys } from '../platform/keys';
import { type Item, queryItems, type Table } from '../platform/table';
import type { MonitorState } from './monitor-state';

/**
 * Reads the state of each monitor. The evaluator commits it as the state of a group
 * (alerting/rule-states.ts).
 */
export class MonitorStates {
  constructor(private readonly table: Table) {}

  async get(tenantId: Id, monitorId: string): Promise<MonitorState | undefined> {
    if (!isGivenId(monitorId)) return undefined;
    const { Item } = await this.table.client.send(
      new GetItemCommand({
        TableName: this.table.name,
        Key: metaKeys.monitorState(tenantId, monitorId),
        ConsistentRead: true,
      }),
    );
    return Item && stateOf(Item);
  }

  async list(tenantId: Id): Promise<MonitorState[]> {
    const items = await queryItems(this.table, {
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': { S: metaKeys.monitorStates(tenantId) } },
    });
    return items.map(stateOf);
  }
}

function stateOf(item: Item): MonitorState {
  return decodeJson(item.state!.B!) as MonitorState;
}
