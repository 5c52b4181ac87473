/**
 * Plans, in rounds, which requests a read sends to the tiers beyond memory. A round lists requests that are sent
 * together; the next round is planned from their responses. The functions are pure. query/README.md has a picture.
 */
import type { ListedSource } from '../cold/archive-directory';
import { isOpen, type ManifestDay, partsOf } from '../cold/manifest';
import type { ColdDay } from '../cold/read';
import type { RolledSource } from '../cold/rollup-directory';
import type { PartitionLeft } from '../hot/frame-reader';
import type { LeftWindows } from '../hot/read-call';
import { DAY_MS } from '../model/duration';
import { type Day, dayStartMs } from '../model/placement';
import type { LocatedBlock } from '../model/selection';
import { type DayPlan, FEW_DAYS } from './plan';
import type { RolledPoints } from './rolled-points';
import { planRollups, type RollupFacts, type RollupPlan } from './rollup-plan';

/** Facts about a read that are known once memory has been read. */
export interface RoundFacts extends Pick<RollupFacts, 'range' | 'groups' | 'deletions' | 'tombstones'> {
  /** Days that ended by this time, in ms, have probably been archived. */
  readonly archivedUntilMs: number;
  /** The kind of rollups that may replace samples; undefined if the read needs samples. */
  readonly grains: RollupFacts['grains'] | undefined;
  /** Days whose samples may be beyond memory, ascending. */
  readonly days: readonly DayPlan[];
  /** First and last times of the blocks read from memory, in ms, both inclusive. */
  readonly hotTimes: readonly { readonly firstMs: number; readonly lastMs: number }[];
  /**
   * Returns whether the reader has cached a day's warm items. They stay valid until data of the day changes.
   */
  readonly hasRead: (day: DayPlan) => boolean;
}

/** Requests to send together. */
export interface Requests {
  /** Read the manifest's entries of these days. */
  readonly manifest?: readonly DayPlan[];
  /**
   * Read the warm table's items of these days. `manifest` contains the manifest entries of the days; it is undefined in
   * the first round, which reads the manifest at the same time.
   */
  readonly warm?: { readonly days: readonly DayPlan[]; readonly manifest?: ReadonlyMap<Day, ManifestDay> };
  /** Read the source's entries in the archive's directory, which locate its samples. */
  readonly directory?: boolean;
  /** Read the source's entries in the directory of rollups. */
  readonly rollupDirectory?: boolean;
  readonly rollups?: readonly RollupPlan[];
  /** Read samples of archived days. `directory` locates them. */
  readonly samples?: {
    readonly days: readonly ColdDay[];
    readonly directory: ReadonlyMap<Day, ListedSource>;
  };
}

/** The combined responses of a read's rounds so far. The next round is planned from them. */
export interface Responses {
  readonly manifest: ReadonlyMap<Day, ManifestDay>;
  readonly directory?: ReadonlyMap<Day, ListedSource>;
  readonly rolledUp?: ReadonlyMap<string, RolledSource>;
  readonly warm?: readonly LocatedBlock[];
  readonly cold?: readonly LocatedBlock[];
  /** Points from rollups, and the number of days they cover. */
  readonly points?: RolledPoints & { readonly days: number };
  /** Number of rounds. Each round waited for the responses of the previous one. */
  readonly rounds?: number;
  /** Time spent reading the warm tier, in ms. */
  readonly warmMs?: number;
  /** Time spent reading the archive, in ms. */
  readonly coldMs?: number;
}

export interface Round {
  readonly requests: Requests;
  /** Plans the next round. @returns undefined if nothing is left to request */
  readonly next?: (responses: Responses) => Round | undefined;
}

/**
 * Selects the days on which at least one window of the range may have left memory.
 *
 * @param left the windows that have left memory, for each partition, according to the read of memory
 */
export function daysBeyondHot(days: readonly DayPlan[], left: readonly PartitionLeft[]): DayPlan[] {
  return days.filter((plan) => {
    for (const each of left)
      if (each.ref.partition === plan.ref.partition && mayHaveLeft(plan, each)) return true;
    return false;
  });
}

function mayHaveLeft({ windowsFromMs, windowsToMs }: DayPlan, { beforeMs, starts }: LeftWindows): boolean {
  return windowsFromMs < beforeMs || starts.some((ms) => ms >= windowsFromMs && ms < windowsToMs);
}

/**
 * Plans a read's first round.
 *
 * If all days are recent, the first round reads the manifest and the warm table in parallel. No samples are
 * missed: a purge removes warm items long after the manifest names the object that replaces them
 * (`purgeAfterMs`). So if a purge removes items during this read, the manifest named their object before the
 * read began. For the same reason, a day's object and its warm items may be read in any order. If any day is
 * older, the first round reads the manifest and the directory, because the read probably needs both.
 *
 * The second round reads the warm items of the other open days. A day that is not open needs no warm items. A flush
 * announces the day as open before it trims memory, so if a day is not open, its object contains everything that has
 * left memory.
 */
export function planRounds(facts: RoundFacts): Round {
  const { days, archivedUntilMs, hasRead } = facts;
  const areRecent = days.every(({ day }) => archivedUntilMs < dayStartMs(day) + DAY_MS);
  const grains = areRecent || days.length <= FEW_DAYS ? undefined : facts.grains;
  // For days with cached warm items, first find out from the manifest whether they have changed.
  const first = areRecent ? days.filter((plan) => !hasRead(plan)) : [];
  const directories = areRecent ? {} : grains === undefined ? { directory: true } : { rollupDirectory: true };
  return {
    requests: { manifest: days, warm: { days: first }, ...directories },
    next: (responses) => {
      const open = days.filter((plan) => !first.includes(plan) && isOpenDay(plan, responses.manifest));
      const warm = { days: open, manifest: responses.manifest };
      return planArchive({ ...facts, grains }, responses, [...first, ...open], warm);
    },
  };
}

/**
 * Plans how to read archived days, once the manifest has been read.
 *
 * @param warmDays days whose warm items have been read, or are read in this round
 * @param warm the request to the warm table that this round must also send; undefined if there is none
 */
function planArchive(
  facts: RoundFacts,
  { manifest, directory, rolledUp }: Responses,
  warmDays: readonly DayPlan[],
  warm?: Requests['warm'],
): Round | undefined {
  const warmRequest = warm === undefined || warm.days.length === 0 ? undefined : { warm };
  const entries = facts.days.flatMap(({ day }) => manifest.get(day) ?? []);
  if (!entries.some(({ archived }) => archived !== undefined))
    return warmRequest && { requests: warmRequest };
  const isInWarm = new Set(warmDays.map(({ day }) => day));
  const { samples, rollups } =
    facts.grains === undefined || rolledUp === undefined
      ? { samples: entries, rollups: [] }
      : planRollups({
          ...facts,
          grains: facts.grains,
          entries,
          rolledUp,
          isElsewhere: (day) => {
            const startMs = dayStartMs(day);
            return isInWarm.has(day) || isInHot(facts, startMs, startMs + DAY_MS - 1);
          },
        });
  const days = samples.flatMap((entry) => partsToRead(facts, entry, isInWarm.has(entry.day)));
  const bySamples = planSamples(days, directory);
  const requests = { ...warmRequest, rollups, ...bySamples?.requests };
  if (rollups.length === 0) return { ...bySamples, requests };
  // A read that uses rollups has not read the directory yet, so it has not requested any samples.
  return {
    requests,
    next: (found) => {
      const unproven = entries.filter(({ day }) => found.points?.unproven.has(dayStartMs(day)));
      const more = unproven.flatMap((entry) => partsToRead(facts, entry, false));
      return planSamples([...days, ...more], found.directory);
    },
  };
}

/** Plans the rounds that read samples of archived days. If the directory has not been read yet, it is read first. */
function planSamples(days: readonly ColdDay[], directory: Responses['directory']): Round | undefined {
  if (days.length === 0) return undefined;
  if (directory !== undefined) return { requests: { samples: { days, directory } } };
  return { requests: { directory: true }, next: (found) => planSamples(days, found.directory) };
}

/** Returns the parts of a day that may contain the wanted series. */
function partsToRead(facts: RoundFacts, entry: ManifestDay, isInWarm: boolean): ColdDay[] {
  const { day, archived } = entry;
  if (archived === undefined) return [];
  const parts = partsOf(archived, facts.groups);
  // Whether samples from `minMs` to `maxMs` may come from several places, so that their versions must be compared. If
  // there are two parts, samples are contested too: if the number of groups of the source changed on this day, a series
  // may have samples for the same time in two groups, and thus in two parts.
  const isContested = (minMs: number, maxMs: number) =>
    parts.length > 1 ||
    isOpen(entry) ||
    isInWarm ||
    isInHot(facts, minMs, maxMs) ||
    facts.tombstones.some(({ fromMs, toMs }) => fromMs <= maxMs && toMs > minMs);
  return parts.map(({ key }) => ({ day, key, isContested }));
}

/** Whether memory has samples from `minMs` to `maxMs`, both inclusive. */
function isInHot({ hotTimes }: RoundFacts, minMs: number, maxMs: number): boolean {
  return hotTimes.some(({ firstMs, lastMs }) => firstMs <= maxMs && lastMs >= minMs);
}

function isOpenDay({ day }: DayPlan, manifest: ReadonlyMap<Day, ManifestDay>): boolean {
  const entry = manifest.get(day);
  return entry !== undefined && isOpen(entry);
}
