import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import type { Id } from '../model/id';
import { type Day, maxPartitions, type Placement, type PlacementEpoch, tenantIdOf } from '../model/placement';
import { metaKeys } from '../platform/keys';
import {
  getItem,
  type Item,
  putItemIf,
  queryItems,
  succeeds,
  type Table,
  updateItem,
  updateItemIf,
} from '../platform/table';
import type { LimitOverrides } from './limits';

export interface Tenant {
  readonly id: Id;
  readonly name: string;
  readonly placement: Placement;
  /** Limits that override the stage's defaults. */
  readonly limits?: LimitOverrides;
  /**
   * How long samples can be read, in ms; undefined for the stage's `retention`, which is also the maximum.
   */
  readonly retentionMs?: number;
}

/**
 * Returns how long a tenant's samples can be read, in ms. The tenant's own retention may be longer than the stage's,
 * which an operator may have lowered since.
 */
export function retentionOf({ retentionMs }: Pick<Tenant, 'retentionMs'>, stageRetentionMs: number): number {
  return Math.min(retentionMs ?? stageRetentionMs, stageRetentionMs);
}

/**
 * A deleted tenant, as stored. Its item is kept permanently, because the stream may deliver the tenant's
 * records again.
 */
export interface DeletedTenant {
  readonly id: Id;
  readonly name: string;
  readonly partitions: number;
  /** Time of the deletion, as Unix time in ms. */
  readonly deletedAt: number;
  /**
   * When all of the tenant's data had been erased and no function could write for the tenant any more, as
   * Unix time in ms; undefined until then.
   */
  readonly erasedAt: number | undefined;
}

export class TenantNameError extends Error {
  override readonly name = 'TenantNameError';
}

/** The name cannot be used, because it belonged to a deleted tenant. */
export class DeletedTenantError extends Error {
  override readonly name = 'DeletedTenantError';
}

/** Names appear in commands, logs and lists, so no two names may look alike and no name may need quotes. */
const TENANT_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?$/;

/**
 * Checks the name of a new tenant.
 *
 * @throws {TenantNameError}
 */
export function checkTenantName(name: string): void {
  if (TENANT_NAME.test(name)) return;
  throw new TenantNameError(
    `${JSON.stringify(name.slice(0, 100))} cannot be a tenant's name: use 1 to 64 letters (a-z, A-Z), digits, dots, hyphens and underscores, with a letter or digit first and last`,
  );
}

/** An operator's change failed, because the tenant was deleted or its placement changed in the meantime. */
export class TenantChangedError extends Error {
  override readonly name = 'TenantChangedError';
}

/**
 * Maximum age of a cached tenant, in ms. A writer with an older copy reads the tenant again, and fails if it
 * cannot. A new epoch is published more than a day before its first day, so every writer learns of it in
 * time.
 */
const PLACEMENT_MAX_AGE_MS = 60_000;

/**
 * Stores the tenants and their placement.
 *
 *     pk tenants   sk tenant id   name   epochs: JSON   limits: JSON   retentionMs   deletedAt: ms   erasedAt: ms
 *
 * The item of a deleted tenant stays, with `deletedAt`, so its name cannot be used again.
 */
export class Tenants {
  private readonly copies = new Cache<{ readonly tenant: Tenant; readonly readAtMs: number }>(
    CACHES.tenants,
    ({ tenant }) => 1_000 + 100 * tenant.placement.epochs.length,
  );

  constructor(
    private readonly table: Table,
    private readonly now: () => number = Date.now,
  ) {}

  /**
   * Creates a tenant, or returns it if it exists.
   *
   * @throws {TenantNameError}
   * @throws {DeletedTenantError}
   */
  async create(name: string, partitions: number): Promise<Tenant> {
    checkTenantName(name);
    const epochs: PlacementEpoch[] = [{ fromDay: '1970-01-01', partitions }];
    await putItemIf(this.table, {
      Item: {
        ...metaKeys.tenant(tenantIdOf(name)),
        name: { S: name },
        epochs: { S: JSON.stringify(epochs) },
      },
      ConditionExpression: 'attribute_not_exists(pk)',
    });
    const tenant = await this.read(name);
    if (tenant === undefined)
      throw new DeletedTenantError(
        `the tenant ${name} was deleted; its name cannot be used again, because the stream may deliver its samples again`,
      );
    return tenant;
  }

  /** Returns a tenant, as read at most a minute ago; undefined when the name is unknown or deleted. */
  async get(name: string): Promise<Tenant | undefined> {
    const copy = this.copies.get(name);
    const ageMs = copy === undefined ? Infinity : this.now() - copy.readAtMs;
    // If the age is negative, the clock was set back, and the copy may be older than it seems.
    return ageMs >= 0 && ageMs < PLACEMENT_MAX_AGE_MS ? copy!.tenant : this.read(name);
  }

  /** Reads a tenant from the table; undefined when the name is unknown or deleted. */
  async read(name: string): Promise<Tenant | undefined> {
    const readAtMs = this.now();
    const item = await getItem(this.table, metaKeys.tenant(tenantIdOf(name)));
    if (item === undefined || item.deletedAt !== undefined) {
      this.copies.delete(name);
      return undefined;
    }
    const tenant = tenantOf(item);
    this.copies.set(name, { tenant, readAtMs });
    return tenant;
  }

  async list(): Promise<Tenant[]> {
    return (await this.items('attribute_not_exists(deletedAt)')).map(tenantOf);
  }

  async isDeleted(id: Id): Promise<boolean> {
    const item = await getItem(this.table, metaKeys.tenant(id));
    return item?.deletedAt !== undefined;
  }

  async listDeleted(): Promise<DeletedTenant[]> {
    return (await this.items('attribute_exists(deletedAt)')).map(deletedTenantOf);
  }

  async setLimits(tenantId: Id, limits: LimitOverrides): Promise<void> {
    await updateItem(this.table, {
      Key: metaKeys.tenant(tenantId),
      UpdateExpression: 'SET limits = :limits',
      ConditionExpression: 'attribute_exists(pk)',
      ExpressionAttributeValues: { ':limits': { S: JSON.stringify(limits) } },
    });
  }

  /** Sets how long a tenant's samples can be read, in ms; null for the stage's retention. */
  async setRetention(tenantId: Id, retentionMs: number | null): Promise<void> {
    await updateItem(this.table, {
      Key: metaKeys.tenant(tenantId),
      ConditionExpression: 'attribute_exists(pk)',
      ...(retentionMs === null
        ? { UpdateExpression: 'REMOVE retentionMs' }
        : {
            UpdateExpression: 'SET retentionMs = :retention',
            ExpressionAttributeValues: { ':retention': { N: String(retentionMs) } },
          }),
    });
  }

  /**
   * Replaces a tenant's placement.
   *
   * @param placement the new placement, which `planEpoch` made from `tenant.placement`
   * @throws {TenantChangedError}
   */
  async setPlacement({ id, name, placement }: Tenant, { epochs }: Placement): Promise<void> {
    const isSet = await updateItemIf(this.table, {
      Key: metaKeys.tenant(id),
      UpdateExpression: 'SET epochs = :epochs',
      // A retry after a lost response finds the placement that the first attempt wrote.
      ConditionExpression: 'epochs IN (:before, :epochs) AND attribute_not_exists(deletedAt)',
      ExpressionAttributeValues: {
        ':epochs': { S: JSON.stringify(epochs) },
        ':before': { S: JSON.stringify(placement.epochs) },
      },
    });
    if (!isSet)
      throw new TenantChangedError(
        `the tenant ${name} was changed or deleted meanwhile; check it and try again`,
      );
  }

  /**
   * Marks a tenant as deleted, the first step of its deletion. Safe to retry.
   *
   * @returns undefined when the name is unknown
   */
  async markDeleted(name: string): Promise<DeletedTenant | undefined> {
    return this.mark(tenantIdOf(name), 'deletedAt');
  }

  /** Records that all data of a deleted tenant has been erased. */
  async markErased({ id }: DeletedTenant): Promise<void> {
    await this.mark(id, 'erasedAt');
  }

  private async mark(tenantId: Id, attribute: 'deletedAt' | 'erasedAt'): Promise<DeletedTenant | undefined> {
    let marked: Item | undefined;
    await succeeds(
      updateItem(this.table, {
        Key: metaKeys.tenant(tenantId),
        UpdateExpression: `SET ${attribute} = if_not_exists(${attribute}, :now)`,
        ConditionExpression: 'attribute_exists(pk)',
        ExpressionAttributeValues: { ':now': { N: String(this.now()) } },
        ReturnValues: 'ALL_NEW',
      }).then(({ Attributes }) => {
        marked = Attributes;
      }),
    );
    return marked && deletedTenantOf(marked);
  }

  private items(filter: string): Promise<Item[]> {
    return queryItems(this.table, { pk: metaKeys.tenants }, { FilterExpression: filter });
  }
}

function tenantOf(item: Item): Tenant {
  return {
    id: item.sk!.S!,
    name: item.name!.S!,
    placement: placementOf(item),
    limits: JSON.parse(item.limits?.S ?? '{}') as LimitOverrides,
    retentionMs: item.retentionMs?.N === undefined ? undefined : Number(item.retentionMs.N),
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
