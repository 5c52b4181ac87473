import './local/node-version';
import { Command } from 'commander';
import { archiveCommand } from './ops/archive';
import { connectCommand } from './ops/connect';
import { costCommand } from './ops/cost';
import { deleteCommand } from './ops/delete';
import { drainCommand } from './ops/drain';
import { importCommand } from './ops/import';
import { OperatorError } from './ops/invoke';
import { keyCommands } from './ops/keys';
import { quarantineCommands } from './ops/quarantine';
import { quotasCommand } from './ops/quotas';
import { rebuildIndexCommand } from './ops/rebuild-index';
import { replayCommand } from './ops/replay';
import { rulesCommands } from './ops/rules';
import { scaleCommand } from './ops/scale';
import { smokeCommand } from './ops/smoke';
import { statusCommand } from './ops/status';
import { tenantCommands } from './ops/tenants';
import { usageCommand } from './ops/usage';
import { whereCommand } from './ops/where';

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
  scaleCommand(),
  costCommand(),
  quotasCommand(),
  rebuildIndexCommand(),
];

const program = new Command('ops')
  .enablePositionalOptions()
  .description(
    'Operator commands of HeteroTSDB. Each exits with 0 when it did what it says, else with 1 and one sentence on stderr.',
  );
for (const command of commands) program.addCommand(command);

program.parseAsync().catch((error: unknown) => {
  console.error(error instanceof OperatorError ? `ops: ${error.message}` : error);
  process.exitCode = 1;
});
