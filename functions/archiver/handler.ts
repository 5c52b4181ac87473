import type { Context } from 'aws-lambda';
import * as z from 'zod';
import { type ArchiveCount, archivePartitions } from '../../shared/archive/partitions';
import { Catalogue } from '../../shared/catalogue/catalogue';
import { ColdTier } from '../../shared/cold/cold-tier';
import { Manifest } from '../../shared/cold/manifest';
import { objectStore } from '../../shared/compose/object-store';
import { metaTable, warmTable } from '../../shared/compose/tables';
import { allPartitions, rotated } from '../../shared/model/partitions';
import { settings, variable } from '../../shared/platform/environment';
import { parseEvent } from '../../shared/platform/event';
import { log } from '../../shared/platform/log';
import { count, withMetrics } from '../../shared/platform/meters';
import { ENV } from '../../shared/platform/names';
import { Tenants } from '../../shared/tenancy/tenants';
import { WarmTier } from '../../shared/warm/warm-tier';

const { archiveAfter, purgeAfter, retention, warmTtl } = settings();
const table = metaTable();
const tenants = new Tenants(table);
const dependencies = {
  warm: new WarmTier(warmTable(), warmTtl),
  cold: new ColdTier(objectStore(), variable(ENV.bucket)),
  catalogue: new Catalogue(table, retention),
  manifest: new Manifest(table),
  now: Date.now,
};

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
  const partitions = rotated(allPartitions(await tenants.list()), Math.random());
  const { lagMs, ...result } = await archivePartitions(dependencies, partitions, {
    beforeMs: before,
    archiveAfterMs: archiveAfter,
    purgeAgeMs: purge ? purgeAfter : undefined,
    hasTime: () => context.getRemainingTimeInMillis() > MARGIN_MS,
    onFailure: ({ partition }, day, error) =>
      log.error('a partition-day stays open', { day, partition, error }),
  });
  count('archiver', {
    DaysArchived: result.archived,
    DaysFailed: result.failed,
    WarmItemsPurged: result.purged,
    ArchiveLagSeconds: Math.round(lagMs / 1000),
  });
  return result;
}
