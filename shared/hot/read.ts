import {
  blockFromFrames,
  blockFromPicked,
  decodeFrame,
  mergeBlocks,
  type PickedColumns,
  pickedFrames,
  sampleCount,
  takeWholeFrames,
} from '../codec';
import { gather } from '../model/block-layout';
import { type Id, idText } from '../model/id';
import { type Layout, mergeLayouts } from '../model/layout';
import { pickOf, pickSeries } from '../model/layout-block';
import { type GroupId, type PartitionRef, windowStartMs } from '../model/placement';
import type { LocatedBlock, Selection, TimeRange } from '../model/selection';
import { mapLimited } from '../platform/concurrency';
import type { PartitionLeft, PartitionMark } from './frame-reader';
import type { HotTier } from './hot-tier';
import type { ColumnPick } from './read-call';
import type { WindowFrames } from './window-frames';

/** The result of a read of memory. */
export interface HotResult {
  readonly blocks: readonly LocatedBlock[];
  /**
   * The mark of each partition, as it was when the read fetched it. A partition that was read by several commands has
   * several marks.
   */
  readonly marks: readonly PartitionMark[];
  /**
   * The windows that may have left memory before or during the read. If a partition has several entries, the
   * windows of all of them may have left.
   */
  readonly left: readonly PartitionLeft[];
}

/**
 * After its first commands, a read sends at most this many at the same time, for windows and layouts that the first
 * commands did not return.
 */
const PARALLEL = 16;
/**
 * Maximum number of a group's windows whose frames the first command requests. The read sends one more command for each
 * additional window.
 */
const LIKELY_WINDOWS = 4;

/** Maximum number of layouts from which a read picks columns. Frames of other layouts are returned whole. */
const MAX_PICKS = 16;

/** A window of a group that may have wanted samples. */
interface FoundWindow {
  readonly ref: PartitionRef;
  readonly group: GroupId;
  readonly windowStart: number;
  /** Undefined if reading the frames needs a second command. */
  readonly frames: WindowFrames | undefined;
}

/**
 * Reads series from memory. Usually one command for each partition is enough: it returns the frames of the newest
 * windows. Concurrent reads share commands.
 *
 * @param refs the partitions that may have samples of the selection
 * @param longestWindowMs the maximum length of a window, in ms. A sample's window may begin this long before the sample
 * @param layoutOf finds a layout that memory lacks
 */
export async function readHot(
  hot: HotTier,
  refs: readonly PartitionRef[],
  selection: Selection,
  longestWindowMs: number,
  nowMs: number,
  layoutOf: (group: GroupId, id: Id) => Promise<Layout>,
): Promise<HotResult> {
  const { groups, range } = selection;
  const likely = likelyWindows(range, longestWindowMs, nowMs);
  const picks = picksOf(selection);
  const picksKey = [selection.wanted.id, ...picks.map(({ id }) => id)].join(' ');
  const requested = refs.flatMap((ref) => groups.map((group) => ({ ref, group })));
  const replies = await Promise.all(
    requested.map(({ ref, group }) => hot.reader.windows(ref, { group, windows: likely, picks, picksKey })),
  );
  const windows: FoundWindow[] = [];
  replies.forEach(({ starts, frames }, i) => {
    for (const windowStart of starts)
      if (windowStart < range.toMs && windowStart > range.fromMs - longestWindowMs)
        windows.push({ ...requested[i]!, windowStart, frames: frames[likely.indexOf(windowStart)] });
  });
  const decode = (frames: WindowFrames, { ref, group }: FoundWindow) =>
    frames.decodeOnce(() =>
      pickWanted(
        frames,
        picks,
        selection,
        async (id) => (await hot.reader.layout(ref, id)) ?? layoutOf(group, id),
      ),
    );
  const found = await mapLimited(windows, PARALLEL, (window) => {
    const { ref, group, windowStart, frames } = window;
    if (frames !== undefined) return decode(frames, window);
    return hot.reader.allFrames(ref, group, windowStart).then((all) => decode(all, window));
  });
  const read = {
    blocks: found.filter(({ block }) => block.timestamps.length > 0),
    marks: replies.map(({ partition }) => partition.mark),
    left: replies.map(({ partition }) => partition.left),
  };
  const later = windows.filter(({ frames }) => frames === undefined);
  return later.length === 0 ? read : { ...read, ...(await readMarksAgain(hot, read, later)) };
}

/**
 * Reads the marks of some partitions again, and notes that windows may have left memory. Call this function for
 * partitions where some frames needed a second command: between the two commands, frames may have been lost or moved.
 */
async function readMarksAgain(
  hot: HotTier,
  { marks, left }: HotResult,
  later: readonly FoundWindow[],
): Promise<Pick<HotResult, 'marks' | 'left'>> {
  const refs = new Map(later.map(({ ref }) => [ref.partition, ref]));
  const after = await mapLimited([...refs.values()], PARALLEL, async (ref) => ({
    ref,
    ...(await hot.marks.read(ref)),
  }));
  const leftLater = later.map(({ ref, windowStart }) => ({
    ref,
    beforeMs: -Infinity,
    starts: [windowStart],
  }));
  return { marks: [...marks, ...after], left: [...left, ...leftLater] };
}

/** The columns of a layout that a read wants, and their positions in its result. */
interface WantedColumns extends ColumnPick, PickedColumns {
  readonly id: Id;
  readonly seriesCount: number;
}

/**
 * Chooses the columns to pick from each known layout. If more than half of a layout is wanted, its frames are read
 * whole.
 */
function picksOf({ layouts, picks: chosen, wanted }: Selection): WantedColumns[] {
  const picks: WantedColumns[] = [];
  for (const layout of layouts.values()) {
    const { columns, positions, seriesCount } = chosen?.get(layout.id) ?? pickOf(layout, wanted);
    if (columns.length === 0 || 2 * columns.length > seriesCount) continue;
    picks.push({ id: layout.id, layout: layout.idBytes, columns, positions, seriesCount });
  }
  // Any MAX_PICKS of the layouts will do: frames of the other layouts are read whole.
  return picks.length > MAX_PICKS ? picks.slice(-MAX_PICKS) : picks;
}

/**
 * Decodes the frames of a group-window.
 *
 * @param findLayout finds a layout that the selection lacks
 * @returns a block without rows if the frames have no wanted series
 */
async function pickWanted(
  { place, frameBytes: bytes, picked }: WindowFrames,
  picks: readonly WantedColumns[],
  { wanted, layouts: known }: Selection,
  findLayout: (id: Id) => Promise<Layout>,
): Promise<LocatedBlock> {
  const simple = blockFromPicked(wanted.idBytes, wanted.series.length, picked, picks);
  if (simple !== undefined)
    return { place, bytes, samples: samplesOf(simple.counts, picks), block: simple.block };
  const { frames, counts } = pickedFrames(picked, picks);
  const block = blockFromFrames(wanted.idBytes, wanted.series.length, frames);
  const samples = samplesOf(counts, picks);
  const whole = takeWholeFrames(picked, picks).map(decodeFrame);
  if (whole.length === 0) return { place, bytes, samples, block };
  const ids = [...new Set(whole.map(({ layout }) => idText(layout)))];
  const layouts = await mapLimited(ids, PARALLEL, async (id) => known.get(id) ?? findLayout(id));
  const merged = mergeLayouts(layouts);
  const others = gather(merged, layouts, whole);
  const wholePicked = pickSeries({ block: others, layout: merged }, wanted);
  return {
    place,
    bytes,
    samples: samples + sampleCount(others),
    block: wholePicked === undefined ? block : mergeBlocks(block, wholePicked),
  };
}

/**
 * Returns the number of samples in all frames that were read by picks. Counts all columns of a frame, wanted or not.
 *
 * @param counts number of frames of each pick
 */
function samplesOf(counts: Uint32Array, picks: readonly WantedColumns[]): number {
  return picks.reduce((sum, { seriesCount }, i) => sum + counts[i]! * seriesCount, 0);
}

/** Returns the starts of the last windows of a range that can have begun by now, newest first. */
function likelyWindows({ fromMs, toMs }: TimeRange, windowMs: number, nowMs: number): number[] {
  const starts: number[] = [];
  if (windowMs === 0) return starts;
  let start = windowStartMs(Math.min(toMs - 1, nowMs), windowMs);
  for (; start > fromMs - windowMs && starts.length < LIKELY_WINDOWS; start -= windowMs) starts.push(start);
  return starts;
}
