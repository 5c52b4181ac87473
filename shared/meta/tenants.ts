import { GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import type { Id } from '../id';
import { type Day, type Placement, type PlacementEpoch, tenantIdOf } from '../placement';
import { queryAll, succeeds, type Table } from './table';

export interface Tenant {
  readonly id: Id;
  readonly name: string;
  readonly placement: Placement;
}

const TENANTS = 'tenants';

/** How long a copy of a tenant's placement may be used: below the five minutes of design.md, section 8. */
const PLACEMENT_MAX_AGE_MS = 60_000;

/** The tenants and where their data lives. */
export class Tenants {
  private readonly copies = new Map<string, { readonly tenant: Tenant; readonly readAtMs: number }>();

  constructor(
    private readonly table: Table,
    private readonly now: () => number = Date.now,
  ) {}

  /** Makes a tenant, unless it is there already. */
  async create(name: string, partitions: number): Promise<Tenant> {
    const epochs: PlacementEpoch[] = [{ fromDay: '1970-01-01', partitions }];
    await succeeds(
      this.table.client.send(
        new PutItemCommand({
          TableName: this.table.name,
          Item: {
            pk: { S: TENANTS },
            sk: { S: tenantIdOf(name) },
            name: { S: name },
            epochs: { S: JSON.stringify(epochs) },
          },
          ConditionExpression: 'attribute_not_exists(pk)',
        }),
      ),
    );
    return (await this.read(name))!;
  }

  /** A tenant as it was at most a minute ago; undefined when there is none of that name. */
  async get(name: string): Promise<Tenant | undefined> {
    const copy = this.copies.get(name);
    if (copy !== undefined && this.now() - copy.readAtMs < PLACEMENT_MAX_AGE_MS) return copy.tenant;
    return this.read(name);
  }

  /** A tenant as it is now. */
  async read(name: string): Promise<Tenant | undefined> {
    const { Item } = await this.table.client.send(
      new GetItemCommand({
        TableName: this.table.name,
        Key: { pk: { S: TENANTS }, sk: { S: tenantIdOf(name) } },
        ConsistentRead: true,
      }),
    );
    if (Item === undefined) return undefined;
    const tenant = tenantOf(Item);
    if (this.copies.size > 10_000) this.copies.clear();
    this.copies.set(name, { tenant, readAtMs: this.now() });
    return tenant;
  }

  async list(): Promise<Tenant[]> {
    const tenants: Tenant[] = [];
    const items = queryAll(this.table, {
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': { S: TENANTS } },
    });
    for await (const item of items) tenants.push(tenantOf(item));
    return tenants;
  }
}

function tenantOf(item: Record<string, { S?: string }>): Tenant {
  const epochs = JSON.parse(item.epochs!.S!) as { fromDay: Day; partitions: number }[];
  return {
    id: item.sk!.S!,
    name: item.name!.S!,
    placement: { epochs },
  };
}
