import { randomUUID } from 'node:crypto';
import { HOUR_MS } from '../model/duration';
import type { TimeRange } from '../model/selection';
import type { KinesisReplayStream } from './kinesis';
import type { LambdaReplayMappings } from './lambda';
import type { Loss, RecoveryTable, Replay, ShardProgress } from './recovery-table';
import { hasEnded, planReplay, planWatermarks, repairs, type Shard } from './replay-plan';

/** The last loss and the last replay, for the recovery function and for operators. */
export interface RecoveryStatus {
  readonly loss: Loss | undefined;
  readonly replay: Replay | undefined;
  /** The replay's progress in each open shard that it has begun to read. */
  readonly shards: readonly ShardProgress[];
  /**
   * The redriven objects that must be ingested again before the open loss is closed: their number, and the keys of the
   * first ones. Only the recovery function's action `status` sets this, and only while a loss is open.
   */
  readonly lostObjects?: { readonly count: number; readonly first: readonly string[] };
}

export interface RecoveryDependencies {
  readonly table: RecoveryTable;
  readonly stream: Pick<KinesisReplayStream, 'shards' | 'beat'>;
  readonly mappings: Pick<LambdaReplayMappings, 'list' | 'create' | 'delete'>;
  readonly now: () => number;
}

export interface AdvanceDependencies extends RecoveryDependencies {
  /**
   * Re-ingests the redriven objects whose samples memory may have lost: see redrive.ts. Returns whether
   * there was time for all of them.
   */
  readonly redriveLost: () => Promise<boolean>;
  /**
   * Records which samples reads lack because the records of an object have not been ingested: see gaps.ts.
   *
   * @param looks whether to look for new dead letters
   */
  readonly keepGaps: (looks: boolean) => Promise<void>;
}

/**
 * Recovery looks for new dead letters in every step if a watermark is at least this old, in ms. A batch becomes a dead
 * letter only after twelve hours or more. The watermark of its shard is old long before that, so recovery finds the
 * dead letter within a minute.
 */
const LATE_MS = HOUR_MS;

/**
 * Takes one step of recovery. A schedule starts a step every minute, and an operator's command starts additional steps.
 * Every step reads the state in the recovery table, so it also completes an earlier step that was interrupted.
 *
 * - It puts a heartbeat into every open shard.
 * - If {@link planReplay} wants a replay, it deletes the mapping of the last replay, records the new replay, and
 *   creates a mapping for it. From then on, heartbeats have the id of the new replay.
 * - It ends a replay once the replayer has reached, in every open shard, a heartbeat with the replay's id or
 *   the end of the replay's range. Before it closes a loss, it re-ingests the redriven objects whose
 *   samples may be lost.
 * - It records the gaps of objects that have not been ingested, so that reads can name the samples that they
 *   lack.
 *
 * @param requested the range that an operator asks for. Such a step ends no replay; a later step does
 */
export async function advance(
  dependencies: AdvanceDependencies,
  requested?: TimeRange,
): Promise<RecoveryStatus> {
  const { table, stream } = dependencies;
  const loss = await table.loss();
  let replay = await table.replay();
  const wanted = planReplay({ loss, replay, requested, nowMs: dependencies.now() });
  if (wanted !== undefined) replay = await restart(dependencies, replay, wanted, loss);
  if (replay?.state === 'running') replay = await withMapping(dependencies, replay);

  const shards = await stream.shards();
  const open = shards.filter(({ isOpen }) => isOpen);
  await stream.beat(open, replay?.state === 'running' && replay.mapping !== undefined ? replay.id : '');
  const watermarks = await keepWatermarks(table, shards);
  const looks = Math.min(...watermarks) < dependencies.now() - LATE_MS;
  // Record the gaps before the loss is closed, so that reads always name the samples that could not be ingested again.
  await dependencies.keepGaps(looks);

  if (replay?.state === 'running') {
    // A step for a requested range ends no replay. So its caller learns the id of the replay to watch, unless a
    // scheduled step ends the replay at the same time.
    const isRead = requested === undefined && hasEnded(shards, await table.progress(replay));
    if (isRead && (!loss?.isOpen || (await dependencies.redriveLost()))) {
      await finish(dependencies, replay, loss);
      await dependencies.keepGaps(looks);
    }
  } else await clear(dependencies);
  return recoveryStatus(dependencies, shards);
}

/**
 * Reads the last loss, the last replay, and the progress of the replay.
 *
 * @param known shards of the stream. @default reads them from the stream
 */
export async function recoveryStatus(
  { table, stream }: RecoveryDependencies,
  known?: readonly Shard[],
): Promise<RecoveryStatus> {
  const [loss, replay, shards] = await Promise.all([table.loss(), table.replay(), known ?? stream.shards()]);
  const open = new Set(shards.filter(({ isOpen }) => isOpen).map(({ id }) => id));
  const progress = replay === undefined ? [] : await table.progress(replay);
  return { loss, replay, shards: progress.filter(({ shardId }) => open.has(shardId)) };
}

/**
 * Stops the running replay.
 *
 * @param abandons whether to also close an open loss. If the loss stays open, the next step starts a replay for it
 */
export async function stop(dependencies: RecoveryDependencies, abandons: boolean): Promise<RecoveryStatus> {
  const { table, now } = dependencies;
  const replay = await table.replay();
  if (replay?.state === 'running')
    await table.putReplay({ ...replay, state: 'stopped', endedMs: now() }, replay);
  await clear(dependencies);
  const loss = await table.loss();
  if (abandons && loss?.isOpen) await table.closeLoss(loss);
  return recoveryStatus(dependencies);
}

/**
 * Records a new replay, which replaces the last one.
 *
 * @returns the new replay; the last replay if its mapping is still being deleted; or the replay that another step
 *   recorded first
 */
async function restart(
  dependencies: RecoveryDependencies,
  last: Replay | undefined,
  range: TimeRange,
  loss: Loss | undefined,
): Promise<Replay | undefined> {
  const { table, now } = dependencies;
  // Delete the old mapping first. Otherwise, its batches could contain heartbeats of the new replay, and the replayer
  // would take the new replay for finished without having read its range.
  if (!(await clear(dependencies))) return last;
  const replay: Replay = {
    id: randomUUID(),
    ...range,
    state: 'running',
    startedMs: now(),
    endedMs: undefined,
    mapping: undefined,
    loss: loss?.isOpen ? { id: loss.id, notices: loss.notices } : undefined,
  };
  return (await table.putReplay(replay, last)) ? replay : table.replay();
}

/** Ensures that the running replay has an event source mapping. */
async function withMapping(dependencies: RecoveryDependencies, replay: Replay): Promise<Replay | undefined> {
  const { table, mappings } = dependencies;
  // Check that the mapping exists, because another step may have deleted it.
  if (replay.mapping !== undefined && (await mappings.list()).includes(replay.mapping)) return replay;
  // Delete all mappings first, because an interrupted step may have created a mapping without recording it.
  if (!(await clear(dependencies))) return replay;
  const made = { ...replay, mapping: await mappings.create(replay.fromMs) };
  return (await table.putReplay(made, replay)) ? made : table.replay();
}

/**
 * Deletes all mappings of the replayer.
 *
 * @returns whether no mapping is left; false while AWS is still deleting one
 */
async function clear({ mappings }: RecoveryDependencies): Promise<boolean> {
  const found = await mappings.list();
  for (const uuid of found) await mappings.delete(uuid);
  return found.length === 0 || (await mappings.list()).length === 0;
}

/** Ends a replay that has read everything, and closes the loss that it repairs. */
async function finish(
  dependencies: RecoveryDependencies,
  replay: Replay,
  loss: Loss | undefined,
): Promise<void> {
  const { table, now } = dependencies;
  if (!(await table.putReplay({ ...replay, state: 'done', endedMs: now() }, replay))) return;
  await clear(dependencies);
  if (loss?.isOpen && repairs(replay, loss)) await table.closeLoss(loss);
}

/**
 * Adds and deletes watermarks after shards were split or merged: see {@link planWatermarks}.
 *
 * @returns the watermarks as they were before, in ms
 */
async function keepWatermarks(table: RecoveryTable, shards: readonly Shard[]): Promise<number[]> {
  const watermarks = await table.watermarks();
  const plan = planWatermarks(watermarks, shards);
  for (const id of plan.begin) await table.beginWatermark(id);
  for (const id of plan.delete) await table.deleteWatermark(id);
  return [...watermarks.values()];
}
