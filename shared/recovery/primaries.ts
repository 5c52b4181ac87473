import type { PrimaryState } from '../hot/topology';

/** All primaries at one time. */
export interface PrimariesLook {
  readonly primaries: readonly PrimaryState[];
  /** Whether any slot is on its way between two primaries, key by key. */
  readonly isMoving: boolean;
}

/** A primary as the era remembers it. */
export interface EraPrimary {
  /** Id of its process. */
  readonly run: string;
  readonly slots: string;
  /** Whether it ever served a slot. */
  readonly hasServed: boolean;
  /** See {@link PrimaryState}. */
  readonly failures?: number;
}

/**
 * A span of time in which no primary went. A partition that a primary of the era marked in the era, or a flusher found to be
 * whole in it, and that another primary of the era holds now, has moved and is whole (DESIGN.md, "Loss and replay").
 */
export interface Era {
  /** Each is one more than the last. Marks bear it. */
  readonly number: number;
  /** By replication id: the primaries that were alive all the time since they joined, or left without a slot. */
  readonly primaries: Readonly<Record<string, EraPrimary>>;
  /** Whether a slot was on its way when the primaries were last looked at. */
  readonly isMoving: boolean;
}

/** What a look at the primaries makes of the era. */
export interface EraStep {
  /** The same object if nothing changed. */
  readonly era: Era;
  /**
   * Whether memory may lack samples that no mark tells of: a primary went while slots moved, so that a partition may have been
   * on two of them. Every partition counts as lost, and the era is a new one.
   */
  readonly isLoss: boolean;
  /** Whether slots are on their way, or have moved since the last look. */
  readonly areMoving: boolean;
}

/** So many primaries that left are remembered. */
const MAX_LEFT = 1_000;

/**
 * Decides what a look at the primaries means.
 *
 * A primary that is not seen any more went, unless a planned move had emptied it: it had served slots, and served none when it
 * was last seen; or primaries of the era have its slots, and none of them has heard of a failure or of an election since the
 * last look; or its process has another id now, and was no replica in between. One that is seen for the first time joined, if it
 * holds nothing and never was a replica; any other may have taken the place of one that nobody saw. Either ends the era: a
 * replica that lagged may bear marks of before a move. If slots may have been moving meanwhile, no mark tells what was lost.
 *
 * @param era undefined before the first look
 * @param isScaling whether a command that moves slots is at work
 */
export function nextEra(era: Era | undefined, look: PrimariesLook, isScaling: boolean): EraStep {
  const seen = new Map(look.primaries.map((primary) => [primary.id, primary]));
  const { isMoving } = look;
  if (era === undefined)
    return {
      era: { number: 1, primaries: remembered({}, look), isMoving },
      isLoss: false,
      areMoving: isMoving,
    };
  const known = Object.entries(era.primaries);
  const runs = new Map(known.map(([id, { run }]) => [run, id]));
  // An id that came while the process went on, with no replica's past.
  const renamed = look.primaries.filter(
    ({ id, run, previous }) => !(id in era.primaries) && previous === undefined && runs.has(run),
  );
  const oldIds = new Set(renamed.map(({ run }) => runs.get(run)));
  const isMember = (primary: PrimaryState) => primary.id in era.primaries || renamed.includes(primary);
  const strangers = look.primaries.filter(
    (primary) =>
      !isMember(primary) && (primary.slots !== '' || primary.previous !== undefined || primary.isOpen),
  );
  const members = look.primaries.filter(isMember);
  // A newcomer may be the same server, restarted empty.
  const isCalm =
    members.length === look.primaries.length &&
    nothingFailed(members.map(({ run, failures }) => [era.primaries[runs.get(run)!]?.failures, failures]));
  const gone = known.filter(
    ([id, { slots, hasServed }]) =>
      !seen.has(id) &&
      !oldIds.has(id) &&
      !(hasServed && slots === '') &&
      !(isCalm && areServed(slots, members)),
  );
  const slotsChanged = known.some(([id, { slots }]) => seen.has(id) && seen.get(id)!.slots !== slots);
  const areMoving = isMoving || slotsChanged;
  const mayHaveMoved = isScaling || era.isMoving || areMoving;
  const isEvent = gone.length > 0 || strangers.length > 0;
  const number = isEvent ? era.number + 1 : era.number;
  if (isEvent && mayHaveMoved)
    return { era: { number, primaries: remembered({}, look), isMoving }, isLoss: true, areMoving };
  const staying = Object.fromEntries(known.filter((entry) => !gone.includes(entry)));
  const next = { number, primaries: remembered(staying, look), isMoving };
  return { era: isSame(era, next) ? era : next, isLoss: false, areMoving };
}

/**
 * Whether no node failed and no replica took over since the last look. A cluster tells every node of either, and each counts.
 *
 * @param counts each primary's at the last look and now; some may be unknown, all may not
 */
function nothingFailed(
  counts: readonly (readonly [before: number | undefined, now: number | undefined])[],
): boolean {
  const known = counts.filter(([before, now]) => before !== undefined && now !== undefined);
  return known.length > 0 && known.every(([before, now]) => before === now);
}

/** The mark that a partition bears, and the primary that holds it. */
export interface FoundMark {
  /** Replication id of the primary that wrote the mark; undefined when there is no mark. */
  readonly markedBy: string | undefined;
  /** The era in which it was written; undefined when it was written without one. */
  readonly era: number | undefined;
  /** Replication id of the primary that holds the mark now. */
  readonly here: string;
}

/** Whether a partition with another primary's mark came by a planned move, and is whole. */
export function hasMoved({ markedBy, era, here }: FoundMark, now: Era): boolean {
  return markedBy !== undefined && era === now.number && markedBy in now.primaries && here in now.primaries;
}

function remembered(
  staying: Readonly<Record<string, EraPrimary>>,
  { primaries }: PrimariesLook,
): Record<string, EraPrimary> {
  const left = Object.entries(staying).filter(([id]) => !primaries.some((primary) => primary.id === id));
  return Object.fromEntries([
    ...left.slice(-MAX_LEFT).map(([id, { run }]) => [id, { run, slots: '', hasServed: true }] as const),
    ...primaries.map(({ id, run, slots, isOpen, failures }) => {
      const hasServed = slots !== '' || staying[id]?.hasServed === true;
      // What is on its way to or from a primary is not all gone from it.
      return [id, { run, slots: slots === '' && isOpen ? OPEN : slots, hasServed, failures }] as const;
    }),
  ]);
}

/** Whether primaries serve all of these slots; those that were on their way are another's in any case. */
function areServed(slots: string, primaries: readonly PrimaryState[]): boolean {
  if (slots === OPEN) return true;
  const served = new Set(primaries.flatMap((primary) => slotsIn(primary.slots)));
  return slotsIn(slots).every((slot) => served.has(slot));
}

/** The slots of `0-5460 5462`. */
function slotsIn(text: string): number[] {
  return text.split(' ').flatMap((range) => {
    if (range === '') return [];
    const [first, last = first] = range.split('-').map(Number);
    return Array.from({ length: last! - first! + 1 }, (_, i) => first! + i);
  });
}

/** Stands for the slots of a primary that serves none, while one is on its way to or from it. */
const OPEN = 'open';

function isSame(a: Era, b: Era): boolean {
  const [before, after] = [Object.entries(a.primaries), Object.entries(b.primaries)];
  return (
    a.number === b.number &&
    a.isMoving === b.isMoving &&
    before.length === after.length &&
    after.every(([id, { slots, hasServed, failures }]) => {
      const other = a.primaries[id];
      return other?.slots === slots && other.hasServed === hasServed && other.failures === failures;
    })
  );
}
