import { isOpen, type ManifestDay } from '../cold/manifest';
import type { LeftWindows } from '../hot/frame-reader';
import type { PartitionLeft } from '../hot/read';
import type { Day, PartitionRef } from '../model/placement';
import type { LocatedBlock } from '../model/selection';
import { type DayPlan, MAX_UNPRUNED_DAYS } from './plan';
import type { UnarchivedDays } from './unarchived-days';

/** The tiers behind memory, as one read asks them. */
export interface LaterTiers {
  /** @param listed what the manifest has of the days, if it was asked after memory: what the reader knows may serve */
  readonly warm: (
    days: readonly DayPlan[],
    listed?: ReadonlyMap<Day, ManifestDay>,
  ) => Promise<readonly LocatedBlock[]>;
  /** Whether the reader has seen what the warm table has of the day, unless it has changed. */
  readonly knowsWarm: (day: DayPlan) => boolean;
  /** The days that the manifest lists, from the first to the last. */
  readonly manifest: (days: readonly DayPlan[]) => Promise<ReadonlyMap<Day, ManifestDay>>;
  readonly cold: (entries: readonly ManifestDay[]) => Promise<readonly LocatedBlock[]>;
  readonly partitionOn: (day: Day) => PartitionRef;
  /** Whether the manifest is to be asked first even for few days: rollups may stand for those that are archived. */
  readonly mayBeRolledUp: boolean;
  readonly unarchived: UnarchivedDays;
  readonly now: () => number;
}

export interface LaterBlocks {
  readonly warm: readonly LocatedBlock[];
  readonly cold: readonly LocatedBlock[];
}

export const NOTHING_BEYOND: LaterBlocks = { warm: [], cold: [] };

/**
 * The days of which samples may lie beyond memory: those that have a window of the range that may have left it.
 *
 * @param left of each partition, as memory was read
 */
export function daysBeyondMemory(
  days: readonly DayPlan[],
  left: readonly PartitionLeft[],
  partitionOn: (day: Day) => PartitionRef,
): DayPlan[] {
  return days.filter((plan) => {
    const { partition } = partitionOn(plan.day);
    for (const each of left) if (each.ref.partition === partition && mayHaveLeft(plan, each)) return true;
    return false;
  });
}

function mayHaveLeft({ windowsFromMs, windowsToMs }: DayPlan, { beforeMs, starts }: LeftWindows): boolean {
  return windowsFromMs < beforeMs || starts.some((ms) => ms >= windowsFromMs && ms < windowsToMs);
}

/**
 * Reads days from the tiers behind memory, which was read before. Whatever moves meanwhile is seen at least once.
 *
 * @param days ascending
 */
export async function readBeyondMemory(tiers: LaterTiers, days: readonly DayPlan[]): Promise<LaterBlocks> {
  if (days.length === 0) return NOTHING_BEYOND;
  const { unarchived, now } = tiers;
  const beganMs = now();
  if (unarchived.isFresh(beganMs, beganMs)) {
    const found = await readTogether(tiers, days, beganMs);
    if (unarchived.isFresh(beganMs, now())) return found;
  }
  return readInTurn(tiers, days);
}

/**
 * Asks the manifest beside the warm table: what a purge removes before the warm table answers has been in the manifest since
 * before this read began. A day's object and its warm items may be read in any order for the same reason.
 */
async function readTogether(
  tiers: LaterTiers,
  days: readonly DayPlan[],
  beganMs: number,
): Promise<LaterBlocks> {
  const { unarchived, partitionOn } = tiers;
  const isKnown = ({ day }: DayPlan) => unarchived.has(partitionOn(day), day, beganMs);
  const isShort = isUnpruned(tiers, days);
  // Of a long range, the manifest tells which days the warm table need not be asked for.
  const certain = isShort ? days : days.filter(isKnown);
  // What the reader has seen of the table, the manifest tells whether it has changed.
  const seen = new Set(certain.filter(tiers.knowsWarm));
  const first = certain.filter((plan) => !seen.has(plan));
  const listing = isShort ? days.filter((plan) => !isKnown(plan) || seen.has(plan)) : days;
  const [listed, warm] = await Promise.all([tiers.manifest(listing), tiers.warm(first)]);
  for (const { day } of listing)
    if (isShort ? !listed.get(day)?.archived : listed.has(day) && !listed.get(day)!.archived)
      unarchived.add(partitionOn(day), day, beganMs);
  const asked = new Set(first);
  const rest = days.filter((plan) => !asked.has(plan) && (seen.has(plan) || isOpenDay(plan, listed)));
  const [cold, more] = await Promise.all([tiers.cold(entriesOf(days, listed)), tiers.warm(rest, listed)]);
  return { warm: [...warm, ...more], cold };
}

/**
 * Asks the warm table, then the manifest: what was purged before the warm table was read had been committed before that. A
 * long range asks the manifest first which days have data: a flush that trimmed before memory was read had announced itself,
 * so the object of a day that is not open holds whatever memory no longer had.
 */
async function readInTurn(tiers: LaterTiers, days: readonly DayPlan[]): Promise<LaterBlocks> {
  const isShort = isUnpruned(tiers, days);
  const known = isShort ? undefined : await tiers.manifest(days);
  const kept = known === undefined ? days : days.filter(({ day }) => known.has(day));
  const warm = await tiers.warm(known === undefined ? days : kept.filter((plan) => isOpenDay(plan, known)));
  return { warm, cold: await tiers.cold(entriesOf(kept, await tiers.manifest(kept))) };
}

/** Whether the warm table is asked for days before the manifest is known. */
function isUnpruned({ mayBeRolledUp }: LaterTiers, days: readonly DayPlan[]): boolean {
  return days.length <= MAX_UNPRUNED_DAYS && !mayBeRolledUp;
}

function isOpenDay({ day }: DayPlan, listed: ReadonlyMap<Day, ManifestDay>): boolean {
  const entry = listed.get(day);
  return entry !== undefined && isOpen(entry);
}

function entriesOf(days: readonly DayPlan[], listed: ReadonlyMap<Day, ManifestDay>): ManifestDay[] {
  return days.flatMap(({ day }) => listed.get(day) ?? []);
}
