import type { Catalogue } from '../catalogue/catalogue';
import type { Tombstone } from '../codec';
import type { ArchiveDirectory } from '../cold/archive-directory';
import type { ColdTier } from '../cold/cold-tier';
import type { Manifest } from '../cold/manifest';
import type { RollupDirectory } from '../cold/rollup-directory';
import type { HotTier } from '../hot/hot-tier';
import { tombstonesOf, type VersionedDeletion } from '../model/deletion';
import type { Id } from '../model/id';
import type { Layout } from '../model/layout';
import { type Day, type GroupId, type PartitionRef, partitionOf, partitionsOn } from '../model/placement';
import type { RequestedGrains } from '../model/sample-columns';
import type { Selection, TimeRange } from '../model/selection';
import type { Limiter } from '../platform/concurrency';
import type { KnownGaps } from '../recovery/gaps';
import type { Imports } from '../recovery/imports';
import type { LossWatch } from '../recovery/loss-watch';
import type { Tenant } from '../tenancy/tenants';
import type { WarmTier } from '../warm/warm-tier';
import { type DayPlan, planDays } from './plan';
import type { ExpectedSamples } from './read-budget';
import type { SourceLocation } from './source-location';

export interface ReadDependencies {
  readonly hot: HotTier;
  readonly warm: WarmTier;
  readonly cold: ColdTier;
  readonly catalogue: Catalogue;
  readonly manifest: Manifest;
  readonly directory: ArchiveDirectory;
  /** Undefined if the stage has no rollups: every read then uses samples. */
  readonly rollups?: RollupDirectory | undefined;
  /** Minimum time, in ms, from the commit of an object to the manifest until the purge of its warm items. */
  readonly purgeAfterMs: number;
  /** Time from the end of a day until it is archived, in ms. */
  readonly archiveAfterMs: number;
  readonly losses: Pick<LossWatch, 'missingSince'>;
  readonly gaps: Pick<KnownGaps, 'missingSince'>;
  readonly imports: Pick<Imports, 'untilMs'>;
  /** Maximum age of a sample when it arrives, in ms. Does not apply to imported samples. */
  readonly maxSampleAgeMs: number;
  readonly now: () => number;
}

/** A request to read series of one source. */
export interface SourceRequest extends SourceLocation {
  readonly sourceId: Id;
  /** The series to read, all of this source. */
  readonly wanted: Layout;
  readonly range: TimeRange;
  /** All deletions of the source. */
  readonly deletions: readonly VersionedDeletion[];
  /** Whether to answer even though samples are known to be missing. */
  readonly allowsMissing: boolean;
  /** Limits how many reads go beyond memory at the same time. */
  readonly beyondHot: Limiter;
  /** Rollups that may replace the samples of whole days by points. */
  readonly grains?: RequestedGrains | undefined;
  /** Where to report the expected number of samples: one counter for each request that this read answers. */
  readonly expected: readonly ExpectedSamples[];
}

/** A planned read of one source's series from one of its homes. */
export interface ReadPlan {
  readonly dependencies: ReadDependencies;
  readonly tenant: Tenant;
  readonly request: SourceRequest;
  /** Id of the source or pool whose home it is. */
  readonly homeId: Id;
  /** The selection's range begins no earlier than the source's first sample. */
  readonly selection: Selection;
  /** Deletions of the wanted series that overlap the range. */
  readonly tombstones: readonly Tombstone[];
  /** Undefined if no rollups can be used. */
  readonly grains: RequestedGrains | undefined;
  readonly days: readonly DayPlan[];
}

/**
 * Plans the read of a source: one plan for each home. Nearly every source has one home, its own or its pool's.
 */
export function planReads(
  dependencies: ReadDependencies,
  tenant: Tenant,
  request: SourceRequest,
): ReadPlan[] {
  const { homes, wanted, deletions, windowLengthsMs, firstMs } = request;
  // Do not use rollups if there are several homes: each home's rollups may cover only some of an hour's samples.
  const grains = homes.length === 1 && dependencies.rollups !== undefined ? request.grains : undefined;
  // Clients may request a range from time 0. Skip the days before the source's first sample.
  const { toMs } = request.range;
  const range = { fromMs: Math.min(Math.max(request.range.fromMs, firstMs), toMs), toMs };
  const tombstones = deletions.length === 0 ? NO_TOMBSTONES : tombstonesIn(range, deletions, wanted);
  return homes.map(({ id: homeId, groups, layouts, picks }) => ({
    dependencies,
    tenant,
    request,
    homeId,
    selection: { wanted, groups, range, layouts, picks },
    tombstones,
    grains,
    days: planDays(range, windowLengthsMs, partitionsOfHome(tenant, homeId)),
  }));
}

const NO_TOMBSTONES: readonly Tombstone[] = [];

function tombstonesIn(
  range: TimeRange,
  deletions: readonly VersionedDeletion[],
  wanted: Layout,
): Tombstone[] {
  return tombstonesOf(deletions, wanted.series).filter(
    ({ fromMs, toMs }) => fromMs < range.toMs && toMs > range.fromMs,
  );
}

/** Returns a function that looks up a layout, first among the read's layouts, then in the catalogue. */
export function layoutLookup({ dependencies: { catalogue }, tenant, selection: { layouts } }: ReadPlan) {
  return async (group: GroupId, id: Id): Promise<Layout> =>
    layouts.get(id) ?? catalogue.layout(tenant.id, group, id);
}

/**
 * Returns a function that finds the home's partition on a day. The partition may differ between days, because
 * placement can change at midnight. Consecutive days with the same partition share one `PartitionRef` object.
 */
function partitionsOfHome({ id: tenantId, placement }: Tenant, homeId: Id): (day: Day) => PartitionRef {
  let last: { readonly partitions: number; readonly ref: PartitionRef } | undefined;
  return (day) => {
    const partitions = partitionsOn(placement, day);
    if (last?.partitions !== partitions)
      last = { partitions, ref: { tenantId, partition: partitionOf(homeId, partitions) } };
    return last.ref;
  };
}

/** Returns the distinct partitions of some days. */
export function partitionsOf(days: readonly DayPlan[]): PartitionRef[] {
  const refs: PartitionRef[] = [];
  for (const { ref } of days)
    if (ref !== refs.at(-1) && !refs.some(({ partition }) => partition === ref.partition)) refs.push(ref);
  return refs;
}
