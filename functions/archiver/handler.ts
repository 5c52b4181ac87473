import type { Context } from 'aws-lambda';
import * as z from 'zod';
import { archiveDay } from '../../shared/archive/execute';
import { purgeDay } from '../../shared/archive/purge';
import { Catalogue } from '../../shared/catalogue/catalogue';
import { ColdTier } from '../../shared/cold/cold-tier';
import { isOpen, Manifest, type ManifestDay } from '../../shared/cold/manifest';
import { objectStore } from '../../shared/compose/object-store';
import { DAY_MS } from '../../shared/model/duration';
import { allPartitions, rotated } from '../../shared/model/partitions';
import { dayStartMs, type PartitionRef } from '../../shared/model/placement';
import { metaTable, settings, variable, warmTable } from '../../shared/platform/environment';
import { parseEvent } from '../../shared/platform/event';
import { log } from '../../shared/platform/log';
import { count, withMetrics } from '../../shared/platform/meters';
import { ENV } from '../../shared/platform/names';
import { Tenants } from '../../shared/tenancy/tenants';
import { WarmTier } from '../../shared/warm/warm-tier';

const { archiveAfter, purgeAfter, retention, warmTtl } = settings();
const table = metaTable();
const tenants = new Tenants(table);
const manifest = new Manifest(table);
const dependencies = {
  warm: new WarmTier(warmTable(), warmTtl),
  cold: new ColdTier(objectStore(), variable(ENV.bucket)),
  catalogue: new Catalogue(table, retention),
  manifest,
  now: Date.now,
};

/** Time kept for the day in hand when a slice of work ends. */
const MARGIN_MS = 120_000;

const eventSchema = z.object({
  /** Archive the UTC days that end by then, ms; by default those that ended `archiveAfter` ago. */
  before: z.number().int().optional(),
  /** Also remove the warm items that are verified in the archive. */
  purge: z.boolean().default(false),
});

/** What a slice of archiving did; operator commands repeat it until nothing remains. */
export interface ArchiveResult {
  /** Partition-days archived. */
  readonly archived: number;
  /** Warm items removed. */
  readonly purged: number;
  /** Partition-days still to be archived. */
  readonly remaining: number;
  /** With `purge`: partition-days whose warm items are too young in the manifest, or not yet archived. */
  readonly unpurged: number;
  readonly failed: number;
}

export const handler = withMetrics('archiver', archive);

async function archive(event: unknown, context: Context): Promise<ArchiveResult> {
  const { before = Date.now() - archiveAfter, purge } = parseEvent(eventSchema, event ?? {});
  const hasTime = () => context.getRemainingTimeInMillis() > MARGIN_MS;
  let archived = 0;
  let purged = 0;
  let remaining = 0;
  let unpurged = 0;
  let failed = 0;
  let lagMs = 0;
  const each = async (work: (ref: PartitionRef, entry: ManifestDay) => Promise<void>) => {
    for (const ref of rotated(allPartitions(await tenants.list()), Math.random())) {
      for (const entry of await manifest.days(ref, '1970-01-01', '9999-12-31')) {
        if (dayStartMs(entry.day) + DAY_MS > before) continue;
        try {
          await work(ref, entry);
        } catch (error) {
          // The other days may be well.
          failed++;
          const place = { day: entry.day, partition: ref.partition };
          log.error('a partition-day stays open', { ...place, error: error as Error });
        }
      }
    }
  };
  await each(async (ref, entry) => {
    if (!isOpen(entry)) return;
    if (hasTime() && (await archiveDay(dependencies, ref, entry))) {
      archived++;
      return;
    }
    remaining++;
    lagMs = Math.max(lagMs, Date.now() - dayStartMs(entry.day) - DAY_MS - archiveAfter);
  });
  // After all is archived: to purge is less urgent.
  if (purge)
    await each(async (ref, entry) => {
      const { items, remains } = hasTime()
        ? await purgeDay(dependencies, ref, entry, purgeAfter)
        : { items: 0, remains: true };
      purged += items;
      if (remains) unpurged++;
    });
  count('archiver', {
    DaysArchived: archived,
    DaysFailed: failed,
    WarmItemsPurged: purged,
    ArchiveLagSeconds: Math.round(Math.max(0, lagMs) / 1000),
  });
  return { archived, purged, remaining, unpurged, failed };
}
