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
import { type Layout, mergeLayouts } from '../model/layout';
import { pickSeries, placesOf } from '../model/layout-block';
import { type GroupId, type PartitionRef, windowStartMs } from '../model/placement';
import type { LocatedBlock, Selection, TimeRange } from '../model/selection';
import { mapLimited } from '../platform/concurrency';
import { EVERY_FRAME, type GroupQuery } from './frame-reader';
import type { HotTier } from './hot-tier';
import type { PartitionState } from './partition-marks';
import type { ColumnPick, LeftWindows } from './read-call';
import type { WindowFrames } from './window-frames';

/** The state of a partition's mark when it was read. */
export type PartitionMark = { readonly ref: PartitionRef } & Pick<PartitionState, 'isWhole' | 'loss'>;

/** A partition, and which of its windows may have left memory before it was read. */
export type PartitionLeft = { readonly ref: PartitionRef } & LeftWindows;

/** What a read of memory has found. */
export interface HotRead {
  readonly blocks: readonly LocatedBlock[];
  /**
   * The mark of each partition when it was read. A partition that was read by several commands has several.
   */
  readonly marks: readonly PartitionMark[];
  /**
   * The windows that may have left memory before or during the read. If a partition has several entries, the
   * windows of all of them may have left.
   */
  readonly left: readonly PartitionLeft[];
  /** The longest time that a call of this read waited before it started (read-pace.ts), ms. */
  readonly waitedMs: number;
}

/** Commands that one read sends at the same time. */
const PARALLEL = 16;
/**
 * Most windows of a group whose frames the first command requests. Each other window needs one of its own.
 */
const LIKELY_WINDOWS = 4;

/**
 * A read of whole frames caches them from the start of its range on, if the range covers at least this share of
 * the time from there to now. It uses cached frames of which it covers at least this share.
 */
const KEPT_SHARE = 0.25;

/** Most layouts of which a read picks columns. Frames of other layouts are returned whole. */
const MAX_PICKS = 16;

/**
 * Reads series from memory. Mostly one command for each partition is enough: it returns the frames of the
 * newest windows. Concurrent reads of several sources share commands.
 *
 * @param refs the partitions that may have samples of the selection
 * @param longestWindowMs the greatest length of a window, ms: how long before a sample its window may begin
 * @param layoutOf finds a layout that memory lacks
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
  const keeping =
    picks.length > 0
      ? { picksKey, keeps: EVERY_FRAME }
      : keptOf(picksKey, range, likely, longestWindowMs, nowMs);
  const marks: PartitionMark[] = [];
  const lefts: PartitionLeft[] = [];
  let waitedMs = 0;
  const windows = await mapLimited(targets, PARALLEL, async ({ ref, group }) => {
    const query = { group, range, windows: likely, picks, ...keeping };
    const { isWhole, loss, left, starts, frames, ...call } = await hot.reader.windows(ref, query);
    waitedMs = Math.max(waitedMs, call.waitedMs);
    marks.push({ ref, isWhole, loss });
    lefts.push({ ref, ...left });
    return starts
      .filter((start) => start < range.toMs && start > range.fromMs - longestWindowMs)
      .map((windowStart) => ({ ref, group, windowStart, frames: frames.get(windowStart) }));
  });
  const all = windows.flat();
  const blocks = await mapLimited(all, PARALLEL, async ({ ref, group, windowStart, frames }) => {
    const found = frames ?? (await hot.reader.allFrames(ref, group, windowStart));
    if (found.picked.length === 0) return undefined;
    const findLayout = async (id: Id) =>
      known.get(id) ?? (await hot.reader.layout(ref, id)) ?? layoutOf(group, id);
    const { block, samples } = await found.decoded(() => pickWanted(found, picks, wanted, findLayout));
    const place = hot.space.keyOf(ref, group, windowStart);
    return block && { place, bytes: found.frameBytes, samples, block };
  });
  const read = { blocks: blocks.filter((block) => block !== undefined), marks, left: lefts, waitedMs };
  const later = all.filter(({ frames }) => frames === undefined);
  if (later.length === 0) return read;
  // Frames that needed a second command may have been lost between the two. Inspect their marks again.
  for (const { ref, windowStart } of later) lefts.push({ ref, beforeMs: -Infinity, starts: [windowStart] });
  const askedTwice = new Map(later.map(({ ref }) => [ref.partition, ref]));
  const after = await mapLimited([...askedTwice.values()], PARALLEL, async (ref) => ({
    ref,
    ...(await hot.marks.inspect(ref)),
  }));
  return { ...read, marks: [...marks, ...after] };
}

/** The columns of a layout that a read wants, and their positions in its result. */
interface WantedColumns extends ColumnPick, PickedColumns {
  readonly id: Id;
  readonly seriesCount: number;
}

interface Picks {
  /** The columns of each layout that columns are picked of: at most {@link MAX_PICKS} layouts. */
  readonly picks: readonly WantedColumns[];
  /** A text that is equal for equal picks: see {@link GroupQuery.picksKey}. */
  readonly picksKey: string;
}

/**
 * Chooses the columns to pick of each known layout. Frames of a layout of which more than half is wanted are
 * read whole.
 */
function picksOf({ layouts, places, wanted }: Selection): Picks {
  const picks: WantedColumns[] = [];
  for (const layout of layouts.values()) {
    const { columns, positions, seriesCount } = places?.get(layout.id) ?? placesOf(layout, wanted);
    if (columns.length === 0 || 2 * columns.length > seriesCount) continue;
    picks.push({ id: layout.id, layout: layout.idBytes, columns, positions, seriesCount });
  }
  // If there are more layouts, it does not matter which of them are picked. Frames of the others are read
  // whole.
  const last = picks.slice(-MAX_PICKS);
  let picksKey = wanted.id;
  for (const { id } of last) picksKey += ` ${id}`;
  return { picks: last, picksKey };
}

/**
 * Decodes the frames of a group-window.
 *
 * @returns `block` with the wanted series, undefined if the frames have none of them; and the number of
 *   samples of all series in the frames, wanted or not
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
  const merged = mergeLayouts(layouts);
  const others = gather(merged, layouts, whole);
  const wholePicked = pickSeries({ block: others, layout: merged }, wanted);
  return {
    block: nonEmpty(wholePicked === undefined ? some : mergeBlocks(some, wholePicked)),
    samples: samplesOf(counts, picks) + sampleCount(others),
  };
}

function nonEmpty(block: Block): Block | undefined {
  return block.timestamps.length === 0 ? undefined : block;
}

/**
 * Returns the number of samples in the frames of all picks, wanted or not.
 *
 * @param counts number of frames of each pick
 */
function samplesOf(counts: Uint32Array, picks: readonly WantedColumns[]): number {
  return picks.reduce((sum, { seriesCount }, i) => sum + counts[i]! * seriesCount, 0);
}

/**
 * Decides which whole frames a read caches. They are large, so it caches only frames of about its own range.
 * Ranges of about the same length, up to a factor of four, share cached frames.
 *
 * @param starts the windows of the range, newest first
 */
function keptOf(
  picksKey: string,
  { fromMs, toMs }: TimeRange,
  starts: readonly number[],
  windowMs: number,
  nowMs: number,
): Pick<GroupQuery, 'picksKey' | 'keeps'> {
  const endMs = Math.min((starts[0] ?? nowMs) + windowMs, nowMs);
  const spanMs = endMs - fromMs;
  if (spanMs <= 0 || Math.min(toMs, endMs) - fromMs < KEPT_SHARE * spanMs)
    return { picksKey, keeps: undefined };
  // Ranges of quite different lengths have frames of their own, and do not replace those of each other.
  const lengthClass = Math.ceil(Math.log2(spanMs) / 2);
  return {
    picksKey: `${picksKey} ${lengthClass}`,
    keeps: { fromMs, leastFromMs: endMs - spanMs / KEPT_SHARE },
  };
}

/** The starts of the last windows of a range that can have begun by now, newest first. */
function likelyWindows({ fromMs, toMs }: TimeRange, windowMs: number, nowMs: number): number[] {
  const starts: number[] = [];
  if (windowMs === 0) return starts;
  let start = windowStartMs(Math.min(toMs - 1, nowMs), windowMs);
  for (; start > fromMs - windowMs && starts.length < LIKELY_WINDOWS; start -= windowMs) starts.push(start);
  return starts;
}
