import type { Alert } from '../../../shared/alerting/delivery/alert';
import { type Labels, labelsKey, labelsOf, METRIC_NAME } from '../../../shared/model/labels';
import { MemorySampleStore } from '../../../shared/promql/memory-store';
import { promqlDurationText } from '../../../shared/promql/numbers';
import type { QueryOptions } from '../../../shared/promql/query';
import {
  hasNativeHistograms,
  parseMetric,
  parseValues,
  SeriesNotationError,
} from '../../../shared/promql/series-notation';
import { compareLabelBytes } from '../../../shared/promql/vectors';
import { alertNameOf, type InstantSample, ruleNameOf } from '../../../shared/rules/evaluate-rule';
import { evaluateRuleGroup, type RuleState } from '../../../shared/rules/evaluate-rule-group';
import { instantVector } from '../../../shared/rules/instant-vector';
import type { RuleGroup } from '../../../shared/rules/rule-document';
import { formatFloat } from '../../../shared/rules/template/format';
import type { AlertCase, ExprCase, RuleTest, RuleTestFile } from './test-file';

/** Result of one test in a file. */
export interface RuleTestResult {
  readonly name: string;
  readonly failures: readonly RuleTestFailure[];
  /**
   * Cases that need data which the database does not store, each with the reason. They count as neither passed nor
   * failed.
   */
  readonly unsupported: readonly string[];
}

/** Result of a file of tests. */
export interface RuleTestFileResult {
  readonly file: string;
  /** Reasons why the file or its rules could not be read. If there are any, no test has been run. */
  readonly errors: readonly string[];
  readonly tests: readonly RuleTestResult[];
}

export interface RuleTestFailure {
  /** Description of the case, including the error if it failed with one. */
  readonly what: string;
  /** Undefined when the case failed with an error. */
  readonly expected?: readonly string[];
  readonly got?: readonly string[];
}

const LIMITS = { maxSeries: 100_000, maxSamples: 50_000_000, maxValues: 50_000_000 };
/** Maximum number of ticks that a test may evaluate. */
const MAX_TICKS = 1_000_000;

/** Runs one test on the rules in the test file's rule files. */
export async function runRuleTest(
  { evaluationIntervalMs, groupOrder, isFuzzy }: RuleTestFile,
  test: RuleTest,
  groups: readonly RuleGroup[],
): Promise<RuleTestResult> {
  const run = new TestRun(test, ordered(groups, groupOrder), {
    limits: LIMITS,
    subqueryStepMs: evaluationIntervalMs,
    isLate: () => false,
  });
  try {
    run.load();
  } catch (error) {
    if (!(error instanceof SeriesNotationError)) throw error;
    return { name: test.name, failures: [{ what: error.message }], unsupported: [] };
  }
  await run.evaluate(evaluationIntervalMs);
  if (!run.hasRuleError) for (const each of test.exprCases) await run.checkExpr(each, isFuzzy);
  return { name: test.name, failures: run.failures, unsupported: run.unsupported };
}

/** Sorts groups: those named in `order` come last, in the order in which they are named. */
function ordered(groups: readonly RuleGroup[], order: readonly string[]): RuleGroup[] {
  const rank = ({ name }: RuleGroup) => Math.max(order.indexOf(name), 0);
  return [...groups].sort((a, b) => rank(a) - rank(b));
}

class TestRun {
  readonly failures: RuleTestFailure[] = [];
  readonly unsupported: string[] = [];
  hasRuleError = false;
  private readonly store = new MemorySampleStore();
  /** Names of series whose values are native histograms. */
  private readonly native = new Set<string>();
  private states: RuleState[][];

  constructor(
    private readonly test: RuleTest,
    private readonly groups: readonly RuleGroup[],
    private readonly options: QueryOptions,
  ) {
    this.states = groups.map(() => []);
  }

  load(): void {
    const { inputSeries, startMs, intervalMs } = this.test;
    for (const { series, values } of inputSeries) {
      const { labels, rest } = parseMetric(series.trim());
      if (rest !== '')
        throw new SeriesNotationError(`unexpected ${JSON.stringify(rest)} after the labels of ${series}`);
      if (hasNativeHistograms(values)) {
        this.native.add(labels.find(([name]) => name === METRIC_NAME)?.[1] ?? '');
        this.unsupported.push(`input series ${series}: native histograms are not stored`);
        continue;
      }
      for (const [i, value] of parseValues(values).entries())
        if (value !== undefined) this.store.add(labels, startMs + i * intervalMs, value);
    }
  }

  /**
   * Evaluates all groups at the given interval, ignoring the groups' own intervals. Checks the expected alerts at their
   * times.
   */
  async evaluate(intervalMs: number): Promise<void> {
    const { test } = this;
    const endMs = Math.max(0, ...[...test.alertCases, ...test.exprCases].map(({ evalMs }) => evalMs));
    if (endMs / intervalMs > MAX_TICKS) {
      this.failures.push({ what: `the test has more than ${MAX_TICKS} evaluations` });
      return;
    }
    const cases = [...test.alertCases].sort((a, b) => a.evalMs - b.evalMs);
    for (let atMs = 0; atMs <= endMs; atMs += intervalMs) {
      await this.evaluateTick(test.startMs + atMs);
      if (this.hasRuleError) return;
      while (cases.length > 0 && cases[0]!.evalMs < atMs + intervalMs) this.checkAlerts(cases.shift()!);
    }
  }

  private async evaluateTick(tickMs: number): Promise<void> {
    for (const [i, ruleGroup] of this.groups.entries()) {
      const context = {
        tickMs,
        queryOffsetMs: ruleGroup.queryOffsetMs ?? 0,
        externalLabels: labelsOf(...this.test.externalLabels),
        externalUrl: this.test.externalUrl,
        query: (expr: string, atMs: number) => instantVector(this.store, expr, atMs, this.options),
      };
      const next = await evaluateRuleGroup(ruleGroup, this.states[i]!, context, (samples, atMs) => {
        for (const { labels, value } of samples) this.store.add(labels, atMs, value);
      });
      this.states[i] = next;
      for (const [r, { lastError }] of next.entries()) {
        if (lastError === undefined) continue;
        this.hasRuleError = true;
        this.failures.push({
          what: `rule: ${ruleNameOf(ruleGroup.rules[r]!)}, time: ${promqlDurationText(tickMs)}, err: ${lastError}`,
        });
      }
    }
  }

  private checkAlerts({ evalMs, alertname, expected }: AlertCase): void {
    const firing = this.states
      .flat()
      .flatMap(({ alerts }) => alerts)
      .filter((alert) => alert.state === 'firing' && alertNameOf(alert) === alertname);
    const want = expected.map(({ labels, annotations }) =>
      alertText(labelsOf(...new Map([...labels, ['alertname', alertname]])), labelsOf(...annotations)),
    );
    const got = firing.map(({ labels, annotations }: Alert) =>
      alertText(labels, labelsOf(...annotations.map(([name, value]) => [name, value] as const))),
    );
    this.compare(`alertname: ${alertname}, time: ${promqlDurationText(evalMs)}`, want.sort(), got.sort());
  }

  async checkExpr({ expr, evalMs, expected }: ExprCase, isFuzzy: boolean): Promise<void> {
    const what = `expr: ${JSON.stringify(expr)}, time: ${promqlDurationText(evalMs)}`;
    if (expected.some(({ histogram }) => histogram !== '') || this.readsNative(expr)) {
      this.unsupported.push(`${what}: native histograms are not stored`);
      return;
    }
    let got: readonly InstantSample[];
    const want: InstantSample[] = [];
    try {
      got = await instantVector(this.store, expr, this.test.startMs + evalMs, this.options);
      for (const { labels, value } of expected)
        want.push({ labels: parseMetric(labels.trim()).labels, value });
    } catch (error) {
      this.failures.push({ what: `${what}, err: ${(error as Error).message}` });
      return;
    }
    const byLabels = (a: InstantSample, b: InstantSample) => compareLabelBytes(a.labels, b.labels);
    want.sort(byLabels);
    const sorted = [...got].sort(byLabels);
    const isEqual =
      want.length === sorted.length &&
      want.every(({ labels, value }, i) => {
        const other = sorted[i]!;
        return labelsKey(labels) === labelsKey(other.labels) && areEqual(value, other.value, isFuzzy);
      });
    if (!isEqual) this.failures.push({ what, expected: want.map(sampleText), got: sorted.map(sampleText) });
  }

  private readsNative(expr: string): boolean {
    return [...this.native].some((name) => name !== '' && new RegExp(`\\b${name}\\b`).test(expr));
  }

  private compare(what: string, expected: readonly string[], got: readonly string[]): void {
    if (expected.join('\n') !== got.join('\n')) this.failures.push({ what, expected, got });
  }
}

function labelsText(labels: Labels): string {
  return `{${labels.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(', ')}}`;
}

function alertText(labels: Labels, annotations: Labels): string {
  return `Labels:${labelsText(labels)}\nAnnotations:${labelsText(annotations)}`;
}

function sampleText({ labels, value }: InstantSample): string {
  return `${labelsText(labels)} ${formatFloat(value, 'e', -1).toUpperCase()}`;
}

/** Returns whether values are equal. If the file compares fuzzily, adjacent floats are equal, too. */
function areEqual(a: number, b: number, isFuzzy: boolean): boolean {
  if (a === b || (Number.isNaN(a) && Number.isNaN(b))) return true;
  if (!isFuzzy || Math.sign(a) !== Math.sign(b)) return false;
  const [x, y] = new BigInt64Array(Float64Array.of(a, b).buffer);
  return x! - y! === 1n || y! - x! === 1n;
}
