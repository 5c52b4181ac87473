import { type Labels, labelsKey } from '../model/labels';

/**
 * An alert: one label set that an alerting rule found. The labels, `alertname` included, are its identity. Times are ms
 * since epoch, and always the slot of an evaluation, never the time at which it ran.
 */
export interface Alert {
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly state: 'pending' | 'firing' | 'resolved';
  /** The value of the element when it was last there. */
  readonly value: number;
  /** The slot in which the element was found first. */
  readonly activeAtMs: number;
  readonly firedAtMs?: number;
  readonly resolvedAtMs?: number;
  /** The first slot without the element, while the rule's `keep_firing_for` holds the alert. */
  readonly keepFiringSinceMs?: number;
}

/** What an alerting rule found in one slot: the labels of the alert, expanded. */
export type FoundAlert = Pick<Alert, 'labels' | 'annotations' | 'value'>;

/** The durations of a rule that decide over its alerts. */
export interface AlertTiming {
  readonly forMs: number;
  readonly keepFiringForMs: number;
}

/** A resolved alert is remembered for so long, and reported again, so that no receiver misses it. ms. */
export const RESOLVED_RETENTION_MS = 15 * 60_000;

/**
 * Advances the alerts of a rule by one slot. A pure function, so that a slot that is evaluated late has the same outcome
 * as on time.
 *
 * @param alerts the alerts after the slot before
 * @param found what the rule found in this slot; each label set once
 * @returns the alerts after this slot: pending, firing, and those resolved in the last 15 minutes
 */
export function advanceAlerts(
  alerts: readonly Alert[],
  found: readonly FoundAlert[],
  slotMs: number,
  timing: AlertTiming,
): Alert[] {
  const present = new Map(found.map((each) => [labelsKey(each.labels), each]));
  const next: Alert[] = [];
  for (const alert of alerts) {
    const key = labelsKey(alert.labels);
    const element = present.get(key);
    if (element === undefined) {
      const rest = withoutElement(alert, slotMs, timing);
      if (rest !== undefined) next.push(rest);
    } else if (alert.state !== 'resolved') {
      present.delete(key);
      next.push(withElement(alert, element, slotMs, timing));
    }
    // A resolved alert whose element is back starts anew, below.
  }
  for (const element of present.values())
    next.push(withElement({ ...element, state: 'pending', activeAtMs: slotMs }, element, slotMs, timing));
  return next;
}

/** An alert whose element is there. */
function withElement(
  { keepFiringSinceMs: _, ...alert }: Alert,
  { value, annotations }: FoundAlert,
  slotMs: number,
  { forMs }: AlertTiming,
): Alert {
  const isDue = slotMs - alert.activeAtMs >= forMs;
  // A longer `for` makes a firing alert pending again.
  if (!isDue) {
    const { firedAtMs: _, ...rest } = alert;
    return { ...rest, value, annotations, state: 'pending' };
  }
  return { ...alert, value, annotations, state: 'firing', firedAtMs: alert.firedAtMs ?? slotMs };
}

/** An alert whose element is gone. Returns undefined when it is to be forgotten. */
function withoutElement(
  alert: Alert,
  slotMs: number,
  { forMs, keepFiringForMs }: AlertTiming,
): Alert | undefined {
  if (alert.state === 'pending') return undefined;
  if (alert.state === 'resolved')
    return slotMs - alert.resolvedAtMs! > RESOLVED_RETENTION_MS ? undefined : alert;
  const keepFiringSinceMs = alert.keepFiringSinceMs ?? slotMs;
  if (keepFiringForMs > 0 && slotMs - keepFiringSinceMs < keepFiringForMs) {
    if (slotMs - alert.activeAtMs >= forMs) return { ...alert, keepFiringSinceMs };
    const { firedAtMs: _, keepFiringSinceMs: __, ...rest } = alert;
    return { ...rest, state: 'pending' };
  }
  const { keepFiringSinceMs: _, ...rest } = alert;
  return { ...rest, state: 'resolved', resolvedAtMs: slotMs };
}
