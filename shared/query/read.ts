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
import type { Extent } from './extents';
import { IncompleteReadError } from './incomplete';
import {
  layoutLookup,
  partitionsOf,
  planReads,
  type ReadDependencies,
  type ReadPlan,
  type SourceRequest,
} from './read-plan';
import { readRounds } from './read-rounds';
import type { Points } from './rolled-points';
import { daysBeyondHot, type Responses } from './round-plan';

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

interface TierStats {
  readonly durationMs: number;
  /** Number of samples read, before the tiers are merged. */
  readonly samples: number;
  readonly places: readonly TierPlace[];
}

/** Statistics about a read of one or more sources. */
export interface ReadStats {
  readonly tiers: Readonly<Record<Tier, TierStats>>;
  /** Number of rounds of requests beyond memory; 0 when memory had everything. */
  readonly rounds: number;
  /** Number of days read from rollups, summed over all sources. */
  readonly rollupDays: number;
  /**
   * Samples that arrived at or after this time, in ms, may be missing; undefined if none are. See
   * {@link IncompleteReadError}.
   */
  readonly missingSinceMs: number | undefined;
}

/** The samples of one source's requested series. */
export interface SourceResult extends ReadStats {
  /** One column for each requested series. */
  readonly block: Block;
  /** Points from rollups, by column; undefined if there are no points. */
  readonly points?: readonly Points[] | undefined;
}

/** Maximum number of requests in progress. */
const PARALLEL = 16;
/** Maximum number of times that a read starts again because an object was removed during the read. */
const MAX_RESTARTS = 10;

/**
 * Reads series of one source from all tiers.
 *
 * Samples move from hot to warm to cold. The read goes through the tiers in the same order: first memory, then the
 * tiers beyond memory, for the samples that have left memory (read-rounds.ts). Therefore samples that move during the
 * read are seen at least once (DESIGN.md, rule 5). For each timestamp, the highest version wins.
 *
 * @throws {IncompleteReadError} unless the request allows missing samples
 */
export function readSource(
  dependencies: ReadDependencies,
  tenant: Tenant,
  request: SourceRequest,
): Promise<SourceResult> {
  const plans = planReads(dependencies, tenant, request);
  if (plans.length === 1) return readHome(plans[0]!);
  return Promise.all(plans.map(readHome)).then(joinHomes);
}

/** Reads the tiers. Starts again if an object was removed during the read. */
async function readHome(plan: ReadPlan): Promise<SourceResult> {
  for (let restarts = 0; ; restarts++) {
    try {
      // Retry without rollups: a retry with rollups would find the same directory entry, whose object is gone.
      return await readTiers(restarts === 0 ? plan : { ...plan, grains: undefined });
    } catch (error) {
      if (!(error instanceof ObjectGoneError) || restarts >= MAX_RESTARTS) throw error;
    }
  }
}

async function readTiers(plan: ReadPlan): Promise<SourceResult> {
  const { dependencies, request, selection } = plan;
  const beganMs = performance.now();
  const refs = partitionsOf(plan.days);
  const longestWindowMs = request.windowLengthsMs.at(-1) ?? 0;
  const gapSinceMs = await dependencies.gaps.missingSince(refs, selection.range);
  const hot = await readHot(
    dependencies.hot,
    refs,
    selection,
    longestWindowMs,
    dependencies.now(),
    layoutLookup(plan),
  );
  const fromHot = cutToRange(plan, 'hot', hot.blocks, performance.now() - beganMs);
  // Look up losses only for the few partitions whose mark does not name the current primary, or has a `loss`.
  const doubtful = hot.marks.filter((mark) => mark.state !== 'good' || mark.loss !== '');
  const lostSinceMs = doubtful.length === 0 ? undefined : await missingSince(plan, doubtful);
  const missingSinceMs = earliest([gapSinceMs, lostSinceMs]);
  if (missingSinceMs !== undefined && !request.allowsMissing) throw new IncompleteReadError(missingSinceMs);
  const days = daysBeyondHot(plan.days, hot.left);
  const found: Partial<Responses> =
    days.length === 0 ? {} : await readRounds(plan, days, hot.blocks, fromHot.blocks);
  const warm = found.warm ? cutToRange(plan, 'warm', found.warm, found.warmMs ?? 0) : NOTHING;
  const cold = found.cold ? cutToRange(plan, 'cold', found.cold, found.coldMs ?? 0) : NOTHING;
  const { points } = found;
  const rolledPlaces = (points?.places ?? []).map(
    (place): TierPlace => ({ ...place, tier: 'cold', matched: place.samples }),
  );
  return {
    block: mergeAll([...fromHot.blocks, ...warm.blocks, ...cold.blocks]) ?? gather(selection.wanted, [], []),
    points: points?.series,
    tiers: {
      hot: fromHot.stats,
      warm: warm.stats,
      cold: rolledPlaces.length === 0 ? cold.stats : withPlaces(cold.stats, rolledPlaces),
    },
    rounds: found.rounds ?? 0,
    rollupDays: points?.days ?? 0,
    missingSinceMs,
  };
}

function withPlaces(stats: TierStats, more: readonly TierPlace[]): TierStats {
  const samples = more.reduce((sum, { matched }) => sum + matched, stats.samples);
  return { ...stats, samples, places: [...stats.places, ...more] };
}

/**
 * Returns the arrival time from which samples of the range may be missing from memory; undefined if none are missing.
 *
 * @param doubtful marks that do not name the current primary, or have a `loss`
 */
async function missingSince(
  { dependencies: { losses, imports, maxSampleAgeMs }, tenant, selection: { range } }: ReadPlan,
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

const NOTHING: ReturnType<typeof cutToRange> = {
  blocks: [],
  stats: { durationMs: 0, samples: 0, places: [] },
};

/** Cuts a tier's blocks to the range, and removes deleted samples. */
function cutToRange(
  { selection: { range }, tombstones }: ReadPlan,
  tier: Tier,
  found: readonly LocatedBlock[],
  durationMs: number,
): { readonly blocks: readonly Block[]; readonly stats: TierStats } {
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
  return { blocks, stats: { durationMs, samples, places } };
}

/** Joins the results for the same series from different homes. */
function joinHomes(results: readonly SourceResult[]): SourceResult {
  return { block: mergeAll(results.map(({ block }) => block))!, ...joinStats(results) };
}

/** Returns the earliest arrival time from which any read may lack samples; undefined if none are missing. */
export function earliestMissing(all: readonly Pick<ReadStats, 'missingSinceMs'>[]): number | undefined {
  return earliest(all.map(({ missingSinceMs }) => missingSinceMs));
}

function earliest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((ms) => ms !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/**
 * Joins the statistics of concurrent reads. Adds up their counts of samples and of days from rollups, and lists all
 * places. Takes the longest duration of each tier and the largest number of rounds, because the reads ran at the same
 * time.
 */
export function joinStats(all: readonly ReadStats[]): ReadStats {
  const join = (tier: Tier): TierStats => {
    const each = all.map(({ tiers }) => tiers[tier]);
    return {
      durationMs: each.reduce((most, { durationMs }) => Math.max(most, durationMs), 0),
      samples: each.reduce((sum, { samples }) => sum + samples, 0),
      places: each.flatMap(({ places }) => places),
    };
  };
  return {
    tiers: { hot: join('hot'), warm: join('warm'), cold: join('cold') },
    rounds: all.reduce((most, { rounds }) => Math.max(most, rounds), 0),
    rollupDays: all.reduce((sum, { rollupDays }) => sum + rollupDays, 0),
    missingSinceMs: earliestMissing(all),
  };
}
