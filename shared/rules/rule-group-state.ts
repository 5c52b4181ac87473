import { ruleIdentity } from './evaluate-rule';
import { NEW_RULE_STATE, type RuleState } from './evaluate-rule-group';
import type { RuleGroup } from './rule-document';
import type { ReportedAlert } from './transitions';

/** State of a rule after the last evaluated tick. */
export interface StoredRule extends RuleState {
  /** {@link ruleIdentity} */
  readonly identity: string;
  /**
   * Expression of an alerting rule. The notification that the alerts have ended needs the expression even after the
   * rule was removed.
   */
  readonly expr: string;
  /** The rule's alerts, as last reported to receivers. */
  readonly told: readonly ReportedAlert[];
}

/** State of a rule group after its last evaluated tick. */
export interface RuleGroupState {
  /** The newest completed tick, as Unix time in ms. */
  readonly tickMs: number;
  /** When the tick was evaluated (Unix time), and how long the evaluation took, both in ms. */
  readonly evaluatedMs: number;
  readonly durationMs: number;
  readonly queryOffsetMs: number;
  readonly rules: readonly StoredRule[];
}

/** A rule group's previous state, matched to its current rules. */
export interface CarriedState {
  /** State of each current rule of the rule group. */
  readonly rules: readonly StoredRule[];
  /** States of rules that the rule group no longer has. */
  readonly removed: readonly StoredRule[];
}

/** Finds each rule's previous state. Rules with the same identity are matched in order. */
export function carryOver(ruleGroup: RuleGroup, state: RuleGroupState | undefined): CarriedState {
  const left = new Map<string, StoredRule[]>();
  for (const each of state?.rules ?? []) left.set(each.identity, [...(left.get(each.identity) ?? []), each]);
  const rules = ruleGroup.rules.map((rule) => {
    const identity = ruleIdentity(rule);
    const former = left.get(identity)?.shift();
    return { ...(former ?? { ...NEW_RULE_STATE, told: [] }), identity, expr: rule.expr };
  });
  return { rules, removed: [...left.values()].flat() };
}
