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

/** The frames that have reached the next tier: the first of a window. */
export interface MovedFrames {
  readonly count: number;
  /** Hex SHA-1 of the frames, one after the other. */
  readonly sha1: string;
  /** True when the window held no others when they were read. */
  readonly isAll: boolean;
}

export function movedFrames(frames: readonly Uint8Array[], isAll: boolean): MovedFrames {
  const digest = createHash('sha1');
  for (const frame of frames) digest.update(frame);
  return { count: frames.length, sha1: digest.digest('hex'), isAll };
}

/** Most frames read from a group-window at a time; the others stay due. */
const MAX_READ_FRAMES = 2_000;

/** Leases group-windows that are due, and removes what was moved, for the flusher. */
export class FrameMover {
  /** @param ttlMs life of a key that nobody moves: a safety net far beyond residency */
  constructor(
    private readonly redis: ScriptedClient,
    private readonly ttlMs: number,
  ) {}

  /** Counts a partition's group-windows that were first written by `timeMs`; `oldestMs` is the oldest one's first write. */
  async due(ref: PartitionRef, timeMs: number): Promise<{ count: number; oldestMs: number | undefined }> {
    const key = new HotKeys(ref).due;
    const [count, oldest] = await Promise.all([
      this.redis.zcount(key, '-inf', `(${timeMs + 1}`),
      this.redis.zrange(key, '0', '0', 'WITHSCORES'),
    ]);
    return { count, oldestMs: oldest[1] === undefined ? undefined : Math.floor(Number(oldest[1])) };
  }

  /**
   * Leases group-windows that are due, the oldest first.
   *
   * @param beforeMs only those first written by then, by the store's clock (hot-nodes.ts, `now`)
   * @param leaseMs how long the lease lasts; longer than a move takes
   * @param spreadMs the longest delay, by which windows wait beyond `beforeMs` (due-score.ts)
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

  /** Reads the oldest frames of a group-window, as many as move at a time. */
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
   * Removes the frames that were moved, and the window if none remain.
   *
   * @param moved the first of what {@link frames} gave
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
