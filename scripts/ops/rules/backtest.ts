import type { Command } from 'commander';
import { METRIC_NAME } from '../../../shared/model/labels';
import type { Backtest } from '../../../shared/rules/backtest';
import { formatFloat } from '../../../shared/rules/template/format';
import { type ApiKeyOptions, withApi } from '../api-key';
import { type CommonOptions, command, print } from '../command';
import { table } from '../table';
import { TenantApi } from '../tenant-api';
import {
  evaluateHistory,
  failureLines,
  groupsOf,
  type HistoryOptions,
  historyCommand,
  isoOf,
} from './history';
import { RemoteReadStore } from './remote-read-store';

/** `ops rules backtest`. */
export function backtestCommand(): Command {
  return withApi(
    historyCommand(
      command('backtest', 'show which alerts of a rule file would have fired over history; stores nothing'),
    ),
  )
    .addHelpText(
      'after',
      `
The rules are evaluated at every tick of the range, as if they had been stored at --from. Recording rules are evaluated
too, and rules after them read their results. Exits with 1 when a rule fails in a tick.`,
    )
    .action(async (file: string, options: CommonOptions & ApiKeyOptions & HistoryOptions) => {
      const groups = groupsOf(file, options);
      const store = new RemoteReadStore(TenantApi.of(options));
      const recorded: Record<string, number> = {};
      const result = await evaluateHistory(groups, options, store, async (part) => {
        for (const { labels, timestamps } of part.recorded) {
          const [, name] = labels.find(([label]) => label === METRIC_NAME)!;
          recorded[name] = (recorded[name] ?? 0) + timestamps.length;
        }
      });
      const summary = summaryOf(result, recorded, options);
      print(options, summary, textOf);
      if (result.failures.length > 0) process.exitCode = 1;
    });
}

/** JSON output of the command. Times are in ISO format. */
export type BacktestResult = ReturnType<typeof summaryOf>;

function summaryOf(
  { ticks, alerts, neverFired, failures }: Backtest,
  recorded: Readonly<Record<string, number>>,
  { from, to }: HistoryOptions,
) {
  return {
    from: isoOf(from),
    to: isoOf(to),
    evaluations: ticks,
    alerts: alerts.map(({ group, labels, annotations, value, activeAtMs, firedAtMs, resolvedAtMs }) => ({
      group,
      labels: Object.fromEntries(labels),
      annotations: Object.fromEntries(annotations),
      value: formatFloat(value, 'g', -1),
      activeAt: isoOf(activeAtMs),
      firedAt: isoOf(firedAtMs),
      ...(resolvedAtMs !== undefined && { resolvedAt: isoOf(resolvedAtMs) }),
    })),
    /** Number of alerts that became pending but never fired. */
    neverFired,
    /** Number of samples that each rule recorded, by the rule's name, stale markers included. */
    recorded,
    failures,
  };
}

function textOf({ evaluations, alerts, neverFired, recorded, failures }: BacktestResult): string {
  const rows = alerts.map(({ group, labels, value, activeAt, firedAt, resolvedAt = 'still firing' }) => {
    const { alertname, ...rest } = labels;
    const text = Object.entries(rest).map(([name, each]) => `${name}=${JSON.stringify(each)}`);
    return [group, alertname!, activeAt, firedAt, resolvedAt, value, text.join(', ')];
  });
  const head = ['group', 'alert', 'active', 'fired', 'resolved', 'value', 'labels'];
  return [
    ...(rows.length === 0 ? [] : [table(head, rows), '']),
    `${evaluations} evaluations: ${alerts.length} alerts would have fired, ${neverFired} more only became pending`,
    ...Object.entries(recorded).map(([name, samples]) => `${name}: ${samples} samples`),
    ...failureLines(failures),
  ].join('\n');
}
