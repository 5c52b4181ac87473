import type { TimeRange } from '../model/selection';
import type { Loss, Replay, ShardProgress } from './recovery-table';

export interface Shard {
  readonly id: string;
  /** Ids of the shards that this shard was split or merged from. The stream may no longer list them. */
  readonly parents: readonly string[];
  /** Whether the shard takes new records. */
  readonly isOpen: boolean;
  /** The first hash key in the shard's range. A record with this explicit hash key goes into the shard. */
  readonly hashKey: string;
}

/** The input of {@link planReplay}. */
export interface ReplaySituation {
  /** The last loss, open or closed. */
  readonly loss: Loss | undefined;
  /** The last replay, running or not. */
  readonly replay: Replay | undefined;
  /** The arrival times that an operator has requested; undefined if there is no request. */
  readonly requested: TimeRange | undefined;
  readonly nowMs: number;
}

/**
 * How long after a replay has ended its samples may still be in memory, in ms. If a loss follows within this
 * time, memory may have lost them, so the next replay reads the range of the ended replay too. After this time, the
 * samples have reached the warm tier.
 */
const RECENT_MS = 4 * 3_600_000;

/**
 * Decides whether a new replay is needed, and which range it must read.
 *
 * A new replay is needed if a loss is open that the running replay does not repair, or if an operator asks
 * for a range that the running replay does not cover. The new replay replaces the running replay, so it also reads
 * the range of the replay that it replaces. If no replay is running, the new replay may also have to read the range of
 * the last replay: see {@link RECENT_MS}.
 *
 * @returns undefined if no new replay is needed
 */
export function planReplay({ loss, replay, requested, nowMs }: ReplaySituation): TimeRange | undefined {
  const running = replay?.state === 'running' ? replay : undefined;
  const isCovered = !loss?.isOpen || (running !== undefined && repairs(running, loss));
  const isRequestCovered =
    requested === undefined ||
    (running !== undefined && running.fromMs <= requested.fromMs && running.toMs >= requested.toMs);
  if (isCovered && isRequestCovered) return undefined;
  const isRecent = replay?.endedMs === undefined || nowMs - replay.endedMs < RECENT_MS;
  const earlier = running ?? (!isCovered && isRecent ? replay : undefined);
  const starts = [loss?.isOpen ? loss : undefined, requested, earlier].map(
    (range) => range?.fromMs ?? Infinity,
  );
  const ends = [requested, running].map((range) => range?.toMs ?? 0);
  return { fromMs: Math.min(...starts), toMs: loss?.isOpen ? Infinity : Math.max(...ends) };
}

/** Whether a replay reads all samples of a loss, which means that it began after the loss was last noticed. */
export function repairs(replay: Pick<Replay, 'loss'>, loss: Loss): boolean {
  return replay.loss?.id === loss.id && replay.loss.notices === loss.notices;
}

/** Whether a replay has reached its end in every open shard. */
export function hasEnded(shards: readonly Shard[], progress: readonly ShardProgress[]): boolean {
  const passed = new Set(progress.filter(({ isPassed }) => isPassed).map(({ shardId }) => shardId));
  return shards.every(({ id, isOpen }) => !isOpen || passed.has(id));
}

/** The watermarks to add and to delete. */
export interface WatermarkPlan {
  /** Ids of shards that are given the watermark 0. */
  readonly begin: readonly string[];
  /** Ids of shards whose watermarks are deleted. */
  readonly delete: readonly string[];
}

/**
 * Decides which shards must have a watermark: those whose records may not all have been appended yet.
 *
 * The flushed-until time never exceeds the lowest watermark of any shard. Two rules follow. The watermark of a shard
 * that no longer exists must be deleted, or the flushed-until time could never pass it. A shard with unread records
 * must have a watermark, or these records could count as flushed. So an open shard gets a watermark immediately, unless
 * one of its parents has one. The watermark of a parent stays until each of its children has a watermark.
 */
export function planWatermarks(
  watermarks: ReadonlyMap<string, number>,
  shards: readonly Shard[],
): WatermarkPlan {
  const ids = new Set(shards.map(({ id }) => id));
  const isFollowed = (id: string) => {
    const children = shards.filter((shard) => shard.parents.includes(id));
    return children.length > 0 && children.every((child) => watermarks.has(child.id));
  };
  const gone = [...watermarks.keys()].filter((id) => !ids.has(id));
  const closed = shards.filter(({ id, isOpen }) => !isOpen && watermarks.has(id) && isFollowed(id));
  const begin = shards.filter(
    ({ id, isOpen, parents }) =>
      isOpen && !watermarks.has(id) && !parents.some((parent) => watermarks.has(parent)),
  );
  return {
    begin: begin.map(({ id }) => id),
    delete: [...gone, ...closed.map(({ id }) => id)],
  };
}
