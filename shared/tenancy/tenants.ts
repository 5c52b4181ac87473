import { GetItemCommand, PutItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { LRUCache } from 'lru-cache';
import type { Id } from '../model/id';
import { type Day, maxPartitions, type Placement, type PlacementEpoch, tenantIdOf } from '../model/placement';
import { metaKeys } from '../platform/keys';
import { type Item, queryAll, succeeds, type Table } from '../platform/table';
import type { LimitOverrides } from './limits';

export interface Tenant {
  readonly id: Id;
  readonly name: string;
  readonly placement: Placement;
  /** What differs from the stage's limits. */
  readonly limits?: LimitOverrides;
}

/** What remains of a tenant that was deleted, for ever: its records may be delivered again as long as any are kept. */
export interface DeletedTenant {
  readonly id: Id;
  readonly name: string;
  readonly partitions: number;
  /** ms since epoch. */
  readonly deletedAt: number;
  /** When everything of it was found gone, after the last writer that may not have known: ms since epoch. */
  readonly erasedAt: number | undefined;
}

/** The name is that of a deleted tenant. */
export class DeletedTenantError extends Error {
  override readonly name = 'DeletedTenantError';
}

/** How long a copy of a tenant's placement may be used: below the five minutes of design.md, section 8. */
const PLACEMENT_MAX_AGE_MS = 60_000;

/**
 * The tenants and where their data lives.
 *
 *     pk tenants   sk tenant id   name   epochs: JSON   limits: JSON   deletedAt: ms   erasedAt: ms
 *
 * A deleted tenant's item stays, with `deletedAt`. As it is the same item, none can be made in its place meanwhile.
 */
export class Tenants {
  private readonly copies = new LRUCache<string, { readonly tenant: Tenant; readonly readAtMs: number }>({
    max: 10_000,
  });

  constructor(
    private readonly table: Table,
    private readonly now: () => number = Date.now,
  ) {}

  /**
   * Makes a tenant, unless it is there already.
   *
   * @throws {DeletedTenantError}
   */
  async create(name: string, partitions: number): Promise<Tenant> {
    // UTF-8 makes one character of all lone surrogates, and so one tenant of two.
    if (!name.isWellFormed()) throw new RangeError("the tenant's name has half of a surrogate pair");
    const epochs: PlacementEpoch[] = [{ fromDay: '1970-01-01', partitions }];
    await succeeds(
      this.table.client.send(
        new PutItemCommand({
          TableName: this.table.name,
          Item: {
            ...metaKeys.tenant(tenantIdOf(name)),
            name: { S: name },
            epochs: { S: JSON.stringify(epochs) },
          },
          ConditionExpression: 'attribute_not_exists(pk)',
        }),
      ),
    );
    const tenant = await this.read(name);
    if (tenant === undefined)
      throw new DeletedTenantError(
        `a tenant ${name} was deleted; the name cannot be used again, because what it posted may be read again from the stream`,
      );
    return tenant;
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
        Key: metaKeys.tenant(tenantIdOf(name)),
        ConsistentRead: true,
      }),
    );
    if (Item === undefined || Item.deletedAt !== undefined) {
      this.copies.delete(name);
      return undefined;
    }
    const tenant = tenantOf(Item);
    this.copies.set(name, { tenant, readAtMs: this.now() });
    return tenant;
  }

  async list(): Promise<Tenant[]> {
    const tenants: Tenant[] = [];
    for await (const item of this.items('attribute_not_exists(deletedAt)')) tenants.push(tenantOf(item));
    return tenants;
  }

  async deleted(): Promise<DeletedTenant[]> {
    const tenants: DeletedTenant[] = [];
    for await (const item of this.items('attribute_exists(deletedAt)')) tenants.push(deletedTenantOf(item));
    return tenants;
  }

  /** Replaces what differs from the stage's limits. */
  async setLimits(tenantId: Id, limits: LimitOverrides): Promise<void> {
    await this.table.client.send(
      new UpdateItemCommand({
        TableName: this.table.name,
        Key: metaKeys.tenant(tenantId),
        UpdateExpression: 'SET limits = :limits',
        ConditionExpression: 'attribute_exists(pk)',
        ExpressionAttributeValues: { ':limits': { S: JSON.stringify(limits) } },
      }),
    );
  }

  /**
   * Marks a tenant as deleted, first of all that deleting it takes. Safe to repeat.
   *
   * @returns undefined when there never was one of that name
   */
  async markDeleted(name: string): Promise<DeletedTenant | undefined> {
    return this.mark(tenantIdOf(name), 'deletedAt');
  }

  /** Notes that nothing of a deleted tenant is left. */
  async markErased({ id }: DeletedTenant): Promise<void> {
    await this.mark(id, 'erasedAt');
  }

  private async mark(tenantId: Id, attribute: 'deletedAt' | 'erasedAt'): Promise<DeletedTenant | undefined> {
    let marked: Item | undefined;
    await succeeds(
      this.table.client
        .send(
          new UpdateItemCommand({
            TableName: this.table.name,
            Key: metaKeys.tenant(tenantId),
            UpdateExpression: `SET ${attribute} = if_not_exists(${attribute}, :now)`,
            ConditionExpression: 'attribute_exists(pk)',
            ExpressionAttributeValues: { ':now': { N: String(this.now()) } },
            ReturnValues: 'ALL_NEW',
          }),
        )
        .then(({ Attributes }) => {
          marked = Attributes;
        }),
    );
    return marked && deletedTenantOf(marked);
  }

  private items(filter: string): AsyncGenerator<Item> {
    return queryAll(this.table, {
      KeyConditionExpression: 'pk = :pk',
      FilterExpression: filter,
      ExpressionAttributeValues: { ':pk': { S: metaKeys.tenants } },
    });
  }
}

function tenantOf(item: Item): Tenant {
  return {
    id: item.sk!.S!,
    name: item.name!.S!,
    placement: placementOf(item),
    limits: JSON.parse(item.limits?.S ?? '{}') as LimitOverrides,
  };
}

function deletedTenantOf(item: Item): DeletedTenant {
  return {
    id: item.sk!.S!,
    name: item.name!.S!,
    partitions: maxPartitions(placementOf(item)),
    deletedAt: Number(item.deletedAt!.N),
    erasedAt: item.erasedAt?.N === undefined ? undefined : Number(item.erasedAt.N),
  };
}

function placementOf(item: Item): Placement {
  return { epochs: JSON.parse(item.epochs!.S!) as { fromDay: Day; partitions: number }[] };
}
