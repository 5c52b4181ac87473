/**
 * What a read asks of the tiers behind memory, round by round. Pure: a round names what is asked together, its answers are a
 * value, and the next round is planned from them. query/README.md has a picture.
 */
import type { ListedSource } from '../cold/directory';
import { isOpen, type ManifestDay, partsOf } from '../cold/manifest';
import type { ColdDay } from '../cold/read';
import type { RolledSource } from '../cold/rollup-directory';
import type { LeftWindows } from '../hot/frame-reader';
import type { PartitionLeft } from '../hot/read';
import { MINUTE_MS } from '../model/aggregates';
import { DAY_MS } from '../model/duration';
import { type Day, dayStartMs, type PartitionRef } from '../model/placement';
import type { DayPlan } from './plan';
import { planRollups, type RollupFacts, type RollupPlan } from './rollup-plan';

/** What a read knows once memory has answered. */
export interface BeyondFacts extends Pick<RollupFacts, 'range' | 'groups' | 'deletions' | 'erasures'> {
  /** The days of which samples may lie beyond memory, ascending. */
  readonly days: readonly DayPlan[];
  /** Whether the manifest is asked which days have data before the warm table is asked for them. */
  readonly isPruned: boolean;
  /** Whether the whole range is long: a directory is asked before it is known that something is archived. */
  readonly isLong: boolean;
  /** Length of the stored units that the read's steps are made of; undefined: the read takes samples alone. */
  readonly unitMs: number | undefined;
  /** First and last times, ms, both included, of what memory answered. */
  readonly memory: readonly { readonly firstMs: number; readonly lastMs: number }[];
  /** Days of which the manifest named no object a short while ago. */
  readonly unarchived: ReadonlySet<Day>;
  /** Days of which the reader has seen what the warm table has, unless they have changed. */
  readonly seen: ReadonlySet<Day>;
  readonly wantedSeries: number;
  /** Samples that may be read as such, at one a minute. */
  readonly maxSamples: number;
}

/** What is asked together. */
export interface Asks {
  /** The manifest's entries of these days. */
  readonly manifest?: readonly DayPlan[];
  /** The warm table's items. `listed`: what the manifest has of the days, if it was asked after memory. */
  readonly warm?: { readonly days: readonly DayPlan[]; readonly listed?: ReadonlyMap<Day, ManifestDay> };
  /** Where the source's samples lie in the archive. */
  readonly directory?: boolean;
  /** The source's rollups. */
  readonly rollupDirectory?: boolean;
  readonly rollups?: readonly RollupPlan[];
  /** Samples of archived days; `directory` says where they lie. */
  readonly samples?: {
    readonly days: readonly ColdDay[];
    readonly directory: ReadonlyMap<Day, ListedSource>;
  };
}

/** The answers that rounds are planned from: those of the last round, and earlier ones that it did not ask anew. */
export interface Answers {
  readonly listed: ReadonlyMap<Day, ManifestDay>;
  readonly directory?: ReadonlyMap<Day, ListedSource>;
  readonly rolledUp?: ReadonlyMap<string, RolledSource>;
}

export interface Round {
  readonly asks: Asks;
  /** @returns undefined when nothing is left to ask */
  readonly next?: (answers: Answers) => Round | undefined;
}

/** A read in steps would have to read more samples than it may: it is to be cut into slices. */
export class TooManyHeldError extends Error {
  override readonly name = 'TooManyHeldError';
}

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
 * Plans a read. The manifest is asked beside the warm table: what a purge removes before the warm table answers has been in the
 * manifest since before this read began. A day's object and its warm items may be read in any order for the same reason.
 *
 * A day that is not open needs no warm items: a flush that trimmed before memory was read had announced itself, so the day's object
 * holds whatever memory no longer had.
 */
export function planRounds(facts: BeyondFacts): Round {
  const { days, isPruned, unarchived, seen } = facts;
  const certain = isPruned ? days.filter(({ day }) => unarchived.has(day)) : days;
  // What the reader has seen of the table, the manifest tells whether it has changed.
  const isSeen = new Set(certain.filter(({ day }) => seen.has(day)));
  const first = certain.filter((plan) => !isSeen.has(plan));
  const listing = isPruned ? days : days.filter((plan) => !unarchived.has(plan.day) || isSeen.has(plan));
  const asked = new Set(first);
  return {
    asks: { manifest: listing, warm: { days: first }, ...directoriesOf(facts) },
    next: (answers) => {
      const rest = days.filter(
        (plan) => !asked.has(plan) && (isSeen.has(plan) || isOpenDay(plan, answers.listed)),
      );
      const warmDays = [...first, ...rest];
      return planArchive(facts, answers, warmDays, { days: rest, listed: answers.listed });
    },
  };
}

/** The days, of those whose entries were asked for, that the manifest names no object of. */
export function unarchivedDays({ isPruned }: BeyondFacts, { asks }: Round, { listed }: Answers): Day[] {
  const days = (asks.manifest ?? []).map(({ day }) => day);
  return days.filter((day) => (!isPruned || listed.has(day)) && !listed.get(day)?.archived);
}

/** The directories that are asked beside the manifest. Few groups are dense enough for minutes, so that samples are likely. */
function directoriesOf({ isLong, unitMs }: BeyondFacts): Pick<Asks, 'directory' | 'rollupDirectory'> {
  const isRolledUp = isLong && unitMs !== undefined;
  return { rollupDirectory: isRolledUp, directory: isLong && (!isRolledUp || unitMs === MINUTE_MS) };
}

/**
 * Plans how archived days are read, once the manifest has answered.
 *
 * @param warmDays the days that the warm table was asked for, or is asked for now
 * @param warm what it is still to be asked
 * @throws {TooManyHeldError}
 */
function planArchive(
  facts: BeyondFacts,
  { listed, directory, rolledUp }: Answers,
  warmDays: readonly DayPlan[],
  warm?: Asks['warm'],
): Round | undefined {
  const asksWarm = warm === undefined || warm.days.length === 0 ? undefined : { warm };
  const entries = facts.days.flatMap(({ day }) => listed.get(day) ?? []);
  if (!entries.some(({ archived }) => archived !== undefined)) return asksWarm && { asks: asksWarm };
  const isInWarm = new Set(warmDays.map(({ day }) => day));
  const { samples, rollups } =
    rolledUp === undefined
      ? { samples: entries, rollups: [] }
      : planRollups({
          ...facts,
          unitMs: facts.unitMs!,
          entries,
          listed: rolledUp,
          isElsewhere: (day) => {
            const startMs = dayStartMs(day);
            return isInWarm.has(day) || isInMemory(facts, startMs, startMs + DAY_MS - 1);
          },
        });
  requireFewHeld(facts, samples);
  const days = samples.flatMap((entry) => partsToRead(facts, entry, isInWarm.has(entry.day)));
  if (days.length === 0) return { asks: { ...asksWarm, rollups } };
  if (directory !== undefined) return { asks: { ...asksWarm, rollups, samples: { days, directory } } };
  return {
    asks: { ...asksWarm, rollups, directory: true },
    next: (answers) => ({ asks: { samples: { days, directory: answers.directory! } } }),
  };
}

/** A day's parts that may have the wanted series. */
function partsToRead(facts: BeyondFacts, entry: ManifestDay, isInWarm: boolean): ColdDay[] {
  const { day, archived } = entry;
  if (archived === undefined) return [];
  const isContested = (minMs: number, maxMs: number) =>
    isOpen(entry) ||
    isInWarm ||
    isInMemory(facts, minMs, maxMs) ||
    facts.erasures.some(({ fromMs, toMs }) => fromMs <= maxMs && toMs > minMs);
  return partsOf(archived, facts.groups).map(({ key }) => ({ day, key, isContested }));
}

/** Whether memory has samples of these times, ms, both included. */
function isInMemory({ memory }: BeyondFacts, minMs: number, maxMs: number): boolean {
  return memory.some(({ firstMs, lastMs }) => firstMs <= maxMs && lastMs >= minMs);
}

const MINUTES_A_DAY = 1440;

/** @throws {TooManyHeldError} */
function requireFewHeld({ wantedSeries, maxSamples }: BeyondFacts, days: readonly unknown[]): void {
  const samples = days.length * MINUTES_A_DAY * wantedSeries;
  if (samples > maxSamples)
    throw new TooManyHeldError(`${days.length} days are not rolled up: some ${samples} samples`);
}

function isOpenDay({ day }: DayPlan, listed: ReadonlyMap<Day, ManifestDay>): boolean {
  const entry = listed.get(day);
  return entry !== undefined && isOpen(entry);
}
