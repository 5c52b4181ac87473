import { createHash } from 'node:crypto';
import type { Alert } from '../alerting/delivery/alert';
import type { SilenceTest } from '../alerting/delivery/silences';
import { type Labels, labelsOf } from '../model/labels';
import { seriesTest } from '../model/matcher';
import { PromqlError } from '../promql/errors';
import { parseSelector } from '../promql/parser';
import { RefusedError } from '../registry/refused';
import { conditionOf } from './condition';
import { ruleNameOf } from './evaluate-rule';
import { type Rule, ruleGroupOf } from './rule-document';
import { carryOver, type RuleGroupState, type StoredRule } from './rule-group-state';
import { ruleGroupId, type StoredRuleGroup } from './rule-groups';
import { formatFloat } from './template/format';

/** Evaluation time of a rule that has never been evaluated: Go's zero time, as in Prometheus' responses. */
const NEVER = '0001-01-01T00:00:00Z';

/** States of rule groups by {@link ruleGroupId}. */
type RuleGroupStates = ReadonlyMap<string, RuleGroupState>;

/** Selects rules and a page of their groups, with Prometheus' parameters. An absent parameter selects all. */
export interface RulesQuery {
  readonly type?: 'all' | Rule['kind'] | undefined;
  readonly 'rule_name[]'?: readonly string[] | undefined;
  readonly 'rule_group[]'?: readonly string[] | undefined;
  readonly 'file[]'?: readonly string[] | undefined;
  readonly 'match[]'?: readonly string[] | undefined;
  readonly state?: string | undefined;
  readonly health?: string | undefined;
  readonly group_limit?: number | undefined;
  readonly group_next_token?: string | undefined;
}

/**
 * Lists rule groups in Prometheus' format, a page at a time. A namespace corresponds to a file. For this
 * project's web page, the format adds fields that Prometheus does not have: a rule's `condition` and
 * `resolvedAlerts`, an alert's `firedAt`, `resolvedAt` and `silencedBy`, and a group's `queryOffset`.
 *
 * @param silencedBy finds the silences that hold back an alert; undefined to omit the alerts of rules
 * @param queryOffsetMs query offset of groups that do not set one
 * @throws {RefusedError} when a selector or the token is invalid
 */
export function rulesPage(
  query: RulesQuery,
  stored: readonly StoredRuleGroup[],
  states: RuleGroupStates,
  silencedBy: SilenceTest | undefined,
  queryOffsetMs: number,
) {
  const { 'rule_group[]': names, 'file[]': files, group_limit: limit, group_next_token: token } = query;
  if (token && limit === undefined)
    throw new RefusedError(
      'invalid parameter "group_limit": group_limit needs to be set in order to paginate over the groups',
    );
  const isWanted = ruleTest(query);
  const groups = stored
    .filter(({ namespace }) => files === undefined || files.includes(namespace))
    .filter(({ document }) => names === undefined || names.includes(document.name))
    .flatMap((each) => {
      const state = states.get(ruleGroupId(each.namespace, each.document.name));
      const view = ruleGroupView(each, state, silencedBy, queryOffsetMs, isWanted);
      return view.rules.length === 0 ? [] : [{ view, token: tokenOf(each) }];
    });
  const from = token ? groups.findIndex((each) => each.token === token) : 0;
  if (from < 0)
    throw new RefusedError('invalid parameter "group_next_token": invalid group_next_token: no such group');
  const end = limit === undefined ? groups.length : from + limit;
  const next = groups[end];
  return {
    groups: groups.slice(from, end).map(({ view }) => view),
    ...(next && { groupNextToken: next.token }),
  };
}

/** Lists pending and firing alerts in Prometheus' format. */
export function activeAlerts(states: RuleGroupStates, silencedBy: SilenceTest) {
  return [...states.values()]
    .flatMap(({ rules }) => rules.flatMap(({ alerts }) => alerts))
    .filter(isActive)
    .map((alert) => alertView(alert, silencedBy));
}

function tokenOf({ namespace, document }: StoredRuleGroup): string {
  return createHash('sha256').update(`${namespace};${document.name}`).digest('hex');
}

type RuleTest = (rule: Rule, view: { readonly state?: string; readonly health: string }) => boolean;

function ruleTest({ type, 'rule_name[]': names, 'match[]': matches, state, health }: RulesQuery): RuleTest {
  const tests = matches?.map((text) => {
    try {
      return seriesTest(parseSelector(text).matchers);
    } catch (error) {
      if (!(error instanceof PromqlError)) throw error;
      throw new RefusedError(`error parsing match[]: ${error.message}`);
    }
  });
  return (rule, view) =>
    (type === undefined || type === 'all' || rule.kind === type) &&
    (names === undefined || names.includes(ruleNameOf(rule))) &&
    (tests === undefined || tests.some((test) => test(rule.labels))) &&
    (state === undefined || view.state === state) &&
    (health === undefined || view.health === health);
}

function ruleGroupView(
  { namespace, document }: StoredRuleGroup,
  state: RuleGroupState | undefined,
  silencedBy: SilenceTest | undefined,
  queryOffsetMs: number,
  isWanted: RuleTest,
) {
  const ruleGroup = ruleGroupOf(document);
  const { rules: left } = carryOver(ruleGroup, state);
  const lastEvaluation = state === undefined ? NEVER : timeText(state.evaluatedMs);
  const rules = ruleGroup.rules
    .map((rule, i) => ({
      rule,
      view: ruleView(rule, ruleGroup.labels, left[i]!, lastEvaluation, silencedBy),
    }))
    .filter(({ rule, view }) => isWanted({ ...rule, labels: ownLabels(rule, ruleGroup.labels) }, view))
    .map(({ view }) => view);
  return {
    name: ruleGroup.name,
    file: namespace,
    rules,
    interval: ruleGroup.intervalMs / 1000,
    limit: ruleGroup.limit,
    queryOffset: (ruleGroup.queryOffsetMs ?? queryOffsetMs) / 1000,
    evaluationTime: (state?.durationMs ?? 0) / 1000,
    lastEvaluation,
  };
}

function ownLabels({ labels }: Rule, ofGroup: Labels): Labels {
  return labelsOf(...new Map([...ofGroup, ...labels]));
}

function ruleView(
  rule: Rule,
  ofGroup: Labels,
  { alerts, lastError, durationMs }: StoredRule,
  groupEvaluation: string,
  silencedBy: SilenceTest | undefined,
) {
  const isNew = durationMs === undefined;
  const common = {
    name: ruleNameOf(rule),
    query: rule.expr,
    labels: Object.fromEntries(ownLabels(rule, ofGroup)),
    health: isNew ? 'unknown' : lastError === undefined ? 'ok' : 'err',
    ...(lastError !== undefined && { lastError }),
    evaluationTime: (durationMs ?? 0) / 1000,
    lastEvaluation: isNew ? NEVER : groupEvaluation,
  };
  if (rule.kind === 'recording') return { ...common, type: 'recording' as const };
  const active = alerts.filter(isActive);
  const resolved = alerts.filter((alert) => !isActive(alert));
  const condition = conditionOf(rule.parsed, rule.expr);
  return {
    state: isNew ? 'unknown' : stateOf(active),
    ...common,
    duration: rule.forMs / 1000,
    keepFiringFor: rule.keepFiringForMs / 1000,
    annotations: Object.fromEntries(rule.annotations),
    ...(condition !== undefined && { condition }),
    alerts: silencedBy === undefined ? null : active.map((alert) => alertView(alert, silencedBy)),
    ...(silencedBy !== undefined &&
      resolved.length > 0 && { resolvedAlerts: resolved.map((alert) => alertView(alert, silencedBy)) }),
    type: 'alerting' as const,
  };
}

function isActive({ state }: Alert): boolean {
  return state !== 'resolved';
}

function stateOf(active: readonly Alert[]): string {
  if (active.length === 0) return 'inactive';
  return active.some(({ state }) => state === 'firing') ? 'firing' : 'pending';
}

function alertView(
  { labels, annotations, state, value, activeAtMs, ...times }: Alert,
  silencedBy: SilenceTest,
) {
  const { firedAtMs, keepFiringSinceMs, resolvedAtMs } = times;
  const silences = silencedBy(labels);
  return {
    labels: Object.fromEntries(labels),
    annotations: Object.fromEntries(annotations),
    state,
    activeAt: timeText(activeAtMs),
    ...(firedAtMs !== undefined && { firedAt: timeText(firedAtMs) }),
    ...(resolvedAtMs !== undefined && { resolvedAt: timeText(resolvedAtMs) }),
    ...(keepFiringSinceMs !== undefined && { keepFiringSince: timeText(keepFiringSinceMs) }),
    value: formatFloat(value, 'e', -1),
    ...(silences.length > 0 && { silencedBy: silences }),
  };
}

/** Formats a time in RFC 3339 without a zero fraction, as Go does. */
function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.?0*Z$/, 'Z');
}
