import type { Node } from 'yaml';
import { METRIC_NAME } from '../model/labels';
import { PromqlError } from '../promql/errors';
import { parsePromql } from '../promql/parser';
import {
  msOf,
  type RuleDocument,
  type RuleGroup,
  type RuleGroupDocument,
  ruleGroupOf,
} from './rule-document';
import { parseAlertTemplate } from './template/expand';
import { TemplateError } from './template/values';
import { type YamlFault, type YamlMapping, YamlReader } from './yaml-reader';

export interface RuleFile {
  /** The rule groups as written, without the fields and rules that have errors. */
  readonly documents: readonly RuleGroupDocument[];
  readonly ruleGroups: readonly RuleGroup[];
  /** Errors in the order of the file. A file with errors must not be used. */
  readonly faults: readonly YamlFault[];
}

const MAX_RULE_FILE = 4 * 1024 * 1024;
/** Maximum number of rules in one file. With YAML aliases, even a short file can expand to many rules. */
const MAX_RULES = 20_000;

const GROUP_FIELDS = ['name', 'interval', 'query_offset', 'limit', 'labels', 'rules'];
const RULE_FIELDS = ['record', 'alert', 'expr', 'for', 'keep_firing_for', 'labels', 'annotations'];

/**
 * Parses a file of rule groups, and checks it as Prometheus does.
 *
 * @see https://prometheus.io/docs/prometheus/latest/configuration/recording_rules/
 */
export function parseRuleFile(text: string, ignoresUnknownFields = false): RuleFile {
  if (text.length > MAX_RULE_FILE) {
    const reader = new YamlReader('');
    reader.fault(undefined, `the file has ${text.length} characters; at most ${MAX_RULE_FILE} are allowed`);
    return { documents: [], ruleGroups: [], faults: reader.faults };
  }
  const reader = new YamlReader(text, ignoresUnknownFields);
  const top = reader.top();
  const file = top === undefined ? undefined : reader.mapping(top, 'a rule file', ['groups']);
  const ruleGroups = new RuleGroupReader(reader);
  const documents = reader
    .sequence(file?.entries.get('groups')?.value ?? null, 'groups')
    .flatMap((node) => ruleGroups.group(node) ?? []);
  return { documents, ruleGroups: documents.map(ruleGroupOf), faults: reader.faults };
}

/** A single rule group, as the ruler's API accepts it. */
export interface ParsedRuleGroup {
  /** The rule group as written; undefined when there are errors. */
  readonly document: RuleGroupDocument | undefined;
  /** In the order of the text. */
  readonly faults: readonly YamlFault[];
}

/**
 * Parses and checks the YAML of one rule group as {@link parseRuleFile} does. The group must have at least one rule.
 */
export function parseRuleGroup(text: string): ParsedRuleGroup {
  const reader = new YamlReader(text);
  const top = reader.top();
  const document = top === undefined ? undefined : new RuleGroupReader(reader).group(top);
  if (reader.faults.length === 0 || top !== undefined) {
    if (document === undefined) reader.fault(top, 'the group is missing');
    else if (document.rules.length === 0 && reader.faults.length === 0)
      reader.fault(top, `group ${JSON.stringify(document.name)} has no rules`);
  }
  return { document: reader.faults.length > 0 ? undefined : document, faults: reader.faults };
}

/** Reports an error in a rule at the position of one of the rule's fields. */
type Fault = (field: string, message: string) => void;

/** Reads rule groups exactly as they are written, and reports their errors. */
class RuleGroupReader {
  private readonly names = new Set<string>();
  private rules = 0;

  constructor(private readonly reader: YamlReader) {}

  /** Reads a rule group. Returns undefined for null and anything but a mapping. */
  group(node: Node): RuleGroupDocument | undefined {
    const { reader } = this;
    const mapping = reader.mapping(node, 'a group', GROUP_FIELDS);
    if (mapping === undefined) return undefined;
    const { entries } = mapping;
    const name = reader.text(entries.get('name')?.value, 'name');
    if (name === '') reader.fault(node, 'Groupname must not be empty');
    if (this.names.has(name))
      reader.fault(node, `groupname: ${JSON.stringify(name)} is repeated in the same file`);
    this.names.add(name);
    const limit = entries.get('limit');
    const fields = {
      ...this.duration(mapping, 'interval'),
      ...this.duration(mapping, 'query_offset'),
      ...(limit !== undefined && { limit: reader.integer(limit.value, 'limit') }),
      ...this.texts(mapping, 'labels'),
    };
    for (const label of Object.keys(fields.labels ?? {}))
      if (!isLabelName(label)) reader.fault(entries.get('labels')?.value, `invalid label name: ${label}`);
    const rules = reader
      .sequence(entries.get('rules')?.value ?? null, 'rules')
      .flatMap((rule, i) => this.rule(rule, name, i + 1) ?? []);
    return { name, ...fields, rules };
  }

  private rule(node: Node, group: string, number: number): RuleDocument | undefined {
    const { reader } = this;
    if (++this.rules > MAX_RULES) {
      if (this.rules === MAX_RULES + 1) reader.fault(node, `the file has more than ${MAX_RULES} rules`);
      return undefined;
    }
    const faults = reader.faults.length;
    const mapping = reader.mapping(node, 'a rule', RULE_FIELDS);
    const prefix = `group ${JSON.stringify(group)}, rule ${number}`;
    if (mapping === undefined) {
      if (reader.faults.length === faults) reader.fault(node, `${prefix}: the rule is empty`);
      return undefined;
    }
    const rule: RuleDocument = {
      ...this.text(mapping, 'record'),
      ...this.text(mapping, 'alert'),
      expr: this.text(mapping, 'expr').expr ?? '',
      ...this.duration(mapping, 'for'),
      ...this.duration(mapping, 'keep_firing_for'),
      ...this.texts(mapping, 'labels'),
      ...this.texts(mapping, 'annotations'),
    };
    const name = JSON.stringify(rule.alert ?? rule.record ?? '');
    const fault: Fault = (field, message) =>
      reader.fault(mapping.entries.get(field)?.value ?? mapping.node, `${prefix}, ${name}: ${message}`);
    checkRule(rule, fault);
    return isExpression(rule.expr, fault) ? rule : undefined;
  }

  /** Reads a text field. An empty text counts as an absent field. */
  private text<K extends string>({ entries }: YamlMapping, name: K): { [F in K]?: string } {
    const text = this.reader.text(entries.get(name)?.value, name);
    return (text === '' ? {} : { [name]: text }) as { [F in K]?: string };
  }

  private duration<K extends string>(mapping: YamlMapping, name: K): { [F in K]?: string } {
    const ms = this.reader.duration(mapping.entries.get(name)?.value, name);
    return ms === undefined ? {} : this.text(mapping, name);
  }

  private texts<K extends string>({ entries }: YamlMapping, name: K): { [F in K]?: Record<string, string> } {
    const value = entries.get(name)?.value ?? null;
    const texts = Object.fromEntries(this.reader.texts(value, name));
    return (this.reader.isMapping(value) ? { [name]: texts } : {}) as { [F in K]?: Record<string, string> };
  }
}

function checkRule({ labels = {}, annotations = {}, ...rule }: RuleDocument, fault: Fault): void {
  const { record, alert } = rule;
  if (record !== undefined && alert !== undefined)
    fault('record', "only one of 'record' and 'alert' must be set");
  if (record === undefined && alert === undefined) fault('record', "one of 'record' or 'alert' must be set");
  for (const name of Object.keys(labels))
    if (!isLabelName(name)) fault('labels', `invalid label name: ${name}`);
  if (Object.hasOwn(annotations, '')) fault('annotations', 'invalid annotation name: ');
  if (record === undefined) {
    checkTemplates('label', 'labels', labels, fault);
    checkTemplates('annotation', 'annotations', annotations, fault);
    return;
  }
  if (Object.keys(annotations).length > 0) fault('record', "invalid field 'annotations' in recording rule");
  for (const field of ['for', 'keep_firing_for'] as const)
    if (msOf(rule[field])) fault('record', `invalid field '${field}' in recording rule`);
  if (!record.isWellFormed()) fault('record', `invalid recording rule name: ${record}`);
  if (/[{}]/.test(record))
    fault('record', `braces present in the recording rule name; should it be in expr?: ${record}`);
}

function checkTemplates(
  what: string,
  field: string,
  texts: Readonly<Record<string, string>>,
  fault: Fault,
): void {
  for (const [name, text] of Object.entries(texts)) {
    try {
      parseAlertTemplate(text);
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      fault(field, `${what} ${JSON.stringify(name)}: ${error.message}`);
    }
  }
}

function isExpression(expr: string, fault: Fault): boolean {
  try {
    if (expr !== '') parsePromql(expr);
    else fault('expr', "field 'expr' must be set in rule");
    return expr !== '';
  } catch (error) {
    if (!(error instanceof PromqlError)) throw error;
    fault('expr', `could not parse expression: ${error.message}`);
    return false;
  }
}

/** Returns whether a rule may set a label. Any non-empty UTF-8 name is allowed, except `__name__`. */
function isLabelName(name: string): boolean {
  return name !== '' && name !== METRIC_NAME && name.isWellFormed();
}
