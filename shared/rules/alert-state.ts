import { type Alert, RESOLVED_RETENTION_MS } from '../alerting/delivery/alert';
import { labelsKey } from '../model/labels';

/** One element of an alerting rule's result in one tick, with expanded labels and annotations. */
export type FoundAlert = Pick<Alert, 'labels' | 'annotations' | 'value'>;

/** The durations in a rule that determine the states of its alerts. */
export interface AlertTiming {
  readonly forMs: number;
  readonly keepFiringForMs: number;
}

/**
 * Advances the alerts of a rule by one tick. The function is pure, so a tick that is evaluated late gives the same
 * result as one that is evaluated on time.
 *
 * @param alerts alerts after the previous tick
 * @param found elements of the rule's result in this tick; their label sets are distinct
 * @returns alerts after this tick: pending, firing, and those resolved in the last 15 minutes
 */
export function advanceAlerts(
  alerts: readonly Alert[],
  found: readonly FoundAlert[],
  tickMs: number,
  timing: AlertTiming,
): Alert[] {
  const present = new Map(found.map((each) => [labelsKey(each.labels), each]));
  const next: Alert[] = [];
  for (const known of alerts) {
    const alert = notAfter(known, tickMs);
    const key = labelsKey(alert.labels);
    const element = present.get(key);
    if (element === undefined) {
      const rest = withoutElement(alert, tickMs, timing);
      if (rest !== undefined) next.push(rest);
    } else if (alert.state !== 'resolved') {
      present.delete(key);
      next.push(withElement(alert, element, tickMs, timing));
    }
    // If the element of a resolved alert is back, the code below starts a new, pending alert.
  }
  for (const element of present.values())
    next.push(withElement({ ...element, state: 'pending', activeAtMs: tickMs }, element, tickMs, timing));
  return next;
}

/**
 * Returns an alert whose times are not later than a tick. If an evaluator's clock was wrong, its tick may
 * have been in the future. Without this correction, a pending alert would not fire, and a resolved alert
 * would be kept and reported, until that time.
 */
function notAfter(alert: Alert, tickMs: number): Alert {
  const { activeAtMs, resolvedAtMs, keepFiringSinceMs } = alert;
  if (Math.max(activeAtMs, resolvedAtMs ?? 0, keepFiringSinceMs ?? 0) <= tickMs) return alert;
  return {
    ...alert,
    activeAtMs: Math.min(activeAtMs, tickMs),
    ...(resolvedAtMs !== undefined && { resolvedAtMs: Math.min(resolvedAtMs, tickMs) }),
    ...(keepFiringSinceMs !== undefined && { keepFiringSinceMs: Math.min(keepFiringSinceMs, tickMs) }),
  };
}

/** Returns the next state of an alert whose element is present. */
function withElement(
  { keepFiringSinceMs: _, ...alert }: Alert,
  { value, annotations }: FoundAlert,
  tickMs: number,
  { forMs }: AlertTiming,
): Alert {
  const isDue = tickMs - alert.activeAtMs >= forMs;
  // If `for` was raised, a firing alert becomes pending again.
  if (!isDue) {
    const { firedAtMs: _, ...rest } = alert;
    return { ...rest, value, annotations, state: 'pending' };
  }
  return { ...alert, value, annotations, state: 'firing', firedAtMs: alert.firedAtMs ?? tickMs };
}

/** Returns the next state of an alert whose element is absent; undefined if the alert should be forgotten. */
function withoutElement(
  alert: Alert,
  tickMs: number,
  { forMs, keepFiringForMs }: AlertTiming,
): Alert | undefined {
  if (alert.state === 'pending') return undefined;
  if (alert.state === 'resolved')
    return tickMs - alert.resolvedAtMs! > RESOLVED_RETENTION_MS ? undefined : alert;
  const keepFiringSinceMs = alert.keepFiringSinceMs ?? tickMs;
  if (keepFiringForMs > 0 && tickMs - keepFiringSinceMs < keepFiringForMs) {
    if (tickMs - alert.activeAtMs >= forMs) return { ...alert, keepFiringSinceMs };
    const { firedAtMs: _, keepFiringSinceMs: __, ...rest } = alert;
    return { ...rest, state: 'pending' };
  }
  const { keepFiringSinceMs: _, ...rest } = alert;
  return { ...rest, state: 'resolved', resolvedAtMs: tickMs };
}
