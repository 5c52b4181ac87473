import { createHash, randomBytes } from 'node:crypto';
import type { GroupId, PartitionRef } from '../model/placement';
import { HotKeys, parseWindowMember, windowMember } from '../platform/keys';
import type { ScriptedClient } from './scripts';

/** A lease on a group-window. Only its holder can trim. */
export interface Lease {
  readonly group: GroupId;
  readonly windowStart: number;
  readonly token: string;
}

/** The frames at the head of a window that have been written to the next tier. */
export interface MovedFrames {
  readonly count: number;
  /** Hex SHA-1 of the concatenated frames. */
  readonly sha1: string;
  /** Whether these were all frames of the window when they were read. */
  readonly isAll: boolean;
}

export function movedFrames(frames: readonly Uint8Array[], isAll: boolean): MovedFrames {
  const digest = createHash('sha1');
  for (const frame of frames) digest.update(frame);
  return { count: frames.length, sha1: digest.digest('hex'), isAll };
}

/** Most frames moved from a group-window at a time. The remaining frames stay due. */
const MAX_READ_FRAMES = 2_000;

/** Leases due group-windows to a flusher, and removes the frames that the flusher has moved. */
export class FrameMover {
  /** @param ttlMs time to live of a key that is never flushed: a safety net far beyond residency */
  constructor(
    private readonly redis: ScriptedClient,
    private readonly ttlMs: number,
  ) {}

  /**
   * Counts a partition's group-windows that were first written at `timeMs` or before. `oldestMs` is the first
   * write of the oldest one.
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
   * Leases due group-windows, the oldest first.
   *
   * @param beforeMs latest first write of a window without a delay, ms by the store's clock ({@link
   *   HotNodes.now})
   * @param leaseMs how long the lease lasts; longer than a move takes
   * @param spreadMs the longest delay that a window waits beyond `beforeMs` (due-score.ts)
   */
  async lease(
    ref: PartitionRef,
    beforeMs: number,
    most: number,
    leaseMs: number,
    spreadMs = 0,
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
      spreadMs,
    );
    return members.map((member) => ({ ...parseWindowMember(member), token }));
  }

  /** Reads the oldest frames of a group-window, at most as many as move at a time. */
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
   * Removes the frames that were moved, and the window if no frames remain.
   *
   * @param moved the first frames that {@link frames} returned
   * @returns how many frames remain, or undefined when the lease was lost and nothing was removed
   */
  async trim(ref: PartitionRef, lease: Lease, moved: MovedFrames): Promise<number | undefined> {
    const keys = new HotKeys(ref);
    const left = await this.redis.trimMoved(
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
    return left < 0 ? undefined : left;
  }
}
