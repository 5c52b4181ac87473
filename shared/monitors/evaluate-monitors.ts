import { RuleError } from '../alerting/evaluate-rule';
import {
  type EvaluationAnswer,
  type EvaluationRequest,
  failed,
  type GroupEvaluation,
  INVOCATION,
  type Outcome,
  type SampleInputs,
} from '../alerting/evaluation';
import type { Id } from '../model/id';
import { mapLimited } from '../platform/concurrency';
import { log } from '../platform/log';
import type { RuntimeSettings } from '../platform/settings';
import type { QueryOptions } from '../promql/query';
import { SharedReads } from '../promql/shared-reads';
import type { SampleStore } from '../promql/store';
import type { HostNames } from '../registry/host-labels';
import type { Hosts } from '../registry/hosts';
import type { Services } from '../registry/services';
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

/** Monitors evaluated in parallel. */
const PARALLEL = 4;

type Request = EvaluationRequest['evaluate'];

/**
 * Evaluates monitors of samples, each as a group of one rule. AWS bills the whole invocation. Its
 * time is charged to the tenants in proportion to the times that their monitors took.
 */
export async function evaluateMonitors(
  stores: MonitorStores,
  { evaluate: request }: EvaluationRequest,
): Promise<EvaluationAnswer> {
  const startedMs = performance.now();
  const elapsedMs = () => performance.now() - startedMs;
  const views = new Map<Id, Promise<TenantView>>();
  const took = new Map<Id, { readonly tenant: Tenant; readonly ms: number }>();
  const answer: GroupEvaluation[] = [];
  let size = 0;
  await mapLimited(request.groups, PARALLEL, async (ref) => {
    if (elapsedMs() > INVOCATION.beginMs || size > INVOCATION.maxAnswer) return;
    const { tenant: name, group } = ref;
    const beganMs = elapsedMs();
    let found: FoundMonitor | undefined;
    let outcome: Outcome;
    try {
      found = await findMonitor(stores, ref);
      outcome = await evaluate(stores, views, found, request, elapsedMs);
    } catch (error) {
      outcome = failed('a monitor could not be evaluated', ref, error);
    }
    answer.push({ tenant: name, group, ...outcome });
    if ('samples' in outcome)
      size += outcome.batches.reduce((sum, { length }) => sum + length, outcome.state?.length ?? 0);
    if (found === undefined) return;
    const { tenant } = found;
    const ms = (took.get(tenant.id)?.ms ?? 0) + elapsedMs() - beganMs;
    took.set(tenant.id, { tenant, ms });
  });
  const shares = [...took.values()];
  const sumMs = shares.reduce((sum, { ms }) => sum + ms, 0);
  const billedMs = elapsedMs();
  if (sumMs > 0)
    await Promise.all(shares.map(({ tenant, ms }) => stores.charge(tenant, (billedMs * ms) / sumMs)));
  return answer;
}

/** Data that a tenant's monitors share. */
interface TenantView extends AlertingView {
  readonly names: HostNames;
  readonly store: SampleStore;
}

async function viewOf(
  { hosts, hostNames, services, downtimes, samplesOf }: MonitorStores,
  tenant: Tenant,
  nowMs: number,
  elapsedMs: () => number,
): Promise<TenantView> {
  const [names, allServices, allDowntimes] = await Promise.all([
    hostNames(tenant.id),
    services.list(tenant.id),
    downtimes.list(tenant.id),
  ]);
  const samples = samplesOf(tenant);
  const registered = new Map(names.hosts.map((host) => [host.id, host]));
  return {
    names,
    hosts: registered,
    // The cached hosts may be seconds old and lack a newly registered host.
    isRetired: async (id) => !registered.has(id) && (await hosts.get(tenant.id, id))?.retiredAt !== null,
    services: allServices,
    downtimes: allDowntimes.filter((downtime) => holdsAt(downtime, nowMs)),
    store: new SharedReads(() => samples(Math.max(0, INVOCATION.queryMs - elapsedMs()))),
  };
}

async function evaluate(
  stores: MonitorStores,
  views: Map<Id, Promise<TenantView>>,
  found: FoundMonitor | undefined,
  request: Request,
  elapsedMs: () => number,
): Promise<Outcome> {
  if (found === undefined) return { outcome: 'gone' };
  const { tenant, monitor, state } = found;
  const reading = views.get(tenant.id) ?? viewOf(stores, tenant, request.nowMs, elapsedMs);
  views.set(tenant.id, reading);
  const view = await reading;
  if (monitor === undefined) return removeMonitor(tenant, state, view, request.nowMs);
  const tickMs = newestTick(found, request, stores.stage.ruleQueryOffset);
  if (tickMs === undefined) return { outcome: 'idle' };
  const query = { limits: stores.queryLimitsOf(tenant), isLate: () => elapsedMs() > INVOCATION.queryMs };
  const due = { ...found, tickMs };
  return advanceMonitor(due, await judge(stores, due, view, query), view);
}

async function judge(
  stores: MonitorStores,
  { tenant, monitor, state, tickMs }: DueMonitor,
  view: TenantView,
  query: QueryOptions,
): Promise<JudgedMonitor | { readonly error: string }> {
  const openKeys = (state?.tracks ?? []).map(({ key }) => key);
  try {
    return await judgeMonitor(monitor, state?.memory ?? {}, openKeys, {
      store: view.store,
      hosts: view.names.hosts,
      hasPosted: (hostId) => stores.hasPosted(tenant, hostId),
      query,
      nowMs: tickMs,
    });
  } catch (error) {
    const text = errorText(error);
    if (text !== undefined) return { error: text };
    log.error('samples of a monitor were not read', { id: monitor.id, error: error as Error });
    return { error: 'a store did not answer' };
  }
}

/**
 * Returns the reason why a monitor cannot be judged.
 *
 * @returns undefined when a store failed
 */
export function errorText(error: unknown): string | undefined {
  return error instanceof MonitorError || error instanceof RuleError || error instanceof ExpressionError
    ? error.message
    : undefined;
}
