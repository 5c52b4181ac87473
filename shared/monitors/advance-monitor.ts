import { encodeOutcome, encodeRemoval } from '../alerting/invocation';
import { dueTicks, type EvaluationTime } from '../alerting/tasks/due-ticks';
import type { Outcome, TaskRef } from '../alerting/tasks/evaluation';
import { notificationsPerBatch } from '../alerting/tasks/evaluator-store';
import type { Id } from '../model/id';
import type { SampleColumns } from '../model/sample-columns';
import { slicesOf } from '../model/slices';
import type { Tenant, Tenants } from '../tenancy/tenants';
import { type AlertBatch, type AlertEvent, eventOf, mayNotify } from './alert-event';
import type { Downtime } from './downtime';
import type { JudgedMonitor } from './judge-monitor';
import { DEFAULTS, isOfHosts, type Monitor } from './monitor';
import { type MonitorState, monitorIntervalOf } from './monitor-state';
import { concerns } from './scope';
import { type SubjectSources, subjectOf } from './subject';
import { type AlertTransition, advanceTrack, closing, type Track } from './tracks';

/** The stores that a monitor and its state are read from. */
export interface MonitorDocuments {
  readonly tenants: Pick<Tenants, 'get'>;
  readonly monitors: { get(tenantId: Id, id: string): Promise<Monitor | undefined> };
  readonly states: { get(tenantId: Id, monitorId: string): Promise<MonitorState | undefined> };
  readonly downtimes: { list(tenantId: Id): Promise<readonly Downtime[]> };
}

/** Data that all monitors of a tenant share during an evaluation. */
export interface AlertingView extends SubjectSources {
  /** Downtimes that are in effect now. */
  readonly downtimes: readonly Downtime[];
  readonly isRetired: (hostId: string) => Promise<boolean>;
}

/** A monitor with its state, or only the state that a removed monitor left behind. */
export type FoundMonitor = { readonly tenant: Tenant } & (
  | { readonly monitor: Monitor; readonly state: MonitorState | undefined }
  | { readonly monitor: undefined; readonly state: MonitorState }
);

/** A monitor with the tick that it is evaluated for, as Unix time in ms. */
export type DueMonitor = Extract<FoundMonitor, { monitor: Monitor }> & { readonly tickMs: number };

/**
 * Finds a monitor and its state.
 *
 * @returns undefined when neither exists
 */
export async function findMonitor(
  { tenants, monitors, states }: MonitorDocuments,
  ref: TaskRef,
): Promise<FoundMonitor | undefined> {
  const tenant = await tenants.get(ref.tenant);
  if (tenant === undefined) return undefined;
  const [monitor, state] = await Promise.all([
    monitors.get(tenant.id, ref.task),
    states.get(tenant.id, ref.task),
  ]);
  if (monitor !== undefined) return { tenant, monitor, state };
  return state && { tenant, monitor, state };
}

/**
 * Returns the newest due tick. As in Mackerel, only the newest samples are judged, so older ticks are never evaluated.
 */
export function newestTick(
  { monitor, state }: Extract<FoundMonitor, { monitor: Monitor }>,
  time: EvaluationTime,
  queryOffsetMs: number,
): number | undefined {
  const intervalMs = monitorIntervalOf(monitor);
  if (intervalMs === undefined) return undefined;
  return dueTicks({ intervalMs, queryOffsetMs }, state?.tickMs, time).ticks.at(-1);
}

/**
 * Applies the result of a monitor's evaluation to its alerts.
 *
 * @param judged the judgements, or the error that prevented them; after an error the alerts stay unchanged
 * @param series samples that the evaluation produces, such as response times
 */
export async function advanceMonitor(
  { tenant, monitor, state, tickMs }: DueMonitor,
  judged: JudgedMonitor | { readonly error: string },
  view: AlertingView,
  series: readonly SampleColumns[] = [],
): Promise<Outcome> {
  const lastError = 'error' in judged ? judged.error : undefined;
  const judgements = 'error' in judged ? NO_JUDGEMENTS : judged.judgements;
  const memory = 'error' in judged ? (state?.memory ?? {}) : judged.memory;
  const tick = { tenantId: tenant.id, monitor, tickMs };
  const { tracks, transitions } = await advanceTracks(tick, state?.tracks ?? [], judgements, view);
  const events = transitions.map((each) => {
    const isTold = mayNotify(monitor, view.hosts.get(each.key)) && each.trigger !== 'hostRetire';
    return eventOf(each, tickMs, isTold, subjectOf(monitor, each.key, view));
  });
  const next: MonitorState = {
    tickMs,
    monitor,
    tracks,
    memory,
    ...(lastError !== undefined && { lastError }),
  };
  return encodeOutcome({
    afterMs: state?.tickMs,
    tickMs,
    state: next,
    series,
    batches: batchesOf(tenant, monitor.id, tickMs, events),
    ticks: 1,
    skipped: 0,
    failing: lastError === undefined ? 0 : 1,
    hasMore: false,
  });
}

const NO_JUDGEMENTS: JudgedMonitor['judgements'] = new Map();

/** Applies a monitor's judgements to its tracks. */
export async function advanceTracks(
  {
    tenantId,
    monitor,
    tickMs,
  }: { readonly tenantId: Id; readonly monitor: Monitor; readonly tickMs: number },
  tracksBefore: readonly Track[],
  judgements: JudgedMonitor['judgements'],
  view: Pick<AlertingView, 'hosts' | 'downtimes' | 'isRetired'>,
): Promise<{ readonly tracks: Track[]; readonly transitions: AlertTransition[] }> {
  const before = new Map(tracksBefore.map((track) => [track.key, track]));
  const tracks: Track[] = [];
  const transitions: AlertTransition[] = [];
  for (const key of new Set([...before.keys(), ...judgements.keys()])) {
    if (isOfHosts(monitor) && before.has(key) && (await view.isRetired(key))) {
      const { alert } = before.get(key)!;
      if (alert !== undefined) transitions.push(closing(key, alert, 'hostRetire'));
      continue;
    }
    const { track, transition } = advanceTrack(key, before.get(key), judgements.get(key), {
      id: `${tenantId} ${monitor.id}`,
      maxCheckAttempts: attemptsOf(monitor),
      ...(monitor.notificationInterval != null && { repeatMs: monitor.notificationInterval * 60_000 }),
      nowMs: tickMs,
      isDown: isDown(view, monitor, key),
      opensAfterDowntime: monitor.type === 'connectivity',
    });
    if (track !== undefined) tracks.push(track);
    if (transition !== undefined) transitions.push(transition);
  }
  return { tracks, transitions };
}

function attemptsOf(monitor: Monitor): number {
  return ('maxCheckAttempts' in monitor ? monitor.maxCheckAttempts : undefined) ?? DEFAULTS.maxCheckAttempts;
}

function isDown(
  { downtimes, hosts }: Pick<AlertingView, 'downtimes' | 'hosts'>,
  monitor: Monitor,
  key: string,
): boolean {
  const subject = {
    monitorId: monitor.id,
    ...(isOfHosts(monitor) && { roles: hosts.get(key)?.roles ?? {} }),
    ...((monitor.type === 'service' || monitor.type === 'external') &&
      monitor.service && { service: monitor.service }),
  };
  return downtimes.some((downtime) => concerns(downtime, subject));
}

/** Closes the alerts of a removed monitor. */
export function removeMonitor(
  tenant: Tenant,
  state: MonitorState,
  view: SubjectSources,
  nowMs: number,
): Outcome {
  const { monitor, tracks } = state;
  const events = tracks.flatMap(({ key, alert }) =>
    alert === undefined
      ? []
      : [
          eventOf(
            closing(key, alert, 'monitorDelete'),
            nowMs,
            mayNotify(monitor, view.hosts.get(key)),
            subjectOf(monitor, key, view),
          ),
        ],
  );
  return encodeRemoval(state.tickMs, { series: [], batches: batchesOf(tenant, monitor.id, nowMs, events) });
}

function batchesOf(
  { name }: Tenant,
  monitorId: string,
  tickMs: number,
  events: readonly AlertEvent[],
): AlertBatch[] {
  return slicesOf(events, notificationsPerBatch(events.length, 1)).map((slice) => ({
    tenant: name,
    tickMs,
    monitorId,
    events: slice,
  }));
}
