import { EXPIRED } from '../hot/mark-script';
import type { PrimaryState } from '../hot/topology';

/**
 * A time in which no primary failed. A mark names the primary that wrote it, and the era. When a reader finds the mark on another
 * primary, the era tells why: if it is the present one, the slot moved; if it is an earlier one, memory was lost (DESIGN.md, "Killed
 * or moved").
 */
export interface Era {
  /** Goes up by one with each look that finds that a primary failed. */
  readonly number: number;
  /** The primaries when they were last looked at, in the order of `run`. */
  readonly primaries: readonly EraPrimary[];
}

export interface EraPrimary extends PrimaryState {
  /** Whether it was ever seen with a slot. */
  readonly hasServed: boolean;
}

/** The era after a look at the primaries. */
export interface EraStep {
  /** The same object if nothing changed. */
  readonly era: Era;
  /**
   * Whether a primary failed while slots moved. A partition may then have been on two primaries, and its mark on the one that
   * survived. Since the mark proves nothing then, every partition counts as lost.
   */
  readonly isLoss: boolean;
  /** Whether slots are on their way, or have moved since the last look. */
  readonly areMoving: boolean;
}

/**
 * Compares a look at the primaries with the one before.
 *
 * A primary may join if it has no slots and never was a replica. A primary may leave if it had served slots and was last seen without
 * any. It may also leave if no node counted a failure and no primary joined. Any other change is a failure: a replica that lagged may
 * have taken over.
 *
 * @param era undefined before the first look
 * @param primaries all that there are now
 * @param isScaling whether a command that moves slots is at work
 * @param first number of the first era. Pass the time: no mark has it, even if the item of an earlier era was deleted
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
  // One that joined may be the one that left, restarted.
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

/** Whether the node was a primary all the time. The id alone does not tell: it also changes when the first replica attaches. */
function isSame(then: PrimaryState, now: PrimaryState): boolean {
  return then.run === now.run && (then.id === now.id || now.previous === undefined);
}

/**
 * Whether no node failed and no replica took over since the last look. The cluster tells every node of both, and each node counts
 * them. False when the counts of all nodes are unknown.
 */
function nothingFailed(
  stayed: readonly { readonly then: PrimaryState; readonly now: PrimaryState }[],
): boolean {
  const known = stayed.filter(({ then, now }) => then.failures !== undefined && now.failures !== undefined);
  return known.length > 0 && known.every(({ then, now }) => then.failures === now.failures);
}

/** The mark that a partition bears. */
export interface FoundMark {
  /** Replication id of the primary that wrote the mark, or {@link EXPIRED}; undefined when there is no mark. */
  readonly markedBy: string | undefined;
  /** The era in which it was written, or last found to be whole; undefined when that is unknown. */
  readonly era: number | undefined;
  /** Replication id of the primary that holds the mark now. */
  readonly here: string;
}

/**
 * Whether a partition with another primary's mark came by a planned move, and is whole.
 *
 * @param now the era by a look at the primaries after the mark was read
 */
export function hasMoved({ markedBy, era, here }: FoundMark, now: Era): boolean {
  const isPrimarys = markedBy !== undefined && markedBy !== EXPIRED;
  return isPrimarys && era === now.number && now.primaries.some(({ id }) => id === here);
}
