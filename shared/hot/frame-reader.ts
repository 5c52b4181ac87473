import { markedWhole } from '../codec';
import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import type { Id } from '../model/id';
import type { Layout } from '../model/layout';
import { knownLayout, openLayout } from '../model/open-layouts';
import type { GroupId, PartitionRef } from '../model/placement';
import type { TimeRange } from '../model/selection';
import { slicesOf } from '../model/slices';
import { Batches } from '../platform/concurrency';
import { HotKeys } from '../platform/keys';
import type { PartitionState } from './partition-marks';
import type { ReadPace } from './read-pace';
import type { ScriptedClient } from './scripts';
import { CachedFrames, WindowFrames } from './window-frames';

/** Which windows of a partition may have left memory, wholly or in part, because they were flushed. */
export interface LeftWindows {
  /** Every window that begins before this time may have left, ms. */
  readonly beforeMs: number;
  /** Starts of further windows that may have left, ms. */
  readonly starts: readonly number[];
}

/** Says that any window may have left memory. Used if the mark does not know which ones have. */
export const ANY_LEFT: LeftWindows = { beforeMs: Infinity, starts: [] };

/** The columns that a reader wants from frames of one layout. */
export interface ColumnPick {
  /** The layout's id, 16 bytes. */
  readonly layout: Uint8Array;
  /** Indexes of the wanted columns, ascending. */
  readonly columns: Uint32Array;
}

/** A reader's request for the windows of a group. */
export interface GroupQuery {
  readonly group: GroupId;
  /** Frames with timestamps outside this range are left out of the reply. */
  readonly range: TimeRange;
  /** Starts of the wanted windows. Windows that do not exist are ignored. */
  readonly windows: readonly number[];
  /** The columns to return for each layout. Frames of layouts without a pick are returned whole. */
  readonly picks: readonly ColumnPick[];
  /** A text that is equal for queries with equal picks: part of the key of cached frames. */
  readonly picksKey: string;
  /**
   * Whether to read the windows whole, ignoring `range`, and to cache them, so that the next read need not
   * fetch these frames again.
   * @default true
   */
  readonly keeps?: boolean;
}

/**
 * The answer to a {@link GroupQuery}, with the state of the mark, which says whether memory has everything.
 */
export interface GroupWindows extends Pick<PartitionState, 'isWhole' | 'loss'> {
  readonly left: LeftWindows;
  /** Starts of all windows that the group has in memory, ascending, ms. */
  readonly starts: readonly number[];
  /**
   * The frames of requested windows, by window start. It lacks windows without frames, and those whose frames
   * would have exceeded {@link MAX_CALL_COST}.
   */
  readonly frames: ReadonlyMap<number, WindowFrames>;
  /** How long the call waited for its turn (read-pace.ts), ms. */
  readonly waitedMs: number;
}

/**
 * Greatest cost of one call. The cost is the sum over its frames: 1 for each, and 1 more for each {@link
 * COLUMNS_A_COST} columns that are wanted of it. A call of the greatest cost occupies its node for 12 to 24
 * ms.
 */
const MAX_CALL_COST = 24_000;
/** Greatest cost of one frame. A frame that is returned whole has this cost. */
const MAX_FRAME_COST = 10;
/** Columns that add 1 to the cost of a frame. */
const COLUMNS_A_COST = 8;
/**
 * Most groups in one call; parallel calls read further groups. If each group has two windows of an hour and a
 * frame every 15 s, this number of groups just stays within {@link MAX_CALL_COST}.
 */
const MAX_CALL_GROUPS = 50;
/** Estimated bytes of a cache entry besides its frames. Frames count twice, since they are decoded too. */
const ENTRY_BYTES = 600;
const ANY_TIME: TimeRange = { fromMs: -9e15, toMs: 9e15 };

/** Reads the frames of group-windows from memory, and caches them, for queries. */
export class FrameReader {
  /**
   * Gathers the queries of one partition that arrive together, by its hash tag, to answer them by one call.
   */
  private readonly queries = new Batches<GroupQuery, GroupWindows>();
  /**
   * Frames that this instance has read, by group-window and picked columns.
   *
   * Writers append frames at the end of a window, and flushers remove them from its front. So as long as the
   * partition's mark is the same and does not list the window as left, the window still begins with the
   * cached frames.
   */
  private readonly cache = new Cache<CachedFrames>(
    CACHES.frames,
    ({ picked }) => ENTRY_BYTES + 2 * picked.length,
  );

  /** @param pace decides when calls of {@link windows} may start */
  constructor(
    private readonly redis: ScriptedClient,
    private readonly pace: ReadPace,
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

  /** Reads groups by consecutive calls, each within {@link MAX_CALL_COST}. */
  private async readAll(ref: PartitionRef, keys: HotKeys, queries: readonly GroupQuery[]) {
    const found: GroupWindows[] = [];
    while (found.length < queries.length) {
      const waitedMs = await this.pace.turn(ref.tenantId);
      found.push(...(await this.readSome(keys, queries.slice(found.length), waitedMs)));
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
    keys: HotKeys,
    queries: readonly GroupQuery[],
    waitedMs: number,
  ): Promise<GroupWindows[]> {
    const names = [keys.mark];
    const asked = queries.map(({ group, windows, picksKey, keeps = true }) =>
      windows.map((start) => {
        const name = keys.frames(group, start);
        const key = `${name} ${picksKey}`;
        return { start, name, key, known: keeps ? this.cache.get(key) : undefined };
      }),
    );
    let markId = '';
    for (const windows of asked) for (const { known } of windows) markId ||= known?.markId ?? '';
    // Without buffers among its arguments, the client encodes a command five times as fast.
    const args: (string | number)[] = [MAX_CALL_COST, markId];
    queries.forEach(({ group, range, picks, keeps = true }, i) => {
      const windows = asked[i]!;
      // A window that will be cached is read whole.
      const { fromMs, toMs } = keeps ? ANY_TIME : range;
      const cost = frameCost(picks);
      names.push(keys.windows(group), ...windows.map(({ name }) => name));
      args.push(fromMs, toMs, windows.length, keeps ? cost : 1, keeps ? 0 : cost - 1, picks.length);
      for (const { layout, columns } of picks)
        args.push(
          Buffer.from(layout.buffer, layout.byteOffset, layout.length).toString('hex'),
          columns.join(' '),
        );
      for (const { start, known } of windows) args.push(start, known?.markId === markId ? known.count : 0);
    });
    const [mark, loss, left, replyMarkId, ...rest] = await this.redis.readGroupsBuffer(
      names.length,
      ...names,
      ...args,
    );
    const partition = {
      isWhole: mark === 1,
      loss: loss?.toString(),
      left: left ? leftWindowsOf(left.toString()) : ANY_LEFT,
      waitedMs,
    };
    const marked = replyMarkId?.toString();
    const stays = (start: number) =>
      start >= partition.left.beforeMs && !partition.left.starts.includes(start);
    const found: GroupWindows[] = [];
    for (let at = 0; at < rest.length; ) {
      const starts = (rest[at++] as Buffer[]).map(Number).sort((a, b) => a - b);
      const frames = new Map<number, WindowFrames>();
      const windows = asked[found.length]!;
      const { keeps = true } = queries[found.length]!;
      for (const { start, key, known } of windows) {
        const [count, leftOut, bytes, picked] = rest.slice(at, at + 4) as [number, number, number, unknown];
        at += 4;
        if (picked === null && leftOut > 0) {
          frames.set(start, known!);
          continue;
        }
        if (!Buffer.isBuffer(picked)) continue;
        const [allBytes, allPicked] =
          leftOut > 0 ? [known!.frameBytes + bytes, Buffer.concat([known!.picked, picked])] : [bytes, picked];
        if (keeps && marked !== undefined && stays(start)) {
          const kept = new CachedFrames(allBytes, allPicked, marked, count);
          this.cache.set(key, kept);
          frames.set(start, kept);
        } else {
          if (keeps) this.cache.delete(key);
          frames.set(start, new WindowFrames(allBytes, allPicked));
        }
      }
      found.push({ ...partition, starts, frames });
    }
    return found;
  }

  /** Reads all frames of a group-window, whole. */
  async allFrames(ref: PartitionRef, group: GroupId, windowStart: number): Promise<WindowFrames> {
    const frames = await this.redis.lrangeBuffer(new HotKeys(ref).frames(group, windowStart), 0, -1);
    return new WindowFrames(
      frames.reduce((sum, frame) => sum + frame.length, 0),
      markedWhole(frames),
    );
  }

  /** Reads a layout from memory. Returns undefined if the partition lacks it. */
  async layout(ref: PartitionRef, id: Id): Promise<Layout | undefined> {
    const known = knownLayout(id);
    if (known !== undefined) return known;
    const bytes = await this.redis.getBuffer(new HotKeys(ref).layout(id));
    return bytes === null ? undefined : openLayout(id, bytes);
  }
}

/** Parses the mark's field `left`: numbers separated by spaces (mark-script.ts). */
function leftWindowsOf(text: string): LeftWindows {
  const [beforeMs, ...starts] = text.split(' ').map(Number);
  return { beforeMs: beforeMs!, starts };
}

/** Estimates the cost of each frame of a group: see {@link MAX_CALL_COST}. */
function frameCost(picks: readonly ColumnPick[]): number {
  if (picks.length === 0) return MAX_FRAME_COST;
  let most = 0;
  for (const { columns } of picks) most = Math.max(most, columns.length);
  return Math.min(MAX_FRAME_COST, 1 + Math.floor(most / COLUMNS_A_COST));
}
