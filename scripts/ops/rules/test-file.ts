import type { Node } from 'yaml';
import { MINUTE_MS } from '../../../shared/model/duration';
import { type YamlMapping, YamlReader } from '../../../shared/rules/yaml-reader';

/**
 * A file of rule tests in promtool's format. Times are in ms since the start of the test.
 *
 * @see https://prometheus.io/docs/prometheus/latest/configuration/unit_testing_rules/
 */
export interface RuleTestFile {
  /** Paths of rule files, relative to this file; may contain wildcards. */
  readonly ruleFiles: readonly string[];
  readonly evaluationIntervalMs: number;
  /** Order in which a tick evaluates groups. Groups not listed come first. */
  readonly groupOrder: readonly string[];
  /** Whether a result may differ from the expected value in its last bit. */
  readonly isFuzzy: boolean;
  readonly tests: readonly RuleTest[];
}

export interface RuleTest {
  /** Empty when the test has no name. */
  readonly name: string;
  /** Time between two samples of the input series, in ms. */
  readonly intervalMs: number;
  /** Unix time in ms. */
  readonly startMs: number;
  readonly inputSeries: readonly { readonly series: string; readonly values: string }[];
  readonly alertCases: readonly AlertCase[];
  readonly exprCases: readonly ExprCase[];
  readonly externalLabels: ReadonlyMap<string, string>;
  readonly externalUrl: string;
}

/** The alerts with a given name that must be firing at a given time. */
export interface AlertCase {
  readonly evalMs: number;
  readonly alertname: string;
  readonly expected: readonly {
    readonly labels: ReadonlyMap<string, string>;
    readonly annotations: ReadonlyMap<string, string>;
  }[];
}

/** The result that an expression must have at a given time. */
export interface ExprCase {
  readonly expr: string;
  readonly evalMs: number;
  readonly expected: readonly {
    readonly labels: string;
    readonly value: number;
    readonly histogram: string;
  }[];
}

const FILE_FIELDS = ['rule_files', 'evaluation_interval', 'group_eval_order', 'tests', 'fuzzy_compare'];
const TEST_FIELDS = [
  'interval',
  'input_series',
  'alert_rule_test',
  'promql_expr_test',
  'external_labels',
  'external_url',
  'name',
  'start_timestamp',
];

export function parseRuleTestFile(text: string): { readonly file: RuleTestFile; readonly faults: string[] } {
  const reader = new TestFileReader(text);
  const file = reader.file();
  return { file, faults: reader.yaml.faults.map(String) };
}

class TestFileReader {
  readonly yaml: YamlReader;

  constructor(text: string) {
    this.yaml = new YamlReader(text);
  }

  file(): RuleTestFile {
    const { yaml } = this;
    const top = yaml.top();
    const mapping = top === undefined ? undefined : yaml.mapping(top, 'a test file', FILE_FIELDS);
    const evaluationIntervalMs =
      yaml.duration(value(mapping, 'evaluation_interval'), 'evaluation_interval') || MINUTE_MS;
    const groupOrder = this.list(mapping, 'group_eval_order').map((node) =>
      yaml.text(node, 'group_eval_order'),
    );
    for (const [i, name] of groupOrder.entries())
      if (groupOrder.indexOf(name) < i)
        yaml.fault(value(mapping, 'group_eval_order'), `group name repeated in evaluation order: ${name}`);
    return {
      ruleFiles: this.list(mapping, 'rule_files').map((node) => yaml.text(node, 'rule_files')),
      evaluationIntervalMs,
      groupOrder,
      isFuzzy: this.boolean(value(mapping, 'fuzzy_compare'), 'fuzzy_compare'),
      tests: this.list(mapping, 'tests').flatMap((node) => this.test(node, evaluationIntervalMs) ?? []),
    };
  }

  private test(node: Node, evaluationIntervalMs: number): RuleTest | undefined {
    const { yaml } = this;
    const mapping = yaml.mapping(node, 'a test', TEST_FIELDS);
    if (mapping === undefined) return undefined;
    return {
      name: yaml.text(value(mapping, 'name'), 'name'),
      intervalMs: yaml.duration(value(mapping, 'interval'), 'interval') || evaluationIntervalMs,
      startMs: this.time(value(mapping, 'start_timestamp')),
      inputSeries: this.list(mapping, 'input_series').flatMap((item) => this.series(item) ?? []),
      alertCases: this.list(mapping, 'alert_rule_test').flatMap((item) => this.alertCase(item) ?? []),
      exprCases: this.list(mapping, 'promql_expr_test').flatMap((item) => this.exprCase(item) ?? []),
      externalLabels: yaml.texts(value(mapping, 'external_labels') ?? null, 'external_labels'),
      externalUrl: yaml.text(value(mapping, 'external_url'), 'external_url'),
    };
  }

  private series(node: Node): RuleTest['inputSeries'][number] | undefined {
    const mapping = this.yaml.mapping(node, 'an input series', ['series', 'values']);
    return mapping === undefined
      ? undefined
      : {
          series: this.yaml.text(value(mapping, 'series'), 'series'),
          values: this.yaml.text(value(mapping, 'values'), 'values'),
        };
  }

  private alertCase(node: Node): AlertCase | undefined {
    const { yaml } = this;
    const mapping = yaml.mapping(node, 'an alert test', ['eval_time', 'alertname', 'exp_alerts']);
    if (mapping === undefined) return undefined;
    const alertname = yaml.text(value(mapping, 'alertname'), 'alertname');
    if (alertname === '')
      yaml.fault(node, 'an item under alert_rule_test misses required attribute alertname');
    const expected = this.list(mapping, 'exp_alerts').map((item) => {
      const alert = yaml.mapping(item, 'an expected alert', ['exp_labels', 'exp_annotations']);
      return {
        labels: yaml.texts(value(alert, 'exp_labels') ?? null, 'exp_labels'),
        annotations: yaml.texts(value(alert, 'exp_annotations') ?? null, 'exp_annotations'),
      };
    });
    return { evalMs: this.evalTime(mapping), alertname, expected };
  }

  private exprCase(node: Node): ExprCase | undefined {
    const { yaml } = this;
    const mapping = yaml.mapping(node, 'an expression test', ['expr', 'eval_time', 'exp_samples']);
    if (mapping === undefined) return undefined;
    const expected = this.list(mapping, 'exp_samples').map((item) => {
      const sample = yaml.mapping(item, 'an expected sample', ['labels', 'value', 'histogram']);
      return {
        labels: yaml.text(value(sample, 'labels'), 'labels'),
        value: this.float(value(sample, 'value')),
        histogram: yaml.text(value(sample, 'histogram'), 'histogram'),
      };
    });
    return { expr: yaml.text(value(mapping, 'expr'), 'expr'), evalMs: this.evalTime(mapping), expected };
  }

  private list(mapping: YamlMapping | undefined, field: string): Node[] {
    return this.yaml.sequence(value(mapping, field) ?? null, field);
  }

  private evalTime(mapping: YamlMapping): number {
    return this.yaml.duration(value(mapping, 'eval_time'), 'eval_time') ?? 0;
  }

  private boolean(node: Node | null | undefined, what: string): boolean {
    const text = this.yaml.text(node, what);
    if (text !== '' && text !== 'true' && text !== 'false')
      this.yaml.fault(node, `${what}: ${JSON.stringify(text)} is neither true nor false`);
    return text === 'true';
  }

  private float(node: Node | null | undefined): number {
    const text = this.yaml.text(node, 'value');
    if (/^[-+]?\.inf$/i.test(text)) return text.startsWith('-') ? -Infinity : Infinity;
    if (/^\.nan$/i.test(text)) return Number.NaN;
    const number = Number(text.replaceAll('_', ''));
    if (Number.isNaN(number)) this.yaml.fault(node, `value: ${JSON.stringify(text)} is not a number`);
    return number;
  }

  /** Reads a time, given in Unix seconds or RFC 3339, as ms. */
  private time(node: Node | null | undefined): number {
    const text = this.yaml.text(node, 'start_timestamp');
    if (/^-?\d+(\.\d+)?$/.test(text)) return Math.round(Number(text) * 1000);
    const ms = text === '' ? 0 : Date.parse(text);
    if (Number.isNaN(ms))
      this.yaml.fault(
        node,
        `start_timestamp: ${JSON.stringify(text)} is neither Unix seconds nor an RFC 3339 time`,
      );
    return ms;
  }
}

function value(mapping: YamlMapping | undefined, field: string): Node | null | undefined {
  return mapping?.entries.get(field)?.value;
}
