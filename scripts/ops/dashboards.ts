import { Command } from 'commander';
import { importDashboardsCommand } from './dashboards/import';

/** The command `ops dashboards` with its subcommands. */
export function dashboardsCommands(): Command {
  return new Command('dashboards')
    .description('import Grafana dashboards; mkr dashboards pulls and pushes those of Mackerel')
    .addCommand(importDashboardsCommand());
}
