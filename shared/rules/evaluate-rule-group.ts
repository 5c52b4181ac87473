import type { Alert } from '../alerting/delivery/alert';
import { type Labels, labelsKey } from '../model/labels';
import { STALE_BITS } from '../promql/memory-store';
import { evaluateRule, type RuleContext, RuleError } from './evaluate-rule';
import type { RuleGroup } from './rule-document';

/** State of a rule after a tick. */
export interface RuleState {
  readonly alerts: readonly Alert[];
  /** Label sets of the samples that the rule wrote last. */
  readonly series: readonly Labels[];
  /** Reason why the last evaluation failed; undefined if it succeeded. */
  readonly lastError?: string;
  /** Duration of the last evaluation in ms; undefined without a clock. */
  readonly durationMs?: number;
}

export const NEW_RULE_STATE: RuleState = { alerts: [], series: [] };

/** A sample that a rule writes. Its value is a number, or the bits of a stale marker, which ends a series. */
export interface WrittenSample {
  readonly labels: Labels;
  readonly value: number | bigint;
}

/** Writes the samples of one rule in one tick. All have the timestamp `atMs`, a Unix time in ms. */
export type WriteSamples = (samples: readonly WrittenSample[], atMs: number) => void;

/**
 * Evaluates the rules of a rule group in one tick, in order.
 *
 * A rule that fails keeps its state and writes nothing. It does not write stale markers either, because it
 * cannot know which of its series have ended.
 *
 * @param states state of each rule after the previous tick
 * @param write receives each rule's samples immediately, so that queries of later rules see them
 * @returns state of each rule after this tick
 */
export async function evaluateRuleGroup(
  ruleGroup: RuleGroup,
  states: readonly RuleState[],
  context: RuleContext,
  write: WriteSamples,
): Promise<RuleState[]> {
  const next: RuleState[] = [];
  for (const [i, rule] of ruleGroup.rules.entries()) {
    const { alerts, series } = states[i] ?? NEW_RULE_STATE;
    const startedMs = context.clock?.() ?? 0;
    const took = () => (context.clock === undefined ? {} : { durationMs: context.clock() - startedMs });
    try {
      const outcome = await evaluateRule(ruleGroup, rule, alerts, context);
      const present = new Set(outcome.samples.map(({ labels }) => labelsKey(labels)));
      const ended = series
        .filter((labels) => !present.has(labelsKey(labels)))
        .map((labels) => ({ labels, value: STALE_BITS }));
      write([...outcome.samples, ...ended], context.tickMs - context.queryOffsetMs);
      next.push({ alerts: outcome.alerts, series: outcome.samples.map(({ labels }) => labels), ...took() });
    } catch (error) {
      if (!(error instanceof RuleError)) throw error;
      next.push({ alerts, series, lastError: error.message, ...took() });
    }
  }
  return next;
}
