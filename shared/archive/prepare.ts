import type { Catalogue } from '../catalogue/catalogue';
import { openChunk, sampleCount } from '../codec';
import type { ArchivedChunk } from '../cold/archive-format';
import type { ArchiveReader } from '../cold/parquet-reader';
import { tombstonesOf, type VersionedDeletion } from '../model/deletion';
import { type Id, idText } from '../model/id';
import { type Day, type PartitionRef, sourceIdOfGroup } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import type { WarmItem } from '../warm/warm-item';
import type { WarmTier } from '../warm/warm-tier';
import { type LaidOutItem, type PreparedGroup, withoutDeleted } from './part-writer';
import type { ChunkFacts, GroupCompaction } from './plan';

/** Maximum number of groups, or sources, whose data is fetched at the same time. */
const PARALLEL = 32;
/** Groups are prepared in slices. A slice ends at SLICE_GROUPS groups, or at about SLICE_BYTES bytes of warm items. */
const SLICE_GROUPS = 64;
const SLICE_BYTES = 8 * 1024 * 1024;

/** A group to write into a new object. */
export interface GroupWork {
  readonly plan: GroupCompaction;
  /** The group's warm items; undefined if they have not been read yet. Needed only if `plan.readsWarm` is true. */
  readonly items: readonly WarmItem[] | undefined;
}

/**
 * Creates the work for groups that were never archived: each is written from its warm items alone.
 *
 * @param items all warm items of the groups, ordered by group
 */
export async function* groupFreshItems(items: AsyncIterable<WarmItem>): AsyncGenerator<GroupWork> {
  let group: WarmItem[] = [];
  const work = (): GroupWork => ({
    plan: { group: group[0]!.group, copies: [], merges: [], readsWarm: true, minSamples: 0 },
    items: group,
  });
  for await (const item of items) {
    if (group.length > 0 && group[0]!.group !== item.group) {
      yield work();
      group = [];
    }
    group.push(item);
  }
  if (group.length > 0) yield work();
}

export type DeletionsOf = (sourceId: Id) => Promise<readonly VersionedDeletion[]>;

/**
 * Returns a function that reads the deletions of each source only once, and remembers them. New deletions may arrive
 * between a plan and its execution, but both must use the same deletions.
 */
export function deletionsBySource(catalogue: Catalogue, tenantId: Id): DeletionsOf {
  const found = new Map<Id, Promise<readonly VersionedDeletion[]>>();
  return (sourceId) => {
    const known = found.get(sourceId) ?? catalogue.deletions.of(tenantId, sourceId);
    found.set(sourceId, known);
    return known;
  };
}

/** Counts, for each chunk, the samples that deletions cover. Reads only chunks that a deletion may affect. */
export async function countDeleted(
  reader: ArchiveReader,
  chunks: readonly ArchivedChunk[],
  deletionsOf: DeletionsOf,
): Promise<ChunkFacts[]> {
  const bySource = Map.groupBy(chunks, ({ group }) => sourceIdOfGroup(group));
  const counted = await mapLimited([...bySource], PARALLEL, async ([sourceId, own]) => {
    const deletions = await deletionsOf(sourceId);
    const facts: ChunkFacts[] = [];
    for (const chunk of own) facts.push({ chunk, deleted: await deletedOf(reader, chunk, deletions) });
    return facts;
  });
  return counted.flat();
}

async function deletedOf(
  reader: ArchiveReader,
  chunk: ArchivedChunk,
  deletions: readonly VersionedDeletion[],
): Promise<number> {
  const { minTimestamp, maxTimestamp, samples } = chunk;
  if (!deletions.some(({ fromMs, toMs }) => fromMs <= maxTimestamp && toMs > minTimestamp)) return 0;
  if (tombstonesOf(deletions, (await reader.layout(chunk.layout)).series).length === 0) return 0;
  return samples - sampleCount(withoutDeleted((await reader.load(chunk)).decode(), deletions).block);
}

export interface PrepareDependencies {
  readonly warm: WarmTier;
  readonly catalogue: Catalogue;
  readonly deletionsOf: DeletionsOf;
}

/** Fetches the data needed to write groups, one slice at a time. */
export async function* prepare(
  dependencies: PrepareDependencies,
  ref: PartitionRef,
  day: Day,
  works: Iterable<GroupWork> | AsyncIterable<GroupWork>,
): AsyncGenerator<PreparedGroup> {
  let slice: GroupWork[] = [];
  let bytes = 0;
  const fetched = () => mapLimited(slice, PARALLEL, (work) => prepareGroup(dependencies, ref, day, work));
  for await (const work of works) {
    slice.push(work);
    bytes += warmBytesOf(work);
    if (slice.length < SLICE_GROUPS && bytes < SLICE_BYTES) continue;
    yield* await fetched();
    slice = [];
    bytes = 0;
  }
  if (slice.length > 0) yield* await fetched();
}

/**
 * Returns the size of a group's warm items, in bytes. If the items have not been read yet, estimates it by the archived
 * chunks that they will be merged with, since both have the samples of the day.
 */
function warmBytesOf({ plan, items }: GroupWork): number {
  if (items !== undefined) return items.reduce((sum, { chunk }) => sum + chunk.length, 0);
  return plan.readsWarm ? plan.merges.reduce((sum, { length }) => sum + length, 0) : 0;
}

async function prepareGroup(
  { warm, catalogue, deletionsOf }: PrepareDependencies,
  ref: PartitionRef,
  day: Day,
  { plan, items }: GroupWork,
): Promise<PreparedGroup> {
  const { group, readsWarm } = plan;
  const deletions = await deletionsOf(sourceIdOfGroup(group));
  const found = items ?? (readsWarm ? await warm.groupOfDay(ref, day, group) : []);
  const laidOut: LaidOutItem[] = [];
  for (const item of found) {
    const layoutId = idText(openChunk(item.chunk).layout);
    laidOut.push({ item, layout: await catalogue.layout(ref.tenantId, group, layoutId) });
  }
  return { plan, deletions, items: laidOut };
}
