import type { Command } from 'commander';
import type { ArchiveResult } from '../../functions/archiver/handler';
import type { ArchivePlace } from '../../shared/operations/archive-commands';
import { archiveSql } from './archive-sql';
import {
  requireSame,
  type VerifyOptions,
  type VerifyResult,
  verifyArchive,
  verifyText,
} from './archive-verify';
import { type CommonOptions, command, progress, run } from './command';
import { type Functions, OperatorError } from './invoke';
import { parseDay, parseTime } from './option-values';
import { interruptibleSlices } from './signals';

export interface ArchiveOptions {
  /** Archives only UTC days that end by this time, in ms. */
  readonly before: number;
  readonly purge: boolean;
}

export interface ArchiveTotals {
  readonly archived: number;
  readonly purged: number;
  /**
   * Number of partition-days whose warm items were kept, because the days were archived less than `purgeAfter` ago or
   * have changed since.
   */
  readonly unpurged: number;
  /** Number of partition-days that were deleted because they are past the retention. */
  readonly expired: number;
}

const MAX_IDLE_SLICES = 10;

/** A time that is later than the end of any day. */
const ALL_DAYS_MS = 8_640_000_000_000_000;

type ArchiveCommandOptions = CommonOptions & {
  readonly before?: number;
  readonly purge: boolean;
};

/** `ops archive`. */
export function archiveCommand(): Command {
  return command('archive', "archive the warm tier's UTC days now")
    .enablePositionalOptions()
    .option(
      '--before <time>',
      'archive only days that end by this time, ISO time (UTC by default) or Unix time in seconds (default: all days)',
      parseTime,
    )
    .option(
      '--purge',
      'also delete warm items that were verified in the archive longer ago than the setting purgeAfter (15m)',
      false,
    )
    .action((options: ArchiveCommandOptions) =>
      run(
        options,
        (functions) =>
          interruptibleSlices(
            'The archiver finishes what it has begun. To go on, run the command again.',
            (tell) =>
              archive(functions, { before: options.before ?? ALL_DAYS_MS, purge: options.purge }, tell),
          ),
        (totals) => archiveText(totals, options.purge),
      ),
    )
    .addCommand(verifyCommand())
    .addCommand(sqlCommand());
}

/** `ops archive verify`. */
function verifyCommand(): Command {
  return command(
    'verify',
    'read all archive objects and compare them with the manifest; exit with 1 if any differ',
  )
    .option('--tenant <name>', 'verify only this tenant (default: all tenants)')
    .option('--from <day>', 'first UTC day to verify, such as 2026-11-21', parseDay)
    .option('--to <day>', 'last UTC day to verify', parseDay)
    .action(async (options: CommonOptions & VerifyOptions) => {
      const { from, to } = options;
      if (from !== undefined && to !== undefined && from > to)
        throw new OperatorError(`--from ${from} is after --to ${to}`);
      let result: VerifyResult | undefined;
      const verify = async (functions: Functions) => {
        result = await verifyArchive(functions, options, progress);
        return result;
      };
      await run(options, verify, verifyText);
      requireSame(result!);
    });
}

/** `ops archive sql`. */
function sqlCommand(): Command {
  return command('sql', 'print SQL for reading the archive with Athena or DuckDB')
    .option('--tenant <name>', 'the tenant', 'default')
    .option('--region <region>', "the bucket's region (default: the environment's)")
    .action((options: CommonOptions & { readonly tenant: string; readonly region?: string }) =>
      run(
        options,
        async (functions) => {
          const event = { command: 'archive place', tenant: options.tenant };
          const place: ArchivePlace = await functions.invoke('operator', event);
          const region = options.region ?? process.env.AWS_REGION ?? process.env.AWS_DEFAULT_REGION;
          return archiveSql(place, region ?? 'us-east-1', Date.now());
        },
        ({ athena, duckdb }) => `-- Athena\n${athena}\n\n-- DuckDB\n${duckdb}`,
      ),
    );
}

function archiveText({ archived, purged, unpurged, expired }: ArchiveTotals, isPurge: boolean): string {
  const purge = `, purged ${purged} warm items; ${unpurged} partition-days cannot be purged yet`;
  const removed = expired > 0 ? `; removed ${expired} partition-days past the retention` : '';
  return `archived ${archived} partition-days${isPurge ? purge : ''}${removed}`;
}

/**
 * Archives the warm tier, slice by slice. With `purge`, also deletes warm items that are verified in the
 * archive.
 */
export async function archive(
  functions: Functions,
  { before, purge }: ArchiveOptions,
  progress: (line: string) => void,
): Promise<ArchiveTotals> {
  let archived = 0;
  let purged = 0;
  let expired = 0;
  for (let idle = 0; ; ) {
    const slice: ArchiveResult = await functions.invoke('archiver', { before, purge });
    archived += slice.archived;
    purged += slice.purged;
    expired += slice.expired;
    if (slice.remaining === 0 && slice.failed === 0)
      return { archived, purged, unpurged: slice.unpurged, expired };
    progress(`${archived} partition-days archived, ${slice.remaining} remain, ${slice.failed} failed`);
    idle = slice.archived === 0 ? idle + 1 : 0;
    if (idle === MAX_IDLE_SLICES)
      throw new OperatorError(
        `${slice.remaining + slice.failed} partition-days were not archived; the archiver's log says why`,
      );
  }
}
