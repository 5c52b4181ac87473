import { decodeFrame, sampleCount } from '../codec';
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
    const decoded = encoded.map(decodeFrame);
    const ids = [...new Set(decoded.map(({ layout }) => idText(layout)))];
    const layouts = await mapLimited(
      ids,
      PARALLEL,
      async (id) => known.get(id) ?? (await hot.layout(ref, id)) ?? layoutOf(group, id),
    );
    const layout = unionLayout(layouts);
    const whole = gather(layout, layouts, decoded);
    const block = pickSeries({ block: whole, layout }, wanted);
    return (
      block && {
        place: hot.keyOf(ref, group, windowStart),
        bytes: encoded.reduce((sum, frame) => sum + frame.length, 0),
        samples: sampleCount(whole),
        block,
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

/** The starts of a range's last windows that may have begun by now. */
function likelyWindows({ fromMs, toMs }: TimeRange, windowMs: number, nowMs: number): number[] {
  const starts: number[] = [];
  if (windowMs === 0) return starts;
  let start = windowStartMs(Math.min(toMs - 1, nowMs), windowMs);
  for (; start > fromMs - windowMs && starts.length < LIKELY_WINDOWS; start -= windowMs) starts.push(start);
  return starts;
}
