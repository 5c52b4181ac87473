import { Command } from 'commander';
import { version } from '../../package.json';
import { archiveCommand } from './archive';
import { connectCommand } from './connect';
import { costCommand } from './cost';
import { dashboardsCommands } from './dashboards';
import { deleteCommand } from './delete';
import { drainCommand } from './drain';
import { importCommand } from './import';
import { keyCommands } from './keys';
import { preflightCommand } from './preflight';
import { quarantineCommands } from './quarantine';
import { quotasCommand } from './quotas';
import { rebuildIndexCommand } from './rebuild-index';
import { replayCommand } from './replay';
import { rulesCommands } from './rules';
import { scaleCommand } from './scale';
import { smokeCommand } from './smoke';
import { statusCommand } from './status';
import { tenantCommands } from './tenants';
import { usageCommand } from './usage';
import { whereCommand } from './where';

/**
 * Creates the program `ops` with all its commands. Create a new program for each command line, because commander keeps
 * the options that it has parsed.
 */
export function opsProgram(): Command {
  const commands = [
    statusCommand(),
    drainCommand(),
    smokeCommand(),
    connectCommand(),
    archiveCommand(),
    whereCommand(),
    importCommand(),
    deleteCommand(),
    replayCommand(),
    quarantineCommands(),
    tenantCommands(),
    keyCommands(),
    usageCommand(),
    rulesCommands(),
    dashboardsCommands(),
    scaleCommand(),
    preflightCommand(),
    costCommand(),
    quotasCommand(),
    rebuildIndexCommand(),
  ];
  const program = new Command('ops')
    .version(version)
    .enablePositionalOptions()
    .description(
      'Operator commands of HeteroTSDB. A command exits with 0 on success, else with 1 and an error message on stderr. If Ctrl-C ends it, it exits with 130.',
    );
  for (const command of commands) program.addCommand(command);
  return program;
}
