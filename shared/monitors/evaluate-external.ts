import { failedOutcome, perTenant } from '../alerting/invocation';
import type { EvaluationRequest, EvaluationResponse, Outcome, TaskRef } from '../alerting/tasks/evaluation';
import { slicesOf } from '../model/slices';
import { mapLimited } from '../platform/concurrency';
import { log } from '../platform/log';
import type { Tenant } from '../tenancy/tenants';
import {
  type AlertingView,
  advanceMonitor,
  type DueMonitor,
  findMonitor,
  type MonitorDocuments,
  newestTick,
  removeMonitor,
} from './advance-monitor';
import { holdsAt } from './downtime-times';
import { judgeProbe, responseSamples } from './judge-probe';
import type { MonitorOf } from './monitor';
import type { Probe, ProbeRequest } from './probe';

export interface ExternalStores extends MonitorDocuments {
  /** Invokes the prober, which requests the URLs and returns the results in the same order. */
  readonly probe: (requests: readonly ProbeRequest[]) => Promise<readonly Probe[]>;
}

/** Number of documents read in parallel. */
const PARALLEL = 16;
/**
 * Maximum number of requests per invocation of the prober. Each is below 200 KB, and Lambda accepts events of
 * up to 6 MB.
 */
const MAX_REQUESTS = 25;

type DueExternal = DueMonitor & {
  readonly monitor: MonitorOf<'external'>;
  readonly view: AlertingView;
};

/** Evaluates monitors of external URLs. The prober is invoked only if a monitor is due. */
export async function evaluateExternal(
  stores: ExternalStores,
  { tasks, nowMs }: EvaluationRequest,
): Promise<EvaluationResponse> {
  const viewFor = perTenant((tenant) => viewOf(stores, tenant, nowMs));
  const found = await mapLimited(tasks, PARALLEL, (ref) =>
    findDue(stores, viewFor, ref, nowMs).catch((error: unknown) => failedOutcome(ref, error)),
  );
  const due = found.flatMap((each) => ('outcome' in each ? [] : [each]));
  const probes = new Map<DueExternal, Probe>();
  await Promise.all(
    slicesOf(due, MAX_REQUESTS).map(async (slice) => {
      try {
        const results = await stores.probe(slice.map(({ monitor }) => requestOf(monitor)));
        for (const [i, each] of slice.entries()) probes.set(each, results[i]!);
      } catch (error) {
        // If the invocation of the prober fails, nothing is known about the URLs.
        log.error('external URLs were not requested', { monitors: slice.length, error });
      }
    }),
  );
  return Promise.all(
    tasks.map(async (ref, i) => {
      const each = found[i]!;
      if ('outcome' in each) return { ...ref, ...each };
      const advanced = advance(each, probes.get(each));
      return { ...ref, ...(await advanced.catch((error: unknown) => failedOutcome(ref, error))) };
    }),
  );
}

async function findDue(
  stores: ExternalStores,
  viewFor: (tenant: Tenant) => Promise<AlertingView>,
  ref: TaskRef,
  nowMs: number,
): Promise<DueExternal | Outcome> {
  const found = await findMonitor(stores, ref);
  if (found === undefined) return { outcome: 'gone' };
  const { tenant, monitor, state } = found;
  if (monitor === undefined) return removeMonitor(tenant, state, NOTHING, nowMs);
  // The result of a request does not depend on samples, so the lag is 0.
  const tickMs = newestTick(found, { nowMs, lagMs: 0 }, 0);
  if (tickMs === undefined || monitor.type !== 'external') return { outcome: 'idle' };
  return { tenant, monitor, state, tickMs, view: await viewFor(tenant) };
}

/** The data that monitors of external URLs share: none, because their alerts concern no host or service. */
const NOTHING: AlertingView = {
  hosts: new Map(),
  services: [],
  downtimes: [],
  isRetired: async () => false,
};

async function viewOf({ downtimes }: ExternalStores, { id }: Tenant, nowMs: number): Promise<AlertingView> {
  const all = await downtimes.list(id);
  return { ...NOTHING, downtimes: all.filter((downtime) => holdsAt(downtime, nowMs)) };
}

function requestOf(monitor: MonitorOf<'external'>): ProbeRequest {
  const { url, method, headers, requestBody, containsString } = monitor;
  const { skipCertificateVerification, followRedirect, dualstack } = monitor;
  return {
    url,
    method,
    headers,
    requestBody,
    containsString,
    skipCertificateVerification,
    followRedirect,
    dualstack,
  };
}

async function advance(due: DueExternal, probe: Probe | undefined): Promise<Outcome> {
  const { monitor, state, tickMs, view } = due;
  if (probe === undefined) return advanceMonitor(due, { error: 'the prober did not answer' }, view);
  const { judgement, memory } = judgeProbe(monitor, state?.memory ?? {}, probe, tickMs);
  const judged = { judgements: new Map([['', judgement]]), memory };
  return advanceMonitor(due, judged, view, responseSamples(monitor, probe, tickMs));
}
