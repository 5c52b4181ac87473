import type { ArchiveResult } from '../../functions/archiver/handler';
import { type Functions, OperatorError } from './invoke';

export interface ArchiveOptions {
  /** Archive the UTC days that end by then, ms. */
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

/** Archives everything warm, slice by slice, and with `purge` removes what is verified in the archive. */
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
        `${slice.remaining + slice.failed} partition-days do not get archived; the archiver's log says why`,
      );
  }
}
