import { ALERTMANAGER_PATH, type Api, PROMETHEUS_PATH, type PrometheusResponse } from './api';
import type { LabelMap } from './promql-results';

/** An alert of the API. Times are in RFC 3339. */
export interface Alert {
  /** The labels that identify the alert, including `alertname`. */
  readonly labels: LabelMap;
  readonly annotations: LabelMap;
  readonly state: 'pending' | 'firing' | 'resolved';
  /** When the expression first returned the alert. */
  readonly activeAt: string;
  readonly firedAt?: string;
  readonly resolvedAt?: string;
  /** When the expression stopped returning the alert. Present while `keepFiringFor` keeps the alert firing. */
  readonly keepFiringSince?: string;
  /** The value when the expression last returned the alert. */
  readonly value: string;
  /** Ids of the silences that cover the alert; absent if there are none. */
  readonly silencedBy?: readonly string[];
}

/** The condition of a rule's alerts. `query` returns the compared values, or the series that are missing. */
export type Condition =
  | { readonly kind: 'threshold'; readonly query: string; readonly op: string; readonly threshold: number }
  | { readonly kind: 'absence'; readonly query: string };

interface RuleBase {
  readonly name: string;
  readonly query: string;
  readonly labels: LabelMap;
  readonly health: 'ok' | 'err' | 'unknown';
  readonly lastError?: string;
  /** Duration of the last evaluation, in seconds. */
  readonly evaluationTime: number;
  readonly lastEvaluation: string;
}

export interface RecordingRule extends RuleBase {
  readonly type: 'recording';
}

export interface AlertingRule extends RuleBase {
  readonly type: 'alerting';
  readonly state: 'firing' | 'pending' | 'inactive' | 'unknown';
  /** How long the expression must return an alert before it fires, in seconds. */
  readonly duration: number;
  /** How long an alert keeps firing after the expression last returned it, in seconds. */
  readonly keepFiringFor: number;
  /** The condition of the rule; absent if it cannot be derived from the rule's expression. */
  readonly condition?: Condition;
  /** Pending and firing alerts. */
  readonly alerts: readonly Alert[];
  /** Alerts resolved in the last 15 minutes. */
  readonly resolvedAlerts?: readonly Alert[];
}

export type Rule = RecordingRule | AlertingRule;

export interface RuleGroup {
  readonly name: string;
  /** The rule group's namespace. */
  readonly file: string;
  readonly rules: readonly Rule[];
  /** Evaluation interval, in seconds. */
  readonly interval: number;
  /** The group's expressions are evaluated at the nominal time minus this offset, in seconds. */
  readonly queryOffset: number;
  /** Duration of the last evaluation, in seconds. */
  readonly evaluationTime: number;
  readonly lastEvaluation: string;
}

export interface Matcher {
  readonly name: string;
  readonly value: string;
  readonly isRegex: boolean;
  readonly isEqual: boolean;
}

/** A silence in the form of Alertmanager's API. */
export interface Silence {
  readonly id: string;
  readonly matchers: readonly Matcher[];
  readonly startsAt: string;
  readonly endsAt: string;
  readonly createdBy: string;
  readonly comment: string;
}

export type NewSilence = Omit<Silence, 'id'>;

export async function readRuleGroups(api: Api): Promise<readonly RuleGroup[]> {
  const { data } = await api.json<PrometheusResponse<{ groups: RuleGroup[] }>>(`${PROMETHEUS_PATH}/rules`);
  return data.groups;
}

export function readSilences(api: Api): Promise<readonly Silence[]> {
  return api.json<Silence[]>(`${ALERTMANAGER_PATH}/silences`);
}

/** @throws {ApiError} of kind `right` if the key may not write */
export async function createSilence(api: Api, silence: NewSilence): Promise<void> {
  await api.json(`${ALERTMANAGER_PATH}/silences`, silence);
}

/** @throws {ApiError} of kind `right` if the key may not write */
export function endSilence(api: Api, id: string): Promise<void> {
  return api.delete(`${ALERTMANAGER_PATH}/silence/${encodeURIComponent(id)}`);
}
