import type { Id } from '../model/id';
import { mapLimited } from '../platform/concurrency';
import { log } from '../platform/log';
import type { RegisteredHost } from '../registry/host-labels';
import type { Hosts } from '../registry/hosts';
import { rolesByService, type Services } from '../registry/services';
import type { Tenant } from '../tenancy/tenants';
import type { AlertStore } from './alert-store';
import { type CheckReport, checkIdOf, checkReport } from './check-report';
import type { CheckStore } from './check-store';
import type { Downtime } from './downtime';
import { holdsAt } from './downtime-times';
import { concerns, isWatchedStatus } from './scope';

/** Number of checks that are updated, or hosts that are read, at the same time. */
const PARALLEL = 8;

export interface ReportStores {
  readonly alerts: Pick<AlertStore, 'record'>;
  readonly checks: Pick<CheckStore, 'report' | 'retireHost'>;
  readonly downtimes: { list(tenantId: Id): Promise<readonly Downtime[]> };
  readonly hosts: Pick<Hosts, 'get'>;
  readonly services: Pick<Services, 'list'>;
}

/**
 * Applies the valid reports of checks. Skips invalid reports, and reports of unknown or retired hosts.
 * Refusing the whole request would lose the valid reports too, because agents drop a batch that is refused.
 */
export async function takeReports(
  stores: ReportStores,
  tenant: Tenant,
  given: readonly unknown[],
  nowMs: number,
): Promise<void> {
  const reports = given.flatMap((each) => checkReport.safeParse(each).data ?? []);
  if (reports.length < given.length)
    log.warn('reports of checks were dropped', {
      tenant: tenant.name,
      dropped: given.length - reports.length,
    });
  if (reports.length === 0) return;
  const [known, allDowntimes] = await Promise.all([
    hostsOf(stores, tenant.id, new Set(reports.map(({ source }) => source.hostId))),
    stores.downtimes.list(tenant.id),
  ]);
  const current = allDowntimes.filter((downtime) => holdsAt(downtime, nowMs));
  // Apply the reports of each check one at a time, in order.
  const byCheck = Map.groupBy(reports, ({ source, name }) => checkIdOf(source.hostId, name));
  await mapLimited([...byCheck], PARALLEL, async ([monitorId, ofCheck]) => {
    const host = known.get(ofCheck[0]!.source.hostId);
    if (host === undefined) return;
    const { status, roles } = host;
    const context = {
      isWatched: isWatchedStatus(status),
      isDown: current.some((downtime) => concerns(downtime, { monitorId, roles })),
    };
    let hasChanged = false;
    for (const report of ofCheck.sort(byTime)) {
      const event = await stores.checks.report(tenant, report, host, context);
      if (event === undefined) continue;
      hasChanged = true;
      await stores.alerts.record(tenant.id, [event]);
    }
    // The host may have been retired since it was read above. Retiring a host removes its checks, but these reports may
    // then have created a check again, whose alert nothing would ever close. So retire the host's checks once more.
    if (hasChanged && (await stores.hosts.get(tenant.id, host.id))?.retiredAt != null)
      await stores.alerts.record(tenant.id, await stores.checks.retireHost(tenant, host.id));
  });
}

function byTime(a: CheckReport, b: CheckReport): number {
  return a.occurredAt - b.occurredAt;
}

/** Reads the hosts with these ids, keyed by id. Leaves out unknown and retired hosts. */
async function hostsOf(
  { hosts, services }: ReportStores,
  tenantId: Id,
  ids: ReadonlySet<string>,
): Promise<Map<string, RegisteredHost>> {
  const rolesOf = rolesByService(await services.list(tenantId));
  const found = await mapLimited([...ids], PARALLEL, async (id) => hosts.get(tenantId, id));
  return new Map(
    found.flatMap((host) =>
      host === undefined || host.retiredAt !== null
        ? []
        : [[host.id, { ...host, roles: rolesOf(host.roleIds) }] as const],
    ),
  );
}
