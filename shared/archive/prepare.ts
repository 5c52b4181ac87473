import type { Catalogue } from '../catalogue/catalogue';
import { openChunk, sampleCount } from '../codec';
import type { ArchivedChunk, ArchiveReader } from '../cold/archive-format';
import { erasuresOf, type VersionedDeletion } from '../model/deletion';
import { type Id, idText } from '../model/id';
import { type Day, type PartitionRef, sourceIdOfGroup } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import type { WarmItem, WarmTier } from '../warm/warm-tier';
import { erase, type LaidOutItem, type PreparedGroup } from './part-writer';
import type { ChunkFacts, GroupCompaction } from './plan';

/** Groups for which layouts, deletions and warm items are fetched at the same time. */
const PARALLEL = 32;
/** Bounds of the groups that are prepared together. */
const BATCH_GROUPS = 64;
const BATCH_BYTES = 8 * 1024 * 1024;

/** A group to be written. */
export interface GroupWork {
  readonly plan: GroupCompaction<ArchivedChunk>;
  /** The group's warm items. Undefined: they still have to be read, if the plan says so. */
  readonly items: readonly WarmItem[] | undefined;
}

/** Makes the work for groups that have never been archived. @param items warm items, ordered by group */
export async function* freshGroups(items: AsyncIterable<WarmItem>): AsyncGenerator<GroupWork> {
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
 * Returns a function that reads each source's deletions only once, so that a plan and its execution use the
 * same ones.
 */
export function deletionsBySource(catalogue: Catalogue, tenantId: Id): DeletionsOf {
  const found = new Map<Id, Promise<readonly VersionedDeletion[]>>();
  return (sourceId) => {
    const known = found.get(sourceId) ?? catalogue.deletions.of(tenantId, sourceId);
    found.set(sourceId, known);
    return known;
  };
}

/** Counts the deleted samples of chunks. Reads only chunks that a deletion may affect. */
export async function countDeleted(
  reader: ArchiveReader,
  chunks: readonly ArchivedChunk[],
  deletionsOf: DeletionsOf,
): Promise<ChunkFacts<ArchivedChunk>[]> {
  const bySource = Map.groupBy(chunks, ({ group }) => sourceIdOfGroup(group));
  const counted = await mapLimited([...bySource], PARALLEL, async ([sourceId, own]) => {
    const deletions = await deletionsOf(sourceId);
    const facts: ChunkFacts<ArchivedChunk>[] = [];
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
  if (erasuresOf(deletions, (await reader.layout(chunk.layout)).series).length === 0) return 0;
  return samples - sampleCount(erase((await reader.load(chunk)).decode(), deletions).block);
}

export interface PrepareDependencies {
  readonly warm: WarmTier;
  readonly catalogue: Catalogue;
  readonly deletionsOf: DeletionsOf;
}

/** Fetches the data for writing groups. Fetches the next batch while the caller writes the present one. */
export async function* prepare(
  dependencies: PrepareDependencies,
  ref: PartitionRef,
  day: Day,
  works: Iterable<GroupWork> | AsyncIterable<GroupWork>,
): AsyncGenerator<PreparedGroup> {
  for await (const batch of ahead(batchesOf(dependencies, ref, day, works))) yield* batch;
}

async function* batchesOf(
  dependencies: PrepareDependencies,
  ref: PartitionRef,
  day: Day,
  works: Iterable<GroupWork> | AsyncIterable<GroupWork>,
): AsyncGenerator<PreparedGroup[]> {
  let batch: GroupWork[] = [];
  let bytes = 0;
  const fetched = () => mapLimited(batch, PARALLEL, (work) => prepareGroup(dependencies, ref, day, work));
  for await (const work of works) {
    batch.push(work);
    bytes += (work.items ?? []).reduce((sum, { chunk }) => sum + chunk.length, 0);
    if (batch.length < BATCH_GROUPS && bytes < BATCH_BYTES) continue;
    yield await fetched();
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield await fetched();
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

/** Requests the next value while the caller works on the present one. */
async function* ahead<T>(source: AsyncGenerator<T>): AsyncGenerator<T> {
  let next = source.next();
  try {
    for (;;) {
      const { done, value } = await next;
      if (done) return;
      next = source.next();
      yield value;
    }
  } finally {
    // If the caller stops early, nobody handles a failure of the pending request.
    next.catch(() => {});
  }
}
