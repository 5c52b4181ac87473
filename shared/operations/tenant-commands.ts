import { type SeriesTally, tallySeries } from '../catalogue/series-tally';
import { durationText } from '../model/duration';
import { dayOf, type PlacementEpoch, partitionsOn } from '../model/placement';
import { InvalidEventError } from '../platform/event';
import { log } from '../platform/log';
import type { RuntimeSettings } from '../platform/settings';
import { EpochError, planEpoch } from '../tenancy/epochs';
import { type LimitName, type Limits, limitsOf } from '../tenancy/limits';
import {
  type DeletedTenant,
  DeletedTenantError,
  type Tenant,
  TenantChangedError,
  TenantNameError,
  type Tenants,
} from '../tenancy/tenants';
import { type EraseCount, eraseTenant } from './erase-tenant';
import type { OperatorDependencies } from './operator-dependencies';
import type { OperatorCommand } from './operator-event';

/** A tenant as operators see it. */
export interface TenantDescription {
  readonly id: string;
  readonly name: string;
  /** Today's number. */
  readonly partitions: number;
  /** The numbers of all days, the first from 1970-01-01. */
  readonly epochs: readonly PlacementEpoch[];
  readonly limits: Limits;
  /** Which of the limits differ from the stage's. */
  readonly ownLimits: readonly LimitName[];
  /** How long its samples can be read, ms. */
  readonly retentionMs: number;
  /** Whether that differs from the stage's. */
  readonly hasOwnRetention: boolean;
}

export interface TenantList {
  readonly tenants: readonly TenantDescription[];
  readonly deleted: readonly DeletedTenant[];
}

/** How many deleted tenants one sweep erased, and how many a later sweep must look at again. */
export interface SweepResult {
  readonly erased: number;
  readonly remaining: number;
}

export const NO_SERIES: SeriesTally = { active: 0, stored: 0, topNames: [], topSources: [] };

/** @throws {InvalidEventError} if the stage has no tenant of the name */
export async function requireTenant(tenants: Tenants, name: string): Promise<Tenant> {
  const tenant = await tenants.read(name);
  if (tenant === undefined) throw unknownTenant(name);
  return tenant;
}

export async function createTenant(
  { tenants, stage, now }: OperatorDependencies,
  { name, partitions }: OperatorCommand<'tenants create'>,
): Promise<TenantDescription> {
  try {
    return describeTenant(await tenants.create(name, partitions), stage, now());
  } catch (error) {
    if (error instanceof DeletedTenantError || error instanceof TenantNameError)
      throw new InvalidEventError(error.message);
    throw error;
  }
}

export async function listTenants({ tenants, stage, now }: OperatorDependencies): Promise<TenantList> {
  const [active, deleted] = await Promise.all([tenants.list(), tenants.deleted()]);
  return { tenants: active.map((tenant) => describeTenant(tenant, stage, now())), deleted };
}

/** Changes a tenant's limits, its number of partitions and its retention. */
export async function setTenant(
  { tenants, stage, now }: Pick<OperatorDependencies, 'tenants' | 'stage' | 'now'>,
  { name, limits, partitions, from, retentionMs }: OperatorCommand<'tenants set'>,
): Promise<TenantDescription> {
  if (retentionMs !== undefined && retentionMs !== null) checkRetention(retentionMs, stage);
  const tenant = await requireTenant(tenants, name);
  if (partitions === undefined && from !== undefined)
    throw new InvalidEventError('from: it is the first day of a new number of partitions, which is missing');
  try {
    if (partitions !== undefined)
      await tenants.setPlacement(tenant, planEpoch(tenant.placement, partitions, now(), from));
  } catch (error) {
    if (error instanceof EpochError || error instanceof TenantChangedError)
      throw new InvalidEventError(error.message);
    throw error;
  }
  const changed = Object.entries({ ...tenant.limits, ...limits }).filter(([, value]) => value !== null);
  await tenants.setLimits(tenant.id, Object.fromEntries(changed));
  if (retentionMs !== undefined) await tenants.setRetention(tenant.id, retentionMs);
  return describeTenant(await requireTenant(tenants, name), stage, now());
}

/** Marks a tenant as deleted and erases one slice of it. The caller repeats until the slice says `isDone`. */
export async function deleteTenant(
  { tenants, erasure }: OperatorDependencies,
  { name }: OperatorCommand<'tenants delete'>,
  hasTime: () => boolean,
): Promise<EraseCount> {
  const deleted = await tenants.markDeleted(name);
  if (deleted === undefined) throw unknownTenant(name);
  return eraseTenant(erasure, deleted, hasTime);
}

/**
 * Erases what deleted tenants left, puts off the expiry of items after the retention was raised, and counts the series of
 * the other tenants, by which post judges the limit of series. A tenant that cannot be erased is logged and does not stop the others.
 */
export async function sweep(
  { tenants, usage, meta, erasure, lifetimes, now }: OperatorDependencies,
  { settledMs }: OperatorCommand<'sweep'>,
  hasTime: () => boolean,
): Promise<SweepResult> {
  let erased = 0;
  let remaining = 0;
  for (const tenant of await tenants.deleted()) {
    if (tenant.erasedAt !== undefined) continue;
    remaining++;
    // Until then a function that has not heard of the deletion may write once more.
    const isSettled = now() - tenant.deletedAt >= settledMs;
    try {
      const { isDone } = await eraseTenant(erasure, tenant, hasTime);
      if (!isDone || !isSettled) continue;
      await tenants.markErased(tenant);
      erased++;
      remaining--;
    } catch (error) {
      log.error('a deleted tenant is not erased', { tenantId: tenant.id, error: error as Error });
    }
  }
  const putOff = await lifetimes.renew(hasTime);
  if (putOff > 0) log.info('items live longer, as the retention was raised', { items: putOff });
  const tallies = await tallySeries(meta, await lifetimes.retentionMs(), now());
  for (const { id } of await tenants.list()) await usage.putSeries(id, tallies.get(id) ?? NO_SERIES);
  return { erased, remaining };
}

/** The catalogue forgets what is older than the stage's retention, and the warm tier keeps days for `warmTtl`. */
function checkRetention(retentionMs: number, { warmTtl, retention }: RuntimeSettings): void {
  if (retentionMs >= warmTtl && retentionMs <= retention) return;
  throw new InvalidEventError(
    `retention: ${durationText(retentionMs)} is not between the stage's warmTtl (${durationText(warmTtl)}) and its retention (${durationText(retention)})`,
  );
}

function unknownTenant(name: string): InvalidEventError {
  return new InvalidEventError(`there is no tenant ${JSON.stringify(name)}`);
}

function describeTenant(
  { id, name, placement, limits, retentionMs }: Tenant,
  stage: RuntimeSettings,
  nowMs: number,
): TenantDescription {
  return {
    id,
    name,
    partitions: partitionsOn(placement, dayOf(nowMs)),
    epochs: placement.epochs,
    limits: limitsOf(stage, limits),
    ownLimits: Object.keys(limits ?? {}) as LimitName[],
    retentionMs: retentionMs ?? stage.retention,
    hasOwnRetention: retentionMs !== undefined,
  };
}
