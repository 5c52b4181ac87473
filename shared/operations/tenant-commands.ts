import { tallySeries } from '../catalogue/series-tally';
import { durationText } from '../model/duration';
import { dayOf, type PlacementEpoch, partitionsOn } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import { InvalidEventError } from '../platform/event';
import { log } from '../platform/log';
import type { RuntimeSettings } from '../platform/settings';
import { EpochError, planEpoch } from '../tenancy/epochs';
import { type LimitName, type Limits, limitsOf } from '../tenancy/limits';
import {
  type DeletedTenant,
  DeletedTenantError,
  retentionOf,
  type Tenant,
  TenantChangedError,
  TenantNameError,
  type Tenants,
} from '../tenancy/tenants';
import { type EraseCount, eraseTenant } from './erase-tenant';
import type { OperatorDependencies } from './operator-dependencies';
import type { OperatorCommand } from './operator-event';

/** A tenant as shown to operators. */
export interface TenantDescription {
  readonly id: string;
  readonly name: string;
  /** Number of partitions today. */
  readonly partitions: number;
  /** The number of partitions over time, as epochs. The first begins on 1970-01-01. */
  readonly epochs: readonly PlacementEpoch[];
  readonly limits: Limits;
  /** Names of the limits that override the stage's. */
  readonly ownLimits: readonly LimitName[];
  /** How long samples can be read, in ms. */
  readonly retentionMs: number;
  /** Whether the retention overrides the stage's. */
  readonly hasOwnRetention: boolean;
}

export interface TenantList {
  readonly tenants: readonly TenantDescription[];
  readonly deleted: readonly DeletedTenant[];
}

/** Maximum number of tenants whose series are counted in parallel. */
const PARALLEL = 4;

/**
 * Result of a sweep: how many deleted tenants it has finished erasing, and how many are left for later
 * sweeps.
 */
export interface SweepResult {
  readonly erased: number;
  readonly remaining: number;
}

/**
 * Returns the tenant with this name.
 *
 * @throws {InvalidEventError} if no tenant has the name
 */
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
  const [active, deleted] = await Promise.all([tenants.list(), tenants.listDeleted()]);
  return { tenants: active.map((tenant) => describeTenant(tenant, stage, now())), deleted };
}

/** Changes a tenant's limits, number of partitions and retention. */
export async function setTenant(
  { tenants, stage, now }: Pick<OperatorDependencies, 'tenants' | 'stage' | 'now'>,
  { name, limits, partitions, from, retentionMs }: OperatorCommand<'tenants set'>,
): Promise<TenantDescription> {
  if (retentionMs !== undefined && retentionMs !== null) checkRetention(retentionMs, stage);
  const tenant = await requireTenant(tenants, name);
  if (partitions === undefined && from !== undefined)
    throw new InvalidEventError(
      'from: it needs partitions, the number of partitions that begins on this day',
    );
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

/**
 * Marks a tenant as deleted and erases one slice of its data. The caller calls again until the result's
 * `isDone` is true.
 */
export async function deleteTenant(
  dependencies: OperatorDependencies,
  { name }: OperatorCommand<'tenants delete'>,
  hasTime: () => boolean,
): Promise<EraseCount> {
  const deleted = await dependencies.tenants.markDeleted(name);
  if (deleted === undefined) throw unknownTenant(name);
  return eraseTenant(dependencies, deleted, hasTime);
}

/**
 * The hourly sweep: erases data of deleted tenants, extends the expiry of items after the retention was
 * raised, and counts each tenant's series for its limit. A tenant that cannot be erased is logged and does
 * not stop the others.
 */
export async function sweep(
  dependencies: OperatorDependencies,
  { settledMs }: OperatorCommand<'sweep'>,
  hasTime: () => boolean,
): Promise<SweepResult> {
  const { tenants, usage, meta, read, lifetimes, now } = dependencies;
  let erased = 0;
  let remaining = 0;
  for (const tenant of await tenants.listDeleted()) {
    if (tenant.erasedAt !== undefined) continue;
    remaining++;
    // Until `settledMs` have passed, a function that does not know of the deletion yet may still write.
    const isSettled = now() - tenant.deletedAt >= settledMs;
    try {
      const { isDone } = await eraseTenant(dependencies, tenant, hasTime);
      if (!isDone || !isSettled) continue;
      await tenants.markErased(tenant);
      erased++;
      remaining--;
    } catch (error) {
      log.error('a deleted tenant could not be erased', { tenantId: tenant.id, error });
    }
  }
  const putOff = await lifetimes.renew(hasTime);
  if (putOff > 0)
    log.info('the expiry of items was extended because the retention was raised', { items: putOff });
  const times = { retentionMs: await lifetimes.retentionMs(), nowMs: now() };
  const all = await tenants.list();
  // The current time determines which tenant comes first, so that sweeps that run out of time do not skip the
  // same tenants every hour.
  const first = times.nowMs % Math.max(1, all.length);
  let uncounted = 0;
  await mapLimited([...all.slice(first), ...all.slice(0, first)], PARALLEL, async ({ id }) => {
    if (hasTime()) await usage.putSeries(id, await tallySeries(meta, read.catalogue.sources, id, times));
    else uncounted++;
  });
  if (uncounted > 0) log.warn('there was no time to count the series of all tenants', { uncounted });
  return { erased, remaining };
}

/**
 * Checks that a tenant's retention is at least the stage's `warmTtl` (how long the warm tier keeps days), and at most
 * its `retention` (how long the catalogue remembers series).
 *
 * @throws {InvalidEventError}
 */
function checkRetention(retentionMs: number, { warmTtl, retention }: RuntimeSettings): void {
  if (retentionMs >= warmTtl && retentionMs <= retention) return;
  throw new InvalidEventError(
    `retention: ${durationText(retentionMs)} is not between the stage's warmTtl (${durationText(warmTtl)}) and its retention (${durationText(retention)})`,
  );
}

function unknownTenant(name: string): InvalidEventError {
  return new InvalidEventError(`there is no tenant ${JSON.stringify(name)}`);
}

function describeTenant(tenant: Tenant, stage: RuntimeSettings, nowMs: number): TenantDescription {
  const { id, name, placement, limits, retentionMs } = tenant;
  return {
    id,
    name,
    partitions: partitionsOn(placement, dayOf(nowMs)),
    epochs: placement.epochs,
    limits: limitsOf(stage, limits),
    ownLimits: Object.keys(limits ?? {}) as LimitName[],
    retentionMs: retentionOf(tenant, stage.retention),
    hasOwnRetention: retentionMs !== undefined,
  };
}
