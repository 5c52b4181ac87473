import { applyTombstones, openChunk, sampleCount } from '../codec';
import type { ArchivedPart } from '../cold/archived-day';
import type { ObjectUpload, WrittenObject } from '../cold/object-upload';
import type { StoredBlock } from '../cold/parquet-chunk';
import type { ArchiveReader } from '../cold/parquet-reader';
import { tombstonesOf, type VersionedDeletion } from '../model/deletion';
import type { Layout } from '../model/layout';
import type { LayoutBlock } from '../model/layout-block';
import type { GroupId } from '../model/placement';
import { warmKeys } from '../platform/keys';
import type { WarmItem } from '../warm/warm-item';
import { mergeInTime } from './merge';
import type { GroupCompaction } from './plan';

/**
 * The new object would hold fewer samples than the object that it replaces, not counting deleted samples. Only a bug in
 * the archiver can cause this, so the object is not written.
 */
class FewerSamplesError extends Error {
  override readonly name = 'FewerSamplesError';
}

/** A group to write, with the data that the archiver has fetched for it. */
export interface PreparedGroup {
  readonly plan: GroupCompaction;
  readonly deletions: readonly VersionedDeletion[];
  readonly items: readonly LaidOutItem[];
}

/** A warm item, with the layout of its chunk. */
export interface LaidOutItem {
  readonly item: WarmItem;
  readonly layout: Layout;
}

/** Writes one part of a day, group by group. A part is one object. */
export class PartWriter {
  /** Revisions of the warm items that were added, by sort key. */
  private readonly revisions = new Map<string, string>();
  /** Number of groups added, including groups that have no samples left. */
  private groups = 0;
  private samples = 0;
  /** Minimum number of samples that the part must have: see {@link GroupCompaction.minSamples}. */
  private minSamples = 0;

  constructor(
    private readonly upload: ObjectUpload,
    readonly firstGroup: GroupId,
  ) {}

  get key(): string {
    return this.upload.key;
  }

  /** Number of bytes written so far. */
  get bytes(): number {
    return this.upload.bytes;
  }

  /** Number of warm items that were added. */
  get items(): number {
    return this.revisions.size;
  }

  get isEmpty(): boolean {
    return this.groups === 0;
  }

  /**
   * Adds a group. Call it with groups in ascending order.
   *
   * @param reader reads the part that this part replaces; undefined if there is none
   */
  async add({ plan, deletions, items }: PreparedGroup, reader: ArchiveReader | undefined): Promise<void> {
    const copied: StoredBlock[] = [];
    for (const chunk of plan.copies) copied.push(await reader!.load(chunk));
    const blocks: LayoutBlock[] = [];
    for (const chunk of plan.merges)
      blocks.push(withoutDeleted((await reader!.load(chunk)).decode(), deletions));
    for (const { item, layout } of items) {
      this.revisions.set(warmKeys.sort(item), item.revision);
      blocks.push(withoutDeleted({ block: openChunk(item.chunk).block(), layout }, deletions));
    }
    this.groups++;
    this.minSamples += plan.minSamples;
    const merged = mergeInTime(blocks.filter(({ block }) => block.timestamps.length > 0));
    const all = [...copied, ...merged].sort((a, b) => firstMs(a) - firstMs(b));
    if (all.length === 0) return;
    await this.upload.writer.addGroup(plan.group, all);
    for (const part of all) this.samples += 'chunk' in part ? part.chunk.samples : sampleCount(part.block);
  }

  /**
   * Completes the object, which lists the warm items whose samples it holds.
   *
   * @param kept sort keys and revisions of warm items that were not added again, because a copied chunk already has
   *   their samples
   * @throws {FewerSamplesError} before the object becomes visible
   */
  async finish(
    kept: Iterable<readonly [sortKey: string, revision: string]>,
  ): Promise<{ readonly part: ArchivedPart; readonly object: WrittenObject }> {
    const { samples, minSamples, firstGroup } = this;
    if (samples < minSamples)
      throw new FewerSamplesError(`${this.key}: ${samples} samples would replace at least ${minSamples}`);
    const object = await this.upload.finish(new Map([...kept, ...this.revisions]));
    const { key, etag, bytes } = object;
    return { part: { key, etag, bytes, samples, firstGroup }, object };
  }

  /** Abandons the object, which never becomes visible. */
  async abort(): Promise<void> {
    await this.upload.abort();
  }
}

/** Removes from a block the samples that deletions cover. */
export function withoutDeleted(
  { block, layout }: LayoutBlock,
  deletions: readonly VersionedDeletion[],
): LayoutBlock {
  return { block: applyTombstones(block, tombstonesOf(deletions, layout.series)), layout };
}

function firstMs(part: LayoutBlock | StoredBlock): number {
  return 'chunk' in part ? part.chunk.minTimestamp : part.block.timestamps[0]!;
}
