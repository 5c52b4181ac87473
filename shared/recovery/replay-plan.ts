import type { Loss, Replay, ShardProgress } from './recovery-table';

/** A shard of the stream. */
export interface Shard {
  readonly id: string;
  readonly parents: readonly string[];
  /** Whether it still takes records. */
  readonly isOpen: boolean;
  /** A hash key in the shard's range. */
  readonly hashKey: string;
}

/** Half-open span of arrival times to replay; see {@link Replay}. */
export type ReplaySpan = Pick<Replay, 'fromMs' | 'toMs'>;

/** The state from which a step of recovery decides. */
export interface ReplaySituation {
  readonly loss: Loss | undefined;
  /** The last replay, running or not. */
  readonly replay: Replay | undefined;
  /** The span that an operator asks for. */
  readonly asked: ReplaySpan | undefined;
  readonly nowMs: number;
}

/** A later loss may have taken what a replay appended less than this long ago; older appends have reached the warm tier. */
const RECENT_MS = 4 * 3_600_000;

/**
 * Decides which span a new replay must read.
 *
 * A new replay starts for an open loss whose last notice no running replay follows, and for an operator's span that no running
 * replay covers. It also covers the span of the replay that it replaces, or that ended recently: what that one appended may be
 * lost again.
 *
 * @returns undefined if no replay is needed, or the running one suffices
 */
export function planReplay({ loss, replay, asked, nowMs }: ReplaySituation): ReplaySpan | undefined {
  const running = replay?.state === 'running' ? replay : undefined;
  const isCovered = !loss?.isOpen || (running !== undefined && repairs(running, loss));
  const isAskedCovered =
    asked === undefined ||
    (running !== undefined && running.fromMs <= asked.fromMs && running.toMs >= asked.toMs);
  if (isCovered && isAskedCovered) return undefined;
  const isRecent = replay?.endedMs === undefined || nowMs - replay.endedMs < RECENT_MS;
  const earlier = running ?? (!isCovered && isRecent ? replay : undefined);
  const starts = [loss?.isOpen ? loss : undefined, asked, earlier].map((span) => span?.fromMs ?? Infinity);
  const ends = [asked, running].map((span) => span?.toMs ?? 0);
  return { fromMs: Math.min(...starts), toMs: loss?.isOpen ? Infinity : Math.max(...ends) };
}

/** Whether a replay began after the loss was noticed last, and so reads all that was lost. */
export function repairs(replay: Pick<Replay, 'loss'>, loss: Loss): boolean {
  return replay.loss?.id === loss.id && replay.loss.notices === loss.notices;
}

/** A replay has ended when it has reached its end in every open shard. */
export function hasEnded(shards: readonly Shard[], progress: readonly ShardProgress[]): boolean {
  const passed = new Set(progress.filter(({ isPassed }) => isPassed).map(({ shardId }) => shardId));
  return shards.every(({ id, isOpen }) => !isOpen || passed.has(id));
}

/** Shard ids whose watermarks are to be begun at 0, and to be deleted. */
export interface WatermarkPlan {
  readonly begin: readonly string[];
  readonly delete: readonly string[];
}

/**
 * Keeps watermarks for the shards that the reader has still to append from. The lowest one bounds what counts as flushed: one
 * of a shard that is gone would hold it back for ever, a missing one would let it run ahead of unread records. So an open shard
 * gets one at once, unless a parent's stands for it, and a parent's stays until each of its children has one.
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
