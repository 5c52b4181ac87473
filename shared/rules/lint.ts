import { durationMs } from '../promql/durations';
import { PromqlError } from '../promql/errors';
import { printPromql } from '../promql/print';
import { childrenOf, type Expr, type Selector } from '../promql/syntax';
import { ALERT_SERIES, ruleIdentity, ruleNameOf } from './evaluate-rule';
import type { Rule, RuleGroup } from './rule-document';

/** Returns warnings about parts of a rule group that are valid but most likely mistakes. */
export function lintRuleGroup(ruleGroup: RuleGroup): string[] {
  const warnings: string[] = [];
  const seen = new Set<string>();
  for (const [i, rule] of ruleGroup.rules.entries()) {
    const warn = (message: string) =>
      warnings.push(
        `group ${JSON.stringify(ruleGroup.name)}, rule ${i + 1}, ${JSON.stringify(ruleNameOf(rule))}: ${message}`,
      );
    const identity = ruleIdentity(rule);
    if (seen.has(identity)) warn('another rule of the group has the same name and labels');
    seen.add(identity);
    for (const message of lintRule(rule, ruleGroup.intervalMs)) warn(message);
  }
  return warnings;
}

function lintRule(rule: Rule, intervalMs: number): string[] {
  const warnings: string[] = [];
  if (rule.kind === 'alerting') {
    for (const [name, text] of rule.labels)
      if (/\{\{[^}]*(\$value\b|\.Value\b)/.test(text))
        warnings.push(
          `the label ${JSON.stringify(name)} holds $value, so that each new value is a new alert; use an annotation`,
        );
    if (rule.forMs > 0 && rule.forMs < intervalMs)
      warnings.push(
        `for is ${rule.forMs / 1000} s, shorter than the group's interval of ${intervalMs / 1000} s: the alert fires one interval after it was found`,
      );
  }
  for (const rangeMs of rangesOf(rule.parsed, intervalMs))
    if (rangeMs < 2 * intervalMs)
      warnings.push(
        `a range of ${rangeMs / 1000} s is shorter than two intervals of ${intervalMs / 1000} s: one late sample leaves it without a result`,
      );
  return warnings;
}

/** Returns the lengths of all range selectors in an expression, in ms. */
function rangesOf(expr: Expr, intervalMs: number): number[] {
  const inner = childrenOf(expr).flatMap((child) => rangesOf(child, intervalMs));
  if (expr.kind !== 'range') return inner;
  try {
    return [durationMs(expr.range, { stepMs: intervalMs, rangeMs: 0 }), ...inner];
  } catch (error) {
    if (error instanceof PromqlError) return inner;
    throw error;
  }
}

/**
 * Returns the selectors in the rules of the rule groups, as text, except selectors of series that these rule groups
 * record.
 */
export function selectorsOf(ruleGroups: readonly RuleGroup[]): Set<string> {
  const rules = ruleGroups.flatMap((ruleGroup) => ruleGroup.rules);
  const recorded = new Set([
    ...ALERT_SERIES,
    ...rules.flatMap((rule) => (rule.kind === 'recording' ? [ruleNameOf(rule)] : [])),
  ]);
  return new Set(
    rules
      .flatMap(({ parsed }) => selectorsIn(parsed))
      .filter(({ name }) => name === undefined || !recorded.has(name))
      // Leave out the offset of a selector, since series are looked up without one.
      .map(({ kind, start, end, matchers, name }) =>
        printPromql({ kind, start, end, matchers, ...(name !== undefined && { name }) }),
      ),
  );
}

function selectorsIn(expr: Expr): Selector[] {
  return expr.kind === 'selector' ? [expr] : childrenOf(expr).flatMap(selectorsIn);
}
