import { Command } from 'commander';
import { importDashboardsCommand } from './dashboards/import';

/** The command `ops dashboards` with its subcommands. */
export function dashboardsCommands(): Command {
  return new Command('dashboards')
    .description('import dashboards of Grafana; mkr dashboards pulls and pushes those of Mackerel')
    .addCommand(importDashboardsCommand());
}
