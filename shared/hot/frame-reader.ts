import { encodeWholeFrames } from '../codec';
import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import type { Id } from '../model/id';
import type { Layout } from '../model/layout';
import { cachedLayout, openLayout } from '../model/open-layouts';
import type { GroupId, PartitionRef } from '../model/placement';
import { slicesOf } from '../model/slices';
import { JoinedCalls } from '../platform/concurrency';
import { HotKeys } from './hot-keys';
import type { Mark } from './partition-marks';
import {
  argumentsOf,
  type ColumnPick,
  type FoundList,
  type LeftWindows,
  type ReadReply,
  type RequestedGroup,
  type RequestedList,
  replyOf,
} from './read-call';
import type { ScriptedClient } from './scripts';
import { CachedFrames, WindowFrames } from './window-frames';

/** A reader's request for the windows of a group. */
export interface GroupQuery {
  readonly group: GroupId;
  /** Starts of the wanted windows. Windows that do not exist are ignored. */
  readonly windows: readonly number[];
  /** The columns to return for each layout. Frames of layouts without a pick are returned whole. */
  readonly picks: readonly ColumnPick[];
  /** Key under which queries share cached frames. Queries with equal keys have the same picks. */
  readonly picksKey: string;
}

/** A partition, and its mark when the mark was read. */
export type PartitionMark = { readonly ref: PartitionRef } & Mark;

/** A partition, and which of its windows may have left memory before it was read. */
export type PartitionLeft = { readonly ref: PartitionRef } & LeftWindows;

/** State of a partition at the moment when a call read frames of its groups. */
export interface CalledPartition {
  /** The partition's mark. It shows whether memory may have lost samples before they were flushed. */
  readonly mark: PartitionMark;
  readonly left: PartitionLeft;
}

/** The reply to a {@link GroupQuery}. */
export interface GroupWindows {
  readonly partition: CalledPartition;
  /** Starts of all windows that the group has in memory, in ms. */
  readonly starts: readonly number[];
  /**
   * The frames of each requested window. Undefined for a window that has no frames, or whose frames would have exceeded
   * {@link MAX_CALL_COST}.
   */
  readonly frames: readonly (WindowFrames | undefined)[];
}

/**
 * Maximum number of groups in one call. If more are wanted, several calls read them in parallel. Groups with two
 * windows of an hour each, and a frame every 15 s, just fit within {@link MAX_CALL_COST}.
 */
const MAX_CALL_GROUPS = 50;
/**
 * Estimated size of a cache entry without its frames, in bytes. The cache counts the size of frames twice, since
 * readers also keep them decoded.
 */
const ENTRY_BYTES = 600;

/** A window that a call requests. */
interface RequestedWindow extends RequestedList {
  readonly cacheKey: string;
  readonly known: CachedFrames | undefined;
}

/**
 * Returns the mark's id to send with a call: the id that the mark had when the first of the cached frames
 * were read; '' if none are cached.
 */
function markIdOf(requested: readonly RequestedGroup<RequestedWindow>[]): string {
  for (const { lists } of requested)
    for (const { known } of lists) if (known !== undefined) return known.markId;
  return '';
}

/** Reads the frames of group-windows from memory, and caches them, for queries. */
export class FrameReader {
  /**
   * Gathers queries for the same partition that arrive together, so that they share calls. The key is the partition's
   * hash tag.
   */
  private readonly queries = new JoinedCalls<GroupQuery, GroupWindows>();
  /**
   * Frames that this instance has read, by group-window and picked columns.
   *
   * Writers append frames at the end of a window, and flushers remove frames from its front. The mark lists the windows
   * from which flushers may have removed frames. So as long as the mark is the same and does not list a window, the
   * window still begins with the frames that this instance has read.
   */
  private readonly cache = new Cache<CachedFrames>(
    CACHES.frames,
    ({ picked }) => ENTRY_BYTES + 2 * picked.length,
  );

  /** @param mayRead resolves when a call of {@link windows} may read memory */
  constructor(
    private readonly redis: ScriptedClient,
    private readonly mayRead: () => Promise<void>,
  ) {}

  /**
   * Reads the window starts of a group and the frames of the requested windows, all at one moment. Concurrent
   * queries of a partition share calls.
   */
  windows(ref: PartitionRef, query: GroupQuery): Promise<GroupWindows> {
    const keys = new HotKeys(ref);
    return this.queries.add(keys.tag, query, async (queries) => {
      const slices = slicesOf(queries, MAX_CALL_GROUPS);
      return (await Promise.all(slices.map((slice) => this.readAll(ref, keys, slice)))).flat();
    });
  }

  /** Reads groups in consecutive calls, each within {@link MAX_CALL_COST}. */
  private async readAll(ref: PartitionRef, keys: HotKeys, queries: readonly GroupQuery[]) {
    const found: GroupWindows[] = [];
    while (found.length < queries.length) {
      await this.mayRead();
      found.push(...(await this.readSome(ref, keys, queries.slice(found.length))));
    }
    return found;
  }

  /**
   * Reads as many groups as fit into one call.
   *
   * @returns the windows of each group that was read, in the order of `queries`. At least the first query is
   *   answered; the result is shorter than `queries` if not all groups fit.
   */
  private async readSome(
    ref: PartitionRef,
    keys: HotKeys,
    queries: readonly GroupQuery[],
  ): Promise<GroupWindows[]> {
    const requested = queries.map((query) => this.requestOf(keys, query));
    const markId = markIdOf(requested);
    const [names, args] = argumentsOf(keys.mark, markId, requested);
    const reply = replyOf(await this.redis.readGroupsBuffer(names.length, ...names, ...args), requested);
    const partition = { mark: { ref, ...reply.mark }, left: { ref, ...reply.left } };
    return reply.groups.map(({ starts, lists }, i) => ({
      partition,
      starts,
      frames: lists.map((found, list) => this.framesOf(requested[i]!.lists[list]!, found, reply)),
    }));
  }

  private requestOf(
    keys: HotKeys,
    { group, windows, picks, picksKey }: GroupQuery,
  ): RequestedGroup<RequestedWindow> {
    const lists = windows.map((start) => {
      const name = keys.frames(group, start);
      const cacheKey = `${name} ${picksKey}`;
      return { start, name, cacheKey, known: this.cache.get(cacheKey) };
    });
    return { name: keys.windows(group), picks, lists };
  }

  /** Returns the frames of a window: the cached frames, then the frames in the reply. */
  private framesOf(
    { start, name, cacheKey, known }: RequestedWindow,
    { count, leftOut, bytes, picked }: FoundList,
    { markId, left }: ReadReply,
  ): WindowFrames | undefined {
    if (picked === undefined) return leftOut > 0 ? known : undefined;
    const [allBytes, allPicked] =
      leftOut > 0 ? [known!.frameBytes + bytes, Buffer.concat([known!.picked, picked])] : [bytes, picked];
    if (markId === undefined || start < left.beforeMs || left.starts.includes(start)) {
      this.cache.delete(cacheKey);
      return new WindowFrames(name, allBytes, allPicked);
    }
    const cached = new CachedFrames(name, allBytes, allPicked, markId, count);
    this.cache.set(cacheKey, cached);
    return cached;
  }

  /** Reads all frames of a group-window, whole. */
  async allFrames(ref: PartitionRef, group: GroupId, windowStart: number): Promise<WindowFrames> {
    const name = new HotKeys(ref).frames(group, windowStart);
    const frames = await this.redis.lrangeBuffer(name, 0, -1);
    return new WindowFrames(
      name,
      frames.reduce((sum, frame) => sum + frame.length, 0),
      encodeWholeFrames(frames),
    );
  }

  /** Reads a layout from memory. Returns undefined if the partition lacks it. */
  async layout(ref: PartitionRef, id: Id): Promise<Layout | undefined> {
    const known = cachedLayout(id);
    if (known !== undefined) return known;
    const bytes = await this.redis.getBuffer(new HotKeys(ref).layout(id));
    return bytes === null ? undefined : openLayout(id, bytes);
  }
}
