import { createHash, randomBytes } from 'node:crypto';
import type { GroupId, PartitionRef } from '../model/placement';
import { HotKeys, parseWindowMember, windowMember } from './hot-keys';
import type { ScriptedClient } from './scripts';

/** A lease of a group-window: the right of one flusher to trim it, for a limited time. */
export interface Lease {
  readonly group: GroupId;
  readonly windowStart: number;
  readonly token: string;
}

/** The first frames of a group-window, which a flusher has written to the warm tier. */
export interface MovedFrames {
  readonly count: number;
  /** Hex SHA-1 of the concatenated frames. */
  readonly sha1: string;
  /** Whether these were all frames of the group-window when they were read. */
  readonly isAll: boolean;
}

export function digestFrames(frames: readonly Uint8Array[], isAll: boolean): MovedFrames {
  const digest = createHash('sha1');
  for (const frame of frames) digest.update(frame);
  return { count: frames.length, sha1: digest.digest('hex'), isAll };
}

/** Maximum number of frames of a group-window that are moved together. The remaining frames stay due. */
const MAX_READ_FRAMES = 2_000;

/** Leases due group-windows to a flusher, reads their frames, and removes the frames that the flusher has moved. */
export class FrameMover {
  /** @param ttlMs time to live, in ms, of frames that no flusher moves: a safety net, far longer than the residency */
  constructor(
    private readonly redis: ScriptedClient,
    private readonly ttlMs: number,
  ) {}

  /**
   * Counts the group-windows of a partition that were first written at or before `timeMs`.
   *
   * @returns the number, and in `oldestMs` when the partition's oldest group-window was first written, in ms
   */
  async due(ref: PartitionRef, timeMs: number): Promise<{ count: number; oldestMs: number | undefined }> {
    const key = new HotKeys(ref).due;
    const [count, oldest] = await Promise.all([
      this.redis.zcount(key, '-inf', `(${timeMs + 1}`),
      this.redis.zrange(key, '0', '0', 'WITHSCORES'),
    ]);
    return { count, oldestMs: oldest[1] === undefined ? undefined : Math.floor(Number(oldest[1])) };
  }

  /**
   * Leases group-windows that are due, the oldest first. A group-window is due if it was first written at or before
   * `beforeMs`, and its own delay has passed too.
   *
   * @param beforeMs the current time minus the residency, in ms by the Redis server's clock ({@link HotNodes.now})
   * @param most maximum number of group-windows to lease
   * @param leaseMs how long the lease lasts, in ms; must be longer than a move takes
   * @param flushDelayMs the maximum delay of a group-window, in ms (due-score.ts)
   */
  async lease(
    ref: PartitionRef,
    beforeMs: number,
    most: number,
    leaseMs: number,
    flushDelayMs = 0,
  ): Promise<Lease[]> {
    const keys = new HotKeys(ref);
    const token = randomBytes(16).toString('base64url');
    const members = await this.redis.leaseDue(
      3,
      keys.due,
      keys.leases,
      keys.mark,
      beforeMs,
      most,
      token,
      leaseMs,
      flushDelayMs,
    );
    return members.map((member) => ({ ...parseWindowMember(member), token }));
  }

  /** Reads the first frames of a group-window, up to {@link MAX_READ_FRAMES}. */
  async frames(
    ref: PartitionRef,
    group: GroupId,
    windowStart: number,
  ): Promise<{ frames: Buffer[]; isAll: boolean }> {
    const key = new HotKeys(ref).frames(group, windowStart);
    const frames = await this.redis.lrangeBuffer(key, 0, MAX_READ_FRAMES - 1);
    return { frames, isAll: frames.length < MAX_READ_FRAMES };
  }

  /**
   * Removes the frames that were moved, and the group-window if no frames remain.
   *
   * @param moved the frames that {@link frames} returned, or only the first of them
   * @returns how many frames remain; undefined if nothing was removed, because the lease has ended or the
   *   group-window no longer begins with these frames
   */
  async trim(ref: PartitionRef, lease: Lease, moved: MovedFrames): Promise<number | undefined> {
    const keys = new HotKeys(ref);
    const remaining = await this.redis.trimMoved(
      6,
      keys.due,
      keys.leases,
      keys.frames(lease.group, lease.windowStart),
      keys.windows(lease.group),
      keys.arrived,
      keys.mark,
      windowMember(lease.group, lease.windowStart),
      lease.windowStart,
      lease.token,
      moved.count,
      moved.sha1,
      moved.isAll ? 1 : 0,
      this.ttlMs,
    );
    return remaining < 0 ? undefined : remaining;
  }
}
