import { type Labels, labelsKey, labelValue } from '../model/labels';
import { slicesOf } from '../model/slices';
import { type Alert, RESOLVED_RETENTION_MS } from './alert-state';
import type { GroupState } from './group-state';
import type { Notification, NotificationBatch } from './notification';

/** Time until an Alertmanager ends a firing alert that is not reported again, in ms. */
export const FIRING_MS = 4 * 60_000;
/** Most alerts in one request to an Alertmanager. */
const MAX_ALERTS = 256;
const NO_TIME = '0001-01-01T00:00:00Z';

/** Body of a request to an Alertmanager. */
export interface AlertmanagerBody {
  readonly json: string;
  /** Keys of its alerts, each including the alert's state. */
  readonly keys: readonly string[];
}

/**
 * Returns the bodies of requests to an Alertmanager. They report all firing alerts and those that ended in
 * the last 15 minutes, because an Alertmanager has no durable memory.
 *
 * @param externalUrl the address of this service, without a trailing slash
 * @param isDue whether to report an alert now, given its key
 * @see https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml
 */
export function alertmanagerBodies(
  states: Iterable<GroupState>,
  nowMs: number,
  externalUrl: string,
  isDue: (key: string) => boolean,
): AlertmanagerBody[] {
  const due: { key: string; alert: object }[] = [];
  for (const { rules } of states)
    for (const { alerts, expr } of rules)
      for (const alert of alerts) {
        const key = `${labelsKey(alert.labels)} ${alert.state} ${alert.resolvedAtMs ?? alert.firedAtMs}`;
        if (isTold(alert, nowMs) && isDue(key))
          due.push({ key, alert: postable(alert, expr, nowMs, externalUrl) });
      }
  return slicesOf(due, MAX_ALERTS).map((slice) => ({
    json: JSON.stringify(slice.map(({ alert }) => alert)),
    keys: slice.map(({ key }) => key),
  }));
}

function isTold({ state, resolvedAtMs }: Alert, nowMs: number): boolean {
  return state === 'firing' || (state === 'resolved' && nowMs - resolvedAtMs! <= RESOLVED_RETENTION_MS);
}

function postable(alert: Alert, expr: string, nowMs: number, externalUrl: string): object {
  const { labels, annotations, firedAtMs, resolvedAtMs } = alert;
  return {
    labels: plain(labels),
    annotations: plain(annotations),
    startsAt: timeText(firedAtMs!),
    endsAt: timeText(resolvedAtMs ?? nowMs + FIRING_MS),
    generatorURL: graphUrl(externalUrl, expr),
  };
}

/**
 * Returns the body of a request to a webhook, in Alertmanager's format, version 4. In addition, each alert
 * has the field `id`: a receiver may drop one that it has seen.
 *
 * @see https://prometheus.io/docs/alerting/latest/configuration/#webhook_config
 */
export function webhookBody(batch: NotificationBatch, externalUrl: string): string {
  const { namespace, group, notifications, isLate, tickMs } = batch;
  const groupLabels = { namespace, group };
  const [first] = notifications;
  const common = (of: (each: Notification) => Labels) =>
    plain(
      of(first!).filter(([name, value]) =>
        notifications.every((each) => labelValue(of(each), name) === value),
      ),
    );
  return JSON.stringify({
    version: '4',
    groupKey: `{}:{namespace=${JSON.stringify(namespace)}, group=${JSON.stringify(group)}}`,
    truncatedAlerts: 0,
    status: notifications.some(({ state }) => state === 'firing') ? 'firing' : 'resolved',
    receiver: 'webhook',
    groupLabels,
    commonLabels: common(({ labels }) => labels),
    commonAnnotations: common(({ annotations }) => annotations),
    externalURL: externalUrl,
    evaluatedAt: timeText(tickMs),
    isLate,
    alerts: notifications.map(
      ({ id, state, labels, annotations, firedAtMs, resolvedAtMs, expr, reason }) => ({
        id,
        status: state,
        labels: plain(labels),
        annotations: plain(annotations),
        startsAt: timeText(firedAtMs),
        endsAt: resolvedAtMs === undefined ? NO_TIME : timeText(resolvedAtMs),
        generatorURL: graphUrl(externalUrl, expr),
        fingerprint: id,
        ...(reason !== undefined && { reason }),
      }),
    ),
  });
}

/** Replaces characters of label names that Alertmanagers before 0.27 refuse. */
function plain(labels: Labels): Record<string, string> {
  return Object.fromEntries(
    labels.map(([name, value]) => [name.replace(/[^a-zA-Z0-9_]/g, '_').replace(/^(?=\d)/, '_'), value]),
  );
}

export function graphUrl(externalUrl: string, expr: string): string {
  return `${externalUrl}/graph?g0.expr=${encodeURIComponent(expr)}&g0.tab=1`;
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
