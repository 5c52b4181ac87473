import type { Context } from 'aws-lambda';
import * as z from 'zod';
import { type ArchiveCount, archivePartitions } from '../../shared/archive/partitions';
import { mustRollUp, rollUpPartitions } from '../../shared/archive/rollup';
import { archiveDependencies } from '../../shared/compose/archive';
import { allPartitions, rotate } from '../../shared/model/partitions';
import type { PartitionRef } from '../../shared/model/placement';
import { settings } from '../../shared/platform/environment';
import { parseEvent } from '../../shared/platform/event';
import { count, withMetrics } from '../../shared/platform/function-metrics';
import { log } from '../../shared/platform/log';
import { retentionOf } from '../../shared/tenancy/tenants';

const { archiveAfter, purgeAfter, retention, archivePartBytes } = settings();
const dependencies = archiveDependencies();

/**
 * Thresholds for the time that an invocation has left, in ms. With less than MARGIN_MS left, the archiver starts no
 * further day. With less than STOP_MS left, it stops in the middle of a day: it completes the parts in progress, and
 * saves its attempt for the next invocation.
 */
const [MARGIN_MS, STOP_MS] = [120_000, 60_000];

const eventSchema = z.object({
  /**
   * Only UTC days that end at this time or earlier are archived, as Unix time in ms. The default is `archiveAfter`
   * before now.
   */
  before: z.number().int().optional(),
  /** Whether to purge too. A purge removes warm items whose samples have been read back from the archive. */
  purge: z.boolean().default(false),
});

export type ArchiveResult = Omit<ArchiveCount, 'lagMs'>;

/**
 * Archives days, rolls them up, and removes expired days. The schedule invokes it each hour; `ops archive` invokes it
 * on demand.
 */
export const handler = withMetrics('archiver', archive);

async function archive(event: unknown, context: Context): Promise<ArchiveResult> {
  const { before, purge } = parseEvent(eventSchema, event ?? {});
  const left = () => context.getRemainingTimeInMillis();
  const tenants = await dependencies.tenants.list();
  const retentions = new Map(tenants.map((tenant) => [tenant.id, retentionOf(tenant, retention)]));
  const partitions = rotate(allPartitions(tenants), Math.random());
  const toRollUp = new Set<PartitionRef>();
  const hasTime = () => left() > MARGIN_MS;
  const { lagMs, ...result } = await archivePartitions(dependencies, partitions, {
    beforeMs: before ?? Date.now() - archiveAfter,
    archiveAfterMs: archiveAfter,
    retentionMs: ({ tenantId }) => retentions.get(tenantId)!,
    partBytes: archivePartBytes,
    purgeAgeMs: purge ? purgeAfter : undefined,
    hasTime,
    mustStop: () => left() < STOP_MS,
    onDays: async (ref, days) => {
      if (await mustRollUp(dependencies, ref, days)) toRollUp.add(ref);
    },
    onChanged: (ref) => toRollUp.add(ref),
    onExpired: ({ tenantId, partition }, day, removed) =>
      log.info('a partition-day was removed after its retention', { tenantId, partition, day, ...removed }),
    onFailure: ({ partition }, day, error) =>
      log.error('a partition-day stays open', { day, partition, error }),
  });
  const rolled = await rollUpPartitions(dependencies, [...toRollUp], {
    hasTime,
    onFailure: ({ partition }, subject, error) =>
      log.error('rollups of a span stay as they were', { subject, partition, error }),
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
