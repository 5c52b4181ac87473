import { Command } from 'commander';
import { backfillCommand } from './rules/backfill';
import { backtestCommand } from './rules/backtest';
import { checkCommand } from './rules/check';
import { listCommand } from './rules/list';
import { syncCommand } from './rules/sync';
import { testCommand } from './rules/test';

/** The command `ops rules` with its subcommands. */
export function rulesCommands(): Command {
  return new Command('rules')
    .description("check, test and upload recording and alerting rules in Prometheus' format")
    .addCommand(checkCommand())
    .addCommand(testCommand())
    .addCommand(syncCommand())
    .addCommand(listCommand())
    .addCommand(backtestCommand())
    .addCommand(backfillCommand());
}
