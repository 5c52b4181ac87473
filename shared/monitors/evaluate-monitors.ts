import { type DueSlots, dueSlots } from '../alerting/due-slots';
import { RuleError } from '../alerting/evaluate-rule';
import {
  base64,
  type EvaluationAnswer,
  type EvaluationRequest,
  type GroupEvaluation,
  INVOCATION,
  type Outcome,
} from '../alerting/evaluation';
import { encodeJson, MAX_STATE_BYTES } from '../alerting/group-state';
import { MAX_BATCHES } from '../alerting/rule-states';
import type { Id } from '../model/id';
import { partsOf } from '../model/parts';
import { mapLimited } from '../platform/concurrency';
import { log } from '../platform/log';
import type { RuntimeSettings } from '../platform/settings';
import type { QueryOptions } from '../promql/query';
import type { SampleStore, SelectedSamples } from '../promql/store';
import type { HostNames } from '../registry/host-labels';
import type { Hosts } from '../registry/hosts';
import type { Services } from '../registry/services';
import type { Tenant, Tenants } from '../tenancy/tenants';
import { type AlertBatch, type AlertEvent, eventOf, isToldOf } from './alert-event';
import type { Downtime } from './downtime';
import { concerns, holdsAt } from './downtime-times';
import { ExpressionError } from './expression';
import { type JudgedMonitor, judgeMonitor, MonitorError } from './judge-monitor';
import { DEFAULTS, isOfHosts, type Monitor } from './monitor';
import { intervalOf, type MonitorState } from './monitor-state';
import { type SubjectSources, subjectOf } from './subject';
import { type AlertTransition, advanceTrack, closing, type Track } from './tracks';

/** Stores that an evaluation of monitors reads. It writes nothing. */
export interface MonitorStores {
  readonly tenants: Pick<Tenants, 'get'>;
  readonly monitors: { get(tenantId: Id, id: string): Promise<Monitor | undefined> };
  readonly states: { get(tenantId: Id, monitorId: string): Promise<MonitorState | undefined> };
  readonly downtimes: { list(tenantId: Id): Promise<readonly Downtime[]> };
  readonly hosts: Pick<Hosts, 'get'>;
  readonly hostNames: (tenantId: Id) => Promise<HostNames>;
  readonly services: Pick<Services, 'list'>;
  /** Returns whether a host has ever posted a metric. */
  readonly hasPosted: (tenant: Tenant, hostId: string) => Promise<boolean>;
  /**
   * Returns, for a tenant, a function that creates a store for reads of at most `timeMs`. Reads with common
   * requests share them.
   */
  readonly samplesOf: (tenant: Tenant) => (timeMs: number) => SampleStore;
  readonly queryLimitsOf: (tenant: Tenant) => QueryOptions['limits'];
  readonly stage: Pick<RuntimeSettings, 'ruleQueryOffset'>;
}

/** Monitors evaluated in parallel. */
const PARALLEL = 4;
/** Most events in a batch. */
const MAX_BATCH = 200;

type Request = EvaluationRequest['evaluateRules'];
type Place = Request['groups'][number];

/**
 * Evaluates monitors, each as a group of one rule. If several slots are due, only the newest is evaluated: it
 * judges the newest points, and earlier points are never judged, as in Mackerel.
 */
export async function evaluateMonitors(
  stores: MonitorStores,
  { evaluateRules: request }: EvaluationRequest,
): Promise<EvaluationAnswer> {
  const startedMs = performance.now();
  const elapsedMs = () => performance.now() - startedMs;
  const views = new Map<Id, Promise<TenantView>>();
  const answer: GroupEvaluation[] = [];
  let size = 0;
  await mapLimited(request.groups, PARALLEL, async (place) => {
    if (elapsedMs() > INVOCATION.beginMs || size > INVOCATION.maxAnswer) return;
    const { tenant: name, group } = place;
    const outcome = await evaluate(stores, views, place, request, elapsedMs).catch(
      (error: unknown): Outcome => {
        log.error('a monitor could not be evaluated', { ...place, error: error as Error });
        return { outcome: 'failed', reason: (error as Error).message };
      },
    );
    answer.push({ tenant: name, group, ...outcome });
    if ('samples' in outcome)
      size += outcome.batches.reduce((sum, { length }) => sum + length, outcome.state?.length ?? 0);
  });
  return answer;
}

/** Data that a tenant's monitors share. */
interface TenantView extends SubjectSources {
  readonly names: HostNames;
  readonly downtimes: readonly Downtime[];
  readonly store: SampleStore;
}

async function viewOf(
  { hostNames, services, downtimes, samplesOf }: MonitorStores,
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
  return {
    names,
    hosts: new Map(names.hosts.map((host) => [host.id, host])),
    services: allServices,
    downtimes: allDowntimes.filter((downtime) => holdsAt(downtime, nowMs)),
    store: sharing(() => samples(Math.max(0, INVOCATION.queryMs - elapsedMs()))),
  };
}

/** Merges equal selections into one read. Each read has its own budget. */
function sharing(store: () => SampleStore): SampleStore {
  const reads = new Map<string, Promise<SelectedSamples>>();
  return {
    select: (matchers, range) => {
      const key = JSON.stringify([matchers, range]);
      const read = reads.get(key) ?? store().select(matchers, range);
      reads.set(key, read);
      return read;
    },
  };
}

async function evaluate(
  stores: MonitorStores,
  views: Map<Id, Promise<TenantView>>,
  place: Place,
  request: Request,
  elapsedMs: () => number,
): Promise<Outcome> {
  const tenant = await stores.tenants.get(place.tenant);
  if (tenant === undefined) return { outcome: 'gone' };
  const [monitor, state] = await Promise.all([
    stores.monitors.get(tenant.id, place.group),
    stores.states.get(tenant.id, place.group),
  ]);
  if (monitor === undefined && state === undefined) return { outcome: 'gone' };
  const reading = views.get(tenant.id) ?? viewOf(stores, tenant, request.nowMs, elapsedMs);
  views.set(tenant.id, reading);
  const view = await reading;
  if (monitor === undefined) return removed(tenant, state!, view, request.nowMs);
  const slotMs = newestSlot(monitor, state, request, stores.stage.ruleQueryOffset);
  if (slotMs === undefined) return { outcome: 'idle' };
  const query = { limits: stores.queryLimitsOf(tenant), isLate: () => elapsedMs() > INVOCATION.queryMs };
  return advance(stores, { tenant, monitor, state, view, slotMs, query });
}

function newestSlot(
  monitor: Monitor,
  state: MonitorState | undefined,
  time: Request,
  queryOffsetMs: number,
): number | undefined {
  const intervalMs = intervalOf(monitor);
  if (intervalMs === undefined) return undefined;
  const { slots }: DueSlots = dueSlots({ intervalMs, queryOffsetMs }, state?.slotMs, time);
  return slots.at(-1);
}

interface DueMonitor {
  readonly tenant: Tenant;
  readonly monitor: Monitor;
  readonly state: MonitorState | undefined;
  readonly view: TenantView;
  readonly slotMs: number;
  readonly query: QueryOptions;
}

async function advance(stores: MonitorStores, due: DueMonitor): Promise<Outcome> {
  const { tenant, monitor, state, view, slotMs, query } = due;
  const before = new Map((state?.tracks ?? []).map((track) => [track.key, track]));
  let judged: JudgedMonitor | undefined;
  let lastError: string | undefined;
  try {
    judged = await judgeMonitor(monitor, state?.memory ?? {}, [...before.keys()], {
      store: view.store,
      hosts: view.names.hosts,
      hasPosted: (hostId) => stores.hasPosted(tenant, hostId),
      query,
      nowMs: slotMs,
    });
  } catch (error) {
    lastError = errorText(error);
    if (lastError === undefined) {
      log.error('samples of a monitor were not read', { id: monitor.id, error: error as Error });
      lastError = 'a store did not answer';
    }
  }
  const judgements = judged?.judgements ?? new Map();
  const tracks: Track[] = [];
  const transitions: AlertTransition[] = [];
  for (const key of new Set([...before.keys(), ...judgements.keys()])) {
    if (isOfHosts(monitor) && before.has(key) && (await isRetired(stores, view, tenant, key))) {
      const { alert } = before.get(key)!;
      if (alert !== undefined) transitions.push(closing(key, alert, 'hostRetire'));
      continue;
    }
    const { track, transition } = advanceTrack(key, before.get(key), judgements.get(key), {
      id: `${tenant.id} ${monitor.id}`,
      maxCheckAttempts: attemptsOf(monitor),
      ...(monitor.notificationInterval != null && { repeatMs: monitor.notificationInterval * 60_000 }),
      nowMs: slotMs,
      isDown: isDown(view, monitor, key),
      opensAfterDowntime: monitor.type === 'connectivity',
    });
    if (track !== undefined) tracks.push(track);
    if (transition !== undefined) transitions.push(transition);
  }
  const events = transitions.map((each) => {
    const isTold = isToldOf(monitor, view.hosts.get(each.key)) && each.trigger !== 'hostRetire';
    return eventOf(each, slotMs, isTold, subjectOf(monitor, each.key, view));
  });
  const next: MonitorState = {
    slotMs,
    monitor,
    tracks,
    memory: judged?.memory ?? state?.memory ?? {},
    ...(lastError !== undefined && { lastError }),
  };
  const encoded = encodeJson(next);
  if (encoded.length > MAX_STATE_BYTES)
    throw new Error('the alerts of the monitor are more than an item of the table holds');
  return {
    outcome: 'evaluated',
    ...(state !== undefined && { afterMs: state.slotMs }),
    slotMs,
    state: base64(encoded),
    batches: batchesOf(tenant, monitor.id, slotMs, events),
    ...{ samples: [], slots: 1, skipped: 0, rules: 1, hasMore: false },
    failing: lastError === undefined ? 0 : 1,
  };
}

/**
 * @returns undefined when the error is the store's
 */
function errorText(error: unknown): string | undefined {
  return error instanceof MonitorError || error instanceof RuleError || error instanceof ExpressionError
    ? error.message
    : undefined;
}

async function isRetired(
  { hosts }: MonitorStores,
  view: TenantView,
  tenant: Tenant,
  hostId: string,
): Promise<boolean> {
  // The cached hosts may be seconds old and lack a newly registered host.
  return !view.hosts.has(hostId) && (await hosts.get(tenant.id, hostId))?.retiredAt !== null;
}

function attemptsOf(monitor: Monitor): number {
  return ('maxCheckAttempts' in monitor ? monitor.maxCheckAttempts : undefined) ?? DEFAULTS.maxCheckAttempts;
}

function isDown({ downtimes, hosts }: TenantView, monitor: Monitor, key: string): boolean {
  const subject = {
    monitorId: monitor.id,
    ...(isOfHosts(monitor) && { roles: hosts.get(key)?.roles ?? {} }),
    ...(monitor.type === 'service' && { service: monitor.service }),
  };
  return downtimes.some((downtime) => concerns(downtime, subject));
}

/** Closes the alerts of a removed monitor. */
function removed(tenant: Tenant, state: MonitorState, view: TenantView, nowMs: number): Outcome {
  const { monitor, tracks } = state;
  const events = tracks.flatMap(({ key, alert }) =>
    alert === undefined
      ? []
      : [
          eventOf(
            closing(key, alert, 'monitorDelete'),
            nowMs,
            isToldOf(monitor, view.hosts.get(key)),
            subjectOf(monitor, key, view),
          ),
        ],
  );
  return {
    outcome: 'removed',
    ...{ afterMs: state.slotMs, slotMs: state.slotMs, samples: [] },
    batches: batchesOf(tenant, monitor.id, nowMs, events),
    ...{ slots: 0, skipped: 0, rules: 0, failing: 0, hasMore: false },
  };
}

/**
 * Splits events into batches. Batches grow beyond {@link MAX_BATCH} if there would be too many for a commit.
 */
function batchesOf(
  { name }: Tenant,
  monitorId: string,
  slotMs: number,
  events: readonly AlertEvent[],
): string[] {
  const size = Math.max(MAX_BATCH, Math.ceil(events.length / MAX_BATCHES));
  return partsOf(events, size).map((part) => {
    const batch: AlertBatch = { tenant: name, slotMs, monitorId, events: part };
    return base64(encodeJson(batch));
  });
}
