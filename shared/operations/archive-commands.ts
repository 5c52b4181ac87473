import { type ManifestDay, sizeOf } from '../cold/manifest';
import { verifyObject } from '../cold/verify';
import { type Day, maxPartitions, type PartitionRef } from '../model/placement';
import { bucketKeys } from '../platform/keys';
import type { Tenant } from '../tenancy/tenants';
import type { OperatorDependencies } from './operator-dependencies';
import type { OperatorCommand } from './operator-event';
import { requireTenant } from './tenant-commands';

/** The partition and day at which one slice of a command's work ended. The next slice continues after it. */
export interface ArchiveCursor {
  readonly partition: number;
  readonly day: Day;
}

/** An archive object that differs from its manifest entry. */
export interface ObjectDifference {
  readonly partition: number;
  readonly day: Day;
  readonly key: string;
  readonly problem: string;
}

/**
 * Result of verifying some partition-days of a tenant. `next` is the cursor from which to continue; null when
 * all are done.
 */
export interface VerifySlice {
  readonly objects: number;
  readonly samples: number;
  readonly bytes: number;
  readonly differences: readonly ObjectDifference[];
  readonly next: ArchiveCursor | null;
}

/** Location of a tenant's archive, for SQL tools. */
export interface ArchivePlace {
  readonly bucket: string;
  /** Prefix of the keys of the Parquet objects, up to `tenant=`. */
  readonly prefix: string;
  readonly tenant: string;
  readonly tenantId: string;
  /** First archived day; undefined when nothing is archived. */
  readonly firstDay: Day | undefined;
}

/** Reads every byte of a tenant's archive objects and compares them with the manifest. Changes nothing. */
export async function verifyArchive(
  dependencies: OperatorDependencies,
  { tenant: name, after, from, to }: OperatorCommand<'archive verify'>,
  hasTime: () => boolean,
): Promise<VerifySlice> {
  const { cold, manifest } = dependencies.read;
  const tenant = await requireTenant(dependencies.tenants, name);
  const total = { objects: 0, samples: 0, bytes: 0 };
  const differences: ObjectDifference[] = [];
  const next = await eachArchivedDay(
    dependencies,
    tenant,
    after,
    hasTime,
    async (ref, { day, committed }) => {
      if (day < from || day > to) return;
      for (let known = committed; ; ) {
        const entry = await manifest.get(ref, day);
        const parts = entry?.archived?.parts ?? [];
        const found: ObjectDifference[] = [];
        for (const part of parts) {
          const problem = await verifyObject(cold, part);
          if (problem !== undefined) found.push({ partition: ref.partition, day, key: part.key, problem });
        }
        // The archiver may have rewritten the day during the check. So if the manifest has changed, check the
        // day again.
        if (found.length > 0 && entry?.committed !== known) {
          known = entry?.committed;
          continue;
        }
        differences.push(...found);
        total.objects += parts.length;
        if (entry?.archived === undefined) return;
        const { samples, bytes } = sizeOf(entry.archived);
        total.samples += samples;
        total.bytes += bytes;
        return;
      }
    },
  );
  return { ...total, differences, next };
}

export async function archivePlace(
  dependencies: OperatorDependencies,
  { tenant: name }: OperatorCommand<'archive place'>,
): Promise<ArchivePlace> {
  const tenant = await requireTenant(dependencies.tenants, name);
  let firstDay: Day | undefined;
  await eachArchivedDay(
    dependencies,
    tenant,
    null,
    () => true,
    async (_, { day }) => {
      if (firstDay === undefined || day < firstDay) firstDay = day;
    },
  );
  const prefix = bucketKeys.archiveOf(tenant.id).split('tenant=')[0]!;
  return { bucket: dependencies.bucket, prefix, tenant: name, tenantId: tenant.id, firstDay };
}

/**
 * Runs `work` for each of a tenant's archived days, partition by partition, until time is up.
 *
 * @param after where the previous slice ended
 * @returns where this slice ended; null when all days are done
 */
async function eachArchivedDay(
  { read: { manifest } }: OperatorDependencies,
  { id: tenantId, placement }: Tenant,
  after: ArchiveCursor | null,
  hasTime: () => boolean,
  work: (ref: PartitionRef, entry: ManifestDay) => Promise<void>,
): Promise<ArchiveCursor | null> {
  for (let partition = after?.partition ?? 0; partition < maxPartitions(placement); partition++) {
    const ref = { tenantId, partition };
    for (const entry of await manifest.days(ref, '1970-01-01', '9999-12-31')) {
      const { day, archived } = entry;
      if (archived === undefined || (partition === after?.partition && day <= after.day)) continue;
      await work(ref, entry);
      if (!hasTime()) return { partition, day };
    }
  }
  return null;
}
