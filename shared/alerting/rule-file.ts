import type { Node } from 'yaml';
import { type Labels, labelsOf, METRIC_NAME } from '../model/labels';
import { PromqlError } from '../promql/errors';
import { parsePromql } from '../promql/parser';
import type { Expr } from '../promql/syntax';
import type { GroupDocument, RuleDocument } from './rule-document';
import { parseAlertTemplate } from './template/expand';
import { TemplateError } from './template/values';
import { type YamlFault, type YamlMapping, YamlReader } from './yaml-reader';

interface RuleBase {
  /** The expression as written. */
  readonly expr: string;
  readonly parsed: Expr;
  /** The rule's own labels. The group's are in {@link RuleGroup.labels}. */
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
  /** Undefined if the file does not set it. */
  readonly intervalMs: number | undefined;
  /**
   * How far before its tick a rule reads samples. Undefined if the file does not set it, which differs from
   * 0.
   */
  readonly queryOffsetMs: number | undefined;
  /** Most series or alerts that one rule may produce; 0 for no limit. */
  readonly limit: number;
  /** Labels added to each rule; a rule's own labels take precedence. */
  readonly labels: Labels;
  readonly rules: readonly Rule[];
}

export interface RuleFile {
  readonly groups: readonly RuleGroup[];
  /** Faults in the order of the file. A file with faults must not be used. */
  readonly faults: readonly YamlFault[];
}

const MAX_RULE_FILE = 4 * 1024 * 1024;
/** Most rules of one file. YAML aliases can make a short file expand to many. */
const MAX_RULES = 20_000;

const GROUP_FIELDS = ['name', 'interval', 'query_offset', 'limit', 'labels', 'rules'];
const RULE_FIELDS = ['record', 'alert', 'expr', 'for', 'keep_firing_for', 'labels', 'annotations'];

/**
 * Parses and checks a file of rule groups, with the same rules as Prometheus.
 *
 * @see https://prometheus.io/docs/prometheus/latest/configuration/recording_rules/
 */
export function parseRuleFile(text: string, ignoresUnknownFields = false): RuleFile {
  if (text.length > MAX_RULE_FILE) {
    const reader = new YamlReader('');
    reader.fault(undefined, `the file has ${text.length} characters; at most ${MAX_RULE_FILE} are allowed`);
    return { groups: [], faults: reader.faults };
  }
  const reader = new YamlReader(text, ignoresUnknownFields);
  const top = reader.top();
  const file = top === undefined ? undefined : reader.mapping(top, 'a rule file', ['groups']);
  const parser = new RuleParser(reader);
  const groups = reader
    .sequence(file?.entries.get('groups')?.value ?? null, 'groups')
    .flatMap((node) => parser.group(node) ?? []);
  return { groups, faults: reader.faults };
}

/** A single group, as the ruler's API accepts it. */
export interface SingleGroup {
  /** The group as written; undefined when there are faults. */
  readonly document: GroupDocument | undefined;
  /** Undefined when there are faults. */
  readonly group: RuleGroup | undefined;
  /** In the order of the text. */
  readonly faults: readonly YamlFault[];
}

/** Parses and checks the YAML of one group as {@link parseRuleFile} does. The group must have a rule. */
export function parseRuleGroup(text: string): SingleGroup {
  const reader = new YamlReader(text);
  const top = reader.top();
  if (top === undefined && reader.faults.length === 0) reader.fault(undefined, 'the group is missing');
  const group = top === undefined ? undefined : new RuleParser(reader).group(top);
  if (top !== undefined && group === undefined) reader.fault(top, 'the group is missing');
  if (group?.rules.length === 0 && reader.faults.length === 0)
    reader.fault(top, `group ${JSON.stringify(group.name)} has no rules`);
  if (reader.faults.length > 0) return { document: undefined, group: undefined, faults: reader.faults };
  return { document: new DocumentReader(reader).group(top!), group, faults: [] };
}

/** Reads a checked group exactly as it was written. */
class DocumentReader {
  constructor(private readonly reader: YamlReader) {}

  group(node: Node): GroupDocument {
    const { reader } = this;
    const { entries } = reader.mapping(node, 'a group', GROUP_FIELDS)!;
    return {
      name: reader.text(entries.get('name')?.value, 'name'),
      ...this.texts(entries, ['interval', 'query_offset']),
      ...(entries.has('limit') && { limit: reader.integer(entries.get('limit')!.value, 'limit') }),
      ...this.mappings(entries, ['labels']),
      rules: reader.sequence(entries.get('rules')!.value, 'rules').map((rule) => this.rule(rule)),
    };
  }

  private rule(node: Node): RuleDocument {
    const { entries } = this.reader.mapping(node, 'a rule', RULE_FIELDS)!;
    return {
      ...this.texts(entries, ['record', 'alert']),
      expr: this.reader.text(entries.get('expr')!.value, 'expr'),
      ...this.texts(entries, ['for', 'keep_firing_for']),
      ...this.mappings(entries, ['labels', 'annotations']),
    };
  }

  private texts(entries: YamlMapping['entries'], names: readonly string[]): Record<string, string> {
    const present = names.filter((name) => entries.has(name));
    return Object.fromEntries(
      present
        .map((name) => [name, this.reader.text(entries.get(name)!.value, name)] as const)
        .filter(([, text]) => text !== ''),
    );
  }

  private mappings(
    entries: YamlMapping['entries'],
    names: readonly string[],
  ): Record<string, Record<string, string>> {
    const present = names.filter((name) => this.reader.isMapping(entries.get(name)?.value));
    return Object.fromEntries(
      present.map((name) => [name, Object.fromEntries(this.reader.texts(entries.get(name)!.value, name))]),
    );
  }
}

/** Reads the groups of a checked rule file exactly as they were written. */
export function groupDocuments(text: string): GroupDocument[] {
  const reader = new YamlReader(text);
  const file = reader.mapping(reader.top() ?? null, 'a rule file', ['groups']);
  const documents = new DocumentReader(reader);
  return reader
    .sequence(file?.entries.get('groups')?.value ?? null, 'groups')
    .map((node) => documents.group(node));
}

class RuleParser {
  private readonly names = new Set<string>();
  private rules = 0;

  constructor(private readonly reader: YamlReader) {}

  group(node: Node): RuleGroup | undefined {
    const { reader } = this;
    const mapping = reader.mapping(node, 'a group', GROUP_FIELDS);
    if (mapping === undefined) return undefined;
    const field = (name: string) => mapping.entries.get(name)?.value;
    const name = reader.text(field('name'), 'name');
    if (name === '') reader.fault(node, 'Groupname must not be empty');
    if (this.names.has(name))
      reader.fault(node, `groupname: ${JSON.stringify(name)} is repeated in the same file`);
    this.names.add(name);
    const limit = reader.integer(field('limit'), 'limit');
    const labels = reader.texts(field('labels') ?? null, 'labels');
    for (const label of labels.keys())
      if (!isLabelName(label)) reader.fault(field('labels'), `invalid label name: ${label}`);
    const rules = reader
      .sequence(field('rules') ?? null, 'rules')
      .flatMap((rule, i) => this.rule(rule, name, i + 1) ?? []);
    return {
      name,
      intervalMs: reader.duration(field('interval'), 'interval'),
      queryOffsetMs: reader.duration(field('query_offset'), 'query_offset'),
      limit,
      labels: labelsOf(...labels),
      rules,
    };
  }

  private rule(node: Node, group: string, number: number): Rule | undefined {
    if (++this.rules > MAX_RULES) {
      if (this.rules === MAX_RULES + 1) this.reader.fault(node, `the file has more than ${MAX_RULES} rules`);
      return undefined;
    }
    const faults = this.reader.faults.length;
    const mapping = this.reader.mapping(node, 'a rule', RULE_FIELDS);
    if (mapping !== undefined) return new RuleCheck(this.reader, mapping, group, number).rule();
    if (this.reader.faults.length === faults)
      this.reader.fault(node, `group ${JSON.stringify(group)}, rule ${number}: the rule is empty`);
    return undefined;
  }
}

/** Checks one rule. Each fault names the rule. */
class RuleCheck {
  private readonly record: string;
  private readonly alert: string;

  constructor(
    private readonly reader: YamlReader,
    private readonly mapping: YamlMapping,
    private readonly group: string,
    private readonly number: number,
  ) {
    this.record = reader.text(this.value('record'), 'record');
    this.alert = reader.text(this.value('alert'), 'alert');
  }

  rule(): Rule | undefined {
    const { reader, record, alert } = this;
    if (record !== '' && alert !== '') this.fault('record', "only one of 'record' and 'alert' must be set");
    if (record === '' && alert === '') this.fault('record', "one of 'record' or 'alert' must be set");
    const expr = reader.text(this.value('expr'), 'expr');
    const parsed = this.parsed(expr);
    const forMs = reader.duration(this.value('for'), 'for') ?? 0;
    const keepFiringForMs = reader.duration(this.value('keep_firing_for'), 'keep_firing_for') ?? 0;
    const labels = reader.texts(this.value('labels') ?? null, 'labels');
    const annotations = reader.texts(this.value('annotations') ?? null, 'annotations');
    for (const name of labels.keys())
      if (!isLabelName(name)) this.fault('labels', `invalid label name: ${name}`);
    for (const name of annotations.keys())
      if (name === '') this.fault('annotations', `invalid annotation name: ${name}`);
    if (record !== '') this.checkRecording(forMs, keepFiringForMs, annotations);
    else {
      this.checkTemplates('label', 'labels', labels);
      this.checkTemplates('annotation', 'annotations', annotations);
    }
    if (parsed === undefined) return undefined;
    const base = { expr, parsed, labels: labelsOf(...labels) };
    if (record !== '') return { kind: 'recording', record, ...base };
    return {
      kind: 'alerting',
      alert,
      forMs,
      keepFiringForMs,
      annotations: labelsOf(...annotations),
      ...base,
    };
  }

  private parsed(expr: string): Expr | undefined {
    if (expr === '') {
      this.fault('expr', "field 'expr' must be set in rule");
      return undefined;
    }
    try {
      return parsePromql(expr);
    } catch (error) {
      if (!(error instanceof PromqlError)) throw error;
      this.fault('expr', `could not parse expression: ${error.message}`);
      return undefined;
    }
  }

  private checkRecording(
    forMs: number,
    keepFiringForMs: number,
    annotations: ReadonlyMap<string, string>,
  ): void {
    const { record } = this;
    if (annotations.size > 0) this.fault('record', "invalid field 'annotations' in recording rule");
    if (forMs !== 0) this.fault('record', "invalid field 'for' in recording rule");
    if (keepFiringForMs !== 0) this.fault('record', "invalid field 'keep_firing_for' in recording rule");
    if (!record.isWellFormed()) this.fault('record', `invalid recording rule name: ${record}`);
    if (/[{}]/.test(record))
      this.fault('record', `braces present in the recording rule name; should it be in expr?: ${record}`);
  }

  private checkTemplates(what: string, field: string, texts: ReadonlyMap<string, string>): void {
    for (const [name, text] of texts) {
      try {
        parseAlertTemplate(text);
      } catch (error) {
        if (!(error instanceof TemplateError)) throw error;
        this.fault(field, `${what} ${JSON.stringify(name)}: ${error.message}`);
      }
    }
  }

  private value(field: string): Node | null | undefined {
    return this.mapping.entries.get(field)?.value;
  }

  private fault(field: string, message: string): void {
    const { mapping, group, number, record, alert } = this;
    const name = JSON.stringify(alert || record);
    this.reader.fault(
      this.value(field) ?? mapping.node,
      `group ${JSON.stringify(group)}, rule ${number}, ${name}: ${message}`,
    );
  }
}

/** Returns whether a rule may set a label: any non-empty UTF-8 name is allowed except that of the metric. */
function isLabelName(name: string): boolean {
  return name !== '' && name !== METRIC_NAME && name.isWellFormed();
}
