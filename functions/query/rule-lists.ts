import { createHash } from 'node:crypto';
import type * as z from 'zod';
import { type SilenceTest, silenceTest } from '../../shared/alerting/delivery/silences';
import type { Alert } from '../../shared/alerting/rules/alert-state';
import { conditionOf } from '../../shared/alerting/rules/condition';
import { ruleNameOf } from '../../shared/alerting/rules/evaluate-rule';
import type { Rule } from '../../shared/alerting/rules/rule-document';
import { ruleGroupOf } from '../../shared/alerting/rules/rule-document';
import { formatFloat } from '../../shared/alerting/rules/template/format';
import {
  carryOver,
  type RuleGroupState,
  type StoredRule,
} from '../../shared/alerting/tasks/rule-group-state';
import { ruleGroupId, type StoredRuleGroup } from '../../shared/alerting/tasks/rule-groups';
import type { rulesQuery } from '../../shared/http/contract/rules';
import type { RouteHandlers } from '../../shared/http/handler';
import { HttpError } from '../../shared/http/http';
import { invalidParameter } from '../../shared/http/prometheus-parameters';
import { prometheusResponse } from '../../shared/http/prometheus-response';
import { type Labels, labelsOf } from '../../shared/model/labels';
import { seriesTest } from '../../shared/model/matcher';
import { PromqlError } from '../../shared/promql/errors';
import { parseSelector } from '../../shared/promql/parser';
import type { Tenant } from '../../shared/tenancy/tenants';
import { receivers, ruleGroups, ruleStates, silences, stage } from './stores';

/** Evaluation time of a rule that has never been evaluated: Go's zero time, as in Prometheus' responses. */
const NEVER = '0001-01-01T00:00:00Z';

type RulesQuery = z.output<typeof rulesQuery>;

/**
 * Rules and alerts in Prometheus' format. A namespace corresponds to a file. The page needs fields that Prometheus does
 * not have: a rule's `condition` and `resolvedAlerts`, an alert's `firedAt`, `resolvedAt` and `silencedBy`, and a
 * group's `queryOffset`.
 */
export const ruleListHandlers: RouteHandlers = {
  'GET /prometheus/api/v1/rules': async ({ tenant, query }) => rules(tenant, query),

  'GET /prometheus/api/v1/alertmanagers': async ({ tenant }) => {
    const { alertmanagers } = await receivers.get(tenant.id);
    const activeAlertmanagers = alertmanagers.map(({ url }) => ({
      url: `${url.replace(/\/$/, '')}/api/v2/alerts`,
    }));
    return prometheusResponse(JSON.stringify({ activeAlertmanagers, droppedAlertmanagers: [] }));
  },

  'GET /prometheus/api/v1/alerts': async ({ tenant }) => {
    const [states, viewOf] = await Promise.all([ruleStates.list(tenant.id), alertViews(tenant)]);
    const alerts = [...states.values()]
      .flatMap(({ rules }) => rules.flatMap(({ alerts }) => alerts))
      .filter(isActive)
      .map(viewOf);
    return prometheusResponse(JSON.stringify({ alerts }));
  },
};

type AlertViewOf = (alert: Alert) => ReturnType<typeof alertView>;

async function alertViews({ id }: Tenant): Promise<AlertViewOf> {
  const silencesOfAlert = silenceTest(await silences.list(id), Date.now());
  return (alert) => alertView(alert, silencesOfAlert);
}

async function rules(tenant: Tenant, query: RulesQuery) {
  const { 'rule_group[]': names, 'file[]': files, group_limit: limit, group_next_token: token } = query;
  if (token && limit === undefined)
    throw invalidParameter('group_limit', 'group_limit needs to be set in order to paginate over the groups');
  const isWanted = ruleTest(query);
  const [stored, states, viewOf] = await Promise.all([
    ruleGroups.list(tenant.id),
    ruleStates.list(tenant.id),
    query.exclude_alerts === true ? undefined : alertViews(tenant),
  ]);
  const groups = stored
    .filter(({ namespace }) => files === undefined || files.includes(namespace))
    .filter(({ document }) => names === undefined || names.includes(document.name))
    .flatMap((each) => {
      const state = states.get(ruleGroupId(each.namespace, each.document.name));
      const view = ruleGroupView(each, state, viewOf, isWanted);
      return view.rules.length === 0 ? [] : [{ view, token: tokenOf(each) }];
    });
  const from = token ? groups.findIndex((each) => each.token === token) : 0;
  if (from < 0) throw invalidParameter('group_next_token', 'invalid group_next_token: no such group');
  const next = limit === undefined ? undefined : groups[from + limit];
  return prometheusResponse(
    JSON.stringify({
      groups: groups.slice(from, limit === undefined ? undefined : from + limit).map(({ view }) => view),
      ...(next && { groupNextToken: next.token }),
    }),
  );
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
      throw new HttpError(400, `error parsing match[]: ${error.message}`);
    }
  });
  return (rule, view) =>
    (type === undefined || type === 'all' || rule.kind === type) &&
    (names === undefined || names.includes(ruleNameOf(rule))) &&
    (tests === undefined || tests.some((test) => test(rule.labels))) &&
    (state === undefined || view.state === state) &&
    (health === undefined || view.health === health);
}

/**
 * @param viewOf converts an alert to its form in the response. If `viewOf` is undefined, the alerts of rules are omitted
 */
function ruleGroupView(
  { namespace, document }: StoredRuleGroup,
  state: RuleGroupState | undefined,
  viewOf: AlertViewOf | undefined,
  isWanted: RuleTest,
) {
  const ruleGroup = ruleGroupOf(document);
  const { rules: left } = carryOver(ruleGroup, state);
  const lastEvaluation = state === undefined ? NEVER : timeText(state.evaluatedMs);
  const rules = ruleGroup.rules
    .map((rule, i) => ({
      rule,
      view: ruleView(rule, ruleGroup.labels, left[i]!, lastEvaluation, viewOf),
    }))
    .filter(({ rule, view }) => isWanted({ ...rule, labels: ownLabels(rule, ruleGroup.labels) }, view))
    .map(({ view }) => view);
  return {
    name: ruleGroup.name,
    file: namespace,
    rules,
    interval: ruleGroup.intervalMs / 1000,
    limit: ruleGroup.limit,
    queryOffset: (ruleGroup.queryOffsetMs ?? stage.ruleQueryOffset) / 1000,
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
  viewOf: AlertViewOf | undefined,
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
    alerts: viewOf === undefined ? null : active.map(viewOf),
    ...(viewOf !== undefined && resolved.length > 0 && { resolvedAlerts: resolved.map(viewOf) }),
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
  silencesOfAlert: SilenceTest,
) {
  const { firedAtMs, keepFiringSinceMs, resolvedAtMs } = times;
  const silencedBy = silencesOfAlert(labels);
  return {
    labels: Object.fromEntries(labels),
    annotations: Object.fromEntries(annotations),
    state,
    activeAt: timeText(activeAtMs),
    ...(firedAtMs !== undefined && { firedAt: timeText(firedAtMs) }),
    ...(resolvedAtMs !== undefined && { resolvedAt: timeText(resolvedAtMs) }),
    ...(keepFiringSinceMs !== undefined && { keepFiringSince: timeText(keepFiringSinceMs) }),
    value: formatFloat(value, 'e', -1),
    ...(silencedBy.length > 0 && { silencedBy }),
  };
}

/** Formats a time in RFC 3339 without a zero fraction, as Go does. */
function timeText(ms: number): string {
  return new Date(ms)
    .toISOString()
    .replace(/\.?0*Z$/, 'Z')
    .replace(/:Z$/, ':00Z');
}
