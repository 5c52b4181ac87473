import { randomUUID } from 'node:crypto';
import type { Loss, RecoveryTable, Replay, ShardProgress } from './recovery-table';

/** A shard of the stream. */
export interface Shard {
  readonly id: string;
  readonly parents: readonly string[];
  /** Whether it still takes records. */
  readonly isOpen: boolean;
  /** A hash key that leads to it. */
  readonly hashKey: string;
}

export interface ReplayStream {
  shards(): Promise<Shard[]>;
  /** Puts a heartbeat into each of the shards. */
  beat(shards: readonly Shard[], replay: string): Promise<void>;
}

/** The event source mappings of the replayer. */
export interface ReplayMappings {
  /** UUIDs of all, those that are being deleted too. */
  list(): Promise<string[]>;
  /** @param fromMs arrival time; 0 for all that the stream has */
  create(fromMs: number): Promise<string>;
  /** Begins to delete one. */
  delete(uuid: string): Promise<void>;
}

export interface RecoveryStatus {
  readonly loss: Loss | undefined;
  readonly replay: Replay | undefined;
  /** Of the replay, in shards that take records. */
  readonly shards: readonly ShardProgress[];
}

/** The span of a replay that somebody asks for; see {@link Replay}. */
export type ReplaySpan = Pick<Replay, 'fromMs' | 'toMs'>;

export interface RecoveryDependencies {
  readonly table: RecoveryTable;
  readonly stream: ReplayStream;
  readonly mappings: ReplayMappings;
  readonly now: () => number;
}

/** What a replay appended, up to this long ago, may have been lost again; by then it is in the warm tier, whatever the clocks. */
const RECENT_MS = 4 * 3_600_000;

/**
 * One step of recovery; the schedule takes one each minute, an operator's command more. Every step begins with what is
 * written down, so one that was cut off is made good by the next.
 *
 * - Every shard gets a heartbeat.
 * - An open loss that no running replay covers starts one: first the old mapping goes, then the replay is written down,
 *   then its mapping is made, then heartbeats bear its name.
 * - A replay has ended when its reader has met such a heartbeat, or its end, in every shard that takes records.
 *
 * @param asked a replay that somebody asks for
 */
export async function advance(
  dependencies: RecoveryDependencies,
  asked?: ReplaySpan,
): Promise<RecoveryStatus> {
  const { table, stream } = dependencies;
  const loss = await table.loss();
  let replay = await table.replay();
  const wanted = wantedSpan(loss, replay, asked, dependencies.now());
  if (wanted !== undefined) replay = await restart(dependencies, replay, wanted, loss);
  if (replay?.state === 'running') replay = await withMapping(dependencies, replay);

  const shards = await stream.shards();
  const open = shards.filter(({ isOpen }) => isOpen);
  await stream.beat(open, replay?.state === 'running' && replay.mapping !== undefined ? replay.id : '');
  await keepPositions(table, shards);

  if (replay?.state === 'running') {
    const progress = await table.progress(replay);
    const passed = new Set(progress.filter(({ isPassed }) => isPassed).map(({ shardId }) => shardId));
    if (open.every(({ id }) => passed.has(id))) replay = await finish(dependencies, replay, loss);
  } else await clear(dependencies);
  return recoveryStatus(dependencies);
}

/** How recovery stands; changes nothing. */
export async function recoveryStatus({ table, stream }: RecoveryDependencies): Promise<RecoveryStatus> {
  const [loss, replay, shards] = await Promise.all([table.loss(), table.replay(), stream.shards()]);
  const open = new Set(shards.filter(({ isOpen }) => isOpen).map(({ id }) => id));
  const progress = replay === undefined ? [] : await table.progress(replay);
  return { loss, replay, shards: progress.filter(({ shardId }) => open.has(shardId)) };
}

/**
 * Ends the running replay.
 *
 * @param abandons whether an open loss is given up too, which would start another
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

/** What a new replay must span; undefined when none is needed, or the one that runs will do. */
function wantedSpan(
  loss: Loss | undefined,
  replay: Replay | undefined,
  asked: ReplaySpan | undefined,
  nowMs: number,
): ReplaySpan | undefined {
  const running = replay?.state === 'running' ? replay : undefined;
  const isCovered = !loss?.isOpen || (running?.loss?.id === loss.id && running.loss.notices === loss.notices);
  const isAskedRunning =
    asked === undefined || (running && running.fromMs <= asked.fromMs && running.toMs >= asked.toMs);
  if (isCovered && isAskedRunning) return undefined;
  // What a replay appended before was lost with the rest.
  const isRecent = replay?.endedMs === undefined || nowMs - replay.endedMs < RECENT_MS;
  const earlier = running ?? (!isCovered && isRecent ? replay : undefined);
  return {
    fromMs: Math.min(...[loss?.isOpen ? loss : undefined, asked, earlier].map((s) => s?.fromMs ?? Infinity)),
    toMs: loss?.isOpen ? Infinity : Math.max(...[asked, running].map((s) => s?.toMs ?? 0)),
  };
}

/** @returns the new replay; or the old one when its mapping has not gone yet, or another was quicker */
async function restart(
  dependencies: RecoveryDependencies,
  last: Replay | undefined,
  span: ReplaySpan,
  loss: Loss | undefined,
): Promise<Replay | undefined> {
  const { table, now } = dependencies;
  // A mapping of before would meet heartbeats of the new replay without having read what that must read.
  if (!(await clear(dependencies))) return last;
  const replay: Replay = {
    id: randomUUID(),
    ...span,
    state: 'running',
    startedMs: now(),
    endedMs: undefined,
    mapping: undefined,
    loss: loss?.isOpen ? { id: loss.id, notices: loss.notices } : undefined,
  };
  return (await table.putReplay(replay, last)) ? replay : table.replay();
}

async function withMapping(dependencies: RecoveryDependencies, replay: Replay): Promise<Replay | undefined> {
  const { table, mappings } = dependencies;
  // Another step may have taken it for one of before.
  if (replay.mapping !== undefined && (await mappings.list()).includes(replay.mapping)) return replay;
  // One that was made, but not written down before a step was cut off.
  if (!(await clear(dependencies))) return replay;
  const made = { ...replay, mapping: await mappings.create(replay.fromMs) };
  return (await table.putReplay(made, replay)) ? made : table.replay();
}

/** Removes the replayer's mappings. @returns whether there is none left */
async function clear({ mappings }: RecoveryDependencies): Promise<boolean> {
  for (const uuid of await mappings.list()) await mappings.delete(uuid);
  return (await mappings.list()).length === 0;
}

async function finish(
  dependencies: RecoveryDependencies,
  replay: Replay,
  loss: Loss | undefined,
): Promise<Replay | undefined> {
  const { table, now } = dependencies;
  const done: Replay = { ...replay, state: 'done', endedMs: now() };
  if (!(await table.putReplay(done, replay))) return table.replay();
  await clear(dependencies);
  if (loss?.isOpen && replay.loss?.id === loss.id && replay.loss.notices === loss.notices)
    await table.closeLoss(loss);
  return done;
}

/**
 * Positions of shards that are gone hold back what is known to be flushed, and so does one too few: a shard has one from
 * the start, a parent's stays until each child has its own.
 */
async function keepPositions(table: RecoveryTable, shards: readonly Shard[]): Promise<void> {
  const positions = await table.positions();
  const ids = new Set(shards.map(({ id }) => id));
  for (const id of positions.keys()) if (!ids.has(id)) await table.deletePosition(id);
  for (const { id, isOpen, parents } of shards) {
    if (positions.has(id)) {
      const children = shards.filter((shard) => shard.parents.includes(id));
      if (!isOpen && children.length > 0 && children.every((child) => positions.has(child.id)))
        await table.deletePosition(id);
    } else if (isOpen && !parents.some((parent) => positions.has(parent))) await table.beginPosition(id);
  }
}
