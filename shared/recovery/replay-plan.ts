import type { Loss, Replay, ShardProgress } from './recovery-table';

/** A shard of the stream. */
export interface Shard {
  readonly id: string;
  readonly parents: readonly string[];
  /** Whether the shard still takes records. */
  readonly isOpen: boolean;
  /** A hash key in the shard's range. */
  readonly hashKey: string;
}

/** Half-open span of arrival times to replay, ms; see {@link Replay}. */
export type ReplaySpan = Pick<Replay, 'fromMs' | 'toMs'>;

/** The facts from which a step of recovery decides whether to start a replay. */
export interface ReplaySituation {
  readonly loss: Loss | undefined;
  /** The last replay, running or not. */
  readonly replay: Replay | undefined;
  /** The span that an operator requested. */
  readonly asked: ReplaySpan | undefined;
  readonly nowMs: number;
}

/**
 * A new loss within this time after a replay's end makes the next replay read its span again, ms. Memory may
 * have lost the samples that the replay appended. Samples of older replays have reached the warm tier.
 */
const RECENT_MS = 4 * 3_600_000;

/**
 * Decides which span a new replay must read.
 *
 * A new replay is needed for an open loss that was noticed after the running replay began, and for an
 * operator's span that the running replay does not cover. The new replay also covers the span of the running
 * replay that it replaces, or of one that ended recently, because memory may have lost the samples that it
 * appended.
 *
 * @returns undefined if no new replay is needed
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

/** Whether a replay began after the last notice of a loss, and so reads everything that was lost. */
export function repairs(replay: Pick<Replay, 'loss'>, loss: Loss): boolean {
  return replay.loss?.id === loss.id && replay.loss.notices === loss.notices;
}

/** A replay has ended when it has reached its end in every open shard. */
export function hasEnded(shards: readonly Shard[], progress: readonly ShardProgress[]): boolean {
  const passed = new Set(progress.filter(({ isPassed }) => isPassed).map(({ shardId }) => shardId));
  return shards.every(({ id, isOpen }) => !isOpen || passed.has(id));
}

/** Shard ids whose watermarks must be started at 0, and those whose watermarks must be deleted. */
export interface WatermarkPlan {
  readonly begin: readonly string[];
  readonly delete: readonly string[];
}

/**
 * Decides which shards must have a watermark: those from which the reader still has to append.
 *
 * Only records that arrived before the lowest watermark count as flushed. If a shard that is gone kept its
 * watermark, the lowest watermark would never advance. If a shard with unread records had none, those records
 * could count as flushed. So an open shard gets a watermark at once, unless a parent shard has one. A
 * parent's watermark stays until each of its children has one.
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
