import { layoutOfFrame } from '../codec';
import { type Id, idText } from '../model/id';
import type { PackedLayout } from '../model/packed-layout';
import type { GroupId, PartitionRef } from '../model/placement';
import { HotKeys, windowMember } from './hot-keys';
import type { ScriptedClient } from './scripts';

export interface WindowAppend {
  readonly group: GroupId;
  readonly windowStart: number;
  readonly frames: readonly Uint8Array[];
}

export interface PartitionAppend {
  /** The lowest stream arrival time of the records that the frames come from, in ms. */
  readonly arrivalMs: number;
  /** Every layout that the frames refer to, by id. */
  readonly layouts: ReadonlyMap<Id, PackedLayout>;
  /** Ids of layouts that are new to the catalogue. Memory cannot have them yet. @default none */
  readonly newLayouts?: ReadonlySet<Id>;
  readonly windows: readonly WindowAppend[];
}

/**
 * Nothing was appended, because the partition's mark is missing or names another primary. Memory may have
 * lost samples of the partition.
 */
export class UnmarkedPartitionError extends Error {
  override readonly name = 'UnmarkedPartitionError';
}

/**
 * Maximum size of the frames and layouts in one script call, in bytes. Lua copies them, and the node serves no other
 * client during a call.
 */
const MAX_CALL_BYTES = 1024 * 1024;
const MAX_CALL_FRAMES = 4_000;
/** Maximum number of layouts to which the frames of one script call may refer. */
const MAX_CALL_LAYOUTS = 500;

/**
 * Appends frames to memory, for the ingester.
 *
 * A script call appends either all of its frames or none. After a time-out or a lost connection, the caller does not
 * know whether the frames were appended. Repeating an append is always safe (DESIGN.md, rule 2). An append can fail in
 * these ways:
 *
 *     layouts missing            `append` repeats the call with the layouts, at most twice
 *     UnmarkedPartitionError     memory may have lost samples: the ingester lets LossWatch record the loss,
 *                                then appends again
 *     OOM                        memory is full: the ingester fails the records, and the stream delivers them again
 *     time-out, lost connection  the frames may have been appended: the ingester fails the records; if their
 *                                next delivery appends the frames a second time, the duplicates merge
 */
export class FrameAppender {
  /** @param ttlMs time to live, in ms, of frames that no flusher moves: a safety net, far longer than the residency */
  constructor(
    private readonly redis: ScriptedClient,
    private readonly ttlMs: number,
  ) {}

  /**
   * Appends frames to one partition, with as many script calls as the bounds require. Repeating the call is safe.
   *
   * @param isReplay whether the frames come from records that the stream has delivered before
   * @throws {UnmarkedPartitionError} if the partition has no good mark; earlier script calls may have appended their
   *   frames
   */
  async append(ref: PartitionRef, addition: PartitionAppend, isReplay = false): Promise<void> {
    for (const each of callsOf(addition))
      await this.appendOnce(new HotKeys(ref), each, new Set(addition.newLayouts), isReplay);
  }

  /**
   * Appends frames with one script call. If memory lacks layouts, repeats the call with them.
   *
   * @param sent ids of the layouts whose bytes the first call sends. If the script reports that memory lacks other
   *   layouts, their ids are added for the next call
   */
  private async appendOnce(
    keys: HotKeys,
    { arrivalMs, layouts, windows }: PartitionAppend,
    sent: Set<Id>,
    isReplay: boolean,
  ): Promise<void> {
    const layoutIds = [...layouts.keys()];
    const names = [keys.mark, keys.due, keys.arrived, ...layoutIds.map((id) => keys.layout(id))];
    for (const { group, windowStart } of windows)
      names.push(keys.frames(group, windowStart), keys.windows(group));

    const call = async () => {
      const args: (string | number | Buffer)[] = [
        this.ttlMs,
        arrivalMs,
        isReplay ? 1 : 0,
        layoutIds.length,
        windows.length,
      ];
      for (const id of layoutIds) args.push(sent.has(id) ? Buffer.from(layouts.get(id)!.packed) : '');
      for (const { group, windowStart, frames } of windows) {
        args.push(windowMember(group, windowStart), windowStart, frames.length);
        for (const frame of frames) args.push(Buffer.from(frame.buffer, frame.byteOffset, frame.length));
      }
      const missing = await this.redis.appendFrames(names.length, ...names, ...args);
      if (missing[0] === -1) throw new UnmarkedPartitionError(`${keys.tag} has no mark of the primary`);
      return missing;
    };

    let missing = await call();
    // Retry up to twice: memory may be wiped between two calls, and then lacks all layouts.
    for (let tries = 0; missing.length > 0 && tries < 2; tries++) {
      for (const number of missing) sent.add(layoutIds[number - 1]!);
      missing = await call();
    }
    if (missing.length > 0)
      throw new Error(`the hot tier refused ${missing.length} layouts of ${keys.tag} three times`);
  }
}

/**
 * Divides an addition into script calls that keep within the bounds. Each call has the layouts that its frames need.
 */
export function callsOf(addition: PartitionAppend): PartitionAppend[] {
  const { arrivalMs } = addition;
  const calls: PartitionAppend[] = [];
  let layouts = new Map<Id, PackedLayout>();
  let windows: WindowAppend[] = [];
  let bytes = 0;
  let count = 0;
  for (const window of addition.windows) {
    let frames: Uint8Array[] = [];
    const closeWindow = () => {
      if (frames.length > 0) windows.push({ ...window, frames });
      frames = [];
    };
    for (const frame of window.frames) {
      const id = idText(layoutOfFrame(frame));
      const layout = addition.layouts.get(id);
      if (layout === undefined)
        throw new RangeError(`a frame refers to layout ${id}, which the addition does not have`);
      const added = frame.length + (layouts.has(id) ? 0 : layout.packed.length);
      const isFull =
        bytes + added > MAX_CALL_BYTES ||
        count >= MAX_CALL_FRAMES ||
        (layouts.size >= MAX_CALL_LAYOUTS && !layouts.has(id));
      if (count > 0 && isFull) {
        closeWindow();
        calls.push({ arrivalMs, layouts, windows });
        layouts = new Map();
        windows = [];
        bytes = 0;
        count = 0;
      }
      bytes += frame.length + (layouts.has(id) ? 0 : layout.packed.length);
      layouts.set(id, layout);
      frames.push(frame);
      count++;
    }
    closeWindow();
  }
  if (windows.length > 0) calls.push({ arrivalMs, layouts, windows });
  return calls;
}
