import type { Catalogue } from '../catalogue/catalogue';
import { eraseSamples, openChunk, sampleCount } from '../codec';
import type { ArchivedChunk, ArchiveReader, ArchiveWriter, StoredBlock } from '../cold/archive-format';
import type { ColdTier, OpenArchive, WrittenObject } from '../cold/cold-tier';
import type { Directory } from '../cold/directory';
import { isOpen, type Manifest, type ManifestDay } from '../cold/manifest';
import { erasuresOf, type VersionedDeletion } from '../model/deletion';
import { type Id, idText } from '../model/id';
import type { LayoutBlock } from '../model/layout-block';
import { type Day, type GroupId, type PartitionRef, sourceIdOfGroup } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import { warmKeys } from '../platform/keys';
import type { WarmItem, WarmTier } from '../warm/warm-tier';
import { mergeInTime } from './merge';
import { type ChunkFacts, type DayPlan, type GroupPlan, planDay } from './plan';

export interface ArchiveDependencies {
  readonly warm: WarmTier;
  readonly cold: ColdTier;
  readonly catalogue: Catalogue;
  readonly manifest: Manifest;
  readonly directory: Directory;
  readonly now: () => number;
}

/** The next object would hold less than the one it replaces, and nobody deleted it: a defect, so nothing is written. */
export class FewerSamplesError extends Error {
  override readonly name = 'FewerSamplesError';
}

/** Sources whose deletions are looked up side by side. */
const PARALLEL = 16;

/**
 * Archives a partition-day if it is open: brings its object up to date with its warm items and deletions, and commits the
 * object to the manifest. Idempotent; after a crash at any step the day is still open.
 *
 * @returns false when another archiver came first: the day is still open
 * @throws {FewerSamplesError}
 */
export async function archiveDay(
  dependencies: ArchiveDependencies,
  ref: PartitionRef,
  { day }: Pick<ManifestDay, 'day'>,
): Promise<boolean> {
  const { warm, cold, manifest, now } = dependencies;
  // Before the warm items are read: a flush announced after this leaves the day open.
  const entry = await manifest.get(ref, day);
  if (entry === undefined || !isOpen(entry)) return true;
  const key = cold.keyOf(ref, day);
  // The object that exists, not the one in the manifest: a crash may have come between the two. Where the manifest names one
  // of another format, that one is whole, and whatever lies at this key was never committed, or was replaced.
  const committed = entry.archived?.parts[0]?.key;
  const other = committed === key ? undefined : committed;
  const object = await cold.open(other ?? key);
  if (other !== undefined && object === undefined) return false;
  const previous = other === undefined ? object?.etag : await cold.etag(key);
  const deletionsOf = deletionsBySource(dependencies, ref);
  const held = await object?.reader.warm();
  const plan = planDay({
    warm: await warm.revisions(ref, day),
    object: object && {
      warm: held!,
      chunks: await countDeleted(object.reader, deletionsOf),
    },
    isMoved: other !== undefined,
  });
  if (plan.act === 'skip') return true;
  const done =
    plan.act === 'commit'
      ? { etag: object!.etag, bytes: object!.bytes, samples: plan.samples }
      : await rewrite(dependencies, ref, day, plan, { key, object, previous, deletionsOf });
  if (done === undefined) return false;
  const archived = { changes: entry.changes, parts: [{ key, ...done, firstGroup: '' }], atMs: now() };
  if (!(await manifest.commit(ref, day, entry.committed, archived))) return false;
  // Reads that had the manifest's old entry begin again.
  if (other !== undefined) await cold.remove(other);
  return true;
}

type DeletionsOf = (sourceId: Id) => Promise<readonly VersionedDeletion[]>;

/** Looks up each source's deletions once, so that a plan and its execution see the same. */
function deletionsBySource(
  { catalogue }: Pick<ArchiveDependencies, 'catalogue'>,
  { tenantId }: PartitionRef,
): DeletionsOf {
  const found = new Map<Id, Promise<readonly VersionedDeletion[]>>();
  return (sourceId) => {
    const known = found.get(sourceId) ?? catalogue.deletions(tenantId, sourceId);
    found.set(sourceId, known);
    return known;
  };
}

/** Counts the deleted samples of an object's chunks. Reads only chunks that a deletion may concern. */
async function countDeleted(
  reader: ArchiveReader,
  deletionsOf: DeletionsOf,
): Promise<ChunkFacts<ArchivedChunk>[]> {
  const bySource = Map.groupBy(reader.chunks, ({ group }) => sourceIdOfGroup(group));
  const counted = await mapLimited([...bySource], PARALLEL, async ([sourceId, chunks]) => {
    const deletions = await deletionsOf(sourceId);
    const facts: ChunkFacts<ArchivedChunk>[] = [];
    for (const chunk of chunks) facts.push({ chunk, deleted: await deletedOf(reader, chunk, deletions) });
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

function erase({ block, layout }: LayoutBlock, deletions: readonly VersionedDeletion[]): LayoutBlock {
  return { block: eraseSamples(block, erasuresOf(deletions, layout.series)), layout };
}

interface Rewrite {
  readonly key: string;
  /** The object whose samples the next one takes over. */
  readonly object: OpenArchive | undefined;
  /** ETag of what lies at the key. */
  readonly previous: string | undefined;
  readonly deletionsOf: DeletionsOf;
}

/** @returns undefined when another archiver came first */
async function rewrite(
  { warm, cold, catalogue, directory }: ArchiveDependencies,
  ref: PartitionRef,
  day: Day,
  { groups, minSamples }: Extract<DayPlan<ArchivedChunk>, { act: 'rewrite' }>,
  { key, object, previous, deletionsOf }: Rewrite,
): Promise<(Pick<WrittenObject, 'etag' | 'bytes'> & { readonly samples: number }) | undefined> {
  let samples = 0;
  // The new object still names the warm items of the old one: they may not have been purged yet.
  const revisions = new Map(Object.entries((await object?.reader.warm()) ?? {}));
  const warmGroups = new GroupsOfDay(warm.day(ref, day));

  const addGroup = async (
    writer: ArchiveWriter,
    { group, copies, merges, readsWarm }: GroupPlan<ArchivedChunk>,
  ) => {
    const deletions = await deletionsOf(sourceIdOfGroup(group));
    const copied: StoredBlock[] = [];
    for (const chunk of copies) copied.push(await object!.reader.load(chunk));
    const blocks: LayoutBlock[] = [];
    for (const chunk of merges) blocks.push(erase((await object!.reader.load(chunk)).decode(), deletions));
    for (const item of readsWarm ? await warmGroups.of(group) : []) {
      revisions.set(warmKeys.sort(item), item.revision);
      const block = openChunk(item.chunk).block();
      const layout = await catalogue.layout(ref.tenantId, group, idText(block.layout));
      blocks.push(erase({ block, layout }, deletions));
    }
    const merged = mergeInTime(blocks.filter(({ block }) => block.timestamps.length > 0));
    const all = [...copied, ...merged].sort((a, b) => firstMs(a) - firstMs(b));
    if (all.length === 0) return;
    await writer.addGroup(group, all);
    for (const part of all) samples += 'chunk' in part ? part.chunk.samples : sampleCount(part.block);
  };

  const written = await cold.write(key, previous, async (writer) => {
    for (const group of groups) await addGroup(writer, group);
    if (samples < minSamples)
      throw new FewerSamplesError(`${key}: ${samples} samples would replace ${minSamples}`);
    return writer.finish(revisions);
  });
  if (written === undefined) return undefined;
  await directory.put(ref.tenantId, day, written);
  const { etag, bytes } = written;
  return { etag, bytes, samples };
}

function firstMs(part: LayoutBlock | StoredBlock): number {
  return 'chunk' in part ? part.chunk.minTimestamp : part.block.timestamps[0]!;
}

/** The warm items of a partition-day, which come in order of their groups, taken group by group in that order. */
class GroupsOfDay {
  private next: WarmItem | undefined;

  constructor(private readonly items: AsyncGenerator<WarmItem>) {}

  /** A group's items; groups are asked for in ascending order. */
  async of(group: GroupId): Promise<WarmItem[]> {
    const found: WarmItem[] = [];
    for (;;) {
      this.next ??= (await this.items.next()).value ?? undefined;
      if (this.next === undefined || this.next.group > group) return found;
      if (this.next.group === group) found.push(this.next);
      this.next = undefined;
    }
  }
}
