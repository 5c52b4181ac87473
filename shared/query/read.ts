import type { SourceCatalogue } from '../catalogue/catalogue';
import { type Block, eraseSamples, sampleCount, sliceBlock } from '../codec';
import { ObjectChangedError } from '../cold/cold-tier';
import { type PartitionMark, readHot } from '../hot/read';
import { storedUnitMs, type Units } from '../model/aggregates';
import { gather } from '../model/block-layout';
import { type Labels, labelsKey } from '../model/labels';
import { layoutOf } from '../model/layout';
import { mergeAll } from '../model/layout-block';
import { sourceIdOf } from '../model/placement';
import type { LocatedBlock, TimeRange } from '../model/selection';
import { mapLimited } from '../platform/concurrency';
import type { Tenant } from '../tenancy/tenants';
import { daysBeyondMemory } from './beyond-memory';
import { IncompleteReadError } from './incomplete';
import { aggregateDays, findLoneDays } from './lone-days';
import { readBeyond } from './read-beyond';
import {
  contextsOf,
  layoutsOf,
  partitionOn,
  partitionsOf,
  type ReadContext,
  type ReadDependencies,
  type SourceRead,
} from './read-context';
import type { Span } from './spans';
import { whereaboutsIn } from './whereabouts';

export type Tier = 'hot' | 'warm' | 'cold';
export const TIERS: readonly Tier[] = ['hot', 'warm', 'cold'];

/** A place that holds samples of the wanted series. */
export interface Place extends Omit<LocatedBlock, 'block'> {
  readonly tier: Tier;
  /** Of its samples, those that were read: wanted, in the range, not deleted. */
  readonly matched: number;
  /** Their first and last times; undefined when there are none. */
  readonly span: Span | undefined;
}

export interface TierReading {
  readonly durationMs: number;
  /** Of that time, what it waited so that other work goes first (read-governor.ts), ms; undefined for none. */
  readonly waitedMs?: number | undefined;
  /** Samples read, before the tiers are merged. */
  readonly samples: number;
  readonly places: readonly Place[];
}

/** Days of the range as minutes, hours or days, for the steps that were asked for. */
export interface RolledDaysReading {
  /** For each column its units, which have none of the block's samples. */
  readonly series: readonly Units[];
  /** How many of them rollups gave; the others were aggregated as they were read. */
  readonly days: number;
}

export interface Reading {
  /** One column for each series that was asked for. */
  readonly block: Block;
  /** Undefined where the read was not in steps of minutes, or nothing is rolled up. */
  readonly rolled?: RolledDaysReading | undefined;
  readonly tiers: Readonly<Record<Tier, TierReading>>;
  /** Samples that arrived since then may be missing, ms; undefined when none are. See {@link IncompleteReadError}. */
  readonly missingSinceMs: number | undefined;
}

/** Requests in flight at a time. */
const PARALLEL = 16;
/** How often a read begins again because an object was replaced under it. */
const MAX_RESTARTS = 10;

/**
 * Reads series of one source through all tiers, as {@link readLayout} does, into columns in the order of `series`.
 *
 * @throws {IncompleteReadError}
 */
export async function readSeries(
  dependencies: ReadDependencies,
  tenant: Tenant,
  source: Labels,
  series: readonly Labels[],
  range: TimeRange,
  known: SourceCatalogue,
  allowsMissing = false,
): Promise<Reading> {
  const wanted = layoutOf(series);
  const whereabouts = whereaboutsIn(known, sourceIdOf(tenant.id, source), wanted);
  const asked = { wanted, range, deletions: known.deletions, ...whereabouts };
  const reading = await readLayout(dependencies, tenant, asked, allowsMissing);
  const { block } = reading;
  const columns = series.map((labels) => block.columns[wanted.columns.get(labelsKey(labels))!]!);
  return { ...reading, block: { ...block, columns } };
}

/**
 * Reads series of one source through all tiers.
 *
 * Samples move from hot to warm to cold, and so does the read: first hot, then what has left it (beyond-memory.ts). It sees
 * whatever moves meanwhile at least once (DESIGN.md, rule 5). Then the highest version of each timestamp wins.
 *
 * @param allowsMissing whether to answer although memory is known to have lost samples
 * @throws {IncompleteReadError}
 */
export async function readLayout(
  dependencies: ReadDependencies,
  tenant: Tenant,
  asked: SourceRead,
  allowsMissing = false,
): Promise<Reading> {
  const readings = await mapLimited(contextsOf(dependencies, tenant, asked), PARALLEL, (read) =>
    readOwner(read, allowsMissing),
  );
  return readings.length === 1 ? readings[0]! : joinReadings(readings);
}

async function readOwner(read: ReadContext, allowsMissing: boolean): Promise<Reading> {
  for (let restarts = 0; ; restarts++) {
    try {
      // A second time without rollups: an entry whose object is gone would be met again.
      if (restarts > 0) return await readTiers({ ...read, rollups: undefined }, allowsMissing);
      return await readTiers(read, allowsMissing);
    } catch (error) {
      if (!(error instanceof ObjectChangedError) || restarts >= MAX_RESTARTS) throw error;
    }
  }
}

async function readTiers(read: ReadContext, allowsMissing: boolean): Promise<Reading> {
  const { wanted, range } = read.selection;
  const beganMs = performance.now();
  const refs = partitionsOf(read, read.days);
  const hot = await readHot(
    read.hot,
    refs,
    read.selection,
    read.longestWindowMs,
    read.now(),
    layoutsOf(read),
  );
  const { marks, left } = hot;
  const missingSinceMs = await missingSince(read, marks);
  if (missingSinceMs !== undefined && !allowsMissing) throw new IncompleteReadError(missingSinceMs);
  const fromHot = located(read, 'hot', hot.blocks, performance.now() - beganMs);
  const days = daysBeyondMemory(read.days, left, (day) => partitionOn(read, day));
  const found = await readBeyond(read, days, hot.blocks);
  const beyond = {
    warm: located(read, 'warm', found.warm ?? [], found.warmMs ?? 0),
    cold: located(read, 'cold', found.cold ?? [], found.coldMs ?? 0),
  };
  const { rolled } = found;
  const rolledPlaces = (rolled?.places ?? []).map(
    (place): Place => ({ ...place, tier: 'cold', matched: place.samples }),
  );
  const blocks = [...fromHot.blocks, ...beyond.warm.blocks, ...beyond.cold.blocks];
  const unitMs = read.steps && storedUnitMs(read.steps.stepMs);
  const { lone, others } = unitMs === undefined ? { lone: [], others: blocks } : findLoneDays(blocks);
  const merged = mergeAll(others);
  return {
    block: sliceBlock(merged ?? gather(wanted, [], []), range.fromMs, range.toMs),
    rolled:
      lone.length === 0
        ? rolled
        : {
            series: aggregateDays(lone, unitMs!, read.steps!.aggregate, rolled?.series),
            days: rolled?.days ?? 0,
          },
    tiers: {
      hot: hot.waitedMs === 0 ? fromHot.reading : { ...fromHot.reading, waitedMs: hot.waitedMs },
      warm: beyond.warm.reading,
      cold: withPlaces(beyond.cold.reading, rolledPlaces),
    },
    missingSinceMs,
  };
}

function withPlaces(reading: TierReading, more: readonly Place[]): TierReading {
  const samples = more.reduce((sum, { matched }) => sum + matched, reading.samples);
  return { ...reading, samples, places: [...reading.places, ...more] };
}

/** Samples of the range that arrived since then may be missing from memory; undefined when none are. */
async function missingSince(
  { losses, imports, tenant, selection: { range }, maxSampleAgeMs }: ReadContext,
  marks: readonly PartitionMark[],
): Promise<number | undefined> {
  const since = await mapLimited(marks, PARALLEL, ({ ref, ...mark }) => losses.missingSince(ref, mark));
  const all = since.filter((ms) => ms !== undefined);
  if (all.length === 0) return undefined;
  // Asked only while memory lacks something: imported samples may be of any age.
  const importedMs = await imports.untilMs(tenant.id);
  const missing = all.filter((ms) => importedMs >= ms || range.toMs > ms - maxSampleAgeMs);
  return missing.length === 0 ? undefined : Math.min(...missing);
}

/** Cuts a tier's blocks to the range, and erases what was deleted. */
function located(
  { selection: { range }, erasures }: ReadContext,
  tier: Tier,
  found: readonly LocatedBlock[],
  durationMs: number,
): { readonly blocks: readonly Block[]; readonly reading: TierReading } {
  const places: Place[] = [];
  let samples = 0;
  const blocks = found.map(({ block: whole, ...place }) => {
    const block = eraseSamples(sliceBlock(whole, range.fromMs, range.toMs), erasures);
    const { timestamps } = block;
    const span =
      timestamps.length === 0 ? undefined : { firstMs: timestamps[0]!, lastMs: timestamps.at(-1)! };
    const matched = sampleCount(block);
    places.push({ tier, ...place, matched, span });
    samples += matched;
    return block;
  });
  return { blocks, reading: { durationMs, samples, places } };
}

/** Joins readings of the same series from the places that they have been in. */
function joinReadings(readings: readonly Reading[]): Reading {
  const missing = readings.flatMap(({ missingSinceMs }) => missingSinceMs ?? []);
  return {
    block: mergeAll(readings.map(({ block }) => block))!,
    tiers: joinTiers(readings.map(({ tiers }) => tiers)),
    missingSinceMs: missing.length === 0 ? undefined : Math.min(...missing),
  };
}

/** A tier's time is that of the read which took longest. */
export function joinTiers(readings: readonly Reading['tiers'][]): Reading['tiers'] {
  const join = (tier: Tier): TierReading => {
    const all = readings.map((tiers) => tiers[tier]);
    const waitedMs = all.reduce((most, { waitedMs = 0 }) => Math.max(most, waitedMs), 0);
    return {
      ...(waitedMs > 0 && { waitedMs }),
      durationMs: all.reduce((most, { durationMs }) => Math.max(most, durationMs), 0),
      samples: all.reduce((sum, { samples }) => sum + samples, 0),
      places: all.flatMap(({ places }) => places),
    };
  };
  return { hot: join('hot'), warm: join('warm'), cold: join('cold') };
}
