import { type Labels, labelsKey } from '../model/labels';
import type { Alert } from './alert-state';
import { evaluateRule, type InstantSample, type RuleContext, RuleError } from './evaluate-rule';
import type { RuleGroup } from './rule-file';

/** What one slot of a rule leaves to the next. */
export interface RuleState {
  readonly alerts: readonly Alert[];
  /** The label sets of the samples that the rule wrote last. */
  readonly series: readonly Labels[];
  /** Why the last evaluation failed; undefined when it did not. */
  readonly lastError?: string;
  /** How long the last evaluation took, ms; undefined where no clock is given. */
  readonly durationMs?: number;
}

export const NEW_RULE_STATE: RuleState = { alerts: [], series: [] };

/** The samples of one rule in one slot. */
export interface RuleSamples {
  readonly samples: readonly InstantSample[];
  /** Series that the rule wrote before and no longer yields: they get a stale marker. */
  readonly ended: readonly Labels[];
  /** Time of the samples and markers, ms since epoch. */
  readonly atMs: number;
}

/**
 * Evaluates the rules of a group in one slot, in their order.
 *
 * A rule that fails keeps its state and writes nothing, no stale markers either: nothing is known about its series.
 *
 * @param states the state of each rule after the slot before
 * @param write takes each rule's samples at once, so that the queries of later rules see them
 * @returns the state of each rule after this slot
 */
export async function evaluateGroup(
  group: RuleGroup,
  states: readonly RuleState[],
  context: RuleContext,
  write: (samples: RuleSamples) => void,
): Promise<RuleState[]> {
  const next: RuleState[] = [];
  for (const [i, rule] of group.rules.entries()) {
    const { alerts, series } = states[i] ?? NEW_RULE_STATE;
    const startedMs = context.clock?.() ?? 0;
    const took = () => (context.clock === undefined ? {} : { durationMs: context.clock() - startedMs });
    try {
      const outcome = await evaluateRule(group, rule, alerts, context);
      const present = new Set(outcome.samples.map(({ labels }) => labelsKey(labels)));
      const ended = series.filter((labels) => !present.has(labelsKey(labels)));
      write({ samples: outcome.samples, ended, atMs: context.slotMs - context.queryOffsetMs });
      next.push({ alerts: outcome.alerts, series: outcome.samples.map(({ labels }) => labels), ...took() });
    } catch (error) {
      if (!(error instanceof RuleError)) throw error;
      next.push({ alerts, series, lastError: error.message, ...took() });
    }
  }
  return next;
}
