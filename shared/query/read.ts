import { applyTombstones, type Block, sampleCount, sliceBlock } from '../codec';
import { ObjectGoneError } from '../cold/cold-tier';
import type { PartitionMark } from '../hot/frame-reader';
import { readHot } from '../hot/read';
import { gather } from '../model/block-layout';
import { mergeAll } from '../model/layout-block';
import type { LocatedBlock } from '../model/selection';
import type { Tier } from '../model/tier';
import { mapLimited } from '../platform/concurrency';
import type { Tenant } from '../tenancy/tenants';
import { daysBeyondHot } from './beyond-hot';
import type { Extent } from './extents';
import { IncompleteReadError } from './incomplete';
import { readBeyond } from './read-beyond';
import {
  contextsOf,
  layoutLookup,
  partitionsOf,
  type ReadContext,
  type ReadDependencies,
  type SourceRead,
} from './read-context';
import type { Points } from './rolled-points';

/**
 * A place that was read in a tier: a key in memory, an item in the warm table, or a range of bytes in the
 * archive.
 */
export interface TierPlace extends Omit<LocatedBlock, 'block'> {
  readonly tier: Tier;
  /** Number of samples read from this tier that are wanted, in the range, and not deleted. */
  readonly matched: number;
  /** First and last times of these samples; undefined when there are none. */
  readonly extent: Extent | undefined;
}

export interface TierReading {
  readonly durationMs: number;
  /** Number of samples read, before the tiers are merged. */
  readonly samples: number;
  readonly places: readonly TierPlace[];
}

export interface Reading {
  /** One column for each requested series. */
  readonly block: Block;
  /** Points from rollups, by column, and the number of days they cover; undefined if there are no points. */
  readonly points?: { readonly series: readonly Points[]; readonly days: number } | undefined;
  readonly tiers: Readonly<Record<Tier, TierReading>>;
  /** Number of rounds of requests beyond memory; 0 when memory had everything. */
  readonly rounds: number;
  /**
   * Samples that arrived at or after this time, in ms, may be missing; undefined if none are. See
   * {@link IncompleteReadError}.
   */
  readonly missingSinceMs: number | undefined;
}

/** Maximum number of requests in progress. */
const PARALLEL = 16;
/** Maximum number of times that a read starts again because an object was removed during the read. */
const MAX_RESTARTS = 10;

/**
 * Reads series of one source from all tiers.
 *
 * Samples move from hot to warm to cold. The read goes through the tiers in the same order: first memory, then the
 * tiers beyond memory, for the samples that have left memory (beyond-hot.ts). Therefore samples that move during the
 * read are seen at least once (DESIGN.md, rule 5). For each timestamp, the highest version wins.
 *
 * @param allowsMissing whether to answer even though samples are known to be missing
 * @throws {IncompleteReadError}
 */
export function readSource(
  dependencies: ReadDependencies,
  tenant: Tenant,
  request: SourceRead,
  allowsMissing: boolean,
): Promise<Reading> {
  const homes = contextsOf(dependencies, tenant, request);
  if (homes.length === 1) return readHome(homes[0]!, allowsMissing);
  return Promise.all(homes.map((read) => readHome(read, allowsMissing))).then(joinReadings);
}

/** Reads the tiers. Starts again if an object was removed during the read. */
async function readHome(read: ReadContext, allowsMissing: boolean): Promise<Reading> {
  for (let restarts = 0; ; restarts++) {
    try {
      // Retry without rollups: a retry with rollups would find the same directory entry, whose object is gone.
      return await readTiers(restarts === 0 ? read : { ...read, grains: undefined }, allowsMissing);
    } catch (error) {
      if (!(error instanceof ObjectGoneError) || restarts >= MAX_RESTARTS) throw error;
    }
  }
}

async function readTiers(read: ReadContext, allowsMissing: boolean): Promise<Reading> {
  const { stores, request, selection } = read;
  const beganMs = performance.now();
  const refs = partitionsOf(read.days);
  const longestWindowMs = request.windowLengthsMs.at(-1) ?? 0;
  const gapSinceMs = await stores.gaps.missingSince(refs, selection.range);
  const hot = await readHot(stores.hot, refs, selection, longestWindowMs, stores.now(), layoutLookup(read));
  const fromHot = cutToRange(read, 'hot', hot.blocks, performance.now() - beganMs);
  // Look up losses only for the few partitions whose mark does not name the current primary, or has a `loss`.
  const doubtful = hot.marks.filter((mark) => mark.state !== 'good' || mark.loss !== '');
  const lostSinceMs = doubtful.length === 0 ? undefined : await missingSince(read, doubtful);
  const missingSinceMs = earliest([gapSinceMs, lostSinceMs]);
  if (missingSinceMs !== undefined && !allowsMissing) throw new IncompleteReadError(missingSinceMs);
  const days = daysBeyondHot(read.days, hot.left);
  const found = days.length === 0 ? {} : await readBeyond(read, days, hot.blocks, fromHot.blocks);
  const warm = found.warm ? cutToRange(read, 'warm', found.warm, found.warmMs ?? 0) : NOTHING;
  const cold = found.cold ? cutToRange(read, 'cold', found.cold, found.coldMs ?? 0) : NOTHING;
  const { points } = found;
  const rolledPlaces = (points?.places ?? []).map(
    (place): TierPlace => ({ ...place, tier: 'cold', matched: place.samples }),
  );
  return {
    block: mergeAll([...fromHot.blocks, ...warm.blocks, ...cold.blocks]) ?? gather(selection.wanted, [], []),
    points,
    tiers: {
      hot: fromHot.reading,
      warm: warm.reading,
      cold: rolledPlaces.length === 0 ? cold.reading : withPlaces(cold.reading, rolledPlaces),
    },
    rounds: found.rounds ?? 0,
    missingSinceMs,
  };
}

function withPlaces(reading: TierReading, more: readonly TierPlace[]): TierReading {
  const samples = more.reduce((sum, { matched }) => sum + matched, reading.samples);
  return { ...reading, samples, places: [...reading.places, ...more] };
}

/**
 * Returns the arrival time from which samples of the range may be missing from memory; undefined if none are missing.
 *
 * @param doubtful marks that do not name the current primary, or have a `loss`
 */
async function missingSince(
  { stores: { losses, imports, maxSampleAgeMs }, tenant, selection: { range } }: ReadContext,
  doubtful: readonly PartitionMark[],
): Promise<number | undefined> {
  const since = await mapLimited(doubtful, PARALLEL, (mark) => losses.missingSince(mark.ref, mark));
  const all = since.filter((ms) => ms !== undefined);
  if (all.length === 0) return undefined;
  // Look this up only if memory lacks samples. `maxSampleAge` does not apply to imported samples.
  const importedMs = await imports.untilMs(tenant.id);
  const missing = all.filter((ms) => importedMs >= ms || range.toMs > ms - maxSampleAgeMs);
  return missing.length === 0 ? undefined : Math.min(...missing);
}

/** A tier's blocks in the range, without deleted samples. */
interface LocatedTier {
  readonly blocks: readonly Block[];
  readonly reading: TierReading;
}

const NOTHING: LocatedTier = { blocks: [], reading: { durationMs: 0, samples: 0, places: [] } };

/** Cuts a tier's blocks to the range, and removes deleted samples. */
function cutToRange(
  { selection: { range }, tombstones }: ReadContext,
  tier: Tier,
  found: readonly LocatedBlock[],
  durationMs: number,
): LocatedTier {
  const places: TierPlace[] = [];
  let samples = 0;
  const blocks = found.map(({ place, bytes, samples: stored, block: whole }) => {
    const block = applyTombstones(sliceBlock(whole, range.fromMs, range.toMs), tombstones);
    const { timestamps } = block;
    const extent =
      timestamps.length === 0 ? undefined : { firstMs: timestamps[0]!, lastMs: timestamps.at(-1)! };
    const matched = sampleCount(block);
    places.push({ tier, place, bytes, samples: stored, matched, extent });
    samples += matched;
    return block;
  });
  return { blocks, reading: { durationMs, samples, places } };
}

/** Joins readings of the same series from different homes. */
function joinReadings(readings: readonly Reading[]): Reading {
  return { block: mergeAll(readings.map(({ block }) => block))!, ...joinReports(readings) };
}

/** Returns the earliest arrival time from which any reading may lack samples; undefined if none are missing. */
export function earliestMissing(readings: readonly Pick<Reading, 'missingSinceMs'>[]): number | undefined {
  return earliest(readings.map(({ missingSinceMs }) => missingSinceMs));
}

function earliest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((ms) => ms !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/**
 * Joins the reports of concurrent readings, without their samples. Adds up the sample counts of each tier, and lists
 * the places of all readings. Takes the longest duration of each tier and the largest number of rounds, because the
 * readings ran at the same time.
 */
export function joinReports(readings: readonly Reading[]): Omit<Reading, 'block' | 'points'> {
  const join = (tier: Tier): TierReading => {
    const all = readings.map(({ tiers }) => tiers[tier]);
    return {
      durationMs: all.reduce((most, { durationMs }) => Math.max(most, durationMs), 0),
      samples: all.reduce((sum, { samples }) => sum + samples, 0),
      places: all.flatMap(({ places }) => places),
    };
  };
  return {
    tiers: { hot: join('hot'), warm: join('warm'), cold: join('cold') },
    rounds: readings.reduce((most, { rounds }) => Math.max(most, rounds), 0),
    missingSinceMs: earliestMissing(readings),
  };
}
