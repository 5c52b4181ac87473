import type { Catalogue, SourceCatalogue } from '../catalogue/catalogue';
import {
  type Block,
  decodeFrame,
  type Erasure,
  eraseSamples,
  LEFT_OUT,
  mergeBlocks,
  openChunk,
  relayout,
  sampleCount,
  sliceBlock,
} from '../codec';
import { type ColdTier, ObjectChangedError } from '../cold/cold-tier';
import { isOpen, type Manifest, type ManifestDay } from '../cold/manifest';
import type { HotTier, PartitionState } from '../hot/hot-tier';
import { gather } from '../model/block-layout';
import { erasuresOf } from '../model/deletion';
import { type Id, idText } from '../model/id';
import { type Labels, labelsKey } from '../model/labels';
import { type Layout, layoutOf, unionLayout } from '../model/layout';
import {
  type Day,
  type GroupId,
  groupIdOf,
  type PartitionRef,
  partitionOf,
  partitionsOn,
  sourceIdOf,
  splitIndexOf,
  windowStartMs,
} from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import type { LossWatch } from '../recovery/loss-watch';
import type { Tenant } from '../tenancy/tenants';
import type { WarmTier } from '../warm/warm-tier';
import { IncompleteReadError } from './incomplete';
import { type DayPlan, MAX_UNPRUNED_DAYS, planDays, type TimeRange } from './plan';
import type { Span } from './spans';

export interface ReadDependencies {
  readonly hot: HotTier;
  readonly warm: WarmTier;
  readonly cold: ColdTier;
  readonly catalogue: Catalogue;
  readonly manifest: Manifest;
  readonly losses: Pick<LossWatch, 'missingSince'>;
  /** A sample bears a time at most this much before it arrived, ms. */
  readonly maxSampleAgeMs: number;
}

export type Tier = 'hot' | 'warm' | 'cold';
export const TIERS: readonly Tier[] = ['hot', 'warm', 'cold'];

/** A place that holds samples of what was asked for. */
export interface Place {
  readonly tier: Tier;
  /** A Redis key, `partition key / sort key` of DynamoDB, or `object key @ offset + length`. */
  readonly place: string;
  /** Bytes of the whole place. */
  readonly bytes: number;
  /** Samples of the whole place, of every series it has. */
  readonly samples: number;
  /** Of those, the ones that were asked for. */
  readonly matched: number;
  /** Times of the first and the last of these; undefined when there are none. */
  readonly span: Span | undefined;
}

export interface TierReading {
  readonly durationMs: number;
  /** Samples read, before the tiers are merged. */
  readonly samples: number;
  readonly places: readonly Place[];
}

export interface Reading {
  /** One column for each series that was asked for, in that order. */
  readonly block: Block;
  readonly tiers: Readonly<Record<Tier, TierReading>>;
  /** Since when samples that arrived may be missing, ms; undefined when none are. See {@link IncompleteReadError}. */
  readonly missingSinceMs: number | undefined;
}

/** Requests in flight at a time. */
const PARALLEL = 16;
/** Up to this many series are decoded alone. */
const MAX_SINGLE_SERIES = 4;
/** How often a read begins again because an object was replaced under it. */
const MAX_RESTARTS = 10;

/**
 * Reads series of one source, through all tiers.
 *
 * The order is that of the flow (design.md, rule 5): what moves forward while we read is seen at least once. Hot
 * first, then warm, then the manifest, then cold; then the highest version of each timestamp wins.
 *
 * @param source labels of what posted
 * @param series whose samples; all of that source
 * @param known the source's catalogue
 * @param allowsMissing whether to give what is there when something is known to be missing
 * @throws {IncompleteReadError}
 */
export async function readSeries(
  dependencies: ReadDependencies,
  tenant: Tenant,
  source: Labels,
  series: readonly Labels[],
  whole: TimeRange,
  known: SourceCatalogue,
  allowsMissing = false,
): Promise<Reading> {
  const asked = new Map(series.map((labels, i) => [labelsKey(labels), i]));
  const target = layoutOf(series);
  // What is older than the source costs nothing: clients ask from 0.
  const fromMs = Math.min(Math.max(whole.fromMs, known.firstMs), whole.toMs);
  const range = { fromMs, toMs: whole.toMs };
  const read: ReadContext = {
    ...dependencies,
    tenant,
    sourceId: sourceIdOf(tenant.id, source),
    groups: groupsOf(tenant, source, series, known),
    range,
    target,
    erasures: erasuresOf(known.deletions, target.series).filter(
      ({ fromMs, toMs }) => fromMs < range.toMs && toMs > range.fromMs,
    ),
    layouts: new Map([...known.layouts.values()].flat().map((layout) => [layout.id, layout])),
    longestWindowMs: known.longestWindowMs,
    days: planDays(range, known.longestWindowMs),
  };
  for (let restarts = 0; ; restarts++) {
    try {
      const hot = await timed(() => readHot(read));
      const missingSinceMs = await missingSince(read, hot.marks);
      if (missingSinceMs !== undefined && !allowsMissing) throw new IncompleteReadError(missingSinceMs);
      const { days, unarchived } = await daysWithData(read);
      const warm = await timed(() => readWarm(read, unarchived));
      const cold = await timed(() => readCold(read, days));
      const merged = mergeAll([...hot.blocks, ...warm.blocks, ...cold.blocks]) ?? gather(target, [], []);
      return {
        block: inAskedOrder(sliceBlock(merged, range.fromMs, range.toMs), target, asked),
        tiers: { hot: hot.reading, warm: warm.reading, cold: cold.reading },
        missingSinceMs,
      };
    } catch (error) {
      if (!(error instanceof ObjectChangedError) || restarts >= MAX_RESTARTS) throw error;
    }
  }
}

interface ReadContext extends ReadDependencies {
  readonly tenant: Tenant;
  readonly sourceId: Id;
  readonly groups: readonly GroupId[];
  readonly range: TimeRange;
  /** The series asked for, in canonical order. */
  readonly target: Layout;
  /** What was deleted of them. */
  readonly erasures: readonly Erasure[];
  /** Those of the source that the catalogue has. An archiver's own, of several layouts in one chunk, need not be among them. */
  readonly layouts: ReadonlyMap<Id, Layout>;
  readonly longestWindowMs: number;
  readonly days: readonly DayPlan[];
}

/** The groups that hold the series: one for each split the source has had. */
function groupsOf(
  tenant: Tenant,
  source: Labels,
  series: readonly Labels[],
  known: SourceCatalogue,
): GroupId[] {
  const sourceId = sourceIdOf(tenant.id, source);
  return [
    ...new Set(
      known.splitBits.flatMap((bits) =>
        series.map((labels) => groupIdOf(sourceId, bits, splitIndexOf(labelsKey(labels), bits))),
      ),
    ),
  ];
}

/** The source's partition on a day. Different days may have different maps, so a source may have several. */
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

interface TierResult {
  readonly blocks: Block[];
  readonly places: Place[];
}

/** What partitions said of themselves before they were read, and after. */
type PartitionMarks = { readonly ref: PartitionRef } & Pick<PartitionState, 'isWhole' | 'loss'>;

/** Since when samples of the range may be missing from memory; undefined when none are. */
async function missingSince(
  { losses, range, maxSampleAgeMs }: ReadContext,
  marks: readonly PartitionMarks[],
): Promise<number | undefined> {
  const since = await mapLimited(marks, PARALLEL, ({ ref, ...mark }) => losses.missingSince(ref, mark));
  const missing = since.filter((ms) => ms !== undefined).filter((ms) => range.toMs > ms - maxSampleAgeMs);
  return missing.length === 0 ? undefined : Math.min(...missing);
}

/** Windows of the newest data, of which memory may have frames; what it has of others is asked for by itself. */
const LIKELY_WINDOWS = 4;

async function readHot(read: ReadContext): Promise<TierResult & { marks: readonly PartitionMarks[] }> {
  const { hot, catalogue, tenant, groups, range, longestWindowMs, layouts: known } = read;
  const targets = partitionsOf(read, read.days).flatMap((ref) => groups.map((group) => ({ ref, group })));
  const likely = likelyWindows(range, longestWindowMs);
  const marks: PartitionMarks[] = [];
  const windows = await mapLimited(targets, PARALLEL, async ({ ref, group }) => {
    const { isWhole, loss, starts, frames } = await hot.windows(ref, group, likely);
    marks.push({ ref, isWhole, loss });
    return starts
      .filter((start) => start < range.toMs && start > range.fromMs - longestWindowMs)
      .map((windowStart) => ({ ref, group, windowStart, frames: frames.get(windowStart) }));
  });
  const results = await mapLimited(windows.flat(), PARALLEL, async ({ ref, group, windowStart, frames }) => {
    const encoded = frames ?? (await hot.allFrames(ref, group, windowStart));
    if (encoded.length === 0) return undefined;
    const bytes = encoded.reduce((sum, frame) => sum + frame.length, 0);
    const decoded = encoded.map(decodeFrame);
    const ids = [...new Set(decoded.map(({ layout }) => idText(layout)))];
    const layouts = await mapLimited(
      ids,
      PARALLEL,
      async (id) => known.get(id) ?? (await hot.layout(ref, id)) ?? catalogue.layout(tenant.id, group, id),
    );
    const union = unionLayout(layouts);
    const whole = gather(union, layouts, decoded);
    return placed(read, whole, union, {
      tier: 'hot',
      place: hot.keyOf(ref, group, windowStart),
      bytes,
    });
  });
  // Again after frames that were read by themselves: they may have been lost in between.
  const later = windows.flat().filter(({ frames }) => frames === undefined);
  const used = new Map(later.map(({ ref }) => [ref.partition, ref]));
  const after = await mapLimited([...used.values()], PARALLEL, async (ref) => ({
    ref,
    ...(await hot.inspect(ref)),
  }));
  return { ...collect(results), marks: [...marks, ...after] };
}

/** The last windows of a range that may have begun by now. */
function likelyWindows({ fromMs, toMs }: TimeRange, windowMs: number): number[] {
  const starts: number[] = [];
  const last = Math.min(toMs - 1, Date.now());
  if (windowMs === 0) return starts;
  for (
    let start = windowStartMs(last, windowMs);
    start > fromMs - windowMs && starts.length < LIKELY_WINDOWS;
    start -= windowMs
  )
    starts.push(start);
  return starts;
}

/**
 * The days of the range that may have warm or cold data, and those of which warm may have what cold has not; for long
 * ranges the manifest knows. Asked after hot: a flush that trimmed before hot was read had announced itself, so a day that
 * is not open has all that hot no longer had in its object.
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

async function readWarm(read: ReadContext, days: readonly DayPlan[]): Promise<TierResult> {
  const { warm, catalogue, tenant, groups } = read;
  const targets = days.flatMap((plan) => groups.map((group) => ({ plan, group })));
  const results = await mapLimited(targets, PARALLEL, async ({ plan, group }) => {
    const ref = partitionOn(read, plan.day);
    const items = await warm.group(ref, plan.day, group, plan.windowsFromMs, plan.windowsToMs);
    return mapLimited(items, PARALLEL, async (item) => {
      const { chunk } = item;
      const reader = openChunk(chunk);
      const layout = await catalogue.layout(tenant.id, group, idText(reader.layout));
      const place = warm.placeOf(ref, plan.day, item);
      return placedChunk(read, reader, layout, { tier: 'warm', place, bytes: chunk.length });
    });
  });
  return collect(results.flat());
}

async function readCold(read: ReadContext, days: readonly DayPlan[]): Promise<TierResult> {
  const { cold, groups, range, layouts } = read;
  // After warm: what was purged before we read warm was committed here before that.
  const entries = [...(await manifestDays(read, days)).values()];
  const archived = entries.flatMap(({ archived }) => (archived === undefined ? [] : [archived]));
  const results = await mapLimited(archived, PARALLEL, async ({ key }) => {
    const object = await cold.open(key);
    // Never removed once committed, so a missing one is not an empty one.
    if (object === undefined) throw new Error(`the manifest names ${key}, which is not there`);
    const chunks = object.index.chunks.filter(
      ({ group, minTimestamp, maxTimestamp }) =>
        groups.includes(group) && minTimestamp < range.toMs && maxTimestamp >= range.fromMs,
    );
    return mapLimited(chunks, PARALLEL, async (chunk) => {
      const [bytes, layout] = await Promise.all([
        object.chunk(chunk),
        // Of the same content wherever it lies, and mostly known already: a request of S3 less.
        layouts.get(chunk.layout) ?? object.layout(chunk.layout),
      ]);
      const place = `${key} @ ${chunk.offset} + ${chunk.length}`;
      return placedChunk(read, openChunk(bytes), layout, {
        tier: 'cold',
        place,
        bytes: chunk.length,
      });
    });
  });
  return collect(results.flat());
}

interface PlacedBlock {
  readonly block: Block;
  readonly place: Place;
}

/** The series asked for out of a chunk: a few are decoded one by one, many together. */
function placedChunk(
  read: ReadContext,
  reader: ReturnType<typeof openChunk>,
  layout: Layout,
  place: Pick<Place, 'tier' | 'place' | 'bytes'>,
): PlacedBlock | undefined {
  const { target } = read;
  if (target.series.length > MAX_SINGLE_SERIES) return placed(read, reader.block(), layout, place);
  const blocks: Block[] = [];
  for (const [key, column] of target.columns) {
    const index = layout.columns.get(key);
    if (index !== undefined)
      blocks.push(
        relayout(reader.series(index), target.idBytes, target.series.length, Uint32Array.of(column)),
      );
  }
  const block = mergeAll(blocks);
  return block && withCount(read, block, { ...place, samples: reader.sampleCount });
}

/** The series asked for out of a block of another layout. */
function placed(
  read: ReadContext,
  whole: Block,
  layout: Layout,
  place: Pick<Place, 'tier' | 'place' | 'bytes'>,
): PlacedBlock | undefined {
  const { target } = read;
  const positions = Uint32Array.from(layout.columns.keys(), (key) => target.columns.get(key) ?? LEFT_OUT);
  if (positions.every((position) => position === LEFT_OUT)) return undefined;
  const block = relayout(whole, target.idBytes, target.series.length, positions);
  return withCount(read, block, { ...place, samples: sampleCount(whole) });
}

/** What of a block is in the range and was not deleted. */
function withCount(
  { range, erasures }: ReadContext,
  block: Block,
  place: Omit<Place, 'matched' | 'span'>,
): PlacedBlock {
  const found = eraseSamples(sliceBlock(block, range.fromMs, range.toMs), erasures);
  const { timestamps } = found;
  const span = timestamps.length === 0 ? undefined : { firstMs: timestamps[0]!, lastMs: timestamps.at(-1)! };
  return { block: found, place: { ...place, matched: sampleCount(found), span } };
}

function collect(results: readonly (PlacedBlock | undefined)[]): TierResult {
  const found = results.filter((result) => result !== undefined);
  return { blocks: found.map(({ block }) => block), places: found.map(({ place }) => place) };
}

async function timed<T extends TierResult>(read: () => Promise<T>): Promise<T & { reading: TierReading }> {
  const begin = performance.now();
  const result = await read();
  const { blocks, places } = result;
  const samples = blocks.reduce((sum, block) => sum + sampleCount(block), 0);
  return { ...result, reading: { durationMs: performance.now() - begin, samples, places } };
}

/** Pair by pair, so that each sample is copied a logarithmic number of times. */
function mergeAll(blocks: readonly Block[]): Block | undefined {
  if (blocks.length <= 1) return blocks[0];
  const middle = blocks.length >> 1;
  return mergeBlocks(mergeAll(blocks.slice(0, middle))!, mergeAll(blocks.slice(middle))!);
}

/** A block of the canonical order of the series, in the order they were asked for. */
function inAskedOrder(block: Block, target: Layout, asked: ReadonlyMap<string, number>): Block {
  return { ...block, columns: [...asked.keys()].map((key) => block.columns[target.columns.get(key)!]!) };
}
