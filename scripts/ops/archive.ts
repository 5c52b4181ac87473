import type { Command } from 'commander';
import type { ArchiveResult } from '../../functions/archiver/handler';
import type { ArchivePlace, ReopenSlice } from '../../shared/operations/archive-commands';
import { archiveSql } from './archive-sql';
import {
  requireSame,
  tenantNames,
  type VerifyOptions,
  type VerifyResult,
  verifyArchive,
  verifyText,
} from './archive-verify';
import { type CommonOptions, command, progress, run } from './command';
import { type Functions, OperatorError } from './invoke';
import { parseTime } from './option-values';

export interface ArchiveOptions {
  /** Only UTC days that end by this time, ms. */
  readonly before: number;
  readonly purge: boolean;
}

export interface ArchiveTotals {
  readonly archived: number;
  readonly purged: number;
  /** Partition-days whose warm items stay: not yet `purgeAfter` in the manifest, or changed since. */
  readonly unpurged: number;
  /** Partition-days that were removed, being past the retention. */
  readonly expired: number;
}

const MAX_IDLE_SLICES = 10;

/** Later than any day. */
const ALL_DAYS_MS = 8_640_000_000_000_000;

/** Days of a former format. */
export interface Reopened extends Omit<ReopenSlice, 'next'> {
  readonly isDryRun: boolean;
}

type ArchiveCommandOptions = CommonOptions & {
  readonly before?: number;
  readonly purge: boolean;
  readonly rewrite?: boolean;
  readonly tenant?: string;
  readonly dryRun?: boolean;
};

/** `ops archive`. */
export function archiveCommand(): Command {
  return command('archive', 'archive the warm tier now, a UTC day at a time')
    .enablePositionalOptions()
    .option(
      '--before <time>',
      'only days that end by this time, ISO or epoch seconds (default: every day)',
      parseTime,
    )
    .option(
      '--purge',
      'also remove the warm items that have been verified in the archive for longer than the setting purgeAfter (15m)',
      false,
    )
    .option(
      '--rewrite',
      'first open the days whose objects are of a former format, so that they are written again; may be stopped and repeated',
    )
    .option('--tenant <name>', 'with --rewrite, only this tenant (default: every tenant)')
    .option('--dry-run', 'with --rewrite, say what it would open and change nothing')
    .action((options: ArchiveCommandOptions) => {
      if (options.rewrite)
        return run(options, (functions) => rewriteArchive(functions, options), rewriteText);
      for (const name of ['tenant', 'dryRun'] as const)
        if (options[name] !== undefined)
          throw new OperatorError(`--${name === 'dryRun' ? 'dry-run' : name} goes with --rewrite`);
      return run(
        options,
        (functions) =>
          archive(functions, { before: options.before ?? ALL_DAYS_MS, purge: options.purge }, progress),
        (totals) => archiveText(totals, options.purge),
      );
    })
    .addCommand(verifyCommand())
    .addCommand(sqlCommand());
}

/** `ops archive verify`. */
function verifyCommand(): Command {
  return command(
    'verify',
    'read the archive back and compare it with the manifest; exit with 1 if it differs',
  )
    .option('--tenant <name>', 'only this tenant (default: every tenant)')
    .option('--from <day>', 'only from this UTC day on, such as 2026-11-21')
    .option('--to <day>', 'only up to this UTC day, included')
    .action(async (options: CommonOptions & VerifyOptions) => {
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
  return command(
    'sql',
    'print SQL that reads the archive in the bucket: a table for Athena, a query for DuckDB',
  )
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

/** Opens the days of a former format, then archives until none is open. */
export async function rewriteArchive(
  functions: Functions,
  { before = ALL_DAYS_MS, purge, tenant, dryRun = false }: Omit<ArchiveCommandOptions, keyof CommonOptions>,
): Promise<{ readonly reopened: Reopened; readonly archived?: ArchiveTotals }> {
  const reopened = { days: 0, samples: 0, bytes: 0, isDryRun: dryRun };
  for (const name of await tenantNames(functions, tenant))
    for (let after: ReopenSlice['next'] | undefined; after !== null; ) {
      const event = { command: 'archive reopen', tenant: name, dryRun, after };
      const slice: ReopenSlice = await functions.invoke('operator', event);
      reopened.days += slice.days;
      reopened.samples += slice.samples;
      reopened.bytes += slice.bytes;
      after = slice.next;
      if (after !== null) progress(`${reopened.days} partition-days of a former format so far`);
    }
  // Days that an earlier run opened remain to be archived, whether this one found more or not.
  return dryRun
    ? { reopened }
    : { reopened, archived: await archive(functions, { before, purge }, progress) };
}

function rewriteText({ reopened, archived }: Awaited<ReturnType<typeof rewriteArchive>>): string {
  const { days, samples, bytes, isDryRun } = reopened;
  const found = `${days} partition-days of a former format, ${samples} samples, ${bytes} bytes`;
  return isDryRun ? `would open ${found}` : `opened ${found}; archived ${archived!.archived} partition-days`;
}

function archiveText({ archived, purged, unpurged, expired }: ArchiveTotals, isPurge: boolean): string {
  const purge = `, purged ${purged} warm items; ${unpurged} partition-days keep theirs for now`;
  const removed = expired > 0 ? `; removed ${expired} partition-days past the retention` : '';
  return `archived ${archived} partition-days${isPurge ? purge : ''}${removed}`;
}

/** Archives the warm tier, slice by slice. With `purge` it removes what is verified in the archive. */
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
