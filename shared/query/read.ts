import type { Catalogue, SourceCatalogue } from '../catalogue/catalogue';
import { type Block, type Erasure, eraseSamples, sampleCount, sliceBlock } from '../codec';
import { type ColdTier, ObjectChangedError } from '../cold/cold-tier';
import { isOpen, type Manifest, type ManifestDay } from '../cold/manifest';
import { readCold } from '../cold/read';
import type { HotTier } from '../hot/hot-tier';
import { type PartitionMark, readHot } from '../hot/read';
import { gather } from '../model/block-layout';
import { erasuresOf } from '../model/deletion';
import type { Id } from '../model/id';
import { type Labels, labelsKey } from '../model/labels';
import { type Layout, layoutOf } from '../model/layout';
import { mergeAll } from '../model/layout-block';
import {
  type Day,
  type GroupId,
  groupIdOf,
  type PartitionRef,
  partitionOf,
  partitionsOn,
  sourceIdOf,
  splitIndexOf,
} from '../model/placement';
import type { LocatedBlock, Selection, TimeRange } from '../model/selection';
import { mapLimited } from '../platform/concurrency';
import type { LossWatch } from '../recovery/loss-watch';
import type { Tenant } from '../tenancy/tenants';
import { readWarm } from '../warm/read';
import type { WarmTier } from '../warm/warm-tier';
import { IncompleteReadError } from './incomplete';
import { type DayPlan, MAX_UNPRUNED_DAYS, planDays } from './plan';
import type { Span } from './spans';

export interface ReadDependencies {
  readonly hot: HotTier;
  readonly warm: WarmTier;
  readonly cold: ColdTier;
  readonly catalogue: Catalogue;
  readonly manifest: Manifest;
  readonly losses: Pick<LossWatch, 'missingSince'>;
  /** A sample is at most this much older than its arrival, ms. */
  readonly maxSampleAgeMs: number;
  readonly now: () => number;
}

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
  /** Samples read, before the tiers are merged. */
  readonly samples: number;
  readonly places: readonly Place[];
}

export interface Reading {
  /** One column for each series that was asked for. */
  readonly block: Block;
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
  const reading = await readLayout(dependencies, tenant, source, wanted, range, known, allowsMissing);
  const { block } = reading;
  const columns = series.map((labels) => block.columns[wanted.columns.get(labelsKey(labels))!]!);
  return { ...reading, block: { ...block, columns } };
}

/**
 * Reads series of one source through all tiers.
 *
 * Samples move from hot to warm to cold, and so does the read: first hot, then warm, then the manifest, then cold. It sees
 * whatever moves meanwhile at least once (DESIGN.md, rule 5). Then the highest version of each timestamp wins.
 *
 * @param source labels of what posted
 * @param wanted series of that source
 * @param known the source's catalogue
 * @param allowsMissing whether to answer although memory is known to have lost samples
 * @throws {IncompleteReadError}
 */
export async function readLayout(
  dependencies: ReadDependencies,
  tenant: Tenant,
  source: Labels,
  wanted: Layout,
  whole: TimeRange,
  known: SourceCatalogue,
  allowsMissing = false,
): Promise<Reading> {
  // Clients ask from 0; days before the source's first sample cost nothing.
  const fromMs = Math.min(Math.max(whole.fromMs, known.firstMs), whole.toMs);
  const range = { fromMs, toMs: whole.toMs };
  const read: ReadContext = {
    ...dependencies,
    tenant,
    sourceId: sourceIdOf(tenant.id, source),
    selection: {
      wanted,
      groups: groupsOf(tenant, source, wanted, known),
      range,
      // Without the layouts of chunks that the archiver merged, which the catalogue need not have.
      layouts: new Map([...known.layouts.values()].flat().map((layout) => [layout.id, layout])),
    },
    erasures: erasuresOf(known.deletions, wanted.series).filter(
      ({ fromMs, toMs }) => fromMs < range.toMs && toMs > range.fromMs,
    ),
    longestWindowMs: known.longestWindowMs,
    days: planDays(range, known.longestWindowMs),
  };
  for (let restarts = 0; ; restarts++) {
    try {
      return await readTiers(read, allowsMissing);
    } catch (error) {
      if (!(error instanceof ObjectChangedError) || restarts >= MAX_RESTARTS) throw error;
    }
  }
}

interface ReadContext extends ReadDependencies {
  readonly tenant: Tenant;
  readonly sourceId: Id;
  readonly selection: Selection;
  /** Deletions of the wanted series that touch the range. */
  readonly erasures: readonly Erasure[];
  readonly longestWindowMs: number;
  readonly days: readonly DayPlan[];
}

async function readTiers(read: ReadContext, allowsMissing: boolean): Promise<Reading> {
  const { hot, warm, cold, catalogue, tenant, selection, longestWindowMs, now } = read;
  const { range, wanted } = selection;
  const layoutOf = (group: GroupId, id: Id) => catalogue.layout(tenant.id, group, id);
  const fromHot = await timed(read, 'hot', () =>
    readHot(hot, partitionsOf(read, read.days), selection, longestWindowMs, now(), layoutOf),
  );
  const missingSinceMs = await missingSince(read, fromHot.result.marks);
  if (missingSinceMs !== undefined && !allowsMissing) throw new IncompleteReadError(missingSinceMs);
  const { days, unarchived } = await daysWithData(read);
  const fromWarm = await timed(read, 'warm', async () => ({
    blocks: await readWarm(
      warm,
      unarchived.map((plan) => ({ ...plan, ref: partitionOn(read, plan.day) })),
      selection,
      layoutOf,
    ),
  }));
  // The manifest after warm: what was purged before warm was read had been committed before that.
  const fromCold = await timed(read, 'cold', async () => {
    const entries = [...(await manifestDays(read, days)).values()];
    const keys = entries.flatMap(({ archived }) => (archived === undefined ? [] : [archived.key]));
    return { blocks: await readCold(cold, keys, selection) };
  });
  const merged = mergeAll([...fromHot.blocks, ...fromWarm.blocks, ...fromCold.blocks]);
  return {
    block: sliceBlock(merged ?? gather(wanted, [], []), range.fromMs, range.toMs),
    tiers: { hot: fromHot.reading, warm: fromWarm.reading, cold: fromCold.reading },
    missingSinceMs,
  };
}

/** The groups that hold the series: one for each split that the source has had. */
function groupsOf(tenant: Tenant, source: Labels, { columns }: Layout, known: SourceCatalogue): GroupId[] {
  const sourceId = sourceIdOf(tenant.id, source);
  const keys = [...columns.keys()];
  return [
    ...new Set(
      known.splitBits.flatMap((bits) =>
        keys.map((key) => groupIdOf(sourceId, bits, splitIndexOf(key, bits))),
      ),
    ),
  ];
}

/** The source's partition on a day. Placement changes with the day, so a source may have had several. */
function partitionOn({ tenant, sourceId }: ReadContext, day: Day): PartitionRef {
  return { tenantId: tenant.id, partition: partitionOf(sourceId, partitionsOn(tenant.placement, day)) };
}

function partitionsOf(read: ReadContext, days: readonly { readonly day: Day }[]): PartitionRef[] {
  const refs = new Map<number, PartitionRef>();
  for (const { day } of days) {
    const ref = partitionOn(read, day);
    refs.set(ref.partition, ref);
  }
  return [...refs.values()];
}

/** Samples of the range that arrived since then may be missing from memory; undefined when none are. */
async function missingSince(
  { losses, selection: { range }, maxSampleAgeMs }: ReadContext,
  marks: readonly PartitionMark[],
): Promise<number | undefined> {
  const since = await mapLimited(marks, PARALLEL, ({ ref, ...mark }) => losses.missingSince(ref, mark));
  const missing = since.filter((ms) => ms !== undefined).filter((ms) => range.toMs > ms - maxSampleAgeMs);
  return missing.length === 0 ? undefined : Math.min(...missing);
}

/**
 * The days of the range that may have warm or cold data, and those among them whose warm data cold may lack. The manifest
 * is asked for long ranges only, and after hot: a flush that trimmed before hot was read had announced itself, so the object
 * of a day that is not open holds whatever hot no longer had.
 */
async function daysWithData(
  read: ReadContext,
): Promise<{ readonly days: readonly DayPlan[]; readonly unarchived: readonly DayPlan[] }> {
  if (read.days.length <= MAX_UNPRUNED_DAYS) return { days: read.days, unarchived: read.days };
  const known = await manifestDays(read, read.days);
  const days = read.days.filter(({ day }) => known.has(day));
  return { days, unarchived: days.filter(({ day }) => isOpen(known.get(day)!)) };
}

async function manifestDays(read: ReadContext, days: readonly DayPlan[]): Promise<Map<Day, ManifestDay>> {
  const [first, last] = [days[0], days.at(-1)];
  if (first === undefined || last === undefined) return new Map();
  const found = await mapLimited(partitionsOf(read, days), PARALLEL, async (ref) =>
    (await read.manifest.days(ref, first.day, last.day)).filter(
      ({ day }) => partitionOn(read, day).partition === ref.partition,
    ),
  );
  return new Map(found.flat().map((entry) => [entry.day, entry]));
}

/** Reads a tier, cuts its blocks to the range and erases what was deleted. */
async function timed<T extends { readonly blocks: readonly LocatedBlock[] }>(
  { selection: { range }, erasures }: ReadContext,
  tier: Tier,
  read: () => Promise<T>,
): Promise<{ readonly result: T; readonly blocks: readonly Block[]; readonly reading: TierReading }> {
  const begin = performance.now();
  const result = await read();
  const places: Place[] = [];
  let samples = 0;
  const blocks = result.blocks.map(({ block, ...located }) => {
    const found = eraseSamples(sliceBlock(block, range.fromMs, range.toMs), erasures);
    const { timestamps } = found;
    const span =
      timestamps.length === 0 ? undefined : { firstMs: timestamps[0]!, lastMs: timestamps.at(-1)! };
    const matched = sampleCount(found);
    places.push({ tier, ...located, matched, span });
    samples += matched;
    return found;
  });
  return { result, blocks, reading: { durationMs: performance.now() - begin, samples, places } };
}
