import { EXPIRED } from '../hot/mark-script';
import type { PrimaryState } from '../hot/topology';

/**
 * A period in which no primary failed. A mark names the primary that wrote it and the era. When a reader
 * finds the mark on a different primary, it compares the mark's era with the present one. If they are equal,
 * the partition's slot was moved as planned; if the mark's is earlier, memory was lost (README.md, "Killed or
 * moved").
 */
export interface Era {
  /** Increases by one whenever a look at the primaries finds that one failed. */
  readonly number: number;
  /** The primaries at the last look, sorted by `run`. */
  readonly primaries: readonly EraPrimary[];
}

export interface EraPrimary extends PrimaryState {
  /** Whether this primary was ever seen with a slot. */
  readonly hasServed: boolean;
}

/** The result of comparing a look at the primaries with the era. */
export interface EraStep {
  /** The era after the look; the same object as before if nothing changed. */
  readonly era: Era;
  /**
   * Whether a primary failed while slots were moving. A partition may then have been on both primaries of a
   * move, with its mark on the one that survived. The mark then proves nothing, so every partition counts as
   * lost.
   */
  readonly isLoss: boolean;
  /** Whether slots are being moved, or have moved since the last look. */
  readonly areMoving: boolean;
}

/**
 * Computes the era after a look at the primaries.
 *
 * A primary may join if it has no slots and never was a replica. A primary may leave if it had served slots
 * and was last seen without any. It may also leave if no node counted a failure and no primary joined. Any
 * other change counts as a failure, since a lagging replica may have taken over.
 *
 * @param era undefined before the first look
 * @param primaries all primaries at this look
 * @param isScaling whether a command is moving slots
 * @param first number of the first era. Pass the time: then no old mark has the number, even if the item of
 *   an earlier era was deleted
 */
export function nextEra(
  era: Era | undefined,
  primaries: readonly PrimaryState[],
  isScaling: boolean,
  first = 1,
): EraStep {
  const { number, primaries: before } = era ?? { number: first, primaries: [] };
  const stayed = primaries.flatMap((now) => {
    const then = before.find((each) => isSame(each, now));
    return then === undefined ? [] : [{ then, now }];
  });
  const joined = primaries.filter((each) => stayed.every(({ now }) => now !== each));
  const left = before.filter((each) => stayed.every(({ then }) => then !== each));
  const joinedEmpty = joined.every(
    ({ slots, isOpen, previous }) => slots === '' && !isOpen && previous === undefined,
  );
  const leftEmpty = left.every(({ slots, isOpen, hasServed }) => hasServed && slots === '' && !isOpen);
  // A primary that joined may be the one that left, after a restart.
  const leftInPeace = leftEmpty || (joined.length === 0 && nothingFailed(stayed));
  const hasFailed = era !== undefined && !(joinedEmpty && leftInPeace);
  const areMoving =
    primaries.some(({ isOpen }) => isOpen) || stayed.some(({ then, now }) => then.slots !== now.slots);
  const mayHaveMoved = areMoving || isScaling || before.some(({ isOpen }) => isOpen);
  const served = new Set(stayed.filter(({ then }) => then.hasServed).map(({ now }) => now));
  const next = {
    number: hasFailed ? number + 1 : number,
    primaries: primaries
      .map((each) => ({ ...each, hasServed: each.slots !== '' || served.has(each) }))
      .sort((a, b) => (a.run < b.run ? -1 : 1)),
  };
  const isUnchanged = JSON.stringify(next) === JSON.stringify(era);
  return { era: isUnchanged ? era! : next, isLoss: hasFailed && mayHaveMoved, areMoving };
}

/**
 * Whether the node has been a primary without interruption. Its replication id alone does not tell: it also
 * changes when the first replica attaches.
 */
function isSame(then: PrimaryState, now: PrimaryState): boolean {
  return then.run === now.run && (then.id === now.id || now.previous === undefined);
}

/**
 * Whether no node failed and no replica took over since the last look. The cluster broadcasts both events,
 * and each node counts the messages. False when no node's counts are known.
 */
function nothingFailed(
  stayed: readonly { readonly then: PrimaryState; readonly now: PrimaryState }[],
): boolean {
  const known = stayed.filter(({ then, now }) => then.failures !== undefined && now.failures !== undefined);
  return known.length > 0 && known.every(({ then, now }) => then.failures === now.failures);
}

/** A partition's mark, and the primary that it was read from. */
export interface FoundMark {
  /** Replication id of the primary that wrote the mark, or {@link EXPIRED}; undefined when there is no mark. */
  readonly markedBy: string | undefined;
  /**
   * Number of the era in which the mark was written or a flusher last confirmed it; undefined when unknown.
   */
  readonly era: number | undefined;
  /** Replication id of the primary that holds the mark now. */
  readonly here: string;
}

/**
 * Whether a planned move brought a partition here from another primary, with all its samples.
 *
 * @param now the present era, from a look at the primaries that began after the mark was read
 */
export function hasMoved({ markedBy, era, here }: FoundMark, now: Era): boolean {
  const isPrimarys = markedBy !== undefined && markedBy !== EXPIRED;
  return isPrimarys && era === now.number && now.primaries.some(({ id }) => id === here);
}
