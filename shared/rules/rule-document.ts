import { stringify } from 'yaml';
import { type Labels, labelsOf } from '../model/labels';
import { parseDurationMs } from '../promql/numbers';
import { parsePromql } from '../promql/parser';
import type { Expr } from '../promql/syntax';

/**
 * A rule as its author wrote it. Texts are kept byte for byte, and an absent field differs from an empty one.
 */
export interface RuleDocument {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly for?: string;
  readonly keep_firing_for?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A rule group as its author wrote it. It is stored and returned in this form. */
export interface RuleGroupDocument {
  readonly name: string;
  readonly interval?: string;
  readonly query_offset?: string;
  readonly limit?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly rules: readonly RuleDocument[];
}

interface RuleBase {
  /** The expression as written. */
  readonly expr: string;
  readonly parsed: Expr;
  /** The rule's own labels. The rule group's are in {@link RuleGroup.labels}. */
  readonly labels: Labels;
}

/** A rule that stores the result of its expression as new series. */
export interface RecordingRule extends RuleBase {
  readonly kind: 'recording';
  /** The name of the series. */
  readonly record: string;
}

/** A rule whose expression finds a problem. Labels and annotations are templates. */
export interface AlertingRule extends RuleBase {
  readonly kind: 'alerting';
  readonly alert: string;
  /** How long an element must be present before its alert fires, in ms. */
  readonly forMs: number;
  /** How long an alert keeps firing after its element is gone, in ms. */
  readonly keepFiringForMs: number;
  readonly annotations: Labels;
}

export type Rule = RecordingRule | AlertingRule;

/** Rules that are evaluated together, in order. */
export interface RuleGroup {
  readonly name: string;
  readonly intervalMs: number;
  /**
   * Rules are evaluated at the time of their tick minus this offset, in ms. Undefined if the rule group does not set
   * it; an offset of 0 counts as set.
   */
  readonly queryOffsetMs: number | undefined;
  /** Maximum number of series or alerts that one rule may produce; 0 for no limit. */
  readonly limit: number;
  /** Labels added to each rule; a rule's own labels take precedence. */
  readonly labels: Labels;
  readonly rules: readonly Rule[];
}

/** Converts a checked document to a rule group. */
export function ruleGroupOf(document: RuleGroupDocument): RuleGroup {
  return {
    name: document.name,
    intervalMs: intervalOf(document.interval),
    queryOffsetMs: msOf(document.query_offset),
    limit: document.limit ?? 0,
    labels: labelsOf(...Object.entries(document.labels ?? {})),
    rules: document.rules.map(ruleOf),
  };
}

function ruleOf(document: RuleDocument): Rule {
  const { record, alert, expr } = document;
  const base = {
    expr,
    parsed: parsePromql(expr),
    labels: labelsOf(...Object.entries(document.labels ?? {})),
  };
  if (record) return { kind: 'recording', record, ...base };
  return {
    kind: 'alerting',
    alert: alert ?? '',
    forMs: msOf(document.for) ?? 0,
    keepFiringForMs: msOf(document.keep_firing_for) ?? 0,
    annotations: labelsOf(...Object.entries(document.annotations ?? {})),
    ...base,
  };
}

/** Interval of rule groups that do not set one, in ms. */
const DEFAULT_INTERVAL_MS = 60_000;
/** Minimum interval, in ms. Rules with shorter intervals could not be evaluated on time. */
const LEAST_INTERVAL_MS = 30_000;

/** Returns the interval at which a rule group is evaluated, in ms. */
export function intervalOf(interval: string | undefined): number {
  return Math.max(LEAST_INTERVAL_MS, msOf(interval) || DEFAULT_INTERVAL_MS);
}

/** Returns the length of a checked duration, in ms; undefined for an empty or absent text. */
export function msOf(text = ''): number | undefined {
  const ms = text === '0' ? 0 : parseDurationMs(text);
  return typeof ms === 'number' ? ms : undefined;
}

/**
 * Returns the YAML of namespaces with their rule groups, or of one rule group. Lines are not folded, so expressions
 * stay as written.
 */
export function rulesYaml(
  value: RuleGroupDocument | Readonly<Record<string, readonly RuleGroupDocument[]>>,
): string {
  return stringify(value, { lineWidth: 0 });
}
