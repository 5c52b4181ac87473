import { type Command, Option } from 'commander';
import type { SampleStore } from '../../../shared/promql/store';
import {
  type Backtest,
  BacktestLimitError,
  type BacktestOptions,
  type BacktestPart,
  backtest,
  type FailedRule,
} from '../../../shared/rules/backtest';
import type { RuleGroup } from '../../../shared/rules/rule-document';
import { parseRuleFile } from '../../../shared/rules/rule-file';
import { progress } from '../command';
import { OperatorError } from '../invoke';
import { parseDurationOption, parseTime, requireOrder } from '../option-values';
import { readRuleFile } from './check';

/** Options of commands that evaluate rules over history. */
export interface HistoryOptions {
  /** Half-open range of Unix times in ms. */
  readonly from: number;
  readonly to: number;
  /** Query offset of groups that do not set one, in ms. */
  readonly queryOffset: number;
}

/** Limits of a query: the defaults of a tenant's limits. */
const QUERY: BacktestOptions['query'] = {
  limits: { maxSeries: 50_000, maxSamples: 10_000_000, maxValues: 5_000_000 },
  isLate: () => false,
};
/** Maximum number of alerts of one rule: the default of the tenant's limit `alertsPerRule`. */
const MAX_ALERTS = 1_000;
const PROGRESS_MS = 5_000;

/** Adds the options of commands that evaluate rules over history. */
export function historyCommand(command: Command): Command {
  return command
    .argument('<file>', 'rule file')
    .requiredOption(
      '--from <time>',
      'start, ISO time (UTC by default) or Unix time in seconds; no alert is pending at the start',
      parseTime,
    )
    .requiredOption(
      '--to <time>',
      'end (exclusive), ISO time (UTC by default) or Unix time in seconds',
      parseTime,
    )
    .addOption(
      new Option('--query-offset <duration>', 'query offset of groups that do not set query_offset')
        .argParser(parseDurationOption)
        .default(30_000, '30s'),
    );
}

/**
 * Reads a rule file whose rules will be evaluated over history.
 *
 * @throws {OperatorError} for a file with errors, and for times in the wrong order or in the future
 */
export function groupsOf(file: string, { from, to }: HistoryOptions): readonly RuleGroup[] {
  requireOrder({ from, to });
  if (to > Date.now()) throw new OperatorError(`--to ${new Date(to).toISOString()} is in the future`);
  const { ruleGroups, faults } = parseRuleFile(readRuleFile(file));
  if (faults.length > 0) throw new OperatorError(faults.map((fault) => `${file}: ${fault}`).join('\n'));
  return ruleGroups;
}

/**
 * Evaluates groups over history, and prints progress on stderr.
 *
 * @throws {OperatorError} if samples cannot be read, or the range is too large
 */
export async function evaluateHistory(
  groups: readonly RuleGroup[],
  { from, to, queryOffset }: HistoryOptions,
  store: SampleStore,
  onPart: (part: BacktestPart) => Promise<void>,
): Promise<Backtest> {
  let toldMs = performance.now();
  try {
    return await backtest(groups, {
      range: { fromMs: from, toMs: to },
      reads: () => store,
      query: QUERY,
      defaultOffsetMs: queryOffset,
      maxAlerts: MAX_ALERTS,
      onPart: async (part) => {
        await onPart(part);
        if (performance.now() - toldMs < PROGRESS_MS) return;
        toldMs = performance.now();
        progress(`until ${isoOf(part.untilMs)}: ${part.ticks} evaluations, ${part.alerts} alerts`);
      },
    });
  } catch (error) {
    if (error instanceof BacktestLimitError)
      throw new OperatorError(`${error.message}; give a shorter range`, { cause: error });
    throw error;
  }
}

export function failureLines(failures: readonly FailedRule[]): string[] {
  return failures.map(
    ({ group, rule, ticks, firstMs, error }) =>
      `FAILED: ${group}, ${rule}: ${ticks} evaluations, the first at ${isoOf(firstMs)}: ${error}`,
  );
}

/** Formats a time to the second. */
export function isoOf(ms: number): string {
  return new Date(ms).toISOString().replace('.000', '');
}
