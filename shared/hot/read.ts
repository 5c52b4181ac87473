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
import { type Later, mapLimited } from '../platform/concurrency';
import {
  EVERY_FRAME,
  type GroupQuery,
  type GroupWindows,
  type PartitionLeft,
  type PartitionMark,
} from './frame-reader';
import type { HotTier } from './hot-tier';
import type { ColumnPick } from './read-call';
import type { WindowFrames } from './window-frames';

/** What a read asks memory for. */
export interface HotRequest {
  /** The partitions that may have samples of the selection. */
  readonly refs: readonly PartitionRef[];
  readonly selection: Selection;
  /** The greatest length of a window, ms: how long before a sample its window may begin. */
  readonly longestWindowMs: number;
  /** Finds a layout that memory lacks. */
  readonly layoutOf: (group: GroupId, id: Id) => Promise<Layout>;
}

/** Memory's answer to a request, whose frames are not decoded yet. */
export interface HotReply {
  readonly request: HotRequest;
  readonly picks: readonly WantedColumns[];
  /** Starts of the windows whose frames were requested. */
  readonly likely: readonly number[];
  readonly groups: readonly AskedPlace[];
}

/** A group in a partition, and the place of its query among those of the partition. */
interface AskedPlace {
  readonly group: GroupId;
  readonly partition: AskedPartition;
  readonly index: number;
}

interface AskedPartition {
  readonly ref: PartitionRef;
  readonly queries: GroupQuery[];
  found: readonly GroupWindows[];
  /** Why the partition did not answer; undefined if it did. */
  error: unknown;
}

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
}

/** Second commands of one request that are sent at the same time. */
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
 * Asks memory for the frames of several requests of a tenant. Mostly one command for each partition is enough: it
 * returns the frames of the newest windows. If a partition does not answer, only the requests that need it fail, in
 * {@link decodeHot}.
 */
export async function askHot(
  hot: HotTier,
  requests: readonly HotRequest[],
  nowMs: number,
): Promise<HotReply[]> {
  const partitions = new Map<number, AskedPartition>();
  const replies = requests.map((request): HotReply => {
    const { refs, selection, longestWindowMs } = request;
    const { groups, range } = selection;
    const likely = likelyWindows(range, longestWindowMs, nowMs);
    const { picks, picksKey } = picksOf(selection);
    const keeping =
      picks.length > 0
        ? { picksKey, keeps: EVERY_FRAME }
        : keptOf(picksKey, range, likely, longestWindowMs, nowMs);
    const asked: AskedPlace[] = [];
    for (const ref of refs) {
      const partition = partitions.get(ref.partition) ?? { ref, queries: [], found: [], error: undefined };
      partitions.set(ref.partition, partition);
      for (const group of groups) {
        const index = partition.queries.push({ group, range, windows: likely, picks, ...keeping }) - 1;
        asked.push({ group, partition, index });
      }
    }
    return { request, picks, likely, groups: asked };
  });
  await Promise.all(
    Array.from(partitions.values(), async (partition) => {
      try {
        partition.found = await hot.reader.windows(partition.ref, partition.queries);
      } catch (error) {
        partition.error = error;
      }
    }),
  );
  return replies;
}

/** A window of a group that may have wanted samples. */
interface FoundWindow {
  readonly ref: PartitionRef;
  readonly group: GroupId;
  readonly windowStart: number;
  /** Undefined if they need a second command. */
  readonly frames: WindowFrames | undefined;
}

/**
 * Decodes what memory answered to a request. Returns a promise only if it needs a further command.
 *
 * @throws the error of a partition that did not answer
 */
export function decodeHot(hot: HotTier, reply: HotReply): Later<HotRead> {
  const { likely, groups } = reply;
  const { selection, longestWindowMs } = reply.request;
  const { fromMs, toMs } = selection.range;
  const marks: PartitionMark[] = [];
  const lefts: PartitionLeft[] = [];
  const windows: FoundWindow[] = [];
  for (const { group, partition, index } of groups) {
    if (partition.error !== undefined) throw partition.error;
    const { partition: called, starts, frames } = partition.found[index]!;
    marks.push(called.mark);
    lefts.push(called.left);
    for (const windowStart of starts)
      if (windowStart < toMs && windowStart > fromMs - longestWindowMs)
        windows.push({ ref: partition.ref, group, windowStart, frames: frames[likely.indexOf(windowStart)] });
  }
  const blocks: LocatedBlock[] = [];
  for (const window of windows) {
    const decoded = window.frames && decodeWindow(hot, reply, window, window.frames);
    if (decoded === undefined || decoded instanceof Promise)
      return decodeLater(hot, reply, windows, { marks, left: lefts });
    if (decoded.located !== undefined) blocks.push(decoded.located);
  }
  return { blocks, marks, left: lefts };
}

/** Decodes windows of which some need further commands. */
async function decodeLater(
  hot: HotTier,
  reply: HotReply,
  windows: readonly FoundWindow[],
  { marks, left }: Omit<HotRead, 'blocks'>,
): Promise<HotRead> {
  const decoded = await mapLimited(windows, PARALLEL, async (window) => {
    const { ref, group, windowStart, frames } = window;
    const found = frames ?? (await hot.reader.allFrames(ref, group, windowStart));
    return decodeWindow(hot, reply, window, found);
  });
  const blocks = decoded.flatMap(({ located }) => located ?? []);
  const later = windows.filter(({ frames }) => frames === undefined);
  // Frames that needed a second command may have been lost between the two. Inspect their marks again.
  const askedTwice = new Map(later.map(({ ref }) => [ref.partition, ref]));
  const after = await mapLimited([...askedTwice.values()], PARALLEL, async (ref) => ({
    ref,
    ...(await hot.marks.inspect(ref)),
  }));
  const leftLater = later.map(({ ref, windowStart }) => ({
    ref,
    beforeMs: -Infinity,
    starts: [windowStart],
  }));
  return { blocks, marks: [...marks, ...after], left: [...left, ...leftLater] };
}

/** The decoded frames of a window; without a block if they have no wanted series. */
interface DecodedWindow {
  readonly located: LocatedBlock | undefined;
}

function decodeWindow(
  hot: HotTier,
  { request: { selection, layoutOf }, picks }: HotReply,
  { ref, group }: FoundWindow,
  frames: WindowFrames,
): Later<DecodedWindow> {
  const findLayout = async (id: Id) => (await hot.reader.layout(ref, id)) ?? layoutOf(group, id);
  return frames.decoded(() => pickWanted(frames, picks, selection, findLayout));
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
 * @param findLayout finds a layout that the selection lacks
 */
function pickWanted(
  frames: WindowFrames,
  picks: readonly WantedColumns[],
  { wanted, layouts: known }: Selection,
  findLayout: (id: Id) => Promise<Layout>,
): Later<DecodedWindow> {
  const { picked } = frames;
  const simple = blockFromPicked(wanted.idBytes, wanted.series.length, picked, picks);
  if (simple !== undefined) return locatedAt(frames, simple.block, samplesOf(simple.counts, picks));
  const { frames: some, counts } = pickedFrames(picked, picks);
  const block = blockFromFrames(wanted.idBytes, wanted.series.length, some);
  const samples = samplesOf(counts, picks);
  const whole = wholeFrames(picked, picks).map(decodeFrame);
  if (whole.length === 0) return locatedAt(frames, block, samples);
  const ids = [...new Set(whole.map(({ layout }) => idText(layout)))];
  const withWhole = (layouts: readonly Layout[]) => {
    const merged = mergeLayouts(layouts);
    const others = gather(merged, layouts, whole);
    const wholePicked = pickSeries({ block: others, layout: merged }, wanted);
    const all = wholePicked === undefined ? block : mergeBlocks(block, wholePicked);
    return locatedAt(frames, all, samples + sampleCount(others));
  };
  const found = ids.flatMap((id) => known.get(id) ?? []);
  if (found.length === ids.length) return withWhole(found);
  return mapLimited(ids, PARALLEL, async (id) => known.get(id) ?? findLayout(id)).then(withWhole);
}

/** @param samples number of samples of all series in the frames, wanted or not */
function locatedAt({ place, frameBytes }: WindowFrames, block: Block, samples: number): DecodedWindow {
  const hasRows = block.timestamps.length > 0;
  return { located: hasRows ? { place, bytes: frameBytes, samples, block } : undefined };
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
 * Decides which whole frames a read caches. They are large, so it caches those from the start of its range to now,
 * and only if the range covers enough of that time ({@link KEPT_SHARE}). Reads share cached frames if these times
 * are in the same class of lengths, within which they differ by less than a factor of four.
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
