import type { Context } from 'aws-lambda';
import * as z from 'zod';
import { firstDayToLookAt } from '../../shared/archive/look';
import { type ArchiveCount, archivePartitions } from '../../shared/archive/partitions';
import { rollUpPartitions } from '../../shared/archive/rollup';
import { archiveDependencies } from '../../shared/compose/archive';
import { FORMATS } from '../../shared/model/formats';
import { allPartitions, rotated } from '../../shared/model/partitions';
import { formatToWrite, settings } from '../../shared/platform/environment';
import { parseEvent } from '../../shared/platform/event';
import { log } from '../../shared/platform/log';
import { count, withMetrics } from '../../shared/platform/meters';

const { archiveAfter, purgeAfter, maxSampleAge, retention, manifestFormat, archivePartBytes } = settings();
const { rollups, ...dependencies } = archiveDependencies();

const isInParts = formatToWrite(FORMATS.manifest.writes, manifestFormat) !== 1;

/** No day is begun with less time left. */
const MARGIN_MS = 120_000;
/** Time kept to finish the parts in hand, and to note them. */
const STOP_MS = 60_000;

const eventSchema = z.object({
  /** Archive the UTC days that end by then, ms; by default those that ended `archiveAfter` ago. */
  before: z.number().int().optional(),
  /** Also remove the warm items that are verified in the archive. */
  purge: z.boolean().default(false),
});

export type ArchiveResult = Omit<ArchiveCount, 'lagMs'>;

export const handler = withMetrics('archiver', archive);

async function archive(event: unknown, context: Context): Promise<ArchiveResult> {
  const { before, purge } = parseEvent(eventSchema, event ?? {});
  const nowMs = Date.now();
  const left = () => context.getRemainingTimeInMillis();
  const partitions = rotated(allPartitions(await dependencies.tenants.list()), Math.random());
  const hasTime = () => left() > MARGIN_MS;
  const { lagMs, ...result } = await archivePartitions(dependencies, partitions, {
    beforeMs: before ?? nowMs - archiveAfter,
    // An operator's command looks at every day.
    fromDay: (ref) =>
      before === undefined ? firstDayToLookAt(ref, nowMs, archiveAfter + maxSampleAge) : undefined,
    archiveAfterMs: archiveAfter,
    retentionMs: retention,
    partBytes: isInParts ? archivePartBytes : Number.POSITIVE_INFINITY,
    purgeAgeMs: purge ? purgeAfter : undefined,
    hasTime,
    mustStop: () => left() < STOP_MS,
    onExpired: ({ tenantId, partition }, day, removed) =>
      log.info('a partition-day is past the retention', { tenantId, partition, day, ...removed }),
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
    DaysExpired: result.expired,
    WarmItemsPurged: result.purged,
    SpansRolledUp: rolled.rolledUp,
    SpansLeft: rolled.left,
    ArchiveLagSeconds: Math.round(lagMs / 1000),
  });
  return result;
}
