import type { Alert } from '../alerting/delivery/alert';
import { type Labels, labelsKey, labelValue, METRIC_NAME } from '../model/labels';
import { withLabels, withoutName } from '../promql/vectors';
import { advanceAlerts, type FoundAlert } from './alert-state';
import type { AlertingRule, RecordingRule, Rule, RuleGroup } from './rule-document';
import { expandAlertTemplate } from './template/expand';
import { TemplateError, TemplateSample } from './template/values';

/** A series' value at one time. */
export interface InstantSample {
  readonly labels: Labels;
  readonly value: number;
}

/** The evaluation of a rule failed. Its state stays unchanged and it writes nothing. */
export class RuleError extends Error {
  override readonly name = 'RuleError';
}

export interface RuleContext {
  /** The time for which the rule is evaluated, as Unix time in ms. */
  readonly tickMs: number;
  /** The rule's expression is evaluated at the time of the tick minus this offset, in ms. */
  readonly queryOffsetMs: number;
  readonly externalLabels: Labels;
  readonly externalUrl: string;
  /**
   * Maximum number of pending and firing alerts of one rule.
   *
   * @default no limit
   */
  readonly maxAlerts?: number;
  /**
   * Clock in ms that times evaluations.
   *
   * @default evaluations are not timed
   */
  readonly clock?: () => number;
  /**
   * Evaluates an expression, whose result must be a vector or a scalar.
   *
   * @throws {RuleError} when the expression fails
   */
  readonly query: (expr: string, atMs: number) => Promise<readonly InstantSample[]>;
}

/** Result of a rule in one tick. */
export interface RuleOutcome {
  /** Samples to store. Their timestamp is the time at which the rule's expression was evaluated. */
  readonly samples: readonly InstantSample[];
  /** The rule's alerts after the tick; none for a recording rule. */
  readonly alerts: readonly Alert[];
}

/** Maximum number of queries that the templates of one rule may run in a tick. Identical queries count once. */
const MAX_TEMPLATE_QUERIES = 20;

/**
 * Evaluates a rule in one tick.
 *
 * @param alerts the rule's alerts after the previous tick
 * @throws {RuleError}
 * @see https://prometheus.io/docs/prometheus/latest/configuration/alerting_rules/
 */
export async function evaluateRule(
  ruleGroup: RuleGroup,
  rule: Rule,
  alerts: readonly Alert[],
  context: RuleContext,
): Promise<RuleOutcome> {
  const { tickMs, queryOffsetMs, query, maxAlerts = Infinity } = context;
  const elements = await query(rule.expr, tickMs - queryOffsetMs);
  const labels = new Map([...ruleGroup.labels, ...rule.labels]);
  if (rule.kind === 'recording') return { samples: record(ruleGroup, rule, labels, elements), alerts: [] };
  const found = await findAlerts(rule, labels, elements, context);
  const next = advanceAlerts(alerts, found, tickMs, rule);
  const active = next.filter(({ state }) => state !== 'resolved');
  if (ruleGroup.limit > 0 && active.length > ruleGroup.limit)
    throw new RuleError(`exceeded limit of ${ruleGroup.limit} with ${active.length} alerts`);
  if (active.length > maxAlerts)
    throw new RuleError(
      `the tenant's limit alertsPerRule of ${maxAlerts} is exceeded: ${active.length} alerts`,
    );
  return { samples: active.flatMap(samplesOf), alerts: next };
}

function record(
  { limit }: RuleGroup,
  rule: RecordingRule,
  labels: ReadonlyMap<string, string>,
  elements: readonly InstantSample[],
): InstantSample[] {
  const changes = new Map([...labels, [METRIC_NAME, rule.record]]);
  const samples = elements.map(({ labels: each, value }) => ({ labels: withLabels(each, changes), value }));
  requireDistinct(samples, 'vector contains metrics with the same labelset after applying rule labels');
  if (limit > 0 && samples.length > limit)
    throw new RuleError(`exceeded limit of ${limit} with ${samples.length} series`);
  return samples;
}

async function findAlerts(
  rule: AlertingRule,
  labels: ReadonlyMap<string, string>,
  elements: readonly InstantSample[],
  context: RuleContext,
): Promise<FoundAlert[]> {
  const { tickMs, externalLabels, externalUrl } = context;
  const query = templateQuery(context);
  const found: FoundAlert[] = [];
  for (const element of elements) {
    const data = {
      labels: new Map(element.labels),
      externalLabels: new Map(externalLabels),
      value: element.value,
    };
    const expand = (text: string) => expandAlertTemplate(text, data, { query, nowMs: tickMs, externalUrl });
    const changes = new Map<string, string>();
    for (const [name, text] of labels) changes.set(name, await expand(text));
    changes.set('alertname', rule.alert);
    const annotations: [string, string][] = [];
    for (const [name, text] of rule.annotations) annotations.push([name, await expand(text)]);
    found.push({
      labels: withLabels(withoutName(element.labels), changes),
      annotations,
      value: element.value,
    });
  }
  requireDistinct(found, 'vector contains metrics with the same labelset after applying alert labels');
  return found;
}

/**
 * Returns the function `query` for a rule's templates. Each expression is evaluated once per tick, at the
 * tick's own time.
 */
function templateQuery({ query, tickMs }: RuleContext): (expr: string) => Promise<TemplateSample[]> {
  const results = new Map<string, Promise<TemplateSample[]>>();
  const run = async (expr: string) => {
    try {
      const samples = await query(expr, tickMs);
      return samples.map(({ labels, value }) => new TemplateSample(new Map(labels), value));
    } catch (error) {
      if (error instanceof RuleError) throw new TemplateError(error.message, { cause: error });
      throw error;
    }
  };
  return (expr) => {
    const known = results.get(expr);
    if (known !== undefined) return known;
    if (results.size >= MAX_TEMPLATE_QUERIES)
      throw new TemplateError(`the rule's templates make more than ${MAX_TEMPLATE_QUERIES} queries`);
    const result = run(expr);
    results.set(expr, result);
    return result;
  };
}

/**
 * @throws {RuleError} when two elements have the same labels
 */
function requireDistinct(given: readonly { readonly labels: Labels }[], message: string): void {
  if (new Set(given.map(({ labels }) => labelsKey(labels))).size < given.length) throw new RuleError(message);
}

/** Names of the series that alerting rules write. */
export const ALERT_SERIES: readonly string[] = ['ALERTS', 'ALERTS_FOR_STATE'];

/**
 * Returns an alert's samples in the series `ALERTS` and `ALERTS_FOR_STATE`, which users and dashboards query.
 */
function samplesOf({ labels, state, activeAtMs }: Alert): InstantSample[] {
  return [
    { labels: seriesOf(labels, 'ALERTS', state), value: 1 },
    { labels: seriesOf(labels, 'ALERTS_FOR_STATE'), value: Math.floor(activeAtMs / 1000) },
  ];
}

/** Returns the labels of the series that an alert has while it fires. */
export function firingSeriesOf({ labels }: Alert): Labels {
  return seriesOf(labels, 'ALERTS', 'firing');
}

function seriesOf(labels: Labels, name: string, state?: Alert['state']): Labels {
  return withLabels(
    labels,
    new Map([[METRIC_NAME, name], ...(state === undefined ? [] : [['alertstate', state] as const])]),
  );
}

/** Returns the name of a rule's alert, or of the series that it records. */
export function ruleNameOf(rule: Rule): string {
  return rule.kind === 'recording' ? rule.record : rule.alert;
}

/**
 * Returns a rule's identity. When a rule group is replaced, a rule that has the same identity as before keeps its
 * alerts and series.
 */
export function ruleIdentity(rule: Rule): string {
  return JSON.stringify([rule.kind, ruleNameOf(rule), rule.labels]);
}

export function alertNameOf({ labels }: Alert): string {
  return labelValue(labels, 'alertname') ?? '';
}
