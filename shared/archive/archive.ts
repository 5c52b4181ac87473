import type { Catalogue } from '../catalogue/catalogue';
import { type Block, encodeChunk, eraseSamples, mergeBlocks, openChunk, sampleCount } from '../codec';
import { type ArchiveContent, encodeArchive } from '../cold/archive-object';
import type { ColdTier, OpenArchive } from '../cold/cold-tier';
import { isOpen, type Manifest, type ManifestDay } from '../cold/manifest';
import { inLayout } from '../model/block-layout';
import { erasuresOf, type VersionedDeletion } from '../model/deletion';
import { type Id, idText } from '../model/id';
import { type Layout, unionLayout } from '../model/layout';
import { type Day, type GroupId, type PartitionRef, sourceIdOfGroup } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import { warmKeys } from '../platform/keys';
import type { WarmItem, WarmTier } from '../warm/warm-tier';

export interface ArchiveDependencies {
  readonly warm: WarmTier;
  readonly cold: ColdTier;
  readonly catalogue: Catalogue;
  readonly manifest: Manifest;
  readonly now: () => number;
}

/** A day's object would hold less than the one it replaces and nobody deleted it: a defect, so nothing is written. */
export class FewerSamplesError extends Error {
  override readonly name = 'FewerSamplesError';
}

/** Sources looked at at a time. */
const PARALLEL = 16;
/** Samples of a group that one archived chunk holds at most, unless a single window has more. */
const MAX_CHUNK_SAMPLES = 1_000_000;

/**
 * Archives a partition-day: reads its warm items and the object there may be, writes the object of both, and commits
 * it to the manifest. Idempotent; a crash at any step leaves the day open, to be done again.
 *
 * @returns false when another archiver came first; the day is then looked at again in the next run
 */
export async function archiveDay(
  { warm, cold, catalogue, manifest, now }: ArchiveDependencies,
  ref: PartitionRef,
  { day }: ManifestDay,
): Promise<boolean> {
  // Read before the warm items: a flush announced after this leaves the day open.
  const entry = await manifest.get(ref, day);
  if (entry === undefined || !isOpen(entry)) return true;
  const key = cold.keyOf(ref, day);
  // The object itself, not the manifest, says what is there: a crash may have come between the two.
  const previous = await cold.open(key);
  if (previous !== undefined && (await isWhole({ warm, catalogue }, ref, day, previous))) {
    // Opened for nothing, as by a deletion that concerns other days: what is there is committed as it is.
    const { etag, bytes } = previous;
    const samples = countOf(previous.index.chunks);
    const archived = { changes: entry.changes, key, etag, bytes, samples, atMs: now() };
    return manifest.commit(ref, day, entry.archived, archived);
  }
  const content = await gatherDay({ warm, catalogue }, ref, day, previous);
  if (previous === undefined && content.warm.size === 0) return true;
  const samples = countOf(content.chunks);
  if (samples < content.samplesBefore)
    throw new FewerSamplesError(`${key}: ${samples} samples would replace ${content.samplesBefore}`);
  const body = encodeArchive(content);
  const etag = await cold.put(key, body, previous?.etag);
  if (etag === undefined) return false;
  const archived = { changes: entry.changes, key, etag, bytes: body.length, samples, atMs: now() };
  return manifest.commit(ref, day, entry.archived, archived);
}

function countOf(chunks: readonly { readonly samples: number }[]): number {
  return chunks.reduce((sum, chunk) => sum + chunk.samples, 0);
}

/**
 * Whether an object holds all that its day has, and nothing that was deleted. Only chunks of sources of which something
 * was deleted are read.
 */
async function isWhole(
  { warm, catalogue }: Pick<ArchiveDependencies, 'warm' | 'catalogue'>,
  ref: PartitionRef,
  day: Day,
  object: OpenArchive,
): Promise<boolean> {
  for (const [sortKey, revision] of await warm.revisions(ref, day))
    if (object.index.warm[sortKey] !== revision) return false;
  const bySource = Map.groupBy(object.index.chunks, ({ group }) => sourceIdOfGroup(group));
  const areWhole = await mapLimited([...bySource], PARALLEL, async ([sourceId, chunks]) => {
    const deletions = await catalogue.deletions(ref.tenantId, sourceId);
    for (const chunk of chunks) {
      const { minTimestamp, maxTimestamp } = chunk;
      if (!deletions.some(({ fromMs, toMs }) => fromMs <= maxTimestamp && toMs > minTimestamp)) continue;
      const erasures = erasuresOf(deletions, (await object.layout(chunk.layout)).series);
      if (erasures.length === 0) continue;
      const left = eraseSamples(openChunk(await object.chunk(chunk)).block(), erasures);
      if (sampleCount(left) < chunk.samples) return false;
    }
    return true;
  });
  return areWhole.every((whole) => whole);
}

interface GatheredDay extends ArchiveContent {
  /** How many samples the previous object has that were not deleted. */
  readonly samplesBefore: number;
}

/**
 * What of a partition-day the next object holds: the previous object, with every warm item merged in, without what was
 * deleted.
 */
async function gatherDay(
  { warm, catalogue }: Pick<ArchiveDependencies, 'warm' | 'catalogue'>,
  ref: PartitionRef,
  day: Day,
  previous: OpenArchive | undefined,
): Promise<GatheredDay> {
  const chunks: ArchiveContent['chunks'][number][] = [];
  const layouts = new Map<Id, Uint8Array>();
  const revisions = new Map<string, string>();
  const archived = new Map<GroupId, NonNullable<typeof previous>['index']['chunks'][number][]>();
  for (const chunk of previous?.index.chunks ?? []) {
    const others = archived.get(chunk.group);
    if (others === undefined) archived.set(chunk.group, [chunk]);
    else others.push(chunk);
  }
  const keep = (layout: Layout) => layouts.set(layout.id, layout.bytes);
  const deletionsOf = sourceDeletions(catalogue, ref);
  let samplesBefore = 0;

  const addGroup = async (group: GroupId, items: readonly WarmItem[]) => {
    const older = archived.get(group) ?? [];
    archived.delete(group);
    const deletions = await deletionsOf(group);
    const remaining = ({ block, layout }: Piece): Piece => ({
      block: eraseSamples(block, erasuresOf(deletions, layout.series)),
      layout,
    });
    const pieces: Piece[] = [];
    for (const chunk of older) {
      const layout = await previous!.layout(chunk.layout);
      const bytes = await previous!.chunk(chunk);
      const piece =
        items.length === 0 && erasuresOf(deletions, layout.series).length === 0
          ? undefined
          : remaining({ block: openChunk(bytes).block(), layout });
      const samples = piece === undefined ? chunk.samples : sampleCount(piece.block);
      samplesBefore += samples;
      if (piece !== undefined && (items.length > 0 || samples < chunk.samples)) pieces.push(piece);
      else {
        keep(layout);
        chunks.push({ ...chunk, bytes });
      }
    }
    for (const item of items) {
      revisions.set(warmKeys.sort(item), item.revision);
      const block = openChunk(item.chunk).block();
      const layout = await catalogue.layout(ref.tenantId, group, idText(block.layout));
      pieces.push(remaining({ block, layout }));
    }
    for (const { block, layout } of mergePieces(pieces)) {
      if (sampleCount(block) === 0) continue;
      const bytes = encodeChunk(block);
      const { minTimestamp, maxTimestamp } = openChunk(bytes);
      keep(layout);
      chunks.push({
        group,
        layout: layout.id,
        minTimestamp,
        maxTimestamp,
        samples: sampleCount(block),
        bytes,
      });
    }
  };

  let group: GroupId | undefined;
  let items: WarmItem[] = [];
  for await (const item of warm.day(ref, day)) {
    if (group !== undefined && item.group !== group) {
      await addGroup(group, items);
      items = [];
    }
    group = item.group;
    items.push(item);
  }
  if (group !== undefined) await addGroup(group, items);
  for (const untouched of [...archived.keys()]) await addGroup(untouched, []);
  chunks.sort((a, b) => (a.group < b.group ? -1 : a.group > b.group ? 1 : a.minTimestamp - b.minTimestamp));
  // What the previous object recorded stays recorded: those items may not be purged yet.
  const warmRevisions = new Map([...Object.entries(previous?.index.warm ?? {}), ...revisions]);
  return { chunks, layouts, warm: warmRevisions, samplesBefore };
}

/** What was deleted of a group's source. Groups of a source come one after another. */
function sourceDeletions(catalogue: Catalogue, ref: PartitionRef) {
  let source: Id | undefined;
  let deletions: readonly VersionedDeletion[] = [];
  return async (group: GroupId): Promise<readonly VersionedDeletion[]> => {
    const id = sourceIdOfGroup(group);
    if (id !== source) deletions = await catalogue.deletions(ref.tenantId, id);
    source = id;
    return deletions;
  };
}

interface Piece {
  readonly block: Block;
  readonly layout: Layout;
}

/** Merges a group's pieces, in the order of time, into chunks of a bounded size. */
function mergePieces(pieces: readonly Piece[]): Piece[] {
  const sorted = [...pieces].sort((a, b) => (a.block.timestamps[0] ?? 0) - (b.block.timestamps[0] ?? 0));
  const runs: Piece[][] = [];
  let samples = 0;
  let endMs = -Infinity;
  for (const piece of sorted) {
    const count = sampleCount(piece.block);
    const overlaps = (piece.block.timestamps[0] ?? -Infinity) <= endMs;
    if (runs.length === 0 || (!overlaps && samples + count > MAX_CHUNK_SAMPLES)) {
      runs.push([]);
      samples = 0;
    }
    runs.at(-1)!.push(piece);
    samples += count;
    endMs = Math.max(endMs, piece.block.timestamps.at(-1) ?? -Infinity);
  }
  return runs.map(mergeRun);
}

/** Halves a run until there is nothing to merge, so that each sample is copied a logarithmic number of times. */
function mergeRun(run: readonly Piece[]): Piece {
  if (run.length === 1) return run[0]!;
  const middle = run.length >> 1;
  const a = mergeRun(run.slice(0, middle));
  const b = mergeRun(run.slice(middle));
  const layout = unionLayout([a.layout, b.layout]);
  return {
    block: mergeBlocks(inLayout(a.block, a.layout, layout), inLayout(b.block, b.layout, layout)),
    layout,
  };
}

/** What a purge did to a partition-day. */
export interface PurgeCount {
  readonly items: number;
  /** Whether warm items remain: too young in the manifest, or not in the object. */
  readonly remains: boolean;
}

/**
 * Removes the warm items of a partition-day that the archive holds, each only at the revision that was archived.
 *
 * @param ageMs how long the object must have been in the manifest: longer than the longest query (design.md, rule 5)
 * @throws when a chunk of the object cannot be read; nothing is removed then
 */
export async function purgeDay(
  { warm, cold, manifest, now }: Omit<ArchiveDependencies, 'catalogue'>,
  ref: PartitionRef,
  { day }: ManifestDay,
  ageMs: number,
): Promise<PurgeCount> {
  const entry = await manifest.get(ref, day);
  const present = await warm.revisions(ref, day);
  if (present.size === 0) return { items: 0, remains: false };
  if (entry?.archived === undefined || isOpen(entry) || now() - entry.archived.atMs < ageMs)
    return { items: 0, remains: true };
  const object = await cold.open(entry.archived.key);
  if (object === undefined || object.etag !== entry.archived.etag) {
    // Another archiver wrote it and did not commit: open the day, so that the next one does.
    await manifest.announce(ref, day);
    return { items: 0, remains: true };
  }
  // Verified, not assumed: every chunk is read back whole before what it replaces is removed.
  for (const chunk of object.index.chunks) {
    const samples = sampleCount(openChunk(await object.chunk(chunk)).block());
    if (samples !== chunk.samples)
      throw new Error(`${object.key}: chunk at ${chunk.offset} has ${samples} samples`);
  }
  let items = 0;
  for (const [sortKey, revision] of present)
    if (object.index.warm[sortKey] === revision && (await warm.delete(ref, day, sortKey, revision))) items++;
  const remains = items < present.size;
  // An item that the object does not hold as it is: open the day, or nobody would ever move it.
  if (remains) await manifest.announce(ref, day);
  return { items, remains };
}
