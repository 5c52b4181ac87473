import type { Command } from 'commander';
import type { ArchiveResult } from '../../functions/archiver/handler';
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
}

const MAX_IDLE_SLICES = 10;

/** Later than any day. */
const ALL_DAYS_MS = 8_640_000_000_000_000;

/** `ops archive`. */
export function archiveCommand(): Command {
  return command('archive', 'archive the warm tier now, a UTC day at a time')
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
    .action((options: CommonOptions & { before?: number; purge: boolean }) =>
      run(
        options,
        (functions) =>
          archive(functions, { before: options.before ?? ALL_DAYS_MS, purge: options.purge }, progress),
        (totals) => archiveText(totals, options.purge),
      ),
    );
}

function archiveText({ archived, purged, unpurged }: ArchiveTotals, isPurge: boolean): string {
  const purge = `, purged ${purged} warm items; ${unpurged} partition-days keep theirs for now`;
  return `archived ${archived} partition-days${isPurge ? purge : ''}`;
}

/** Archives the warm tier, slice by slice. With `purge` it removes what is verified in the archive. */
export async function archive(
  functions: Functions,
  { before, purge }: ArchiveOptions,
  progress: (line: string) => void,
): Promise<ArchiveTotals> {
  let archived = 0;
  let purged = 0;
  for (let idle = 0; ; ) {
    const slice: ArchiveResult = await functions.invoke('archiver', { before, purge });
    archived += slice.archived;
    purged += slice.purged;
    if (slice.remaining === 0 && slice.failed === 0) return { archived, purged, unpurged: slice.unpurged };
    progress(`${archived} partition-days archived, ${slice.remaining} remain, ${slice.failed} failed`);
    idle = slice.archived === 0 ? idle + 1 : 0;
    if (idle === MAX_IDLE_SLICES)
      throw new OperatorError(
        `${slice.remaining + slice.failed} partition-days were not archived; the archiver's log says why`,
      );
  }
}
