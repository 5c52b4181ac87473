import { Command } from 'commander';
import { checkCommand } from './rules/check';
import { listCommand } from './rules/list';
import { syncCommand } from './rules/sync';
import { testCommand } from './rules/test';

/** `ops rules check | test | sync | list`. */
export function rulesCommands(): Command {
  return new Command('rules')
    .description("recording and alerting rules in Prometheus' format")
    .addCommand(checkCommand())
    .addCommand(testCommand())
    .addCommand(syncCommand())
    .addCommand(listCommand());
}
