import { createHash, randomBytes } from 'node:crypto';
import keySlot from 'cluster-key-slot';
import { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { layoutOfFrame, markedWhole } from '../codec';
import { CompactMap } from '../model/compact-map';
import { type Id, idText } from '../model/id';
import { decodedBytes, decodeLayout, type Layout, type PackedLayout, unpackLayout } from '../model/layout';
import type { GroupId, PartitionRef } from '../model/placement';
import type { TimeRange } from '../model/selection';
import { Batches, mapLimited } from '../platform/concurrency';
import { HotKeys, parseWindowMember, windowMember } from '../platform/keys';
import { APPEND_SCRIPT } from './append-script';
import type { HotClient } from './connection';
import { FrameMemo, type WindowFrames } from './known-frames';
import { LEASE_SCRIPT } from './lease-script';
import { INSPECT_SCRIPT, MARK_SCRIPT, NO_NODE, TAKE_OVER_SCRIPT } from './mark-script';
import { type HotLoad, loadOf, type NodeCounters } from './node-load';
import { AT_ONCE, type ReadPace } from './read-pace';
import { READ_SCRIPT } from './read-script';
import { SURVEY_SCRIPT } from './survey-script';
import { type PrimaryAnswer, primariesOf, type Topology } from './topology';
import { TRIM_SCRIPT } from './trim-script';

/** Frames for one group-window. */
export interface WindowAppend {
  readonly group: GroupId;
  readonly windowStart: number;
  readonly frames: readonly Uint8Array[];
}

/** Frames for one partition. */
export interface PartitionAppend {
  /** Lowest stream arrival time of the frames, ms. */
  readonly arrivalMs: number;
  /** Every layout the frames refer to, by id. */
  readonly layouts: ReadonlyMap<Id, PackedLayout>;
  readonly windows: readonly WindowAppend[];
}

/** A lease on a group-window. Only its holder can trim. */
export interface Lease {
  readonly group: GroupId;
  readonly windowStart: number;
  readonly token: string;
}

/** A partition's mark is missing or another primary's: memory may have lost samples. Nothing was appended. */
export class UnmarkedPartitionError extends Error {
  override readonly name = 'UnmarkedPartitionError';
}

/** A partition's mark, and the lowest arrival time in the partition. */
export interface PartitionState {
  /** True when the primary that answers wrote the mark, and so has everything that was acknowledged. */
  readonly isWhole: boolean;
  /** Id of the loss that was noticed last, '' for none; undefined when there is no mark. */
  readonly loss: string | undefined;
  /** Whatever a failover may have lost arrived in the stream no earlier, ms; undefined when unknown. */
  readonly arrivedMs: number | undefined;
  /** Lowest stream arrival time of the partition's frames, ms; undefined when it has none. */
  readonly lowestArrivalMs: number | undefined;
  /** Replication id of the primary that wrote the mark; undefined when there is no mark. */
  readonly markedBy: string | undefined;
  /** The mark's era (recovery/primaries.ts); undefined when it has none. */
  readonly era: number | undefined;
  /** Replication id of the primary that answers. */
  readonly here: string;
  /** Replication id of the primary that it took over from, if it was a replica. */
  readonly previous: string | undefined;
}

/** What {@link HotTier.survey} tells of a partition whose mark is its primary's. */
export interface PartitionLook {
  /** When the oldest group-window in memory was first written, by the store's clock, ms; undefined when there is none. */
  readonly oldestMs: number | undefined;
  /** No group-window becomes due earlier: first writes and delays, by the store's clock, ms. */
  readonly dueMs: number | undefined;
  /** See {@link PartitionState}. */
  readonly lowestArrivalMs: number | undefined;
}

/** Which windows of a partition may have left memory, wholly or in part. */
export interface LeftWindows {
  /** Every window that begins before this may have, ms. */
  readonly beforeMs: number;
  /** So may those that begin at one of these, ms. */
  readonly starts: readonly number[];
}

/** What has left is unknown. */
export const ANY_LEFT: LeftWindows = { beforeMs: Infinity, starts: [] };

/** Columns that a reader wants of the frames of one layout. */
export interface ColumnPick {
  /** The layout's 16 bytes. */
  readonly layout: Uint8Array;
  /** Ascending. */
  readonly columns: Uint32Array;
}

/** What a reader asks of a group. */
export interface GroupQuery {
  readonly group: GroupId;
  /** Frames with a timestamp outside are left out. */
  readonly range: TimeRange;
  /** Starts of windows that may be there and are wanted, a few. */
  readonly windows: readonly number[];
  /** Of frames of other layouts, every column is given. */
  readonly picks: readonly ColumnPick[];
  /** Equal for queries with equal picks. */
  readonly picksKey: string;
  /** Whether the windows are read whole, so that the next read need not get them again. @default true */
  readonly keeps?: boolean;
}

/** The windows that a group has in memory, and the mark that tells whether they are complete. */
export interface GroupWindows extends Pick<PartitionState, 'isWhole' | 'loss'> {
  readonly left: LeftWindows;
  /** Window starts, ascending. */
  readonly starts: readonly number[];
  /** The windows asked for that have frames, by window start, unless they were too many. */
  readonly frames: ReadonlyMap<number, WindowFrames>;
  /** How long its call waited for its turn (read-pace.ts), ms. */
  readonly waitedMs: number;
}

/** The frames that have reached the next tier: the first of a window. */
export interface MovedFrames {
  readonly count: number;
  /** Hex SHA-1 of the frames, one after the other. */
  readonly sha1: string;
  /** True when the window held no others when they were read. */
  readonly isAll: boolean;
}

/** Reads the mark's `left`: numbers between spaces (mark-script.ts). */
function leftWindowsOf(text: string): LeftWindows {
  const [beforeMs, ...starts] = text.split(' ').map(Number);
  return { beforeMs: beforeMs!, starts };
}

export function movedFrames(frames: readonly Uint8Array[], isAll: boolean): MovedFrames {
  const digest = createHash('sha1');
  for (const frame of frames) digest.update(frame);
  return { count: frames.length, sha1: digest.digest('hex'), isAll };
}

/** Bounds of one script call: Lua copies its bytes, and a call blocks its node. */
const MAX_CALL_BYTES = 1024 * 1024;
const MAX_CALL_FRAMES = 4_000;
/** Most frames read from a group-window at a time; the others stay due. */
const MAX_READ_FRAMES = 2_000;
/** Frames of few columns that one call of a reader looks at: 10 to 20 ms of its node. A whole frame counts as ten. */
const MAX_CALL_COST = 20_000;
const MAX_FRAME_COST = 10;
/** Columns that cost as much again as their frame. */
const COLUMNS_A_COST = 8;
const MAX_CALL_GROUPS = 256;
/** Most layouts one call may refer to. */
const MAX_CALL_LAYOUTS = 500;
/** Keys that one step of a scan looks at. */
const SCAN_COUNT = 1_000;
/** Partitions of one survey call, which blocks its node for some 2 ms. */
const MAX_SURVEYED = 500;
const SURVEYS_AT_ONCE = 4;
const MAX_DECODED_BYTES = 64_000_000;
/** Of frames that readers know. */
const MAX_KNOWN_BYTES = 128_000_000;
const ANY_TIME: TimeRange = { fromMs: -9e15, toMs: 9e15 };
/** Layouts that an instance remembers to have sent, 32 bytes each. */
const MAX_SENT_LAYOUTS = 2_000_000;

/** Whether the mark is the primary's, `loss`, `left`, the epoch; then each group's starts, and four values a list. */
type GroupsReply = [
  number,
  Buffer | null,
  Buffer | null,
  Buffer | null,
  ...(Buffer[] | Buffer | number | null)[],
];

interface Scripts {
  appendFrames(keys: number, ...args: (string | number | Buffer)[]): Promise<number[]>;
  leaseDue(keys: number, ...args: (string | number)[]): Promise<string[]>;
  trimMoved(keys: number, ...args: (string | number)[]): Promise<number>;
  takeOverMark(keys: number, ...args: string[]): Promise<number>;
  markPartition(keys: number, ...args: string[]): Promise<number>;
  surveyPartitions(keys: number, ...args: (string | number)[]): Promise<string>;
  inspectPartition(keys: number, ...args: string[]): Promise<[number, ...(string | null)[]]>;
  readGroupsBuffer(keys: number, ...args: (string | number | Buffer)[]): Promise<GroupsReply>;
}

/**
 * The memory tier in Redis or Valkey. A call reaches the keys of one partition, which share a hash slot; each decision that
 * must not race is one Lua script (`*-script.ts`, whose headers list KEYS, ARGV, results and failures).
 *
 * When an append fails, nothing of that script call was appended, and repeating it is safe (DESIGN.md, rule 2):
 *
 *     layouts missing            append sends the call again with them, at most twice
 *     UnmarkedPartitionError     memory may have lost samples: the ingester has LossWatch record the loss and appends again
 *     OOM                        memory is full: the ingester fails the records, and the stream delivers them again
 *     time-out, lost connection  the frames may be there; the records fail, and the next delivery's frames merge with them
 */
export class HotTier {
  private readonly redis: HotClient & Scripts;
  /** Keys of the layouts that this instance has sent. When the store lacks one, the append script says so. */
  private readonly sentLayouts = new CompactMap(MAX_SENT_LAYOUTS);
  /** Readers' queries of this moment, by hash tag. */
  private readonly queries = new Batches<GroupQuery, GroupWindows>();
  /** What this instance's readers have seen. */
  readonly memo = new FrameMemo(MAX_KNOWN_BYTES);
  /** Of the nodes when their load was looked at last. */
  private counters: ReadonlyMap<string, NodeCounters> = new Map();
  private readonly decodedLayouts = new LRUCache<Id, Layout>({
    maxSize: MAX_DECODED_BYTES,
    sizeCalculation: decodedBytes,
  });

  /**
   * @param ttlMs safety net far beyond residency: when a key vanishes even though nobody moved it
   * @param pace decides when calls of {@link windows} go
   */
  constructor(
    client: HotClient,
    private readonly ttlMs: number,
    private readonly pace: ReadPace = AT_ONCE,
  ) {
    client.defineCommand('appendFrames', { lua: APPEND_SCRIPT });
    client.defineCommand('leaseDue', { lua: LEASE_SCRIPT });
    client.defineCommand('trimMoved', { lua: TRIM_SCRIPT });
    client.defineCommand('markPartition', { lua: MARK_SCRIPT });
    client.defineCommand('takeOverMark', { lua: TAKE_OVER_SCRIPT });
    client.defineCommand('inspectPartition', { lua: INSPECT_SCRIPT });
    client.defineCommand('readGroups', { lua: READ_SCRIPT });
    client.defineCommand('surveyPartitions', { lua: SURVEY_SCRIPT });
    this.redis = client as HotClient & Scripts;
  }

  /**
   * Appends to one partition: one script call, or as many as the size limits need. Safe to repeat.
   *
   * @param isReplay whether the frames were delivered before
   * @throws {UnmarkedPartitionError}
   */
  async append(ref: PartitionRef, addition: PartitionAppend, isReplay = false): Promise<void> {
    for (const part of splitAppend(addition)) await this.appendPart(new HotKeys(ref), part, isReplay);
  }

  private async appendPart(
    keys: HotKeys,
    { arrivalMs, layouts, windows }: PartitionAppend,
    isReplay: boolean,
  ): Promise<void> {
    const layoutIds = [...layouts.keys()];
    const names = [keys.mark, keys.due, keys.arrived, ...layoutIds.map((id) => keys.layout(id))];
    for (const { group, windowStart } of windows)
      names.push(keys.frames(group, windowStart), keys.windows(group));

    const call = async (send: (id: Id, index: number) => boolean) => {
      const args: (string | number | Buffer)[] = [
        this.ttlMs,
        arrivalMs,
        isReplay ? 1 : 0,
        layoutIds.length,
        windows.length,
      ];
      layoutIds.forEach((id, i) => {
        args.push(send(id, i) ? Buffer.from(layouts.get(id)!.packed) : '');
      });
      for (const { group, windowStart, frames } of windows) {
        args.push(windowMember(group, windowStart), windowStart, frames.length);
        for (const frame of frames) args.push(Buffer.from(frame.buffer, frame.byteOffset, frame.length));
      }
      const missing = await this.redis.appendFrames(names.length, ...names, ...args);
      if (missing[0] === -1) throw new UnmarkedPartitionError(`${keys.tag} has no mark of the primary`);
      return missing;
    };

    let missing = await call((id) => this.sentLayouts.get(keys.layout(id)) === undefined);
    // Twice: the store may be emptied between the two calls.
    for (let tries = 0; missing.length > 0 && tries < 2; tries++) missing = await call(() => true);
    if (missing.length > 0)
      throw new Error(`the hot tier refused ${missing.length} layouts of ${keys.tag} three times`);
    for (const id of layoutIds) this.sentLayouts.set(keys.layout(id), 1);
  }

  /**
   * Leases group-windows that are due, the oldest first.
   *
   * @param beforeMs only those first written by then, by the store's clock ({@link now})
   * @param leaseMs after which another may take them; longer than moving them takes
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

  /** Returns how busy the busiest primaries are, since this was asked last. Skips primaries that do not answer. */
  async load(): Promise<HotLoad> {
    const nodes = await this.primaries();
    const infos = await Promise.allSettled(nodes.map((node) => node.info('memory', 'cpu', 'server')));
    const answers = infos.flatMap((info) => (info.status === 'fulfilled' ? [info.value] : []));
    const { load, counters } = loadOf(answers, this.counters, performance.now());
    this.counters = counters;
    return load;
  }

  /** Reads the store's clock, ms, by which group-windows are due. */
  async now(): Promise<number> {
    const [seconds, micros] = await this.redis.time();
    return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  }

  /** Counts a partition's group-windows that were first written by `timeMs`; `oldestMs` is the oldest one's first write. */
  async due(ref: PartitionRef, timeMs: number): Promise<{ count: number; oldestMs: number | undefined }> {
    const key = new HotKeys(ref).due;
    const [count, oldest] = await Promise.all([
      this.redis.zcount(key, '-inf', `(${timeMs + 1}`),
      this.redis.zrange(key, '0', '0', 'WITHSCORES'),
    ]);
    return { count, oldestMs: oldest[1] === undefined ? undefined : Math.floor(Number(oldest[1])) };
  }

  /** Estimates the bytes of memory that a partition's frames take, from at most `sampled` of its group-windows. */
  async bytes(ref: PartitionRef, sampled = 32): Promise<number> {
    const keys = new HotKeys(ref);
    const [count, members] = await Promise.all([
      this.redis.zcard(keys.due),
      this.redis.zrange(keys.due, '0', String(sampled - 1)),
    ]);
    if (members.length === 0) return 0;
    const sizes = await Promise.all(
      members.map(parseWindowMember).map((due) => this.memoryOf(keys.frames(due.group, due.windowStart))),
    );
    return Math.round((sizes.reduce((sum, bytes) => sum + bytes, 0) / sizes.length) * count);
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

  /** Reads all frames of a group-window, whole. */
  async allFrames(ref: PartitionRef, group: GroupId, windowStart: number): Promise<WindowFrames> {
    const frames = await this.redis.lrangeBuffer(new HotKeys(ref).frames(group, windowStart), 0, -1);
    return {
      frameBytes: frames.reduce((sum, frame) => sum + frame.length, 0),
      picked: markedWhole(frames),
    };
  }

  /**
   * Reads a group's windows, and the frames of some, at one moment. Queries of a partition that come together share calls.
   */
  windows(ref: PartitionRef, query: GroupQuery): Promise<GroupWindows> {
    const keys = new HotKeys(ref);
    return this.queries.add(keys.tag, query, async (queries) => {
      const found: GroupWindows[] = [];
      while (found.length < queries.length) {
        const waitedMs = await this.pace.turn(ref.tenantId);
        const next = queries.slice(found.length, found.length + MAX_CALL_GROUPS);
        found.push(...(await this.readSome(keys, next, waitedMs)));
      }
      return found;
    });
  }

  /** @returns the windows of the first of `queries`, at least one */
  private async readSome(
    keys: HotKeys,
    queries: readonly GroupQuery[],
    waitedMs: number,
  ): Promise<GroupWindows[]> {
    const names = [keys.mark];
    const { known: memo } = this.memo;
    const hasRoom = memo.hasRoom();
    const asked = queries.map(({ group, windows, picksKey, keeps = true }) =>
      windows.map((start) => {
        const name = keys.frames(group, start);
        const key = `${name} ${picksKey}`;
        return { start, name, key, known: keeps ? memo.get(key) : undefined };
      }),
    );
    const epoch = asked.flat().find(({ known }) => known !== undefined)?.known?.epoch ?? '';
    const args: (string | number | Buffer)[] = [MAX_CALL_COST, epoch];
    const keepsAll = queries.map(
      ({ keeps = true }, i) => keeps && (hasRoom || asked[i]!.some(({ known }) => known)),
    );
    queries.forEach(({ group, range, picks, keeps = true }, i) => {
      const windows = asked[i]!;
      // What is to be known is read whole.
      const { fromMs, toMs } = keepsAll[i] ? ANY_TIME : range;
      const cost = frameCost(picks);
      names.push(keys.windows(group), ...windows.map(({ name }) => name));
      args.push(fromMs, toMs, windows.length, keeps ? cost : 1, keeps ? 0 : cost - 1, picks.length);
      for (const { layout, columns } of picks)
        args.push(Buffer.from(layout.buffer, layout.byteOffset, layout.length), columns.join(' '));
      for (const { start, known } of windows) args.push(start, known?.epoch === epoch ? known.count : 0);
    });
    const [mark, loss, left, replyEpoch, ...rest] = await this.redis.readGroupsBuffer(
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
    const marked = replyEpoch?.toString();
    const stays = (start: number) =>
      start >= partition.left.beforeMs && !partition.left.starts.includes(start);
    const found: GroupWindows[] = [];
    for (let at = 0; at < rest.length; ) {
      const starts = (rest[at++] as Buffer[]).map(Number).sort((a, b) => a - b);
      const frames = new Map<number, WindowFrames>();
      const windows = asked[found.length]!;
      const ofAnyTime = keepsAll[found.length];
      for (const { start, key, known } of windows) {
        const [count, leftOut, bytes, picked] = rest.slice(at, at + 4) as [number, number, number, unknown];
        at += 4;
        if (picked === null && leftOut > 0) {
          frames.set(start, known!);
          continue;
        }
        if (!Buffer.isBuffer(picked)) continue;
        const read: WindowFrames =
          leftOut > 0
            ? { frameBytes: known!.frameBytes + bytes, picked: Buffer.concat([known!.picked, picked]) }
            : { frameBytes: bytes, picked };
        const isKept = ofAnyTime && marked !== undefined && stays(start);
        const kept = isKept ? { ...read, epoch: marked, count } : undefined;
        if (kept !== undefined) memo.set(key, kept);
        else if (ofAnyTime) memo.delete(key);
        frames.set(start, kept ?? read);
      }
      found.push({ ...partition, starts, frames });
    }
    return found;
  }

  async inspect(ref: PartitionRef): Promise<PartitionState> {
    const keys = new HotKeys(ref);
    const [mark, loss, arrived, lowest, markedBy, era, here, previous] = await this.redis.inspectPartition(
      2,
      keys.mark,
      keys.arrived,
    );
    return {
      isWhole: mark === 1,
      loss: loss ?? undefined,
      arrivedMs: numberOf(arrived),
      lowestArrivalMs: numberOf(lowest),
      markedBy: markedBy ?? undefined,
      era: numberOf(era),
      here: here!,
      previous: previous === NO_NODE ? undefined : previous!,
    };
  }

  /**
   * Looks at many partitions, some hundreds a call.
   *
   * @param isFlusher whether what leaves is noted in the marks (mark-script.ts): true for flushers alone
   * @param spreadMs the longest delay of a group-window (due-score.ts)
   * @param era given to the marks that are their primaries'; undefined to leave them as they are
   * @returns for each partition what was seen; undefined where only {@link inspect} can tell: its mark is missing or another
   *   primary's, its slot moves, or its node did not answer
   */
  async survey(
    refs: readonly PartitionRef[],
    isFlusher: boolean,
    spreadMs = 0,
    era?: number,
  ): Promise<(PartitionLook | undefined)[]> {
    // A cluster client knows its nodes once one has answered.
    await this.now();
    const places = refs.map((ref, index) => ({ index, keys: new HotKeys(ref) }));
    const calls = [...Map.groupBy(places, ({ keys }) => this.nodeOf(keys.tag)).values()].flatMap((sameNode) =>
      Array.from({ length: Math.ceil(sameNode.length / MAX_SURVEYED) }, (_, i) =>
        sameNode.slice(i * MAX_SURVEYED, (i + 1) * MAX_SURVEYED),
      ),
    );
    const looks = new Array<PartitionLook | undefined>(refs.length).fill(undefined);
    await mapLimited(calls, SURVEYS_AT_ONCE, async (call) => {
      const tags = call.map(({ keys }) => keys.tag);
      const found = await this.redis
        .surveyPartitions(1, call[0]!.keys.mark, isFlusher ? 1 : 0, spreadMs, era ?? '', ...tags)
        .catch(() => undefined);
      found?.split(',').forEach((text, i) => {
        if (text === '?') return;
        const [oldest, due, lowest] = text.split(' ');
        looks[call[i]!.index] = {
          oldestMs: numberOf(oldest),
          dueMs: numberOf(due),
          lowestArrivalMs: numberOf(lowest),
        };
      });
    });
    return looks;
  }

  /** The node that serves a hash tag, as far as this client knows; '' without a cluster. */
  private nodeOf(tag: string): string {
    if (!('slots' in this.redis)) return '';
    return this.redis.slots[keySlot(tag)]?.[0] ?? '';
  }

  /** Asks every primary who it is and what it serves; those without a slot too, which a cluster's client does not know. */
  async topology(): Promise<Topology> {
    const primaries = await this.primaries();
    if (!('nodes' in this.redis)) {
      const info = await this.redis.info('replication', 'server').catch(() => '');
      return primariesOf([{ info, nodes: '' }]);
    }
    // Before any answers for itself: one that fails afterwards is counted at the next look.
    const clusters = await mapLimited(primaries, SURVEYS_AT_ONCE, (node) =>
      (node.cluster('INFO') as Promise<string>).catch(() => ''),
    );
    const ask = async (node: Redis, cluster?: string): Promise<PrimaryAnswer> => {
      const [info, nodes] = await Promise.all([
        node.info('replication', 'server'),
        node.cluster('NODES') as Promise<string>,
      ]).catch(() => ['', ''] as const);
      return { info, nodes, cluster };
    };
    const answers = await mapLimited(primaries, SURVEYS_AT_ONCE, (node, i) => ask(node, clusters[i]));
    const { unasked } = primariesOf(answers);
    const more = await mapLimited(unasked, SURVEYS_AT_ONCE, async ({ host, port }) => {
      const node = new Redis({ ...primaries[0]!.options, host, port, retryStrategy: () => null });
      node.on('error', () => {});
      const answer = await ask(node);
      node.disconnect();
      return answer;
    });
    return primariesOf([...answers, ...more]);
  }

  /** The cluster slot of a partition's keys. */
  slotOf(ref: PartitionRef): number {
    return keySlot(new HotKeys(ref).tag);
  }

  /**
   * Marks a partition as the present primary's, so that appends go on.
   *
   * @param loss id of the loss that was noticed, which is written down elsewhere; '' when there was none
   * @param era of the primaries, if that is known (recovery/primaries.ts)
   */
  async mark(ref: PartitionRef, loss: string, era?: number): Promise<void> {
    await this.redis.markPartition(1, new HotKeys(ref).mark, loss, String(era ?? ''));
  }

  /** Makes another primary's mark this one's, after a planned move. @returns false when `found` is no longer true */
  async takeOver(
    ref: PartitionRef,
    { markedBy, here }: Pick<PartitionState, 'markedBy' | 'here'>,
  ): Promise<boolean> {
    return (await this.redis.takeOverMark(1, new HotKeys(ref).mark, markedBy!, here)) === 1;
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

  /** Reads a layout of the partition; undefined when the store lacks it. */
  async layout(ref: PartitionRef, id: Id): Promise<Layout | undefined> {
    const known = this.decodedLayouts.get(id);
    if (known !== undefined) return known;
    const bytes = await this.redis.getBuffer(new HotKeys(ref).layout(id));
    if (bytes === null) return undefined;
    const layout = decodeLayout(unpackLayout(bytes));
    this.decodedLayouts.set(id, layout);
    return layout;
  }

  /** Returns the key of a group-window's frames. */
  keyOf(ref: PartitionRef, group: GroupId, windowStart: number): string {
    return new HotKeys(ref).frames(group, windowStart);
  }

  /** Returns the bytes of memory that a key takes, overhead included; 0 when it does not exist. */
  async memoryOf(key: string): Promise<number> {
    return (await this.redis.memory('USAGE', key, 'SAMPLES', 0)) ?? 0;
  }

  /**
   * Removes every key of a tenant, of whatever kind: all its hash tags begin with its id (platform/keys.ts). Scans every
   * primary in small steps. The next call finds only what this one left.
   *
   * @param hasTime asked before each step
   * @returns how many keys were removed; `isDone` is false when time was up before every primary was scanned
   */
  async eraseTenant(tenantId: Id, hasTime: () => boolean): Promise<{ keys: number; isDone: boolean }> {
    let keys = 0;
    for (const node of await this.primaries()) {
      let cursor = '0';
      do {
        if (!hasTime()) return { keys, isDone: false };
        const [next, found] = await node.scan(
          cursor,
          'MATCH',
          HotKeys.patternOf(tenantId),
          'COUNT',
          SCAN_COUNT,
        );
        cursor = next;
        // In cluster mode the keys of one command must share a slot.
        for (const slot of Map.groupBy(found, HotKeys.tagOf).values())
          keys += await this.redis.unlink(...slot);
      } while (cursor !== '0');
    }
    return { keys, isDone: true };
  }

  /** A cluster client lists no node until one has answered, so this waits for an answer first. */
  private async primaries(): Promise<Redis[]> {
    await this.now();
    return 'nodes' in this.redis ? this.redis.nodes('master') : [this.redis];
  }

  async close(): Promise<void> {
    await this.redis.quit();
  }
}

/** What a frame of a group costs its reader's call. */
function frameCost(picks: readonly ColumnPick[]): number {
  if (picks.length === 0) return MAX_FRAME_COST;
  const columns = Math.max(...picks.map((pick) => pick.columns.length));
  return Math.min(MAX_FRAME_COST, 1 + Math.floor(columns / COLUMNS_A_COST));
}

function numberOf(value: string | null | undefined): number | undefined {
  return value === null || value === undefined || value === '' ? undefined : Number(value);
}

/** Cuts an addition into script calls within the bounds, each with the layouts of its own frames. */
export function splitAppend(addition: PartitionAppend): PartitionAppend[] {
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
