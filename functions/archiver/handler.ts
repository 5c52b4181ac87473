import type { Context } from 'aws-lambda';
import * as z from 'zod';
import { type ArchiveCount, archivePartitions } from '../../shared/archive/partitions';
import { rollUpPartitions } from '../../shared/archive/rollup';
import { archiveDependencies } from '../../shared/compose/archive';
import { allPartitions, rotated } from '../../shared/model/partitions';
import { settings } from '../../shared/platform/environment';
import { parseEvent } from '../../shared/platform/event';
import { log } from '../../shared/platform/log';
import { count, withMetrics } from '../../shared/platform/meters';

const { archiveAfter, purgeAfter } = settings();
const { rollups, ...dependencies } = archiveDependencies();

/** Time kept for the days in hand when a slice of work ends. */
const MARGIN_MS = 120_000;

const eventSchema = z.object({
  /** Archive the UTC days that end by then, ms; by default those that ended `archiveAfter` ago. */
  before: z.number().int().optional(),
  /** Also remove the warm items that are verified in the archive. */
  purge: z.boolean().default(false),
});

export type ArchiveResult = Omit<ArchiveCount, 'lagMs'>;

export const handler = withMetrics('archiver', archive);

async function archive(event: unknown, context: Context): Promise<ArchiveResult> {
  const { before = Date.now() - archiveAfter, purge } = parseEvent(eventSchema, event ?? {});
  const partitions = rotated(allPartitions(await dependencies.tenants.list()), Math.random());
  const hasTime = () => context.getRemainingTimeInMillis() > MARGIN_MS;
  const { lagMs, ...result } = await archivePartitions(dependencies, partitions, {
    beforeMs: before,
    archiveAfterMs: archiveAfter,
    purgeAgeMs: purge ? purgeAfter : undefined,
    hasTime,
    onFailure: ({ partition }, day, error) =>
      log.error('a partition-day stays open', { day, partition, error }),
  });
  const rolled =
    rollups === undefined
      ? { rolledUp: 0, left: 0 }
      : await rollUpPartitions({ ...dependencies, rollups }, partitions, {
          hasTime,
          onFailure: ({ partition }, { name }, error) =>
            log.error('rollups of a month or year stay as they were', { span: name, partition, error }),
        });
  count('archiver', {
    DaysArchived: result.archived,
    DaysFailed: result.failed,
    WarmItemsPurged: result.purged,
    SpansRolledUp: rolled.rolledUp,
    SpansLeft: rolled.left,
    ArchiveLagSeconds: Math.round(lagMs / 1000),
  });
  return result;
}
