import { Command } from 'commander';
import { checkCommand } from './rules/check';
import { testCommand } from './rules/test';

/** `ops rules check | test`. */
export function rulesCommands(): Command {
  return new Command('rules')
    .description("recording and alerting rules in Prometheus' format")
    .addCommand(checkCommand())
    .addCommand(testCommand());
}
