import { ALERTMANAGER_PATH, type Api, PROMETHEUS_PATH, type PrometheusAnswer } from './api';
import type { LabelMap } from './promql-answers';

/** An alert as the API lists it. Times are RFC 3339. */
export interface Alert {
  /** The alert's identity, `alertname` included. */
  readonly labels: LabelMap;
  readonly annotations: LabelMap;
  readonly state: 'pending' | 'firing' | 'resolved';
  /** When the expression found it first. */
  readonly activeAt: string;
  readonly firedAt?: string;
  readonly resolvedAt?: string;
  /** When the expression found it no more, while `keepFiringFor` holds it. */
  readonly keepFiringSince?: string;
  /** The value when the expression found it last. */
  readonly value: string;
  /** Ids of the silences that keep it quiet; absent where there is none. */
  readonly silencedBy?: readonly string[];
}

/** What raises the alerts of a rule; `query` gives the values, or the series that are missing. */
export type Condition =
  | { readonly kind: 'threshold'; readonly query: string; readonly op: string; readonly threshold: number }
  | { readonly kind: 'absence'; readonly query: string };

interface RuleBase {
  readonly name: string;
  readonly query: string;
  readonly labels: LabelMap;
  readonly health: 'ok' | 'err' | 'unknown';
  readonly lastError?: string;
  /** Seconds. */
  readonly evaluationTime: number;
  readonly lastEvaluation: string;
}

export interface RecordingRule extends RuleBase {
  readonly type: 'recording';
}

export interface AlertingRule extends RuleBase {
  readonly type: 'alerting';
  readonly state: 'firing' | 'pending' | 'inactive' | 'unknown';
  /** How long the expression must find an alert before it fires, in seconds. */
  readonly duration: number;
  /** How long an alert fires on after the expression found it last, in seconds. */
  readonly keepFiringFor: number;
  /** Absent where the expression does not say it plainly. */
  readonly condition?: Condition;
  /** Pending and firing ones. */
  readonly alerts: readonly Alert[];
  /** Those of the last 15 minutes. */
  readonly resolvedAlerts?: readonly Alert[];
}

export type Rule = RecordingRule | AlertingRule;

export interface RuleGroup {
  readonly name: string;
  /** The namespace. */
  readonly file: string;
  readonly rules: readonly Rule[];
  /** Seconds. */
  readonly interval: number;
  /** How far before its time an evaluation reads, in seconds. */
  readonly queryOffset: number;
  /** Seconds. */
  readonly evaluationTime: number;
  readonly lastEvaluation: string;
}

export interface Matcher {
  readonly name: string;
  readonly value: string;
  readonly isRegex: boolean;
  readonly isEqual: boolean;
}

/** A silence as Alertmanager's API has it. */
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
  const { data } = await api.json<PrometheusAnswer<{ groups: RuleGroup[] }>>(`${PROMETHEUS_PATH}/rules`);
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
