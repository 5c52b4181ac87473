import type { EvaluatorStore } from '../alerting/tasks/evaluator-store';
import { encodeJson, type TaskStates } from '../alerting/tasks/task-states';
import type { RegisteredHost } from '../registry/host-labels';
import type { Hosts } from '../registry/hosts';
import { rolesByService, type Service, type Services } from '../registry/services';
import type { Tenant } from '../tenancy/tenants';
import { type AlertBatch, type AlertEvent, eventOf, mayNotify } from './alert-event';
import type { AlertRecord } from './alert-record';
import type { AlertStore } from './alert-store';
import type { CheckStore } from './check-store';
import type { MonitorState } from './monitor-state';
import { subjectOf } from './subject';
import { closedByHand } from './tracks';

export interface ClosingStores {
  readonly alerts: Pick<AlertStore, 'get' | 'record'>;
  readonly checks: Pick<CheckStore, 'close'>;
  readonly monitorStates: Pick<TaskStates<MonitorState>, 'get'>;
  readonly evaluatorStore: Pick<EvaluatorStore, 'commit'>;
  readonly hosts: Pick<Hosts, 'get'>;
  readonly services: Pick<Services, 'list'>;
}

/**
 * Closes an alert at a user's request. A closed alert stays unchanged.
 *
 * @returns the alert after the request; undefined when there is no such alert
 */
export async function closeAlert(
  stores: ClosingStores,
  tenant: Tenant,
  id: string,
  reason: string,
): Promise<AlertRecord | undefined> {
  const alert = await stores.alerts.get(tenant.id, id);
  if (alert === undefined || alert.status === 'OK') return alert;
  const event =
    alert.type === 'check'
      ? await stores.checks.close(
          tenant,
          alert.monitorId,
          id,
          reason,
          await registered(stores.hosts, tenant, alert.hostId, await stores.services.list(tenant.id)),
        )
      : await closeOfMonitor(stores, tenant, alert, reason);
  if (event !== undefined) await stores.alerts.record(tenant.id, [event]);
  return stores.alerts.get(tenant.id, id);
}

/**
 * Closes the alert of a monitor. The close counts as a tick of its own, one ms after the last tick. So an evaluation
 * that began before the close cannot be committed.
 */
async function closeOfMonitor(
  stores: ClosingStores,
  tenant: Tenant,
  { id, monitorId }: AlertRecord,
  reason: string,
): Promise<AlertEvent | undefined> {
  for (;;) {
    const state = await stores.monitorStates.get(tenant.id, monitorId);
    const track = state?.tracks.find(({ alert }) => alert?.id === id);
    if (state === undefined || track === undefined) return undefined;
    const { track: left, transition } = closedByHand(track, reason);
    const tickMs = state.tickMs + 1;
    const services = await stores.services.list(tenant.id);
    const host = await registered(stores.hosts, tenant, track.key, services);
    const subject = subjectOf(state.monitor, track.key, {
      hosts: new Map(host === undefined ? [] : [[host.id, host]]),
      services,
    });
    const atMs = Math.max(Date.now(), tickMs);
    const event = eventOf(transition!, atMs, mayNotify(state.monitor, host), subject);
    const batch: AlertBatch = { tenant: tenant.name, tickMs, monitorId, events: [event] };
    const tracks = state.tracks.map((each) => (each === track ? left! : each));
    const isCommitted = await stores.evaluatorStore.commit({
      tenantId: tenant.id,
      kind: 'monitor',
      task: monitorId,
      afterMs: state.tickMs,
      tickMs,
      state: encodeJson({ ...state, tickMs, tracks }),
      batches: [encodeJson(batch)],
    });
    if (isCommitted) return event;
  }
}

async function registered(
  hosts: ClosingStores['hosts'],
  tenant: Tenant,
  hostId: string | undefined,
  services: readonly Service[],
): Promise<RegisteredHost | undefined> {
  const host = hostId === undefined ? undefined : await hosts.get(tenant.id, hostId);
  return host && { ...host, roles: rolesByService(services)(host.roleIds) };
}
