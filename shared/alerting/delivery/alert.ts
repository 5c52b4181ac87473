import type { Labels } from '../../model/labels';

/**
 * An alert: one label set that the query of an alerting rule returned. The labels, including `alertname`, identify it.
 * All times are Unix times in ms. Each is the tick of an evaluation, which is the time at which the evaluation was due,
 * not the time at which it ran.
 */
export interface Alert {
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly state: 'pending' | 'firing' | 'resolved';
  /** The value of the label set when the query last returned it. */
  readonly value: number;
  /** The tick at which the rule's query first returned the label set. */
  readonly activeAtMs: number;
  readonly firedAtMs?: number;
  readonly resolvedAtMs?: number;
  /**
   * The first tick at which the rule's query no longer returned the alert's series, while `keep_firing_for` keeps
   * the alert firing.
   */
  readonly keepFiringSinceMs?: number;
}

/** How long, in ms, a resolved alert is kept and listed, so that no receiver misses its end. */
export const RESOLVED_RETENTION_MS = 15 * 60_000;

/** The alerts in the state of a rule group. The complete type is `RuleGroupState` in rules/rule-group-state.ts. */
export interface RuleGroupAlerts {
  readonly rules: readonly { readonly expr: string; readonly alerts: readonly Alert[] }[];
}
