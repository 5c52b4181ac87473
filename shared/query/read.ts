import type { Catalogue, SourceCatalogue } from '../catalogue/catalogue';
import { type Block, type Erasure, eraseSamples, sampleCount, sliceBlock } from '../codec';
import { type ColdTier, ObjectChangedError } from '../cold/cold-tier';
import type { Directory, ListedSource } from '../cold/directory';
import { isOpen, type Manifest, type ManifestDay, partsOf } from '../cold/manifest';
import { type ColdDay, readCold } from '../cold/read';
import type { RolledSource, RollupDirectory } from '../cold/rollup-directory';
import { type RolledReading, readRollups } from '../cold/rollup-read';
import type { HotTier } from '../hot/hot-tier';
import { type HotRead, type PartitionMark, readHot } from '../hot/read';
import { type Aggregate, MINUTE_MS, storedUnitMs, type Units } from '../model/aggregates';
import { gather } from '../model/block-layout';
import { erasuresOf, type VersionedDeletion } from '../model/deletion';
import { DAY_MS } from '../model/duration';
import type { Id } from '../model/id';
import { type Labels, labelsKey } from '../model/labels';
import { type Layout, layoutOf } from '../model/layout';
import { mergeAll } from '../model/layout-block';
import {
  type Day,
  dayStartMs,
  type GroupId,
  groupIdOf,
  type PartitionRef,
  partitionOf,
  partitionsOn,
  sourceIdOf,
  splitIndexOf,
} from '../model/placement';
import type { LocatedBlock, Selection, TimeRange } from '../model/selection';
import { type Limiter, mapLimited } from '../platform/concurrency';
import type { Imports } from '../recovery/imports';
import type { LossWatch } from '../recovery/loss-watch';
import type { Tenant } from '../tenancy/tenants';
import { readWarm } from '../warm/read';
import type { WarmTier } from '../warm/warm-tier';
import { daysBeyondMemory, type LaterTiers, NOTHING_BEYOND, readBeyondMemory } from './beyond-memory';
import { IncompleteReadError } from './incomplete';
import { aggregateDays, findLoneDays } from './lone-days';
import { type DayPlan, MAX_UNPRUNED_DAYS, planDays } from './plan';
import { planRollups } from './rollup-plan';
import type { Span } from './spans';
import type { UnarchivedDays } from './unarchived-days';

export interface ReadDependencies {
  readonly hot: HotTier;
  readonly warm: WarmTier;
  readonly cold: ColdTier;
  readonly catalogue: Catalogue;
  readonly manifest: Manifest;
  readonly directory: Directory;
  /** Undefined: every read is of samples. */
  readonly rollups?: RollupDirectory | undefined;
  readonly unarchived: UnarchivedDays;
  readonly losses: Pick<LossWatch, 'missingSince'>;
  readonly imports: Pick<Imports, 'untilMs'>;
  /** A sample that was not imported is at most this much older than its arrival, ms. */
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
  /** Of that time, what it waited so that other work goes first (read-governor.ts), ms; undefined for none. */
  readonly waitedMs?: number | undefined;
  /** Samples read, before the tiers are merged. */
  readonly samples: number;
  readonly places: readonly Place[];
}

/** Steps that a read's samples are aggregated by, which lets rollups stand for samples. */
export interface Steps {
  readonly stepMs: number;
  readonly aggregate: Aggregate;
  /** Samples that may be read as such, at one a minute. @default Infinity */
  readonly maxSamples?: number;
}

/** A read in steps would have to read more samples than it may: it is to be cut into slices. */
export class TooManyHeldError extends Error {
  override readonly name = 'TooManyHeldError';
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
  const reading = await readLayout(dependencies, tenant, { source, wanted, range, known }, allowsMissing);
  const { block } = reading;
  const columns = series.map((labels) => block.columns[wanted.columns.get(labelsKey(labels))!]!);
  return { ...reading, block: { ...block, columns } };
}

/** A read of series of one source, before anything of it is read. */
export interface SourceRead {
  /** Labels of what posted. */
  readonly source: Labels;
  /** Series of that source. */
  readonly wanted: Layout;
  readonly range: TimeRange;
  /** The source's catalogue. */
  readonly known: SourceCatalogue;
  /** Bounds how many reads side by side go beyond memory; unbounded if absent. */
  readonly beyondMemory?: Limiter;
  readonly steps?: Steps | undefined;
}

/**
 * Reads series of one source through all tiers.
 *
 * Samples move from hot to warm to cold, and so does the read: first hot, then what has left it (beyond-memory.ts). It sees
 * whatever moves meanwhile at least once (DESIGN.md, rule 5). Then the highest version of each timestamp wins.
 *
 * @param allowsMissing whether to answer although memory is known to have lost samples
 * @param memory what {@link beginRead} gave for a read that differs in the catalogue's deletions only
 * @throws {IncompleteReadError}
 */
export async function readLayout(
  dependencies: ReadDependencies,
  tenant: Tenant,
  asked: SourceRead,
  allowsMissing = false,
  memory?: BegunRead,
): Promise<Reading> {
  const readings = await mapLimited(
    [...contextsOf(dependencies, tenant, asked).entries()],
    PARALLEL,
    ([i, read]) => readOwner(read, allowsMissing, memory?.[i]),
  );
  return readings.length === 1 ? readings[0]! : joinReadings(readings);
}

async function readOwner(
  read: ReadContext,
  allowsMissing: boolean,
  memory: Promise<HotRead> | undefined,
): Promise<Reading> {
  for (let restarts = 0; ; restarts++) {
    try {
      // A second time without rollups: an entry whose object is gone would be met again.
      if (restarts > 0) return await readTiers({ ...read, rollups: undefined }, allowsMissing, undefined);
      return await readTiers(read, allowsMissing, memory);
    } catch (error) {
      if (!(error instanceof ObjectChangedError) || restarts >= MAX_RESTARTS) throw error;
    }
  }
}

/** The share of memory of a read, for each id that its groups have. */
export type BegunRead = readonly Promise<HotRead>[];

/** Reads a read's share of memory, which the rest of the read begins with. Whoever takes it sees its failure. */
export function beginRead(dependencies: ReadDependencies, tenant: Tenant, asked: SourceRead): BegunRead {
  return contextsOf(dependencies, tenant, asked).map((context) => {
    const memory = readMemory(context);
    memory.catch(() => {});
    return memory;
  });
}

/** A source or pool, its groups that hold the wanted series, and their layouts. */
interface Owner {
  readonly id: Id;
  readonly groups: readonly GroupId[];
  readonly layouts: ReadonlyMap<Id, Layout>;
}

/** By the wanted layout: reads of one selection come again, and a catalogue rarely changes. */
const knownOwners = new WeakMap<
  Layout,
  { readonly known: SourceCatalogue; readonly owners: readonly Owner[] }
>();

/** The ids that the source's groups have: its own, and its pool's. Nearly always one. */
function ownersOf(tenant: Tenant, { source, wanted, known }: SourceRead): readonly Owner[] {
  const before = knownOwners.get(wanted);
  if (before?.known === known) return before.owners;
  const { splits } = known;
  const ids = splits.size === 0 ? [sourceIdOf(tenant.id, source)] : [...splits.keys()];
  // Without the layouts of chunks that the archiver merged, which the catalogue need not have.
  const layouts = new Map([...known.layouts.values()].flat().map((layout) => [layout.id, layout]));
  const owners = ids.map((id) => ({ id, groups: groupsOf(id, wanted, known), layouts }));
  knownOwners.set(wanted, { known, owners });
  return owners;
}

/** A read for each owner. */
function contextsOf(dependencies: ReadDependencies, tenant: Tenant, asked: SourceRead): ReadContext[] {
  const owners = ownersOf(tenant, asked);
  // Rollups of two owners may have parts of the same hour.
  const each = owners.length === 1 ? asked : { ...asked, steps: undefined };
  const maxSamples = asked.steps?.maxSamples ?? Infinity;
  return owners.map((owner) => ({ ...contextOf(dependencies, tenant, owner, each), maxSamples }));
}

function contextOf(
  dependencies: ReadDependencies,
  tenant: Tenant,
  { id: ownerId, groups, layouts }: Owner,
  { wanted, range: whole, known, steps, beyondMemory = (work) => work() }: SourceRead,
): Omit<ReadContext, 'maxSamples'> {
  // Clients ask from 0; days before the source's first sample cost nothing.
  const fromMs = Math.min(Math.max(whole.fromMs, known.firstMs), whole.toMs);
  const range = { fromMs, toMs: whole.toMs };
  return {
    ...dependencies,
    tenant,
    ownerId,
    refs: new Map(),
    selection: { wanted, groups, range, layouts },
    erasures: erasuresOf(known.deletions, wanted.series).filter(
      ({ fromMs, toMs }) => fromMs < range.toMs && toMs > range.fromMs,
    ),
    deletions: known.deletions,
    wholeRange: whole,
    steps,
    longestWindowMs: known.windowLengthsMs.at(-1) ?? 0,
    days: planDays(range, known.windowLengthsMs),
    beyondMemory,
  };
}

interface ReadContext extends ReadDependencies {
  readonly tenant: Tenant;
  /** The source, or the pool whose groups have its series. */
  readonly ownerId: Id;
  /** The owner's partition, by how many the tenant has: a long range asks for each of its days. */
  readonly refs: Map<number, PartitionRef>;
  readonly selection: Selection;
  /** Deletions of the wanted series that touch the range. */
  readonly erasures: readonly Erasure[];
  /** All of the source's. */
  readonly deletions: readonly VersionedDeletion[];
  /** The range as asked: the selection's begins with the source's first sample. */
  readonly wholeRange: TimeRange;
  readonly steps: Steps | undefined;
  /** See {@link Steps}; it holds without steps too. */
  readonly maxSamples: number;
  readonly longestWindowMs: number;
  readonly days: readonly DayPlan[];
  readonly beyondMemory: Limiter;
}

function readMemory(read: ReadContext): Promise<HotRead> {
  const refs = partitionsOf(read, read.days);
  return readHot(read.hot, refs, read.selection, read.longestWindowMs, read.now(), layoutsOf(read));
}

/** Finds a layout that the read's catalogue did not have. */
function layoutsOf({ catalogue, tenant }: ReadContext) {
  return (group: GroupId, id: Id): Promise<Layout> => catalogue.layout(tenant.id, group, id);
}

async function readTiers(
  read: ReadContext,
  allowsMissing: boolean,
  memory: Promise<HotRead> | undefined,
): Promise<Reading> {
  const { wanted, range } = read.selection;
  const beganMs = performance.now();
  const hot = await (memory ?? readMemory(read));
  const { marks, left } = hot;
  const missingSinceMs = await missingSince(read, marks);
  if (missingSinceMs !== undefined && !allowsMissing) throw new IncompleteReadError(missingSinceMs);
  const fromHot = located(read, 'hot', hot.blocks, performance.now() - beganMs);
  const later = laterTiers(read, hot.blocks);
  const days = daysBeyondMemory(read.days, left, later.partitionOn);
  const found = days.length === 0 ? NOTHING_BEYOND : await readBeyondMemory(later, days);
  const beyond = {
    warm: located(read, 'warm', found.warm, later.spentMs.warm),
    cold: located(read, 'cold', found.cold, later.spentMs.cold),
  };
  const { rolled } = later;
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

/** The owner's groups that hold the series: one for each split that it has had. */
function groupsOf(ownerId: Id, { columns }: Layout, { splits }: SourceCatalogue): GroupId[] {
  const keys = [...columns.keys()];
  const groups = (splits.get(ownerId) ?? []).flatMap((bits) =>
    keys.map((key) => groupIdOf(ownerId, bits, splitIndexOf(key, bits))),
  );
  return [...new Set(groups)];
}

/** The owner's partition on a day. Placement changes with the day, so it may have had several. */
function partitionOn({ tenant, ownerId, refs }: ReadContext, day: Day): PartitionRef {
  const partitions = partitionsOn(tenant.placement, day);
  const known = refs.get(partitions);
  if (known !== undefined) return known;
  const ref = { tenantId: tenant.id, partition: partitionOf(ownerId, partitions) };
  refs.set(partitions, ref);
  return ref;
}

function partitionsOf(read: ReadContext, days: readonly { readonly day: Day }[]): PartitionRef[] {
  const refs: PartitionRef[] = [];
  for (const { day } of days) {
    const ref = partitionOn(read, day);
    // `partitionOn` gives one object for each number of partitions.
    if (ref !== refs.at(-1)) addRef(refs, ref);
  }
  return refs;
}

function addRef(refs: PartitionRef[], ref: PartitionRef): void {
  if (!refs.some(({ partition }) => partition === ref.partition)) refs.push(ref);
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

interface ReadTiers extends LaterTiers {
  /** The time that each took, ms. */
  readonly spentMs: Record<'warm' | 'cold', number>;
  /** What rollups gave, once the archive was read. */
  readonly rolled: (RolledReading & RolledDaysReading) | undefined;
}

/** The later tiers, as one read asks them. */
function laterTiers(read: ReadContext, fromMemory: readonly LocatedBlock[]): ReadTiers {
  const { selection, erasures, unarchived, now, rollups, steps } = read;
  const spentMs = { warm: 0, cold: 0 };
  const warmDays = new Set<Day>();
  const unitMs = steps && storedUnitMs(steps.stepMs);
  const isStored = unitMs !== undefined && rollups?.unitsMs.includes(unitMs) === true;
  const mayBeRolledUp = isStored && unitMs === MINUTE_MS && isPast(read);
  const isLong = read.days.length > MAX_UNPRUNED_DAYS || mayBeRolledUp;
  const asksRollups = isLong && isStored;
  let listed: Promise<Map<Day, ListedSource>> | undefined;
  const list = () => {
    listed ??= listedDays(read);
    return listed;
  };
  let rolledUp: Promise<Map<string, RolledSource>> | undefined;
  const listRollups = () => {
    rolledUp ??= asksRollups ? listedRollups(read, rollups!, unitMs!) : Promise.resolve(new Map());
    return rolledUp;
  };
  const timed = async <T>(tier: keyof typeof spentMs, work: () => Promise<T>): Promise<T> => {
    const beganMs = performance.now();
    const result = await work();
    spentMs[tier] += performance.now() - beganMs;
    return result;
  };
  /** Whether memory has samples of these times, ms, both included. */
  const isInMemory = (minMs: number, maxMs: number) =>
    fromMemory.some(
      ({ block: { timestamps } }) =>
        timestamps.length > 0 && timestamps[0]! <= maxMs && timestamps.at(-1)! >= minMs,
    );
  const readSamples = async (entries: readonly ManifestDay[]) => {
    const days = entries.flatMap((entry): ColdDay[] => {
      const { day, archived } = entry;
      const isContested = (minMs: number, maxMs: number) =>
        isOpen(entry) ||
        warmDays.has(day) ||
        isInMemory(minMs, maxMs) ||
        erasures.some(({ fromMs, toMs }) => fromMs <= maxMs && toMs > minMs);
      if (archived === undefined) return [];
      return partsOf(archived, selection.groups).map(({ key }) => ({ day, key, isContested }));
    });
    return days.length === 0 ? [] : readCold(read.cold, days, await list(), selection);
  };
  const later = {
    spentMs,
    rolled: undefined as ReadTiers['rolled'],
    mayBeRolledUp,
    unarchived,
    now,
    partitionOn: (day: Day) => partitionOn(read, day),
    manifest: async (days: readonly DayPlan[]) => {
      // Few days may be archived of a short range; a long one saves a round.
      const [found] = await Promise.all([
        manifestDays(read, days),
        asksRollups ? listRollups() : undefined,
        isLong && (!asksRollups || unitMs === MINUTE_MS) ? list() : undefined,
      ]);
      // The warm table is not asked for days of a long range that are closed.
      for (const { day } of days) {
        const entry = found.get(day);
        if (isLong && entry !== undefined && !isOpen(entry)) continue;
        read.warm.memo.count(partitionOn(read, day), day, entry?.changes ?? 0);
      }
      return found;
    },
    warm: async (days: readonly DayPlan[], listed?: ReadonlyMap<Day, ManifestDay>) => {
      if (days.length === 0) return [];
      const located = days.map((plan) => ({
        ...plan,
        ref: partitionOn(read, plan.day),
        changes: listed && (listed.get(plan.day)?.changes ?? 0),
      }));
      for (const { day } of days) warmDays.add(day);
      return timed('warm', () => readWarm(read.warm, located, selection, read.beyondMemory, layoutsOf(read)));
    },
    knowsWarm: ({ day, windowsFromMs, windowsToMs }: DayPlan) => {
      const ref = partitionOn(read, day);
      return selection.groups.every(
        (group) => read.warm.memo.items(ref, day, group, windowsFromMs, windowsToMs, undefined) !== undefined,
      );
    },
    cold: (entries: readonly ManifestDay[]) => {
      later.rolled = undefined;
      if (!entries.some(({ archived }) => archived !== undefined)) return Promise.resolve([]);
      return timed('cold', () =>
        read.beyondMemory(async () => {
          if (!asksRollups) {
            requireFewHeld(read, entries);
            return readSamples(entries);
          }
          const plan = planRollups({
            unitMs: unitMs!,
            range: read.wholeRange,
            entries,
            listed: await listRollups(),
            groups: selection.groups,
            isElsewhere: (day) => {
              const startMs = dayStartMs(day);
              return warmDays.has(day) || isInMemory(startMs, startMs + DAY_MS - 1);
            },
            deletions: read.deletions,
            erasures,
          });
          requireFewHeld(read, plan.samples);
          const [blocks, reading] = await Promise.all([
            readSamples(plan.samples),
            readRollups(read.cold, plan.rollups, selection, steps!.aggregate),
          ]);
          const days = plan.rollups.reduce((sum, each) => sum + each.days, 0);
          if (days > 0) later.rolled = { ...reading, days };
          return blocks;
        }),
      );
    },
  };
  return later;
}

const MINUTES_A_DAY = 1440;

/** @throws {TooManyHeldError} */
function requireFewHeld({ selection: { wanted }, maxSamples }: ReadContext, days: readonly unknown[]): void {
  const samples = days.length * MINUTES_A_DAY * wanted.series.length;
  if (samples > maxSamples)
    throw new TooManyHeldError(`${days.length} days are not rolled up: some ${samples} samples`);
}

/** Whether all days of a read ended a day ago or earlier, so that most are archived. */
function isPast({ days, now }: ReadContext): boolean {
  const last = days.at(-1);
  return last !== undefined && dayStartMs(last.day) + 2 * DAY_MS <= now();
}

function listedRollups(
  { tenant, ownerId, days }: ReadContext,
  rollups: RollupDirectory,
  unitMs: number,
): Promise<Map<string, RolledSource>> {
  return rollups.of(tenant.id, ownerId, unitMs, days[0]!.day, days.at(-1)!.day);
}

async function listedDays({
  directory,
  tenant,
  ownerId,
  days,
}: ReadContext): Promise<Map<Day, ListedSource>> {
  const [first, last] = [days[0], days.at(-1)];
  if (first === undefined || last === undefined) return new Map();
  return directory.of(tenant.id, ownerId, first.day, last.day);
}

async function manifestDays(
  read: ReadContext,
  days: readonly Pick<DayPlan, 'day'>[],
): Promise<Map<Day, ManifestDay>> {
  const [first, last] = [days[0], days.at(-1)];
  if (first === undefined || last === undefined) return new Map();
  const refs = partitionsOf(read, days);
  const found = await mapLimited(refs, PARALLEL, async (ref) => {
    const all = await read.manifest.days(ref, first.day, last.day);
    return refs.length === 1
      ? all
      : all.filter(({ day }) => partitionOn(read, day).partition === ref.partition);
  });
  return new Map(found.flat().map((entry) => [entry.day, entry]));
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
