import type { Alert } from '../alerting/delivery/alert';
import { DAY_MS } from '../model/duration';
import { type Labels, labelsKey, labelValue, METRIC_NAME } from '../model/labels';
import { firstFrom, type SampleColumns } from '../model/sample-columns';
import type { TimeRange } from '../model/selection';
import { MemorySampleStore } from '../promql/memory-store';
import { OverlayStore } from '../promql/overlay-store';
import type { QueryOptions } from '../promql/query';
import { SharedReads } from '../promql/shared-reads';
import type { SampleStore } from '../promql/store';
import { ALERT_SERIES, ruleNameOf } from './evaluate-rule';
import { evaluateRuleGroup, type RuleState, type WriteSamples } from './evaluate-rule-group';
import { instantVector } from './instant-vector';
import type { RuleGroup } from './rule-document';

export interface BacktestOptions {
  /** Half-open range of the ticks to evaluate, in ms. */
  readonly range: TimeRange;
  /** Returns a store for one read of stored samples. */
  readonly reads: () => SampleStore;
  readonly query: QueryOptions;
  /** Query offset of rule groups that do not set one, in ms. */
  readonly defaultOffsetMs: number;
  /** Maximum number of pending and firing alerts of one rule. */
  readonly maxAlerts: number;
  /**
   * Called after each part of the range with its progress and the results of recording rules, including stale
   * markers.
   */
  readonly onPart: (part: BacktestPart) => Promise<void>;
}

export interface BacktestPart {
  /** Unix time in ms before which all ticks have been evaluated. */
  readonly untilMs: number;
  readonly ticks: number;
  readonly alerts: number;
  readonly recorded: readonly SampleColumns[];
}

/** An alert that would have fired. Times are ticks: Unix times in ms. */
export interface PastAlert extends Pick<Alert, 'labels' | 'annotations' | 'value' | 'activeAtMs'> {
  readonly group: string;
  readonly firedAtMs: number;
  /** Undefined if the alert still fires at the end. */
  resolvedAtMs?: number;
}

/** A rule that failed in some ticks. */
export interface FailedRule {
  readonly group: string;
  readonly rule: string;
  ticks: number;
  /** The first failure: its tick in ms, and the reason. */
  readonly firstMs: number;
  readonly error: string;
}

export interface Backtest {
  /** Number of rule group evaluations. */
  readonly ticks: number;
  /** Sorted by the time of firing. */
  readonly alerts: readonly PastAlert[];
  /** Number of alerts that became pending but never fired. */
  readonly neverFired: number;
  readonly failures: readonly FailedRule[];
}

/** The backtest exceeds a bound on its evaluations or its memory. */
export class BacktestLimitError extends Error {
  override readonly name = 'BacktestLimitError';
}

/** Maximum number of rule group evaluations: enough for one rule group over 100 days at 30 s. */
const MAX_TICKS = 288_000;
const MAX_ALERTS = 10_000;
/** Maximum number of samples that all rules together may yield. Each takes 16 bytes of memory. */
const MAX_BACKTEST_SAMPLES = 10_000_000;
/** Length of the parts in which the range is read, in ms. */
const PART_MS = DAY_MS / 12;

/**
 * Evaluates rule groups over past samples, as if the groups had been created at the start of the range, with
 * no alert pending.
 *
 * Rules see the results of this backtest. They do not see samples that are stored under the same names from the start
 * of the range on. So a rule group that was evaluated before gives the same results again.
 *
 * @throws {BacktestLimitError} for too many ticks, alerts or samples
 */
export async function backtest(
  ruleGroups: readonly RuleGroup[],
  options: BacktestOptions,
): Promise<Backtest> {
  const { fromMs, toMs } = options.range;
  const ticks = ruleGroups.reduce((sum, { intervalMs }) => sum + Math.ceil((toMs - fromMs) / intervalMs), 0);
  if (ticks > MAX_TICKS)
    throw new BacktestLimitError(
      `the range has ${ticks} evaluations of groups; at most ${MAX_TICKS} are allowed`,
    );
  const run = new Run(ruleGroups, options);
  for (let atMs = fromMs; atMs < toMs; atMs += PART_MS)
    await run.part({ fromMs: atMs, toMs: Math.min(atMs + PART_MS, toMs) });
  return run.result();
}

class Run {
  private readonly alerts: PastAlert[] = [];
  /** The latest alert that fired, by rule and labels. */
  private readonly latest = new Map<string, PastAlert>();
  private readonly failures = new Map<string, FailedRule>();
  private readonly results = new MemorySampleStore();
  private readonly recordedNames: ReadonlySet<string>;
  private readonly alertNames: ReadonlySet<string>;
  private readonly states: RuleState[][];
  private ticks = 0;
  private samples = 0;
  private becamePending = 0;

  constructor(
    private readonly ruleGroups: readonly RuleGroup[],
    private readonly options: BacktestOptions,
  ) {
    this.states = ruleGroups.map(() => []);
    const rules = ruleGroups.flatMap((ruleGroup) => ruleGroup.rules);
    const namesOf = (kind: string) => new Set(rules.filter((rule) => rule.kind === kind).map(ruleNameOf));
    this.recordedNames = namesOf('recording');
    this.alertNames = namesOf('alerting');
  }

  async part(range: TimeRange): Promise<void> {
    const due = this.dueIn(range);
    const reads = new SharedReads(() => this.withoutOwn(this.options.reads()));
    for (const { tickMs, index } of due)
      for (const { parsed } of this.ruleGroups[index]!.rules)
        reads.expect(parsed, tickMs - this.offsetOf(index));
    const store = new OverlayStore(reads, this.results);
    const recorded = new MemorySampleStore();
    for (const each of due) await this.evaluate(each, store, recorded);
    const { ticks, alerts } = this;
    await this.options.onPart({
      untilMs: range.toMs,
      ticks,
      alerts: alerts.length,
      recorded: recorded.columnsOfAll(),
    });
  }

  result(): Backtest {
    const alerts = this.alerts.sort((a, b) => a.firedAtMs - b.firedAtMs);
    const fired = alerts.filter(({ activeAtMs, firedAtMs }) => activeAtMs < firedAtMs).length;
    const neverFired = this.becamePending - fired;
    return { ticks: this.ticks, alerts, neverFired, failures: [...this.failures.values()] };
  }

  private offsetOf(index: number): number {
    return this.ruleGroups[index]!.queryOffsetMs ?? this.options.defaultOffsetMs;
  }

  /** Returns the ticks of all rule groups, oldest first; ticks at the same time are in the order of the rule groups. */
  private dueIn({ fromMs, toMs }: TimeRange): Due[] {
    const due = this.ruleGroups.flatMap(({ intervalMs }, index) => {
      const firstMs = Math.ceil(fromMs / intervalMs) * intervalMs;
      const count = Math.max(0, Math.ceil((toMs - firstMs) / intervalMs));
      return Array.from({ length: count }, (_, i) => ({ tickMs: firstMs + i * intervalMs, index }));
    });
    return due.sort((a, b) => a.tickMs - b.tickMs || a.index - b.index);
  }

  /**
   * Returns a store without the samples that rules of these names have stored since the start of the range.
   */
  private withoutOwn(store: SampleStore): SampleStore {
    const hiddenFromMs =
      this.options.range.fromMs - Math.max(...this.ruleGroups.map((_, i) => this.offsetOf(i)));
    return {
      select: async (matchers, range) => {
        const { series, warnings } = await store.select(matchers, range);
        const shown = series.map((each) =>
          this.isOwn(each.labels) ? samplesBefore(each, hiddenFromMs) : each,
        );
        return { series: shown, warnings };
      },
    };
  }

  private isOwn(labels: Labels): boolean {
    const name = labelValue(labels, METRIC_NAME) ?? '';
    if (this.recordedNames.has(name)) return true;
    return ALERT_SERIES.includes(name) && this.alertNames.has(labelValue(labels, 'alertname') ?? '');
  }

  private async evaluate(
    { tickMs, index }: Due,
    store: SampleStore,
    recorded: MemorySampleStore,
  ): Promise<void> {
    const ruleGroup = this.ruleGroups[index]!;
    const { query, maxAlerts } = this.options;
    const context = {
      tickMs,
      queryOffsetMs: this.offsetOf(index),
      externalLabels: [],
      externalUrl: '',
      maxAlerts,
      query: (expr: string, atMs: number) => instantVector(store, expr, atMs, query),
    };
    const write: WriteSamples = (samples, atMs) => {
      this.samples += samples.length;
      if (this.samples > MAX_BACKTEST_SAMPLES)
        throw new BacktestLimitError(
          `the rules yield more than ${MAX_BACKTEST_SAMPLES} samples over the range`,
        );
      for (const { labels, value } of samples) {
        this.results.add(labels, atMs, value);
        if (this.recordedNames.has(labelValue(labels, METRIC_NAME)!)) recorded.add(labels, atMs, value);
      }
    };
    const states = await evaluateRuleGroup(ruleGroup, this.states[index]!, context, write);
    this.states[index] = states;
    this.ticks++;
    for (const [i, { alerts, lastError }] of states.entries()) {
      const rule = ruleNameOf(ruleGroup.rules[i]!);
      if (lastError === undefined)
        for (const alert of alerts) this.note(alert, tickMs, ruleGroup.name, `${index} ${i}`);
      else
        this.fail(
          { group: ruleGroup.name, rule, ticks: 1, firstMs: tickMs, error: lastError },
          `${index} ${i}`,
        );
    }
  }

  private note(alert: Alert, tickMs: number, group: string, rule: string): void {
    const { labels, annotations, value, state, activeAtMs, firedAtMs, resolvedAtMs } = alert;
    if (state === 'pending' && activeAtMs === tickMs) this.becamePending++;
    if (firedAtMs === undefined) return;
    const key = `${rule} ${labelsKey(labels)}`;
    let known = this.latest.get(key);
    if (known?.firedAtMs !== firedAtMs) {
      if (this.alerts.length === MAX_ALERTS)
        throw new BacktestLimitError(`more than ${MAX_ALERTS} alerts fire in the range`);
      known = { group, labels, annotations, value, activeAtMs, firedAtMs };
      this.latest.set(key, known);
      this.alerts.push(known);
    }
    if (resolvedAtMs !== undefined) known.resolvedAtMs = resolvedAtMs;
  }

  private fail(failed: FailedRule, key: string): void {
    const known = this.failures.get(key);
    if (known === undefined) this.failures.set(key, failed);
    else known.ticks++;
  }
}

interface Due {
  readonly tickMs: number;
  /** Index of the rule group. */
  readonly index: number;
}

/** Returns the samples before a time. */
function samplesBefore({ labels, timestamps, values }: SampleColumns, ms: number): SampleColumns {
  const end = firstFrom(timestamps, ms);
  return { labels, timestamps: timestamps.subarray(0, end), values: values.subarray(0, end) };
}
