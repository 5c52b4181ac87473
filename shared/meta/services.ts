import { GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { type Id, idOf } from '../id';
import { succeeds, type Table } from './table';

/** Names of services and roles. @see Mackerel's API documentation, services */
export const SERVICE_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{1,62}$/;

/**
 * The services of a tenant.
 *
 *     pk services#tenant   sk hash of the name   name
 */
export class Services {
  constructor(private readonly table: Table) {}

  /** Makes a service, unless it is there already. */
  async create(tenantId: Id, name: string): Promise<void> {
    await succeeds(
      this.table.client.send(
        new PutItemCommand({
          TableName: this.table.name,
          Item: { ...keyOf(tenantId, name), name: { S: name } },
          ConditionExpression: 'attribute_not_exists(pk)',
        }),
      ),
    );
  }

  async exists(tenantId: Id, name: string): Promise<boolean> {
    const { Item } = await this.table.client.send(
      new GetItemCommand({ TableName: this.table.name, Key: keyOf(tenantId, name), ConsistentRead: true }),
    );
    return Item !== undefined;
  }
}

function keyOf(tenantId: Id, name: string) {
  return { pk: { S: `services#${tenantId}` }, sk: { S: idOf('service', name) } };
}
