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

/** Groups for which layouts, deletions and warm items are fetched side by side. */
const PARALLEL = 32;
/** Groups that are prepared together: at most so many, of about so many bytes. */
const BATCH_GROUPS = 64;
const BATCH_BYTES = 8 * 1024 * 1024;

/** A group to be written. */
export interface GroupWork {
  readonly plan: GroupCompaction<ArchivedChunk>;
  /** Its warm items; undefined: they are to be read, if the plan says so. */
  readonly items: readonly WarmItem[] | undefined;
}

/** The groups of warm items that come in order of their groups: nothing of them was archived yet. */
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

/** Looks up each source's deletions once, so that a plan and its execution see the same. */
export function deletionsBySource(catalogue: Catalogue, tenantId: Id): DeletionsOf {
  const found = new Map<Id, Promise<readonly VersionedDeletion[]>>();
  return (sourceId) => {
    const known = found.get(sourceId) ?? catalogue.deletions.of(tenantId, sourceId);
    found.set(sourceId, known);
    return known;
  };
}

/** Counts the deleted samples of chunks. Reads only those that a deletion may concern. */
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

/** Fetches what groups need to be written. The next batch is fetched while the caller writes. */
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

/** Asks for the next value while the caller works on the one before. */
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
    // Where the caller stops early, nobody is left to be told of a failure.
    next.catch(() => {});
  }
}
