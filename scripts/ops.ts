import { Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '../shared/model/duration';
import type { Tier } from '../shared/query/read';
import type { TierPlaces } from '../shared/query/where';
import type { RecoveryStatus } from '../shared/recovery/replay';
import { archive } from './ops/archive';
import { type CommonOptions, command, parseTime, progress, run } from './ops/command';
import { costCommand } from './ops/cost';
import { type DeleteOptions, deleteSamples, deletionText } from './ops/delete';
import { drain } from './ops/drain';
import { OperatorError } from './ops/invoke';
import { keyCommands } from './ops/keys';
import { quarantineCommands } from './ops/quarantine';
import { progressLine, replay } from './ops/replay';
import { smoke } from './ops/smoke';
import { tenantCommands } from './ops/tenants';
import { usageCommand } from './ops/usage';
import { whereTable } from './ops/where';

const DAY_MS = 86_400_000;

function parsePatience(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('give a duration such as 60s.');
  return ms;
}

const program = new Command('ops')
  .description('Operator commands of HeteroTSDB')
  .addCommand(
    command('drain', 'flush everything hot to the warm tier now')
      .option('--host <id>', "only this host's partition")
      .option('--tenant <name>', 'whose host it is', 'default')
      .action((options: CommonOptions & { host?: string; tenant: string }) =>
        run(
          options,
          (functions) =>
            drain(
              functions,
              progress,
              options.host === undefined ? undefined : { tenant: options.tenant, id: options.host },
            ),
          ({ windows, samples, bytes }) =>
            `drained ${windows} group-windows: ${samples} samples in ${bytes} bytes`,
        ),
      ),
  )
  .addCommand(
    command('smoke', 'post a sample, read it from memory, drain its partition, read it from the warm tier')
      .addOption(
        new Option('--key <key>', 'an API key that may read and write')
          .env('HETEROTSDB_KEY')
          .makeOptionMandatory(),
      )
      .option('--tenant <name>', "the key's tenant", 'default')
      .option('--patience <duration>', 'how long the sample may take to be readable', parsePatience, 60_000)
      .action((options: CommonOptions & { key: string; tenant: string; patience: number }) =>
        run(
          options,
          (functions) => smoke(functions, { ...options, patienceMs: options.patience }, progress),
          ({ postMs, readableMs, drained }) =>
            `posted in ${postMs} ms, read from memory after ${readableMs} ms, drained ${drained} group-windows, read from the warm tier`,
        ),
      ),
  )
  .addCommand(
    command('archive', 'archive everything warm now, a UTC day at a time')
      .option('--before <time>', 'only days that end by then (ISO time); default: all', parseTime)
      .option(
        '--purge',
        'also remove the warm items verified in the archive for longer than purgeAfter',
        false,
      )
      .action((options: CommonOptions & { before?: number; purge: boolean }) =>
        run(
          options,
          (functions) =>
            archive(
              functions,
              { before: options.before ?? 8_640_000_000_000_000, purge: options.purge },
              progress,
            ),
          ({ archived, purged, unpurged }) =>
            `archived ${archived} partition-days` +
            (options.purge
              ? `, purged ${purged} warm items, ${unpurged} partition-days keep theirs for now`
              : ''),
        ),
      ),
  )
  .addCommand(
    command('replay', 'read the stream again; harmless, since versions decide')
      .option('--from <time>', 'stream arrival time; default: all that the stream has', parseTime)
      .option('--to <time>', 'not included; default: all that has arrived by now', parseTime)
      .option('--status', 'show the last loss and replay, and start nothing')
      .option('--stop', 'end the running replay')
      .option('--abandon', 'with --stop: give up what was lost, or it starts again within a minute')
      .action((options: CommonOptions & ReplayCommandOptions) => {
        if (options.from !== undefined && options.to !== undefined && options.from >= options.to)
          throw new OperatorError('--from must be before --to');
        if (options.abandon && !options.stop) throw new OperatorError('--abandon belongs to --stop');
        return run(
          options,
          (functions) => {
            if (options.stop)
              return functions.invoke<RecoveryStatus>('recovery', {
                action: 'stop',
                abandon: options.abandon ?? false,
              });
            if (options.status) return functions.invoke<RecoveryStatus>('recovery', { action: 'status' });
            return replay(functions, { from: options.from ?? 0, to: options.to }, progress);
          },
          progressLine,
        );
      }),
  )
  .addCommand(quarantineCommands())
  .addCommand(
    command('delete', 'delete samples that were posted until now, in every tier; what is posted later stays')
      .option('--host <id>', 'the host that posted them')
      .option('--service <name>', 'or the service')
      .option('--name <metric>', 'name of the metric; custom.foo.* is all that begin so')
      .option('--all-names', 'or every metric')
      .option('--tenant <name>', 'whose they are', 'default')
      .option('--from <time>', 'ISO time or epoch seconds; default: the first sample', parseTime)
      .option('--to <time>', 'ISO time or epoch seconds, not included; default: the last', parseTime)
      .option('--dry-run', 'count what would be deleted')
      .option('--yes', 'also when it is more than one metric')
      .action((options: CommonOptions & DeleteOptions) =>
        run(options, (functions) => deleteSamples(functions, options), deletionText),
      ),
  )
  .addCommand(
    command('where', 'show which tiers hold the samples of a metric, and in which keys, items and objects')
      .option('--host <id>', 'the host that posts it')
      .option('--service <name>', 'or the service')
      .requiredOption('--name <metric>', 'name of the metric')
      .option('--tenant <name>', 'whose it is', 'default')
      .option('--from <time>', 'ISO time or epoch seconds; default: all that is retained', parseTime)
      .option('--to <time>', 'ISO time or epoch seconds, not included; default: a day ahead', parseTime)
      .action((options: CommonOptions & WhereOptions) => {
        if ((options.host === undefined) === (options.service === undefined))
          throw new OperatorError('give either --host or --service');
        return run(
          options,
          (functions) =>
            functions.invoke<Record<Tier, TierPlaces>>('operator', {
              command: 'where',
              tenant: options.tenant,
              host: options.host,
              service: options.service,
              name: options.name,
              from: options.from ?? 0,
              to: options.to ?? Date.now() + DAY_MS,
            }),
          whereTable,
        );
      }),
  )
  .addCommand(tenantCommands())
  .addCommand(keyCommands())
  .addCommand(usageCommand())
  .addCommand(costCommand());

interface ReplayCommandOptions {
  readonly from?: number;
  readonly to?: number;
  readonly status?: boolean;
  readonly stop?: boolean;
  readonly abandon?: boolean;
}

interface WhereOptions {
  readonly host?: string;
  readonly service?: string;
  readonly name: string;
  readonly tenant: string;
  readonly from?: number;
  readonly to?: number;
}

program.parseAsync().catch((error: unknown) => {
  console.error(error instanceof OperatorError ? `ops: ${error.message}` : error);
  process.exitCode = 1;
});
