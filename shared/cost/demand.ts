import { DENSE_INTERVAL_MS } from '../model/aggregates';
import { DAY_MS, durationText } from '../model/duration';
import type { Unit } from '../platform/names';
import type { Settings } from '../platform/settings';
import type { MeasuredUnits, Units } from './measured-units';
import { GB, HOURS_OF_MONTH, SHARD_BYTES_PER_SECOND, SHARD_RECORDS_PER_SECOND } from './prices';
import { nodeOf, type StageShape, UnknownCostError } from './stage-cost';

/** A load: the samples posted, kept and read. */
export interface Load {
  readonly series: number;
  readonly intervalMs: number;
  readonly retentionMs: number;
  readonly samplesPerRequest: number;
  /** Graphs a month, each of one day of one series. */
  readonly reads: number;
  /** Tenants of equal size. */
  readonly tenants: number;
}

/** What a function does in a month. */
export interface Work {
  readonly invocations: number;
  /** Memory by time, as Lambda charges. */
  readonly mbMs: number;
}

/** What a load asks of each service in a month. */
export interface Demand {
  readonly samples: number;
  readonly requests: number;
  /** Stream records, and their bytes with partition keys. */
  readonly records: number;
  readonly streamBytes: number;
  readonly putUnits: number;
  /** Stream shards, planned half full. */
  readonly streamShards: number;
  readonly post: Work;
  readonly ingester: Work;
  /** Schedules start flusher and archiver: their invocations do not depend on the load. */
  readonly flusher: Work;
  readonly archiver: Work;
  readonly sweep: Work & { readonly layouts: number; readonly readUnits: number };
  /** Of the warm and the meta table. */
  readonly writeUnits: number;
  readonly readUnits: number;
  /** Group-windows, and the length of a window as text. */
  readonly windows: number;
  readonly windowText: string;
  readonly bytesPerWindow: number;
  /** Bytes that lie in a tier once it is full. */
  readonly hotBytes: number;
  readonly hotBytesPerSample: number;
  readonly residencyMs: number;
  readonly cacheShards: number;
  readonly warmBytes: number;
  readonly warmMs: number;
  readonly coldBytes: number;
  /** The retention, and the time for which the bucket keeps what was removed. */
  readonly coldMs: number;
  /** Archive objects, and the requests that write them. */
  readonly objects: number;
  readonly objectPuts: number;
  readonly rollups: RollupDemand;
}

/** Rollups of a month's days, each made once. */
export interface RollupDemand extends Work {
  readonly seriesDays: number;
  readonly writeUnits: number;
  readonly readUnits: number;
  readonly puts: number;
  readonly gets: number;
  /** Whether minutes are among them. */
  readonly hasMinutes: boolean;
  /** Bytes of the units that are kept, and of replaced objects that the bucket keeps for a while. */
  readonly bytes: number;
  readonly replacedBytes: number;
}

export const SECONDS_OF_MONTH = HOURS_OF_MONTH * 3600;
const DAYS_OF_MONTH = HOURS_OF_MONTH / 24;
/** Share of a node's memory. ElastiCache reserves a quarter; half of the rest is kept free for times when no flush succeeds. */
const USABLE_MEMORY = 0.75 * 0.5;
/** Share of a shard's capacity; the rest lets it catch up. */
const SHARD_FILL = 0.5;
/** The flusher runs once a minute. */
const FLUSH_TICK_MS = 60_000;
/** An item's keys and attributes without its chunk, and the 100 bytes that DynamoDB adds. */
const ITEM_OVERHEAD_BYTES = 330;
/** DynamoDB deletes expired items within two days; one day on average. */
const EXPIRY_DELAY_MS = DAY_MS;
/** Days for which the bucket keeps a version of an object that was replaced or removed. */
export const REPLACED_DAYS = 30;
/** Bytes of an archive object, and of a request that writes a part of it. */
const UPLOAD_BYTES = 8 * 1024 * 1024;
/**
 * Days that lie already in the objects to which a day's rollups are added: half a month in that of the hours, half a year in
 * that of the days. Of 25 units of a series and day 24 are hours.
 */
export const DAYS_BEFORE = (24 * 15 + 182) / 25;

/**
 * A day of a series' minutes, made once, of a sample a second in groups of 100 series: the archiver's memory and time, and bytes
 * (`bench minutes`); a group's entry of 2 KB; nine chunks of a million samples, read again in four requests each.
 */
const MINUTES_OF_SERIES = { mbMs: 47_000, bytes: 9_000, writeUnits: 0.02, gets: 0.36 } as const;

/**
 * Scales what was measured to a load, once the archive is full.
 *
 * @throws {UnknownCostError}
 */
export function demandOf(measured: MeasuredUnits, load: Load, { settings }: StageShape): Demand {
  const { windowText, tiers } = tiersOf(measured, settings.window);
  const samples = samplesOfMonth(load);
  const requests = samples / load.samplesPerRequest;
  const post = (unit: Unit) =>
    requests * perRequest(measured, load.samplesPerRequest, ({ units }) => units[unit] ?? 0);
  const records = requests * perRequest(measured, load.samplesPerRequest, (run) => run.records);
  const streamBytes = requests * perRequest(measured, load.samplesPerRequest, (run) => run.streamBytes);
  const scaled = (units: Units, unit: Unit) => (samples * (units[unit] ?? 0)) / tiers.samples;
  const tierUnits = (unit: Unit) =>
    scaled(tiers.ingester.units, unit) +
    scaled(tiers.flusher.units, unit) +
    scaled(tiers.archiver.units, unit);
  const streamShards = shardsFor(streamBytes / SECONDS_OF_MONTH, records / SECONDS_OF_MONTH);
  const batches = Math.max(
    (streamShards * SECONDS_OF_MONTH * 1000) / Math.max(settings.batchWindow, 100),
    records / settings.batchSize,
  );
  const windows = (samples * tiers.flusher.windows) / tiers.samples;
  const kept = (ms: number) => (samples / (HOURS_OF_MONTH * 3_600_000)) * ms;
  const warmMs = settings.warmTtl + EXPIRY_DELAY_MS;
  const coldMs = load.retentionMs + REPLACED_DAYS * DAY_MS;
  const archivedBytes = (samples * tiers.coldBytes) / tiers.samples;
  const layouts = load.series / measured.load.metrics;
  // A sweep without layouts is among the scheduled invocations.
  const sweep = (unit: Unit) =>
    (HOURS_OF_MONTH *
      layouts *
      Math.max(0, (tiers.sweep.units[unit] ?? 0) - (measured.idle.operator.units[unit] ?? 0))) /
    tiers.sweep.layouts;
  return {
    samples,
    requests,
    records,
    streamBytes,
    putUnits: post('PutUnits'),
    streamShards,
    post: { invocations: requests, mbMs: post('FunctionMbMs') },
    ingester: { invocations: batches, mbMs: scaled(tiers.ingester.units, 'FunctionMbMs') },
    flusher: { invocations: 0, mbMs: scaled(tiers.flusher.units, 'FunctionMbMs') },
    archiver: { invocations: 0, mbMs: scaled(tiers.archiver.units, 'FunctionMbMs') },
    sweep: { invocations: 0, mbMs: sweep('FunctionMbMs'), layouts, readUnits: sweep('ReadUnits') },
    writeUnits: post('WriteUnits') + tierUnits('WriteUnits'),
    readUnits: post('ReadUnits') + tierUnits('ReadUnits'),
    windows,
    windowText,
    bytesPerWindow: tiers.warmBytes / tiers.flusher.windows,
    ...cacheOf(measured, load, settings),
    warmBytes:
      (kept(warmMs) * (tiers.warmBytes + tiers.flusher.windows * ITEM_OVERHEAD_BYTES)) / tiers.samples,
    warmMs,
    coldBytes: (kept(coldMs) * tiers.coldBytes) / tiers.samples,
    coldMs,
    objects:
      DAYS_OF_MONTH *
      load.tenants *
      settings.partitions *
      Math.max(
        1,
        Math.ceil(
          archivedBytes / (DAYS_OF_MONTH * load.tenants * settings.partitions) / settings.archivePartBytes,
        ),
      ),
    objectPuts: DAYS_OF_MONTH * load.tenants * settings.partitions * 3 + archivedBytes / UPLOAD_BYTES,
    rollups: rollupsOf(measured, load, settings),
  };
}

/** Rolling up goes by series and days, however many samples they have. */
function rollupsOf(
  measured: MeasuredUnits,
  { series, retentionMs, tenants, intervalMs }: Load,
  settings: Settings,
): RollupDemand {
  const { hosts, metrics } = measured.load;
  const { first, perDay, bytes } = tiersOf(measured, settings.window).tiers.rollups;
  const isOn = settings.rollups !== 'off';
  const seriesDays = isOn ? series * DAYS_OF_MONTH : 0;
  const each = (unit: Unit) => ((first[unit] ?? 0) + DAYS_BEFORE * (perDay[unit] ?? 0)) / (hosts * metrics);
  const bytesOfDay = bytes / (hosts * metrics);
  const hasMinutes = settings.rollups === 'minutes' && intervalMs < DENSE_INTERVAL_MS;
  const minutes = (unit: keyof typeof MINUTES_OF_SERIES) => (hasMinutes ? MINUTES_OF_SERIES[unit] : 0);
  return {
    invocations: 0,
    mbMs: seriesDays * (each('FunctionMbMs') + minutes('mbMs')),
    seriesDays,
    hasMinutes,
    writeUnits: seriesDays * (each('WriteUnits') + minutes('writeUnits')),
    readUnits: seriesDays * each('ReadUnits'),
    // A month's and a year's object a partition, each day; and one of minutes.
    puts: isOn ? (hasMinutes ? 3 : 2) * DAYS_OF_MONTH * tenants * settings.partitions : 0,
    gets: seriesDays * (each('ObjectGets') + minutes('gets')),
    bytes: isOn ? (series * (bytesOfDay + minutes('bytes')) * retentionMs) / DAY_MS : 0,
    replacedBytes: isOn ? series * bytesOfDay * DAYS_BEFORE * REPLACED_DAYS : 0,
  };
}

/** Shards that a load needs, planned half full. @throws {UnknownCostError} */
export function needsOf(
  measured: MeasuredUnits,
  load: Load,
  shape: StageShape,
): { readonly streamShards: number; readonly cacheShards: number } {
  const { streamShards, cacheShards } = demandOf(measured, load, shape);
  // A stream on demand has the shards that Kinesis gives it.
  return { streamShards: shape.settings.streamMode === 'on-demand' ? 0 : streamShards, cacheShards };
}

export function samplesOfMonth({ series, intervalMs }: Pick<Load, 'series' | 'intervalMs'>): number {
  return (series * SECONDS_OF_MONTH * 1000) / intervalMs;
}

/** Interpolates linearly between the runs with the fewest and the most samples a request. */
function perRequest(
  { posts }: MeasuredUnits,
  samplesPerRequest: number,
  of: (run: MeasuredUnits['posts'][number]) => number,
): number {
  const sorted = [...posts].sort((a, b) => a.samplesPerRequest - b.samplesPerRequest);
  const [few, many] = [sorted[0]!, sorted.at(-1)!];
  const [low, high] = [of(few) / few.requests, of(many) / many.requests];
  const slope = (high - low) / (many.samplesPerRequest - few.samplesPerRequest);
  return Math.max(0, low + slope * (samplesPerRequest - few.samplesPerRequest));
}

/** The most that memory holds, and the shards for it. */
function cacheOf(measured: MeasuredUnits, { series, intervalMs }: Load, settings: Settings) {
  const { tiers } = tiersOf(measured, settings.window);
  const hotBytesPerSample = tiers.hotBytes / tiers.samples;
  // Windows that begin together leave one by one, while the next ones grow: the most is held as the first ones leave.
  const residencyMs = settings.window + FLUSH_TICK_MS;
  const hotBytes = series * Math.ceil(residencyMs / intervalMs) * hotBytesPerSample;
  const cacheShards = Math.ceil(hotBytes / (nodeOf(settings).memoryGb * GB * USABLE_MEMORY));
  return { hotBytesPerSample, residencyMs, hotBytes, cacheShards };
}

function tiersOf({ windows }: MeasuredUnits, windowMs: number) {
  const windowText = durationText(windowMs);
  const tiers = windows[windowText];
  if (tiers === undefined)
    throw new UnknownCostError(
      `window: ${windowText} was not measured, only ${Object.keys(windows).join(', ')}; npm run bench -- units --windows ${windowText}`,
    );
  return { windowText, tiers };
}

function shardsFor(bytesPerSecond: number, recordsPerSecond: number): number {
  const share = Math.max(
    bytesPerSecond / SHARD_BYTES_PER_SECOND,
    recordsPerSecond / SHARD_RECORDS_PER_SECOND,
  );
  return Math.max(1, Math.ceil(share / SHARD_FILL));
}
