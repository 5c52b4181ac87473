import type { FoundMark } from '../hot/partition-marks';
import type { PrimaryState } from '../hot/topology';

/**
 * A period in which no primary failed. The mark of a partition names the primary and the era in which it was written.
 * If the mark is found on another primary, its era shows why. A mark of the current era means that a planned move
 * brought the partition's slot there. A mark of an earlier era means that memory may have lost samples (README.md,
 * "Killed or moved").
 */
export interface Era {
  /** Goes up by one whenever a look at the primaries finds that one of them has failed. */
  readonly number: number;
  /** The primaries at the last look, sorted by `run`. */
  readonly primaries: readonly EraPrimary[];
}

export interface EraPrimary extends PrimaryState {
  /** Whether any look so far has found hash slots on this primary. */
  readonly hasServed: boolean;
}

/** The result of {@link nextEra}. */
export interface EraStep {
  /** The era after the look; the same object as before if nothing has changed. */
  readonly era: Era;
  /**
   * Whether a primary failed while hash slots were moving. The keys of a partition may then have been on two
   * primaries. The surviving primary may have a good mark, but only some of the keys. So a good mark proves
   * nothing, and every partition counts as lost.
   */
  readonly isLoss: boolean;
}

/**
 * Computes the era after a look at the primaries: the same one, or the next one if a primary has failed.
 *
 * These changes do not count as a failure:
 *
 * - A primary joins that has no hash slots and has never been a replica.
 * - A primary leaves that once served slots, but had none at the last look.
 * - A primary leaves, no node has counted a failure, and no primary has joined.
 *
 * Any other change counts as a failure, since a replica that lacks samples may have taken over.
 *
 * @param era the era before; undefined before the first look
 * @param primaries all primaries, as this look found them
 * @param isScaling whether an operator's command is moving slots
 * @param first number of the first era. Callers pass the current time, so that if the stored era is ever deleted, the
 *   new first era has a number that no old mark carries
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
  // A primary that joined may be one that left, restarted without its samples.
  const leftInPeace = leftEmpty || (joined.length === 0 && nothingFailed(stayed));
  const hasFailed = era !== undefined && !(joinedEmpty && leftInPeace);
  const mayHaveMoved =
    isScaling ||
    [...before, ...primaries].some(({ isOpen }) => isOpen) ||
    stayed.some(({ then, now }) => then.slots !== now.slots);
  const served = new Set(stayed.filter(({ then }) => then.hasServed).map(({ now }) => now));
  const next = {
    number: hasFailed ? number + 1 : number,
    primaries: primaries
      .map((each) => ({ ...each, hasServed: each.slots !== '' || served.has(each) }))
      .sort((a, b) => (a.run < b.run ? -1 : 1)),
  };
  const isUnchanged = JSON.stringify(next) === JSON.stringify(era);
  return { era: isUnchanged ? era! : next, isLoss: hasFailed && mayHaveMoved };
}

/**
 * Whether a node has been a primary without interruption between two looks. Comparing replication ids is not enough,
 * because the replication id also changes when the first replica attaches.
 */
function isSame(then: PrimaryState, now: PrimaryState): boolean {
  return then.run === now.run && (then.id === now.id || now.previous === undefined);
}

/**
 * Whether no node has failed and no replica has taken over since the last look. The cluster broadcasts both events, and
 * each node counts the messages. Returns false if no node's counts are known.
 */
function nothingFailed(
  stayed: readonly { readonly then: PrimaryState; readonly now: PrimaryState }[],
): boolean {
  const known = stayed.filter(({ then, now }) => then.failures !== undefined && now.failures !== undefined);
  return known.length > 0 && known.every(({ then, now }) => then.failures === now.failures);
}

/**
 * Why the mark of a partition is not good:
 *
 * - `moved`: a planned move has brought the partition to another primary, which must take over the mark. Nothing is lost.
 * - `lost`: memory may lack samples that were appended and not yet flushed.
 * - `unsure`: it is not known yet which primaries there are; the caller must look again.
 */
export type Verdict = 'moved' | 'lost' | 'unsure';

/**
 * Judges a mark that is not good.
 *
 * @param now the current era, from a look at the primaries that began after the mark was read; undefined if it is not
 *   known
 */
export function judge(mark: Exclude<FoundMark, { state: 'good' }>, now: Era | undefined): Verdict {
  if (now === undefined) return 'unsure';
  const isOfEra = mark.state === 'bad' && !mark.isExpired && mark.era === now.number;
  return isOfEra && now.primaries.some(({ id }) => id === mark.here) ? 'moved' : 'lost';
}
