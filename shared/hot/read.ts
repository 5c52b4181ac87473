import {
  type Block,
  blockFromFrames,
  decodeFrame,
  decodeFrameColumns,
  layoutOfFrame,
  type PlacedFrame,
  sampleCount,
} from '../codec';
import { gather } from '../model/block-layout';
import { type Id, idText } from '../model/id';
import { type Layout, unionLayout } from '../model/layout';
import { pickSeries } from '../model/layout-block';
import { type GroupId, type PartitionRef, windowStartMs } from '../model/placement';
import type { LocatedBlock, Selection, TimeRange } from '../model/selection';
import { mapLimited } from '../platform/concurrency';
import type { HotTier, LeftWindows, PartitionState } from './hot-tier';

/** A partition's mark while the partition was read. */
export type PartitionMark = { readonly ref: PartitionRef } & Pick<PartitionState, 'isWhole' | 'loss'>;

/** A partition, and which of its windows may have left memory before it was read. */
export type PartitionLeft = { readonly ref: PartitionRef } & LeftWindows;

export interface HotRead {
  readonly blocks: readonly LocatedBlock[];
  /** Of every partition at first, and again of those that were asked twice. */
  readonly marks: readonly PartitionMark[];
  /** Of every partition, perhaps more than once; whatever may have left by one of them may have. */
  readonly left: readonly PartitionLeft[];
}

/** Commands in flight at a time. */
const PARALLEL = 16;
/** Windows whose frames come with the first command. Frames of other windows take a second one. */
const LIKELY_WINDOWS = 4;

/**
 * Reads series out of memory: one command a partition and group, which answers with the newest windows' frames.
 *
 * @param refs the partitions that the source has had in the range
 * @param longestWindowMs a window may begin this long before a sample in it
 * @param layoutOf finds a layout that memory no longer has
 */
export async function readHot(
  hot: HotTier,
  refs: readonly PartitionRef[],
  { wanted, groups, range, layouts: known }: Selection,
  longestWindowMs: number,
  nowMs: number,
  layoutOf: (group: GroupId, id: Id) => Promise<Layout>,
): Promise<HotRead> {
  const targets = refs.flatMap((ref) => groups.map((group) => ({ ref, group })));
  const likely = likelyWindows(range, longestWindowMs, nowMs);
  const marks: PartitionMark[] = [];
  const lefts: PartitionLeft[] = [];
  const windows = await mapLimited(targets, PARALLEL, async ({ ref, group }) => {
    const { isWhole, loss, left, starts, frames } = await hot.windows(ref, group, likely);
    marks.push({ ref, isWhole, loss });
    lefts.push({ ref, ...left });
    return starts
      .filter((start) => start < range.toMs && start > range.fromMs - longestWindowMs)
      .map((windowStart) => ({ ref, group, windowStart, frames: frames.get(windowStart) }));
  });
  const blocks = await mapLimited(windows.flat(), PARALLEL, async ({ ref, group, windowStart, frames }) => {
    const encoded = frames ?? (await hot.allFrames(ref, group, windowStart));
    if (encoded.length === 0) return undefined;
    const ids = [...new Set(encoded.map((frame) => idText(layoutOfFrame(frame))))];
    const layouts = await mapLimited(
      ids,
      PARALLEL,
      async (id) => known.get(id) ?? (await hot.layout(ref, id)) ?? layoutOf(group, id),
    );
    const picked = pickColumns(encoded, layouts, wanted) ?? pickWhole(encoded, layouts, wanted);
    return (
      picked.block && {
        place: hot.keyOf(ref, group, windowStart),
        bytes: encoded.reduce((sum, frame) => sum + frame.length, 0),
        samples: picked.samples,
        block: picked.block,
      }
    );
  });
  // Again after frames that took a command of their own: they may have been lost in between.
  const later = windows.flat().filter(({ frames }) => frames === undefined);
  for (const { ref, windowStart } of later) lefts.push({ ref, beforeMs: -Infinity, starts: [windowStart] });
  const askedTwice = new Map(later.map(({ ref }) => [ref.partition, ref]));
  const after = await mapLimited([...askedTwice.values()], PARALLEL, async (ref) => ({
    ref,
    ...(await hot.inspect(ref)),
  }));
  return {
    blocks: blocks.filter((block) => block !== undefined),
    marks: [...marks, ...after],
    left: lefts,
  };
}

interface Picked {
  /** Undefined when the frames have none of the wanted series. */
  readonly block: Block | undefined;
  readonly samples: number;
}

/** Decodes frames and picks the wanted series. */
function pickWhole(encoded: readonly Uint8Array[], layouts: readonly Layout[], wanted: Layout): Picked {
  const layout = unionLayout(layouts);
  const block = gather(layout, layouts, encoded.map(decodeFrame));
  return { block: pickSeries({ block, layout }, wanted), samples: sampleCount(block) };
}

/**
 * Decodes the columns of the wanted series alone.
 *
 * @returns undefined when most are wanted, or a frame has none that could be told without the others
 */
function pickColumns(
  encoded: readonly Uint8Array[],
  layouts: readonly Layout[],
  wanted: Layout,
): Picked | undefined {
  const places = new Map<Id, ReturnType<typeof placesOf>>();
  for (const layout of layouts) {
    const place = placesOf(layout, wanted);
    if (2 * place.columns.length > layout.series.length) return undefined;
    places.set(layout.id, place);
  }
  const placed: PlacedFrame[] = [];
  let samples = 0;
  for (const bytes of encoded) {
    const { columns, positions, seriesCount } = places.get(idText(layoutOfFrame(bytes)))!;
    samples += seriesCount;
    const frame = decodeFrameColumns(bytes, columns);
    if (frame === undefined) return undefined;
    if (columns.length > 0) placed.push({ frame, positions });
  }
  if (placed.length === 0) return { block: undefined, samples };
  return { block: blockFromFrames(wanted.idBytes, wanted.series.length, placed), samples };
}

/** The columns of `layout` that are wanted, ascending, and for each its column in `wanted`. */
function placesOf({ columns, series }: Layout, wanted: Layout) {
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

/** The starts of a range's last windows that may have begun by now. */
function likelyWindows({ fromMs, toMs }: TimeRange, windowMs: number, nowMs: number): number[] {
  const starts: number[] = [];
  if (windowMs === 0) return starts;
  let start = windowStartMs(Math.min(toMs - 1, nowMs), windowMs);
  for (; start > fromMs - windowMs && starts.length < LIKELY_WINDOWS; start -= windowMs) starts.push(start);
  return starts;
}
