import { Invocation, perTenant, type SampleInputs } from '../alerting/invocation';
import type { EvaluationRequest, EvaluationResponse, Outcome } from '../alerting/tasks/evaluation';
import type { Id } from '../model/id';
import { log } from '../platform/log';
import type { RuntimeSettings } from '../platform/settings';
import type { QueryOptions } from '../promql/query';
import type { SampleStore } from '../promql/store';
import type { HostNames } from '../registry/host-labels';
import type { Hosts } from '../registry/hosts';
import type { Services } from '../registry/services';
import { RuleError } from '../rules/evaluate-rule';
import { IncompleteError } from '../rules/instant-vector';
import type { Tenant } from '../tenancy/tenants';
import {
  type AlertingView,
  advanceMonitor,
  type DueMonitor,
  type FoundMonitor,
  findMonitor,
  type MonitorDocuments,
  newestTick,
  removeMonitor,
} from './advance-monitor';
import { holdsAt } from './downtime-times';
import { ExpressionError } from './expression';
import { type JudgedMonitor, judgeMonitor, MonitorError } from './judge-monitor';

/** Stores that an evaluation of monitors reads. */
export interface MonitorStores extends MonitorDocuments, SampleInputs {
  readonly hosts: Pick<Hosts, 'get'>;
  readonly hostNames: (tenantId: Id) => Promise<HostNames>;
  readonly services: Pick<Services, 'list'>;
  /** Returns whether a host has ever posted a metric. */
  readonly hasPosted: (tenant: Tenant, hostId: string) => Promise<boolean>;
  readonly stage: Pick<RuntimeSettings, 'ruleQueryOffset'>;
}

/** Evaluates monitors of samples. Each monitor is one task. */
export async function evaluateMonitors(
  stores: MonitorStores,
  request: EvaluationRequest,
): Promise<EvaluationResponse> {
  const invocation = new Invocation(stores);
  const viewFor = perTenant((tenant) => viewOf(stores, tenant, request.nowMs, invocation));
  return invocation.evaluate(request.tasks, async (ref) => {
    const found = await findMonitor(stores, ref);
    if (found === undefined) return { evaluate: async () => ({ outcome: 'gone' }) };
    const { tenant } = found;
    return {
      tenant,
      evaluate: async () =>
        evaluate(stores, found, await viewFor(tenant), request, invocation.queryOf(tenant)),
    };
  });
}

/** Data that a tenant's monitors share. */
interface TenantView extends AlertingView {
  readonly names: HostNames;
  readonly store: SampleStore;
}

async function viewOf(
  { hosts, hostNames, services, downtimes }: MonitorStores,
  tenant: Tenant,
  nowMs: number,
  invocation: Invocation,
): Promise<TenantView> {
  const [names, allServices, allDowntimes] = await Promise.all([
    hostNames(tenant.id),
    services.list(tenant.id),
    downtimes.list(tenant.id),
  ]);
  const registered = new Map(names.hosts.map((host) => [host.id, host]));
  return {
    names,
    hosts: registered,
    // The cached hosts may be seconds old and may lack a newly registered host, so ask the store as well.
    isRetired: async (id) => !registered.has(id) && (await hosts.get(tenant.id, id))?.retiredAt !== null,
    services: allServices,
    downtimes: allDowntimes.filter((downtime) => holdsAt(downtime, nowMs)),
    store: invocation.readsOf(tenant),
  };
}

async function evaluate(
  stores: MonitorStores,
  found: FoundMonitor,
  view: TenantView,
  request: EvaluationRequest,
  query: QueryOptions,
): Promise<Outcome> {
  const { tenant, monitor, state } = found;
  if (monitor === undefined) return removeMonitor(tenant, state, view, request.nowMs);
  const tickMs = newestTick(found, request, stores.stage.ruleQueryOffset);
  if (tickMs === undefined) return { outcome: 'idle' };
  const due = { ...found, tickMs };
  return advanceMonitor(due, await judge(stores, due, view, query), view);
}

async function judge(
  stores: MonitorStores,
  { tenant, monitor, state, tickMs }: DueMonitor,
  view: TenantView,
  query: QueryOptions,
): Promise<JudgedMonitor | { readonly error: string }> {
  try {
    return await judgeMonitor(monitor, state?.memory ?? {}, state?.tracks ?? [], {
      store: view.store,
      hosts: view.names.hosts,
      hasPosted: (hostId) => stores.hasPosted(tenant, hostId),
      query,
      nowMs: tickMs,
    });
  } catch (error) {
    const text = errorText(error);
    if (text !== undefined) return { error: text };
    log.error('samples of a monitor were not read', { id: monitor.id, error });
    return { error: 'a store did not answer' };
  }
}

/**
 * Returns the reason why a monitor cannot be judged. Returns undefined for any other error, such as one from a
 * store.
 */
export function errorText(error: unknown): string | undefined {
  return error instanceof MonitorError ||
    error instanceof RuleError ||
    error instanceof IncompleteError ||
    error instanceof ExpressionError
    ? error.message
    : undefined;
}
