import type { Labels } from '../../model/labels';

/**
 * An alert: one label set found by an alerting rule. Its labels, including `alertname`, are its identity.
 * Times are Unix times in ms, and always the tick of an evaluation, not the time at which the evaluation ran.
 */
export interface Alert {
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly state: 'pending' | 'firing' | 'resolved';
  /** The element's value when it was last present in the result. */
  readonly value: number;
  /** The tick in which the element was first found. */
  readonly activeAtMs: number;
  readonly firedAtMs?: number;
  readonly resolvedAtMs?: number;
  /**
   * The first tick at which the rule's query no longer returned the alert's series, while `keep_firing_for` keeps
   * the alert firing.
   */
  readonly keepFiringSinceMs?: number;
}

/** How long a resolved alert is remembered and reported, so that no receiver misses it, in ms. */
export const RESOLVED_RETENTION_MS = 15 * 60_000;

/** The alerts in the state of a rule group. The complete type is `RuleGroupState` in rules/rule-group-state.ts. */
export interface RuleGroupAlerts {
  readonly rules: readonly { readonly expr: string; readonly alerts: readonly Alert[] }[];
}
