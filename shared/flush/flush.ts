import type { Catalogue } from '../catalogue/catalogue';
import {
  type Block,
  decodeFrame,
  encodeChunk,
  type Frame,
  mergeBlocks,
  openChunk,
  sliceBlock,
  splitBlock,
} from '../codec';
import type { Manifest } from '../cold/manifest';
import { type HotTier, type Lease, type MovedFrames, movedFrames } from '../hot/hot-tier';
import { gather, inLayout } from '../model/block-layout';
import { type Id, idText } from '../model/id';
import { type Layout, MAX_UNION_BYTES, packLayout, unionLayout } from '../model/layout';
import { type Day, dayOf, type GroupId, type PartitionRef } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import { MAX_ITEM_CHUNK_BYTES, revisionOf, type WarmItem, type WarmTier } from '../warm/warm-tier';

export interface FlushDependencies {
  readonly hot: HotTier;
  readonly warm: WarmTier;
  readonly catalogue: Catalogue;
  readonly manifest: Manifest;
  readonly windowMs: number;
}

export interface FlushCount {
  readonly windows: number;
  readonly samples: number;
  /** Chunk bytes written. */
  readonly bytes: number;
  /** One for each group-window that could not be moved now. */
  readonly failures: readonly Error[];
}

/** Longer than moving a batch takes, shorter than a function's life. */
const LEASE_MS = 120_000;
/** Group-windows moved between two announcements of their days. */
const BATCH = 128;
const PARALLEL = 16;
/** Series that a chunk has at most: one row of them fits an item, since time cannot split a row. */
const MAX_UNION_SERIES = 8_192;
/** How often a conditional write that lost is tried again with what the other wrote. */
const MAX_CONFLICTS = 10;

/**
 * Moves the due group-windows of one partition, batch after batch, until none is left or time is up.
 *
 * Write the next tier, then remove exactly what was moved (design.md, rule 3). A crash at any step leaves a
 * duplicate, which a merge removes, never a hole.
 *
 * @param beforeMs see {@link HotTier.lease}
 * @param hasTime asked before each batch
 */
export async function flushPartition(
  dependencies: FlushDependencies,
  ref: PartitionRef,
  beforeMs: number,
  hasTime: () => boolean,
): Promise<FlushCount> {
  let windows = 0;
  let samples = 0;
  let bytes = 0;
  const failures: Error[] = [];
  while (hasTime()) {
    const leases = await dependencies.hot.lease(ref, beforeMs, BATCH, LEASE_MS);
    if (leases.length === 0) break;
    const days = [...new Set(leases.map(({ windowStart }) => dayOf(windowStart)))];
    const announce = () => mapLimited(days, PARALLEL, (day) => dependencies.manifest.announce(ref, day));
    await announce();
    const moved: (Moved & { lease: Lease })[] = [];
    await mapLimited(leases, PARALLEL, async (lease) => {
      try {
        moved.push({ lease, ...(await moveWindow(dependencies, ref, lease)) });
      } catch (cause) {
        // The others move on; this one stays due, and is tried again once its lease has expired.
        const { group, windowStart } = lease;
        failures.push(new Error(`window ${windowStart} of group ${group} did not move`, { cause }));
      }
    });
    // Again after the writes: an archiver that read between has missed them, and must find the day open.
    await announce();
    await mapLimited(moved, PARALLEL, async ({ lease, frames }) => {
      await dependencies.hot.trim(ref, lease, frames);
    });
    windows += moved.length;
    for (const window of moved) {
      samples += window.samples;
      bytes += window.bytes;
    }
  }
  return { windows, samples, bytes, failures };
}

interface Moved {
  readonly frames: MovedFrames;
  readonly samples: number;
  readonly bytes: number;
}

async function moveWindow(
  { hot, warm, catalogue, windowMs }: FlushDependencies,
  ref: PartitionRef,
  { group, windowStart }: Lease,
): Promise<Moved> {
  const read = await hot.frames(ref, group, windowStart);
  // Empty when the safety net expired it; the trim then clears the due index.
  if (read.frames.length === 0) return { frames: movedFrames([], true), samples: 0, bytes: 0 };
  const layoutOf = (id: Id) => layoutFrom(hot, catalogue, ref, group, id);
  const taken = await takeNameable(read.frames.map(decodeFrame), layoutOf);
  const encoded = read.frames.slice(0, taken.frames.length);
  const isAll = read.isAll && encoded.length === read.frames.length;
  const day = dayOf(windowStart);

  for (let conflicts = 0; conflicts < MAX_CONFLICTS; conflicts++) {
    const items = await warm.window(ref, day, group, windowStart);
    const { layer, existing, older, union } = await pickLayer(items, taken.layouts, layoutOf);
    let block = gather(union, taken.layouts, taken.frames);
    for (const [i, { chunk }] of existing.entries())
      block = mergeBlocks(block, inLayout(openChunk(chunk).block(), older[i]!, union));
    // The chunk names its series by this layout only.
    const { packed } = packLayout(union.bytes);
    await catalogue.put(ref.tenantId, { group, id: union.id, packed, firstMs: windowStart }, windowMs);
    const bytes = await putParts(warm, ref, day, { group, windowStart, layer }, block, existing);
    if (bytes !== undefined)
      return { frames: movedFrames(encoded, isAll), samples: sampleCountOf(taken.frames), bytes };
  }
  throw new Error(`${MAX_CONFLICTS} other writers came first at window ${windowStart} of group ${group}`);
}

/** The first of a window's frames, as many as layouts of a bounded size name; the others move in the next round. */
async function takeNameable(
  frames: readonly Frame[],
  layoutOf: (id: Id) => Promise<Layout>,
): Promise<{ frames: readonly Frame[]; layouts: readonly Layout[] }> {
  const layouts = new Map<Id, Layout>();
  let bytes = 0;
  let series = 0;
  for (const [i, frame] of frames.entries()) {
    const id = idText(frame.layout);
    if (layouts.has(id)) continue;
    const layout = await layoutOf(id);
    bytes += layout.bytes.length;
    series += layout.series.length;
    if ((bytes > MAX_UNION_BYTES || series > MAX_UNION_SERIES) && i > 0)
      return { frames: frames.slice(0, i), layouts: [...layouts.values()] };
    layouts.set(id, layout);
  }
  return { frames, layouts: [...layouts.values()] };
}

/** The first layer of a window whose layout, with that of the frames, stays within bounds; a new one if there is none. */
async function pickLayer(
  items: readonly WarmItem[],
  layouts: readonly Layout[],
  layoutOf: (id: Id) => Promise<Layout>,
): Promise<{ layer: number; existing: readonly WarmItem[]; older: readonly Layout[]; union: Layout }> {
  for (let layer = 0; ; layer++) {
    const existing = items.filter((item) => item.layer === layer);
    const older = await mapLimited(existing, PARALLEL, ({ chunk }) =>
      layoutOf(idText(openChunk(chunk).layout)),
    );
    const union = unionLayout([...layouts, ...older]);
    const fits = union.bytes.length <= MAX_UNION_BYTES && union.series.length <= MAX_UNION_SERIES;
    if (existing.length === 0 || fits) return { layer, existing, older, union };
  }
}

/** The hot tier has every layout its frames refer to; chunks may refer to older ones, which the catalogue has. */
async function layoutFrom(
  hot: HotTier,
  catalogue: Catalogue,
  ref: PartitionRef,
  group: GroupId,
  id: Id,
): Promise<Layout> {
  return (await hot.layout(ref, id)) ?? catalogue.layout(ref.tenantId, group, id);
}

/**
 * Writes a group-window as one item, or as several parts when it exceeds one.
 *
 * Parts are ranges of time. The last is written first: a reader that finds an earlier part shortened finds
 * what was cut off it further on, as does one that reads after a crash between the two.
 *
 * @returns chunk bytes written, or undefined when another writer came first
 */
async function putParts(
  warm: WarmTier,
  ref: PartitionRef,
  day: Day,
  window: Pick<WarmItem, 'group' | 'windowStart' | 'layer'>,
  block: Block,
  existing: readonly WarmItem[],
): Promise<number | undefined> {
  const revisions = new Map(existing.map(({ startMs, revision }) => [startMs, revision]));
  const starts = [...new Set([window.windowStart, ...revisions.keys()])].sort((a, b) => a - b);
  const parts = starts.flatMap((startMs, i) => splitToFit(sliceOf(block, starts, i), startMs));
  let bytes = 0;
  for (const { startMs, chunk } of parts.reverse()) {
    const item = { ...window, startMs, chunk, revision: revisionOf(chunk) };
    if (revisions.get(startMs) === item.revision) continue;
    if (!(await warm.put(ref, day, item, revisions.get(startMs)))) return undefined;
    bytes += chunk.length;
  }
  return bytes;
}

function sliceOf(block: Block, starts: readonly number[], i: number): Block {
  if (starts.length === 1) return block;
  const fromMs = i === 0 ? -Infinity : starts[i]!;
  return sliceBlock(block, fromMs, starts[i + 1] ?? Infinity);
}

/** Halves a block in time until each part's chunk fits an item. */
function splitToFit(block: Block, startMs: number): { startMs: number; chunk: Uint8Array }[] {
  const chunk = encodeChunk(block);
  if (chunk.length <= MAX_ITEM_CHUNK_BYTES || block.timestamps.length < 2) return [{ startMs, chunk }];
  const middle = block.timestamps[block.timestamps.length >> 1]!;
  const [head, tail] = splitBlock(block, middle);
  return [...splitToFit(head, startMs), ...splitToFit(tail, middle)];
}

function sampleCountOf(frames: readonly Frame[]): number {
  return frames.reduce((sum, frame) => sum + (frame.kind === 'samples' ? frame.values.length / 8 : 0), 0);
}
