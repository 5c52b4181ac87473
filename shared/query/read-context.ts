import type { Catalogue } from '../catalogue/catalogue';
import type { Erasure } from '../codec';
import type { ColdTier } from '../cold/cold-tier';
import type { Directory } from '../cold/directory';
import type { Manifest } from '../cold/manifest';
import type { RollupDirectory } from '../cold/rollup-directory';
import type { HotTier } from '../hot/hot-tier';
import type { Aggregate } from '../model/aggregates';
import { erasuresOf, type VersionedDeletion } from '../model/deletion';
import type { Id } from '../model/id';
import type { Layout } from '../model/layout';
import { type Day, type GroupId, type PartitionRef, partitionOf, partitionsOn } from '../model/placement';
import type { Selection, TimeRange } from '../model/selection';
import type { Limiter } from '../platform/concurrency';
import type { Imports } from '../recovery/imports';
import type { LossWatch } from '../recovery/loss-watch';
import type { Tenant } from '../tenancy/tenants';
import type { WarmTier } from '../warm/warm-tier';
import { type DayPlan, planDays } from './plan';
import type { UnarchivedDays } from './unarchived-days';
import type { Home, Whereabouts } from './whereabouts';

export interface ReadDependencies {
  readonly hot: HotTier;
  readonly warm: WarmTier;
  readonly cold: ColdTier;
  readonly catalogue: Catalogue;
  readonly manifest: Manifest;
  readonly directory: Directory;
  /** Undefined: every read is of samples. */
  readonly rollups?: RollupDirectory | undefined;
  readonly unarchived: UnarchivedDays;
  readonly losses: Pick<LossWatch, 'missingSince'>;
  readonly imports: Pick<Imports, 'untilMs'>;
  /** A sample that was not imported is at most this much older than its arrival, ms. */
  readonly maxSampleAgeMs: number;
  readonly now: () => number;
}

/** Steps that a read's samples are aggregated by, which lets rollups stand for samples. */
export interface ReadSteps {
  readonly stepMs: number;
  readonly aggregate: Aggregate;
  /** Samples that may be read as such, at one a minute. @default Infinity */
  readonly maxSamples?: number;
}

/** A read of series of one source, before anything of it is read. */
export interface SourceRead extends Whereabouts {
  /** Series of that source. */
  readonly wanted: Layout;
  readonly range: TimeRange;
  /** All deletions of the source. */
  readonly deletions: readonly VersionedDeletion[];
  /** Bounds how many reads side by side go beyond memory; unbounded if absent. */
  readonly beyondMemory?: Limiter;
  readonly steps?: ReadSteps | undefined;
  /** Called with an estimate before a home's samples of the archive are read; refuses the read by throwing. */
  readonly expect?: ((home: Id, samples: number) => void) | undefined;
}

/** A read for each home. */
export function contextsOf(dependencies: ReadDependencies, tenant: Tenant, asked: SourceRead): ReadContext[] {
  const { homes } = asked;
  // Rollups of two homes may have parts of the same hour.
  const each = homes.length === 1 ? asked : { ...asked, steps: undefined };
  const maxSamples = asked.steps?.maxSamples ?? Infinity;
  return homes.map((home) => ({ ...contextOf(dependencies, tenant, home, each), maxSamples }));
}

function contextOf(
  dependencies: ReadDependencies,
  tenant: Tenant,
  { id: homeId, groups, layouts, places }: Home,
  asked: SourceRead,
): Omit<ReadContext, 'maxSamples'> {
  const { wanted, range: whole, deletions, windowLengthsMs, steps, beyondMemory = (work) => work() } = asked;
  // Clients ask from 0; days before the source's first sample cost nothing.
  const fromMs = Math.min(Math.max(whole.fromMs, asked.firstMs), whole.toMs);
  const range = { fromMs, toMs: whole.toMs };
  return {
    ...dependencies,
    tenant,
    homeId,
    refs: new Map(),
    selection: { wanted, groups, range, layouts, places },
    erasures: erasuresOf(deletions, wanted.series).filter(
      ({ fromMs, toMs }) => fromMs < range.toMs && toMs > range.fromMs,
    ),
    deletions,
    expect: asked.expect,
    wholeRange: whole,
    steps,
    windowLengthsMs,
    longestWindowMs: windowLengthsMs.at(-1) ?? 0,
    days: planDays(range, windowLengthsMs),
    beyondMemory,
  };
}

export interface ReadContext extends ReadDependencies {
  readonly tenant: Tenant;
  /** The source, or the pool whose groups have its series. */
  readonly homeId: Id;
  /** The home's partition, by how many the tenant has: a long range asks for each of its days. */
  readonly refs: Map<number, PartitionRef>;
  readonly selection: Selection;
  /** Deletions of the wanted series that touch the range. */
  readonly erasures: readonly Erasure[];
  /** All deletions of the source. */
  readonly deletions: readonly VersionedDeletion[];
  /** The range as asked: the selection's begins with the source's first sample. */
  readonly wholeRange: TimeRange;
  readonly steps: ReadSteps | undefined;
  readonly expect: SourceRead['expect'];
  /** See {@link ReadSteps}; it holds without steps too. */
  readonly maxSamples: number;
  /** Every length that windows of the read's samples may have, ms. */
  readonly windowLengthsMs: readonly number[];
  readonly longestWindowMs: number;
  readonly days: readonly DayPlan[];
  readonly beyondMemory: Limiter;
}

/** Finds a layout, in the catalogue if the read does not know it. */
export function layoutsOf({ catalogue, tenant, selection: { layouts } }: ReadContext) {
  return async (group: GroupId, id: Id): Promise<Layout> =>
    layouts.get(id) ?? catalogue.layout(tenant.id, group, id);
}

/** The home's partition on a day. Placement changes with the day, so it may have had several. */
export function partitionOn({ tenant, homeId, refs }: ReadContext, day: Day): PartitionRef {
  const partitions = partitionsOn(tenant.placement, day);
  const known = refs.get(partitions);
  if (known !== undefined) return known;
  const ref = { tenantId: tenant.id, partition: partitionOf(homeId, partitions) };
  refs.set(partitions, ref);
  return ref;
}

export function partitionsOf(read: ReadContext, days: readonly { readonly day: Day }[]): PartitionRef[] {
  const refs: PartitionRef[] = [];
  for (const { day } of days) {
    const ref = partitionOn(read, day);
    // `partitionOn` gives one object for each number of partitions.
    if (ref !== refs.at(-1)) addRef(refs, ref);
  }
  return refs;
}

function addRef(refs: PartitionRef[], ref: PartitionRef): void {
  if (!refs.some(({ partition }) => partition === ref.partition)) refs.push(ref);
}
