import { createHash, randomBytes } from 'node:crypto';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import { layoutOfFrame } from '../codec';
import { type Id, idText } from '../id';
import { decodedBytes, decodeLayout, type Layout } from '../layout';
import type { GroupId, PartitionRef } from '../placement';
import { APPEND_SCRIPT } from './append-script';
import type { HotClient } from './connection';
import {
  dueKey,
  dueMember,
  framesKey,
  hashTag,
  layoutKey,
  leasesKey,
  parseDueMember,
  windowsKey,
} from './keys';
import { LEASE_SCRIPT } from './lease-script';
import { TRIM_SCRIPT } from './trim-script';

/** Frames for one group-window. */
export interface WindowAppend {
  readonly group: GroupId;
  readonly windowStart: number;
  readonly frames: readonly Uint8Array[];
}

/** What one script call adds to a partition. */
export interface PartitionAppend {
  /** Bytes of every layout the frames refer to, by id. */
  readonly layouts: ReadonlyMap<Id, Uint8Array>;
  readonly windows: readonly WindowAppend[];
}

/** A lease on a group-window, without which nothing is removed. */
export interface Lease {
  readonly group: GroupId;
  readonly windowStart: number;
  readonly token: string;
}

/** Frames that have reached the next tier: how many, and which. */
export interface MovedFrames {
  readonly count: number;
  /** Hex SHA-1 of the frames, one after the other. */
  readonly sha1: string;
  /** Whether there were no others when they were read. */
  readonly isAll: boolean;
}

export function movedFrames(frames: readonly Uint8Array[], isAll: boolean): MovedFrames {
  const digest = createHash('sha1');
  for (const frame of frames) digest.update(frame);
  return { count: frames.length, sha1: digest.digest('hex'), isAll };
}

/** Most bytes and frames of one script call; Lua copies them once, and a call blocks its node. */
const MAX_CALL_BYTES = 1024 * 1024;
const MAX_CALL_FRAMES = 4_000;
/** Most frames read from one group-window at a time; the rest stays due. */
const MAX_READ_FRAMES = 2_000;
const MAX_LAYOUT_BYTES = 4 * 1024 * 1024;
/** Most layouts one call may refer to. */
const MAX_CALL_LAYOUTS = 500;
const MAX_DECODED_BYTES = 64_000_000;

interface Scripts {
  appendFrames(keys: number, ...args: (string | number | Buffer)[]): Promise<number[]>;
  leaseDue(keys: number, ...args: (string | number)[]): Promise<string[]>;
  trimMoved(keys: number, ...args: (string | number)[]): Promise<number>;
}

/** The memory tier, addressed by partition: every call touches one hash slot. */
export class HotTier {
  private readonly redis: HotClient & Scripts;
  /** Layouts this instance has sent, by key; when the store forgot one, the script says so and it is sent again. */
  private readonly sentLayouts = new Set<string>();
  private readonly decodedLayouts = new LRUCache<Id, Layout>({
    maxSize: MAX_DECODED_BYTES,
    sizeCalculation: decodedBytes,
  });

  /**
   * @param ttlMs safety net far beyond residency: when a key vanishes even though nobody moved it
   */
  constructor(
    client: HotClient,
    private readonly ttlMs: number,
  ) {
    client.defineCommand('appendFrames', { lua: APPEND_SCRIPT });
    client.defineCommand('leaseDue', { lua: LEASE_SCRIPT });
    client.defineCommand('trimMoved', { lua: TRIM_SCRIPT });
    this.redis = client as HotClient & Scripts;
  }

  /** Appends to one partition: one script call, or as many as the size limits need. Safe to repeat. */
  async append(ref: PartitionRef, addition: PartitionAppend): Promise<void> {
    for (const part of splitAppend(addition)) await this.appendPart(hashTag(ref), part);
  }

  private async appendPart(tag: string, { layouts, windows }: PartitionAppend): Promise<void> {
    const layoutIds = [...layouts.keys()];
    const keys = [dueKey(tag), ...layoutIds.map((id) => layoutKey(tag, id))];
    for (const { group, windowStart } of windows)
      keys.push(framesKey(tag, group, windowStart), windowsKey(tag, group));

    const call = (send: (id: Id, index: number) => boolean) => {
      const args: (string | number | Buffer)[] = [this.ttlMs, layoutIds.length, windows.length];
      layoutIds.forEach((id, i) => {
        args.push(send(id, i) ? zstdCompressSync(layouts.get(id)!) : '');
      });
      for (const { group, windowStart, frames } of windows) {
        args.push(dueMember(group, windowStart), windowStart, frames.length);
        for (const frame of frames) args.push(Buffer.from(frame.buffer, frame.byteOffset, frame.length));
      }
      return this.redis.appendFrames(keys.length, ...keys, ...args);
    };

    let missing = await call((id) => !this.sentLayouts.has(layoutKey(tag, id)));
    // Twice: the store may be emptied between the two calls.
    for (let tries = 0; missing.length > 0 && tries < 2; tries++) missing = await call(() => true);
    if (missing.length > 0)
      throw new Error(`the hot tier refused ${missing.length} layouts of ${tag} three times`);
    if (this.sentLayouts.size > 200_000) this.sentLayouts.clear();
    for (const id of layoutIds) this.sentLayouts.add(layoutKey(tag, id));
  }

  /**
   * Leases group-windows that are due.
   *
   * @param beforeMs only those first written by then, by the store's clock ({@link now})
   * @param leaseMs after which another may take them; longer than moving them takes
   */
  async lease(ref: PartitionRef, beforeMs: number, most: number, leaseMs: number): Promise<Lease[]> {
    const tag = hashTag(ref);
    const token = randomBytes(16).toString('base64url');
    const members = await this.redis.leaseDue(2, dueKey(tag), leasesKey(tag), beforeMs, most, token, leaseMs);
    return members.map((member) => ({ ...parseDueMember(member), token }));
  }

  /** The store's clock, ms: the one by which group-windows are due. */
  async now(): Promise<number> {
    const client = 'nodes' in this.redis ? this.redis.nodes('master')[0]! : this.redis;
    const [seconds, micros] = await client.time();
    return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  }

  /** How many group-windows of a partition were first written by `timeMs`, and when the oldest was. */
  async due(ref: PartitionRef, timeMs: number): Promise<{ count: number; oldestMs: number | undefined }> {
    const key = dueKey(hashTag(ref));
    const [count, oldest] = await Promise.all([
      this.redis.zcount(key, '-inf', String(timeMs)),
      this.redis.zrange(key, '0', '0', 'WITHSCORES'),
    ]);
    return { count, oldestMs: oldest[1] === undefined ? undefined : Number(oldest[1]) };
  }

  /** The oldest frames of a group-window, as many as are moved at a time, and whether those are all. */
  async frames(
    ref: PartitionRef,
    group: GroupId,
    windowStart: number,
  ): Promise<{ frames: Buffer[]; isAll: boolean }> {
    const key = framesKey(hashTag(ref), group, windowStart);
    const frames = await this.redis.lrangeBuffer(key, 0, MAX_READ_FRAMES - 1);
    return { frames, isAll: frames.length < MAX_READ_FRAMES };
  }

  /** All frames of a group-window. */
  async allFrames(ref: PartitionRef, group: GroupId, windowStart: number): Promise<Buffer[]> {
    return this.redis.lrangeBuffer(framesKey(hashTag(ref), group, windowStart), 0, -1);
  }

  /** The window starts a group has in memory, ascending. */
  async windows(ref: PartitionRef, group: GroupId): Promise<number[]> {
    const starts = await this.redis.smembers(windowsKey(hashTag(ref), group));
    return starts.map(Number).sort((a, b) => a - b);
  }

  /**
   * Removes frames that were moved.
   *
   * @param moved the first of what {@link frames} gave
   * @returns how many frames remain, or undefined when the lease was lost and nothing was removed
   */
  async trim(ref: PartitionRef, lease: Lease, moved: MovedFrames): Promise<number | undefined> {
    const tag = hashTag(ref);
    const left = await this.redis.trimMoved(
      4,
      dueKey(tag),
      leasesKey(tag),
      framesKey(tag, lease.group, lease.windowStart),
      windowsKey(tag, lease.group),
      dueMember(lease.group, lease.windowStart),
      lease.windowStart,
      lease.token,
      moved.count,
      moved.sha1,
      moved.isAll ? 1 : 0,
      this.ttlMs,
    );
    return left < 0 ? undefined : left;
  }

  /** A layout of the partition; undefined when the store does not have it. */
  async layout(ref: PartitionRef, id: Id): Promise<Layout | undefined> {
    const known = this.decodedLayouts.get(id);
    if (known !== undefined) return known;
    const bytes = await this.redis.getBuffer(layoutKey(hashTag(ref), id));
    if (bytes === null) return undefined;
    const layout = decodeLayout(zstdDecompressSync(bytes, { maxOutputLength: MAX_LAYOUT_BYTES }));
    this.decodedLayouts.set(id, layout);
    return layout;
  }

  /** The key of a group-window's frames. */
  keyOf(ref: PartitionRef, group: GroupId, windowStart: number): string {
    return framesKey(hashTag(ref), group, windowStart);
  }

  /** Bytes of memory a key takes, overhead included; 0 when it is not there. */
  async memoryOf(key: string): Promise<number> {
    return (await this.redis.memory('USAGE', key, 'SAMPLES', 0)) ?? 0;
  }

  async close(): Promise<void> {
    await this.redis.quit();
  }
}

/** Cuts an addition into calls below the limits; each has just the layouts of its frames. */
export function splitAppend(addition: PartitionAppend): PartitionAppend[] {
  const calls: PartitionAppend[] = [];
  let layouts = new Map<Id, Uint8Array>();
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
      const added = frame.length + (layouts.has(id) ? 0 : layout.length);
      const isFull =
        bytes + added > MAX_CALL_BYTES ||
        count >= MAX_CALL_FRAMES ||
        (layouts.size >= MAX_CALL_LAYOUTS && !layouts.has(id));
      if (count > 0 && isFull) {
        closeWindow();
        calls.push({ layouts, windows });
        layouts = new Map();
        windows = [];
        bytes = 0;
        count = 0;
      }
      bytes += frame.length + (layouts.has(id) ? 0 : layout.length);
      layouts.set(id, layout);
      frames.push(frame);
      count++;
    }
    closeWindow();
  }
  if (windows.length > 0) calls.push({ layouts, windows });
  return calls;
}
