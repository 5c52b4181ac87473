import type { Context } from 'aws-lambda';
import * as z from 'zod';
import { firstDayToLookAt, partitionsToLookAt } from '../../shared/archive/look';
import { type ArchiveCount, archivePartitions } from '../../shared/archive/partitions';
import { rollUpPartitions } from '../../shared/archive/rollup';
import { archiveDependencies } from '../../shared/compose/archive';
import { FORMATS } from '../../shared/model/formats';
import { allPartitions, rotated } from '../../shared/model/partitions';
import type { PartitionRef } from '../../shared/model/placement';
import { formatToWrite, settings } from '../../shared/platform/environment';
import { parseEvent } from '../../shared/platform/event';
import { log } from '../../shared/platform/log';
import { count, withMetrics } from '../../shared/platform/meters';

const { archiveAfter, purgeAfter, maxSampleAge, retention, archivePartBytes, ...formats } = settings();
const dependencies = archiveDependencies();

const isInParts = formatToWrite(FORMATS.manifest.writes, formats.manifestFormat) !== 1;
const seals = formatToWrite(FORMATS.seal.writes, formats.sealFormat) === 1;
/** No day is begun with less time left; then some is kept to finish the parts in hand, and to note them. */
const [MARGIN_MS, STOP_MS] = [120_000, 60_000];

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
  const tenants = await dependencies.tenants.list();
  const retentions = new Map(tenants.map(({ id, retentionMs }) => [id, retentionMs ?? retention]));
  const all = allPartitions(tenants);
  // An operator's command looks at every day of all.
  const isAll = before !== undefined;
  const some = isAll ? all : partitionsToLookAt(all, await dependencies.recovery.registered(), nowMs);
  const partitions = rotated(some, Math.random());
  const fromDay = (ref: PartitionRef) =>
    isAll ? undefined : firstDayToLookAt(ref, nowMs, archiveAfter + maxSampleAge);
  const active = new Set<PartitionRef>();
  const hasTime = () => left() > MARGIN_MS;
  const { lagMs, ...result } = await archivePartitions(dependencies, partitions, {
    beforeMs: before ?? nowMs - archiveAfter,
    fromDay,
    archiveAfterMs: archiveAfter,
    retentionMs: ({ tenantId }) => retentions.get(tenantId)!,
    partBytes: isInParts ? archivePartBytes : Number.POSITIVE_INFINITY,
    purgeAgeMs: purge ? purgeAfter : undefined,
    hasTime,
    mustStop: () => left() < STOP_MS,
    onActive: (ref) => active.add(ref),
    onExpired: ({ tenantId, partition }, day, removed) =>
      log.info('a partition-day is past the retention', { tenantId, partition, day, ...removed }),
    onFailure: ({ partition }, day, error) =>
      log.error('a partition-day stays open', { day, partition, error }),
  });
  const isBehind = (ref: PartitionRef) => active.has(ref) || fromDay(ref) === undefined;
  const rolled = await rollUpPartitions(dependencies, partitions.filter(isBehind), {
    hasTime,
    seals,
    onFailure: ({ partition }, subject, error) =>
      log.error('seals, or rollups of a day, month or year, stay as they were', {
        subject,
        partition,
        error,
      }),
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
