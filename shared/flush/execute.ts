import type { CatalogueWriter } from '../catalogue/catalogue-writer';
import { decodeFrame, type Frame, openChunk } from '../codec';
import type { Manifest } from '../cold/manifest';
import { digestFrames, type Lease, type MovedFrames } from '../hot/frame-mover';
import type { HotTier } from '../hot/hot-tier';
import { gather, inLayout } from '../model/block-layout';
import { type Id, idText } from '../model/id';
import type { Layout } from '../model/layout';
import { packLayout } from '../model/packed-layout';
import { dayOf, type GroupId, type PartitionRef } from '../model/placement';
import { type Limiter, limiter, mapLimited } from '../platform/concurrency';
import type { WarmTier } from '../warm/warm-tier';
import { announcedDays, planItems, planLayer, planTake, type TakePlan, willBeDivided } from './plan';

export interface FlushDependencies {
  readonly hot: HotTier;
  readonly warm: WarmTier;
  readonly catalogue: CatalogueWriter;
  readonly manifest: Manifest;
  readonly windowMs: number;
}

/** The result of flushing one partition. A group-window is the samples of one group in one window of time. */
export interface FlushCount {
  /** Number of group-windows moved. */
  readonly windows: number;
  readonly samples: number;
  /** Total size of the chunks written, in bytes. */
  readonly bytes: number;
  /**
   * Number of group-windows whose frames had expired in memory before a flusher could move them. Their samples are lost
   * unless a replay restores them, which is possible only while the stream still has the records.
   */
  readonly expired: number;
  /**
   * An error for each group-window that could not be moved. Such a group-window stays due, so a later flush moves it.
   */
  readonly failures: readonly Error[];
}

/**
 * Duration of a lease, in ms: longer than it takes to move the leased windows, and shorter than the longest invocation.
 */
const LEASE_MS = 120_000;
/** Maximum number of group-windows that are leased, announced and moved together. */
const MAX_LEASES = 128;
/** Maximum number of concurrent requests in one step. */
const PARALLEL = 16;
/**
 * Maximum number of group-windows that a flusher moves at the same time, over all partitions. In the largest possible
 * move, a window has 2,000 frames of 8 KB each. With their block and chunk, the frames take about 48 MB, so 16 windows
 * take less than half of the flusher's 1,769 MB.
 */
export const WINDOWS_AT_ONCE = 16;
/** Maximum number of times that the flusher merges a group-window again because another writer changed its items. */
const MAX_CONFLICTS = 10;

/**
 * Moves the due group-windows of one partition from memory to the warm tier, up to 128 at a time, until none is left or
 * time is up. Writes the warm items first, then trims from memory exactly the frames that it wrote (DESIGN.md, rule 3).
 * A crash at any step never loses a sample. It may leave samples in both tiers; a merge removes these duplicates.
 *
 * @param beforeMs see {@link FrameMover.lease}
 * @param hasTime called before each lease of windows. If it returns false, the flush ends
 * @param options `limit` limits how many group-windows are moved at the same time; partitions that are flushed in
 *   parallel share one limiter. For `flushDelayMs`, see {@link FrameMover.lease}
 */
export async function flushPartition(
  dependencies: FlushDependencies,
  ref: PartitionRef,
  beforeMs: number,
  hasTime: () => boolean,
  options: { readonly limit?: Limiter; readonly flushDelayMs?: number } = {},
): Promise<FlushCount> {
  const { limit = limiter(WINDOWS_AT_ONCE), flushDelayMs = 0 } = options;
  const { hot, manifest } = dependencies;
  let windows = 0;
  let samples = 0;
  let bytes = 0;
  let expired = 0;
  const failures: Error[] = [];
  while (hasTime()) {
    const leases = await hot.mover.lease(ref, beforeMs, MAX_LEASES, LEASE_MS, flushDelayMs);
    if (leases.length === 0) break;
    const days = announcedDays(leases);
    const announce = () => mapLimited(days, PARALLEL, (day) => manifest.announce(ref, day));
    await announce();
    const moved: (Moved & { lease: Lease })[] = [];
    await mapLimited(leases, PARALLEL, (lease) =>
      limit(async () => {
        try {
          moved.push({ lease, ...(await moveWindow(dependencies, ref, lease)) });
        } catch (cause) {
          // Continue with the other windows. This one becomes due again when its lease expires.
          const { group, windowStart } = lease;
          failures.push(new Error(`window ${windowStart} of group ${group} did not move`, { cause }));
        }
      }),
    );
    await announce();
    await mapLimited(moved, PARALLEL, async ({ lease, frames }) => {
      const remaining = await hot.mover.trim(ref, lease, frames);
      if (frames.count === 0 && remaining === 0) expired++;
    });
    windows += moved.length;
    for (const window of moved) {
      samples += window.samples;
      bytes += window.bytes;
    }
  }
  return { windows: windows - expired, samples, bytes, expired, failures };
}

/** The frames to trim from a group-window, and how much was written to the warm table for them. */
interface Moved {
  readonly frames: MovedFrames;
  readonly samples: number;
  readonly bytes: number;
}

/** Merges the frames of a leased group-window into its warm items. The caller trims them. */
async function moveWindow(
  { hot, warm, catalogue, windowMs }: FlushDependencies,
  ref: PartitionRef,
  { group, windowStart }: Lease,
): Promise<Moved> {
  const read = await hot.mover.frames(ref, group, windowStart);
  // Either the frames have expired, or another flusher moved them after this flusher's lease had ended. The trim finds
  // out which.
  if (read.frames.length === 0) return { frames: digestFrames([], true), samples: 0, bytes: 0 };
  const layoutOf = (id: Id) => readLayout(hot, catalogue, ref, group, id);
  const decoded = read.frames.map(decodeFrame);
  const { count, layouts } = await takeFrames(decoded, layoutOf);
  const frames = decoded.slice(0, count);
  const isAll = read.isAll && count === decoded.length;
  const day = dayOf(windowStart);

  for (let conflicts = 0; conflicts < MAX_CONFLICTS; conflicts++) {
    const items = await mapLimited(
      await warm.window(ref, day, group, windowStart),
      PARALLEL,
      async (item) => {
        const chunk = openChunk(item.chunk);
        return { ...item, opened: chunk, layout: await layoutOf(idText(chunk.layout)) };
      },
    );
    const { layer, merged, layout } = planLayer(layouts, items);
    const added = gather(layout, layouts, frames);
    // The chunk names its layout only by id. Put the layout into the catalogue before writing the chunk: without the
    // layout, nobody could tell which series the chunk contains.
    const { packed } = packLayout(layout.bytes);
    await catalogue.put(ref.tenantId, { group, id: layout.id, packed, firstMs: windowStart }, windowMs);
    let bytes = 0;
    let isWritten = true;
    const puts = planItems(
      added,
      windowStart,
      merged.map(({ startMs, revision, opened, layout: own }) => ({
        startMs,
        revision,
        isInLayout: own.id === layout.id,
        block: () => inLayout(opened.block(), own, layout),
      })),
    );
    const isDivided = willBeDivided(items, puts, windowStart);
    if (isDivided) await warm.noteDivided(ref, day);
    for (const { replaces, ...item } of puts) {
      isWritten = await warm.put(ref, day, { group, windowStart, layer, ...item, isDivided }, replaces);
      if (!isWritten) break;
      bytes += item.chunk.length;
    }
    if (isWritten)
      return {
        frames: digestFrames(read.frames.slice(0, count), isAll),
        samples: frames.reduce((sum, frame) => sum + sampleCountOf(frame), 0),
        bytes,
      };
  }
  throw new Error(
    `window ${windowStart} of group ${group} was not written: other writers came first ${MAX_CONFLICTS} times`,
  );
}

/**
 * Decides which frames to take ({@link planTake}), and reads each layout that the decision needs. Reading the
 * layouts of all frames at once could fill memory.
 */
async function takeFrames(
  frames: readonly Frame[],
  layoutOf: (id: Id) => Promise<Layout>,
): Promise<Extract<TakePlan, { act: 'take' }>> {
  const ids = frames.map(({ layout }) => idText(layout));
  const known = new Map<Id, Layout>();
  for (;;) {
    const plan = planTake(ids, known);
    if (plan.act === 'take') return plan;
    known.set(plan.layoutId, await layoutOf(plan.layoutId));
  }
}

/**
 * Reads a layout of a group. The memory tier has the layouts of the frames in memory. Older layouts, which chunks may
 * refer to, are only in the catalogue.
 */
async function readLayout(
  hot: HotTier,
  catalogue: Pick<CatalogueWriter, 'layout'>,
  ref: PartitionRef,
  group: GroupId,
  id: Id,
): Promise<Layout> {
  return (await hot.reader.layout(ref, id)) ?? catalogue.layout(ref.tenantId, group, id);
}

function sampleCountOf(frame: Frame): number {
  return frame.values.length / 8;
}
