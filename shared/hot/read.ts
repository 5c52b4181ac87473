import {
  type Block,
  blockFromFrames,
  blockFromPicked,
  decodeFrame,
  mergeBlocks,
  type PickedColumns,
  pickedFrames,
  sampleCount,
  wholeFrames,
} from '../codec';
import { gather } from '../model/block-layout';
import { type Id, idText } from '../model/id';
import { type Layout, unionLayout } from '../model/layout';
import { pickSeries } from '../model/layout-block';
import { type GroupId, type PartitionRef, windowStartMs } from '../model/placement';
import type { ColumnPlaces, LocatedBlock, Selection, TimeRange } from '../model/selection';
import { mapLimited } from '../platform/concurrency';
import type { ColumnPick, LeftWindows } from './frame-reader';
import type { HotTier } from './hot-tier';
import type { PartitionState } from './partition-marks';
import type { WindowFrames } from './window-frames';

/** The state of a partition's mark when the partition was read. */
export type PartitionMark = { readonly ref: PartitionRef } & Pick<PartitionState, 'isWhole' | 'loss'>;

/** A partition, and which of its windows may have left memory before it was read. */
export type PartitionLeft = { readonly ref: PartitionRef } & LeftWindows;

export interface HotRead {
  readonly blocks: readonly LocatedBlock[];
  /** Mark states of every partition. Partitions that needed a second command have two. */
  readonly marks: readonly PartitionMark[];
  /**
   * Windows that may have left memory before or during the read. If a partition appears more than once, the
   * windows of all its entries may have left.
   */
  readonly left: readonly PartitionLeft[];
  /** The longest time that a call of this read waited for its turn (read-pace.ts), ms. */
  readonly waitedMs: number;
}

/** Commands in flight at a time. */
const PARALLEL = 16;
/**
 * Windows whose frames are requested with the first command. Each other window takes a command of its own.
 */
const LIKELY_WINDOWS = 4;

/** A read of whole frames is cached only if its range covers at least this share of its windows. */
const KEPT_SHARE = 0.25;

/** Most layouts from which columns are picked. Frames of other layouts are returned whole. */
const MAX_PICKS = 16;

/**
 * Reads series from memory, with one command a partition, which returns the frames of the newest windows.
 * Concurrent reads of several sources share commands.
 *
 * @param refs the partitions that the source has had in the range
 * @param longestWindowMs a window may begin this long before a sample in it
 * @param layoutOf finds a layout that memory no longer has
 */
export async function readHot(
  hot: HotTier,
  refs: readonly PartitionRef[],
  selection: Selection,
  longestWindowMs: number,
  nowMs: number,
  layoutOf: (group: GroupId, id: Id) => Promise<Layout>,
): Promise<HotRead> {
  const { wanted, groups, range, layouts: known } = selection;
  const targets = refs.flatMap((ref) => groups.map((group) => ({ ref, group })));
  const likely = likelyWindows(range, longestWindowMs, nowMs);
  const { picks, picksKey } = picksOf(selection);
  // Whole frames take much of the cache, so a read of a narrow range does not cache them.
  const keeps = picks.length > 0 || shareOf(range, likely, longestWindowMs, nowMs) >= KEPT_SHARE;
  const marks: PartitionMark[] = [];
  const lefts: PartitionLeft[] = [];
  let waitedMs = 0;
  const windows = await mapLimited(targets, PARALLEL, async ({ ref, group }) => {
    const query = { group, range, windows: likely, picks, picksKey, keeps };
    const { isWhole, loss, left, starts, frames, ...call } = await hot.reader.windows(ref, query);
    waitedMs = Math.max(waitedMs, call.waitedMs);
    marks.push({ ref, isWhole, loss });
    lefts.push({ ref, ...left });
    return starts
      .filter((start) => start < range.toMs && start > range.fromMs - longestWindowMs)
      .map((windowStart) => ({ ref, group, windowStart, frames: frames.get(windowStart) }));
  });
  const blocks = await mapLimited(windows.flat(), PARALLEL, async ({ ref, group, windowStart, frames }) => {
    const found = frames ?? (await hot.reader.allFrames(ref, group, windowStart));
    if (found.picked.length === 0) return undefined;
    const findLayout = async (id: Id) =>
      known.get(id) ?? (await hot.reader.layout(ref, id)) ?? layoutOf(group, id);
    const { block, samples } = await found.decoded(() => pickWanted(found, picks, wanted, findLayout));
    const place = hot.space.keyOf(ref, group, windowStart);
    return block && { place, bytes: found.frameBytes, samples, block };
  });
  // Inspect the mark again for frames that took a command of their own: they may have been lost in between.
  const later = windows.flat().filter(({ frames }) => frames === undefined);
  for (const { ref, windowStart } of later) lefts.push({ ref, beforeMs: -Infinity, starts: [windowStart] });
  const askedTwice = new Map(later.map(({ ref }) => [ref.partition, ref]));
  const after = await mapLimited([...askedTwice.values()], PARALLEL, async (ref) => ({
    ref,
    ...(await hot.marks.inspect(ref)),
  }));
  return {
    blocks: blocks.filter((block) => block !== undefined),
    marks: [...marks, ...after],
    left: lefts,
    waitedMs,
  };
}

/** The columns of a layout that are wanted, and their positions in the result. */
interface WantedColumns extends ColumnPick, PickedColumns {
  readonly id: Id;
  readonly seriesCount: number;
}

interface Picks {
  readonly picks: readonly WantedColumns[];
  readonly picksKey: string;
}

/**
 * Chooses the columns to pick from each known layout. Layouts of which more than half is wanted are read
 * whole.
 */
function picksOf({ layouts, places, wanted }: Selection): Picks {
  const picks: WantedColumns[] = [];
  for (const layout of layouts.values()) {
    const { columns, positions, seriesCount } = places?.get(layout.id) ?? placesOf(layout, wanted);
    if (columns.length === 0 || 2 * columns.length > seriesCount) continue;
    picks.push({ id: layout.id, layout: layout.idBytes, columns, positions, seriesCount });
  }
  // If there are more layouts than picks, it does not matter which are picked: frames of the others are read
  // whole.
  const last = picks.slice(-MAX_PICKS);
  return { picks: last, picksKey: [wanted.id, ...last.map(({ id }) => id)].join(' ') };
}

/**
 * Decodes the frames of a window.
 *
 * @returns one block of the wanted series, undefined when the frames have none of them; and the number of
 *   samples of all series
 */
async function pickWanted(
  { picked }: WindowFrames,
  picks: readonly WantedColumns[],
  wanted: Layout,
  findLayout: (id: Id) => Promise<Layout>,
): Promise<{ readonly block: Block | undefined; readonly samples: number }> {
  const simple = blockFromPicked(wanted.idBytes, wanted.series.length, picked, picks);
  if (simple !== undefined)
    return { block: nonEmpty(simple.block), samples: samplesOf(simple.counts, picks) };
  const { frames, counts } = pickedFrames(picked, picks);
  const some = blockFromFrames(wanted.idBytes, wanted.series.length, frames);
  const whole = wholeFrames(picked, picks).map(decodeFrame);
  if (whole.length === 0) return { block: nonEmpty(some), samples: samplesOf(counts, picks) };
  const ids = new Set(whole.map(({ layout }) => idText(layout)));
  const layouts = await mapLimited([...ids], PARALLEL, findLayout);
  const union = unionLayout(layouts);
  const others = gather(union, layouts, whole);
  const wholePicked = pickSeries({ block: others, layout: union }, wanted);
  return {
    block: nonEmpty(wholePicked === undefined ? some : mergeBlocks(some, wholePicked)),
    samples: samplesOf(counts, picks) + sampleCount(others),
  };
}

function nonEmpty(block: Block): Block | undefined {
  return block.timestamps.length === 0 ? undefined : block;
}

/** Counts the samples of all series of the picked frames. @param counts number of frames of each pick */
function samplesOf(counts: Uint32Array, picks: readonly WantedColumns[]): number {
  return picks.reduce((sum, { seriesCount }, i) => sum + counts[i]! * seriesCount, 0);
}

/** Finds the wanted columns of `layout`, ascending, and each one's column in `wanted`. */
function placesOf({ columns, series }: Layout, wanted: Layout): ColumnPlaces {
  const found: [column: number, position: number][] = [];
  for (const [key, position] of wanted.columns) {
    const column = columns.get(key);
    if (column !== undefined) found.push([column, position]);
  }
  found.sort(([a], [b]) => a - b);
  return {
    columns: Uint32Array.from(found, ([column]) => column),
    positions: Uint32Array.from(found, ([, position]) => position),
    seriesCount: series.length,
  };
}

/** The share of the windows' time, up to now, that a range covers, at most 1. */
function shareOf({ fromMs, toMs }: TimeRange, starts: readonly number[], windowMs: number, nowMs: number) {
  if (starts.length === 0) return 1;
  const [firstMs, endMs] = [starts.at(-1)!, Math.min(starts[0]! + windowMs, nowMs)];
  const coveredMs = Math.min(toMs, endMs) - Math.max(fromMs, firstMs);
  return Math.min(1, coveredMs / Math.max(1, endMs - firstMs));
}

/** The starts of the last windows of a range that can have begun by now, newest first. */
function likelyWindows({ fromMs, toMs }: TimeRange, windowMs: number, nowMs: number): number[] {
  const starts: number[] = [];
  if (windowMs === 0) return starts;
  let start = windowStartMs(Math.min(toMs - 1, nowMs), windowMs);
  for (; start > fromMs - windowMs && starts.length < LIKELY_WINDOWS; start -= windowMs) starts.push(start);
  return starts;
}
